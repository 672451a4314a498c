package testtools_test

import (
	"slices"
	"testing"

	"github.com/goclaw/goclaw/internal/tool"
	"github.com/goclaw/goclaw/internal/tools/testtools"
)

// names are the tools of the present build.
func names(t *testing.T) []string {
	t.Helper()
	tools, err := testtools.Family(nil).Build(func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	r := tool.NewRegistry()
	if notes := r.Add(tool.Owner{Kind: tool.FamilyOwner, ID: "test"}, tools...); len(notes) > 0 {
		t.Errorf("%+v", notes)
	}
	return tool.Names(r.Catalog().Entries)
}

func TestFamily(t *testing.T) {
	t.Parallel()
	if got := names(t); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
