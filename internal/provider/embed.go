package provider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/llm"
)

// Embedder turns texts into vectors by one model of one provider. It tries again
// as [Models] does, but asks nobody else: vectors of two models can't be
// compared. It is safe for concurrent use.
type Embedder struct {
	entry  *entry
	target llm.Target
	client llm.Embedder
	words  instruction
	health *health
	opts   EmbedOptions
}

// EmbedOptions completes [Set.Embedder]. Its zero value will do.
type EmbedOptions struct {
	Vectors Vectors      // where vectors are kept; nil for nowhere
	Log     *slog.Logger // is told what could not be read or kept; slog.Default when nil
	// Used is told what a call has used, and about what where the provider didn't
	// say; nil tells nobody.
	Used func(ctx context.Context, t llm.Target, used, guess llm.Usage)
}

const (
	// maxTexts and maxTextsBytes bound one call: Gemini takes 100 texts, OpenAI
	// 300,000 tokens.
	maxTexts      = 96
	maxTextsBytes = 200 << 10
	// maxText bounds one text, in bytes: the smallest window of the usual models
	// is 2,048 tokens, and what comes first says the most.
	maxText = 6000
)

// Embedder returns what embeds by a provider: by model, else by the one that the
// provider is known for. The error is an [*llm.Error] that says why it can't.
func (s *Set) Embedder(name, model string, o EmbedOptions) (*Embedder, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if err := s.Problem(name); err != nil {
		return nil, err
	}
	e := s.entries[name]
	b, _ := Known(e.settings.Type)
	t := llm.Target{Provider: name, Model: model, Vendor: e.vendor}
	if t.Model == "" {
		t.Model = b.Embedding
	}
	none := func(format string, args ...any) (*Embedder, error) {
		return nil, problemf(llm.ClassNoModel, format, args...).of(t)
	}
	m, err := s.client(name)
	if err != nil {
		return none("%s", Clean(err.Error(), e.settings.Key))
	}
	client, ok := m.(llm.Embedder)
	switch {
	case !ok, b.Embedding == "" && b.Name != Compatible:
		return none("it has no embeddings; %s have", strings.Join(embedding(), ", "))
	case t.Model == "":
		return none("which of its models embeds is not known; name it")
	}
	return &Embedder{entry: e, target: t, client: client, words: instructionOf(t.Model), health: &s.health, opts: o}, nil
}

// embedding names the built-in providers that embed.
func embedding() (names []string) {
	for _, b := range Builtins {
		if b.Embedding != "" && b.Name != "gemini-legacy" {
			names = append(names, b.Name)
		}
	}
	return names
}

// Model is the provider and the model, as in "openai/text-embedding-3-small".
func (e *Embedder) Model() string { return e.target.String() }

// Embed returns the vectors of texts, in their order, each of length 1, from
// where they are kept if they are. query says that the texts look for something,
// else they are what is to be found. Of a long text the beginning counts; none
// may be blank. The error is an [*llm.Error], or what ctx ended with; what came
// before it is kept.
func (e *Embedder) Embed(ctx context.Context, texts []string, query bool) ([][]float32, error) {
	full := e.full(texts, query)
	out, keys := e.recall(ctx, full, query)
	for from := 0; from < len(full); {
		batch, rest := e.batch(full, out, from)
		from = rest
		if len(batch) == 0 {
			break
		}
		vectors, err := e.attempts(ctx, pick(full, batch), query)
		if err != nil {
			return nil, err
		}
		for i, at := range batch {
			out[at] = vectors[i]
		}
		e.keep(ctx, keys, out, batch)
	}
	return out, nil
}

// Kept returns the vectors of texts that are kept, nil for the others, as Embed
// does but without asking the provider.
func (e *Embedder) Kept(ctx context.Context, texts []string, query bool) [][]float32 {
	vectors, _ := e.recall(ctx, e.full(texts, query), query)
	return vectors
}

// full is texts as the model gets them.
func (e *Embedder) full(texts []string, query bool) []string {
	full := make([]string, len(texts))
	for i, t := range texts {
		full[i] = e.words.of(query) + beginning(t)
	}
	return full
}

// beginning is what counts of a text.
func beginning(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) <= maxText {
		return text
	}
	cut := maxText
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}

// batch is the places of texts of one call that have no vector yet, from from
// on, and the place behind them.
func (e *Embedder) batch(texts []string, have [][]float32, from int) (batch []int, rest int) {
	size := 0
	for i := from; i < len(texts); i++ {
		if have[i] != nil {
			continue
		}
		if size += len(texts[i]); len(batch) == maxTexts || len(batch) > 0 && size > maxTextsBytes {
			return batch, i
		}
		batch = append(batch, i)
	}
	return batch, len(texts)
}

