//go:build unix

package gateway_test

import (
	"net/http"
	"syscall"
	"testing"
	"time"
)

// BenchmarkCPU measures the processor time of turns, then of as many floors.
// The model server runs in this process and is part of both; ms-cpu/turn is
// the difference, and so what a turn costs beyond its floor.
func BenchmarkCPU(b *testing.B) {
	g, url, file := benchGateway(b)
	client := &http.Client{}
	benchTurn(b, g, admin("", "go")) // opens connections, compiles what is compiled once
	b.ResetTimer()
	start := processorTime(b)
	for range b.N {
		benchTurn(b, g, admin("", "go"))
	}
	between := processorTime(b)
	b.StopTimer()
	for range b.N {
		if err := floorTurn(client, url, file); err != nil {
			b.Fatal(err)
		}
	}
	ours, floor := between-start, processorTime(b)-between
	b.ReportMetric((ours-floor).Seconds()*1000/float64(b.N), "ms-cpu/turn")
	b.ReportMetric(float64(ours)/float64(floor), "x-floor")
}

// processorTime is what this process has used so far, user and system.
func processorTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
