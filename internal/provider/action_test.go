package provider

import (
	"testing"

	"github.com/goclaw/goclaw/internal/llm"
)

// A provider that answers, but with a fault of its own, is handled like a
// network that fails, and is not taken for one.
func TestWhatHappened(t *testing.T) {
	t.Parallel()
	at := llm.Target{Provider: "a", Model: "m"}
	for want, e := range map[string]*llm.Error{
		"a/m answered with HTTP 500 (oops)":                    {Class: llm.ClassNetwork, Status: 500, Message: "oops"},
		"a/m answered with HTTP 504 (no answer)":               {Class: llm.ClassNetwork, Status: 504, Message: "no answer"},
		"a/m failed on the network (the connection timed out)": {Class: llm.ClassNetwork, Message: "the connection timed out."},
		"a/m is overloaded (wait)":                             {Class: llm.ClassOverloaded, Status: 503, Message: "wait"},
		"a/m failed (odd)":                                     {Class: "new", Status: 600, Message: "odd"},
	} {
		e.Target = at
		if got := happened(e); got != want {
			t.Errorf("it is said %q, want %q", got, want)
		}
	}
}
