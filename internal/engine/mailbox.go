package engine

import (
	"sync"

	"github.com/goclaw/goclaw/internal/tool"
)

// mailbox carries what happens on the workers to the goroutine that called
// Execute. Nobody who writes ever waits: a call's progress is replaced by newer
// progress that comes before it was read.
type mailbox struct {
	wake chan struct{} // holds one token while there is something to read

	mu     sync.Mutex
	events []tool.Event // of progress at most one per call
	judged []judged     // calls that were decided about, in that order
	ended  []int        // calls, in the order in which they ended
}

// judged is a call that was decided about, apart from the batch's own.
type judged struct {
	index int
	inv   invocation
	goes  bool // it may go on
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// tell leaves what happens to a call.
func (m *mailbox) tell(e tool.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.Type == tool.Progress {
		for i, o := range m.events {
			if o.Type == tool.Progress && o.Index == e.Index {
				m.events[i] = e
				return
			}
		}
	}
	m.events = append(m.events, e)
	m.ring()
}

// judge leaves what was decided about a call.
func (m *mailbox) judge(j judged) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.judged = append(m.judged, j)
	m.ring()
}

// end tells that the call at index has ended.
func (m *mailbox) end(index int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = append(m.ended, index)
	m.ring()
}

func (m *mailbox) ring() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// read empties the mailbox. What it returns is the reader's.
func (m *mailbox) read() (told []tool.Event, decided []judged, ended []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	told, decided, ended = m.events, m.judged, m.ended
	m.events, m.judged, m.ended = nil, nil, nil
	return told, decided, ended
}
