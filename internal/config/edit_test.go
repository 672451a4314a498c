package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/config"
)

// home makes a home folder with a config.yaml of this content; none when doc
// is "-".
func home(t interface {
	Helper()
	Fatal(...any)
}, dir, doc string,
) config.Options {
	t.Helper()
	if doc != "-" {
		if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return config.Options{Home: dir, Environ: config.EnvironOf("HOME=/home/ada")}
}

func content(t interface {
	Helper()
	Fatal(...any)
}, o config.Options,
) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(o.Home, "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestSet(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ doc, key, value, want string }{
		"no file":             {"-", "ai.provider", "ollama", "ai:\n  provider: ollama\n"},
		"empty file":          {"", "log.level", "debug", "log:\n  level: debug\n"},
		"only comments":       {"# mine\n\n# more", "log.level", "debug", "# mine\n\n# more\nlog:\n  level: debug"},
		"only dashes":         {"---\n# c\n", "log.level", "debug", "---\n# c\nlog:\n  level: debug\n"},
		"document end":        {"---\nlog: {}\n...\n", "gateway.cors", "[a]", "---\nlog: {}\ngateway:\n  cors: [a]\n...\n"},
		"replace":             {"log:\n  level: info # loud\n\n  # c\n  format: text\n", "log.level", "debug", "log:\n  level: debug # loud\n\n  # c\n  format: text\n"},
		"keep double quotes":  {"log:\n  level: \"info\"   # c\n", "log.level", "debug", "log:\n  level: \"debug\"   # c\n"},
		"keep single quotes":  {"log: {level: 'info', format: text}\n", "log.level", "debug", "log: {level: 'debug', format: text}\n"},
		"crlf":                {"# a\r\nlog:\r\n  level: info\r\n\r\nai:\r\n  provider: demo\r\n", "log.format", "json", "# a\r\nlog:\r\n  level: info\r\n  format: json\r\n\r\nai:\r\n  provider: demo\r\n"},
		"mark":                {"\ufefflog: {level: info}\n", "log.level", "warn", "\ufefflog: {level: warn}\n"},
		"mark, new key":       {"\ufeff# c\n", "log.level", "warn", "\ufeff# c\nlog:\n  level: warn\n"},
		"new key in a block":  {"log:\n  level: info # a\n  # foot\n\nai: {}\n", "log.format", "json", "log:\n  level: info # a\n  format: json\n  # foot\n\nai: {}\n"},
		"new block":           {"log:\n  level: info\n", "tools.shell.timeout", "5s", "log:\n  level: info\ntools:\n  shell:\n    timeout: 5s\n"},
		"new block, no end":   {"log:\n  level: info", "tools.shell.timeout", "5s", "log:\n  level: info\ntools:\n  shell:\n    timeout: 5s"},
		"four spaces":         {"log:\n    level: info\n", "tools.shell.timeout", "5s", "log:\n    level: info\ntools:\n    shell:\n        timeout: 5s\n"},
		"flow":                {"log: {level: info}\n", "log.format", "json", "log: {level: info, format: json}\n"},
		"empty flow":          {"log: {} # c\n", "log.format", "json", "log: {format: json} # c\n"},
		"nested in flow":      {"tools: {rag: {top_k: 1}} # c\n", "tools.shell.allow", "[ls, \"git log\"]", "tools: {rag: {top_k: 1}, shell: {allow: [ls, \"git log\"]}} # c\n"},
		"flow over lines":     {"log: {\n  level: info, # c\n}\n", "log.format", "json", "log: {\n  level: info, format: json, # c\n}\n"},
		"flow root":           {"{log: {level: info}}\n", "log.format", "json", "{log: {level: info, format: json}}\n"},
		"null parent":         {"tools: # mine\n  # deny: []\nlog: {}\n", "tools.profile", "coding", "tools: # mine\n  profile: coding\n  # deny: []\nlog: {}\n"},
		"written null":        {"tools: ~ # mine\nlog: {}\n", "tools.profile", "coding", "tools: {profile: coding} # mine\nlog: {}\n"},
		"null value":          {"log:\n  level: # c\n  format:\n", "log.level", "debug", "log:\n  level: debug # c\n  format:\n"},
		"null value at end":   {"log:\n  format:", "log.format", "json", "log:\n  format: json"},
		"flow null":           {"log: {level: , format: text}\n", "log.level", "warn", "log: {level: warn , format: text}\n"},
		"list for a list":     {"tools:\n  deny: # never\n    - a # x\n    - b\n  # c\n  core: []\n", "tools.deny", "[z]", "tools:\n  deny: [z] # never\n  # c\n  core: []\n"},
		"block for text":      {"agents:\n  list:\n    - id: a\n      core_instruction: x\n      name: y\n", "agents.list[a].core_instruction", "one\ntwo: 3", "agents:\n  list:\n    - id: a\n      core_instruction: |-\n        one\n        two: 3\n      name: y\n"},
		"text for block":      {"agents:\n  list:\n    - id: a\n      core_instruction: |+\n        one\n\n        two\n\n      name: y\n", "agents.list[a].core_instruction", "x", "agents:\n  list:\n    - id: a\n      core_instruction: x\n      name: y\n"},
		"after a block text":  {"agents:\n  list:\n    - id: a\n      core_instruction: >\n        one\n        two\n\n\nlog: {}\n", "agents.list[a].name", "A", "agents:\n  list:\n    - id: a\n      core_instruction: >\n        one\n        two\n      name: A\n\n\nlog: {}\n"},
		"plain over lines":    {"agents:\n  list:\n    - id: a\n      name: one\n        two\n      model: demo\n", "agents.list[a].name", "x", "agents:\n  list:\n    - id: a\n      name: x\n      model: demo\n"},
		"by id":               {"agents:\n  list:\n  - id: a\n  - id: b # c\n    model: demo\n", "agents.list[b].model", "openai", "agents:\n  list:\n  - id: a\n  - id: b # c\n    model: openai\n"},
		"by index":            {"agents:\n  list:\n  - id: a\n  - id: b\n", "agents.list[1].name", "B", "agents:\n  list:\n  - id: a\n  - id: b\n    name: B\n"},
		"new entry":           {"agents:\n  list:\n    - id: a\n\n# end\n", "agents.list[writer].tools.deny", "[shell]", "agents:\n  list:\n    - id: a\n    - id: writer\n      tools:\n        deny: [shell]\n\n# end\n"},
		"beside main":         {"", "agents.list[writer].model", "openai", "agents:\n  list:\n    - id: main\n    - id: writer\n      model: openai\n"},
		"beside main, flow":   {"agents: {list: []} # c\n", "agents.list[writer].model", "openai", "agents: {list: [{id: main}, {id: writer, model: openai}]} # c\n"},
		"main itself":         {"agents:\n", "agents.list[main].model", "openai", "agents:\n  list:\n    - id: main\n      model: openai\n"},
		"main by its index":   {"", "agents.list[0].model", "openai", "agents:\n  list:\n    - id: main\n      model: openai\n"},
		"a list of one's own": {"", "agents.list", "[{id: writer}]", "agents:\n  list: [{id: writer}]\n"},
		"entry in flow":       {"agents: {list: [{id: a}]}\n", "agents.list[b].model", "openai", "agents: {list: [{id: a}, {id: b, model: openai}]}\n"},
		"append":              {"tools:\n  deny:\n    - a\n", "tools.deny[1]", "b", "tools:\n  deny:\n    - a\n    - b\n"},
		"append in flow":      {"tools: {deny: [a,]}\n", "tools.deny[1]", "b", "tools: {deny: [a, b,]}\n"},
		"append to none":      {"tools: {deny: []}\n", "tools.deny[0]", "b", "tools: {deny: [b]}\n"},
		"replace an entry":    {"tools:\n  deny:\n    - a # x\n    - 'b'\n", "tools.deny[1]", "group:fs", "tools:\n  deny:\n    - a # x\n    - 'group:fs'\n"},
		"whole entry":         {"datasources:\n  - name: x\n    driver: sqlite\n    dsn: a.db\n# c\n", "datasources[x]", "{driver: postgres, dsn: 'secret:X', name: x}", "datasources:\n  - {driver: postgres, dsn: 'secret:X', name: x}\n# c\n"},
		"key with a dot":      {"ai: {providers: {openai: {prices: {gpt-4.1: {in: 1}}}}}\n", "ai.providers.openai.prices[gpt-4.1].in", "2.5", "ai: {providers: {openai: {prices: {gpt-4.1: {in: 2.5}}}}}\n"},
		"odd key":             {"", "tools.by_sender[telegram: 42].deny", "[x]", "tools:\n  by_sender:\n    'telegram: 42':\n      deny: [x]\n"},
		"number as text":      {"", "agents.list[main].name", "42", "agents:\n  list:\n    - id: main\n      name: \"42\"\n"},
		"sign as text":        {"", "ai.providers.openai.api_key", "@k: #1", "ai:\n  providers:\n    openai:\n      api_key: '@k: #1'\n"},
		"quoted text":         {"", "agents.list[main].name", `"x\ty"`, "agents:\n  list:\n    - id: main\n      name: \"x\\ty\"\n"},
		"reference":           {"", "state.dsn", "secret:DB", "state:\n  dsn: secret:DB\n"},
		"variable":            {"", "gateway.listen", "127.0.0.1:${PORT}", ""},
		"null":                {"log: {level: debug}\n", "log.level", "null", "log: {level: null}\n"},
		"empty text":          {"ai: {provider: demo}\n", "ai.provider", "", "ai: {provider: \"\"}\n"},
		"multi-byte":          {"agents: {list: [{name: 'äöü€😀', id: a, model: demo}]} # é\n", "agents.list[a].model", "openai", "agents: {list: [{name: 'äöü€😀', id: a, model: openai}]} # é\n"},
		"escaped quotes":      {"agents: {list: [{name: \"a\\\"b]}\", id: a, core_instruction: 'it''s }', model: demo}]}\n", "agents.list[a].model", "openai", "agents: {list: [{name: \"a\\\"b]}\", id: a, core_instruction: 'it''s }', model: openai}]}\n"},
		"explicit anchor":     {"tools: {deny: &d [a], allow: *d, core: [x]}\n", "tools.core", "[y]", "tools: {deny: &d [a], allow: *d, core: [y]}\n"},
		"alias replaced":      {"tools: {deny: &d [a], allow: *d}\n", "tools.allow", "[y]", "tools: {deny: &d [a], allow: [y]}\n"},
		"block in plugins":    {"plugins:\n  x: {a: 1}\n", "plugins.x.list", "[1, {b: c}]", "plugins:\n  x: {a: 1, list: [1, {b: c}]}\n"},
		"same value":          {"log: {level: debug}\n", "log.level", "debug", "log: {level: debug}\n"},
		"fault elsewhere":     {"log: {level: loud}\nbad: 1\n", "log.level", "warn", "log: {level: warn}\nbad: 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := home(t, t.TempDir(), tc.doc)
			err := config.Set(o, tc.key, tc.value)
			if tc.want == "" {
				if err == nil {
					t.Fatalf("want an error, got\n%s", content(t, o))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := content(t, o); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ doc, key, value, want string }{
		"unknown key":     {"", "log.lvel", "x", "unknown key log.lvel: did you mean level?"},
		"wrong value":     {"", "log.level", "loud", "expected one of debug, info, warn, error"},
		"wrong type":      {"", "tools.max_tool_iterations", "many", "expected a whole number"},
		"invalid YAML":    {"", "tools.core", "[a", "not valid YAML"},
		"whole file":      {"", "", "{}", "name a key"},
		"broken file":     {"log: [\n", "log.level", "info", "config.yaml:1:1"},
		"anchor":          {"tools: &t {rag: {top_k: 1}}\nagents: {list: [{id: a, tools: *t}]}\n", "tools.rag.top_k", "2", "shared with other places by an anchor"},
		"through alias":   {"tools: &t {rag: {top_k: 1}}\nagents: {list: [{id: a, tools: *t}]}\n", "agents.list[a].tools.rag.top_k", "2", "shared with other places by an anchor"},
		"value of anchor": {"tools: {deny: &d [a], allow: *d}\n", "tools.deny", "[y]", "unusual way"},
		"no entry":        {"agents: {list: [{id: a}]}\n", "agents.list[5].model", "demo", "there is no agents.list[5]"},
		"no such route":   {"", "routes[x].agent", "main", "there is no routes[x]"},
		"wrong agent id":  {"", "agents.list[A b].model", "demo", "expected at most 64 of a-z"},
		"not a list":      {"tools: {deny: x}\n", "tools.deny[0]", "y", "tools.deny is no list in the file"},
		"not a mapping":   {"tools: x\n", "tools.deny", "[y]", "tools is no mapping in the file"},
		"complex key":     {"tools:\n  ? deny\n  : [a]\n", "tools.deny", "[]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := home(t, t.TempDir(), tc.doc)
			err := config.Set(o, tc.key, tc.value)
			if tc.want == "" && err == nil {
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
			if got := content(t, o); got != tc.doc {
				t.Errorf("the file has changed:\n%s", got)
			}
		})
	}
}

func TestUnset(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ doc, key, want string }{
		"a key":            {"log:\n  level: info # c\n  # f\n  format: text\n", "log.level", "log:\n  # f\n  format: text\n"},
		"the only key":     {"ai: {}\nlog:\n  level: info\ntools: {}\n", "log.level", "ai: {}\ntools: {}\n"},
		"up to the top":    {"tools:\n  shell:\n    timeout: 5s\nlog: {}\n", "tools.shell.timeout", "log: {}\n"},
		"with a comment":   {"log:\n  # mine\n  level: info\n", "log.level", "log:\n  # mine\n"},
		"a block":          {"tools:\n  shell:\n    # x\n    timeout: 5s\n  core: []\n", "tools.shell", "tools:\n  core: []\n"},
		"flow first":       {"log: {level: info, format: text}\n", "log.level", "log: {format: text}\n"},
		"flow last":        {"log: {level: info, format: text} # c\n", "log.format", "log: {level: info} # c\n"},
		"flow only":        {"log: {level: info}\n", "log.level", "log: {}\n"},
		"first of entry":   {"agents:\n  list:\n    - name: x\n      id: a\n", "agents.list[a].name", "agents:\n  list:\n    - id: a\n"},
		"entry":            {"agents:\n  list:\n    - id: a\n    - id: b\n      name: x # y\n    # z\n    - id: c\n", "agents.list[b]", "agents:\n  list:\n    - id: a\n    # z\n    - id: c\n"},
		"last entry":       {"tools:\n  deny:\n    - a\n", "tools.deny[0]", "tools:\n  deny: []\n"},
		"flow entry":       {"tools: {deny: [a, b, c]}\n", "tools.deny[1]", "tools: {deny: [a, c]}\n"},
		"no line end":      {"log:\n  level: info\n  format: text", "log.format", "log:\n  level: info\n"},
		"crlf":             {"log:\r\n  level: info\r\n  format: text\r\n", "log.level", "log:\r\n  format: text\r\n"},
		"not written":      {"log: {}\n", "tools.deny", "log: {}\n"},
		"unknown":          {"bogus: {a: 1} # x\nlog: {}\n", "bogus", "log: {}\n"},
		"unknown, below":   {"tools:\n  # c\n  pol:\n    workers: 1\n  deny: []\n", "tools.pol.workers", "tools:\n  # c\n  deny: []\n"},
		"unknown, entry":   {"agents:\n  list:\n    - id: a\n      worksapce: x\n", "agents.list[a].worksapce", "agents:\n  list:\n    - id: a\n"},
		"unknown, in list": {"bogus:\n  - a: 1\n  - {b: 2, c: 3}\n", "bogus[1].b", "bogus:\n  - a: 1\n  - {c: 3}\n"},
		"unknown, odd":     {"a.b: 1\nlog: {}\n", "[a.b]", "log: {}\n"},
		"unknown, two":     {"log: {level: info}\nbogus: 1\n", "log.levl", ""},
		"not written here": {"log: {}\n", "agents.list[x].model", "log: {}\n"},
		"an unknown key":   {"log: {level: info}\n", "log.lvl", ""},
		"what is required": {"agents:\n  list:\n    - id: a\n      name: x\n", "agents.list[a].id", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := home(t, t.TempDir(), tc.doc)
			changed, err := config.Unset(o, tc.key)
			want := tc.want
			if want == "" {
				want = tc.doc
			}
			if (err != nil) != (tc.want == "") || changed != (want != tc.doc) {
				t.Errorf("changed %t, %v", changed, err)
			}
			if got := content(t, o); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestSetKeepsModeAndLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real := filepath.Join(dir, "real.yaml")
	if err := os.WriteFile(real, []byte("log: {}\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, filepath.Join(dir, "config.yaml")); err != nil {
		t.Fatal(err)
	}
	o := config.Options{Home: dir}
	if err := config.Set(o, "log.level", "warn"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(real)
	if err != nil || info.Mode() != 0o640 {
		t.Errorf("%v %v", info, err)
	}
	if link, err := os.Readlink(filepath.Join(dir, "config.yaml")); err != nil || link != real {
		t.Errorf("%s %v", link, err)
	}
	if got := content(t, o); got != "log: {level: warn}\n" {
		t.Error(got)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("temporary files are left: %v, %v", files, err)
	}
}

func TestSetCreatesTheFileForItsOwner(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "home")
	if err := config.Set(config.Options{Home: dir}, "log.level", "warn"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "config.yaml"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if info, err = os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
}

// A value that a variable hides in this process still has to be right.
func TestSetLooksBehindVariables(t *testing.T) {
	t.Parallel()
	o := home(t, t.TempDir(), "")
	o.Environ = config.EnvironOf("GOCLAW_LOG_LEVEL=info")
	var fs config.Faults
	if err := config.Set(o, "log.level", "loud"); !errors.As(err, &fs) {
		t.Errorf("got %v", err)
	}
}

// texts are for keys that take any text.
var texts = rapid.OneOf(
	rapid.StringMatching(`[ -~]{0,20}`),
	rapid.SampledFrom([]string{"", " ", "a\nb", "a\n", "\n", "#x", "a #b", "a: b", "- a", "{", "]", "'", "\"", "null", "~", "true", "12", "1e3", "2001-01-01", "<<", "*a", "&a", "!a", "%", "@", "`", "ä€😀", "a\tb", "|", ">", "\u2028", "\u0085", "x\r\ny", "---", "...", "? a", "a,b", "[a]", "${", "$$$$", "  x  ", "a\n\n  b\n"}),
	rapid.String(),
)

// documents are files of many shapes, all valid, none at fault.
var documents = rapid.Custom(func(t *rapid.T) string {
	eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol")
	var b strings.Builder
	b.WriteString(rapid.SampledFrom([]string{"", "\ufeff", "# head\n\n", "---\n"}).Draw(t, "head"))
	pick := func(name string, options ...string) {
		b.WriteString(rapid.SampledFrom(append(options, "")).Draw(t, name))
	}
	pick("log", "log: {level: info, # c\n  format: 'text'}\n", "log:\n  level: \"info\"   # c\n\n  # foot\n", "log:\n", "log: ~ # c\n", "log: {}\n")
	pick("agents", "agents:\n  list:\n  - id: a\n    core_instruction: |\n      one\n\n      # two\n\n  # c\n  - {id: b, name: x}\n",
		"agents:\n    list:\n        -   id: a\n            name: one\n             two # c\n            tools:\n                # none\n",
		"agents: {list: [{id: a}, {id: b, core_instruction: \"x\\\"#\", },]}\n", "agents:\n  list: # none\n",
		"agents:\n  list:\n    - core_instruction: |+\n        keep\n\n\n      id: a\n\n\n")
	pick("tools", "tools:\n  deny:\n  - x # y\n  - 'z'\n  shell: {allow: [git log, \"a\"], timeout: 5s}\n", "tools:\n# odd comment\n  core: [\n    a, b\n  ]\n", "tools: {deny: &d [q], also_allow: *d}\n")
	pick("plugins", "plugins:\n  p: >-\n    folded\n    text\n\n", "plugins: {p: [1, 'b', {c: , d}]}\n")
	if b.Len() == 0 || strings.HasSuffix(b.String(), "\ufeff") {
		return b.String() // an end of document needs a document
	}
	pick("tail", "# tail\n", "\n\n", "gateway:\n  cors:\n    - a\n    - b", "...\n")
	return strings.ReplaceAll(b.String(), "\n", eol)
})

// Setting a key makes it have that value, and what remains of the other lines
// is byte for byte what it was.
func TestSetProperty(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		doc := documents.Draw(t, "doc")
		key := rapid.SampledFrom([]string{
			"agents.list[a].name", "agents.list[b].name", "agents.list[new].core_instruction", "agents.list[a].core_instruction",
			"agents.list[a].tools.shell.allow[0]", "plugins.p", "plugins.q.r", "tools.browser.path", "tools.by_sender[a.b: c].deny[0]",
		}).Draw(t, "key")
		want := texts.Draw(t, "value")
		quoted, err := yaml.Marshal(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: want, Style: yaml.DoubleQuotedStyle})
		if err != nil {
			t.Fatal(err)
		}
		o := home(t, dir, doc)
		before, err := config.Load(o)
		if err != nil {
			t.Fatalf("the generator made a faulty file: %v\n%s", err, doc)
		}
		if _, err := before.Get(key); err == nil && key == "plugins.p" {
			t.Skip("a plugin's settings may be more than a text")
		}
		if err := config.Set(o, key, string(quoted)); err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		out := content(t, o)
		after, err := config.Load(o)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		got, err := after.Get(key)
		if err != nil {
			t.Fatal(err)
		}
		expanded := strings.ReplaceAll(want, "$$", "$")
		if want == "" && strings.HasSuffix(key, ".name") {
			expanded = key[len("agents.list[") : len("agents.list[")+1] // an agent without a name has its id
		}
		if got.String() != expanded {
			t.Fatalf("got %q, want %q\n%s\n----\n%s", got, expanded, doc, out)
		}
		for _, line := range removed(doc, out) {
			if !mayChange(line) {
				t.Fatalf("the line %q is gone\n%s\n----\n%s", line, doc, out)
			}
		}
		again, err := config.Unset(o, key)
		if err != nil || !again {
			t.Fatalf("unset: %t, %v\n%s", again, err, out)
		}
		if _, err := config.Load(o); err != nil {
			t.Fatalf("after unset: %v\n%s", err, content(t, o))
		}
	})
}

// mayChange are the lines of the generator on which a set key stands or to
// whose collection it is added.
func mayChange(line string) bool {
	for _, s := range []string{"name:", "core_instruction", "one", "two", "keep", "{", "list:", "tools:", "~", "plugins:", "- b"} {
		if strings.Contains(line, s) {
			return true
		}
	}
	return strings.TrimSpace(line) == ""
}

// removed are the lines of a that b lacks.
func removed(a, b string) []string {
	left := make(map[string]int)
	for line := range strings.SplitSeq(strings.TrimPrefix(b, "\ufeff"), "\n") {
		left[line]++
	}
	var out []string
	for line := range strings.SplitSeq(strings.TrimPrefix(a, "\ufeff"), "\n") {
		if left[line]--; left[line] < 0 {
			out = append(out, line)
		}
	}
	return out
}
