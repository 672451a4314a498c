package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/config"
)

func TestVariablesOverride(t *testing.T) {
	t.Parallel()
	doc := `
ai:
  provider: claude
  providers:
    my-vllm: {type: openai-compatible, base_url: "http://a/v1"}
agents:
  list:
    - id: writer
      tools: {deny: [a]}
    - id: writer_2
gateway: {listen: 127.0.0.1:1}
`
	c := parse(t, doc,
		"GOCLAW_AI_PROVIDER=openai",
		"GOCLAW_AI_PROVIDERS_OPENAI_API_KEY=@k: #1",
		"GOCLAW_AI_PROVIDERS_MY_VLLM_BASE_URL=http://b/v1",
		"GOCLAW_AI_PROVIDERS_GEMINI_LEGACY_API_KEY=g",
		"GOCLAW_AI_PROVIDERS_HOUSE_TYPE=openai-compatible",
		"GOCLAW_AI_PROVIDERS_HOUSE_BASE_URL='http://c/v1'",
		"GOCLAW_AI_PROVIDERS_OPENAI_FIRST_BYTE_TIMEOUT=5s",
		"GOCLAW_AI_FALLBACK=[ollama/qwen3]",
		"GOCLAW_AGENTS_LIST_WRITER_TOOLS_DENY=[b, c]",
		"GOCLAW_AGENTS_LIST_WRITER_2_MODEL=openai/gpt-x",
		"GOCLAW_TOOLS_MAX_TOOL_ITERATIONS=3",
		"GOCLAW_TOOLS_RAG_ENABLED=false",
		"GOCLAW_TOOLS_POOL={workers: 2}",
		"GOCLAW_TOOLS_POOL_QUEUE=1",
		"GOCLAW_GATEWAY_LISTEN=127.0.0.1:2",
		"GOCLAW_GATEWAY_CORS=",
		"GOCLAW_BUDGET_DAY_USD=2.5",
		"GOCLAW_HOME=/elsewhere", "GOCLAW_TOKEN=123",
		"GOCLAW_PORT=tcp://10.0.0.1:80", "GOCLAW_SERVICE_HOST=10.0.0.1",
	)
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].String(), "(environment GOCLAW_AI_PROVIDERS_GEMINI_LEGACY_API_KEY): gemini-legacy is deprecated") {
		t.Errorf("warnings: %v", c.Warnings)
	}
	writer, _ := c.Agent("writer")
	second, _ := c.Agent("writer_2")
	type all struct {
		Provider, Key, VLLM, Gemini, House, Model, Listen string
		First                                             time.Duration
		Fallback                                          []string
		Deny, Pos                                         string
		Iterations                                        int
		RAG                                               bool
		Pool                                              config.Pool
		USD                                               float64
	}
	got := all{
		c.AI.Provider, c.AI.Providers["openai"].APIKey, c.AI.Providers["my-vllm"].BaseURL, c.AI.Providers["gemini-legacy"].APIKey,
		c.AI.Providers["house"].BaseURL, second.Model, c.Gateway.Listen, c.AI.Providers["openai"].FirstByteTimeout, c.AI.Fallback,
		writer.Tools.Deny[1].Value, writer.Tools.Deny[1].Pos.String(), c.Tools.MaxToolIterations, c.Tools.RAG.Enabled, c.Tools.Pool, c.Budget.Day.USD,
	}
	want := all{
		"openai", "@k: #1", "http://b/v1", "g", "http://c/v1", "openai/gpt-x", "127.0.0.1:2", 5 * time.Second,
		[]string{"ollama/qwen3"},
		"c", "agents.list[writer].tools.deny (environment GOCLAW_AGENTS_LIST_WRITER_TOOLS_DENY)", 3, false,
		config.Pool{Workers: 2, Queue: 1},
		2.5,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for key, where := range map[string]string{
		"gateway.listen":                 "gateway.listen (environment GOCLAW_GATEWAY_LISTEN)",
		"ai.provider":                    "ai.provider (environment GOCLAW_AI_PROVIDER)",
		"ai.providers.my-vllm.type":      "ai.providers.my-vllm.type (config.yaml:5)",
		"agents.list[writer].tools.deny": "agents.list[writer].tools.deny (environment GOCLAW_AGENTS_LIST_WRITER_TOOLS_DENY)",
		"gateway.cors":                   "gateway.cors (default)",
	} {
		if got := c.Where(key).String(); got != where {
			t.Errorf("where %s: %s, want %s", key, got, where)
		}
	}
}

