package provider

import (
	"math"
	"testing"

	"github.com/goclaw/goclaw/internal/llm"
)

// TestCountsThatCantBeTrueDontCount keeps sums in the ledger and budgets from
// overflowing, and from growing smaller.
func TestCountsThatCantBeTrueDontCount(t *testing.T) {
	for name, c := range map[string]struct{ told, want llm.Usage }{
		"usual":                 {llm.Usage{Input: 9, Cached: 4, CacheWrite: 2, Output: 5, Reasoning: 3}, llm.Usage{Input: 9, Cached: 4, CacheWrite: 2, Output: 5, Reasoning: 3}},
		"too many":              {llm.Usage{Input: math.MaxInt64, Output: 1}, llm.Usage{}},
		"too many of the cache": {llm.Usage{Input: 7, CacheWrite: math.MaxInt64, Output: 1}, llm.Usage{}},
		"negative":              {llm.Usage{Input: -500_000, Output: 1}, llm.Usage{}},
		"overflown":             {llm.Usage{Input: 7, Output: math.MinInt64 + 98}, llm.Usage{}},
		"cache beside input":    {llm.Usage{Input: 10, Cached: 500, CacheWrite: 20, Output: 1}, llm.Usage{Input: 520, Cached: 500, CacheWrite: 20, Output: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(map[string][]step{"a": {{text: []string{"hello"}, used: c.told}}})
				if o := w.ask(t.Context(), w.set.For("a", nil), "", false); o.err != nil || o.reply.Usage != c.want {
					t.Errorf("counted %+v, want %+v (%v)", o.reply.Usage, c.want, o.err)
				}
			})
		})
	}
}
