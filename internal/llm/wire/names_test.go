package wire

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/llm"
)

var (
	plainNames = &NameRule{Max: 64, Others: "-"}
	strictRule = &NameRule{Max: 12, Letter: true, Reserved: []string{"search", "python"}}
)

func specs(names ...string) []llm.ToolSpec {
	tools := make([]llm.ToolSpec, len(names))
	for i, n := range names {
		tools[i].Name = n
	}
	return tools
}

func TestNamesOnTheWire(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		rule  *NameRule
		tools []string
		want  map[string]string // those that differ
	}{
		{"canonical names go through", plainNames, []string{"file_read", "a", "z9_"}, map[string]string{}},
		{"TC-067 a dot", plainNames, []string{"calendar.list"}, map[string]string{"calendar.list": "calendar_list"}},
		{
			"TC-070 70 letters", plainNames,
			[]string{strings.Repeat("a", 70)},
			map[string]string{strings.Repeat("a", 70): strings.Repeat("a", 64)},
		},
		{"letters of other scripts", plainNames, []string{"größe", "界"}, map[string]string{"größe": "gr__e", "界": "_"}},
		{"too short a limit", strictRule, []string{"calendar_list_all"}, map[string]string{"calendar_list_all": "calendar_lis"}},
		{"a digit first", strictRule, []string{"21st_magic"}, map[string]string{"21st_magic": "_21st_magic"}},
		{"reserved", strictRule, []string{"search", "python"}, map[string]string{"search": "search_tool", "python": "python_tool"}},
		{
			"who fits keeps the name", strictRule,
			[]string{"a.b", "a_b", "a-b", "a:b"},
			map[string]string{"a-b": "a_b_2", "a.b": "a_b_3", "a:b": "a_b_4"},
		},
		{
			"numbered within the limit", strictRule,
			[]string{"calendar_list_b", "calendar_list_a"},
			map[string]string{"calendar_list_a": "calendar_lis", "calendar_list_b": "calendar_l_2"},
		},
		{"none", plainNames, []string{""}, map[string]string{"": "unknown"}},
	} {
		n := test.rule.Names(specs(test.tools...))
		got := map[string]string{}
		for _, name := range test.tools {
			sent := n.Sent(name)
			if sent != name {
				got[name] = sent
			}
			if own := n.Own(sent); own != name {
				t.Errorf("%s: %q went as %q and came back as %q", test.name, name, sent, own)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// Calls in the history may have any name: of another vendor's tools, of tools
// that are gone, made up.
func TestNamesInTheHistory(t *testing.T) {
	t.Parallel()
	n := plainNames.Names(specs("file_read", "calendar.list"))
	for in, want := range map[string]string{
		"file_read": "file_read", "calendar.list": "calendar_list", "": "unknown", "no such tool!": "no_such_tool_",
		"gone.tool": "gone_tool", strings.Repeat("x", 70): strings.Repeat("x", 64), "größe": "gr__e",
	} {
		if got := n.Sent(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := (Names{}).Sent("a.b"); got != "a.b" {
		t.Errorf("the zero value sent %q", got)
	}
}

// What is sent always fits and is unique, comes back as it was, and depends on
// the tools, not on their order.
func TestNamesAreSentAndComeBack(t *testing.T) {
	t.Parallel()
	fits := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,11}$`)
	name := rapid.OneOf(rapid.StringMatching(`[a-c][.:_-][a-c]`), rapid.StringMatching(`[a-z_.]{0,14}`), rapid.SampledFrom(strictRule.Reserved), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(name, 0, 12, rapid.ID).Draw(t, "names")
		n := strictRule.Names(specs(names...))
		other := slices.Clone(names)
		slices.Reverse(other)
		again := strictRule.Names(specs(other...))
		seen := map[string]string{}
		for _, name := range names {
			sent := n.Sent(name)
			if !fits.MatchString(sent) || slices.Contains(strictRule.Reserved, sent) {
				t.Fatalf("%q went as %q", name, sent)
			}
			if by, twice := seen[sent]; twice {
				t.Fatalf("%q and %q both went as %q", name, by, sent)
			}
			seen[sent] = name
			if n.Own(sent) != name {
				t.Fatalf("%q went as %q and came back as %q", name, sent, n.Own(sent))
			}
			if got := again.Sent(name); got != sent {
				t.Fatalf("%q went as %q, in another order as %q", name, sent, got)
			}
		}
		if made := name.Draw(t, "made up"); !fits.MatchString(n.Sent(made)) {
			t.Fatalf("%q went as %q", made, n.Sent(made))
		}
	})
}

func TestNamesComeBackInEvents(t *testing.T) {
	t.Parallel()
	n := plainNames.Names(specs("calendar.list", "file_read"))
	var got []string
	yield := n.Restored(func(e llm.Event, err error) bool {
		got = append(got, e.Text)
		if e.Reply != nil {
			for _, c := range e.Reply.Message.Calls() {
				got = append(got, c.Name)
			}
		}
		return err == nil
	})
	call := func(name string) llm.Part { return llm.Part{Kind: llm.KindCall, Call: &llm.ToolCall{Name: name}} }
	yield(llm.Event{Type: llm.EventText, Text: "calendar_list"}, nil)
	yield(llm.Event{Type: llm.EventCall, Text: "calendar_list"}, nil)
	yield(llm.Event{Type: llm.EventDone, Reply: &llm.Reply{Message: llm.Message{
		Parts: []llm.Part{llm.Text("calendar_list"), call("calendar_list"), call("file_read"), call("made_up")},
	}}}, nil)
	want := []string{"calendar_list", "calendar.list", "", "calendar.list", "file_read", "made_up"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Where every name goes as it is, names cost nothing.
func TestNamesThatFitAllocateNothing(t *testing.T) {
	tools := specs("file_read", "file_write", "search_tools")
	yield := func(llm.Event, error) bool { return true }
	if n := testing.AllocsPerRun(100, func() {
		n := plainNames.Names(tools)
		if n.Sent("file_read") != "file_read" || !n.Restored(yield)(llm.Event{}, nil) {
			panic("changed")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkNames(b *testing.B) {
	for _, count := range []int{25, 1000} {
		names := make([]string, count)
		for i := range names {
			names[i] = fmt.Sprint("some_tool_with_a_name_", i)
		}
		tools := specs(names...)
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				plainNames.Names(tools)
			}
		})
	}
}
