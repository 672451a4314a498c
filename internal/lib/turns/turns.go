// Package turns bounds how many do something at the same time, fairly among the
// people for whom it is done, and among what each of them does, such as sessions. Whoever has to wait does so on its own goroutine.
//
// [Turns] starts nothing and has nothing to close.
package turns

import (
	"cmp"
	"container/list"
	"context"
	"sync"
)

// Turns is a number of turns that are taken and given back. It is safe for
// concurrent use.
type Turns struct {
	all, each int

	mu     sync.Mutex
	taken  int
	people map[string]*person // those who have a turn or wait for one
	came   uint64             // of those who had to wait
}

type person struct {
	taken   int
	parts   map[string]int // how many each part has taken, if any
	waiting list.List      // of *waiter, those that came first first
}

type waiter struct {
	part  string
	at    uint64        // which of all that had to wait
	given chan struct{} // closed when it has its turn
}

// New makes all turns, of which one person has at most each.
func New(all, each int) *Turns {
	return &Turns{all: all, each: each, people: map[string]*person{}}
}

// Take waits for a turn for a part of what a person does. A free one goes to the
// person who has the fewest, and among that person's parts to the one that has the
// fewest; among equals to the one who has waited longest. done gives it back, once.
// The only error is why ctx ended.
func (t *Turns) Take(ctx context.Context, who, part string) (done func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	t.mu.Lock()
	p := t.people[who]
	if p == nil {
		p = &person{parts: map[string]int{}}
		t.people[who] = p
	}
	done = sync.OnceFunc(func() { t.give(who, part, p) })
	if t.taken < t.all && p.taken < t.each {
		t.begin(p, part)
		t.mu.Unlock()
		return done, nil
	}
	t.came++
	w := &waiter{part: part, at: t.came, given: make(chan struct{})}
	place := p.waiting.PushBack(w)
	t.mu.Unlock()

	select {
	case <-w.given:
		return done, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-w.given:
		return done, nil // just then
	default:
	}
	p.waiting.Remove(place)
	t.tidy(who, p)
	return nil, context.Cause(ctx)
}

func (t *Turns) begin(p *person, part string) {
	t.taken++
	p.taken++
	p.parts[part]++
}

// give passes a turn on to who comes next.
func (t *Turns) give(who, part string, p *person) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken--
	p.taken--
	if p.parts[part]--; p.parts[part] == 0 {
		delete(p.parts, part)
	}
	t.tidy(who, p)
	var next *person
	for _, q := range t.people {
		if q.taken < t.each && q.waiting.Len() > 0 &&
			(next == nil || cmp.Or(cmp.Compare(q.taken, next.taken), cmp.Compare(q.first().at, next.first().at)) < 0) {
			next = q
		}
	}
	if next != nil {
		place := next.next()
		w := next.waiting.Remove(place).(*waiter)
		t.begin(next, w.part)
		close(w.given)
	}
}

// next is whose turn it is among what waits for a person.
func (p *person) next() *list.Element {
	best := p.waiting.Front()
	for at := best; at != nil; at = at.Next() {
		if p.parts[at.Value.(*waiter).part] < p.parts[best.Value.(*waiter).part] {
			best = at
		}
	}
	return best
}

// first is who of them has waited longest.
func (p *person) first() *waiter { return p.waiting.Front().Value.(*waiter) }

// tidy forgets a person who has nothing and waits for nothing.
func (t *Turns) tidy(who string, p *person) {
	if p.taken == 0 && p.waiting.Len() == 0 {
		delete(t.people, who)
	}
}
