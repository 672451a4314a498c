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
	words := advice(err)
	var e *llm.Error
	if !errors.As(err, &e) {
		return words
	}
	if others := askedBefore(e); others != "" {
		words = strings.TrimRight(words, ".") + ". Before that: " + others + "."
	}
	return words
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

func advice(err error) string {
	if err == nil {
		return ""
	}
	var e *llm.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	p := e.Target.Provider
	switch e.Class {
	case llm.ClassAuth:
		return fmt.Sprintf("%s. Check the key: ai.providers.%s.api_key in config.yaml, or the provider's environment variable.", e, p)
	case llm.ClassBilling, llm.ClassQuota:
		return fmt.Sprintf("%s. The account at %s has nothing left to spend: check its billing page, or name another provider in ai.fallback.", e, p)
	case llm.ClassNoModel:
		return fmt.Sprintf("%s. Set ai.providers.%s.model (or the agent's model) to one that %s offers; if that is right, check ai.providers.%s.base_url, which often ends in /v1.", e, p, p, p)
	case llm.ClassOverloaded:
		return fmt.Sprintf("%s. It was tried again without success. Nothing is lost: say \"go on\" in a moment, or name another provider in ai.fallback.", e)
	case llm.ClassNetwork:
		if e.Status != 0 {
			return fmt.Sprintf("%s. The fault is at %s, and it was tried again without success. Nothing is lost: say \"go on\" in a moment, or name another provider in ai.fallback.", e, p)
		}
		return fmt.Sprintf("%s. Check the connection and ai.providers.%s.base_url. Nothing is lost: say \"go on\" to try again.", e, p)
	case llm.ClassTooLong:
		return fmt.Sprintf("%s. The conversation is too long for the model: begin a new session, or set ai.providers.%s.context_window.", e, p)
	case llm.ClassEmpty:
		return fmt.Sprintf("%s. Nothing is lost: say it in other words, or say \"go on\".", e)
	}
	return e.Error()
}
