package llm

import "context"

// Embedder is one vendor's way to turn texts into vectors that lie close to each
// other when the texts mean the same. The error is an [*Error], unless ctx ended.
// It makes one attempt: retrying is decided elsewhere, in one place.
type Embedder interface {
	Embed(ctx context.Context, req EmbedRequest) (Embeddings, error)
}

// EmbedRequest is texts to be turned into vectors by one call.
type EmbedRequest struct {
	Model string   // as its provider calls it
	Texts []string // none is blank
	// Query says that the texts look for something; else they are what is to be
	// found. Some models tell the two apart.
	Query bool
}

// Embeddings is what came of an [EmbedRequest].
type Embeddings struct {
	Vectors [][]float32 // of the texts, in their order; of any length
	Usage   Usage       // zero when the provider doesn't say
}
