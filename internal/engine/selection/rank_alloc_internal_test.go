//go:build !race

// Under the race detector pools forget at random what they keep.

package selection

import "testing"

func TestRankAllocates(t *testing.T) {
	docs := crowd(t, 1000)
	x := NewIndex(docs)
	message := messages(t)["short"]
	few := testing.AllocsPerRun(20, func() { x.Rank(message, nil, 12) })
	// A result has 12 hits with a few reasons each; all else is scratch.
	if few > 120 {
		t.Errorf("%v allocations", few)
	}
	none := testing.AllocsPerRun(20, func() { x.Rank("thanks, that was good", nil, 12) })
	if none > 5 {
		t.Errorf("%v allocations for nothing", none)
	}
}
