// Package responses translates for OpenAI's Responses API, in which OpenAI's
// newer models reason and call tools at once: a request into the body that is
// sent, and a streamed answer back. It makes no call; its parent does, and
// decides which of the two APIs a request takes.
//
// Nothing is kept at the server: each request brings the whole conversation.
// What the model thought comes sealed, in an item of its own, and goes back to
// the server that made it, unchanged and before what it led to; such items are
// parts of kind reasoning with opaque data. The API refuses one that leads to
// nothing.
//
// A body is made on the goroutine of whoever asks, an answer is read on that of
// whoever ranges over it; neither keeps anything. Start reading at [Encode] and
// [Read].
package responses

// Path is where the API is, behind the address of a server.
const Path = "responses"

// The kinds of items that this package knows.
const (
	kindMessage   = "message"
	kindReasoning = "reasoning"
	kindCall      = "function_call"
)
