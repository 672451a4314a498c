// Package pool bounds how much work runs at once. One [Pool] is shared by the
// whole process: a fixed number of workers, a queue before them, and fair
// shares for the people that compete for them, and for the sessions of each.
//
// A worker is a goroutine that is started when there is work and ends when
// there is none, so an idle pool costs nothing. Beside the workers there are as
// many spare ones: who holds none gets one of these while others hold all workers,
// so that nobody waits for the end of other people's long calls. When the queue
// is full whoever hands in work waits; nothing is dropped and nothing beyond is
// spawned. Two kinds of work stand outside: work that itself waits for other
// work takes no worker ([Pool.Aside]), so that no depth of nesting can
// deadlock, and code that does not come back when it is told to is left behind
// ([Pool.Fence]) and its worker goes on; how much may be left behind is bounded.
// What of the work aside asks others, as deciding about a call does, has a bound
// of its own ([Pool.Decide]).
//
// A pool has no goroutine of its own and lives until [Pool.Close], which waits
// for everything that runs. It knows nothing of tools.
//
// Start reading at [Pool.Submit].
package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/goclaw/goclaw/internal/lib/contain"
	"github.com/goclaw/goclaw/internal/lib/turns"
)

// Deciding is how many calls are decided about at once, and DecidingEach how many
// of one person.
const Deciding, DecidingEach = 64, 16

// ErrClosed is returned for work that is handed in after Close.
var ErrClosed = errors.New("pool: closed")

// Options size a pool. Zero fields take their default.
type Options struct {
	Workers int // tasks that run at once, and as many more of people who have none running; 8
	Queue   int // tasks that wait before whoever hands in another one waits too; 64
	// Abandoned is how many calls may be left behind the pool's fence at any
	// time, a quarter of them by one owner; 4 for each worker.
	Abandoned int
	Log       *slog.Logger // the default logger
}

// Pool runs tasks on a bounded number of workers. It is safe for concurrent
// use.
type Pool struct {
	workers, queue int
	fence          *contain.Fence
	deciding       *turns.Turns
	log            *slog.Logger

	mu     sync.Mutex
	people map[string]*person // those who have tasks, waiting or running
	// ready are the people with waiting tasks, those that waited longest for
	// their turn first. It is empty unless all workers are busy.
	ready   []*person
	blocked []*Task // tasks without a place in the queue, oldest first

	busy, queued, aside int // busy are workers and spare ones

	closed bool
	ended  chan struct{} // closed when the pool is closed and nothing runs
}

// New makes a pool.
func New(o Options) *Pool {
	p := &Pool{workers: o.Workers, queue: o.Queue, log: o.Log}
	if p.workers <= 0 {
		p.workers = 8
	}
	if p.queue <= 0 {
		p.queue = 64
	}
	if o.Abandoned <= 0 {
		o.Abandoned = 4 * p.workers
	}
	p.fence = contain.NewFence(o.Abandoned)
	p.deciding = turns.New(Deciding, DecidingEach)
	if p.log == nil {
		p.log = slog.Default()
	}
	p.people, p.ended = map[string]*person{}, make(chan struct{})
	return p
}

// Share names whose share of the pool a task takes.
type Share struct{ Person, Session string }

// person holds the sessions of one person.
type person struct {
	id    string
	lanes map[string]*lane // of the sessions that have tasks, waiting or running
	ready []*lane          // those with waiting tasks, in the order of Pool.ready
	holding
}

// lane holds the tasks of one session.
type lane struct {
	person  *person
	session string
	tasks   []*Task // waiting, oldest first
	holding
}

// holding is how much of the pool somebody holds.
type holding struct {
	busy    int // workers
	waiting int // tasks
}

func (h *holding) workers() int { return h.busy }
func (h *holding) held() int    { return h.busy + h.waiting }

// Task is work that was handed to a pool.
type Task struct {
	pool  *Pool
	lane  *lane
	run   func()
	taken bool          // it runs, ran or was cancelled
	place chan struct{} // closed when it has a place in the queue or a worker; nil when it had one at once
}

// Submit hands in run, which takes a worker as soon as it is the turn of whom
// the share names. It never waits itself: when the queue is full the task has
// no place yet, and whoever hands in more before [Task.Place] is closed breaks
// the bound.
//
// A free worker takes the next task from the person who holds the fewest
// workers, and of theirs from the session that holds the fewest; among equals
// from the one that waited longest. So nobody keeps more than their share while
// others wait. Tasks of one session start in the order in which they were
// handed in.
func (p *Pool) Submit(of Share, run func()) (*Task, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	l := p.lane(of)
	t := &Task{pool: p, lane: l, run: run}
	if p.mayRun(l.person) {
		p.begin(t)
		go p.work(t)
		return t, nil
	}
	if p.queued < p.queue {
		p.queued++
	} else {
		t.place = make(chan struct{})
		p.blocked = append(p.blocked, t)
	}
	p.wait(t)
	return t, nil
}

// lane finds or makes the lane of a share.
func (p *Pool) lane(of Share) *lane {
	who := p.people[of.Person]
	if who == nil {
		who = &person{id: of.Person, lanes: map[string]*lane{}}
		p.people[of.Person] = who
	}
	l := who.lanes[of.Session]
	if l == nil {
		l = &lane{person: who, session: of.Session}
		who.lanes[of.Session] = l
	}
	return l
}

