package openai

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/provider"
)

// fault is a failure as the server reports it.
type fault struct {
	status     int // 0 when it came inside a stream
	code       string
	kind       string
	param      string
	message    string
	retryAfter time.Duration
}

func (f *fault) Error() string { return f.message }

// readFault reads the value of "error", or a document that is the error: an
// object with message, type, code and param, or a mere string.
func readFault(raw []byte, status int) *fault {
	f := &fault{status: status}
	var scratch []byte
	s := wire.NewScan(raw)
	if s.Peek() == '"' {
		if b, ok := s.Text(&scratch); ok {
			f.message = string(b)
		}
		return f
	}
	str := func() string {
		raw := s.Raw()
		if len(raw) == 0 || string(raw) == "null" {
			return ""
		}
		inner := wire.NewScan(raw)
		if b, ok := inner.Text(&scratch); ok {
			return string(b)
		}
		return string(raw)
	}
	if !s.Open('{') {
		f.message = string(raw)
		return f
	}
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "message", "detail", "error_description":
			f.message = str()
		case "code":
			f.code = str()
		case "type":
			f.kind = str()
		case "param":
			f.param = str()
		case "error":
			if raw := s.Raw(); s.OK() && string(raw) != "null" {
				return readFault(raw, max(status, f.status))
			}
		default:
			s.Skip()
		}
	}
	if n, err := strconv.Atoi(f.code); err == nil && n >= 400 && n < 600 && f.status == 0 {
		f.status = n // OpenRouter and vLLM put the status here
	}
	if f.message == "" || !s.OK() {
		f.message = string(raw)
	}
	return f
}

// answerFault reads an HTTP answer that is an error.
func answerFault(resp *http.Response, body []byte) *fault {
	f := &fault{status: resp.StatusCode}
	if t := strings.TrimSpace(string(body)); strings.HasPrefix(t, "{") {
		f = readFault(body, resp.StatusCode)
	} else if f.message = t; f.message == "" {
		f.message = strings.TrimSpace(http.StatusText(resp.StatusCode))
	}
	f.status = resp.StatusCode
	f.retryAfter = provider.RetryAfter(resp.Header, time.Now())
	return f
}

// told is the message without what was sent, which servers that check requests by
// pydantic (vLLM and others) repeat behind what is wrong with it: else a person
// who asks about rate limits would have met one.
func (f *fault) told() string {
	if f.status != http.StatusBadRequest && f.status != http.StatusUnprocessableEntity {
		return f.message
	}
	end := len(f.message)
	for _, mark := range []string{"'input':", `"input":`, "input_value="} {
		if i := strings.Index(f.message, mark); i >= 0 {
			end = min(end, i)
		}
	}
	return f.message[:end]
}

// says reports whether any of words stands in what the server wrote itself.
func (f *fault) says(words ...string) bool {
	text := strings.ToLower(f.code + " " + f.kind + " " + f.told())
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// class sorts the fault. Codes and words go before the status, since servers
// agree on the former more than on the latter.
func (f *fault) class() llm.Class {
	known := provider.StatusClass(f.status)
	switch {
	case f.says("tool_use_failed"): // Groq could not read the call that the model wrote
		return llm.ClassEmpty
	case f.status == http.StatusForbidden && f.says("requires moderation", "input was flagged"): // OpenRouter; the key is fine
		return llm.ClassEmpty
	case f.says("requires --jinja"): // llama.cpp was started without tools
		return llm.ClassBadRequest
	case f.says("insufficient_quota", "billing_hard_limit", "exceeded your current quota", "quota_exceeded", "usage limit", "spend limit"):
		return llm.ClassQuota
	case f.says("insufficient balance", "insufficient_balance", "payment_required", "billing_not_active", "insufficient credits"):
		return llm.ClassBilling
	case f.says("invalid_api_key", "incorrect api key", "invalid api key", "authentication_error", "authentication fails"):
		return llm.ClassAuth
	case f.status == http.StatusRequestEntityTooLarge: // Groq calls that a rate limit, which no waiting helps
		return llm.ClassTooLong
	case known != llm.ClassOverloaded && f.says("context_length_exceeded", "maximum context length", "context window",
		"context length", "context size", "prompt is too long", "too many tokens", "exceed_context_size", "input is too long", "input tokens exceed",
		"maximum prompt length", "exceeded model token limit", "prompt exceeds max length", "input token count", "`inputs` tokens"):
		return llm.ClassTooLong
	case f.says("model_not_found", "model not found", "no such model") || f.status == http.StatusBadRequest && f.says("model does not exist", "invalid model"):
		return llm.ClassNoModel
	case f.says("rate_limit", "rate limit", "overloaded", "too many requests", "server is busy", "at capacity", "insufficient_system_resource"):
		return llm.ClassOverloaded
	case known != llm.ClassUnknown:
		return known
	case f.says("server_error", "internal error", "internal server error", "upstream", "timed out", "timeout"):
		return llm.ClassNetwork
	case f.says("invalid_request_error"):
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
	if e.Class == llm.ClassNoModel && f.status == http.StatusNotFound && !f.says("model", "tool") {
		e.Message += "; either the model or the address is not known there"
	}
	return e
}
