package provider

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/llm"
)

// measuring is a vendor that embeds a text by its length, and keeps what it was
// asked.
type measuring struct {
	silent
	asked *[]llm.EmbedRequest
}

func (m measuring) Embed(_ context.Context, req llm.EmbedRequest) (out llm.Embeddings, err error) {
	*m.asked = append(*m.asked, req)
	for _, t := range req.Texts {
		if t == "refused" {
			return out, &llm.Error{Class: llm.ClassBadRequest, Message: "no"}
		}
		out.Vectors = append(out.Vectors, []float32{float32(len(t)), 1})
	}
	return out, nil
}

func measured() (Options, *[]llm.EmbedRequest) {
	asked := &[]llm.EmbedRequest{}
	open := Vendor{Open: func(Settings) (llm.Model, error) { return measuring{asked: asked}, nil }}
	return Options{
		Vendors: map[string]Vendor{"openai": open, "gemini": open, "ollama": open, "anthropic": {Open: openSilent}, "demo": {Open: openSilent}},
		Providers: []Settings{
			{Name: "openai", Key: "k"},
			{Name: "claude", Key: "k"},
			{Name: "deepseek", Key: "k"},
			{Name: "work", Type: Compatible, BaseURL: "http://10.0.0.5:8000/v1", Model: "qwen3"},
			{Name: "mine", Type: "ollama", BaseURL: "http://10.0.0.5:11434"},
		},
	}, asked
}

func TestEmbedders(t *testing.T) {
	t.Parallel()
	o, _ := measured()
	s := New(o)
	for _, test := range []struct{ name, model, want, problem string }{
		{"openai", "", "openai/text-embedding-3-small", ""},
		{"openai", "text-embedding-3-large", "openai/text-embedding-3-large", ""},
		{"ollama", "", "ollama/embeddinggemma", ""},
		{"mine", "", "mine/embeddinggemma", ""},
		{"work", "bge-m3", "work/bge-m3", ""},
		{"work", "", "", "work: which of its models embeds is not known; name it"},
		{"claude", "", "", "claude: it has no embeddings; openai, gemini, ollama have"},
		{"demo", "", "", "demo: it has no embeddings; openai, gemini, ollama have"},
		{"deepseek", "deepseek-flash", "", "deepseek: it has no embeddings; openai, gemini, ollama have"},
		{"gemini", "", "", "gemini: there is no API key; set GEMINI_API_KEY"},
		{"nobody", "", "", "nobody: there is no provider of this name"},
	} {
		e, err := s.Embedder(test.name, test.model, EmbedOptions{})
		if test.problem != "" {
			if err == nil || !strings.HasPrefix(err.Error(), test.problem) || !Unembeddable(err) {
				t.Errorf("%s/%s: %v", test.name, test.model, err)
			}
			continue
		}
		if err != nil || e.Model() != test.want {
			t.Errorf("%s/%s: %v, %v", test.name, test.model, e, err)
		}
	}
}

func TestInstructions(t *testing.T) {
	t.Parallel()
	o, asked := measured()
	s := New(o)
	for _, test := range []struct{ name, model, query, document string }{
		{"openai", "", "a", "a"},
		{"ollama", "", "task: search result | query: a", "title: none | text: a"},
		{"work", "nomic-ai/Nomic-Embed-Text-v1.5", "search_query: a", "search_document: a"},
		{"work", "intfloat/multilingual-e5-large", "query: a", "passage: a"},
		{"mine", "mxbai-embed-large:latest", "Represent this sentence for searching relevant passages: a", "a"},
	} {
		e, err := s.Embedder(test.name, test.model, EmbedOptions{})
		if err != nil {
			t.Fatal(err)
		}
		*asked = nil
		for _, query := range []bool{true, false} {
			if _, err := e.Embed(t.Context(), []string{" a\n"}, query); err != nil {
				t.Fatal(err)
			}
		}
		_, model, _ := strings.Cut(e.Model(), "/")
		want := []llm.EmbedRequest{{Model: model, Texts: []string{test.query}, Query: true}, {Model: model, Texts: []string{test.document}}}
		if diff := cmp.Diff(want, *asked); diff != "" {
			t.Errorf("%s (-want +got):\n%s", e.Model(), diff)
		}
	}
}

// keptVectors is a store in memory.
type keptVectors struct {
	byKey   map[VectorKey][]float32
	failure error
}

func (k *keptVectors) Vectors(_ context.Context, keys []VectorKey, _ time.Time) (out []Vector, err error) {
	for _, key := range keys {
		if v, ok := k.byKey[key]; ok {
			out = append(out, Vector{key, v})
		}
	}
	return out, k.failure
}

func (k *keptVectors) KeepVectors(_ context.Context, vectors []Vector, _, _ time.Time, _ int, _ int64) error {
	for _, v := range vectors {
		k.byKey[v.Key] = v.Values
	}
	return k.failure
}

// A text is embedded once by each model, as what looks for something and as what
// is found; what was embedded before a failure is kept.
func TestVectorsAreKept(t *testing.T) {
	t.Parallel()
	o, asked := measured()
	s := New(o)
	store := &keptVectors{byKey: map[VectorKey][]float32{}}
	texts := func() (list []string) {
		for _, r := range *asked {
			list = append(list, r.Texts...)
		}
		*asked = nil
		return list
	}
	embed := func(provider, model string, query bool, want []string, in ...string) {
		t.Helper()
		e, err := s.Embedder(provider, model, EmbedOptions{Vectors: store})
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Embed(t.Context(), in, query)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range in {
			if n := got[i][0] / got[i][1]; n < float32(len(text))-0.01 || n > float32(len(text))+0.01 {
				t.Errorf("%q: %v", text, got[i])
			}
		}
		if diff := cmp.Diff(want, texts()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	embed("openai", "", false, []string{"a", "bb", "a"}, "a", "bb", "a")
	embed("openai", "", false, []string{"ccc"}, "bb", "ccc", "a")
	embed("openai", "", false, nil, "ccc", "bb")
	embed("openai", "", true, []string{"a"}, "a")
	embed("openai", "other", true, []string{"a"}, "a")
	embed("work", "text-embedding-3-small", true, []string{"a"}, "a")

	many := make([]string, maxTexts, maxTexts+1)
	for i := range many {
		many[i] = strings.Repeat("d", i+1)
	}
	e, err := s.Embedder("openai", "", EmbedOptions{Vectors: store})
	if err != nil {
		t.Fatal(err)
	}
	var failure *llm.Error
	if _, err := e.Embed(t.Context(), append(many, "refused"), false); !errors.As(err, &failure) || failure.Class != llm.ClassBadRequest {
		t.Fatal(err)
	}
	texts()
	embed("openai", "", false, nil, many...)

	// A store that fails costs another call, nothing else.
	store.failure = errors.New("the disk is full")
	e, err = s.Embedder("openai", "", EmbedOptions{Vectors: store, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := e.Embed(t.Context(), []string{"a"}, false); err != nil || len(got) != 1 || len(texts()) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}
