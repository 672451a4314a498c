package llm

import (
	"errors"
	"fmt"
	"math"
	"strings"
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

// ErrForeign is the cause when what answered is no server of the provider's kind.
var ErrForeign = errors.New("an answer in another format")

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
	// Held is who would have been asked next, by provider and model alone, had
	// this turn not used a tool; zero when nobody. Only agent.Models fills it in.
	Held Target
}

func (e *Error) Error() string {
	said := strings.TrimSpace(e.Message)
	if e.Status == 0 {
		return e.Target.Provider + ": " + said
	}
	if said = strings.TrimRight(said, ". "); said != "" {
		said += " "
	}
	wait := ""
	if e.RetryAfter > 0 {
		wait = "; it asks to wait " + length(e.RetryAfter)
	}
	return fmt.Sprintf("%s: %s(HTTP %d%s)", e.Target.Provider, said, e.Status, wait)
}

// length is a time for people, never shorter than it is.
func length(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", math.Ceil(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", math.Ceil(d.Minutes()))
	}
	return fmt.Sprintf("%.0f h", math.Ceil(d.Hours()))
}

func (e *Error) Unwrap() error { return e.Err }
