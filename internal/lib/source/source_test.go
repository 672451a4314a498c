package source_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/goclaw/goclaw/internal/lib/source"
)

func TestPosString(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pos  source.Pos
		want string
	}{
		{source.Pos{}, "unknown"},
		{source.Pos{Key: "tools.profile"}, "tools.profile (default)"},
		{source.Pos{Key: "agents.list[writer].tools.deny", File: "/home/a/.goclaw/config.yaml", Line: 41, Column: 3}, "agents.list[writer].tools.deny (config.yaml:41)"},
		{source.Pos{Key: "gateway.listen", Env: "GOCLAW_GATEWAY_LISTEN"}, "gateway.listen (environment GOCLAW_GATEWAY_LISTEN)"},
		{source.Pos{Key: "gateway", File: "config.yaml"}, "gateway (config.yaml)"},
		{source.Pos{File: "skills/demo/SKILL.md", Line: 2}, "SKILL.md:2"},
	} {
		if got := tc.pos.String(); got != tc.want {
			t.Errorf("%#v: got %q, want %q", tc.pos, got, tc.want)
		}
	}
}

// A Text must look like a string to whoever reads the file or the JSON.
func TestTextIsAPlainString(t *testing.T) {
	t.Parallel()
	type doc struct {
		One  source.Text            `json:"one" yaml:"one"`
		Many []source.Text          `json:"many" yaml:"many"`
		Map  map[string]source.Text `json:"map" yaml:"map"`
	}
	in := doc{
		One:  source.Text{Value: "a: b", Pos: source.Pos{Key: "k", Line: 3}},
		Many: []source.Text{{Value: "x"}, {Value: ""}},
		Map:  map[string]source.Text{"k": {Value: "v"}},
	}
	bare := in
	bare.One.Pos = source.Pos{}

	js, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"one":"a: b","many":["x",""],"map":{"k":"v"}}`; string(js) != want {
		t.Errorf("JSON: got %s, want %s", js, want)
	}
	var back doc
	if err := json.Unmarshal(js, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(bare, back); diff != "" {
		t.Error(diff)
	}

	ys, err := yaml.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if want := "one: 'a: b'\nmany:\n    - x\n    - \"\"\nmap:\n    k: v\n"; string(ys) != want {
		t.Errorf("YAML: got %s, want %s", ys, want)
	}
	back = doc{}
	if err := yaml.Unmarshal(ys, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(bare, back); diff != "" {
		t.Error(diff)
	}
}

func TestValuesKeepsNil(t *testing.T) {
	t.Parallel()
	if source.Values(nil) != nil {
		t.Error("nil became a list")
	}
	if got := source.Values([]source.Text{}); got == nil || len(got) != 0 {
		t.Errorf("empty list became %#v", got)
	}
	if diff := cmp.Diff([]string{"a", "b"}, source.Values([]source.Text{{Value: "a"}, {Value: "b"}})); diff != "" {
		t.Error(diff)
	}
}
