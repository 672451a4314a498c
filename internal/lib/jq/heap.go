package jq

import (
	"runtime"
	"runtime/metrics"
)

// heap compares the heap with what it was when a query began. It is that of the
// whole process, so other work counts as well: a query that is refused may fit at
// another time.
type heap struct {
	began uint64
	limit int
}

// watchHeap watches work that begins now and may take limit bytes.
func watchHeap(limit int) heap { return heap{began: inUse(), limit: limit} }

// fits reports whether the heap, and more bytes on top of it, stay within the
// limit. It takes about a microsecond, but collects garbage, and says so, before
// it answers no: whoever goes on should count that as work. After a collection
// only what leaves an eighth of the limit free fits, lest garbage is collected
// all the time.
func (w heap) fits(more int) (fits, collected bool) {
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
