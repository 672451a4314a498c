package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/tool"
)

// maxDetails is how much JSON of a result's details is kept.
const maxDetails = 8 << 10

// keeper turns results into what is stored.
type keeper struct{ hooks *hook.Bus }

// persist has handlers transform the result and cuts details to size. The
// digest tells results apart as the tool gave them, so that a handler which
// writes a time into each hides no circle. Handlers are asked within their own
// time limits also when the run was stopped meanwhile: one that takes secrets
// out must not be passed over for that.
func (k keeper) persist(ctx context.Context, inv *invocation) bool {
	inv.digest()
	details, err := inv.details()
	if err != nil {
		inv.note = fmt.Sprintf("the details were dropped: %v", err)
	}
	if k.hooks.Persists() && inv.out.Status != tool.Handed {
		r := tool.Result{Content: inv.out.Content, IsError: inv.out.Failed()}
		if details != nil {
			r.Details = details
		}
		r, note := k.hooks.Persist(context.WithoutCancel(ctx), inv.seen(), r)
		inv.out.Content = filled(r.Content)
		details, _ = r.Details.(json.RawMessage)
		if note != "" && inv.note != "" {
			note = inv.note + "; " + note
		}
		inv.note = cmp.Or(note, inv.note)
	}
	if details != nil && inv.depth == 0 { // what calls of a tool's own gave is not stored, and the tool works with all of it
		details = capped(details)
	}
	inv.out.Details = details
	return true
}

// details are those of the result as JSON; nil when it has none.
func (inv *invocation) details() (json.RawMessage, error) {
	if inv.result.Details == nil {
		return nil, nil
	}
	return json.Marshal(inv.result.Details)
}

// capped is details themselves, or a summary of those that are too large.
func capped(details json.RawMessage) json.RawMessage {
	if len(details) <= maxDetails {
		return details
	}
	summary := struct {
		Omitted string   `json:"omitted"`
		Bytes   int      `json:"bytes"`
		Items   int      `json:"items,omitempty"`
		Keys    []string `json:"keys,omitempty"`
	}{Omitted: "the details were too large to keep", Bytes: len(details)}
	var object map[string]json.RawMessage
	var array []json.RawMessage
	if json.Unmarshal(details, &object) == nil {
		room := maxDetails / 2
		for _, k := range slices.Sorted(maps.Keys(object)) {
			if room -= len(k); room < 0 {
				break
			}
			summary.Keys = append(summary.Keys, k)
		}
	} else if json.Unmarshal(details, &array) == nil {
		summary.Items = len(array)
	}
	out, err := json.Marshal(summary)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return out
}
