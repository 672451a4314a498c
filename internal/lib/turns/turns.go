// Package turns bounds how many do something at the same time, fairly among the
// people for whom it is done, and among what each of them does, such as sessions.
// Whoever has to wait does so on its own goroutine.
//
// [Turns] starts nothing and has nothing to close.
package turns

import (
	"cmp"
	"container/heap"
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
	parts   map[string]*strand // those that have a turn or wait for one
	waiting queue              // of parts with waiters
	front   list.List          // of *waiter, of all parts, those that came first first
}

// strand is one part of what a person does.
type strand struct {
	taken   int
	waiting list.List // of *waiter, those that came first first
	place   int       // in the queue of its person
}

type waiter struct {
	of        *strand
	at        uint64        // which of all that had to wait
	given     chan struct{} // closed when it has its turn
	mine, all *list.Element // where it stands in its part and with its person
}

// queue is a heap of parts, the one whose turn it is first.
type queue []*strand

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].taken, q[j].taken), cmp.Compare(q[i].first().at, q[j].first().at)) < 0
}

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

func (q *queue) Push(x any) {
	p := x.(*strand)
	p.place = len(*q)
	*q = append(*q, p)
}

func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	(*q)[len(*q)-1] = nil
	*q = (*q)[:len(*q)-1]
	return last
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
		p = &person{parts: map[string]*strand{}}
		t.people[who] = p
	}
	of := p.parts[part]
	if of == nil {
		of = &strand{}
		p.parts[part] = of
	}
	done = sync.OnceFunc(func() { t.give(who, part, p, of) })
	if t.taken < t.all && p.taken < t.each {
		t.begin(p, of)
		t.mu.Unlock()
		return done, nil
	}
	t.came++
	w := &waiter{of: of, at: t.came, given: make(chan struct{})}
	p.wait(w)
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
	p.leave(w)
	t.tidy(who, part, p, of)
	return nil, context.Cause(ctx)
}

func (t *Turns) begin(p *person, of *strand) {
	t.taken++
	p.taken++
	of.taken++
	p.moved(of)
}

// give passes a turn on to who comes next.
func (t *Turns) give(who, part string, p *person, of *strand) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken--
	p.taken--
	of.taken--
	p.moved(of)
	t.tidy(who, part, p, of)
	var next *person
	for _, q := range t.people {
		if q.taken < t.each && q.front.Len() > 0 &&
			(next == nil || cmp.Or(cmp.Compare(q.taken, next.taken), cmp.Compare(q.first().at, next.first().at)) < 0) {
			next = q
		}
	}
	if next != nil {
		w := next.waiting[0].first()
		next.leave(w)
		t.begin(next, w.of)
		close(w.given)
	}
}

// wait puts w behind all that wait for a person.
func (p *person) wait(w *waiter) {
	w.all, w.mine = p.front.PushBack(w), w.of.waiting.PushBack(w)
	if w.of.waiting.Len() == 1 {
		heap.Push(&p.waiting, w.of)
	}
}

// leave takes w out of those that wait.
func (p *person) leave(w *waiter) {
	p.front.Remove(w.all)
	if w.of.waiting.Remove(w.mine); w.of.waiting.Len() > 0 {
		heap.Fix(&p.waiting, w.of.place)
	} else {
		heap.Remove(&p.waiting, w.of.place)
	}
}

// moved puts a part in its place after it has more or fewer turns.
func (p *person) moved(of *strand) {
	if of.waiting.Len() > 0 {
		heap.Fix(&p.waiting, of.place)
	}
}

// first is who of them has waited longest.
func (p *person) first() *waiter { return p.front.Front().Value.(*waiter) }

func (p *strand) first() *waiter { return p.waiting.Front().Value.(*waiter) }

// tidy forgets a part, and a person, who has nothing and waits for nothing.
func (t *Turns) tidy(who, part string, p *person, of *strand) {
	if of.taken == 0 && of.waiting.Len() == 0 {
		delete(p.parts, part)
	}
	if len(p.parts) == 0 {
		delete(t.people, who)
	}
}
