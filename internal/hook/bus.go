package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goclaw/goclaw/internal/lib/contain"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

const (
	// grace is how long a handler has to return when its time is up.
	grace = 100 * time.Millisecond
	// maxLeft is how many calls of a plugin's deciders may hang at once, and how
	// many of its observers; of one handler a quarter of that.
	maxLeft = 64
)

// Options are what a handler is registered with.
type Options struct {
	Name     string        // for people; the owner's id when empty
	Priority int           // higher goes first; among equals whoever was registered first
	Timeout  time.Duration // DefaultTimeout when 0
}

// Bus keeps the rules and handlers of a process and consults them. It is safe
// for concurrent use. A nil Bus has no handlers.
type Bus struct {
	log  *slog.Logger
	base context.Context // of observers
	stop context.CancelFunc
	now  atomic.Pointer[table]

	mu     sync.Mutex
	fences map[fencing]*contain.Fence // also of sources that were withdrawn
	next   int                        // number of the next handler
	lines  int                        // that tell an observer something now
	untold int                        // events that were dropped at the end
	closed bool                       // observers are told nothing more
	idle   chan struct{}              // closed when closed is set and lines is 0
}

// fencing says whose calls are counted together while they hang: those of one
// source, who observe apart from who decide. So whoever hangs takes nobody else
// along.
type fencing struct {
	source   string
	observes bool
}

// table holds the handlers by point, each list in the order in which they are
// asked. It is immutable.
type table map[string][]*handler

// handler is one that was registered.
type handler struct {
	point    string
	name     string
	source   string
	where    source.Pos
	owner    tool.Owner
	rule     bool // of the configuration
	guards   bool
	priority int
	timeout  time.Duration
	number   int
	event    string // its name in the event registry; empty for typed handlers and rules
	call     any    // of the type that its point takes, or func(context.Context, Event) error
	fence    *contain.Fence
	broken   error // why it fails whenever it is asked, without being called; for admins
	counts   counts
	line     line
}

// New makes a bus without handlers. A nil log is the default logger.
func New(log *slog.Logger) *Bus {
	if log == nil {
		log = slog.Default()
	}
	base, stop := context.WithCancel(context.Background())
	b := &Bus{log: log, base: base, stop: stop, fences: map[fencing]*contain.Fence{}, idle: make(chan struct{})}
	b.now.Store(&table{})
	return b
}

// at lists the handlers of a point.
func (b *Bus) at(point string) []*handler {
	if b == nil {
		return nil
	}
	return (*b.now.Load())[point]
}

// On registers a typed handler of owner. It fails when there is no hook of that
// name or the handler is not of its type: the error says which type that is.
func (b *Bus) On(owner tool.Owner, name string, fn any, o Options) error {
	p, err := typed(name)
	if err != nil {
		return fmt.Errorf("register a handler: %w", err)
	}
	call, ok := p.takes(fn)
	if !ok || fn == nil {
		return fmt.Errorf("register a handler: %s takes a %s, not a %T", name, p.want, fn)
	}
	b.add(b.made(p, owner, call, o))
	return nil
}

// Watch registers an observer of owner in the event registry. The name of a
// typed hook is taken, too, and onlyObserves is true then: whoever gave it may
// have meant to decide something.
func (b *Bus) Watch(owner tool.Owner, name string, fn func(context.Context, Event) error, o Options) (onlyObserves bool, err error) {
	p, only, err := event(name)
	switch {
	case err != nil:
		return false, fmt.Errorf("register an observer: %w", err)
	case fn == nil:
		return false, fmt.Errorf("register an observer: %s has no handler", name)
	}
	h := b.made(p, owner, fn, o)
	h.event = name
	if only {
		b.log.Warn("a handler of a typed hook was registered as an observer and only observes", "hook", name, "owner", owner.String())
	}
	b.add(h)
	return only, nil
}

