package gemini

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
	for _, model := range []string{"gemini-embedding-2", "gemini-embedding-001"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			providertest.Embeddings(t, providertest.Embedding{
				Vendor: providertest.Vendor{
					Wire: vendor, Type: "gemini",
					Open: func(s provider.Settings, c *http.Client) llm.Model { return newModel(s, c) },
				},
				Model: model,
				Short: `{"embeddings":[{"values":[1,2]}]}`,
				Zero:  `{"embeddings":[{"values":[1,0]},{"values":[0,0]}]}`,
			})
		})
	}
}

// Models of the older kind are told in a field what a text is for.
func TestTasks(t *testing.T) {
	t.Parallel()
	s := fakellm.Start(t)
	m := newModel(provider.Settings{BaseURL: s.URL}, http.DefaultClient)
	for _, test := range []struct {
		model string
		query bool
		want  string
	}{
		{"gemini-embedding-001", true, `{"requests":[{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"a"}]},"taskType":"RETRIEVAL_QUERY","outputDimensionality":768}]}`},
		{"models/gemini-embedding-001", false, `{"requests":[{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"a"}]},"taskType":"RETRIEVAL_DOCUMENT","outputDimensionality":768}]}`},
		{"gemini-embedding-2", true, `{"requests":[{"model":"models/gemini-embedding-2","content":{"parts":[{"text":"a"}]},"outputDimensionality":768}]}`},
		{"text-embedding-004", false, `{"requests":[{"model":"models/text-embedding-004","content":{"parts":[{"text":"a"}]},"taskType":"RETRIEVAL_DOCUMENT"}]}`},
	} {
		if _, err := m.Embed(t.Context(), llm.EmbedRequest{Model: test.model, Texts: []string{"a"}, Query: test.query}); err != nil {
			t.Fatal(err)
		}
		sent := s.Embedded()
		if got := string(sent[len(sent)-1].Body); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}
