package selection

import (
	"context"
	"log/slog"
	"time"

	"github.com/goclaw/goclaw/internal/lib/recent"
)

// Usage knows which tools an agent uses most.
type Usage interface {
	// MostUsed lists at most limit tools by how often the agent called them with
	// success since then, the most used first, ties by name.
	MostUsed(ctx context.Context, agent string, since time.Time, limit int) ([]string, error)
}

const (
	priorDays  = 30
	priorAge   = time.Minute // after which it is asked for anew
	priorLimit = 64          // tools asked for; many of them are pinned
)

// NewPrior returns what answers the [Options.Prior] of an agent: its most used
// tools of the last 30 days as usage knew them at most a minute ago, which is
// for what other processes do. Whoever sees a run of the agent end that called
// tools has it outdated. Where usage can't be asked, log is told and the last
// answer stands.
func NewPrior(usage Usage, agent string, log *slog.Logger) *recent.Value[[]string] {
	return recent.New(priorAge, log.With("agent", agent), "the most used tools are", func(ctx context.Context) ([]string, error) {
		return usage.MostUsed(ctx, agent, time.Now().AddDate(0, 0, -priorDays), priorLimit)
	})
}