func (b *Bus) made(p point, owner tool.Owner, call any, o Options) *handler {
	return &handler{
		point: p.name, name: cmp.Or(o.Name, owner.ID, owner.Kind.String()), source: owner.String(), owner: owner,
		priority: o.Priority, timeout: o.Timeout, call: call, guards: p.name == beforeToolCall,
	}
}

func (b *Bus) add(h *handler) {
	b.change(func(all []*handler) []*handler { return append(all, h) })
}

// SetRules replaces the rules of the configuration. Calls that are being
// decided go on with the former ones.
func (b *Bus) SetRules(before []Before, after []After) {
	rules := make([]*handler, 0, len(before)+len(after))
	for _, r := range before {
		rules = append(rules, &handler{
			point: beforeToolCall, name: r.Name, source: r.Source, where: r.Where, rule: true, guards: r.Guards,
			priority: r.Priority, timeout: r.Timeout, call: r.Decide,
		})
	}
	for _, r := range after {
		call, _ := takesAfter(r.Observe)
		rules = append(rules, &handler{
			point: afterToolCall, name: r.Name, source: r.Source, where: r.Where, rule: true,
			priority: r.Priority, timeout: r.Timeout, call: call,
		})
	}
	b.change(func(all []*handler) []*handler {
		return append(slices.DeleteFunc(all, func(h *handler) bool { return h.rule }), rules...)
	})
}

// Withdraw removes the handlers of an owner. Those that run are not waited for,
// and what its observers are still to be told they never are.
func (b *Bus) Withdraw(kind tool.OwnerKind, id string) {
	b.change(func(all []*handler) []*handler {
		return slices.DeleteFunc(all, func(h *handler) bool {
			leaves := !h.rule && h.owner.Kind == kind && h.owner.ID == id
			if leaves {
				h.line.drop()
			}
			return leaves
		})
	})
}

// Fail has those handlers of an owner fail, from now on, that have to let something
// through, and withdraws its others. It says how many those are. Why is for
// admins: what is blocked is told nothing of it.
func (b *Bus) Fail(kind tool.OwnerKind, id string, why error) (left int) {
	b.change(func(all []*handler) []*handler {
		var next []*handler
		for _, h := range all {
			switch {
			case h.rule || h.owner.Kind != kind || h.owner.ID != id:
				next = append(next, h)
			case h.lets():
				left++
				// In its place, so that there is no moment without it.
				next = append(next, &handler{
					point: h.point, name: h.name, source: h.source, where: h.where, owner: h.owner, guards: h.guards, priority: h.priority,
					timeout: h.timeout, number: h.number, event: h.event, call: h.call, fence: h.fence, broken: why,
				})
			default:
				h.line.drop()
			}
		}
		return next
	})
	return left
}

// lets reports whether the handler has to let something through.
func (h *handler) lets() bool {
	switch h.call.(type) {
	case decides, prompts, installs:
		return true
	}
	return false
}

// change makes the next table of all handlers.
func (b *Bus) change(edit func(all []*handler) []*handler) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*handler
	for _, list := range *b.now.Load() {
		all = append(all, list...)
	}
	next := table{}
	for _, h := range edit(all) {
		if h.number == 0 {
			b.next++
			h.number = b.next
			h.fence = b.fenceOf(fencing{h.source, h.observes()})
			if h.timeout <= 0 {
				h.timeout = DefaultTimeout
			}
		}
		next[h.point] = append(next[h.point], h)
	}
	for _, list := range next {
		slices.SortFunc(list, ordered)
	}
	b.now.Store(&next)
}

// fenceOf finds or makes a fence. The caller holds the lock.
func (b *Bus) fenceOf(f fencing) *contain.Fence {
	if b.fences[f] == nil {
		b.fences[f] = contain.NewFence(maxLeft)
	}
	return b.fences[f]
}

