package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/tool"
)

func TestNewTakesResultsTextAndValues(t *testing.T) {
	t.Parallel()
	type in struct {
		N int `json:"n"`
	}
	type out struct {
		Twice int    `json:"twice"`
		Note  string `json:"note"`
	}
	def := tool.Definition{Name: "twice"}
	for _, c := range []struct {
		name    string
		tool    tool.Tool
		text    string
		details string
	}{
		{"a value is shown as JSON, unescaped", tool.New(def, func(_ context.Context, _ tool.Call, v in) (out, error) {
			return out{Twice: 2 * v.N, Note: "a<b"}, nil
		}), `{"twice":42,"note":"a<b"}`, `{"twice":42,"note":"a\u003cb"}`},
		{"a string is the text", tool.New(def, func(_ context.Context, _ tool.Call, v in) (string, error) {
			return fmt.Sprint(2 * v.N), nil
		}), "42", "null"},
		{"a result is taken as it is", tool.New(def, func(context.Context, tool.Call, in) (tool.Result, error) {
			return tool.Result{Content: tool.TextResult("x").Content, Details: 7}, nil
		}), "x", "7"},
	} {
		r, err := c.tool.Execute(t.Context(), tool.Call{Args: json.RawMessage(`{"n":21}`)})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		details, err := json.Marshal(r.Details)
		if err != nil || r.Content[0].Text != c.text || string(details) != c.details {
			t.Errorf("%s: %q, details %s, %v", c.name, r.Content[0].Text, details, err)
		}
	}
	if s := string(tool.New(def, func(context.Context, tool.Call, in) (string, error) { return "", nil }).Definition().Parameters); !strings.Contains(s, `"n"`) {
		t.Errorf("the inferred schema is %s", s)
	}
}

func TestListsOnlyNarrow(t *testing.T) {
	t.Parallel()
	name := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	list := rapid.Custom(func(t *rapid.T) tool.List {
		if rapid.Bool().Draw(t, "limited") {
			return tool.Only(rapid.SliceOfN(name, 0, 4).Draw(t, "names")...)
		}
		return tool.List{}
	})
	rapid.Check(t, func(t *rapid.T) {
		l, m, n := list.Draw(t, "l"), list.Draw(t, "m"), name.Draw(t, "name")
		if got, want := l.Intersect(m).Allows(n), l.Allows(n) && m.Allows(n); got != want {
			t.Fatalf("%v ∩ %v allows %s: %v, want %v", l.Names(), m.Names(), n, got, want)
		}
	})
	if tool.Only().Allows("a") || !tool.Only().Limited() {
		t.Error("an empty limited list must allow nothing")
	}
	s := tool.NewScope(tool.Facts{Cap: tool.Only("a", "b")}).WithinCap(tool.Only("b", "c")).WithDeclared(tool.Only("b"))
	if !slices.Equal(s.Cap().Names(), []string{"b"}) || s.Declared().Allows("a") {
		t.Errorf("narrowed to %v, %v", s.Cap().Names(), s.Declared().Names())
	}
}

func TestNumbersThatDontFitAreToldPlainly(t *testing.T) {
	t.Parallel()
	type in struct {
		At struct {
			From int `json:"from"`
		} `json:"at"`
	}
	tl := tool.New(tool.Definition{Name: "x"}, func(context.Context, tool.Call, in) (string, error) { return "", nil })
	_, err := tl.Execute(t.Context(), tool.Call{Args: json.RawMessage(`{"at":{"from":1000000000000000000000}}`)})
	if err == nil || err.Error() != "at.from: the number is too large" {
		t.Errorf("got %v", err)
	}
}

func TestApplyLeavesTheOldStateAlone(t *testing.T) {
	t.Parallel()
	old := tool.State{Added: []string{"x"}, Files: []tool.SeenFile{{Path: "a", Digest: "1"}, {Path: "b", Digest: "1"}}}
	before, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	next := old.Apply(
		tool.Effect{Kind: tool.FileSeen, Key: "a", Value: "2"},
		tool.Effect{Kind: tool.FileSeen, Key: "b"},
		tool.Effect{Kind: tool.PlanMode, Value: "on"},
		tool.Effect{Kind: tool.ToolAdded, Key: "y"}, tool.Effect{Kind: tool.ToolAdded, Key: "y"},
	)
	if after, err := json.Marshal(old); err != nil || string(after) != string(before) {
		t.Errorf("the old state became %s (%v)", after, err)
	}
	if d, ok := next.Digest("a"); !ok || d != "2" {
		t.Errorf("a has digest %q", d)
	}
	if _, ok := next.Digest("b"); ok || !next.Plan || !slices.Equal(next.Added, []string{"x", "y"}) || next.Equal(old) {
		t.Errorf("the new state is %+v", next)
	}
	for i := range 1000 {
		next = next.Apply(tool.Effect{Kind: tool.FileSeen, Key: fmt.Sprint(i), Value: "d"})
	}
	if _, ok := next.Digest("999"); !ok || len(next.Files) > 500 {
		t.Errorf("%d files are remembered", len(next.Files))
	}
}

func simple(name string) tool.Tool {
	return tool.New(tool.Definition{Name: name}, func(context.Context, tool.Call, struct{}) (string, error) { return "", nil })
}

