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
	const all = "OPENAI_API_KEY, DEEPSEEK_API_KEY"
	for name, tc := range map[string]struct {
		doc    string
		vars   []string
		ollama []string // models; nil is no Ollama
		demo   bool
		want   string // provider/model
		url    string
		why    string // a part of it
		absent string // a part of NotInThisVersion
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
		"empty key is none": {vars: append(keys("DEEPSEEK_API_KEY"), "OPENAI_API_KEY="), want: "deepseek/deepseek-flash"},
		"keys of later versions": {
			vars: keys("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "DEEPSEEK_API_KEY"), want: "deepseek/deepseek-flash",
			absent: "ANTHROPIC_API_KEY is set, but the provider claude is not in this version",
		},
		"key in the file":     {doc: "ai: {providers: {deepseek: {api_key: secret:D}}}", ollama: []string{}, want: "deepseek/deepseek-flash", why: "ai.providers.deepseek.api_key (config.yaml:1) is set"},
		"address in the file": {doc: "ai: {providers: {openai: {base_url: 'http://h/v1'}}}", ollama: []string{}, want: "openai/gpt-6-luna", why: "ai.providers.openai.base_url (config.yaml:1) is set"},
		"ollama":              {ollama: []string{"qwen3:8b", "llama3"}, demo: true, want: "ollama/qwen3:8b", why: "a local Ollama answers"},
		"ollama without ours": {ollama: []string{"llama3:latest"}, want: "ollama/llama3:latest"},
		"ollama unknown":      {ollama: []string{}, want: "ollama/qwen3"},
		"ollama configured":   {doc: "ai: {providers: {ollama: {model: mine}}}", ollama: []string{"llama3"}, want: "ollama/mine"},
		"demo":                {demo: true, want: "demo/demo", why: "no key is set (" + all + ") and no local Ollama answers"},
		"demo beside a key":   {demo: true, vars: keys("ANTHROPIC_API_KEY"), want: "demo/demo", absent: "claude is not in this version"},
		"nothing":             {err: "no model provider is set up: set OPENAI_API_KEY or DEEPSEEK_API_KEY, start Ollama, or write ai.provider in /home/ada/.goclaw/config.yaml (ANTHROPIC_API_KEY, GEMINI_API_KEY: these providers are not in this version)"},
		"nothing usable":      {vars: keys("GEMINI_API_KEY"), err: "GEMINI_API_KEY is set, but the provider gemini is not in this version; set OPENAI_API_KEY or"},
		"claude written":      {doc: "ai: {provider: claude}", vars: keys("ANTHROPIC_API_KEY"), err: "the provider claude is not in this version"},
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
			if !strings.Contains(strings.Join(got.NotInThisVersion, "\n"), tc.absent) || tc.absent == "" && len(got.NotInThisVersion) > 0 {
				t.Errorf("not in this version: %v, want %s", got.NotInThisVersion, tc.absent)
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
	c := parse(t, "ai: {providers: {work: {type: openai, api_key: k, timeout: 1s}}}")
	got, err := c.Target("work/gpt-x")
	if err != nil || got.Provider != "work" || got.Model != "gpt-x" || got.Settings.Type != "openai" {
		t.Errorf("%+v, %v", got, err)
	}
	for s, want := range map[string]string{
		"opnai/x":   `model "opnai/x": there is no provider "opnai": did you mean openai?`,
		"claude/x":  `model "claude/x": the provider claude is not in this version`,
		"":          `model "": there is no provider ""`,
		"elsewhere": `known are openai, claude, gemini, gemini-legacy, deepseek, ollama, demo, work`,
	} {
		if _, err := c.Target(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", s, err, want)
		}
	}
}
