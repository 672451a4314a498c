package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/config"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	keys := func(names ...string) []string {
		var out []string
		for _, n := range names {
			out = append(out, n+"=k")
		}
		return out
	}
	const all = "OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, DEEPSEEK_API_KEY"
	for name, tc := range map[string]struct {
		doc    string
		vars   []string
		ollama []string // models; nil is no Ollama
		demo   bool
		want   string // provider/model
		url    string
		why    string // a part of it
		err    string // a part of it
	}{
		"agent's provider": {
			doc: "ai: {provider: ollama}\nagents: {list: [{id: main, model: openai}]}", vars: keys("OPENAI_API_KEY"),
			want: "openai/gpt-6-luna", why: "agents.list[main].model (config.yaml:2)",
		},
		"agent's model": {
			doc:  "agents: {list: [{id: main, model: router/meta/llama-3:free}]}\nai: {providers: {router: {type: openai-compatible, base_url: 'https://r/v1'}}}",
			want: "router/meta/llama-3:free", url: "https://r/v1",
		},
		"written": {
			doc: "ai: {provider: deepseek}", vars: keys("DEEPSEEK_API_KEY", "OPENAI_API_KEY"), ollama: []string{}, demo: true,
			want: "deepseek/deepseek-flash", why: "ai.provider (config.yaml:1)",
		},
		"variable":          {vars: []string{"GOCLAW_AI_PROVIDER=demo", "OPENAI_API_KEY=k"}, want: "demo/demo", why: "environment GOCLAW_AI_PROVIDER"},
		"own model setting": {doc: "ai: {provider: openai, providers: {openai: {model: m, api_key: k}}}", want: "openai/m"},
		"written without key": {
			doc: "ai: {provider: openai}", ollama: []string{}, demo: true,
			err: "choose provider: openai has no key (it is written in ai.provider (config.yaml:1)): set OPENAI_API_KEY, or write ai.providers.openai.api_key in /home/ada/.goclaw/config.yaml",
		},
		"key that is empty": {
			doc: "ai: {provider: openai, providers: {openai: {api_key: '${NOPE}'}}}",
			err: "set OPENAI_API_KEY, or mend ai.providers.openai.api_key (config.yaml:1), which gives no key",
		},
		"server without key": {doc: "ai: {provider: openai, providers: {openai: {base_url: 'http://127.0.0.1:9/v1'}}}", want: "openai/gpt-6-luna", url: "http://127.0.0.1:9/v1"},
		"another agent names one": {
			doc: "agents: {list: [{id: main}, {id: b, model: demo}]}", vars: keys("DEEPSEEK_API_KEY"), ollama: []string{}, demo: true,
			err: "openai has no key",
		},
		"first key":         {vars: keys("DEEPSEEK_API_KEY", "OPENAI_API_KEY"), want: "openai/gpt-6-luna", why: "OPENAI_API_KEY is set"},
		"Anthropic's key":   {vars: keys("DEEPSEEK_API_KEY", "ANTHROPIC_API_KEY"), want: "claude/claude-sonnet-5-5", why: "ANTHROPIC_API_KEY is set"},
		"empty key is none": {vars: append(keys("DEEPSEEK_API_KEY"), "OPENAI_API_KEY="), want: "deepseek/deepseek-flash"},
		"Gemini's key":      {vars: keys("GEMINI_API_KEY", "DEEPSEEK_API_KEY"), want: "gemini/gemini-3.8-flash", why: "GEMINI_API_KEY is set"},
		"the older name":    {doc: "ai: {provider: gemini-legacy}", vars: keys("GEMINI_API_KEY"), want: "gemini-legacy/gemini-3.8-flash"},
		"the newer settings": {
			doc:  "ai: {provider: gemini-legacy, providers: {gemini: {api_key: k, model: m, base_url: 'http://g'}}}",
			want: "gemini-legacy/m", url: "http://g",
		},
		"key in the file":     {doc: "ai: {providers: {deepseek: {api_key: secret:D}}}", ollama: []string{}, want: "deepseek/deepseek-flash", why: "ai.providers.deepseek.api_key (config.yaml:1) is set"},
		"address in the file": {doc: "ai: {providers: {openai: {base_url: 'http://h/v1'}}}", ollama: []string{}, want: "openai/gpt-6-luna", why: "ai.providers.openai.base_url (config.yaml:1) is set"},
		"ollama":              {ollama: []string{"qwen3:8b", "llama3"}, demo: true, want: "ollama/qwen3:8b", why: "a local Ollama answers"},
		"ollama without ours": {ollama: []string{"llama3:latest"}, want: "ollama/llama3:latest"},
		"ollama unknown":      {ollama: []string{}, want: "ollama/qwen3"},
		"ollama configured":   {doc: "ai: {providers: {ollama: {model: mine}}}", ollama: []string{"llama3"}, want: "ollama/mine"},
		"demo":                {demo: true, want: "demo/demo", why: "no key is set (" + all + ") and no local Ollama answers"},
		"nothing":             {err: "no model provider is set up: set OPENAI_API_KEY or ANTHROPIC_API_KEY or GEMINI_API_KEY or DEEPSEEK_API_KEY, start Ollama, or write ai.provider in /home/ada/.goclaw/config.yaml; goclaw config set ai.provider demo takes a script without AI"},
		"gemini written":      {doc: "ai: {provider: gemini}", err: "gemini has no key (it is written in ai.provider (config.yaml:1)): set GEMINI_API_KEY"},
		"no model": {
			doc: "ai: {provider: mine, providers: {mine: {type: openai-compatible, base_url: 'http://h'}}}",
			err: "write mine/MODEL or set ai.providers.mine.model",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := parse(t, tc.doc, tc.vars...)
			asked := 0
			got, err := c.Choose(c.DefaultAgent(), config.Situation{
				Lookup: config.EnvironOf(tc.vars...).Lookup,
				Demo:   tc.demo,
				Ollama: func() ([]string, bool) {
					asked++
					return tc.ollama, tc.ollama != nil
				},
			})
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v, want %s", err, tc.err)
				}
				if strings.HasPrefix(name, "nothing") != errors.Is(err, config.ErrNoProvider) {
					t.Errorf("ErrNoProvider: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if s := got.Provider + "/" + got.Model; s != tc.want {
				t.Errorf("chose %s (%s), want %s", s, got.Why, tc.want)
			}
			if tc.url != "" && got.Settings.BaseURL != tc.url {
				t.Errorf("address %s, want %s", got.Settings.BaseURL, tc.url)
			}
			if !strings.Contains(got.Why, tc.why) {
				t.Errorf("why: %s, want %s", got.Why, tc.why)
			}
			if asked > 1 || asked == 1 && got.Provider != "ollama" && got.Provider != "demo" {
				t.Errorf("Ollama was asked %d times", asked)
			}
		})
	}
}

