package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/config"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	c := parse(t, "agents: {list: [{id: writer}]}\nai: {providers: {my-vllm: {base_url: 'http://127.0.0.1/v1', prices: {gpt-4.1: {in: 1}}}}}\nplugins: {p: {x: 1}}\n")
	var names []string
	for _, k := range c.Keys() {
		names = append(names, k.Name)
		if _, err := c.Get(k.Name); err != nil {
			t.Error(err)
		}
	}
	for _, want := range []string{
		"version", "log.level", "agents.list[writer].tools.deny", "agents.list[writer].tools.shell.timeout", "ai.providers.openai.model",
		"ai.providers.my-vllm.prices[gpt-4.1].in", "plugins.p",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing", want)
		}
	}
	i := slices.IndexFunc(c.Keys(), func(k config.Key) bool { return k.Name == "log.level" })
	if got := c.Keys()[i].Doc; got != "the least that is logged" {
		t.Error(got)
	}
}

func TestWrittenKeys(t *testing.T) {
	t.Parallel()
	o := config.Options{Home: t.TempDir()}
	for doc, want := range map[string][]string{
		"": nil,
		"bogus: {a: 1}\nagents: {list: [{id: w, x: 1}, {}]}\n3.1: x\n": {
			"bogus", "bogus.a", "agents", "agents.list", "agents.list[w]", "agents.list[w].id", "agents.list[w].x", "agents.list[1]", "[3.1]",
		},
		"a: [": nil,
		// An alias is written where its anchor is.
		"a: &a {b: 1}\nc: *a\nd: {<<: *a}\n": {"a", "a.b", "c", "d"},
	} {
		if err := os.WriteFile(filepath.Join(o.Home, config.FileName), []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, config.WrittenKeys(o)); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", doc, diff)
		}
	}
	if got := config.WrittenKeys(config.Options{Home: "/nowhere"}); got != nil {
		t.Error(got)
	}
}
