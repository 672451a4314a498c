package code

import (
	"time"

	"github.com/goclaw/goclaw/internal/lib/turns"
)

// BegunEach is how many scripts of one person may begin.
const BegunEach = begunEach

// Tighten makes the bounds of r's scripts narrower, so that they are reached
// sooner.
func (r *Runner) Tighten(work time.Duration, memory int64) {
	r.limits.Work, r.limits.Memory = work, memory
}

// OneAtATime lets one script work at a time.
func (r *Runner) OneAtATime() { r.working = turns.New(1, 1) }
