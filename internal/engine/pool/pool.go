// Package pool bounds how much work runs at once. One [Pool] is shared by the
// whole process: a fixed number of workers, a queue before them, and fair
// shares for the sessions that compete for them.
//
// A worker is a goroutine that is started when there is work and ends when
// there is none, so an idle pool costs nothing. When the queue is full whoever
// hands in work waits; nothing is dropped and nothing beyond the workers is
// spawned. Two kinds of work stand outside: work that itself waits for other
// work takes no worker ([Pool.Aside]), so that no depth of nesting can
// deadlock, and code that does not come back when it is told to is left behind
// ([Contain]) and its worker goes on; how much may be left behind is bounded.
//
// A pool has no goroutine of its own and lives until [Pool.Close], which waits
// for everything that runs. It knows nothing of tools.
//
// Start reading at [Pool.Submit].
package pool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
)

// ErrClosed is returned for work that is handed in after Close.
var ErrClosed = errors.New("pool: closed")

// Options size a pool. Zero fields take their default.
type Options struct {
	Workers int // tasks that run at once; 8
	Queue   int // tasks that wait before whoever hands in another one waits too; 64
	// Abandoned is how many calls of Contain may be left behind at any time;
	// 4 for each worker.
	Abandoned int
	Log       *slog.Logger // the default logger
}

// Pool runs tasks on a bounded number of workers. It is safe for concurrent
// use.
type Pool struct {
	workers, queue, limit int
	log                   *slog.Logger

	mu    sync.Mutex
	lanes map[string]*lane // of the sessions that have tasks, waiting or running
	// ready are the lanes with waiting tasks, those that waited longest for
	// their turn first. It is empty unless all workers are busy.
	ready   []*lane
	blocked []*Task // tasks without a place in the queue, oldest first

	busy, queued, aside, abandoned int

	closed bool
	ended  chan struct{} // closed when the pool is closed and nothing runs
}

// New makes a pool.
func New(o Options) *Pool {
	p := &Pool{workers: o.Workers, queue: o.Queue, limit: o.Abandoned, log: o.Log}
	if p.workers <= 0 {
		p.workers = 8
	}
	if p.queue <= 0 {
		p.queue = 64
	}
	if p.limit <= 0 {
		p.limit = 4 * p.workers
	}
	if p.log == nil {
		p.log = slog.Default()
	}
	p.lanes, p.ended = map[string]*lane{}, make(chan struct{})
	return p
}

// lane holds the tasks of one session.
type lane struct {
	session string
	tasks   []*Task // waiting, oldest first
	busy    int     // workers that it holds
}

// held is how much of the pool the session holds.
func (l *lane) held() int { return l.busy + len(l.tasks) }

// Task is work that was handed to a pool.
type Task struct {
	pool  *Pool
	lane  *lane
	run   func()
	taken bool          // it runs, ran or was cancelled
	place chan struct{} // closed when it has a place in the queue or a worker; nil when it had one at once
}

// Submit hands in run, which takes a worker as soon as it is its session's turn.
// It never waits itself: when the queue is full the task has no place yet, and
// whoever hands in more before [Task.Place] is closed breaks the bound.
//
// A free worker takes the next task from the session that holds the fewest
// workers, and among equals from the one that waited longest, so that no
// session keeps more than its share while others wait. Tasks of one session
// start in the order in which they were handed in.
func (p *Pool) Submit(session string, run func()) (*Task, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	l := p.lanes[session]
	if l == nil {
		l = &lane{session: session}
		p.lanes[session] = l
	}
	t := &Task{pool: p, lane: l, run: run}
	switch {
	case p.busy < p.workers:
		p.busy++
		l.busy++
		t.taken = true
		go p.work(t)
		return t, nil
	case p.queued < p.queue:
		p.queued++
	default:
		t.place = make(chan struct{})
		p.blocked = append(p.blocked, t)
	}
	if len(l.tasks) == 0 {
		p.ready = append(p.ready, l)
	}
	l.tasks = append(l.tasks, t)
	return t, nil
}

// Place is closed when the task has got a place in the queue. It is nil when
// the task had one, or a worker, at once.
func (t *Task) Place() <-chan struct{} { return t.place }