func TestTheRegistryOrdersNotesAndWithdraws(t *testing.T) {
	t.Parallel()
	r := tool.NewRegistry()
	empty := r.Catalog()
	first := tool.Owner{Kind: tool.PluginOwner, ID: "p"}
	notes := r.Add(first, simple("zeta"), simple("Bad Name"), simple("alpha"))
	if len(notes) != 1 || !strings.Contains(notes[0].Reason, "not canonical") {
		t.Errorf("notes %+v", notes)
	}
	if notes := r.Add(tool.Owner{Kind: tool.PluginOwner, ID: "q"}, simple("alpha"), simple("mid")); len(notes) != 1 || !strings.Contains(notes[0].Reason, "taken by plugin p") {
		t.Errorf("notes %+v", notes)
	}
	broken := tool.New(tool.Definition{Name: "broken", Parameters: json.RawMessage(`{"type":`)}, func(context.Context, tool.Call, struct{}) (string, error) { return "", nil })
	if notes := r.Add(first, broken); len(notes) != 1 {
		t.Errorf("a broken schema is noted as %+v", notes)
	}
	c := r.Catalog()
	if got := tool.Names(c.Entries); !slices.Equal(got, []string{"alpha", "mid", "zeta"}) {
		t.Errorf("registered %v", got)
	}
	if e, ok := c.Find("mid"); !ok || e.Owner.ID != "q" {
		t.Errorf("mid is %+v", e)
	}
	if _, ok := c.Find("nope"); ok || len(empty.Entries) != 0 || c.Revision <= empty.Revision {
		t.Error("an old catalog changed, or a missing name was found")
	}
	r.Withdraw(tool.PluginOwner, "p")
	if got := r.Catalog(); !slices.Equal(tool.Names(got.Entries), []string{"alpha", "mid"}) || len(got.Notes) != 0 {
		t.Errorf("left are %v and notes %+v", tool.Names(got.Entries), got.Notes)
	}
}

// A name that is given back goes to who was there next, and nobody loses one to
// a tool that can't be used.
func TestNamesComeBack(t *testing.T) {
	t.Parallel()
	r := tool.NewRegistry()
	core, p, q := tool.Owner{Kind: tool.CoreOwner, ID: "c"}, tool.Owner{Kind: tool.PluginOwner, ID: "p"}, tool.Owner{Kind: tool.MCPOwner, ID: "q"}
	holder := func() string {
		e, ok := r.Catalog().Find("x")
		if !ok {
			return ""
		}
		return e.Owner.ID
	}
	r.Add(q, simple("x"))
	r.Add(p, simple("x"))
	broken := tool.New(tool.Definition{Name: "x", Parameters: json.RawMessage(`{"type":7}`)}, func(context.Context, tool.Call, struct{}) (string, error) { return "", nil })
	if notes := r.Add(core, broken); len(notes) != 1 || !strings.Contains(notes[0].Reason, "schema") || holder() != "p" {
		t.Errorf("after a broken tool %q has it; notes %+v", holder(), notes)
	}
	if notes := r.Add(core, simple("x")); len(notes) != 0 || holder() != "c" {
		t.Errorf("%q has it; notes %+v", holder(), notes)
	}
	for _, step := range []struct {
		kind tool.OwnerKind
		id   string
		has  string
		note string
	}{
		{tool.CoreOwner, "c", "p", "the name belongs to plugin p"},
		{tool.PluginOwner, "p", "q", ""},
		{tool.MCPOwner, "q", "", ""},
	} {
		r.Withdraw(step.kind, step.id)
		notes := ""
		for _, n := range r.Catalog().Notes {
			notes += n.Reason
		}
		if holder() != step.has || notes != step.note {
			t.Errorf("without %s %q has it; notes %q", step.id, holder(), notes)
		}
	}
	r.Add(p, tool.New(tool.Definition{Name: "y", Traits: tool.Traits{Core: true, Internal: true}}, func(context.Context, tool.Call, struct{}) (string, error) { return "", nil }))
	if e, ok := r.Catalog().Find("y"); !ok || e.Def.Core || e.Def.Internal {
		t.Error("a plugin's tool passes as one of ours")
	}
}

func TestAFamilyIsBuiltFromSettingsOverDefaults(t *testing.T) {
	t.Parallel()
	type settings struct{ Name, Kept string }
	f := tool.NewFamily("fam", settings{"one", "kept"}, func(s settings) ([]tool.Tool, error) {
		return []tool.Tool{simple(s.Name), simple(s.Kept)}, nil
	})
	tools, err := f.Build(func(into any) error {
		into.(*settings).Name = "two"
		return nil
	})
	if err != nil || tools[0].Definition().Name != "two" || tools[1].Definition().Name != "kept" {
		t.Errorf("built %v, %v", tools, err)
	}
	if _, err := f.Build(func(any) error { return fmt.Errorf("line 3: no") }); err == nil || err.Error() != "tools.fam: line 3: no" {
		t.Errorf("the error is %v", err)
	}
}

// Effects that are coalesced change a state as all of them do.
func TestCoalesce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		effects := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) tool.Effect {
			e := tool.Effect{
				Kind: rapid.SampledFrom([]tool.EffectKind{tool.FileSeen, tool.PlanMode, tool.ToolAdded, tool.Undoable, tool.Attached}).Draw(rt, "kind"),
				Key:  rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "key"),
			}
			switch e.Kind {
			case tool.FileSeen:
				e.Value = rapid.SampledFrom([]string{"", "1", "2"}).Draw(rt, "digest")
			case tool.PlanMode:
				e.Key, e.Value = "", rapid.SampledFrom([]string{"on", "off"}).Draw(rt, "mode")
			}
			return e
		}), 0, 30).Draw(rt, "effects")
		few := tool.Coalesce(effects)
		if want, got := (tool.State{}).Apply(effects...), (tool.State{}).Apply(few...); !got.Equal(want) {
			rt.Errorf("%+v give %+v; %+v give %+v", effects, want, few, got)
		}
		kept := 0
		for _, e := range effects {
			if e.Kind == tool.Undoable || e.Kind == tool.Attached {
				kept++
			}
		}
		if len(few) > kept+3+1+3 {
			rt.Errorf("%d are left of %d", len(few), len(effects))
		}
	})
}
