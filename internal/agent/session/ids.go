package session

import (
	"fmt"
	"slices"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
)

// maxID is the longest id of a call that every provider takes back.
const maxID = 64

// assignIDs gives each call of r's reply an id that no other call of the
// session has. The provider's own id stays when it can: when it is there, not
// too long, of letters, digits, _ and -, and not used before. Else the id says
// where the call stands, so that sessions which begin alike have equal ids.
// taken returns which of some ids are in use.
func assignIDs(r *agent.Round, taken func(ids []string) ([]string, error)) error {
	parts := slices.Clone(r.Reply.Message.Parts)
	var calls []*llm.ToolCall
	for i, p := range parts {
		if p.Kind == llm.KindCall && p.Call != nil {
			own := *p.Call // the round's own copy: the reply may be shared
			parts[i].Call = &own
			calls = append(calls, &own)
		}
	}
	r.Calls = nil
	if len(calls) == 0 {
		return nil
	}
	ids := make([]string, 0, 2*len(calls))
	for i, c := range calls {
		if usable(c.ID) {
			ids = append(ids, c.ID)
		}
		ids = append(ids, made(r.Number, i, 0))
	}
	found, err := taken(ids)
	if err != nil {
		return err
	}
	used := make(map[string]bool, len(ids)+len(found))
	for _, id := range found {
		used[id] = true
	}
	// The provider's ids come first: a made one must not take what a later
	// call brings.
	own := make([]bool, len(calls))
	for i, c := range calls {
		if own[i] = usable(c.ID) && !used[c.ID]; own[i] {
			used[c.ID] = true
		}
	}
	for i, c := range calls {
		for n := 0; !own[i]; n++ {
			id := made(r.Number, i, n)
			if n > 0 {
				if found, err = taken([]string{id}); err != nil {
					return err
				}
				used[id] = used[id] || len(found) > 0
			}
			if !used[id] {
				c.ID, own[i], used[id] = id, true, true
			}
		}
	}
	r.Reply.Message.Parts = parts
	for _, c := range calls {
		r.Calls = append(r.Calls, *c)
	}
	return nil
}

// made is the id of the call at index of a round; n counts from 1 on when that
// is taken by a provider's id which happens to look the same.
func made(round, index, n int) string {
	if n == 0 {
		return fmt.Sprintf("call_%d_%d", round, index)
	}
	return fmt.Sprintf("call_%d_%d_%d", round, index, n+1)
}

func usable(id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
