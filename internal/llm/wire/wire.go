// Package wire holds what the vendors' packages have in common: reading streams
// of events and JSON that may be cut anywhere, writing JSON, and how the parts
// of a transcript are said in text where a wire has no field for them.
//
// It knows no vendor, connects to nothing and has no life of its own. Reading
// is forgiving and bounded, writing is strict and deterministic: equal values
// give equal bytes, which is what a provider's prompt cache sees.
//
// Start reading at [Events] for what comes in and [UserText] for what goes out.
package wire
