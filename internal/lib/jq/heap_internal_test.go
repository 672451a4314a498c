package jq

import (
	"runtime"
	"testing"
)

// It runs beside no other test, since they share a heap.
func TestHeapFits(t *testing.T) {
	w := watchHeap(64 << 20)
	if fits, collected := w.fits(32 << 20); !fits || collected {
		t.Errorf("32 of 64 MB: fits %v, collected %v", fits, collected)
	}
	if fits, collected := w.fits(1 << 30); fits || collected {
		t.Errorf("1 GB of 64 MB: fits %v, collected %v", fits, collected)
	}
	garbage := make([]byte, 80<<20)
	clear(garbage)
	if fits, _ := w.fits(0); fits {
		t.Error("80 of 64 MB, which are in use, fit")
	}
	runtime.KeepAlive(garbage)
	garbage = nil
	if fits, _ := w.fits(0); !fits {
		t.Error("garbage counts")
	}
}

func BenchmarkHeapFits(b *testing.B) {
	w := watchHeap(1 << 30)
	for b.Loop() {
		w.fits(0)
	}
}
