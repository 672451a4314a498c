package config_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/lib/source"
)

const secretDoc = `
ai:
  providers:
    openai:
      api_key: sk-literal
      base_url: https://ada:hunter2@example.org/v1
      extra_headers: {Authorization: Bearer literal, X-Ref: "${HEADER}"}
      prices: {gpt-4.1: {in: 2, out: 8}}
    claude: {api_key: secret:CLAUDE}
    deepseek: {api_key: "${DEEPSEEK}"}
agents:
  list:
    - id: writer
      tools: {deny: [a, b], shell: {allow: [git]}}
    - id: other
tools: {shell: {timeout: 7s}}
state: {dsn: "postgres://u:hunter2@db/x"}
mcp: {servers: {gh: {command: npx, args: [-y, 1], env: {TOKEN: hunter2}}}}
plugins: {jira: {api_token: hunter2, url: "${URL}", nested: {headers: {A: hunter2}}, ref: {password: "secret:P"}, list: [1, x]}}
channels: {telegram: {token: 'hunter2'}}
webhooks: {deploy: {secret: hunter2}}
`

func TestGet(t *testing.T) {
	t.Parallel()
	c := parse(t, secretDoc, "HEADER=hunter2", "DEEPSEEK=hunter2", "URL=hunter2", "ANTHROPIC_API_KEY=hunter2", "GEMINI_API_KEY=hunter2")
	for key, want := range map[string]string{
		"ai.providers.openai.api_key":            "***",
		"ai.providers.openai.base_url":           "https://ada:***@example.org/v1",
		"ai.providers.openai.extra_headers":      "Authorization: '***'\nX-Ref: ${HEADER}",
		"ai.providers.openai.prices[gpt-4.1]":    "in: 2\ncached: null\ncache_write: null\nout: 8",
		"ai.providers.openai.prices[gpt-4.1].in": "2",
		"ai.providers.openai.timeout":            "10m",
		"ai.providers.claude.api_key":            "secret:CLAUDE",
		"ai.providers.deepseek.api_key":          "${DEEPSEEK}",
		"ai.providers.gemini.api_key":            "${GEMINI_API_KEY}",
		"state.dsn":                              "***",
		"mcp.servers.gh":                         "command: npx\nargs:\n  - -y\n  - \"1\"\nenv:\n  TOKEN: '***'\nurl: \"\"\nheaders: {}",
		"plugins.jira":                           "api_token: '***'\nurl: ${URL}\nnested:\n  headers:\n    A: '***'\nref:\n  password: secret:P\nlist:\n  - 1\n  - x",
		"plugins.jira.list[1]":                   "x",
		"plugins.jira.nested.headers.A":          "***",
		"channels.telegram.token":                "***",
		"webhooks.deploy.secret":                 "***",
		"agents.list[writer].tools.deny":         "- a\n- b",
		"agents.list[writer].tools.deny[1]":      "b",
		"agents.list[0].tools":                   "deny:\n  - a\n  - b\nshell:\n  allow:\n    - git\n  deny: []\n  network: false\n  timeout: 60s",
		"agents.list[other].tools.shell.timeout": "7s",
		"agents.list[other].skills.allow":        "null",
		"agents.list[writer].workspace":          "/home/ada/.goclaw/workspace",
		"gateway.listen":                         "127.0.0.1:18800",
		"budget.run":                             "null",
		"budget.run.tokens":                      "0",
		"hooks":                                  "[]",
		"tools.max_tool_iterations":              "20",
	} {
		s, err := c.Get(key)
		if err != nil {
			t.Errorf("%s: %v", key, err)
		} else if got := s.String(); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", key, got, want)
		}
	}
	all, err := c.Get("")
	if err != nil {
		t.Fatal(err)
	}
	js, err := json.Marshal(all.Value())
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{all.String(), string(js)} {
		if strings.Contains(out, "hunter2") || strings.Contains(out, "literal") {
			t.Errorf("a secret is shown:\n%s", out)
		}
	}
}

// A key that nobody wrote has its secret from the environment; that is shown
// as the reference, never as the key.
func TestKeysFromTheEnvironmentAreNotShown(t *testing.T) {
	t.Parallel()
	c := parse(t, "", "OPENAI_API_KEY=hunter2", "GOCLAW_AI_PROVIDERS_CLAUDE_API_KEY=hunter2", "GOCLAW_STATE_DSN=hunter2")
	if c.AI.Providers["openai"].APIKey != "hunter2" || c.AI.Providers["claude"].APIKey != "hunter2" {
		t.Error("keys of the environment are missing")
	}
	all, err := c.Get("")
	if err != nil {
		t.Fatal(err)
	}
	if s := all.String(); strings.Contains(s, "hunter2") || !strings.Contains(s, "api_key: ${OPENAI_API_KEY}") {
		t.Error(s)
	}
}