func TestProviderFillsIn(t *testing.T) {
	t.Parallel()
	c := parse(t, "ai: {providers: {ollama: {base_url: 'http://gpu:11434/'}, mine: {base_url: 'http://m/v1', model: x}}}")
	for name, want := range map[string][3]string{
		"ollama": {"ollama", "http://gpu:11434/", "qwen3"},
		"mine":   {"openai-compatible", "http://m/v1", "x"},
		"openai": {"openai", "", "gpt-6-luna"},
	} {
		if p, ok := c.Provider(name); !ok || [3]string{p.Type, p.BaseURL, p.Model} != want {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	c := parse(t, "ai: {providers: {work: {type: openai, api_key: k, timeout: 1s, model: gpt-x}}}")
	got, err := c.Target("work/gpt-x")
	if err != nil || got.Provider != "work" || got.Model != "gpt-x" || got.Settings.Type != "openai" {
		t.Errorf("%+v, %v", got, err)
	}
	for s, want := range map[string]string{
		"opnai/x":           `model "opnai/x": there is no provider "opnai": did you mean openai?`,
		"":                  `model "": there is no provider ""`,
		"anthropic":         `there is no provider "anthropic": anthropic is called claude here`,
		"Google/gemini-x":   `there is no provider "Google": Google is called gemini here: write gemini/gemini-x`,
		"claude-sonnet-5-5": `there is no provider "claude-sonnet-5-5": a model is written with its provider: claude/claude-sonnet-5-5`,
		"gpt-x":             `there is no provider "gpt-x": a model is written with its provider: work/gpt-x`,
		"gemma:2b":          `there is no provider "gemma:2b": a model is written with its provider, as ollama/gemma:2b`,
		"elsewhere":         `known are openai, claude, gemini, gemini-legacy, deepseek, ollama, demo, work`,
	} {
		if _, err := c.Target(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", s, err, want)
		}
	}
}

// The older name of Gemini's is served as the newer one, with its settings where
// it has none of its own; whoever uses it is told, at the place.
func TestGeminiLegacy(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		doc      string
		vars     []string
		provider string
		key      string
		base     string
		warnings []string // a part of each
	}{
		"the environment's key": {
			doc: "ai: {provider: gemini-legacy}", vars: []string{"GEMINI_API_KEY=env"}, provider: "gemini-legacy", key: "env",
			warnings: []string{"ai.provider (config.yaml:1:16): gemini-legacy is of the type gemini-legacy, which is deprecated and served as gemini: write gemini"},
		},
		"the newer one's": {
			doc: "ai: {fallback: [gemini-legacy/x], providers: {gemini: {api_key: new, base_url: 'http://g'}}}", vars: []string{"GEMINI_API_KEY=env"},
			provider: "gemini-legacy", key: "new", base: "http://g", warnings: []string{"ai.fallback[0] (config.yaml:1:17)"},
		},
		"its own": {
			doc: "ai: {providers: {gemini: {api_key: new}, gemini-legacy: {api_key: old, base_url: 'http://old'}}}", provider: "gemini-legacy",
			key: "old", base: "http://old", warnings: []string{"move what is set here to ai.providers.gemini"},
		},
		"of its type": {
			doc: "ai: {providers: {gemini: {api_key: new}, mine: {type: gemini-legacy}}}\nagents: {list: [{id: main, model: mine/x, fallback: [mine]}]}", provider: "mine", key: "new",
			warnings: []string{"move what is set here", "agents.list[main].model", "agents.list[main].fallback[0]"},
		},
		"not at all": {doc: "ai: {provider: gemini}", vars: []string{"GEMINI_API_KEY=env"}, provider: "gemini", key: "env"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := parse(t, tc.doc, tc.vars...)
			if p, ok := c.Provider(tc.provider); !ok || p.APIKey != tc.key || p.BaseURL != tc.base {
				t.Errorf("%+v", p)
			}
			var got []string
			for _, w := range c.Warnings {
				got = append(got, w.String())
			}
			if len(got) != len(tc.warnings) {
				t.Fatalf("warnings: %q", got)
			}
			for i, w := range tc.warnings {
				if !strings.Contains(got[i], w) {
					t.Errorf("warning %q lacks %q", got[i], w)
				}
			}
		})
	}
}
