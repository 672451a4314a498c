package agent

import (
	"errors"
	"fmt"

	"github.com/goclaw/goclaw/internal/llm"
)

// Advice turns an error that ended a run into a sentence or two for the
// person: what happened, and what to do about it.
func Advice(err error) string {
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
		return fmt.Sprintf("%s. Check the connection and ai.providers.%s.base_url. Nothing is lost: say \"go on\" to try again.", e, p)
	case llm.ClassTooLong:
		return fmt.Sprintf("%s. The conversation is too long for the model: begin a new session, or set ai.providers.%s.context_window.", e, p)
	case llm.ClassEmpty:
		return fmt.Sprintf("%s. Nothing is lost: say it in other words, or say \"go on\".", e)
	}
	return e.Error()
}