func TestGetErrors(t *testing.T) {
	t.Parallel()
	c := parse(t, secretDoc)
	for key, want := range map[string]string{
		"tools.shel.timeout":       "get configuration: unknown key tools.shel: did you mean shell?",
		"agents.list[nobody]":      "get configuration: there is no agents.list[nobody]",
		"agents.list[7].model":     "get configuration: there is no agents.list[7]",
		"agents.list.writer":       "get configuration: key agents.list: it is a list; name an entry in brackets, as in agents.list[0]",
		"ai.providers.nobody":      "get configuration: there is no ai.providers.nobody",
		"gateway.listen.port":      "get configuration: key gateway.listen: it holds one value and no keys",
		"plugins.jira.nope":        "get configuration: there is no plugins.jira.nope",
		"plugins.jira.list[9]":     "get configuration: there is no plugins.jira.list[9]",
		"tools[shell]":             "get configuration: unknown key tools.shell: did you mean shell?",
		"tools.":                   `get configuration: key "tools.": a name is missing after the last dot`,
		"tools..x":                 `get configuration: key "tools..x": a name is missing`,
		"agents.list[writer":       `get configuration: key "agents.list[writer": brackets must hold a name or a number and be closed`,
		`agents.list["writer`:      `get configuration: key "agents.list[\"writer": a closing quote and bracket are missing`,
		"agents.list[writer]model": `get configuration: key "agents.list[writer]model": a dot or a bracket must follow ]`,
	} {
		if _, err := c.Get(key); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", key, err, want)
		}
	}
}

func TestWhere(t *testing.T) {
	t.Parallel()
	c := parse(t, secretDoc)
	for key, want := range map[string]string{
		"agents.list[writer].tools.deny[1]":       "agents.list[writer].tools.deny[1] (config.yaml:14)",
		"agents.list[0].tools.deny":               "agents.list[writer].tools.deny (config.yaml:14)",
		"agents.list[other].tools.shell.timeout":  "tools.shell.timeout (config.yaml:16)",
		"agents.list[other].tools.shell.network":  "tools.shell.network (default)",
		"agents.list[writer].tools.shell.allow":   "agents.list[writer].tools.shell.allow (config.yaml:14)",
		"agents.list[writer].tools.shell.timeout": "agents.list[writer].tools.shell.timeout (default)",
		"agents.list[other].tools.deny":           "agents.list[other].tools.deny (default)",
		"ai":                                      "ai (config.yaml:2)",
		"no.such.key":                             "no.such.key (default)",
	} {
		if got := c.Where(key).String(); got != want {
			t.Errorf("%s: got %s, want %s", key, got, want)
		}
	}
}

// However odd a name is, the key that people are shown finds it again.
func TestShownKeysFindTheirValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := texts.Filter(func(s string) bool { return utf8.ValidString(s) && s != "<<" }).Draw(t, "name")
		doc, err := yaml.Marshal(map[string]any{"plugins": map[string]any{name: 1}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := config.Parse(opts(), doc)
		if err != nil {
			t.Skip("the YAML library can't read back what it wrote")
		}
		shown := c.NotActedOn([]string{"plugins.other"})
		if len(shown) != 1 {
			t.Fatalf("%v", shown)
		}
		s, err := c.Get(shown[0].Key)
		if err != nil || s.String() != "1" || s.Key != shown[0].Key || c.Where(s.Key) != shown[0] {
			t.Fatalf("%q: %v, %+v, %v", shown[0].Key, s, c.Where(s.Key), err)
		}
	})
}

func TestNotActedOn(t *testing.T) {
	t.Parallel()
	c := parse(t, `version: 1
ai: {provider: openai, fallback: [ollama], providers: {openai: {model: x, proxy: "http://p"}}}
agents:
  list:
    - id: a
      model: openai
      tools: {deny: [x], rag: {top_k: 1}}
      budget: {run: {tokens: 1}}
hooks: []
cron:
channels: {telegram: {token: secret:T}}
plugins: {x: {y: 1}}
`, "GOCLAW_TELEMETRY_METRICS=false")
	var got []string
	for _, p := range c.NotActedOn([]string{"ai.provider", "ai.providers.*.model", "agents.list[].model", "agents.list[].tools.deny"}) {
		got = append(got, p.String())
	}
	want := []string{
		"ai.fallback (config.yaml:2)",
		"ai.providers.openai.proxy (config.yaml:2)",
		"agents.list[a].tools.rag (config.yaml:7)",
		"agents.list[a].budget (config.yaml:8)",
		"channels (config.yaml:11)",
		"plugins (config.yaml:12)",
		"telemetry (environment GOCLAW_TELEMETRY_METRICS)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := c.NotActedOn(config.SchemaKeys()); len(got) > 0 {
		t.Errorf("all is built, yet: %v", got)
	}
	var none []source.Pos
	if diff := cmp.Diff(none, parse(t, "").NotActedOn(nil)); diff != "" {
		t.Error(diff)
	}
}
