package provider

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
)

// action is what is done about a class of failures.
type action struct {
	// waits are the pauses before each further attempt at the same target;
	// none means that it is not asked again.
	waits  []time.Duration
	jitter float64 // by how much of it a pause may be longer or shorter
	move   bool    // the next target is asked, when this turn has used no tool
	health weight
	words  string // what happened, see [wordsFor]
}

// weight is how a failure counts against a target's health.
type weight uint8

const (
	harmless weight = iota // the target is not to blame
	counts                 // three of them within five minutes cool it down
	atOnce                 // it won't go away by itself
)

// actions is the one place that decides what a failure leads to. What it
// doesn't know moves to the next provider.
var actions = map[llm.Class]action{
	llm.ClassOverloaded: {waits: []time.Duration{2 * time.Second, 6 * time.Second}, jitter: 0.15, move: true, health: counts, words: "is overloaded"},
	llm.ClassNetwork:    {waits: []time.Duration{500 * time.Millisecond}, move: true, health: counts, words: "failed on the network"},
	llm.ClassEmpty:      {waits: []time.Duration{0}, move: true, health: harmless, words: "answered with nothing"},
	llm.ClassQuota:      {move: true, health: atOnce, words: "has no quota left"},
	llm.ClassAuth:       {move: true, health: atOnce, words: "refused the key"},
	llm.ClassBilling:    {move: true, health: atOnce, words: "wants to be paid"},
	llm.ClassNoModel:    {move: true, health: counts, words: "does not know this model"},
	llm.ClassTooLong:    {health: harmless, words: "found the conversation too long"},
	llm.ClassBadRequest: {health: harmless, words: "refused the request"},
	llm.ClassUnknown:    {move: true, health: counts, words: "failed"},
}

func actionFor(c llm.Class) action {
	if a, ok := actions[c]; ok {
		return a
	}
	return actions[llm.ClassUnknown]
}

// wordsFor says what happened, for people: "NAME " + words. Where the provider
// answered, the network did not fail, though the same is done about it.
func wordsFor(e *llm.Error) string {
	if e.Class == llm.ClassNetwork && e.Status != 0 {
		return fmt.Sprintf("answered with HTTP %d", e.Status)
	}
	return actionFor(e.Class).words
}

// maxRetryAfter is the longest pause that a provider may ask for; a longer one
// ends the attempts.
const maxRetryAfter = 30 * time.Second

// pause is how long to wait before attempt n (from 0) after e; ok is false when
// there is no further attempt.
func (a action) pause(n int, e *llm.Error) (d time.Duration, ok bool) {
	if n >= len(a.waits) {
		return 0, false
	}
	if e.Class == llm.ClassOverloaded && e.RetryAfter > 0 {
		// Never earlier than asked, and not all at the same moment.
		d = e.RetryAfter + time.Duration(rand.Float64()*a.jitter*float64(time.Second))
		return d, e.RetryAfter <= maxRetryAfter
	}
	spread := 1 + a.jitter*(2*rand.Float64()-1)
	return time.Duration(float64(a.waits[n]) * spread), true
}
