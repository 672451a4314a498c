package fakellm

import (
	"fmt"
	"slices"
)

// Faults are the kinds of failures that every vendor has words for: what an
// answer's Fault may be.
var Faults = []string{Overloaded, Unavailable, ServerError, RateLimit, Quota, Billing, WrongKey, NoModel, TooLong, BadRequest, BadMedia, NoTools}

// The kinds of [Faults].
const (
	Overloaded  = "overloaded"   // too many ask at once
	Unavailable = "unavailable"  // 503
	ServerError = "server_error" // 500
	RateLimit   = "rate_limit"   // 429 that goes away by itself
	Quota       = "quota"        // 429 or the like that doesn't
	Billing     = "billing"      // somebody has to pay first
	WrongKey    = "wrong_key"
	NoModel     = "no_model"
	TooLong     = "too_long" // for the model's window
	BadRequest  = "bad_request"
	BadMedia    = "bad_media" // an image that can't be read
	NoTools     = "no_tools"  // the model takes none
)

// failure is a vendor's documented answer to what went wrong.
type failure struct {
	status int
	body   string
}

// failures are what a wire answers, by kind.
type failures map[string]failure

// of is the failure of a kind.
func (f failures) of(kind string) (failure, error) {
	known, ok := f[kind]
	if !ok {
		return failure{}, fmt.Errorf("this vendor has no fault %q", kind)
	}
	return known, nil
}

func checkFault(kind string) error {
	if kind != "" && !slices.Contains(Faults, kind) {
		return fmt.Errorf("fault is %q; want one of %v", kind, Faults)
	}
	return nil
}

// speaks reports whether an answer has content in the vendors' common words.
func (a Answer) speaks() bool { return a.Text != "" || a.Reasoning != "" || len(a.Calls) > 0 }
