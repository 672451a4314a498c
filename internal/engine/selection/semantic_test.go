package selection_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/engine/selection"
	"github.com/goclaw/goclaw/internal/fakellm"
)

// embedder embeds by words, at a pace, and fails when told to.
type embedder struct {
	model string
	pace  time.Duration // for each text

	mu      sync.Mutex
	failure error
	kept    map[string]bool
	done    map[string]bool // what is kept for later
	texts   []string        // that it had to embed
	calls   int
}

var alike = []string{"mail", "message", "email"}

func (e *embedder) Model() string { return e.model }

func (e *embedder) Embed(ctx context.Context, texts []string, _ bool) ([][]float32, error) {
	e.mu.Lock()
	e.calls++
	failure := e.failure
	e.mu.Unlock()
	if failure != nil {
		return nil, failure
	}
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = fakellm.Vector(t, alike)
		e.mu.Lock()
		if kept := e.kept[t]; !kept {
			e.kept[t] = true
			e.texts = append(e.texts, t)
			e.mu.Unlock()
			select {
			case <-time.After(e.pace):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			continue
		}
		e.mu.Unlock()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done == nil {
		e.done = map[string]bool{}
	}
	for _, t := range texts {
		e.done[t] = true
	}
	return out, nil
}

func (e *embedder) Kept(_ context.Context, texts []string, _ bool) [][]float32 {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([][]float32, len(texts))
	for i, t := range texts {
		if e.done[t] {
			out[i] = fakellm.Vector(t, alike)
		}
	}
	return out
}

func (e *embedder) fails(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failure = err
}

func (e *embedder) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls
}

func semantic(e *embedder, topK int, least float64) *selection.Semantic {
	if e.kept == nil {
		e.kept = map[string]bool{}
	}
	return selection.NewSemantic(selection.SemanticOptions{
		Open: func(context.Context) (selection.Embedder, error) { return e, nil }, TopK: topK, MinSimilarity: least,
	})
}

var docs = []selection.Doc{
	{Name: "calc", Description: "Compute an expression."},
	{Name: "file_read", Description: "Read a file of the workspace."},
	{Name: "file_write", Description: "Write a file of the workspace."},
	{Name: "send_message", Description: "Send a message to a person."},
}

func names(hits []selection.Hit) (list []string) {
	for _, h := range hits {
		list = append(list, docs[h.Doc].Name)
	}
	return list
}

func TestSemantic(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, message string
		without       []string
		topK          int
		least         float64
		want          []string
	}{
		{"by meaning", "send an email", nil, 1, 0.2, []string{"send_message"}},
		{"by words", "read file", nil, 2, 0.2, []string{"file_read", "file_write"}},
		{"found otherwise", "read file", []string{"file_read"}, 2, 0.2, []string{"file_write"}},
		{"close enough", "read file", nil, 4, 0.6, []string{"file_read"}},
		{"nothing is close", "paint wall", nil, 4, 0.3, nil},
		{"none is wanted", "read file", nil, 0, 0.1, nil},
		{"no words", " \n", nil, 4, 0, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			x := semantic(&embedder{model: "m"}, test.topK, test.least).Of(docs)
			hits, notice := x.Rank(t.Context(), test.message, func(i int) bool { return !slices.Contains(test.without, docs[i].Name) })
			if got := names(hits); !slices.Equal(got, test.want) || notice != "" {
				t.Errorf("%v, %q", got, notice)
			}
			for _, h := range hits {
				if h.Score < test.least || len(h.Reasons) != 1 || h.Reasons[0].Layer != selection.ByMeaning || h.Reasons[0].Score != h.Score {
					t.Errorf("%+v", h)
				}
			}
		})
	}
}

// Each tool and each message is embedded once.
func TestToolsAreEmbeddedOnce(t *testing.T) {
	t.Parallel()
	e := &embedder{model: "m"}
	x := semantic(e, 2, 0.1).Of(docs)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if hits, notice := x.Rank(t.Context(), "read file", nil); len(hits) != 2 || notice != "" {
				t.Errorf("%v, %q", hits, notice)
			}
		})
	}
	wait.Wait()
	if len(e.texts) != len(docs)+1 {
		t.Errorf("%q", e.texts)
	}
	if !slices.Contains(e.texts, "send message: Send a message to a person.") {
		t.Errorf("%q", e.texts)
	}
}

