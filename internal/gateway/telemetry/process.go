package telemetry

import (
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// process writes what is known of the Go runtime and of the process. The names
// are those that every Go program with the usual library has.
func process(w io.Writer, started time.Time) {
	one := func(kind, name, help string, x float64) {
		header(w, name, help, kind)
		sample(w, name, nil, nil, x)
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	one(gauge, "go_goroutines", "Goroutines that exist.", float64(runtime.NumGoroutine()))
	one(gauge, "go_memstats_alloc_bytes", "Bytes of objects on the heap, with those that are not collected yet.", float64(mem.HeapAlloc))
	one(counter, "go_memstats_alloc_bytes_total", "Bytes allocated on the heap since the start.", float64(mem.TotalAlloc))
	one(gauge, "go_memstats_sys_bytes", "Bytes that the runtime got from the system.", float64(mem.Sys))
	one(gauge, "go_memstats_heap_objects", "Objects on the heap.", float64(mem.HeapObjects))
	one(counter, "goclaw_gc_cycles_total", "Collections of garbage since the start.", float64(mem.NumGC))
	one(counter, "goclaw_gc_pause_seconds_total", "Time for which collections stopped the program.", time.Duration(mem.PauseTotalNs).Seconds())
	if !started.IsZero() {
		one(gauge, "process_start_time_seconds", "When the process began to serve, in seconds since 1970.", float64(started.UnixMilli())/1000)
	}
	if p, ok := readProc("/proc/self"); ok {
		one(counter, "process_cpu_seconds_total", "Processor time spent, in seconds.", p.cpu)
		one(gauge, "process_resident_memory_bytes", "Memory that the process holds.", p.resident)
		one(gauge, "process_open_fds", "Files that the process has open.", p.files)
	}
}

// proc is what Linux tells of a process.
type proc struct{ cpu, resident, files float64 }

// ticks is how many of the kernel's units of processor time a second has: 100
// on every system that Go runs on, whatever the kernel itself counts in.
const ticks = 100

// readProc reads a folder of /proc; ok is false where there is none.
func readProc(dir string) (p proc, ok bool) {
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return p, false
	}
	// The name of the program may hold anything; what counts is behind it. The
	// fields are counted from the state, the third of proc(5).
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(f) < 22 {
		return p, false
	}
	user, err1 := strconv.ParseFloat(f[11], 64)
	system, err2 := strconv.ParseFloat(f[12], 64)
	pages, err3 := strconv.ParseFloat(f[21], 64)
	d, err4 := os.Open(dir + "/fd")
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		return p, false
	}
	defer d.Close() // nothing was written
	names, err := d.Readdirnames(-1)
	if err != nil {
		return p, false
	}
	return proc{cpu: (user + system) / ticks, resident: pages * float64(os.Getpagesize()), files: float64(len(names))}, true
}
