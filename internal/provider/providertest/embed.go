package providertest

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// Embedding is what [Embeddings] must know of a vendor beside the rest.
type Embedding struct {
	Vendor
	Model string // that embeds
	// Short is an answer in the vendor's form with one vector, whatever was asked;
	// Zero one whose vector has no direction.
	Short, Zero string
	// Counts says that the answer tells how many tokens went in.
	Counts bool
}

// Embeddings runs all scenarios of texts that are turned into vectors.
func Embeddings(t *testing.T, e Embedding) {
	t.Helper()
	for _, group := range []struct {
		name string
		test func(*testing.T, Embedding)
	}{
		{"vectors", vectors},
		{"many texts", manyTexts},
		{"failures", embedFailures},
		{"broken answers", brokenVectors},
		{"tries again", embedRetries},
		{"times", embedTimes},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			group.test(t, e)
		})
	}
}

// at is what embeds at s, as the gateway has it.
func (e Embedding) at(t *testing.T, s *fakellm.Server, l provider.Limits, o provider.EmbedOptions) *provider.Embedder {
	t.Helper()
	c := s.Client()
	if c == nil {
		c = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	set := provider.New(provider.Options{
		Vendors:   map[string]provider.Vendor{e.Wire: {Open: func(s provider.Settings) (llm.Model, error) { return e.Open(s, c), nil }}},
		Providers: []provider.Settings{{Name: "test", Type: e.Type, BaseURL: s.URL + e.Path, Key: key, Limits: l}},
	})
	m, err := set.Embedder("test", e.Model, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func vectors(t *testing.T, e Embedding) {
	s := fakellm.Start(t)
	var used, guessed llm.Usage
	m := e.at(t, s, provider.Limits{}, provider.EmbedOptions{Used: func(_ context.Context, target llm.Target, u, guess llm.Usage) {
		if target.Provider != "test" || target.Model != e.Model {
			t.Errorf("used by %s", target)
		}
		used, guessed = used.Add(u), guessed.Add(guess)
	}})
	texts := []string{"read a file from the workspace", "send a message to a person", "tell the time"}
	got, err := m.Embed(t.Context(), texts, false)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		if !sameDirection(got[i], fakellm.Vector(text)) {
			t.Errorf("the vector of text %d is another one", i)
		}
	}
	if asked, err := m.Embed(t.Context(), texts[:1], true); err != nil || !slices.Equal(asked[0], got[0]) {
		t.Errorf("%v", err)
	}
	if none, err := m.Embed(t.Context(), nil, true); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
	if sent := s.Embedded(); len(sent) != 2 {
		t.Errorf("%d requests", len(sent))
	}
	if e.Counts != (used.Input > 0) || e.Counts == (guessed.Input > 0) {
		t.Errorf("used %+v, guessed %+v", used, guessed)
	}
	if m.Model() != "test/"+e.Model {
		t.Errorf("%s", m.Model())
	}
}

// sameDirection allows for rounding.
func sameDirection(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Abs(float64(x-y)) < 1e-5 })
}

// manyTexts go in calls that the vendor takes, which the server checks, each in
// its place, and long ones by their beginnings.
func manyTexts(t *testing.T, e Embedding) {
	s := fakellm.Start(t)
	var texts []string
	for i := range 250 {
		texts = append(texts, "text "+strconv.Itoa(i))
	}
	texts[7] = "long" + strings.Repeat(" ü", 100_000)
	got, err := e.at(t, s, provider.Limits{}, provider.EmbedOptions{}).Embed(t.Context(), texts, false)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		if i != 7 && !sameDirection(got[i], fakellm.Vector(text)) {
			t.Fatalf("the vector of text %d is another one", i)
		}
	}
	if sent := s.Embedded(); len(sent) != 3 || len(sent[0].Body) > 30_000 {
		t.Errorf("%d requests, %d bytes", len(sent), len(sent[0].Body))
	}
}

// embedFailures are sorted as those of other calls are.
func embedFailures(t *testing.T, e Embedding) {
	for kind, class := range classes {
		if !e.has(kind) || kind == fakellm.NoTools || kind == fakellm.BadMedia {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e.fails(t, fakellm.Answer{Fault: kind}, class, "")
		})
	}
}

