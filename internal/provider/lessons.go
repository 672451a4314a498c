package provider

import "sync"

// Lessons keeps what was learned of each model of a server, as bits of T, so
// that a setting which it refuses costs one request and not one per call. The
// zero value is ready, and safe for concurrent use.
type Lessons[T ~uint16 | ~uint32] struct {
	mu      sync.RWMutex
	byModel map[string]T
}

// maxLessons bounds of how many models something is kept: names can come from
// outside.
const maxLessons = 1000

// Of is what was learned of model.
func (l *Lessons[T]) Of(model string) T {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.byModel[model]
}

// Learn adds lesson, which may be 0, to what was known when the request was
// sent, and reports whether it is anything new to that: then the same request
// in other clothes may be taken. Nothing was done with the refused one, so that
// is no retry.
func (l *Lessons[T]) Learn(model string, known, lesson T) bool {
	if known&lesson == lesson {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byModel == nil || len(l.byModel) >= maxLessons && l.byModel[model] == 0 {
		l.byModel = map[string]T{}
	}
	l.byModel[model] |= lesson
	return true
}