// What fails leaves the request as it is, is told once, and is left alone for a
// while that grows; then all is as before.
func TestSemanticRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &embedder{model: "m"}
		x := semantic(e, 2, 0.1).Of(docs)
		e.fails(errors.New("openai: Incorrect API key (HTTP 401)"))
		for _, pause := range []time.Duration{1, 2, 4, 8, 15, 15} {
			pause *= time.Minute
			before := e.count()
			hits, notice := x.Rank(t.Context(), "read file", nil)
			want := fmt.Sprintf("tools were looked for by words alone, not by meaning: openai: Incorrect API key (HTTP 401); asking again in %.0f min", pause.Minutes())
			if hits != nil || notice != want || e.count() != before+1 {
				t.Errorf("%v, %q", hits, notice)
			}
			time.Sleep(pause - time.Second)
			if hits, notice := x.Rank(t.Context(), "read file", nil); hits != nil || notice != "" || e.count() != before+1 {
				t.Errorf("while it rests: %v, %q", hits, notice)
			}
			time.Sleep(time.Second)
		}
		e.fails(nil)
		if hits, notice := x.Rank(t.Context(), "read file", nil); len(hits) != 2 || notice != "" {
			t.Errorf("%v, %q", hits, notice)
		}
		e.fails(errors.New("again"))
		if _, notice := x.Rank(t.Context(), "read file", nil); !strings.HasSuffix(notice, "in 1 min") {
			t.Errorf("%q", notice)
		}
	})
}

// While nobody is asked, what is kept is used, also by tools that are new: what a
// message finds doesn't depend on the time.
func TestKeptWhileItRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &embedder{model: "m"}
		s := semantic(e, 2, 0.1)
		x := s.Of(docs[:3])
		if hits, _ := x.Rank(t.Context(), "read file", nil); len(hits) != 2 {
			t.Fatal(hits)
		}
		e.fails(errors.New("down"))
		if hits, notice := x.Rank(t.Context(), "something else", nil); hits != nil || !strings.Contains(notice, "down") {
			t.Errorf("%v, %q", hits, notice)
		}
		calls := e.count()
		for _, y := range []*selection.Semantics{x, s.Of(docs)} {
			if hits, notice := y.Rank(t.Context(), "read file", nil); !slices.Equal(names(hits), []string{"file_read", "file_write"}) || notice != "" {
				t.Errorf("%v, %q", names(hits), notice)
			}
			if hits, notice := y.Rank(t.Context(), "something else", nil); hits != nil || notice != "" {
				t.Errorf("%v, %q", hits, notice)
			}
		}
		if e.count() != calls {
			t.Error("it was asked while it rests")
		}
		// The request that it fails for finds the same.
		hits, notice := semantic(e, 2, 0.1).Of(docs).Rank(t.Context(), "read file", nil)
		if len(hits) != 2 || !strings.Contains(notice, "as far as that is kept: down") {
			t.Errorf("%v, %q", hits, notice)
		}
	})
}

// Many tools and a slow server: no request waits for long, each goes on where the
// one before stopped, and what is there is used.
func TestSlowEmbedding(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		many := make([]selection.Doc, 200)
		for i := range many {
			many[i] = selection.Doc{Name: fmt.Sprintf("tool_%03d", i), Description: "Do things."}
		}
		e := &embedder{model: "m", pace: 50 * time.Millisecond}
		x := semantic(e, 1, 0.1).Of(many)
		told, requests := 0, 0
		for {
			requests++
			begin := time.Now()
			hits, notice := x.Rank(t.Context(), "tool 000", nil)
			if took := time.Since(begin); took > 6*time.Second || requests > 20 {
				t.Fatalf("request %d took %s", requests, took)
			}
			if len(hits) != 1 || hits[0].Doc != 0 {
				t.Errorf("%v", hits)
			}
			if notice != "" {
				told++
				if !strings.Contains(notice, " of 200 only") {
					t.Errorf("%q", notice)
				}
			}
			if len(e.texts) == len(many)+1 && time.Since(begin) == 0 {
				break
			}
		}
		if told != 1 || requests < 3 {
			t.Errorf("told %d times in %d requests", told, requests)
		}
	})
	// A server that can't do a single batch in time is left alone.
	synctest.Test(t, func(t *testing.T) {
		x := semantic(&embedder{model: "m", pace: 5 * time.Second}, 1, 0.1).Of(docs)
		begin := time.Now()
		hits, notice := x.Rank(t.Context(), "read file", nil)
		if took := time.Since(begin); took > 6*time.Second || hits != nil || !strings.Contains(notice, "no answer within 6s") {
			t.Errorf("%v, %q after %s", hits, notice, took)
		}
	})
	// Who leaves is told nothing, and nobody rests for it.
	synctest.Test(t, func(t *testing.T) {
		e := &embedder{model: "m", pace: time.Second}
		x := semantic(e, 1, 0.1).Of(docs)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if hits, notice := x.Rank(ctx, "read file", nil); hits != nil || notice != "" {
			t.Errorf("%v, %q", hits, notice)
		}
		if _, notice := x.Rank(t.Context(), "write", nil); strings.Contains(notice, "words alone") {
			t.Errorf("%q", notice)
		}
	})
}

// Fill waits as long as it takes.
func TestFill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &embedder{model: "m", pace: 20 * time.Second}
		x := semantic(e, 2, 0.1).Of(docs)
		if err := x.Fill(t.Context()); err != nil || len(e.texts) != len(docs) {
			t.Fatalf("%v", err)
		}
		e.fails(errors.New("down"))
		if err := semantic(e, 2, 0.1).Of(docs).Fill(t.Context()); err == nil {
			t.Error("no error")
		}
	})
}

