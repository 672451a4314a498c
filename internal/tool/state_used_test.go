package tool_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/goclaw/goclaw/internal/tool"
)

// A turn that uses more tools than are remembered remembers the last.
func TestTheLastToolsOfATurnAreRemembered(t *testing.T) {
	t.Parallel()
	var s tool.State
	for i := range 30 {
		s = s.Using(fmt.Sprintf("t%02d", i))
	}
	before := s
	s = s.Using("t10").Using("new").Using("new")
	if len(s.Used) != 24 || s.Used[0] != "t07" || slices.Index(s.Used, "t10") != 22 || s.Used[23] != "new" {
		t.Errorf("used: %v", s.Used)
	}
	if before.Used[23] != "t29" || before.Used[0] != "t06" {
		t.Errorf("the state before is another one now: %v", before.Used)
	}
}
