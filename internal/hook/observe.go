package hook

import (
	"context"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/tool"
)

// What an observer is still to be told is bounded, by number and by about how
// many bytes it holds; beyond that it misses some.
const (
	maxUntold = 4096
	maxBytes  = 32 << 20
)

// line is what an observer is still to be told, in order. One after the other
// is told on a goroutine that lives as long as there is something.
type line struct {
	mu     sync.Mutex
	jobs   []job
	bytes  int
	busy   bool
	missed int
}

type job struct {
	tell  func(context.Context) error
	bytes int
}

// put adds a job and reports whether somebody has to begin to serve the line.
// ok is false when the observer misses it.
func (l *line) put(j job) (begin, ok bool, missed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.jobs) >= maxUntold || len(l.jobs) > 0 && l.bytes+j.bytes > maxBytes {
		l.missed++
		return false, false, l.missed
	}
	l.jobs = append(l.jobs, j)
	l.bytes += j.bytes
	begin = !l.busy
	l.busy = true
	return begin, true, l.missed
}

// next takes the oldest job. Without one the line is no longer served.
func (l *line) next() (job, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.jobs) == 0 {
		l.jobs, l.busy = nil, false
		return job{}, false
	}
	j := l.jobs[0]
	l.jobs[0] = job{}
	l.jobs = l.jobs[1:]
	l.bytes -= j.bytes
	return j, true
}

// drop forgets all jobs, whoever serves the line goes on with none, and says how
// many they were.
func (l *line) drop() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.jobs)
	l.jobs, l.bytes = nil, 0
	return n
}

// tell tells the observers of a point. It waits for none of them. event makes a
// copy for each, of about so many bytes.
func tell[E any](b *Bus, point string, bytes int, event func() E) {
	for _, h := range b.at(point) {
		switch f := h.call.(type) {
		case func(context.Context, E) error:
			e := event()
			b.queue(h, job{func(ctx context.Context) error { return f(ctx, e) }, bytes})
		case func(context.Context, Event) error:
			e := Event{Name: h.event, Time: time.Now(), Data: event()}
			b.queue(h, job{func(ctx context.Context) error { return f(ctx, e) }, bytes})
		}
	}
}

// queue hands a job to an observer.
func (b *Bus) queue(h *handler, j job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	begin, ok, missed := h.line.put(j)
	if !ok && missed&(missed-1) == 0 { // at 1, 2, 4, … so that the log isn't flooded
		b.log.Warn("an observer is too slow and misses events", "hook", h.point, "handler", h.label(), "missed", missed)
	}
	if begin {
		b.lines++
		go b.serve(h)
	}
}

// serve tells an observer what it is to be told, until the bus has no more time
// for that.
func (b *Bus) serve(h *handler) {
	untold := 0
	for {
		if b.base.Err() != nil {
			untold += h.line.drop()
		}
		j, ok := h.line.next()
		if !ok {
			break
		}
		_, _, err := ask(b.base, b, h, func(ctx context.Context) (struct{}, error) { return struct{}{}, j.tell(ctx) })
		switch {
		case err == nil:
		case b.base.Err() != nil:
			untold++ // it was cut short
		default:
			b.log.Warn("an observer failed", "hook", h.point, "handler", h.label(), "err", err)
		}
	}
	if untold > 0 {
		b.log.Warn("an observer was not told everything before the end", "hook", h.point, "handler", h.label(), "untold", untold)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.untold += untold
	b.lines--
	if b.closed && b.lines == 0 {
		close(b.idle)
	}
}

// Observes reports whether anybody is told how calls ended.
func (b *Bus) Observes() bool { return len(b.at(afterToolCall)) > 0 }

// After tells the observers that a call has ended.
func (b *Bus) After(c *Call, o *tool.Outcome) {
	tell(b, afterToolCall, len(c.Args)+len(o.Details)+size(o.Content), func() *Ended { return own(&Ended{c, o}) })
}

// ModelInput tells of a request to a model.
func (b *Bus) ModelInput(in *ModelInput) {
	if len(b.at(llmInput)) == 0 {
		return
	}
	n := 0
	for _, m := range in.Messages {
		n += size(m.Parts)
	}
	tell(b, llmInput, n, func() *ModelInput { return light(in) })
}

// ModelOutput tells of a model's answer.
func (b *Bus) ModelOutput(out *ModelOutput) {
	tell(b, llmOutput, size(out.Message.Parts), func() *ModelOutput { return light(out) })
}

// Received tells of a message that a person sent.
func (b *Bus) Received(m *Message) { b.message(messageReceived, m) }

// Sent tells of a message that a person was sent.
func (b *Bus) Sent(m *Message) { b.message(messageSent, m) }

func (b *Bus) message(point string, m *Message) {
	tell(b, point, size(m.Message.Parts), func() *Message { return light(m) })
}

// SessionStart tells of a session that begins, SessionEnd of one that ends.
func (b *Bus) SessionStart(s Session) { tell(b, sessionStart, 0, func() *Session { return own(&s) }) }

// SessionEnd tells of a session that ends.
func (b *Bus) SessionEnd(s Session) { tell(b, sessionEnd, 0, func() *Session { return own(&s) }) }

// GatewayStart tells that the gateway serves.
func (b *Bus) GatewayStart(g Gateway) { tell(b, gatewayStart, 0, func() *Gateway { return own(&g) }) }

// GatewayStop tells that it is about to stop.
func (b *Bus) GatewayStop(g Gateway) { tell(b, gatewayStop, 0, func() *Gateway { return own(&g) }) }
