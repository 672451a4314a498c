package code

import (
	"bufio"
	"encoding/json"
	"io"
	"runtime/debug"
	"sync"
	"time"
)

// Command is the first and only argument of a program that is to run a script
// by [Child].
const Command = "__tool-code-script"

// How often a running script is looked at, and how much longer than it may one
// works before its process ends: the interpreter stops by itself soon, but not
// within a single step of it.
const (
	lookEvery = 50 * time.Millisecond
	stopGrace = 250 * time.Millisecond
)

// maxStack, in bytes, is more than functions as deep as they may be need, also in
// builds that look for races, whose frames are larger.
const maxStack = 256 << 20

// Child runs one script, whose job and replies come in on in and whose requests
// go out on out. It is the whole life of a process and returns its exit status.
// It may return while the script still works: the process is to end then.
func Child(in io.Reader, out io.Writer) int {
	dec := json.NewDecoder(bufio.NewReader(in))
	var j job
	if err := dec.Decode(&j); err != nil {
		return 1
	}
	debug.SetMaxStack(maxStack)
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
	replies, gone := make(chan json.RawMessage, j.Limits.Calls), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			var r json.RawMessage
			if err := dec.Decode(&r); err != nil {
				return // whoever started us is gone, or doesn't wait any more
			}
			replies <- r
		}
	}()
	var c clock
	c.resume()
	done := make(chan end, 1)
	go func() { done <- run(j, &c, send, replies) }()
	e, ok := watch(&c, j.Limits.Work, done, gone)
	if !ok || send(request{Op: "end", End: &e}) != nil {
		return 1
	}
	return 0
}

// watch waits for the end of the script and sees to it that there is one.
func watch(c *clock, work time.Duration, done <-chan end, gone <-chan struct{}) (end, bool) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case e := <-done:
			return e, true
		case <-gone:
			return end{}, false
		case <-ticker.C:
			if c.read() > work+stopGrace {
				return end{Error: tooLong(work)}, true
			}
		}
	}
}
