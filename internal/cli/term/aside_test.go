package term_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/cli/term"
)

func TestAside(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := term.NewAside(&out)
	fmt.Fprint(a, "before\n")
	a.Hold(true)
	fmt.Fprint(a, "one\ntw")
	<-a.Ready()
	if got := a.Take(); got != "one\n" {
		t.Errorf("took %q", got)
	}
	if got := a.Take(); got != "" {
		t.Errorf("then took %q", got)
	}
	fmt.Fprint(a, "o\nthree")
	if got := out.String(); got != "before\n" {
		t.Errorf("written meanwhile: %q", got)
	}
	a.Hold(false)
	fmt.Fprint(a, ", after\n")
	if got, want := out.String(), "before\ntwo\nthree, after\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
