package engine

import (
	"context"
	"log/slog"
	"runtime/debug"

	"github.com/goclaw/goclaw/internal/engine/spill"
	"github.com/goclaw/goclaw/internal/tool"
)

// shower turns results into what the model sees.
type shower struct {
	spiller *spill.Spiller // nil shows everything whole
}

// show shows the result, whole or in part, hidden characters visible. That it
// comes from a tool is framing enough for a model: it stands in a message of
// that role, and nothing that decides anything reads it.
func (s shower) show(ctx context.Context, inv *invocation) bool {
	if s.spiller == nil {
		inv.out.Content = spill.Visible(inv.out.Content)
		return true
	}
	_, readable := tool.Find(inv.surface.Permitted, spill.ReadOutput)
	inv.shown = s.spiller.Show(ctx, inv.surface.Scope, inv.out, spill.How{Keep: inv.entry.Def.KeepResult, Sealed: !readable})
	return true
}

// fit shortens what is shown of the results of one response until they fit a
// request together. When that breaks they are shown as they are.
func (b *batch) fit(ctx context.Context, s *spill.Spiller, log *slog.Logger) {
	if s == nil {
		return
	}
	round := make([]*invocation, len(b.slots))
	for i := range b.slots {
		round[i] = &b.slots[i].invocation
	}
	fit(ctx, s, log, round, 0)
	for _, inv := range round {
		inv.keepHint()
	}
}

// fit is [batch.fit] of calls beside which others show so many code points.
func fit(ctx context.Context, s *spill.Spiller, log *slog.Logger, calls []*invocation, others int) {
	defer func() {
		if v := recover(); v != nil {
			log.Error("fitting the results of a response panicked", "panic", v, "stack", string(debug.Stack()))
		}
	}()
	round := make([]spill.Shown, 0, len(calls))
	for _, inv := range calls {
		if inv.shown != (spill.Shown{}) {
			round = append(round, inv.shown)
		}
	}
	if len(round) > 0 {
		s.Fit(ctx, calls[0].surface.Scope, round, others)
	}
}
