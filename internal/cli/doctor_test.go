package cli

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/gateway"
)

// secretKey must stand in no finding.
const secretKey = "sk-secret-of-mine-1234567890"

// diagnose is what the doctor finds of the providers of a configuration.
func diagnose(t *testing.T, text string, within time.Duration, env ...string) []finding {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &app{Streams: Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}, env: config.EnvironOf(env...), home: home}
	g, err := a.open(t.Context(), gateway.Options{})
	if err != nil {
		t.Fatal(err)
	}
	found := examineProviders(t.Context(), g, false, within)
	if err := g.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for _, f := range found {
		if strings.Contains(fmt.Sprint(f), secretKey) {
			t.Errorf("the key is told: %v", f)
		}
	}
	return found
}

// lists is a server that lists models.
func lists(t *testing.T, models ...string) string {
	t.Helper()
	return fakellm.StartScript(t, fakellm.Script{Models: models}).URL
}

// answers is a server that gives every request the same answer.
func answers(t *testing.T, status int, kind, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "90")
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// refuses is an address at which nothing listens: no port that somebody else
// could be given meanwhile.
const refuses = "http://127.0.0.1:1"

// hangs is a server that never answers.
func hangs(t *testing.T) string {
	t.Helper()
	end := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-end:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() {
		close(end)
		s.Close()
	})
	return s.URL
}

// secure is a server with a certificate that nobody has signed.
func secure(t *testing.T) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// TestDoctorOfProviders has each fault on every wire.
func TestDoctorOfProviders(t *testing.T) {
	t.Parallel()
	denied := map[string]string{
		"openai-compatible": `{"error":{"message":"Incorrect API key provided: ` + secretKey + `","code":"invalid_api_key"}}`,
		"claude":            `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key ` + secretKey + `"}}`,
		"gemini":            `{"error":{"code":401,"message":"API key not valid: ` + secretKey + `","status":"UNAUTHENTICATED"}}`,
		"ollama":            `{"error":"unauthorized: ` + secretKey + `"}`,
	}
	for kind := range denied {
		hint := ""
		if kind == "openai-compatible" {
			hint = ", which often ends in /v1"
		}
		for _, c := range []struct {
			name   string
			server func() string
			more   string // settings
			status string
			detail []string
			fix    string
		}{
			{"fine", func() string { return lists(t, "m", "other") }, "", isOK, []string{"it answers, key from ai.providers.p.api_key (config.yaml:1); 2 models"}, ""},
			{"a wrong key", func() string { return answers(t, 401, "application/json", denied[kind]) }, "", isFault, []string{"HTTP 401", "***", "the key is from ai.providers.p.api_key (config.yaml:1)"}, "put a key that is valid there into ai.providers.p.api_key (config.yaml:1)"},
			{"nobody listens", func() string { return refuses }, "", isFault, []string{"http://127.0.0.1:", "can't be asked: "}, "nothing listens there: start the server; check ai.providers.p.base_url"},
			{"it hangs", func() string { return hangs(t) }, "", isFault, []string{"gives no answer within 300ms"}, "the server hangs, or a firewall drops what is sent; check ai.providers.p.base_url"},
			{"a page", func() string { return answers(t, 200, "text/html", "<html><title>Sign in</title></html>") }, "", isFault, []string{"is not in", "Sign in"}, "correct ai.providers.p.base_url" + hint + ": what answers there is no such server"},
			{"no such path", func() string { return answers(t, 404, "text/html", "<html><title>Not found</title></html>") }, "", isWarning, []string{"has no list of models there (HTTP 404)"}, "if calls fail as well, correct ai.providers.p.base_url" + hint},
			{"trouble there", func() string { return answers(t, 503, "text/plain", "down") }, "", isWarning, []string{"HTTP 503"}, "the trouble is there: try again later, and name another provider in ai.fallback"},
			{"a busy server", func() string { return answers(t, 429, "text/plain", "slow down") }, "", isWarning, []string{"slow down (HTTP 429; it asks to wait 90 s)"}, "the trouble is there: try again later, and name another provider in ai.fallback"},
			{"an unknown host", func() string { return "http://models..invalid" }, "", isFault, []string{"http://models..invalid can't be asked"}, "the name of the host is not known: a slip, or the network's DNS; check ai.providers.p.base_url"},
			{"an unknown certificate", func() string { return secure(t) }, "", isFault, []string{"certificate"}, "its certificate is not to be trusted: mend it, or the clock or the certificates of this machine; check ai.providers.p.base_url"},
			{"no TLS", func() string { return strings.Replace(lists(t), "http://", "https://", 1) }, "", isFault, []string{"can't be asked"}, "it speaks no TLS: write http:// in place of https://; check ai.providers.p.base_url"},
			{"no proxy", func() string { return "http://models.invalid" }, "proxy: '" + refuses + "'", isFault, []string{"can't be asked"}, "the proxy can't be reached; check ai.providers.p.proxy and .base_url"},
		} {
			t.Run(kind+" "+c.name, func(t *testing.T) {
				t.Parallel()
				base := c.server()
				if kind == "openai-compatible" {
					base += "/v1"
				}
				text := fmt.Sprintf("ai: {provider: p, providers: {p: {type: %s, api_key: %s, model: m, base_url: %q, context_window: 9000, tools: true, prices: {m: {in: 1, out: 2}}, %s}}}\n", kind, secretKey, base, c.more)
				within := time.Minute
				if c.name == "it hangs" {
					within = 300 * time.Millisecond
				}
				found := diagnose(t, text, within)
				if len(found) == 0 || found[0].Check != "provider p" || found[0].Status != c.status || found[0].Fix != c.fix {
					t.Fatalf("%+v", found)
				}
				for _, want := range c.detail {
					if !strings.Contains(found[0].Detail, want) {
						t.Errorf("%q lacks %q", found[0].Detail, want)
					}
				}
				if c.status == isFault && len(found) > 1 {
					t.Errorf("more than the fault is told: %+v", found[1:])
				}
				if c.status == isOK && found[1] != (finding{"model p/m", isOK, "for agent main: 9000 tokens, takes tools, 1 and 2 USD per million tokens", ""}) {
					t.Errorf("%+v", found[1])
				}
			})
		}
	}
}

