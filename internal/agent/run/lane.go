package run

import (
	"context"
	"slices"
	"sync"

	"github.com/goclaw/goclaw/internal/agent/session"
)

// lane is a busy session: the run that is going and those that wait. It is
// guarded by Runner.mu and exists only while a run is going.
type lane struct {
	key    session.Key
	active *Run
	// joining wait to be taken in by the active run, taken have been and are
	// not in the history yet.
	joining, taken []*Run
	waiting        []*Run // in the order in which they are handled
	// moved is closed when the active run has given its place to the next one,
	// or the session back.
	moved chan struct{}
	// release gives the session back to other processes; nil before it is
	// held. It is held as long as the lane exists, so that nobody comes between
	// messages that were accepted.
	release func()
	// state is held while the session's state is written. It guards meanwhile,
	// which is nil when the active run knows all. It is taken before Runner.mu.
	state     sync.Mutex
	meanwhile *meanwhile
	left      *affecting // the right to store meanwhile when the lane has ended; nil when all is stored
	// contended says that another process held the session: until the lane got
	// it, what the lane has in the inbox could be run there.
	contended bool
	vouched   bool // it is asked whether the caller of the active run may still be acted for
}

// open makes the lane of a session, with its first run, and drives it. The
// caller holds r.mu.
func (r *Runner) open(key session.Key, first *Run, more ...*Run) {
	l := &lane{key: key, active: first, waiting: more, moved: make(chan struct{})}
	r.lanes[key] = l
	r.wg.Add(1)
	r.watchers.tell(key)
	if l.vouched = r.serving && r.opts.Vouch != nil; l.vouched {
		r.vouching.begin(r)
	}
	go r.drive(l, first)
}

// place puts a run among those that wait and returns how: Steer only when the
// active run may take it in. The caller holds Runner.mu.
func (l *lane) place(run *Run, busy Busy) Busy {
	r := run.runner
	r.stampQueued(run)
	r.runs[run.ID] = run
	run.row = newRow()
	if busy == Steer && !(l.active.listens() && run.request.joins(l.active)) {
		busy = Queue
	}
	run.urgent = busy == Interrupt
	if busy == Steer {
		l.joining = append(l.joining, run)
	} else {
		l.enqueue(run)
	}
	switch busy {
	case Steer:
		run.notice("queued", "the session's run takes it in before its next model call", l.active.ID)
	case Interrupt:
		run.notice("queued", "waiting for the session's current run to stop", "")
	default:
		run.notice("queued", "waiting for the session's current run to end", "")
	}
	return busy
}

// enqueue puts a run behind those that came before it; what is urgent goes
// before what is not.
func (l *lane) enqueue(run *Run) {
	i := len(l.waiting)
	for i > 0 && run.before(l.waiting[i-1]) {
		i--
	}
	l.waiting = slices.Insert(l.waiting, i, run)
}

func (run *Run) before(other *Run) bool {
	if run.urgent != other.urgent {
		return run.urgent
	}
	return run.queued.Before(other.queued)
}

// all are those that wait.
func (l *lane) all() []*Run { return slices.Concat(l.joining, l.waiting) }

// load is how many runs of a person the lane has. One whose end was told doesn't
// count any more: whoever heard of it may begin the next.
func (l *lane) load(person string) int {
	n := 0
	count := func(runs ...*Run) {
		for _, run := range runs {
			if _, _, ended := run.End(); !ended && run.request.Caller.ID == person {
				n++
			}
		}
	}
	count(l.active)
	count(l.joining...)
	count(l.taken...)
	count(l.waiting...)
	return n
}

// remove takes a run out of those that wait and reports whether it was there.
func (l *lane) remove(run *Run) bool {
	for _, list := range []*[]*Run{&l.joining, &l.waiting} {
		if i := slices.Index(*list, run); i >= 0 {
			*list = slices.Delete(*list, i, i+1)
			return true
		}
	}
	return false
}

// Settle waits for the run of a session that has told its end, until the session
// is given back, which is a moment later. It returns at once when the run goes
// on or others wait behind it.
func (r *Runner) Settle(ctx context.Context, key session.Key) {
	r.mu.Lock()
	l := r.lanes[key]
	if l == nil || len(l.waiting)+len(l.joining) > 0 {
		r.mu.Unlock()
		return
	}
	run, moved := l.active, l.moved
	r.mu.Unlock()
	if _, _, over := run.End(); !over {
		return
	}
	select {
	case <-moved:
	case <-ctx.Done():
	}
}

// drive runs a lane until nothing waits in it.
func (r *Runner) drive(l *lane, run *Run) {
	defer r.wg.Done()
	if l.vouched {
		defer r.vouching.end()
	}
	last := run
	for ; run != nil; run = r.next(l) {
		r.execute(l, run)
		r.keepState(l, run)
		last = run
	}
	r.leaveState(l, last)
}

// next takes the lane's next run, or ends the lane.
func (r *Runner) next(l *lane) *Run {
	l.state.Lock()
	defer l.state.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.watchers.tell(l.key)
	defer close(l.moved)
	// What came too late to join the run, and what it took in without being
	// able to store it, is handled next.
	for _, run := range l.taken {
		run.notice("queued", "the session's run could not keep it; it is handled by itself", "")
	}
	for _, run := range slices.Concat(l.taken, l.joining) {
		run.urgent = true
		l.enqueue(run)
	}
	l.taken, l.joining = nil, nil
	if len(l.waiting) > 0 {
		l.active, l.waiting[0] = l.waiting[0], nil
		l.waiting = l.waiting[1:]
		l.moved = make(chan struct{})
		return l.active
	}
	// It is given back before another lane of the session can want it, which
	// would take it for held by another process.
	if l.release != nil {
		l.release()
	}
	delete(r.lanes, l.key)
	l.left = r.leaves(l)
	return nil
}
