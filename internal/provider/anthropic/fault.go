package anthropic

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// fault is a failure as the server reports it.
type fault struct {
	status     int    // 0 when it came inside a stream
	kind       string // the type of the error
	code       string // names the cause more closely; often empty
	message    string
	request    string // the id by which Anthropic's support finds it
	retryAfter time.Duration
}

func (f *fault) Error() string { return f.message }

// readFault reads the document that a failure is: an object whose error is
// another one, or in other servers a mere string, or missing.
func readFault(raw []byte) *fault {
	f := &fault{message: strings.TrimSpace(string(raw))}
	var d struct {
		Error   json.RawMessage `json:"error"`
		Request string          `json:"request_id"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(raw, &d) != nil {
		return f
	}
	f.request = d.Request
	var e struct {
		Type    string `json:"type"`
		Message string `json:"message"`
		Details struct {
			Code string `json:"error_code"`
		} `json:"details"`
	}
	var text string
	switch {
	case json.Unmarshal(d.Error, &e) == nil && e.Type+e.Message != "":
		f.kind, f.code = e.Type, e.Details.Code
		text = e.Message
	case json.Unmarshal(d.Error, &text) == nil:
	default:
		text = d.Message
	}
	if text != "" {
		f.message = text
	}
	return f
}

// answerFault reads an HTTP answer that is an error.
func answerFault(resp *http.Response, body []byte) *fault {
	f := readFault(body)
	f.status = resp.StatusCode
	if f.message == "" {
		f.message = strings.TrimSpace(http.StatusText(f.status))
	}
	if f.request == "" {
		f.request = resp.Header.Get("Request-Id")
	}
	f.retryAfter = provider.RetryAfter(resp.Header, time.Now())
	return f
}

// says reports whether any of words stands in what the server wrote.
func (f *fault) says(words ...string) bool {
	text := strings.ToLower(f.kind + " " + f.code + " " + f.message)
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// class sorts the fault by what Anthropic documents: the cause, where it has a
// code or words of its own, then the type, then the status.
func (f *fault) class() llm.Class {
	status := provider.StatusClass(f.status)
	switch {
	case f.kind == "billing_error", f.says("credit balance is too low", "billing_unavailable"):
		return llm.ClassBilling
	case f.says("spend_limit_reached", "specified api usage limits", "usage limit"):
		return llm.ClassQuota
	case f.kind == "authentication_error", f.kind == "permission_error",
		f.says("invalid x-api-key", "organization_on_hold", "organization has been disabled", "key_creator_not_member"):
		return llm.ClassAuth
	case f.kind == "rate_limit_error", f.kind == "overloaded_error":
		return llm.ClassOverloaded
	case f.kind == "request_too_large", status != llm.ClassOverloaded && f.says("prompt is too long", "exceed context limit",
		"context window", "context length", "input is too long"):
		return llm.ClassTooLong
	case f.kind == "not_found_error":
		return llm.ClassNoModel
	case status != llm.ClassUnknown:
		return status
	case f.kind == "api_error", f.kind == "timeout_error":
		return llm.ClassNetwork
	case f.kind == "invalid_request_error":
		return llm.ClassBadRequest
	}
	return llm.ClassUnknown
}

// Failure implements [provider.Fault].
func (f *fault) Failure(secrets ...string) *llm.Error {
	e := &llm.Error{
		Class: f.class(), Status: f.status, Code: f.code,
		Message: provider.Clean(f.message, secrets...), RetryAfter: f.retryAfter,
	}
	if e.Code == "" {
		e.Code = f.kind
	}
	switch e.Class {
	case llm.ClassNoModel:
		if !f.says("model") {
			e.Message += "; either the model or the address is not known there"
		}
	case llm.ClassNetwork, llm.ClassBadRequest, llm.ClassUnknown:
		if f.request != "" { // whoever reports it is asked for this
			e.Message += " (request " + provider.Clean(f.request, secrets...) + ")"
		}
	}
	return e
}
