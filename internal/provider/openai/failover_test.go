package openai

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// TestFailoverOverTheWire plays the cases of retry and failover with real
// answers: what a server sends has to be sorted rightly for the rules, which
// have their own tests, to be of use.
func TestFailoverOverTheWire(t *testing.T) {
	t.Parallel()
	overloaded := fakellm.Fail(529, `{"error":{"message":"Overloaded","type":"overloaded_error"}}`)
	slow := fakellm.Answer{Raw: []string{"data: " + chunkHel + "\n\n"}, Hang: "middle"}
	for _, test := range []struct {
		name   string
		a, b   []fakellm.Answer
		used   bool
		asked  []time.Duration // when a was
		text   string
		others int // how often b was asked
		class  llm.Class
	}{
		{"PR-001 overloaded twice, then fine", []fakellm.Answer{overloaded, overloaded, fakellm.Text("Hello")}, nil, false, []time.Duration{0, 2 * time.Second, 8 * time.Second}, "Hello", 0, ""},
		{"PR-002 overloaded for good", []fakellm.Answer{overloaded, overloaded, overloaded}, []fakellm.Answer{fakellm.Text("Hi")}, false, []time.Duration{0, 2 * time.Second, 8 * time.Second}, "Hi", 1, ""},
		{"PR-005 no quota", []fakellm.Answer{fakellm.Fail(429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`)}, []fakellm.Answer{fakellm.Text("Hi")}, false, []time.Duration{0}, "Hi", 1, ""},
		{"PR-008 reset before the first byte", []fakellm.Answer{{Break: "before"}, fakellm.Text("Hello")}, nil, false, []time.Duration{0, 500 * time.Millisecond}, "Hello", 0, ""},
		{"PR-009 reset in the middle", []fakellm.Answer{{Text: "Hel", Break: "middle"}, fakellm.Text("Hello")}, nil, false, []time.Duration{0, 500 * time.Millisecond}, "Hello", 0, ""},
		{"PR-011 overloaded after a tool was used", []fakellm.Answer{overloaded, overloaded, overloaded}, nil, true, []time.Duration{0, 2 * time.Second, 8 * time.Second}, "", 0, llm.ClassOverloaded},
		{"PR-013 asked to wait an hour", []fakellm.Answer{{Status: 429, Body: "{}", Header: map[string]string{"Retry-After": "3600"}}}, []fakellm.Answer{fakellm.Text("Hi")}, false, []time.Duration{0}, "Hi", 1, ""},
		{"PR-015 too long", []fakellm.Answer{fakellm.Fail(400, `{"error":{"message":"prompt is too long: 300000 tokens > 200000 maximum"}}`)}, nil, false, []time.Duration{0}, "", 0, llm.ClassTooLong},
		{"PR-020 it stalls", []fakellm.Answer{slow, slow}, []fakellm.Answer{fakellm.Text("Hello")}, false, []time.Duration{0, 60*time.Second + 500*time.Millisecond}, "Hello", 1, ""},
		{"TC-042 empty, then not", []fakellm.Answer{{}, fakellm.Text("Hello")}, nil, false, []time.Duration{0, 0}, "Hello", 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				servers := map[string]*fakellm.Server{"a": fakellm.StartInMemory(t, test.a...), "b": fakellm.StartInMemory(t, test.b...)}
				set := provider.New(provider.Options{
					Vendors: map[string]provider.Open{"openai": func(s provider.Settings) (llm.Model, error) {
						return newModel(s, servers[s.Name].Client()), nil
					}},
					Providers: []provider.Settings{
						{Name: "a", Type: provider.Compatible, BaseURL: servers["a"].Base(), Model: "m"},
						{Name: "b", Type: provider.Compatible, BaseURL: servers["b"].Base(), Model: "m"},
					},
				})
				build := func(target llm.Target) (llm.Request, error) {
					req := hello()
					req.Target = target
					return req, nil
				}
				begin := time.Now()
				var text string
				var end error
				for e, err := range set.For("a", []string{"b"}).Stream(t.Context(), "", test.used, build) {
					switch {
					case err != nil:
						end = err
					case e.Type == llm.EventText:
						text += e.Text
					case e.Type == llm.EventRetracted:
						text = ""
					}
				}
				var e *llm.Error
				if test.class == "" && end != nil || test.class != "" && (!errors.As(end, &e) || e.Class != test.class) {
					t.Errorf("%v", end)
				}
				if text != test.text || len(servers["b"].Requests()) != test.others {
					t.Errorf("the person sees %q, the other was asked %d times", text, len(servers["b"].Requests()))
				}
				asked := servers["a"].Requests()
				if len(asked) != len(test.asked) {
					t.Fatalf("asked %d times, want %d", len(asked), len(test.asked))
				}
				for i, r := range asked {
					if at := r.Time.Sub(begin); (at - test.asked[i]).Abs() > test.asked[i]/5 {
						t.Errorf("request %d came after %s, want about %s", i+1, at, test.asked[i])
					}
				}
			})
		})
	}
}
