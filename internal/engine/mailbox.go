package engine

import "sync"

// mailbox carries what happens on the workers to the goroutine that called
// Execute. Nobody who writes ever waits: a call's progress is replaced by newer
// progress that comes before it was read.
type mailbox struct {
	wake chan struct{} // holds one token while there is something to read

	mu       sync.Mutex
	progress []progress // at most one per call
	ended    []int      // calls, in the order in which they ended
}

type progress struct {
	index int
	text  string
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// tell leaves how far the call at index is.
func (m *mailbox) tell(index int, text string) {
	m.mu.Lock()
	for i := range m.progress {
		if m.progress[i].index == index {
			m.progress[i].text = text
			m.mu.Unlock()
			return
		}
	}
	m.progress = append(m.progress, progress{index, text})
	m.mu.Unlock()
	m.ring()
}

// end tells that the call at index has ended.
func (m *mailbox) end(index int) {
	m.mu.Lock()
	m.ended = append(m.ended, index)
	m.mu.Unlock()
	m.ring()
}

func (m *mailbox) ring() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// read empties the mailbox. What it returns is the reader's.
func (m *mailbox) read() (told []progress, ended []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	told, ended = m.progress, m.ended
	m.progress, m.ended = nil, nil
	return told, ended
}
