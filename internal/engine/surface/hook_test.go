package surface_test

import (
	"slices"
	"testing"

	"github.com/goclaw/goclaw/internal/engine/surface"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

func TestWhatHooksLeave(t *testing.T) {
	t.Parallel()
	r := tool.NewRegistry()
	r.Add(tool.Owner{Kind: tool.FamilyOwner, ID: "test"},
		plain("read", tool.Traits{ReadOnly: true}), plain("core", tool.Traits{ReadOnly: true, Core: true}), plain("write", tool.Traits{}))
	d := surface.New(surface.Policies{}, nil)
	for _, c := range []struct {
		why      string
		narrowed []tool.Narrowed
		want     []string
		rule     string // of write
		lists    []string
	}{
		{"nobody narrows", nil, []string{"core", "read", "write"}, "", nil},
		{"one allows some, and one that isn't there", []tool.Narrowed{{Allow: tool.Only("write", "read", "invented"), By: "a"}}, []string{"read", "write"}, "", []string{"the tools that hooks allow (a)"}},
		{"two intersect", []tool.Narrowed{{Allow: tool.Only("write", "read"), By: "a"}, {Allow: tool.Only("core", "read"), By: "b"}}, []string{"read"}, "tools_allow", []string{"the tools that hooks allow (a, b)"}},
		{"an empty list", []tool.Narrowed{{Allow: tool.Only(), By: "a"}}, nil, "tools_allow", []string{"the tools that hooks allow (a)"}},
		{"one fails", []tool.Narrowed{{Failed: "a"}}, []string{"core", "read"}, "failed", nil},
		{"one narrows and one fails", []tool.Narrowed{{Allow: tool.Only("write", "read"), By: "a", Failed: "b"}}, []string{"read"}, "failed", []string{"the tools that hooks allow (a)"}},
	} {
		s := tool.NewScope(tool.Facts{Agent: "main"})
		for _, n := range c.narrowed {
			s = s.Narrow(n)
		}
		dec := d.Decide(t.Context(), r.Catalog(), s, llm.Target{})
		if got := tool.Names(dec.Permitted); !slices.Equal(got, c.want) || !slices.Equal(dec.Lists, c.lists) {
			t.Errorf("%s: %v are left under %q", c.why, got, dec.Lists)
		}
		removed, _ := dec.Removal("write")
		if removed.Rule != c.rule || c.rule != "" && (removed.Layer != "hook" || removed.Reason == "" || removed.Fix == "") {
			t.Errorf("%s: write is removed with %+v", c.why, removed)
		}
	}
}
