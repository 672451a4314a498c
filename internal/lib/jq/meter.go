package jq

import (
	"context"
	"encoding/json"
	"math/big"
	"slices"
)

const (
	stepsPerLook = 64      // instructions between two looks at the heap
	bytesPerLook = 1 << 20 // or bytes that checks foresaw
	stepsPerGC   = 500_000 // what collecting garbage is counted as
)

// meter counts the work of a query and watches the memory that it takes. It is
// the context of the runs: the interpreter asks it before each instruction
// whether it has ended. It serves one goroutine.
type meter struct {
	context.Context
	limits   Limits
	steps    int
	foreseen int  // bytes that checks foresaw since the last look
	watching bool // since the first run began
	heap     heap
	replaced int // bytes that sub and gsub have put in
	programs map[string]int
	err      error
}

var ended = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (m *meter) Done() <-chan struct{} {
	m.steps++
	if m.steps%stepsPerLook == 0 {
		m.look(0)
	}
	if m.err != nil {
		return ended
	}
	return m.Context.Done()
}

func (m *meter) Err() error {
	if m.err != nil {
		return m.err
	}
	return m.Context.Err()
}

// work counts what is done within an instruction as steps.
func (m *meter) work(steps int) error {
	m.steps += steps
	if m.err == nil && m.steps > m.limits.Steps {
		m.err = ErrSteps
	}
	return m.err
}

// grow announces an instruction that takes up to so many bytes. It fails when
// they don't fit.
func (m *meter) grow(bytes int) error {
	if m.foreseen += bytes; m.foreseen < bytesPerLook {
		return nil
	}
	m.foreseen = 0
	return m.look(bytes)
}

// look compares the heap, and what comes on top of it, with the limit.
func (m *meter) look(more int) error {
	if m.work(0) != nil {
		return m.err
	}
	fits, collected := m.heap.fits(more)
	if !fits {
		m.err = ErrMemory
		return m.err
	}
	if collected {
		return m.work(stepsPerGC)
	}
	return nil
}

// extent is how large a value is as a tree: a part that stands in several
// places counts as often.
type extent struct{ nodes, text int }

// measure gives the extent of values together, or [ErrSize] beyond the limits.
// It counts as work.
func (m *meter) measure(values ...any) (extent, error) {
	var e extent
	for _, v := range values {
		if !e.add(v, 0) || e.text > maxText {
			m.steps += e.nodes / nodesPerStep
			return e, ErrSize
		}
	}
	return e, m.work(e.nodes / nodesPerStep)
}

// nodesPerStep is how many values are visited in the time of an instruction.
const nodesPerStep = 8

func (e *extent) add(v any, depth int) bool {
	e.nodes++
	if e.nodes > maxNodes || e.text > maxText || depth > maxNesting {
		return false
	}
	switch v := v.(type) {
	case string:
		e.text += len(v)
	case json.Number:
		e.text += len(v)
	case *big.Int:
		e.text += v.BitLen() / 3
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !e.add(item, depth+1) })
	case map[string]any:
		for k, item := range v {
			e.text += len(k)
			if !e.add(item, depth+1) {
				return false
			}
		}
	}
	return true
}

// rendered is how many bytes a value of this extent takes as text, at most:
// each byte may be escaped.
func (e extent) rendered() int { return 6*e.text + 24*e.nodes }