// mayRun reports whether there is a worker for a task of who, or a spare one.
func (p *Pool) mayRun(who *person) bool {
	return p.busy < p.workers || who.busy == 0 && p.busy < 2*p.workers
}

// begin gives t a worker.
func (p *Pool) begin(t *Task) {
	t.taken = true
	p.busy++
	t.lane.busy++
	t.lane.person.busy++
}

// wait puts t behind its session's other tasks.
func (p *Pool) wait(t *Task) {
	l, who := t.lane, t.lane.person
	if len(who.ready) == 0 {
		p.ready = append(p.ready, who)
	}
	if len(l.tasks) == 0 {
		who.ready = append(who.ready, l)
	}
	l.tasks = append(l.tasks, t)
	l.waiting++
	who.waiting++
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
	p.unwait(t)
	t.taken = true
	p.giveUpPlace(t)
	p.tidy(l)
	return true
}

// unwait takes t out of those that wait.
func (p *Pool) unwait(t *Task) {
	l, who := t.lane, t.lane.person
	l.tasks = without(l.tasks, t)
	l.waiting--
	who.waiting--
	if len(l.tasks) == 0 {
		who.ready = without(who.ready, l)
	}
	if len(who.ready) == 0 {
		p.ready = without(p.ready, who)
	}
}

// without removes e from list, if it is there.
func without[T comparable](list []T, e T) []T {
	if i := slices.Index(list, e); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
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
	p.busy--
	done.lane.busy--
	done.lane.person.busy--
	p.tidy(done.lane)
	if len(p.ready) > 0 {
		if who := fairest(p.ready); p.mayRun(who) {
			return p.take(who)
		}
	}
	p.settle()
	return nil
}

// take gives the next task of who a worker. Who has more, and the session which
// has, get behind the others.
func (p *Pool) take(who *person) *Task {
	l := fairest(who.ready)
	t := l.tasks[0]
	p.unwait(t)
	if len(l.tasks) > 0 {
		who.ready = append(without(who.ready, l), l)
	}
	if len(who.ready) > 0 {
		p.ready = append(without(p.ready, who), who)
	}
	p.begin(t)
	p.giveUpPlace(t)
	return t
}

// fairest is whose turn it is.
func fairest[T interface{ workers() int }](ready []T) T {
	best := ready[0]
	for _, s := range ready {
		if s.workers() < best.workers() {
			best = s
		}
		if best.workers() == 0 {
			break
		}
	}
	return best
}

// giveUpPlace passes the place of t, which waits no more, on to whoever holds
// the least of the pool.
func (p *Pool) giveUpPlace(t *Task) {
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
		if a := p.blocked[least]; cmp.Or(cmp.Compare(b.lane.person.held(), a.lane.person.held()), cmp.Compare(b.lane.held(), a.lane.held())) < 0 {
			least = i
		}
	}
	close(p.blocked[least].place)
	p.blocked = slices.Delete(p.blocked, least, least+1)
}

// tidy forgets a lane that nobody uses, and its person with the last one.
func (p *Pool) tidy(l *lane) {
	if l.held() > 0 {
		return
	}
	delete(l.person.lanes, l.session)
	if len(l.person.lanes) == 0 {
		delete(p.people, l.person.id)
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

// Decide waits until rules and handlers may be asked about a call in a session of a
// person: of [Deciding] that are asked about at once, nobody's are more than
// [DecidingEach]. done is to be called when they have answered. The only error is
// why ctx ended.
func (p *Pool) Decide(ctx context.Context, who, session string) (done func(), err error) {
	return p.deciding.Take(ctx, who, session)
}

// Fence is what tasks leave calls behind that don't come back.
func (p *Pool) Fence() *contain.Fence { return p.fence }

// Workers is how many tasks run at once without the spare workers, which are as
// many.
func (p *Pool) Workers() int { return p.workers }

// Stats is how busy a pool is.
type Stats struct {
	Busy      int `json:"busy"`      // workers that run a task, at most all
	Spare     int `json:"spare"`     // spare workers that do, at most as many
	Queued    int `json:"queued"`    // tasks with a place in the queue
	Blocked   int `json:"blocked"`   // tasks that wait for a place
	Aside     int `json:"aside"`     // tasks that take no worker
	Abandoned int `json:"abandoned"` // calls that were left behind and still run
}

// Stats tells how busy the pool is now.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{Busy: min(p.busy, p.workers), Spare: max(p.busy-p.workers, 0), Queued: p.queued, Blocked: len(p.blocked), Aside: p.aside, Abandoned: p.fence.Left()}
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
		if p.fence.Wait(ctx) == nil { // nobody is left who could leave more behind
			return nil
		}
	case <-ctx.Done():
	}
	s := p.Stats()
	return fmt.Errorf("pool: close: %w with %d tasks running, %d waiting and %d left behind",
		context.Cause(ctx), s.Busy+s.Spare+s.Aside, s.Queued+s.Blocked, s.Abandoned)
}

// settle tells Close when nothing runs any more. Nothing waits either then,
// since tasks wait only while all workers are busy.
func (p *Pool) settle() {
	if p.closed && p.busy+p.aside == 0 {
		select {
		case <-p.ended:
		default:
			close(p.ended)
		}
	}
}
