package ollama

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// fault is a failure as the server reports it: words, and the status of the
// answer.
type fault struct {
	status     int // 0 when it came inside a stream
	message    string
	ours       bool // it is told in the way of this wire
	retryAfter time.Duration
}

func (f *fault) Error() string { return f.message }

// readFault reads the document that a failure is: an object whose error is a
// string, or an object with a message where the server passes on another's.
func readFault(raw []byte) *fault {
	f := &fault{message: strings.TrimSpace(string(raw))}
	var d struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &d) != nil || d.Error == nil {
		return f
	}
	var inner struct {
		Message string `json:"message"`
	}
	var text string
	if json.Unmarshal(d.Error, &text) != nil && json.Unmarshal(d.Error, &inner) == nil {
		text = inner.Message
	}
	f.ours = true
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
		f.message = http.StatusText(f.status)
	}
	f.retryAfter = provider.RetryAfter(resp.Header, time.Now())
	return f
}

// says reports whether any of words stands in what the server wrote.
func (f *fault) says(words ...string) bool {
	text := strings.ToLower(f.message)
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// lesson is what a refusal teaches of the settings that were sent.
func (f *fault) lesson(sent form) refusals {
	_, level := sent.think.(string)
	switch {
	case sent.think == nil || f.status != http.StatusBadRequest:
		return 0
	case f.says("does not support thinking"):
		return refusedThinking
	case f.says("think value", "think must be", ".think of type"):
		if level {
			return refusedLevels
		}
		return refusedThinking
	}
	return 0
}

// memory says that the model doesn't fit in.
func (f *fault) memory() bool {
	return f.says("system memory", "allocate memory", "memory layout cannot", "out of memory", "unable to load full model")
}

// class sorts the fault by the server's words, then by the status.
func (f *fault) class() llm.Class {
	status := provider.StatusClass(f.status)
	switch {
	case f.says("exceeds the context length", "context length exceeded", "exceeds maximum context length", "exceeds the available context"):
		return llm.ClassTooLong
	case f.says("usage limit"):
		return llm.ClassQuota
	case f.says("requires a subscription"):
		return llm.ClassBilling
	case f.says("not found", "does not support", "invalid model name", "model is required", "incompatible with your version", "newer version of ollama"),
		f.status == http.StatusForbidden && f.says("cloud"):
		return llm.ClassNoModel
	case f.says("server busy"):
		return llm.ClassOverloaded
	case f.says("unauthorized"):
		return llm.ClassAuth
	case f.memory():
		return llm.ClassUnknown
	case f.says("image input", "one image", "image: "):
		return llm.ClassBadRequest
	case f.status < http.StatusBadRequest: // within an answer, or a redirect
		return llm.ClassNetwork
	}
	return status
}

// Failure implements [provider.Fault].
func (f *fault) Failure(secrets ...string) *llm.Error {
	e := &llm.Error{Class: f.class(), Status: f.status, Message: provider.Clean(f.message, secrets...), RetryAfter: f.retryAfter}
	switch {
	case f.memory():
		e.Message += "; a smaller model fits, or a smaller context_window"
	case f.status >= http.StatusMultipleChoices && f.status < http.StatusBadRequest:
		e.Message += "; the address sends elsewhere: check base_url"
	case f.status == http.StatusNotFound && !f.ours:
		e.Message += "; there is no Ollama at this address: check base_url"
	case e.Class == llm.ClassNoModel && f.says("not found"):
		e.Message += "; fetch it with ollama pull"
	case e.Class == llm.ClassAuth:
		e.Message += "; models in the cloud need ollama signin on the server, or a key"
	}
	return e
}

// unreachable is why no answer came, for people.
func (m *Model) unreachable(err error) error {
	if e := (*llm.Error)(nil); errors.As(err, &e) && errors.Is(err, syscall.ECONNREFUSED) {
		e.Message = "nothing answers at " + m.server.Base + ": is Ollama running? Start it with ollama serve"
	}
	return err
}
