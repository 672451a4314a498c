package llm

import "time"

// Attempt is a model call that failed and what was done about it. It is stored
// with the round that it was made for.
type Attempt struct {
	Target  Target `json:"target"` // provider and model alone
	Class   Class  `json:"class"`
	Status  int    `json:"status,omitempty"`  // HTTP; 0 when no answer came
	Message string `json:"message"`           // for people: one line of at most 300 characters, without secrets
	Skipped bool   `json:"skipped,omitempty"` // it could not be asked at all, nothing was sent

	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`

	Next Next          `json:"next,omitempty"`
	Wait time.Duration `json:"wait_ns,omitempty"` // before a retry
	To   *Target       `json:"to,omitempty"`      // provider and model alone: who was asked instead
	Told string        `json:"told,omitempty"`    // the notice that whoever watched got of it, "" for none
}

// Next is what followed a failed attempt.
type Next string

const (
	GaveUp   Next = "" // the call failed with it
	Retry    Next = "retry"
	Failover Next = "failover"
)

// Short is t by provider and model alone.
func (t Target) Short() Target { return Target{Provider: t.Provider, Model: t.Model} }