// Another model's vectors are not compared with those of the one before.
func TestAnotherModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two := &embedder{model: "one", kept: map[string]bool{}}, &embedder{model: "two", kept: map[string]bool{}}
		var second atomic.Bool
		s := selection.NewSemantic(selection.SemanticOptions{TopK: 1, MinSimilarity: 0.1, Open: func(context.Context) (selection.Embedder, error) {
			if second.Load() {
				return two, nil
			}
			return one, nil
		}})
		x := s.Of(docs)
		if hits, _ := x.Rank(t.Context(), "read file", nil); len(hits) != 1 {
			t.Fatal(hits)
		}
		one.fails(errors.New("gone"))
		second.Store(true)
		x.Rank(t.Context(), "read file", nil)
		time.Sleep(time.Minute)
		if hits, notice := x.Rank(t.Context(), "read file", nil); len(hits) != 1 || notice != "" || len(two.texts) != len(docs)+1 {
			t.Errorf("%v, %q, %q", hits, notice, two.texts)
		}
	})
}

// Whatever the vectors are: what is added is what is closest among what is
// admitted, in order, not more and not farther away than may be.
func TestNearest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-e]( [a-e]){0,3}`), 1, 30).Draw(t, "docs")
		list := make([]selection.Doc, len(words))
		for i, w := range words {
			list[i] = selection.Doc{Name: "t", Description: w}
		}
		message := rapid.StringMatching(`[a-e]( [a-e]){0,3}`).Draw(t, "message")
		topK := rapid.IntRange(1, 10).Draw(t, "top_k")
		least := rapid.Float64Range(0, 1).Draw(t, "least")
		admitted := rapid.SliceOfN(rapid.Bool(), len(list), len(list)).Draw(t, "admitted")
		x := semantic(&embedder{model: "m"}, topK, least).Of(list)
		hits, notice := x.Rank(context.Background(), message, func(i int) bool { return admitted[i] })
		if notice != "" || len(hits) > topK {
			t.Fatalf("%v, %q", hits, notice)
		}
		similarity := func(i int) (sum float64) {
			a, b := fakellm.Vector(message, alike), fakellm.Vector("t: "+words[i], alike)
			for j := range a {
				sum += float64(a[j]) * float64(b[j])
			}
			return sum
		}
		in := map[int]bool{}
		last := 2.0
		for _, h := range hits {
			if in[h.Doc] || !admitted[h.Doc] || h.Score < least || h.Score > last {
				t.Fatalf("%+v", hits)
			}
			in[h.Doc], last = true, h.Score
		}
		for i := range list {
			const rounding = 1e-5
			better := similarity(i) > last+rounding || len(hits) < topK
			if admitted[i] && !in[i] && better && similarity(i) > least+rounding {
				t.Fatalf("%d with %f is not among %+v", i, similarity(i), hits)
			}
		}
	})
}

// wide is vectors of 1,536 numbers, as OpenAI's are.
type wide struct{ rand *rand.Rand }

func (wide) Model() string { return "wide" }

func (w wide) Embed(_ context.Context, texts []string, _ bool) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i := range out {
		out[i] = make([]float32, 1536)
		for j := range out[i] {
			out[i][j] = float32(w.rand.NormFloat64()) / 39.2 // about length 1
		}
	}
	return out, nil
}

func (wide) Kept(_ context.Context, texts []string, _ bool) [][]float32 {
	return make([][]float32, len(texts))
}

// BenchmarkSemantic ranks 1,000 tools by vectors of 1,536 numbers, what the
// message's own costs aside.
func BenchmarkSemantic(b *testing.B) {
	many := make([]selection.Doc, 1000)
	for i := range many {
		many[i] = selection.Doc{Name: fmt.Sprintf("tool_%04d", i), Description: "Do things."}
	}
	e := wide{rand.New(rand.NewPCG(1, 2))}
	asked, err := e.Embed(b.Context(), []string{"message"}, true)
	if err != nil {
		b.Fatal(err)
	}
	x := selection.NewSemantic(selection.SemanticOptions{
		TopK: 4, MinSimilarity: 0.05,
		Open: func(context.Context) (selection.Embedder, error) { return once{e, asked}, nil },
	}).Of(many)
	if err := x.Fill(b.Context()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if hits, notice := x.Rank(b.Context(), "message", nil); len(hits) != 4 || notice != "" {
			b.Fatal(len(hits), notice)
		}
	}
}

// once has the vector of the message at hand.
type once struct {
	wide
	asked [][]float32
}

func (o once) Embed(ctx context.Context, texts []string, query bool) ([][]float32, error) {
	if query {
		return o.asked, nil
	}
	return o.wide.Embed(ctx, texts, query)
}
