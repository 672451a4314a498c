package run

import (
	"context"
	"iter"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
)

// eventLog keeps a run's events in memory. One goroutine at a time appends,
// any number of viewers read, each at its own pace.
//
// Chunks of text that follow each other are kept as one text with the places
// where each ended, so that an answer takes about its own length however many
// pieces it came in, and a viewer can go on behind any of them. Of the words
// about how far calls are only the last are kept.
type eventLog struct {
	stamp   func(agent.Event) agent.Event
	observe func(agent.Event) // is told of each event; may be nil
	done    chan struct{}     // closed after the last event

	mu       sync.Mutex
	parts    []part
	seq      int           // of the last event
	bytes    int           // about what the log holds
	progress int           // how many of parts are ToolProgress
	more     chan struct{} // closed when an event comes; nil while nobody waits for one
	closed   bool
}

func newEventLog(stamp func(agent.Event) agent.Event) *eventLog {
	return &eventLog{stamp: stamp, done: make(chan struct{})}
}

func (l *eventLog) append(e agent.Event) {
	e = l.stamp(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.seq++
	e.Seq = l.seq
	if l.observe != nil {
		l.observe(e)
	}
	if n := len(l.parts); n > 0 && l.parts[n-1].continues(&e) {
		l.parts[n-1].add(&e)
		l.bytes += len(e.Text) + endBytes
	} else {
		l.parts = append(l.parts, part{Event: e})
		l.bytes += eventBytes(&e)
	}
	if e.Type == agent.ToolProgress {
		if l.progress++; l.progress >= 2*maxProgress {
			l.thin()
		}
	}
	l.wake()
}

// maxProgress is how many words about how far calls are a viewer that comes
// late is told at least, if there were so many.
const maxProgress = 100

// thin forgets all but the last maxProgress of them. The caller holds the lock.
func (l *eventLog) thin() {
	l.parts = slices.DeleteFunc(l.parts, func(p part) bool {
		if p.Type != agent.ToolProgress || l.progress <= maxProgress {
			return false
		}
		l.progress--
		l.bytes -= eventBytes(&p.Event)
		return true
	})
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

// last is the number of the last event.
func (l *eventLog) last() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seq
}

// size is about how many bytes the log holds.
func (l *eventLog) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}

// after returns what comes behind seq, as one event if it is chunks of one
// text. When there is nothing, more is closed when something comes or the log
// ends; nil means that it has ended.
func (l *eventLog) after(seq int) (e agent.Event, ok bool, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := sort.Search(len(l.parts), func(i int) bool { return l.parts[i].Seq > seq }); i < len(l.parts) {
		return l.parts[i].behind(seq), true, nil
	}
	if !l.closed && l.more == nil {
		l.more = make(chan struct{})
	}
	return agent.Event{}, false, l.more
}

// part is one event, or chunks of one text that follow each other: then Seq
// and Time are those of the last, and Text is empty once there are two.
type part struct {
	agent.Event
	chunks *chunks // nil for one event
}

// chunks are pieces of text with their places.
type chunks struct {
	first int // the number of the first chunk
	text  strings.Builder
	ends  []uint32 // where each chunk ends in the text, in bytes
}

// continues reports whether e is the next chunk of the part.
func (p *part) continues(e *agent.Event) bool {
	if p.Type != e.Type || e.Type != agent.TokenChunk && e.Type != agent.ReasoningChunk {
		return false
	}
	return p.chunks == nil || uint64(p.chunks.text.Len())+uint64(len(e.Text)) <= maxText
}

// maxText bounds the text of a part, in bytes; ends must be able to count it.
const maxText = 1 << 31

func (p *part) add(e *agent.Event) {
	if p.chunks == nil {
		p.chunks = &chunks{first: p.Seq}
		p.chunks.add(p.Text)
		p.Text = ""
	}
	p.chunks.add(e.Text)
	p.Seq, p.Time = e.Seq, e.Time
}

func (c *chunks) add(text string) {
	c.text.WriteString(text)
	c.ends = append(c.ends, uint32(c.text.Len()))
}

// behind is the part, or the rest of it behind the chunk numbered seq. Its
// text is shared with the part: what a builder holds never changes.
func (p *part) behind(seq int) agent.Event {
	e := p.Event
	if c := p.chunks; c != nil {
		from := uint32(0)
		if seq >= c.first {
			from = c.ends[seq-c.first]
		}
		e.Text = c.text.String()[from:]
	}
	return e
}

// Events yields the run's events behind the sequence number after (0 for all),
// then those that come, until the run has ended or ctx ends. Chunks of text
// that wait for a viewer come merged into one, which carries the number of the
// last; so resuming behind any number that was seen loses and doubles nothing.
// A run that is parked ends with the notice that says so; any other one ends
// with RunFinished or RunFailed.
func (run *Run) Events(ctx context.Context, after int) iter.Seq[agent.Event] {
	return func(yield func(agent.Event) bool) {
		// A number that was never given stands for the last one.
		at := min(after, run.log.last())
		for {
			e, ok, more := run.log.after(at)
			if ok {
				at = e.Seq
				if !yield(e) {
					return
				}
				continue
			}
			if more == nil {
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

// What events take, in bytes: about the size of an event with what it points
// to, and of the place of a chunk.
const (
	fixedBytes = 256
	endBytes   = 4
)

// eventBytes is about what e takes. What it shares with the history while the
// run is going, such as a tool's outcome, counts, since it is kept after that.
func eventBytes(e *agent.Event) int {
	n := fixedBytes + len(e.Text)
	if e.Request != nil {
		for _, s := range e.Request.Sections {
			n += fixedBytes + len(s.Text)
		}
		for _, name := range e.Request.Tools {
			n += 16 + len(name)
		}
	}
	if e.Media != nil {
		n += fixedBytes + len(e.Media.Data)
	}
	if e.Approval != nil {
		n += 2*fixedBytes + len(e.Approval.Args) + len(e.Approval.Reason)
	}
	if e.Tool == nil {
		return n
	}
	n += fixedBytes + len(e.Tool.Args)
	if o := e.Tool.Outcome; o != nil {
		n += 2*fixedBytes + len(o.Args) + len(o.Details) + partsBytes(o.Content)
	}
	return n
}

func messageBytes(m llm.Message) int { return fixedBytes + partsBytes(m.Parts) }

func partsBytes(parts []llm.Part) int {
	n := 0
	for _, p := range parts {
		n += fixedBytes/2 + len(p.Text)
		if p.Media != nil {
			n += len(p.Media.Data)
		}
		if p.Result != nil {
			n += partsBytes(p.Result.Content)
		}
	}
	return n
}
