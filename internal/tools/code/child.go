package code

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// Command is the first and only argument of a program that is to run a script
// by [Child].
const Command = "__tool-code-script"

// How often a running script is looked at, and how long one has to stop when it
// is told to before its process ends.
const (
	lookEvery = 5 * time.Millisecond
	stopGrace = 200 * time.Millisecond
)

// Child runs one script, whose job and replies come in on in and whose requests
// go out on out. It is the whole life of a process and returns its exit status.
// It may return while the script still works: the process is to end then.
func Child(in io.Reader, out io.Writer) int {
	dec := json.NewDecoder(bufio.NewReader(in))
	var j job
	if err := dec.Decode(&j); err != nil {
		return 1
	}
	debug.SetMaxStack(64 << 20)
	debug.SetMemoryLimit(j.Limits.Memory * 5 / 4)
	boundMemory(j.Limits.Memory)

	var mu sync.Mutex
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	send := func(r request) error {
		mu.Lock()
		defer mu.Unlock()
		return enc.Encode(r)
	}
	replies, gone := make(chan reply, 16), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			var r reply
			if err := dec.Decode(&r); err != nil {
				return // whoever started us is gone, or doesn't wait any more
			}
			replies <- r
		}
	}()
	s := newScript(j.Limits, send, replies)
	s.clock.resume()
	done := make(chan end, 1)
	go func() { done <- s.run(j.Script) }()
	e, ok := s.watch(done, gone)
	if !ok || send(request{Op: "end", End: &e}) != nil {
		return 1
	}
	return 0
}

// watch waits for the end of the script and sees to it that there is one.
func (s *script) watch(done <-chan end, gone <-chan struct{}) (end, bool) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	var late <-chan time.Time
	why := ""
	for {
		select {
		case e := <-done:
			return e, true
		case <-gone:
			return end{}, false
		case <-late:
			return end{Error: why}, true
		case <-ticker.C:
		}
		if why != "" {
			continue
		}
		metrics.Read(sample)
		switch {
		case sample[0].Value.Uint64() > uint64(s.limits.Memory)*3/2:
			why = fmt.Sprintf("RangeError: the script uses more than %d MB of memory", s.limits.Memory>>20)
		case s.clock.read() > s.limits.Work:
			why = fmt.Sprintf("the script worked for more than %s, not counting its calls, and was stopped", s.limits.Work)
		default:
			continue
		}
		s.vm.Interrupt(why)
		late = time.After(stopGrace)
	}
}
