package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/llm"
)

// Advice turns an error that ended a run into a few sentences for the person:
// what happened, what to do about it, and who else was asked.
func Advice(err error) string {
	var e *llm.Error
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &e):
		return err.Error()
	}
	words := sentence(e.Error()) + mending(e)
	if e.Held != (llm.Target{}) {
		words += fmt.Sprintf(" %s was not asked instead, since a tool had run in this turn, and none may run twice: \"go on\" may ask it.", e.Held)
	}
	if others := askedBefore(e); others != "" {
		words += " Before that: " + sentence(others)
	}
	return words
}

// sentence is text with an end.
func sentence(text string) string {
	text = strings.TrimRight(text, ". ")
	if strings.HasSuffix(text, "!") || strings.HasSuffix(text, "?") || strings.HasSuffix(text, "…") {
		return text
	}
	return text + "."
}

// askedBefore tells how the other targets failed that a call was made for, each
// with its last failure.
func askedBefore(e *llm.Error) string {
	var list []string
	for i, a := range e.Before {
		again := slices.ContainsFunc(e.Before[i+1:], func(b llm.Attempt) bool { return b.Target == a.Target })
		if !again && a.Target != e.Target.Short() {
			list = append(list, fmt.Sprintf("%s: %s", a.Target, strings.TrimRight(a.Message, ".")))
		}
	}
	return strings.Join(list, "; ")
}

// mending is what to do about e, as sentences behind what happened.
func mending(e *llm.Error) string {
	p := e.Target.Provider
	another := ", or name another provider in ai.fallback"
	if e.Held != (llm.Target{}) {
		another = ""
	}
	const kept = " Nothing is lost: say \"go on\""
	switch e.Class {
	case llm.ClassAuth:
		return fmt.Sprintf(" Check the key: ai.providers.%s.api_key in config.yaml, or the provider's environment variable.", p)
	case llm.ClassBilling, llm.ClassQuota:
		return fmt.Sprintf(" The account at %s has nothing left to spend: check its billing page%s.", p, another)
	case llm.ClassNoModel:
		return fmt.Sprintf(" Set ai.providers.%s.model (or the agent's model) to one that %s offers; if that is right, check ai.providers.%s.base_url%s.", p, p, p, e.Target.AddressHint())
	case llm.ClassOverloaded:
		when := " in a moment"
		if e.RetryAfter > 0 {
			when = " after that time"
		}
		return " " + tried(e) + kept + when + another + "."
	case llm.ClassNetwork:
		why, key := e.Unreached()
		switch {
		case e.Status != 0:
			return fmt.Sprintf(" The fault is at %s. %s%s in a moment%s.", p, tried(e), kept, another)
		case why != "":
			return fmt.Sprintf(" Most likely %s; check ai.providers.%s.%s.%s to try again.", why, p, key, kept)
		}
		return " " + tried(e) + kept + " to try again" + another + "."
	case llm.ClassTooLong:
		return fmt.Sprintf(" The conversation is too long for the model: begin a new session, or set ai.providers.%s.context_window.", p)
	case llm.ClassEmpty:
		return " Nothing is lost: say it in other words, or say \"go on\"."
	case llm.ClassBadRequest:
		return fmt.Sprintf(" The request was refused as it is, so that it is not sent again: look at what ai.providers.%s sets for it (reasoning, temperature, max_output_tokens, extra_headers),"+
			" or begin a new conversation if it is about something in this one.", p)
	}
	if errors.Is(e, llm.ErrForeign) {
		return fmt.Sprintf(" What answers there is no such server: check ai.providers.%s.base_url%s.", p, e.Target.AddressHint())
	}
	return ""
}

// tried says how often the target of e was asked again.
func tried(e *llm.Error) string {
	n := 0
	for _, a := range e.Before {
		if a.Target == e.Target.Short() && a.Next == llm.Retry {
			n++
		}
	}
	switch n {
	case 0:
		if e.Class == llm.ClassOverloaded && e.RetryAfter > 0 {
			return "It was not tried again: that is longer than a run waits."
		}
		return "It was not tried again."
	case 1:
		return "It was tried again once, without success."
	}
	return fmt.Sprintf("It was tried again %d times, without success.", n)
}
