package selection

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Usage knows which tools an agent uses most.
type Usage interface {
	// MostUsed lists at most limit tools by how often the agent called them with
	// success since then, the most used first, ties by name.
	MostUsed(ctx context.Context, agent string, since time.Time, limit int) ([]string, error)
}

const (
	priorDays  = 30
	priorAge   = 10 * time.Minute // after which it is asked for anew
	priorLimit = 64               // tools asked for; many of them are pinned
)

// prior is what an agent uses most, asked for now and then.
type prior struct {
	usage Usage
	agent string
	log   *slog.Logger
	now   func() time.Time

	mu    sync.Mutex
	asked time.Time
	names []string
}

// NewPrior returns the [Options.Prior] of an agent: its most used tools of the
// last 30 days as usage knew them at most ten minutes ago. Where that can't be
// asked, log is told and the last answer stands. now is [time.Now] when nil.
func NewPrior(usage Usage, agent string, log *slog.Logger, now func() time.Time) func(context.Context) []string {
	if now == nil {
		now = time.Now
	}
	p := &prior{usage: usage, agent: agent, log: log, now: now}
	return p.get
}

func (p *prior) get(ctx context.Context) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if !p.asked.IsZero() && now.Sub(p.asked) < priorAge {
		return p.names
	}
	names, err := p.usage.MostUsed(ctx, p.agent, now.AddDate(0, 0, -priorDays), priorLimit)
	if err != nil {
		if ctx.Err() == nil {
			p.log.Warn("the most used tools are not known", "agent", p.agent, "err", err)
			p.asked = now
		}
		return p.names
	}
	p.asked, p.names = now, names
	return names
}