// Cancel takes the task out of the queue at once. It reports whether the task
// was still there and so will never run.
func (t *Task) Cancel() bool {
	p, l := t.pool, t.lane
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.taken {
		return false
	}
	i := slices.Index(l.tasks, t)
	l.tasks = slices.Delete(l.tasks, i, i+1)
	if len(l.tasks) == 0 {
		i := slices.Index(p.ready, l)
		p.ready = slices.Delete(p.ready, i, i+1)
	}
	p.take(t)
	p.tidy(l)
	return true
}

// work is a worker: it runs t and then whatever is next, until nothing is.
func (p *Pool) work(t *Task) {
	defer func() {
		if t == nil {
			return
		}
		// Only a task that broke leaves the loop early. Its worker lives on.
		if v := recover(); v != nil {
			p.log.Error("a task of the pool panicked", "panic", v, "stack", string(debug.Stack()))
		}
		if t = p.next(t); t != nil {
			go p.work(t)
		}
	}()
	for t != nil {
		t.run()
		t = p.next(t)
	}
}

// next ends the task done and gives its worker another one; nil ends the
// worker.
func (p *Pool) next(done *Task) *Task {
	p.mu.Lock()
	defer p.mu.Unlock()
	done.lane.busy--
	p.tidy(done.lane)
	if len(p.ready) == 0 {
		p.busy--
		p.settle()
		return nil
	}
	i := p.fairest()
	l := p.ready[i]
	t := l.tasks[0]
	l.tasks[0] = nil
	l.tasks = l.tasks[1:]
	l.busy++
	p.ready = slices.Delete(p.ready, i, i+1)
	if len(l.tasks) > 0 {
		p.ready = append(p.ready, l)
	}
	p.take(t)
	return t
}

// fairest is the index of the ready lane whose turn it is.
func (p *Pool) fairest() int {
	best := 0
	for i, l := range p.ready {
		if l.busy < p.ready[best].busy {
			best = i
		}
		if p.ready[best].busy == 0 {
			break
		}
	}
	return best
}

// take ends the waiting of t and passes its place on, to the session that holds
// the least of the pool.
func (p *Pool) take(t *Task) {
	t.taken = true
	if i := slices.Index(p.blocked, t); i >= 0 {
		p.blocked = slices.Delete(p.blocked, i, i+1)
		close(t.place)
		return
	}
	if len(p.blocked) == 0 {
		p.queued--
		return
	}
	least := 0
	for i, b := range p.blocked {
		if b.lane.held() < p.blocked[least].lane.held() {
			least = i
		}
	}
	close(p.blocked[least].place)
	p.blocked = slices.Delete(p.blocked, least, least+1)
}

// tidy forgets a lane that nobody uses.
func (p *Pool) tidy(l *lane) {
	if l.busy == 0 && len(l.tasks) == 0 {
		delete(p.lanes, l.session)
	}
}

// Aside runs work that waits for other work, on a goroutine of its own that
// takes no worker. It is counted and waited for.
func (p *Pool) Aside(run func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	p.aside++
	go func() {
		defer func() {
			if v := recover(); v != nil {
				p.log.Error("a task beside the pool panicked", "panic", v, "stack", string(debug.Stack()))
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.aside--
			p.settle()
		}()
		run()
	}()
	return nil
}

// Stats is how busy a pool is.
type Stats struct {
	Busy      int `json:"busy"`      // workers that run a task
	Queued    int `json:"queued"`    // tasks with a place in the queue
	Blocked   int `json:"blocked"`   // tasks that wait for a place
	Aside     int `json:"aside"`     // tasks that take no worker
	Abandoned int `json:"abandoned"` // calls that were left behind and still run
}

// Stats tells how busy the pool is now.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{Busy: p.busy, Queued: p.queued, Blocked: len(p.blocked), Aside: p.aside, Abandoned: p.abandoned}
}

// Close refuses new work and waits until all that was handed in has ended,
// what was left behind included. When ctx ends first, the error says what
// still runs.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		p.settle()
	}
	p.mu.Unlock()
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
	}
	s := p.Stats()
	return fmt.Errorf("pool: close: %w with %d tasks running, %d waiting and %d left behind",
		context.Cause(ctx), s.Busy+s.Aside, s.Queued+s.Blocked, s.Abandoned)
}

// settle tells Close when nothing runs any more. Nothing waits either then,
// since tasks wait only while all workers are busy.
func (p *Pool) settle() {
	if p.closed && p.busy+p.aside+p.abandoned == 0 {
		select {
		case <-p.ended:
		default:
			close(p.ended)
		}
	}
}
