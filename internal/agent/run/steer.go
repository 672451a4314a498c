package run

import (
	"slices"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/llm"
)

// joins reports whether a message may be handled by the run going: words must
// not act under an authority that is not theirs, another person's or one that
// is wider than they were given, nor be answered elsewhere, by another model or
// under another client's words than was asked for.
func (req *Request) joins(going *Run) bool {
	g := &going.request
	return len(req.Bound)+len(g.Bound) == 0 && req.Caller == g.Caller && req.Origin == g.Origin && req.Delivery == g.Delivery && req.Model == g.Model &&
		req.System == g.System && req.Cap.Equal(g.Cap) && req.Declared.Equal(g.Declared) &&
		req.Allow.Equal(g.Allow) && slices.Equal(req.Deny, g.Deny) && req.Sandbox == g.Sandbox && req.Flush == g.Flush &&
		req.Depth == g.Depth && req.Plan == g.Plan && slices.Equal(req.Client, g.Client)
}

// takeIn hands what came for the active run to its loop, with the ids under
// which the inbox keeps it. A message that is not stored yet, and what came
// behind it, is left for the next time.
func (r *Runner) takeIn(l *lane) (messages []llm.Message, ids []string) {
	r.mu.Lock()
	n := 0
	for n < len(l.joining) && l.joining[n].isPlaced() {
		n++
	}
	taken := slices.Clone(l.joining[:n])
	l.joining = slices.Delete(l.joining, 0, n)
	l.taken = append(l.taken, taken...)
	r.mu.Unlock()
	for _, run := range taken {
		messages, ids = append(messages, run.request.Message), append(ids, run.ID)
		l.active.notice("steered", session.Words(run.request.Message), run.ID)
		run.notice("joined", "the session's run has taken it in", l.active.ID)
	}
	if n > 0 {
		r.watchers.tell(l.key)
	}
	return messages, ids
}

// joined ends the runs whose messages the active run has taken in and stored.
func (r *Runner) joined(l *lane, ids []string) {
	r.mu.Lock()
	var done []*Run
	l.taken = slices.DeleteFunc(l.taken, func(run *Run) bool {
		if !slices.Contains(ids, run.ID) {
			return false
		}
		done = append(done, run)
		return true
	})
	r.mu.Unlock()
	for _, run := range done {
		run.tell(agent.Event{Type: agent.RunFinished, Ref: l.active.ID, End: &agent.RunEnd{Status: agent.Done}})
		r.finish(run)
	}
	r.watchers.tell(l.key)
}
