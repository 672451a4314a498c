package selection_test

import (
	"slices"
	"testing"

	"github.com/goclaw/goclaw/internal/engine/selection"
	"github.com/goclaw/goclaw/internal/tool"
)

func TestAllIsShownWithoutSelection(t *testing.T) {
	t.Parallel()
	entry := func(name string, traits tool.Traits) *tool.Entry {
		return &tool.Entry{Def: tool.Definition{Name: name, Traits: traits}}
	}
	permitted := []*tool.Entry{
		entry("a", tool.Traits{}),
		entry("b", tool.Traits{Internal: true}),
		entry("c", tool.Traits{Core: true}),
		entry("d", tool.Traits{Inverse: true, Core: true}),
		entry("e", tool.Traits{Core: true, Internal: true}),
		entry("f", tool.Traits{}),
		entry("g", tool.Traits{Internal: true}),
	}
	want := []string{"c", "e", "b", "g", "a", "f"}
	if got := tool.Names(selection.New(selection.Options{}).Select(t.Context(), selection.Request{Permitted: permitted}).Offered); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, e := range permitted {
		if shown := slices.Contains(want, e.Def.Name); shown != (selection.Hidden(e) == "") {
			t.Errorf("%s: shown %v, but hidden because %q", e.Def.Name, shown, selection.Hidden(e))
		}
	}
}
