package code

import "time"

// Tighten makes the bounds of r's scripts narrower, so that they are reached
// sooner.
func (r *Runner) Tighten(work time.Duration, memory int64) {
	r.limits.Work, r.limits.Memory = work, memory
}
