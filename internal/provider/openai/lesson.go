package openai

import "net/http"

// lesson is what a refusal teaches, 0 when it is about something else. via says
// that the request went to the Responses API.
func (f *fault) lesson(via bool) refusals {
	switch f.status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		if via && !f.says("model") {
			return refusedResponses
		}
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		if via && f.says("invalid url", "responses api is not supported", "responses api is not available", "unknown endpoint") {
			return refusedResponses
		}
	default:
		return 0
	}
	switch {
	case !via && f.says("v1/responses", "the responses api"):
		if f.says("tool") {
			return toolsInResponses
		}
		return wantsResponses
	case f.status != http.StatusBadRequest && f.status != http.StatusUnprocessableEntity:
		return 0
	case f.says("reasoning_content") && f.says("passed back", "missing", "must be provided"):
		return wantsReasoning
	case f.says("tool call id") && f.says("length of 9"):
		return wantsShortIDs
	case f.says("role 'user' after role 'tool'"):
		return wantsReplies
	case f.says("content") && f.says("got null", "was null", "type: null", "<nil>", "a valid string", "must be a string"):
		return refusedNull
	}
	return f.refusal()
}

// refusal is which setting a server refuses.
func (f *fault) refusal() refusals {
	about := func(name string) bool { return f.param == name || f.param == "" && f.says(name) }
	switch {
	case f.param == "reasoning.summary", f.says("reasoning.summary", "reasoning summaries"):
		return refusedSummaries
	case !f.says("unsupported", "not supported", "does not support", "unrecognized", "unknown", "unexpected",
		"not permitted", "not allowed", "extra", "invalid field", "only the default", "must be one of"):
		return 0
	case f.param == "reasoning_effort" && f.says("tools"):
		return refusedThinking
	case f.says("encrypted content", "encrypted_content"):
		return refusedEncryption
	case f.says("reasoning_content", "reasoning_details"):
		return refusedReasoning
	case about("reasoning_effort"), f.param == "reasoning", f.param == "reasoning.effort", f.says("reasoning.effort", "reasoningeffort"):
		return refusedEffort
	case about("stream_options"):
		return refusedUsage
	case about("temperature"):
		return refusedTemperature
	case about("max_tokens"), about("max_completion_tokens"):
		return refusedTokens
	case about("tool_choice"):
		return refusedChoice
	}
	return 0
}

// ofReasoning reports whether a request was refused for the reasoning that it
// brought back, or should have: another account's, or some that leads nowhere.
func (f *fault) ofReasoning() bool {
	return (f.status == http.StatusBadRequest || f.status == http.StatusNotFound) &&
		f.says("encrypted content", "encrypted_content", "without its required", "'rs_")
}
