package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// showing is a server that says this of every model.
func showing(t *testing.T, status int, says string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Model string }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.Method != http.MethodPost || r.URL.Path != "/api/show" || q.Model != "m" {
			t.Errorf("%s %s of %q: %v", r.Method, r.URL, q.Model, err)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(says))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestProbe(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		configured int
		says       string
		want       provider.Abilities
		think      any // how it is told to think a little
	}{
		{
			"everything", 0, `{"capabilities":["completion","vision","tools","thinking"],"modified_at":"some day","model_info":{"general.architecture":"qwen3","qwen3.context_length":40960,"clip.context_length":77},"details":{"family":"qwen3"}}`,
			provider.Abilities{ContextWindow: 32_768, Known: true, Images: true, Tools: true, Reasoning: true},
			true,
		},
		{"nothing but talk", 0, `{"capabilities":["completion"],"model_info":{"general.architecture":"llama","llama.context_length":8192}}`, provider.Abilities{ContextWindow: 8_192, Known: true}, nil},
		{"an older server", 0, `{"model_info":{"general.architecture":"llama","llama.context_length":131072}}`, provider.Abilities{ContextWindow: 32_768}, "low"},
		{"little is said", 0, `{}`, provider.Abilities{ContextWindow: 32_768}, "low"},
		{"odd things are said", 0, `{"capabilities":[],"model_info":{"general.architecture":1,"x.context_length":"many"},"parameters":"num_ctx many\nnum_ctx"}`, provider.Abilities{ContextWindow: 32_768, Known: true}, nil},
		{"levels", 0, `{"capabilities":["completion","tools","thinking"],"model_info":{"general.architecture":"gptoss","gptoss.context_length":131072}}`, provider.Abilities{ContextWindow: 32_768, Known: true, Tools: true, Reasoning: true}, "low"},
		{
			"in the cloud", 0, `{"capabilities":["completion","tools","thinking"],"remote_model":"deepseek-v3.1","remote_host":"https://ollama.com:443","details":{"family":"deepseek2"},"model_info":{"deepseek2.context_length":163840}}`,
			provider.Abilities{ContextWindow: 163_840, Known: true, Tools: true, Reasoning: true},
			true,
		},
		{"a size of the model's maker", 0, `{"capabilities":["completion"],"parameters":"num_ctx                        65536\nstop   \"<|end|>\"","model_info":{"general.architecture":"a","a.context_length":262144.0}}`, provider.Abilities{ContextWindow: 65_536, Known: true}, nil},
		{"a size of one's own", 100_000, `{"capabilities":["completion"],"parameters":"num_ctx 65536"}`, provider.Abilities{ContextWindow: 100_000, Known: true}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := open(t, provider.Settings{BaseURL: showing(t, 200, test.says), ContextWindow: test.configured})
			if got, err := m.Probe(t.Context(), "m"); err != nil || got != test.want {
				t.Errorf("%+v, %v", got, err)
			}
			req := hello()
			req.Target.Model, req.Reasoning = "m", "low"
			// The window of a target shrinks while a conversation is too long for it;
			// the model would be loaded anew if what is asked for did as well.
			req.Target.ContextWindow = 1
			if f := m.formOf(&req, 0); f.window != test.want.ContextWindow || f.think != test.think {
				t.Errorf("%+v", f)
			}
		})
	}
	for _, test := range []struct {
		status int
		says   string
		class  llm.Class
	}{
		{404, `{"error":"model 'm' not found"}`, llm.ClassNoModel},
		{200, `[]`, llm.ClassUnknown},
		{500, ``, llm.ClassNetwork},
	} {
		_, err := open(t, provider.Settings{BaseURL: showing(t, test.status, test.says)}).Probe(t.Context(), "m")
		var e *llm.Error
		if !errors.As(err, &e) || e.Class != test.class {
			t.Errorf("%d %s: %v", test.status, test.says, err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := open(t, provider.Settings{BaseURL: showing(t, 200, `{}`)}).Probe(ctx, "m"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A setting that a model refuses costs one request, and is not sent again.
func TestLessons(t *testing.T) {
	t.Parallel()
	refuses := func(message string) fakellm.Answer {
		body, err := json.Marshal(map[string]string{"error": message})
		if err != nil {
			t.Fatal(err)
		}
		return fakellm.Fail(400, string(body))
	}
	noThinking := refuses(`"qwen3" does not support thinking. Pull the model again to get the latest version`)
	noLevels := refuses(`think value "low" is not supported for this model`)
	older := refuses("json: cannot unmarshal string into Go struct field ChatRequest.think of type bool")
	for _, test := range []struct {
		name    string
		reason  string
		answers []fakellm.Answer
		think   []string // as sent, one after the other
		class   llm.Class
	}{
		{"no thinking", "low", []fakellm.Answer{noThinking, fakellm.Text("a"), fakellm.Text("b")}, []string{`"low"`, "", ""}, ""},
		{"no levels", "low", []fakellm.Answer{noLevels, fakellm.Text("a"), fakellm.Text("b")}, []string{`"low"`, "true", "true"}, ""},
		{"no levels and no thinking", "low", []fakellm.Answer{older, noThinking, fakellm.Text("a"), fakellm.Text("b")}, []string{`"low"`, "true", "", ""}, ""},
		{"no word of it", "off", []fakellm.Answer{refuses("think must be a string"), fakellm.Text("a"), fakellm.Text("b")}, []string{"false", "", ""}, ""},
		{"refused without having been sent", "", []fakellm.Answer{noThinking, fakellm.Text("b")}, []string{"", ""}, llm.ClassNoModel},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.Start(t, test.answers...)
			m := open(t, provider.Settings{BaseURL: s.URL})
			req := hello()
			req.Reasoning = test.reason
			got := ask(t.Context(), m, req)
			var e *llm.Error
			if test.class == "" && got.text != "a" || test.class != "" && (!errors.As(got.err, &e) || e.Class != test.class) {
				t.Errorf("%q, %v", got.text, got.err)
			}
			if got := ask(t.Context(), m, req); got.text != "b" {
				t.Errorf("%q, %v", got.text, got.err)
			}
			for i, r := range s.Requests() {
				var sent struct{ Think json.RawMessage }
				if err := r.Decode(&sent); err != nil || i >= len(test.think) || string(sent.Think) != test.think[i] {
					t.Errorf("request %d thinks %s, want %q; %v", i, sent.Think, test.think, err)
				}
			}
		})
	}
}
