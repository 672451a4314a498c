package provider

import "strings"

// Withheld reports whether a server's reason for the end of an answer, one that
// its vendor's package doesn't know, says that a filter ended it. Gateways before
// models and new versions have names of their own, and the calls of such an
// answer must not be run.
func Withheld(reason string) bool {
	reason = strings.ToLower(reason)
	for _, word := range []string{"filter", "guardrail", "safety", "refus", "blocked", "prohibited", "moderation"} {
		if strings.Contains(reason, word) {
			return true
		}
	}
	return false
}