func TestDoctorOfModels(t *testing.T) {
	t.Parallel()
	base := lists(t, "gpt-4o", "gpt-4o-mini")
	for _, c := range []struct {
		name, text string
		env        []string
		want       []string // status check: detail | fix
	}{
		{"nothing is set up", "", nil, nil},
		{"no key", "ai: {provider: openai}", nil, []string{
			"fault provider openai: there is no API key; set OPENAI_API_KEY | set OPENAI_API_KEY, or write ai.providers.openai.api_key",
		}},
		{"a key that is a secret", "ai: {provider: openai, providers: {openai: {api_key: 'secret:OR'}}}", nil, []string{
			"fault provider openai: choose provider: ai.providers.openai.api_key names the secret OR, and secrets are not in this version: write ${VARIABLE} there | write ${VARIABLE} as ai.providers.openai.api_key, and the key into the environment",
		}},
		{"gemini by its older name, with an address of its own", "ai: {provider: gemini-legacy, providers: {gemini-legacy: {base_url: '" + base + "', model: gpt-4o}}}", []string{"GEMINI_API_KEY=" + secretKey}, []string{
			"ok provider gemini-legacy: it answers, key from GEMINI_API_KEY; 2 models | ",
			"ok model gemini-legacy/gpt-4o: for agent main: 128000 tokens, takes tools, 2.5 and 10 USD per million tokens | ",
		}},
		{"a fallback without a key", "ai: {provider: demo, fallback: [deepseek/deepseek-flash]}", nil, []string{
			"fault provider deepseek: there is no API key; set DEEPSEEK_API_KEY | set DEEPSEEK_API_KEY, or write ai.providers.deepseek.api_key",
			"ok provider demo: no key; it can't be asked for its models | ",
			"ok model demo/demo: for agent main: 128000 tokens, takes tools | ",
		}},
		{"a key in the environment", "ai: {provider: openai, providers: {openai: {base_url: '" + base + "/v1', model: gpt-4o}}}", []string{"OPENAI_API_KEY=" + secretKey}, []string{
			"ok provider openai: it answers, key from OPENAI_API_KEY; 2 models | ",
			"ok model openai/gpt-4o: for agent main: 128000 tokens, takes tools, 2.5 and 10 USD per million tokens | ",
		}},
		{"models that are missing or unknown", `
ai:
  provider: p
  fallback: [p/gpt-5o, p]
  providers: {p: {type: openai-compatible, base_url: '` + base + `/v1', model: gpt-4o}, unused: {type: openai-compatible, base_url: '` + base + `/v1', model: mine}, bare: {type: openai-compatible, base_url: '` + base + `/v1'}}
agents: {list: [{id: main}, {id: writer, fallback: [p/gpt-4o-mini, bare]}]}`, nil, []string{
			"ok provider bare: it answers, no key; 2 models | ",
			"fault model bare: agents.list[writer].fallback[1] names no model, and the provider has none of its own | write bare/MODEL there, or set ai.providers.bare.model",
			"ok provider p: it answers, no key; 2 models | ",
			"warning model p/gpt-5o: p answers, but doesn't list the model gpt-5o (ai.fallback[0]) | name one that it has (see goclaw models --live --provider p): gpt-4o",
			"warning model p/gpt-5o: how much it can read is not known, so that long conversations are not shortened before they fail | set ai.providers.p.context_window",
			"ok model p/gpt-4o: for ai.fallback[1], agent main, agent writer: 128000 tokens, takes tools, 2.5 and 10 USD per million tokens | ",
			"ok model p/gpt-4o-mini: for agents.list[writer].fallback[0]: 128000 tokens, takes tools, 0.15 and 0.6 USD per million tokens | ",
			"ok provider unused: it answers, no key; 2 models | ",
			"warning model unused/mine: unused answers, but doesn't list the model mine (ai.providers.unused) | name one that it has (see goclaw models --live --provider unused): gpt-4o, gpt-4o-mini",
			"warning model unused/mine: how much it can read is not known, so that long conversations are not shortened before they fail | set ai.providers.unused.context_window",
		}},
		{"an Ollama without the model", "ai: {provider: ollama, providers: {ollama: {base_url: '" + base + "', context_window: 8000}}}", nil, []string{
			"ok provider ollama: it answers, no key; 2 models | ",
			"warning model ollama/qwen3: ollama answers, but doesn't list the model qwen3 (agent main) | ollama pull qwen3",
		}},
		{"a model without a price", "ai: {provider: p, providers: {p: {type: openai-compatible, base_url: '" + lists(t, "m") + "/v1', model: m, context_window: 8000, tools: true}}}", nil, []string{
			"ok provider p: it answers, no key; 1 model | ",
			"ok model p/m: for agent main: 8000 tokens, takes tools, its price is not known, so that its cost is not counted | set ai.providers.p.prices, if it matters",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range diagnose(t, c.text, time.Minute, c.env...) {
				got = append(got, fmt.Sprintf("%s %s: %s | %s", f.Status, f.Check, f.Detail, f.Fix))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("found:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestDoctorTriesTools asks models of which nobody says whether they take tools.
func TestDoctorTriesTools(t *testing.T) {
	t.Parallel()
	const unpriced, price = ", its price is not known, so that its cost is not counted", "set ai.providers.p.prices, if it matters"
	const window = "warning: how much it can read is not known, so that long conversations are not shortened before they fail | set ai.providers.p.context_window"
	vllm := `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","param":null,"code":400}`
	for name, c := range map[string]struct {
		answer fakellm.Answer
		more   string
		want   []string
	}{
		"it takes them":             {fakellm.Text("ok"), "context_window: 8000", []string{"ok: for agent main: 8000 tokens, takes tools" + unpriced + " | " + price}},
		"its window is unknown too": {fakellm.Calls(fakellm.Use("look_up", `{"word":"ok"}`)), "", []string{"ok: for agent main: takes tools" + unpriced + " | " + price, window}},
		"it thinks until the end":   {fakellm.Answer{Finish: "length"}, "context_window: 8000", []string{"ok: for agent main: 8000 tokens, takes tools" + unpriced + " | " + price}},
		"vLLM without them": {fakellm.Fail(400, vllm), "context_window: 8000", []string{
			`warning: it takes no tools: agents can only talk with it: "auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set | start vLLM with --enable-auto-tool-choice and the --tool-call-parser of the model`,
		}},
		"llama.cpp without them": {fakellm.Fail(500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`), "context_window: 8000", []string{
			"warning: it takes no tools: agents can only talk with it: tools param requires --jinja flag | start llama.cpp's server with --jinja",
		}},
		"a model without them": {fakellm.Fail(404, `{"error":{"message":"No endpoints found that support tool use.","code":404}}`), "context_window: 8000", []string{
			"warning: it takes no tools: agents can only talk with it: No endpoints found that support tool use. | name a model that takes tools in agent main",
		}},
		"the key is wrong": {fakellm.Fail(401, `{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}`), "context_window: 8000", []string{
			"fault: whether it takes tools is not known: p: Incorrect API key (HTTP 401); the key is from nowhere: it is sent none | put a key that is valid there into ai.providers.p.api_key",
		}},
		"it is down": {fakellm.Fail(503, "down"), "context_window: 8000", []string{
			"warning: whether it takes tools is not known: p: down (HTTP 503) | the trouble is there: try again later, and name another provider in ai.fallback",
		}},
		"the configuration says it": {fakellm.Answer{}, "context_window: 8000, tools: false", []string{
			"warning: it takes no tools: agents can only talk with it | name a model that takes tools in agent main",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.StartScript(t, fakellm.Script{Models: []string{"m"}, Answers: []fakellm.Answer{c.answer}})
			var got []string
			for _, f := range diagnose(t, fmt.Sprintf("ai: {provider: p, providers: {p: {type: openai-compatible, base_url: %q, model: m, %s}}}\n", s.URL+"/v1", c.more), time.Minute)[1:] {
				got = append(got, fmt.Sprintf("%s: %s | %s", f.Status, f.Detail, f.Fix))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("found:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// However many hang, the doctor waits for all at once.
func TestDoctorAsksProvidersSideBySide(t *testing.T) {
	t.Parallel()
	came := make(chan struct{}, 5)
	all := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		came <- struct{}{}
		<-all // until every provider has been asked
		fmt.Fprint(w, `{"object":"list","data":[]}`)
	}))
	t.Cleanup(s.Close)
	var providers []string
	for i := range cap(came) {
		providers = append(providers, fmt.Sprintf("p%d: {type: openai-compatible, base_url: %q}", i, s.URL))
	}
	go func() {
		for range cap(came) {
			<-came
		}
		close(all)
	}()
	found := diagnose(t, "ai: {provider: demo, providers: {"+strings.Join(providers, ", ")+"}}\n", time.Minute)
	if n := len(found); n != cap(came)+2 {
		t.Errorf("%d findings: %v", n, found)
	}
}
