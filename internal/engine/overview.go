package engine

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Known is a tool that the agent knows of, with how far it gets. One that never
// came to be has no entry.
type Known struct {
	Explanation
	Entry *tool.Entry
	Calls CallStats
}

// Stopped is the first of the states up to exposed that the tool did not reach;
// empty when a request would show it.
func (k *Known) Stopped() string {
	for _, s := range k.States[:called] {
		if s.Verdict != Yes {
			return s.State
		}
	}
	return ""
}

// Overview walks the states of all tools that the registry has or knows why it
// has not, ordered by name, for one request. Of calls it tells of those since;
// why the last one ended as it did [Engine.Explain] tells.
func (e *Engine) Overview(ctx context.Context, s tool.Scope, t llm.Target, st tool.State, ask tool.Ask, since time.Time) ([]Known, error) {
	cat := e.Known(s)
	sf, _, why := e.chosen(ctx, s, t, st, ask)
	stats, err := e.Stats(ctx, s, "", since)
	if err != nil {
		return nil, err
	}
	var list []Known
	for _, entry := range cat.Entries {
		x := newExplainer(entry.Def.Name, s)
		x.present(entry, cat.Notes)
		x.exposure(entry, &sf, why)
		k := Known{Entry: entry}
		if c := stats[entry.Def.Name]; c != nil {
			k.Calls = *c
			x.counted(c)
		}
		k.Explanation = x.Explanation
		list = append(list, k)
	}
	seen := map[string]bool{}
	for _, n := range cat.Notes {
		if _, ok := cat.Find(n.Tool); ok || n.Tool == "" || seen[n.Tool] {
			continue
		}
		seen[n.Tool] = true
		x := newExplainer(n.Tool, s)
		x.missing(cat, n.Tool)
		list = append(list, Known{Explanation: x.Explanation})
	}
	slices.SortStableFunc(list, func(a, b Known) int { return strings.Compare(a.Tool, b.Tool) })
	return list, nil
}

// counted explains the last two states from what is known of calls in short.
func (x *explainer) counted(c *CallStats) {
	x.yes(called, "last at %s", c.Last.Format("2006-01-02 15:04:05"))
	switch c.Ended {
	case tool.OK:
		x.yes(executed, "ok")
	case tool.Handed:
		x.yes(executed, "handed to the API client, which runs it")
	case tool.Failed, tool.TimedOut, tool.Panicked:
		x.yes(executed, "%s", c.Ended)
	default:
		x.States[executed] = StateLine{State: stateNames[executed], Verdict: No, Detail: string(c.Ended)}
	}
}