func pick(texts []string, places []int) []string {
	out := make([]string, len(places))
	for i, at := range places {
		out[i] = texts[at]
	}
	return out
}

// attempts asks as often as the table allows and time is left for.
func (e *Embedder) attempts(ctx context.Context, texts []string, query bool) ([][]float32, error) {
	made := map[llm.Class]int{}
	for {
		began := time.Now()
		vectors, err := e.attempt(ctx, texts, query)
		if err == nil {
			e.health.answered(e.target)
			return vectors, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		failure := failureOf(err, e.target)
		wait, ok := actionFor(failure.Class).pause(made[failure.Class], failure)
		if end, limited := ctx.Deadline(); limited && time.Until(end) < wait {
			ok = false
		}
		if !ok {
			e.health.failed(e.target, failure, began)
			return nil, failure
		}
		made[failure.Class]++
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// attempt makes one call within the provider's limits.
func (e *Embedder) attempt(ctx context.Context, texts []string, query bool) ([][]float32, error) {
	within, watch := e.entry.settings.Limits.Watch(ctx)
	defer watch.Stop()
	got, err := e.client.Embed(within, llm.EmbedRequest{Model: e.target.Model, Texts: texts, Query: query})
	if err != nil {
		if late := watch.Err(); late != nil {
			return nil, late
		}
		return nil, err
	}
	if e.opts.Used != nil {
		var guess llm.Usage
		if got.Usage == (llm.Usage{}) {
			for _, t := range texts {
				guess.Input += int64(len(t)+3) / 4
			}
		}
		e.opts.Used(ctx, e.target, got.Usage, guess)
	}
	return got.Vectors, e.check(got.Vectors, len(texts))
}

// maxDimensions bounds the length of a vector.
const maxDimensions = 16 << 10

// check brings vectors to length 1, or says why they are none.
func (e *Embedder) check(vectors [][]float32, want int) error {
	wrong := func(format string, args ...any) error {
		return &llm.Error{Class: llm.ClassUnknown, Target: e.target, Message: fmt.Sprintf(format, args...), Err: llm.ErrForeign}
	}
	if len(vectors) != want {
		return wrong("the answer has %d vectors for %d texts", len(vectors), want)
	}
	for _, v := range vectors {
		if len(v) == 0 || len(v) > maxDimensions || len(v) != len(vectors[0]) {
			return wrong("the answer has vectors of %d and of %d numbers", len(vectors[0]), len(v))
		}
		if !normalize(v) {
			return wrong("the answer has a vector without a direction")
		}
	}
	return nil
}

// normalize brings v to length 1, and reports whether it can.
func normalize(v []float32) bool {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	length := math.Sqrt(sum)
	if !(length > 0) || math.IsInf(length, 0) {
		return false
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / length)
	}
	return true
}

// Unembeddable reports whether err says that a provider can't embed at all,
// whatever it is asked: waiting changes nothing.
func Unembeddable(err error) bool {
	var p *problem
	return errors.As(err, &p)
}

// instruction is what a model wants before a text that looks for something, and
// before one that is to be found.
type instruction struct{ query, document string }

func (w instruction) of(query bool) string {
	if query {
		return w.query
	}
	return w.document
}

// instructions are those of well-known models, by what stands in their names.
var instructions = []struct {
	name string
	instruction
}{
	// https://ai.google.dev/gemini-api/docs/embeddings#task-types-embeddings-2
	// https://ai.google.dev/gemma/docs/embeddinggemma/model_card#prompt_instructions
	{"gemini-embedding-2", instruction{"task: search result | query: ", "title: none | text: "}},
	{"embeddinggemma", instruction{"task: search result | query: ", "title: none | text: "}},
	// https://huggingface.co/nomic-ai/nomic-embed-text-v1.5
	{"nomic-embed-text", instruction{"search_query: ", "search_document: "}},
	// https://huggingface.co/Qwen/Qwen3-Embedding-0.6B
	{"qwen3-embedding", instruction{"Instruct: Given what a person asks for, find the tools that serve it\nQuery:", ""}},
	// https://huggingface.co/mixedbread-ai/mxbai-embed-large-v1
	{"mxbai-embed-large", instruction{"Represent this sentence for searching relevant passages: ", ""}},
	// https://huggingface.co/Snowflake/snowflake-arctic-embed-l-v2.0
	{"snowflake-arctic-embed2", instruction{"query: ", ""}},
	// https://huggingface.co/intfloat/multilingual-e5-large
	{"multilingual-e5", instruction{"query: ", "passage: "}},
}

// instructionOf is that of a model; without words for most.
func instructionOf(model string) instruction {
	model = strings.ToLower(model)
	for _, i := range instructions {
		if strings.Contains(model, i.name) {
			return i.instruction
		}
	}
	return instruction{}
}
