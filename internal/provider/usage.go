package provider

import "github.com/goclaw/goclaw/internal/llm"

// maxTokens is more than any model call can use. The ledger adds up what calls
// used, and budgets go by it, so one count from a broken server must not make
// those sums overflow or grow smaller.
const maxTokens = 1_000_000_000

// counted is u as the server told it, or nothing where that can't be true: a
// count that is negative or beyond [maxTokens] says that none of them counts.
// Some gateways count what the cache had beside the input, not in it: there was
// at least as much input as was read from the cache and written to it.
func counted(u llm.Usage) llm.Usage {
	for _, n := range []int64{u.Input, u.Cached, u.CacheWrite, u.Output, u.Reasoning} {
		if n < 0 || n > maxTokens {
			return llm.Usage{}
		}
	}
	u.Input = max(u.Input, u.Cached+u.CacheWrite)
	return u
}
