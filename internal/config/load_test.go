package config_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/lib/source"
)

var update = flag.Bool("update", false, "write golden files")

// opts are those of a home that does not exist, which nothing needs here.
func opts(vars ...string) config.Options {
	return config.Options{Home: "/home/ada/.goclaw", Environ: config.EnvironOf(append([]string{"HOME=/home/ada"}, vars...)...)}
}

func parse(t testing.TB, doc string, vars ...string) *config.Config {
	t.Helper()
	c, err := config.Parse(opts(vars...), []byte(doc))
	if err != nil {
		t.Fatalf("parse: %v\n%s", err, doc)
	}
	return c
}

func faults(t testing.TB, doc string, vars ...string) []string {
	t.Helper()
	_, err := config.Parse(opts(vars...), []byte(doc))
	var fs config.Faults
	if !errors.As(err, &fs) {
		t.Fatalf("want faults, got %v for\n%s", err, doc)
	}
	var out []string
	for _, f := range fs {
		out = append(out, f.String())
	}
	return out
}

func TestNothingIsValid(t *testing.T) {
	t.Parallel()
	want := parse(t, "")
	for name, doc := range map[string]string{
		"comment": "# nothing yet\n", "mark": "\ufeff", "dashes": "---\n", "null": "null\n", "braces": "{}",
		"empty blocks": "ai:\nagents:\n  list:\ntools:\n", "crlf": "ai:\r\n  provider:\r\n", "end": "---\n...\n",
	} {
		got := parse(t, doc)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(config.Config{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	c, err := config.Load(config.Options{Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Agents()) != 1 || c.DefaultAgent().ID != "main" {
		t.Errorf("agents: %+v", c.Agents())
	}
}

// The example of the manual shows every default, so reading it must give what
// an empty file gives, apart from the two entries that it adds.
func TestExampleShowsTheDefaults(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, want := parse(t, string(data), "OPENAI_API_KEY=k"), parse(t, "", "OPENAI_API_KEY=k")
	if len(got.Warnings) > 0 {
		t.Errorf("warnings: %v", got.Warnings)
	}
	if p := got.AI.Providers["my-vllm"]; p.BaseURL != "http://10.0.0.5:8000/v1" || p.Model != "qwen3" || p.Timeout != 10*time.Minute {
		t.Errorf("my-vllm: %+v", p)
	}
	delete(got.AI.Providers, "my-vllm")
	if d := got.Datasources; len(d) != 1 || d[0].DSN != "secret:SALES_DSN" || d[0].MaxRows != 1000 {
		t.Errorf("datasources: %+v", d)
	}
	got.Datasources = nil
	diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(config.Config{}), cmpopts.IgnoreTypes(source.Pos{}), cmpopts.EquateEmpty())
	if diff != "" {
		t.Error(diff)
	}
}

// Each key of the schema stands in the example, and the other way round by
// the test above; what only appears inside entries is listed.
func TestExampleIsComplete(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range config.SchemaKeys() {
		name := key[strings.LastIndexByte(key, '.')+1:]
		if !strings.Contains(string(data), name+":") && !strings.ContainsAny(key, "[*") {
			t.Errorf("%s does not stand in testdata/example.yaml", key)
		}
	}
}

func TestFaultsNameThePlace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		doc  string
		want []string
	}{
		"misspelt": {
			"agents:\n  list:\n    - id: a\n      worksapce: x\n",
			[]string{"unknown key agents.list[a].worksapce (config.yaml:4:7): did you mean workspace?"},
		},
		"misspelt without id": {
			"agents:\n  list:\n    - worksapce: x\n",
			[]string{
				"unknown key agents.list[0].worksapce (config.yaml:3:7): did you mean workspace?",
				"agents.list[0] (config.yaml:3:7): the key id is missing: a-z, 0-9, - and _, at most 64",
			},
		},
		"misplaced": {
			"max_tool_iterations: 3\n",
			[]string{"unknown key max_tool_iterations (config.yaml:1:1): did you mean tools.max_tool_iterations?"},
		},
		"far from all": {"zzzzzz: 3\n", []string{"unknown key zzzzzz (config.yaml:1:1)"}},
		"several, in order": {
			"tools:\n  timeout: soon\n  profile: everything\ngateway: yes\nlog:\n  level: warning\n",
			[]string{
				`tools.timeout (config.yaml:2:12): expected a duration above zero such as 30s or 2m, found "soon"`,
				`tools.profile (config.yaml:3:12): expected one of nothing, full, coding, messaging, minimal, found "everything"`,
				`gateway (config.yaml:4:10): expected a mapping of keys, found "yes"`,
				`log.level (config.yaml:6:10): expected one of debug, info, warn, error, found "warning"; did you mean warn?`,
			},
		},
		"nearest value": {
			"sessions: {while_busy: wait}\n",
			[]string{`sessions.while_busy (config.yaml:1:24): expected one of queue, steer, interrupt, found "wait"`},
		},
		"close value": {
			"sessions: {while_busy: queu}\n",
			[]string{`sessions.while_busy (config.yaml:1:24): expected one of queue, steer, interrupt, found "queu"; did you mean queue?`},
		},
		"wrong types": {
			"tools:\n  max_tool_iterations: many\n  core: shell\n  pool: {workers: 0, queue: 1.5}\n  rag: {enabled: 1, semantic_min_similarity: 2}\n  browser: {path: 7}\nai: []\n",
			[]string{
				`tools.max_tool_iterations (config.yaml:2:24): expected a whole number of at least 1, found "many"`,
				`tools.core (config.yaml:3:9): expected a list, found "shell": write it in brackets, [...]`,
				`tools.pool.workers (config.yaml:4:19): expected a whole number from 1 to 1024, found the number 0`,
				`tools.pool.queue (config.yaml:4:29): expected a whole number from 0 to 65536, found the number 1.5`,
				`tools.rag.enabled (config.yaml:5:18): expected true or false, found the number 1`,
				`tools.rag.semantic_min_similarity (config.yaml:5:46): expected a number from 0 to 1, found the number 2`,
				`tools.browser.path (config.yaml:6:19): expected text, found the number 7: put it in quotes`,
				`ai (config.yaml:7:5): expected a mapping of keys, found a list`,
			},
		},
		"doubled key": {
			"log: {level: info}\ngateway:\n  listen: 127.0.0.1:1\n  listen: 127.0.0.1:2\nlog: {level: warn}\n",
			[]string{
				"gateway.listen (config.yaml:4:3): the key stands here a second time, first in line 3",
				"log (config.yaml:5:1): the key stands here a second time, first in line 1",
			},
		},
		"doubled agent": {
			"agents:\n  list:\n    - id: a\n    - id: b\n    - id: a\n",
			[]string{"agents.list[a] (config.yaml:5:7): the id stands here a second time, first in line 3"},
		},
		"two default agents": {
			"agents: {list: [{id: a, default: true}, {id: b, default: true}]}\n",
			[]string{"agents.list[b].default (config.yaml:1:58): two agents can't both be the default"},
		},
		"agent ids": {
			"agents: {list: [{id: ../x}, {id: A}, {id: -a}]}\n",
			[]string{
				`agents.list[../x].id (config.yaml:1:22): expected at most 64 of a-z, 0-9, - and _, the first no sign, found "../x"`,
				`agents.list[A].id (config.yaml:1:34): expected at most 64 of a-z, 0-9, - and _, the first no sign, found "A"`,
				`agents.list[-a].id (config.yaml:1:43): expected at most 64 of a-z, 0-9, - and _, the first no sign, found "-a"`,
			},
		},
		"too new": {"version: 2\n", []string{"version (config.yaml:1:10): the file is written for a newer version of GoClaw (2): this one reads 1"}},
		"providers": {
			"ai:\n  provider: opnai\n  fallback: [claud/x]\n  providers:\n    mine: {model: x}\n    yours: {type: openai-compatible}\n    openai: {type: claude}\n",
			[]string{
				`ai.provider (config.yaml:2:13): there is no provider "opnai"; did you mean openai?`,
				`ai.fallback[0] (config.yaml:3:14): there is no provider "claud"; did you mean claude?`,
				`ai.providers.mine (config.yaml:5:5): the key base_url is missing: where the provider is; or write type, one of the built-in providers`,
				`ai.providers.yours (config.yaml:6:5): the key base_url is missing: a provider of the type openai-compatible needs an address`,
				`ai.providers.openai.type (config.yaml:7:20): the provider openai has its own type: give another type another name`,
			},
		},
		"who embeds": {
			"tools: {rag: {embeddings: {provider: opnai}}}\nmemory: {embeddings: {provider: gemini/gemini-embedding-2}}\nagents: {list: [{id: a}, {id: b, tools: {rag: {embeddings: {provider: nobody}}}}]}\n",
			[]string{
				`tools.rag.embeddings.provider (config.yaml:1:38): there is no provider "opnai"; did you mean openai?`,
				`memory.embeddings.provider (config.yaml:2:33): it names a provider alone, gemini; write gemini-embedding-2 as model beside it`,
				`agents.list[b].tools.rag.embeddings.provider (config.yaml:3:71): there is no provider "nobody": known are openai, claude, gemini, gemini-legacy, deepseek, ollama, demo`,
			},
		},
		"an address that is none": {
			"ai: {provider: p/m, providers: {p: {base_url: '127.0.0.1:9200/ok/v1'}}}\n",
			[]string{`ai.providers.p.base_url (config.yaml:1:47): expected an address that begins with http:// or https://, found "127.0.0.1:9200/ok/v1"`},
		},
		"a name from elsewhere": {
			"ai: {provider: anthropic/claude-x}\n",
			[]string{`ai.provider (config.yaml:1:16): there is no provider "anthropic": anthropic is called claude here: write claude/claude-x`},
		},
		"formats": {
			"gateway: {listen: localhost, public_url: example.org}\n",
			[]string{
				`gateway.listen (config.yaml:1:19): expected an address and port such as 127.0.0.1:18800, found "localhost"`,
				`gateway.public_url (config.yaml:1:42): expected an address that begins with http:// or https://, found "example.org"`,
			},
		},
		"a secret is never shown": {
			"ai:\n  providers:\n    openai:\n      api_key: [hunter2]\n      extra_headers: {X: [hunter2]}\n      proxy: hunter2\n    claude: {api_key: 1234567}\n",
			[]string{
				"ai.providers.openai.api_key (config.yaml:4:16): expected text, found a list",
				"ai.providers.openai.extra_headers.X (config.yaml:5:26): expected text, found a list",
				"ai.providers.openai.proxy (config.yaml:6:14): expected an address that begins with http:// or https://, found a secret text",
				"ai.providers.claude.api_key (config.yaml:7:23): expected text, found a secret the number: put it in quotes",
			},
		},
		"entries": {
			"datasources: [{name: a, driver: oracle}]\nhooks: [{name: h, when: after, action: block}, {name: w, action: webhook}]\nmcp: {servers: {x: {}}}\ncron: [{name: c, schedule: '@every 1h'}]\ntools: {deny: [a, ]}\n",
			[]string{
				"datasources[a] (config.yaml:1:15): the key dsn is missing: connection string, better secret:NAME; a file's path for sqlite",
				`datasources[a].driver (config.yaml:1:33): expected one of postgres, mysql, sqlite, found "oracle"`,
				"hooks[h].action (config.yaml:2:40): block works only before a call: write when: before",
				"hooks[w] (config.yaml:2:48): the key url is missing: where the webhook goes",
				"mcp.servers.x (config.yaml:3:17): write either command or url",
				"cron[c] (config.yaml:4:8): write either message or sop",
			},
		},
		"a hook's secret": {
			"hooks:\n  - {name: w, action: webhook, url: 'https://a.example', secret: 'secret:HOOK'}\n",
			[]string{"hooks[w].secret (config.yaml:2:66): the secret HOOK can't be read, since this version keeps no secrets: write ${HOOK} and set that in the environment"},
		},
		"empty entries": {
			"tools:\n  deny:\n    -\nagents:\n  list:\n    -\n",
			[]string{
				"tools.deny (config.yaml:3:6): an entry of the list is empty",
				"agents.list[0] (config.yaml:6:6): the entry is empty",
			},
		},
		"key that is no text": {"? [a]\n: b\n", []string{"config.yaml:1:3: a key must be plain text"}},
		"custom tag":          {"log: {level: !x info}\n", []string{`log.level (config.yaml:1:14): expected one of debug, info, warn, error, found a value tagged !x`}},
		"public path":         {"gateway: {public_url: \"https://a.example/claw\"}\n", []string{"gateway.public_url (config.yaml:1:23): it may hold no path: the gateway answers at the root of a host, as in https://claw.example.org"}},
		"public user":         {"gateway: {public_url: \"https://u:p@a.example\"}\n", []string{"gateway.public_url (config.yaml:1:23): it may hold no user or password: the gateway answers at the root of a host, as in https://claw.example.org"}},
		"guard":               {"tools: {loop_guard: {hint: 9}}\n", []string{"tools.loop_guard (config.yaml:1:9): hint (9) must not be above stop (5)"}},
		"no mapping":          {"- a\n", []string{"config.yaml:1:1: expected a mapping of keys, found a list"}},
		"merge of text":       {"<<: text\n", []string{"config.yaml:1:5: << takes a mapping or a list of mappings"}},
		"alias in itself":     {"plugins: &a {x: *a}\n", []string{"plugins.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x (config.yaml:1:17): values nest more than 64 deep"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, faults(t, tc.doc)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestADeprecatedProviderIsWarnedOfWhereItStands(t *testing.T) {
	t.Parallel()
	for doc, where := range map[string]string{
		"ai: {provider: gemini-legacy}":                                           "ai.provider (config.yaml:1:16)",
		"ai: {fallback: [openai, gemini-legacy/x]}":                               "ai.fallback[1] (config.yaml:1:25)",
		"ai: {providers: {gemini-legacy: {api_key: '${K}'}}}":                     "ai.providers.gemini-legacy (config.yaml:1:18)",
		"ai: {providers: {mine: {type: gemini-legacy}}}":                          "ai.providers.mine (config.yaml:1:18)",
		"agents: {list: [{id: main, model: gemini-legacy}]}":                      "agents.list[main].model (config.yaml:1:35)",
		"agents: {list: [{id: main, fallback: [gemini-legacy]}]}":                 "agents.list[main].fallback[0] (config.yaml:1:39)",
		"ai: {provider: gemini, fallback: [gemini/x], providers: {gemini: {}}}":   "",
		"ai: {providers: {openai: {api_key: '${K}'}}}\nagents: {list: [{id: a}]}": "",
	} {
		c := parse(t, doc, "K=k")
		var got []string
		for _, w := range c.Warnings {
			place, words, _ := strings.Cut(w.String(), ": ")
			if !strings.Contains(words, "deprecated and served as gemini") {
				t.Errorf("%s: %s", doc, w)
			}
			got = append(got, place)
		}
		if strings.Join(got, ", ") != where {
			t.Errorf("%s: warned at %q, want %q", doc, got, where)
		}
	}
}

func TestFaultsAreOneError(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		"log: {level: x}":  `read configuration: log.level (config.yaml:1:14): expected one of debug, info, warn, error, found "x"`,
		"qqqq: 1\nzzzz: 2": "read configuration: 2 faults\n  unknown key qqqq (config.yaml:1:1)\n  unknown key zzzz (config.yaml:2:1)",
	} {
		if _, err := config.Parse(opts(), []byte(doc)); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A file that is no YAML is reported at the line that a person has to mend.
func TestSyntaxErrorsNameTheLine(t *testing.T) {
	t.Parallel()
	head := "# a file\nai:\n  provider: openai\n"
	for name, tc := range map[string]struct{ doc, want string }{
		"tab":              {head + "tools:\n\tdeny: []\n", "config.yaml:5:1: a tab indents this line: YAML takes spaces only"},
		"tab, first line":  {"\tai: {}\n", "config.yaml:1:1: a tab indents this line: YAML takes spaces only"},
		"indent":           {head + "   model: x\n", "config.yaml:4:4: mapping values are not allowed in this context"},
		"outdent in entry": {head + "agents:\n  list:\n    - id: a\n     name: b\nlog: {}\n", "config.yaml:7:6: did not find expected '-' indicator"},
		"open bracket":     {head + "tools:\n  deny: [a, b\nlog:\n  level: info\n", "config.yaml:5:3: did not find expected ',' or ']'"},
		"open quote":       {head + "log:\n  level: \"info\n", "config.yaml:5:3: found unexpected end of stream"},
		"at sign":          {head + "log:\n  level: @info\n", "config.yaml:5:3: found character that cannot start any token"},
		"anchor":           {head + "log: *x\n", "config.yaml:4:1: unknown anchor 'x' referenced"},
		"not UTF-8":        {head + "log: {level: \"\xff\"}\n", "config.yaml:4:1: invalid leading UTF-8 octet"},
		"control":          {head + "log: {level: \"\x01\"}\n", "config.yaml:4:1: control characters are not allowed"},
		"UTF-16":           {"\xff\xfea\x00", "config.yaml:1:1: the file is UTF-16: save it as UTF-8"},
		"second document":  {head + "---\nlog: {}\n", "config.yaml:4:1: a second document begins here (---): the file may hold one"},
		"crlf":             {"ai:\r\n  provider: openai\r\n  fallback: [\r\nlog: {}\r\n", "config.yaml:3:3: did not find expected ',' or ']'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff([]string{tc.want}, faults(t, tc.doc)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What would expand without end is refused, and at once: the test would not
// come back otherwise.
func TestBombs(t *testing.T) {
	t.Parallel()
	var laughs strings.Builder
	laughs.WriteString("plugins:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&laughs, "  a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	var merges strings.Builder
	merges.WriteString("plugins:\n  m0: &m0 {x: 1}\n")
	for i := 1; i < 24; i++ {
		fmt.Fprintf(&merges, "  m%d: &m%d {<<: [*m%d, *m%d, *m%d]}\n", i, i, i-1, i-1, i-1)
	}
	for name, doc := range map[string]string{
		"aliases":    laughs.String(),
		"merges":     merges.String(),
		"self merge": "ai: &a {<<: *a}\n",
		"deep":       "plugins: " + strings.Repeat("{a: ", 5000) + "1" + strings.Repeat("}", 5000),
		"deep lists": "tools: {core: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}",
		"large":      "# " + strings.Repeat("x", config.MaxFileBytes),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := faults(t, doc); len(got) == 0 || len(got) > 100 {
				t.Errorf("%d faults", len(got))
			}
		})
	}
}

func TestAliasesAndMergesWork(t *testing.T) {
	t.Parallel()
	c := parse(t, `
agents:
  list:
    - &base {id: a, model: openai, tools: {deny: [x]}}
    - {<<: *base, id: b, name: B}
tools: {deny: &d [y], allow: *d}
`)
	b, ok := c.Agent("b")
	if !ok || b.Model != "openai" || b.Name != "B" || source.Values(b.Tools.Deny)[0] != "x" {
		t.Errorf("b: %+v", b)
	}
	if got := source.Values(c.Tools.Allow); len(got) != 1 || got[0] != "y" {
		t.Errorf("allow: %v", got)
	}
	if got := c.Where("agents.list[b].model").String(); got != "agents.list[b].model (config.yaml:4)" {
		t.Errorf("where: %s", got)
	}
}

func TestExpansion(t *testing.T) {
	t.Parallel()
	c := parse(t, `
ai:
  providers:
    openai: {api_key: "${KEY}", base_url: "http://${HOST}:${PORT}/v1"}
    claude: {api_key: secret:CLAUDE}
gateway: {listen: "127.0.0.1:${PORT}", cors: ["$$${PORT}", "$PORT", "a$", "${no good}", "$${PORT}", "${"]}
tools: {max_tool_iterations: "${N}", timeout: "${T}", rag: {enabled: "${B}"}, deny: ["${N}"]}
plugins: {x: {"${KEY}": "${KEY}", n: 1, list: [1.5, true, null, "${KEY}"]}}
log: {level: info, format: text}
channels: {telegram: {token: "${UNSET}"}}
`, "KEY=k: 1 # x", "HOST=h", "PORT=80", "N=7", "T=5s", "B=false")
	openai := c.AI.Providers["openai"]
	for got, want := range map[string]string{
		openai.APIKey: "k: 1 # x", openai.BaseURL: "http://h:80/v1",
		c.AI.Providers["claude"].APIKey: "secret:CLAUDE", c.Gateway.Listen: "127.0.0.1:80",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if diff := cmp.Diff([]string{"$80", "$PORT", "a$", "${no good}", "${PORT}", "${"}, c.Gateway.CORS); diff != "" {
		t.Error(diff)
	}
	if c.Tools.MaxToolIterations != 7 || c.Tools.Timeout != 5*time.Second || c.Tools.RAG.Enabled || c.Tools.Deny[0].Value != "7" {
		t.Errorf("variables that hold no text: %+v", c.Tools)
	}
	want := map[string]any{"x": map[string]any{"${KEY}": "k: 1 # x", "n": int64(1), "list": []any{1.5, true, nil, "k: 1 # x"}}}
	if diff := cmp.Diff(want, c.Plugins); diff != "" {
		t.Error(diff)
	}
	if len(c.Warnings) != 1 || c.Warnings[0].String() != "channels.telegram.token (config.yaml:10:30): the environment variable UNSET is not set, so that it stands for nothing" {
		t.Errorf("warnings: %v", c.Warnings)
	}
}

func TestLoadReadsTheFile(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, "config.yaml")
	if err := os.WriteFile(file, []byte("ai: {providers: {openai: {api_key: sk-literal}}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Options{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].String(), "mode 0644") || strings.Contains(c.Warnings[0].String(), "sk-") {
		t.Errorf("warnings: %v", c.Warnings)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err = config.Load(config.Options{Home: home}); err != nil || len(c.Warnings) > 0 {
		t.Errorf("after chmod: %v, %v", err, c.Warnings)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err = config.Load(config.Options{Home: home}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("folder: %v", err)
	}
}

// References that give nothing away need no warning, whatever the mode.
func TestNoWarningWithoutLiterals(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	doc := "ai: {providers: {openai: {api_key: secret:A, extra_headers: {Authorization: 'Bearer ${B}'}}}}\nstate: {dsn: /var/x.db}\n"
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(doc), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Options{Home: home, Environ: config.EnvironOf("B=b")})
	if err != nil || len(c.Warnings) > 0 {
		t.Errorf("%v, %v", err, c.Warnings)
	}
}

func TestLastGood(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	o := config.Options{Home: home}
	file := filepath.Join(home, "config.yaml")
	write := func(s string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("log: {level: loud}\n")
	_, first := config.LoadOrLastGood(o)
	var fs config.Faults
	if !errors.As(first, &fs) {
		t.Fatalf("nothing was kept yet, so the faults must come back: %v", first)
	}
	write("log: {level: debug}\n")
	c, err := config.LoadOrLastGood(o)
	if err != nil || c.Notice != "" {
		t.Fatal(err, c.Notice)
	}
	for range 2 {
		if err := c.KeepLastGood(); err != nil {
			t.Fatal(err)
		}
	}
	kept := filepath.Join(home, "state", "config.last-good.yaml")
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(err, info)
	}
	write("log: {level: loud}\n")
	c, err = config.LoadOrLastGood(o)
	if err != nil {
		t.Fatal(err)
	}
	if c.Log.Level != "debug" || !strings.Contains(c.Notice, "log.level (config.yaml:1:14)") {
		t.Errorf("level %s, notice %q", c.Log.Level, c.Notice)
	}
	// No file is a configuration that works, too.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	c, err = config.LoadOrLastGood(o)
	if err == nil {
		err = c.KeepLastGood()
	}
	write("log: {level: loud}\n")
	last, lastErr := config.LoadOrLastGood(o)
	if err = errors.Join(err, lastErr); err != nil || last.Log.Level != "info" || last.Notice == "" {
		t.Fatalf("after the defaults: %v, %+v", err, last)
	}
	write("log: {level: debug}\n")
	if c, err = config.LoadOrLastGood(o); err == nil {
		err = c.KeepLastGood()
	}
	write("log: {level: loud}\n")
	if c, lastErr = config.LoadOrLastGood(o); err != nil || lastErr != nil {
		t.Fatal(err, lastErr)
	}
	// Starting on the last good one must not make it the reference for more.
	if err := c.KeepLastGood(); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(kept); err != nil || string(data) != "log: {level: debug}\n" {
		t.Errorf("%v %q", err, data)
	}
}

func TestDefaultsAreNotShared(t *testing.T) {
	t.Parallel()
	a, b := config.Default(), config.Default()
	a.Tools.HTTP.Methods[0].Value = "X"
	a.AI.Providers["openai"] = config.Provider{}
	if !reflect.DeepEqual(b, config.Default()) {
		t.Error("two defaults share memory")
	}
}

func BenchmarkLoad(b *testing.B) {
	small := []byte("ai:\n  provider: openai\n  providers:\n    openai:\n      api_key: ${OPENAI_API_KEY}\n      base_url: http://127.0.0.1:9000/v1\nagents:\n  list:\n    - id: main\n      tools:\n        deny: [shell]\n")
	example, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		b.Fatal(err)
	}
	for name, doc := range map[string][]byte{"empty": nil, "small": small, "example": example} {
		b.Run(name, func(b *testing.B) {
			o := opts("OPENAI_API_KEY=k", "PATH=/bin", "LANG=C")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := config.Parse(o, doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
