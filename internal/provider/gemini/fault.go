package gemini

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// fault is a failure as the server reports it: a google.rpc.Status.
type fault struct {
	status     int    // of the HTTP answer; 0 when it came inside a stream
	code       int    // the number in the document, which is an HTTP status too
	kind       string // the name of the code, as in RESOURCE_EXHAUSTED
	reason     string // of an ErrorInfo, as in API_KEY_INVALID
	message    string
	quotas     []string // the ids of the quotas that are used up
	retryAfter time.Duration
}

func (f *fault) Error() string { return f.message }

// status is the document of a failure.
type status struct {
	Code    int      `json:"code"`
	Message string   `json:"message"`
	Status  string   `json:"status"`
	Details []detail `json:"details"`
}

// detail is any of google.rpc's details, told apart by their members.
type detail struct {
	Reason     string `json:"reason"`
	RetryDelay string `json:"retryDelay"`
	Violations []struct {
		Metric string `json:"quotaMetric"`
		ID     string `json:"quotaId"`
		Value  string `json:"quotaValue"`
	} `json:"violations"`
}

// readFault reads the document that a failure is: an object whose error is
// another one, a list of one such, or what a proxy makes of it.
func readFault(raw []byte) *fault {
	raw = bytes.TrimSpace(raw)
	f := &fault{message: string(raw)}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		raw = list[0]
	}
	var d struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(raw, &d) != nil {
		return f
	}
	var s status
	var text string
	switch {
	case json.Unmarshal(d.Error, &text) == nil && text != "":
		f.message = text
		return f
	case json.Unmarshal(d.Error, &s) != nil && s.Message == "":
		if d.Message != "" {
			f.message = d.Message
		}
		return f
	}
	f.code, f.kind = s.Code, s.Status
	if s.Message != "" {
		f.message = s.Message
	}
	for _, d := range s.Details {
		if d.Reason != "" {
			f.reason = d.Reason
		}
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			f.retryAfter = wait
		}
		for _, v := range d.Violations {
			id := v.ID
			if v.Value == "0" {
				id += noneAtAll
			}
			f.quotas = append(f.quotas, id)
		}
	}
	return f
}

// noneAtAll marks a quota of nothing, which no waiting helps.
const noneAtAll = " (none at all)"

// answerFault reads an HTTP answer that is an error.
func answerFault(resp *http.Response, body []byte) *fault {
	f := readFault(body)
	f.status = resp.StatusCode
	if f.message == "" {
		f.message = strings.TrimSpace(http.StatusText(f.status))
	}
	if f.retryAfter == 0 {
		f.retryAfter = provider.RetryAfter(resp.Header, time.Now())
	}
	return f
}

// says reports whether any of words stands in what the server wrote.
func (f *fault) says(words ...string) bool {
	text := strings.ToLower(f.kind + " " + f.reason + " " + f.message)
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// class sorts the fault by what Google documents: the cause, where it has a
// reason or words of its own, then the name of the code, then the status.
func (f *fault) class() llm.Class {
	switch {
	case f.says("billing_disabled", "enable billing", "billing account", "prepayment credits", "requires billing"):
		return llm.ClassBilling
	// A field of a tool's schema may be called api_key: only the reason counts.
	case strings.HasPrefix(f.reason, "API_KEY_"), f.says("api key", "consumer_suspended", "service_disabled"),
		f.kind == "UNAUTHENTICATED", f.kind == "PERMISSION_DENIED":
		return llm.ClassAuth
	case f.kind == "RESOURCE_EXHAUSTED", f.status == http.StatusTooManyRequests, f.code == http.StatusTooManyRequests:
		return f.exhausted()
	case f.says("input token count", "exceeds the maximum number of tokens", "context length", "context window",
		"request payload size exceeds"):
		return llm.ClassTooLong
	case f.kind == "NOT_FOUND":
		return llm.ClassNoModel
	case f.kind == "UNAVAILABLE":
		return llm.ClassOverloaded
	case f.kind == "INTERNAL", f.kind == "DEADLINE_EXCEEDED", f.kind == "CANCELLED", f.kind == "ABORTED", f.kind == "UNKNOWN":
		return llm.ClassNetwork
	case f.kind == "FAILED_PRECONDITION": // a country that is not served: another provider may be
		return llm.ClassUnknown
	case f.kind == "INVALID_ARGUMENT", f.kind == "OUT_OF_RANGE":
		return llm.ClassBadRequest
	case f.status != 0:
		return provider.StatusClass(f.status)
	}
	return provider.StatusClass(f.code)
}

// exhausted tells the quotas that come back within a minute from those that
// don't.
func (f *fault) exhausted() llm.Class {
	for _, id := range f.quotas {
		if strings.Contains(id, "PerDay") || strings.HasSuffix(id, noneAtAll) {
			return llm.ClassQuota
		}
	}
	switch {
	case len(f.quotas) == 0 && f.retryAfter == 0 && f.says("current quota"), f.says("limit: 0,", "spending cap", "spend limit"):
		return llm.ClassQuota
	}
	return llm.ClassOverloaded
}

// Failure implements [provider.Fault].
func (f *fault) Failure(secrets ...string) *llm.Error {
	e := &llm.Error{
		Class: f.class(), Status: f.status, Code: f.reason,
		Message: provider.Clean(f.message, secrets...), RetryAfter: f.retryAfter,
	}
	if e.Code == "" {
		e.Code = f.kind
	}
	if e.Class == llm.ClassNoModel && !f.says("model") {
		e.Message += "; either the model or the address is not known there"
	}
	return e
}
