package llm

import (
	"fmt"
	"time"
)

// Class sorts a provider's failures by what can be done about them.
type Class string

const (
	ClassOverloaded Class = "overloaded"  // 503, 529, 429 without a quota code
	ClassNetwork    Class = "network"     // 500, 502, 504, refused, reset, DNS, time-out, a stream that died
	ClassQuota      Class = "quota"       // the account's quota or budget is used up
	ClassAuth       Class = "auth"        // key missing, wrong or without permission
	ClassBilling    Class = "billing"     // payment needed
	ClassTooLong    Class = "too_long"    // the request exceeds the model's context window
	ClassNoModel    Class = "no_model"    // the provider doesn't know the model
	ClassBadRequest Class = "bad_request" // our own fault; another provider would refuse it as well
	ClassEmpty      Class = "empty"       // the model answered with nothing
	ClassUnknown    Class = "unknown"
)

// Error is what a provider answered instead of a reply, or what kept it from
// answering.
type Error struct {
	Class      Class
	Target     Target
	Status     int           // HTTP status; 0 when no answer came
	Code       string        // the provider's own code, if any
	Message    string        // for people; holds no secret
	RetryAfter time.Duration // what the provider asked for; 0 when nothing
	Err        error         // the cause, if any

	// Before are the failed attempts of the same call that led here, of other
	// targets too. Only agent.Models fills it in.
	Before []Attempt
}

func (e *Error) Error() string {
	s := e.Target.Provider + ": " + e.Message
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }
