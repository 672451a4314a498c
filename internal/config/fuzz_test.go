package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/config"
)

// seeds are short: a fuzzer that mutates long files finds little.
func seeds() []string {
	return []string{
		"", "a", "log: {level: info}\n", "\ufefflog:\r\n  level: info # c\r\n", "tools: &t {deny: [a, *t]}\n", "<<: {log: {level: info}}\n",
		"agents:\n  list:\n  - id: a\n    core_instruction: |+\n      x\n\n\n  - {id: b, tools: {shell: {deny: ['it''s', \"q\\\"\"]}}}\n", "? a\n: b\n", "- - - a\n",
		"log: !!map {level: !!str info}\n", "plugins: {a: 2001-01-01, b: 0x1F, c: .inf, d: 1_0, e: ~}\n", "log:\n\tlevel: info\n", "a: \x85b\n", secretDoc,
	}
}

// Whatever stands in the file: no crash, no endless work, and every fault has
// a place in the file.
func FuzzLoad(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		c, err := config.Parse(opts("X=1"), doc)
		if err == nil {
			if len(c.Agents()) == 0 {
				t.Fatal("no agent")
			}
			all, err := c.Get("")
			if err != nil {
				t.Fatal(err)
			}
			_ = all.String()
			_ = all.Value()
			c.NotActedOn([]string{"tools.deny"})
			return
		}
		var fs config.Faults
		if !errors.As(err, &fs) || len(fs) == 0 {
			t.Fatalf("no faults: %v", err)
		}
		lines := 1 + strings.Count(string(doc), "\n") + strings.Count(string(doc), "\r") + strings.Count(string(doc), "\u0085") +
			strings.Count(string(doc), "\u2028") + strings.Count(string(doc), "\u2029")
		for _, fault := range fs {
			if fault.Pos.File == "" || fault.Pos.Line < 1 || fault.Pos.Line > lines || fault.Pos.Column < 1 || fault.Message == "" && !fault.Unknown {
				t.Fatalf("%+v in %q", fault, doc)
			}
		}
	})
}

// Whatever stands in the file: setting a key either leaves it alone with an
// error or gives the key this value and keeps the rest.
func FuzzSet(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s), "agents.list[a].name", "x: 'y' # z")
		f.Add([]byte(s), "log.level", "debug")
		f.Add([]byte(s), "tools.shell.deny[0]", "a\nb")
		f.Add([]byte(s), "plugins.a.b", "[1, {c: d}]")
	}
	f.Add([]byte("-"), "log.level", "debug")
	f.Fuzz(func(t *testing.T, doc []byte, key, value string) {
		o := home(t, t.TempDir(), "-")
		// Not by home, to which a file that holds "-" alone is none.
		if err := os.WriteFile(filepath.Join(o.Home, "config.yaml"), doc, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := config.Set(o, key, value); err != nil {
			if got := content(t, o); got != string(doc) {
				t.Fatalf("%v, yet the file has changed from %q to %q", err, doc, got)
			}
			return
		}
		out := content(t, o)
		if utf8.Valid(doc) && !utf8.ValidString(out) {
			t.Fatalf("%q is no UTF-8", out)
		}
		before, beforeErr := config.Load(o)
		if beforeErr != nil {
			return // it had other faults already
		}
		s, err := before.Get(key)
		if err != nil {
			t.Fatalf("%q %q %q: %v\n%q", doc, key, value, err, out)
		}
		_ = s.String()
		if _, err := config.Unset(o, key); err != nil {
			return // what is required, or only written in an unusual way
		}
		after := content(t, o)
		if err := config.Set(o, key, value); err != nil {
			t.Fatalf("set again: %v\n%q", err, after)
		}
	})
}
