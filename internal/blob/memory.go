package blob

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a [Store] in memory, for tests and for processes that keep no
// state. Its rows end with it.
type Memory struct {
	mu      sync.Mutex
	entries map[string]*Entry
	order   []*Entry // by when they were added
	content map[string]*content
	shares  map[string][]string // sessions by ref
}

type content struct {
	packed []byte
	living int // entries that have it
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{entries: map[string]*Entry{}, content: map[string]*content{}, shares: map[string][]string{}}
}

// Add implements [Store].
func (m *Memory) Add(_ context.Context, e Entry, packed []byte, keep Limits) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, taken := m.entries[e.Ref]; taken {
		return fmt.Errorf("add ref %s: it exists", e.Ref)
	}
	c := m.content[e.Sum]
	if c == nil {
		c = &content{packed: slices.Clone(packed)}
		m.content[e.Sum] = c
	}
	c.living++
	m.entries[e.Ref] = &e
	m.order = append(m.order, &e)
	m.evict(&e, keep)
	return nil
}

// evict ends the oldest entries of the kind of e until keep holds.
func (m *Memory) evict(e *Entry, keep Limits) {
	count, bytes := 0, int64(0)
	for _, o := range m.order {
		if o.Kind == e.Kind && o.Gone == Living {
			count++
			bytes += o.Size
		}
	}
	for _, o := range m.order {
		if (keep.Entries <= 0 || count <= keep.Entries) && (keep.Bytes <= 0 || bytes <= keep.Bytes) {
			return
		}
		if o.Kind == e.Kind && o.Gone == Living && o != e {
			count--
			bytes -= o.Size
			m.end(o, Evicted, e.Created)
		}
	}
}

func (m *Memory) end(e *Entry, why Gone, at time.Time) {
	e.Gone, e.Ended = why, at
	m.release(e.Sum)
}

func (m *Memory) release(sum string) {
	c := m.content[sum]
	if c.living--; c.living == 0 {
		delete(m.content, sum)
	}
}

// Entry implements [Store].
func (m *Memory) Entry(_ context.Context, ref string) (Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.entries[ref]; ok {
		return *e, nil
	}
	return Entry{}, ErrUnknown
}

// Content implements [Store].
func (m *Memory) Content(_ context.Context, sum string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.content[sum]; ok {
		return c.packed, nil
	}
	return nil, ErrUnknown
}

// Sweep implements [Store].
func (m *Memory) Sweep(_ context.Context, now, forget time.Time, tombstones int) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	expired, gone := 0, []*Entry(nil)
	for _, e := range m.order {
		if e.Gone == Living && !e.Expires.IsZero() && !e.Expires.After(now) {
			m.end(e, Expired, e.Expires)
			expired++
		}
		if e.Gone != Living {
			gone = append(gone, e)
		}
	}
	slices.SortStableFunc(gone, func(a, b *Entry) int { return b.Ended.Compare(a.Ended) })
	for i, e := range gone {
		if i >= tombstones || e.Ended.Before(forget) {
			delete(m.entries, e.Ref)
		}
	}
	m.compact()
	return expired, nil
}

// Share implements [Store].
func (m *Memory) Share(_ context.Context, from, to string, until time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ref, e := range m.entries {
		with := m.shares[ref]
		if (e.Session == from || slices.Contains(with, from)) && !e.Created.After(until) && !slices.Contains(with, to) {
			m.shares[ref] = append(with, to)
		}
	}
	return nil
}

// Shared implements [Store].
func (m *Memory) Shared(_ context.Context, ref, session string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Contains(m.shares[ref], session), nil
}

// Drop implements [Store].
func (m *Memory) Drop(_ context.Context, session string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ref, with := range m.shares {
		m.shares[ref] = slices.DeleteFunc(with, func(s string) bool { return s == session })
	}
	for _, e := range m.order {
		if e.Session != session {
			continue
		}
		if with := m.shares[e.Ref]; len(with) > 0 {
			e.Session = with[0]
			continue
		}
		if e.Gone == Living {
			m.release(e.Sum)
		}
		delete(m.entries, e.Ref)
	}
	m.compact()
	return nil
}

// compact takes out of the order, and of what is shared, what is no longer
// there.
func (m *Memory) compact() {
	m.order = slices.DeleteFunc(m.order, func(e *Entry) bool { _, ok := m.entries[e.Ref]; return !ok })
	maps.DeleteFunc(m.shares, func(ref string, _ []string) bool { _, ok := m.entries[ref]; return !ok })
}