// fails wants the first answer to be a failure of a class, told without the key.
// It asks once: who tries again is asked with a context that leaves no time.
func (e Embedding) fails(t *testing.T, a fakellm.Answer, class llm.Class, message string) {
	t.Helper()
	s := fakellm.StartScript(t, fakellm.Script{Embeddings: []fakellm.Answer{a, a}})
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	got, err := e.at(t, s, provider.Limits{}, provider.EmbedOptions{}).Embed(ctx, []string{"one", "two"}, false)
	var failure *llm.Error
	if !errors.As(err, &failure) || got != nil {
		t.Fatalf("%v, %v", err, got)
	}
	if failure.Class != class || failure.Message == "" || !strings.Contains(failure.Message, message) ||
		failure.Target.Provider != "test" || strings.Contains(failure.Error(), key) || len([]rune(failure.Message)) > 400 {
		t.Errorf("class %s, want %s: %+v", failure.Class, class, failure)
	}
}

func brokenVectors(t *testing.T, e Embedding) {
	page := "<html>\n<head><title>502 Bad Gateway</title></head><body>" + strings.Repeat("x", 5000) + "</body></html>"
	for _, test := range []struct {
		name    string
		answer  fakellm.Answer
		class   llm.Class
		message string
	}{
		{"a page with a status", fakellm.Answer{Status: 502, Body: page}, llm.ClassNetwork, "502 Bad Gateway"},
		{"a page in place of an answer", fakellm.Answer{Raw: []string{page}}, llm.ClassUnknown, "502 Bad Gateway"},
		{"words in place of an answer", fakellm.Answer{Raw: []string{"Please sign in."}}, llm.ClassUnknown, "Please sign in."},
		{"JSON of something else", fakellm.Answer{Raw: []string{`{"hello":"world"}`}}, llm.ClassUnknown, "format"},
		{"an echo of the key", fakellm.Answer{Status: 401, Body: `{"error":{"message":"the key ` + key + ` is wrong"}}`}, llm.ClassAuth, "***"},
		{"too few vectors", fakellm.Answer{Raw: []string{e.Short}}, llm.ClassUnknown, "vectors"},
		{"a vector of nothing", fakellm.Answer{Raw: []string{e.Zero}}, llm.ClassUnknown, "without a direction"},
		{"reset before the answer", fakellm.Answer{Break: "before"}, llm.ClassNetwork, ""},
		{"reset within it", fakellm.Answer{Break: "middle"}, llm.ClassNetwork, "broke off"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e.fails(t, test.answer, test.class, test.message)
		})
	}
}

// embedRetries asks again by the table, within the time that there is.
func embedRetries(t *testing.T, e Embedding) {
	for _, test := range []struct {
		name   string
		answer fakellm.Answer
		within time.Duration
		took   time.Duration // at most
		fails  bool
	}{
		{"overloaded once", fakellm.Answer{Fault: fakellm.Overloaded}, time.Minute, 3 * time.Second, false},
		{"overloaded, and no time", fakellm.Answer{Fault: fakellm.Overloaded}, time.Second, 0, true},
		{"broken off once", fakellm.Answer{Break: "middle"}, time.Minute, time.Second, false},
		{"a wrong key", fakellm.Answer{Fault: fakellm.WrongKey}, time.Minute, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := fakellm.StartInMemoryScript(t, fakellm.Script{Embeddings: []fakellm.Answer{test.answer}})
				ctx, cancel := context.WithTimeout(t.Context(), test.within)
				defer cancel()
				begin := time.Now()
				_, err := e.at(t, s, provider.Limits{}, provider.EmbedOptions{}).Embed(ctx, []string{"one"}, true)
				if took := time.Since(begin); (err != nil) != test.fails || took > test.took {
					t.Errorf("%v after %s", err, took)
				}
				if want := 2; !test.fails && len(s.Embedded()) != want {
					t.Errorf("%d requests", len(s.Embedded()))
				}
			})
		})
	}
}

// embedTimes ends what hangs: by the provider's own limits, and by whoever asks.
func embedTimes(t *testing.T, e Embedding) {
	for _, hang := range []string{"before", "header"} {
		for _, within := range []time.Duration{5 * time.Second, time.Hour} {
			t.Run(hang+" "+within.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					a := fakellm.Answer{Hang: hang}
					s := fakellm.StartInMemoryScript(t, fakellm.Script{Embeddings: []fakellm.Answer{a, a}})
					ctx, cancel := context.WithTimeout(t.Context(), within)
					defer cancel()
					begin := time.Now()
					_, err := e.at(t, s, provider.Limits{FirstByte: time.Minute}, provider.EmbedOptions{}).Embed(ctx, []string{"one"}, true)
					took := time.Since(begin)
					var failure *llm.Error
					switch {
					case within < time.Minute && (!errors.Is(err, context.DeadlineExceeded) || took != within):
						t.Errorf("%v after %s", err, took)
					case within > time.Minute && (!errors.As(err, &failure) || failure.Class != llm.ClassNetwork || took > 3*time.Minute):
						t.Errorf("%v after %s", err, took)
					}
				})
			})
		}
	}
}
