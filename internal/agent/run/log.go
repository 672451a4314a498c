package run

import (
	"context"
	"iter"
	"sync"

	"github.com/goclaw/goclaw/internal/agent"
)

// eventLog keeps a run's events in memory. One goroutine appends, any number
// of viewers read, each at its own pace.
type eventLog struct {
	stamp func(*agent.Event)
	done  chan struct{} // closed after the last event

	mu     sync.Mutex
	events []agent.Event // the event with sequence number n is at n-1
	more   chan struct{} // closed when an event comes; nil while nobody waits for one
	closed bool
}

func newEventLog(stamp func(*agent.Event)) *eventLog {
	return &eventLog{stamp: stamp, done: make(chan struct{})}
}

func (l *eventLog) append(e agent.Event) {
	l.stamp(&e)
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Seq = len(l.events) + 1
	l.events = append(l.events, e)
	l.wake()
}

// wake tells those who wait. The caller holds the lock.
func (l *eventLog) wake() {
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
}

func (l *eventLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.done)
		l.wake()
	}
}

// after returns the events behind seq and whether they are the last. When there
// are none, more is closed when one comes or the log ends.
func (l *eventLog) after(seq int) (events []agent.Event, last bool, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq > len(l.events) {
		seq = len(l.events)
	}
	events = l.events[max(seq, 0):len(l.events):len(l.events)]
	if len(events) == 0 && !l.closed && l.more == nil {
		l.more = make(chan struct{})
	}
	return events, l.closed, l.more
}

// Events yields the run's events behind the sequence number after (0 for all),
// then those that come, until the run has ended or ctx ends. Chunks of text
// that wait for a slow viewer come merged into one, which carries the number
// of the last; so resuming behind any number that was seen loses and doubles
// nothing.
func (run *Run) Events(ctx context.Context, after int) iter.Seq[agent.Event] {
	return func(yield func(agent.Event) bool) {
		for {
			events, last, more := run.log.after(after)
			for i := 0; i < len(events); {
				e, n := merged(events[i:])
				if !yield(e) {
					return
				}
				i += n
				after = e.Seq
			}
			if len(events) > 0 {
				continue
			}
			if last {
				return
			}
			select {
			case <-more:
			case <-ctx.Done():
				return
			}
		}
	}
}

// merged joins the chunks at the head of events and says how many they were.
func merged(events []agent.Event) (agent.Event, int) {
	e, n := events[0], 1
	if e.Type != agent.TokenChunk && e.Type != agent.ReasoningChunk {
		return e, 1
	}
	size := len(e.Text)
	for n < len(events) && events[n].Type == e.Type {
		size += len(events[n].Text)
		n++
	}
	if n == 1 {
		return e, 1
	}
	text := make([]byte, 0, size)
	for _, c := range events[:n] {
		text = append(text, c.Text...)
	}
	e.Text, e.Seq, e.Time = string(text), events[n-1].Seq, events[n-1].Time
	return e, n
}
