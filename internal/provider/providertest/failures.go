package providertest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// classes is what each fault is sorted as.
var classes = map[string]llm.Class{
	fakellm.Overloaded: llm.ClassOverloaded, fakellm.Unavailable: llm.ClassOverloaded, fakellm.RateLimit: llm.ClassOverloaded,
	fakellm.ServerError: llm.ClassNetwork, fakellm.Quota: llm.ClassQuota, fakellm.Billing: llm.ClassBilling, fakellm.WrongKey: llm.ClassAuth,
	fakellm.NoModel: llm.ClassNoModel, fakellm.TooLong: llm.ClassTooLong, fakellm.BadRequest: llm.ClassBadRequest, fakellm.BadMedia: llm.ClassBadRequest,
	// What it is sorted as matters nowhere: the request is made again without.
	fakellm.NoTools: "",
}

// has reports whether the vendor has words for a fault.
func (v Vendor) has(fault string) bool { return !slices.Contains(v.Without, fault) }

// failures are those that the vendor documents, as an answer and within one.
func failures(t *testing.T, v Vendor) {
	for _, kind := range fakellm.Faults {
		if !v.has(kind) {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			v.fails(t, fakellm.Answer{Fault: kind}, classes[kind])
		})
	}
	// What a stream can still end with once it has begun.
	for _, kind := range []string{fakellm.Overloaded, fakellm.ServerError} {
		t.Run(kind+" within an answer", func(t *testing.T) {
			t.Parallel()
			v.fails(t, fakellm.Answer{Text: "Hel", Fault: kind}, classes[kind])
		})
	}
}

// fails wants an answer to be one failure of a class, told without the key.
func (v Vendor) fails(t *testing.T, a fakellm.Answer, class llm.Class) {
	t.Helper()
	s := fakellm.Start(t, a)
	got := ask(t.Context(), v.at(s, provider.Limits{}), v.request())
	var e *llm.Error
	if !errors.As(got.err, &e) || got.reply != nil {
		t.Fatalf("%v, %+v", got.err, got.reply)
	}
	if class != "" && e.Class != class || e.Message == "" || e.Target.Provider != "test" || strings.Contains(e.Error(), key) || len([]rune(e.Message)) > 400 {
		t.Errorf("class %s, want %s: %+v", e.Class, class, e)
	}
	if len(s.Requests()) != 1 {
		t.Errorf("%d requests", len(s.Requests()))
	}
}

// brokenAnswers are what no vendor documents and every one sends at times.
func brokenAnswers(t *testing.T, v Vendor) {
	page := "<html>\n<head><title>502 Bad Gateway</title></head><body>" + strings.Repeat("x", 5000) + "</body></html>"
	html := map[string]string{"Content-Type": "text/html"}
	for _, test := range []struct {
		name    string
		answer  fakellm.Answer
		class   llm.Class
		message string // a part of it
	}{
		{"a page with a status", fakellm.Answer{Status: 502, Body: page, Header: html}, llm.ClassNetwork, "502 Bad Gateway"},
		{"a page in place of an answer", fakellm.Answer{Raw: []string{page}, Header: html}, llm.ClassUnknown, "an HTML page instead of an answer: 502 Bad Gateway"},
		{"words in place of an answer", fakellm.Answer{Raw: []string{"Please sign in."}, Header: map[string]string{"Content-Type": "text/plain"}}, llm.ClassUnknown, "Please sign in."},
		{"JSON of something else", fakellm.Answer{Raw: []string{`{"hello":"world"}`}, Header: map[string]string{"Content-Type": "application/json"}}, llm.ClassUnknown, "format"},
		{"an empty body", fakellm.Answer{Raw: []string{""}}, llm.ClassNetwork, "broke off"},
		{"a status without a body", fakellm.Answer{Status: 500, Body: ""}, llm.ClassNetwork, ""},
		{"a status of overload alone", fakellm.Answer{Status: 529, Body: ""}, llm.ClassOverloaded, ""},
		{"an echo of the key", fakellm.Answer{Status: 401, Body: `{"error":{"message":"the key ` + key + ` is wrong"}}`}, llm.ClassAuth, "***"},
		{"no end", fakellm.Answer{Text: "Hel", Finish: "none", Break: "middle"}, llm.ClassNetwork, "broke off"},
		{"reset before the answer", fakellm.Answer{Break: "before"}, llm.ClassNetwork, ""},
		{"reset within a call", fakellm.Answer{Calls: []fakellm.Call{fakellm.Use("file_read", `{"path":"a"}`)}, Break: "middle"}, llm.ClassNetwork, "broke off"},
		{"sent elsewhere", fakellm.Answer{Status: 307, Body: " ", Header: map[string]string{"Location": "http://127.0.0.1:1/"}}, llm.ClassNetwork, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.Start(t, test.answer)
			got := ask(t.Context(), v.at(s, provider.Limits{}), v.request())
			var e *llm.Error
			if !errors.As(got.err, &e) || got.reply != nil {
				t.Fatalf("%v, %+v", got.err, got.reply)
			}
			if e.Class != test.class || !strings.Contains(e.Message, test.message) || strings.Contains(e.Error(), key) || len([]rune(e.Message)) > 400 {
				t.Errorf("class %s: %s", e.Class, e.Message)
			}
		})
	}
}
