package jq

import (
	"runtime"
	"runtime/metrics"
)

// Heap compares the heap with what it was when a piece of work began: a query, or
// another one that can't be told to take less, such as a parser of what anybody
// wrote. It is that of the whole process, so other work counts as well.
type Heap struct {
	began uint64
	limit int
}

// WatchHeap watches work that begins now and may take limit bytes.
func WatchHeap(limit int) Heap { return Heap{began: inUse(), limit: limit} }

// Fits reports whether the heap, and more bytes on top of it, stay within the
// limit. It takes about a microsecond, but collects garbage, and says so, before
// it answers no: whoever goes on should count that as work. After a collection
// only what leaves an eighth of the limit free fits, lest garbage is collected
// all the time.
func (w Heap) Fits(more int) (fits, collected bool) {
	limit := w.began + uint64(w.limit)
	switch {
	case inUse()+uint64(more) <= limit:
		return true, false
	case more > w.limit:
		return false, false
	}
	runtime.GC()
	return inUse()+uint64(more) <= limit-uint64(w.limit/8), true
}

// inUse is how many bytes of the heap are in use or not yet freed.
func inUse() uint64 {
	sample := [1]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample[:])
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
