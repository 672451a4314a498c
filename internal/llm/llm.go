// Package llm is the vocabulary in which GoClaw speaks of models: messages,
// tool calls, requests, streamed events, usage and errors, the same for every
// provider. It owns no connection and knows no vendor; each vendor's package
// translates these types to its wire and back.
//
// The types hold what the richest wire needs: the parts of a message keep the
// order in which the model made them (Claude's thinking blocks precede the
// tool use they belong to), and each part can carry opaque data that only the
// vendor which made it gets back (Gemini's thought signatures, OpenAI's
// encrypted reasoning).
//
// Everything that is sent is built from these types deterministically: equal
// requests are equal bytes, which is what a provider's prompt cache sees.
//
// Start reading at [Request] and [Model].
package llm

import (
	"context"
	"iter"
)

// Model is one vendor's way to answer a request.
//
// The sequence yields any number of deltas and then exactly one event of type
// [EventDone], or ends with exactly one error, which is an [*Error] except
// when ctx ended. What a call has used is told when the provider tells it, so
// that it counts however the call ends. It makes one attempt: retrying is decided elsewhere, in one
// place. Breaking out of the sequence ends the request and frees its
// connection before the range statement returns.
type Model interface {
	Stream(ctx context.Context, req Request) iter.Seq2[Event, error]
}
