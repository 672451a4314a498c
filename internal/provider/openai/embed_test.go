package openai

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
	"github.com/goclaw/goclaw/internal/provider/providertest"
)

func TestEmbeddings(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"openai", provider.Compatible} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			providertest.Embeddings(t, providertest.Embedding{
				Vendor: providertest.Vendor{
					Wire: "openai", Type: kind, Path: "/v1",
					Open: func(s provider.Settings, c *http.Client) llm.Model { return newModel(s, c) },
				},
				Model:  "text-embedding-3-small",
				Short:  `{"data":[{"index":0,"embedding":[1,2]}]}`,
				Zero:   `{"data":[{"index":0,"embedding":[0,0]},{"index":1,"embedding":[1,0]}]}`,
				Counts: true,
			})
		})
	}
}

func TestReadEmbedded(t *testing.T) {
	t.Parallel()
	one, two := []float32{1, 0.5}, []float32{-2, 0}
	for _, test := range []struct {
		name, text string
		want       [][]float32
		message    string
	}{
		{"in order", `{"data":[{"index":0,"embedding":[1,0.5]},{"index":1,"embedding":[-2,0]}]}`, [][]float32{one, two}, ""},
		{"by index", `{"data":[{"index":1,"embedding":[-2,0]},{"index":0,"embedding":[1,0.5]}]}`, [][]float32{one, two}, ""},
		{"without an index", `{"data":[{"embedding":[1,0.5]},{"embedding":[-2,0]}],"model":"m"}`, [][]float32{one, two}, ""},
		{"in base64", `{"data":[{"index":0,"embedding":"AACAPwAAAD8="},{"index":1,"embedding":"AAAAwAAAAAA="}]}`, [][]float32{one, two}, ""},
		{"half a number", `{"data":[{"index":0,"embedding":"AACA"},{"index":1,"embedding":"AAAAwAAAAAA="}]}`, nil, "format"},
		{"one too many", `{"data":[{"embedding":[1]},{"embedding":[1]},{"embedding":[1]}]}`, nil, "not sent"},
		{"one twice", `{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]}`, nil, "not sent"},
		{"before the first", `{"data":[{"index":-1,"embedding":[1]}]}`, nil, "not sent"},
		{"an error that is no status", `{"error":{"message":"Model is not loaded","type":"server_error"}}`, nil, "Model is not loaded"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := readEmbedded([]byte(test.text), 2, nil)
			if test.message != "" {
				if err == nil || !strings.Contains(err.Error(), test.message) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || !slices.EqualFunc(got.Vectors, test.want, slices.Equal) {
				t.Errorf("%v, %v", got.Vectors, err)
			}
		})
	}
}

// What is sent is what every server takes, at addresses with a path of another
// API and with a query of their own.
func TestWhereEmbeddingsAre(t *testing.T) {
	t.Parallel()
	s := fakellm.Start(t)
	for _, base := range []string{"/v1", "/v1/chat/completions", "/v1/responses/", "/v1?api-version=1"} {
		m := open(t, provider.Settings{BaseURL: s.URL + base, Type: provider.Compatible})
		if _, err := m.Embed(t.Context(), llm.EmbedRequest{Model: "m", Texts: []string{"a"}}); err != nil {
			t.Errorf("%s: %v", base, err)
		}
	}
	for i, r := range s.Embedded() {
		if r.Path != "/v1/embeddings" || string(r.Body) != `{"model":"m","input":["a"]}` || (i == 3) != (r.Query == "api-version=1") {
			t.Errorf("%s?%s: %s", r.Path, r.Query, r.Body)
		}
	}
}

// Whatever comes, nothing panics, and each vector is that of a text.
func FuzzReadEmbedded(f *testing.F) {
	f.Add(`{"data":[{"index":1,"embedding":[-2,0]},{"index":0,"embedding":"AACAPwAAAD8="}],"usage":{"prompt_tokens":3}}`)
	f.Add(`{"data":[{"embedding":"="},{"embedding":""},null],"error":{"message":1}}`)
	f.Add(`{"error":"x"}`)
	f.Fuzz(func(t *testing.T, in string) {
		got, err := readEmbedded([]byte(in), 2, nil)
		if err == nil && (len(got.Vectors) != 2 || got.Usage.Input < 0) {
			t.Errorf("%d vectors, %+v", len(got.Vectors), got.Usage)
		}
	})
}
