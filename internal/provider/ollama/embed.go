package ollama

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/ollama/ollama/api"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// embedded is what we use of the answer to /api/embed.
type embedded struct {
	Embeddings [][]float32 `json:"embeddings"`
	Tokens     int64       `json:"prompt_eval_count"`
}

// Embed implements [llm.Embedder]. Texts that are too long for the model are cut
// by the server.
func (m *Model) Embed(ctx context.Context, req llm.EmbedRequest) (llm.Embeddings, error) {
	body, err := json.Marshal(api.EmbedRequest{Model: req.Model, Input: req.Texts, Truncate: new(true)})
	if err != nil {
		return llm.Embeddings{}, &llm.Error{Class: llm.ClassBadRequest, Message: err.Error(), Err: err}
	}
	var raw json.RawMessage
	if err := m.fetch(ctx, http.MethodPost, "/api/embed", body, &raw); err != nil {
		return llm.Embeddings{}, err
	}
	var e embedded
	if json.Unmarshal(raw, &e) != nil || e.Embeddings == nil {
		return llm.Embeddings{}, provider.Failure(&provider.Foreign{Vendor: whose, Body: raw}, m.server.Secrets...)
	}
	return llm.Embeddings{Vectors: e.Embeddings, Usage: llm.Usage{Input: max(e.Tokens, 0)}}, nil
}