func TestVariableFaults(t *testing.T) {
	t.Parallel()
	got := faults(t, "log: {level: loud}\n",
		"GOCLAW_TOOLS_POOL_WORKERS=many", "GOCLAW_LOG_FORMAT=xml", "GOCLAW_TOOLS_CORE=[", "GOCLAW_STATE_DSN=x", "GOCLAW_TELEMETRY=on")
	want := []string{
		`log.level (config.yaml:1:14): expected one of debug, info, warn, error, found "loud"`,
		`log.format (environment GOCLAW_LOG_FORMAT): expected one of text, json, found "xml"`,
		`telemetry (environment GOCLAW_TELEMETRY): expected a mapping of keys, found "on"`,
		`tools.core (environment GOCLAW_TOOLS_CORE): the value is not valid YAML: line 1: did not find expected node content`,
		`tools.pool.workers (environment GOCLAW_TOOLS_POOL_WORKERS): expected a whole number from 1 to 1024, found "many"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	c := parse(t, "", "GOCLAW_GATEWAY_LISTN=x", "GOCLAW_VERSION=1.2.3", "GOCLAW_TOKN=y", "GOCLAW_", "OTHER=1")
	want := []string{
		"environment GOCLAW_GATEWAY_LISTN: no key is set by this variable; did you mean GOCLAW_GATEWAY_LISTEN?",
		"environment GOCLAW_TOKN: no key is set by this variable; did you mean GOCLAW_TOKEN?",
		"environment GOCLAW_VERSION: no key is set by this variable",
	}
	var got []string
	for _, w := range c.Warnings {
		got = append(got, w.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A variable for one place of what an anchor shares must not change the rest.
func TestVariablesDoNotReachThroughAliases(t *testing.T) {
	t.Parallel()
	c := parse(t, `
tools:
  shell: &s {timeout: 5s}
agents:
  list:
    - {id: a, tools: {shell: *s}}
    - &b {id: b, tools: {rag: {top_k: 1}}}
    - {<<: *b, id: c}
`, "GOCLAW_AGENTS_LIST_A_TOOLS_SHELL_TIMEOUT=1s", "GOCLAW_AGENTS_LIST_C_TOOLS_RAG_TOP_K=2")
	a, _ := c.Agent("a")
	b, _ := c.Agent("b")
	third, _ := c.Agent("c")
	if c.Tools.Shell.Timeout != 5*time.Second || a.Tools.Shell.Timeout != time.Second || b.Tools.RAG.TopK != 1 || third.Tools.RAG.TopK != 2 {
		t.Errorf("%v %v %v %v", c.Tools.Shell.Timeout, a.Tools.Shell.Timeout, b.Tools.RAG.TopK, third.Tools.RAG.TopK)
	}
}

func TestHomeDir(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		flag string
		env  config.Environ
		want string
	}{
		{"", config.EnvironOf("HOME=/u"), "/u/.goclaw"},
		{"", config.EnvironOf("HOME=/u", "GOCLAW_HOME=/x/"), "/x"},
		{"/f", config.EnvironOf("HOME=/u", "GOCLAW_HOME=/x"), "/f"},
		{"~/g", config.EnvironOf("HOME=/u"), "/u/g"},
		{"", config.EnvironOf("GOCLAW_HOME=/x", "GOCLAW_HOME=/y"), "/y"},
	} {
		if got, err := config.HomeDir(tc.flag, tc.env); err != nil || got != tc.want {
			t.Errorf("%q: %q, %v; want %q", tc.flag, got, err, tc.want)
		}
	}
	if _, err := config.HomeDir("", config.Environ{}); err == nil {
		t.Error("no home at all must be an error")
	}
}

func TestAdminToken(t *testing.T) {
	t.Parallel()
	if tok, err := config.EnvironOf("GOCLAW_TOKEN=short").AdminToken(); err == nil || tok != "" {
		t.Error("a short token was accepted")
	}
	if tok, err := config.EnvironOf("GOCLAW_TOKEN=123456789012345678901234").AdminToken(); err != nil || len(tok) != 24 {
		t.Error(tok, err)
	}
	if tok, err := (config.Environ{}).AdminToken(); err != nil || tok != "" {
		t.Error(tok, err)
	}
}