// ordered puts the higher priority first. Among equals rules come last: they
// see what handlers made of a call.
func ordered(x, y *handler) int {
	rank := func(h *handler) int {
		if h.rule {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(y.priority, x.priority), cmp.Compare(rank(x), rank(y)), cmp.Compare(x.number, y.number))
}

// Close ends the telling: what observers are still to be told they are told
// until ctx ends, the rest is dropped, and the error says how much that was. It
// waits until ctx ends for handlers that were left behind, too. Who decides or
// changes is asked further on. It may be called again.
func (b *Bus) Close(ctx context.Context) error {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		if b.lines == 0 {
			close(b.idle)
		}
	}
	b.mu.Unlock()
	var err error
	select {
	case <-b.idle:
	case <-ctx.Done():
		b.stop()
		<-b.idle // soon, since nobody waits longer than grace for a handler now
		b.mu.Lock()
		err = fmt.Errorf("hooks: close: %w with %d events untold", context.Cause(ctx), b.untold)
		b.mu.Unlock()
	}
	b.stop()
	b.mu.Lock()
	fences := slices.Collect(maps.Values(b.fences))
	b.mu.Unlock()
	left := 0
	for _, f := range fences {
		if f.Wait(ctx) != nil {
			left += f.Left()
		}
	}
	if left > 0 && err == nil {
		err = fmt.Errorf("hooks: close: %w with %d handlers left behind", context.Cause(ctx), left)
	}
	return err
}

// label names a handler for people.
func (h *handler) label() string {
	switch {
	case h.source == "":
		return h.name
	case h.name == h.owner.ID:
		return h.source
	}
	return h.name + " (" + h.source + ")"
}

// What models and users read of a handler that can't be asked: the cause may hold
// what is none of their business.
var (
	errBroken   = errors.New("can't be asked, since its plugin could not be loaded (an administrator finds the reason with goclaw hooks list)")
	errPanicked = errors.New("broke (an administrator finds the reason in the log of GoClaw)")
)

// errLimit is why the context of a handler ends when its time is up.
var errLimit = errors.New("the time limit of the handler is reached")

// ask runs a handler within its limits. The error is that of the handler, or
// what became of it, in words that follow its name; when ctx ended it is ctx's.
func ask[T any](ctx context.Context, b *Bus, h *handler, f func(context.Context) (T, error)) (T, time.Duration, error) {
	type answer struct {
		value T
		err   error
	}
	var zero T
	if h.broken != nil {
		h.counts.note(h.broken)
		return zero, 0, errBroken
	}
	limited, stop := context.WithTimeoutCause(ctx, h.timeout, errLimit)
	defer stop()
	begun := time.Now()
	got, err := contain.Run(limited, h.fence, h.point+" "+h.label(), grace, func() answer {
		v, err := f(limited)
		return answer{v, err}
	})
	took := time.Since(begun)
	var panicked *contain.Panic
	switch {
	case ctx.Err() != nil:
		return zero, took, ctx.Err()
	case errors.As(err, &panicked):
		b.log.Error("a handler panicked", "hook", h.point, "handler", h.label(), "panic", panicked.Value, "stack", string(panicked.Stack))
		h.counts.note(fmt.Errorf("broke (%v)", panicked.Value))
		return zero, took, errPanicked
	case errors.Is(err, contain.ErrExhausted):
		err = errors.New("was not asked, since too many earlier calls of it hang although their time is up")
	case errors.Is(err, contain.ErrAbandoned):
		b.log.Warn("a handler did not stop when it was told to and was left behind", "hook", h.point, "handler", h.label(), "left_behind", h.fence.Left())
		err = fmt.Errorf("was not ready within its time limit of %s", h.timeout)
	case err != nil:
		b.log.Error("a handler ended without an answer", "hook", h.point, "handler", h.label(), "err", err)
		err = fmt.Errorf("broke (%w)", err)
	case context.Cause(limited) == errLimit:
		err = fmt.Errorf("was not ready within its time limit of %s", h.timeout)
	case got.err != nil:
		err = fmt.Errorf("failed: %w", got.err)
	}
	h.counts.note(err)
	return got.value, took, err
}
