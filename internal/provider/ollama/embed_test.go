package ollama

import (
	"net/http"
	"testing"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
	"github.com/goclaw/goclaw/internal/provider/providertest"
)

func TestEmbeddings(t *testing.T) {
	t.Parallel()
	providertest.Embeddings(t, providertest.Embedding{
		Vendor: providertest.Vendor{
			Wire: vendor, Type: "ollama", Path: "/v1",
			Open: func(s provider.Settings, c *http.Client) llm.Model { return newModel(s, c) },
		},
		Model:  "embeddinggemma",
		Short:  `{"embeddings":[[1,2]]}`,
		Zero:   `{"embeddings":[[1,0],[0,0]]}`,
		Counts: true,
	})
}

// The server cuts what is too long for the model.
func TestEmbedBody(t *testing.T) {
	t.Parallel()
	s := fakellm.Start(t)
	m := newModel(provider.Settings{BaseURL: s.URL}, http.DefaultClient)
	if _, err := m.Embed(t.Context(), llm.EmbedRequest{Model: "all-minilm", Texts: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	if body := string(s.Embedded()[0].Body); body != `{"model":"all-minilm","input":["a"],"truncate":true,"options":null}` {
		t.Errorf("%s", body)
	}
}
