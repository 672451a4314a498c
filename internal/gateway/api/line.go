package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
)

// line finds the runs of one session in the order in which they begin, each
// once, and follows them one behind the other. The runner says which run is
// going and which wait, the record which have been; a run that begins and ends
// before anybody looks is found there.
type line struct {
	s   *Server
	c   Caller
	key session.Key

	// Used by whoever looks, one goroutine at a time.
	mine    bool                // the caller was found to be allowed to see the session
	last    int                 // number of the last turn that was there at the start or was taken
	seen    map[string]bool     // runs that were taken
	waiting map[string]*run.Run // runs that were told to wait

	more chan struct{} // holds a token when next grew
	mu   sync.Mutex
	next []followed
}

// followed is a run whose events are to be told behind at.
type followed struct {
	id   string
	live *run.Run // nil when only its record is left
	at   position
}

func newLine(s *Server, c Caller, key session.Key) *line {
	return &line{s: s, c: c, key: key, seen: map[string]bool{}, waiting: map[string]*run.Run{}, more: make(chan struct{}, 1)}
}

// begin takes the run that is going, or goes on behind event at of run id and
// with all runs behind it.
func (l *line) begin(ctx context.Context, f *feed, id string, at position) error {
	list, _, err := l.s.opts.Sessions.Sessions(ctx, session.Filter{Agent: l.key.Agent, ID: l.key.ID, Limit: 1})
	if err != nil {
		return err
	}
	if len(list) == 1 {
		l.last = list[0].Turns
	}
	if id != "" {
		if err := l.resume(ctx, id, at); err != nil {
			return err
		}
	}
	return l.look(ctx, f)
}

// resume takes run id behind at. Of a run that is not known nothing is missed.
func (l *line) resume(ctx context.Context, id string, at position) error {
	live, _ := l.s.opts.Runner.Run(id)
	if live != nil && (live.Agent != l.key.Agent || live.Session != l.key.ID) {
		return nil
	}
	runs, _, err := l.s.opts.Sessions.Runs(ctx, session.RunFilter{Run: id, Agent: l.key.Agent, ID: l.key.ID, Limit: 1})
	if err != nil {
		return err
	}
	switch {
	case len(runs) == 1:
		l.last = runs[0].Number
	case live == nil || live.State() == run.Queued:
		return nil
	}
	l.take(followed{id: id, live: live, at: at})
	return nil
}

// take puts a run behind those that are to be followed.
func (l *line) take(r followed) {
	if l.seen[r.id] {
		return
	}
	l.seen[r.id] = true
	delete(l.waiting, r.id)
	l.mu.Lock()
	l.next = append(l.next, r)
	l.mu.Unlock()
	wake(l.more)
}

// look takes what has begun since it looked last, and tells what waits.
//
// The runner is asked before the record. So a run that ended and is not in the
// record has no turn of its own; and one that begins after that is found when
// its end is told, at the latest.
func (l *line) look(ctx context.Context, f *feed) error {
	going, waiting := l.s.opts.Runner.Session(l.key)
	over := l.over(waiting)
	turns, err := l.s.opts.Sessions.Turns(ctx, l.key, l.last+1, 0, session.Heads)
	if errors.Is(err, session.ErrNotFound) {
		l.last, turns, err = 0, nil, nil
	}
	if err != nil {
		return err
	}
	if err := l.check(ctx, going, turns); err != nil {
		return err
	}
	for _, t := range turns {
		live, _ := l.s.opts.Runner.Run(t.Run)
		if live == nil && t.Status == agent.Running {
			break // it is going in another process, which tells nobody here
		}
		l.last = t.Number
		if t.Run != "" { // else it was told by a client and nobody ran it
			l.take(followed{id: t.Run, live: live})
		}
	}
	if going != nil {
		l.take(followed{id: going.ID, live: going})
	}
	for _, r := range over {
		if !l.seen[r.ID] {
			l.seen[r.ID] = true
			delete(l.waiting, r.ID)
			tellUnbegun(ctx, f, r)
		}
	}
	for _, r := range waiting {
		if l.waiting[r.ID] == nil && !l.seen[r.ID] {
			l.waiting[r.ID] = r
			told := liveRun(r)
			f.note(item{name: "run_queued", data: &told})
		}
	}
	return nil
}

// over lists the runs that were told to wait and have ended. One that waits no
// more and has not ended is about to be taken in by the going run, or to wait
// again.
func (l *line) over(waiting []*run.Run) []*run.Run {
	var list []*run.Run
	for _, r := range l.waiting {
		if !slices.Contains(waiting, r) && r.State() == run.Ended {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *run.Run) int { return a.Times().Queued.Compare(b.Times().Queued) })
	return list
}

// check makes sure that what is found is for the caller: a session that was
// nobody's when they began to follow it can become somebody else's.
func (l *line) check(ctx context.Context, going *run.Run, turns []session.Turn) error {
	if l.mine || going == nil && len(turns) == 0 {
		return nil
	}
	p, err := l.s.lookUp(ctx, l.key)
	if errors.Is(err, session.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if !l.c.sees(p.Caller) {
		return fmt.Errorf("session %s is another person's", l.key)
	}
	l.mine = true
	return nil
}

// tellUnbegun tells the events of a run that ended without a turn of its own: it
// was withdrawn, or another one took it in. They have no ids, since they come
// between those of another run, behind which a viewer must be able to go on.
func tellUnbegun(ctx context.Context, f *feed, r *run.Run) {
	for e := range r.Events(ctx, 0) {
		f.note(item{event: leanEvent(e), bare: true})
	}
}

// follow tells the events of the runs that are taken, until ctx ends.
func (l *line) follow(ctx context.Context, f *feed) error {
	for {
		l.mu.Lock()
		waiting := l.next
		l.next = nil
		l.mu.Unlock()
		for _, r := range waiting {
			if err := l.tell(ctx, f, r); err != nil || ctx.Err() != nil {
				return err
			}
		}
		select {
		case <-l.more:
		case <-ctx.Done():
			return nil
		}
	}
}

func (l *line) tell(ctx context.Context, f *feed, r followed) error {
	var kept session.Run
	var told Run
	if r.live != nil {
		told = liveRun(r.live)
	} else {
		runs, _, err := l.s.opts.Sessions.Runs(ctx, session.RunFilter{Run: r.id, Depth: session.Told, Limit: 1})
		if err != nil || len(runs) == 0 { // none: the session was deleted
			return err
		}
		kept, told = runs[0], storedRun(runs[0])
	}
	v, err := l.s.sightOf(ctx, l.c, told.Agent, told.Caller)
	if err != nil {
		return err
	}
	told.Error = v.failure(told.Error)
	source := keptSource(kept, r.id+":", r.at, v)
	if r.live != nil {
		source = liveSource(r.live, r.id+":", r.at, v)
	}
	if r.at.seq == 0 || r.at.kept != (r.live == nil) { // it is told from its beginning
		f.put(ctx, item{name: "run_opened", data: &told})
	}
	for it := range source(ctx) {
		if !f.put(ctx, it) {
			return nil
		}
	}
	return nil
}
