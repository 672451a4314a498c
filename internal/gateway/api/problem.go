package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Problem is an error as a client reads it (RFC 9457).
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Detail says what happened and what to do.
	Detail string `json:"detail"`
	// Code is one stable word.
	Code string `json:"code"`
	// Request names the request in the log.
	Request string `json:"request_id,omitempty"`
	// Outcome is that of a tool call that was refused.
	Outcome any `json:"outcome,omitempty"`

	param string        // the field of an OpenAI request that it is about; empty for none
	after time.Duration // when to try again; 0 for no word about it
}

func (p *Problem) Error() string { return p.Detail }

// OpenAIProblem is an error under /v1, where clients expect OpenAI's form.
type OpenAIProblem struct {
	Error OpenAIFault `json:"error"`
}

// OpenAIFault says what went wrong.
type OpenAIFault struct {
	// Message says what happened and what to do.
	Message string `json:"message"`
	// Type is invalid_request_error, rate_limit_error or server_error.
	Type string `json:"type"`
	// Param is the field that is wrong, null where it is not about one.
	Param *string `json:"param" jsonschema:"oneof_type=string;null"`
	// Code is one stable word.
	Code string `json:"code"`
}

// problem makes a problem with a formatted detail.
func problem(status int, code, format string, args ...any) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) *Problem {
	return problem(http.StatusBadRequest, "bad_request", format, args...)
}

// badField is badRequest about one field of an OpenAI request.
func badField(path, format string, args ...any) *Problem {
	p := badRequest("%s: %s", path, fmt.Sprintf(format, args...))
	p.param = path
	return p
}

func notFound(format string, args ...any) *Problem {
	return problem(http.StatusNotFound, "not_found", format, args...)
}

// NoTool says that nothing has a tool of that name.
func NoTool(name string) *Problem {
	return notFound("nothing that is compiled in, installed or connected has a tool %q", name)
}

// oneOf lists what a value can be, for the end of a sentence.
func oneOf[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = string(v)
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func tooLarge(limit int64) *Problem {
	return problem(http.StatusRequestEntityTooLarge, "too_large", "the body may have %s at most", size(limit))
}

// size writes a limit in bytes for people, exactly.
func size(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// problemOf is what a client is told of err, and whether err is the gateway's
// own fault, of which a client is told only where to look: admins too, since
// such errors name files and addresses and nobody has looked at their words.
func problemOf(err error) (p *Problem, internal bool) {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p, false
	case errors.As(err, &large):
		return tooLarge(large.Limit), false
	case errors.Is(err, os.ErrDeadlineExceeded):
		return problem(http.StatusRequestTimeout, "timeout", "the body came too slowly; send it again"), false
	case errors.Is(err, errRevoked):
		return unauthorized("the token was revoked or has expired"), false
	case errors.Is(err, errClosing):
		return stopping(), false
	}
	return problem(http.StatusInternalServerError, "internal", "internal error; the gateway's log says more under this request id"), true
}

func stopping() *Problem {
	p := problem(http.StatusServiceUnavailable, "unavailable", "the gateway is stopping; try again in a moment")
	p.after = stoppingFor
	return p
}

// stoppingFor is when to ask again whether another gateway has started.
const stoppingFor = 5 * time.Second

// unstorable says that nothing can be stored at the moment.
func unstorable() *Problem {
	p := problem(http.StatusServiceUnavailable, "storage", "the gateway can't store anything, its disk may be full; an admin sees why in its status. Try again when that is mended")
	p.after = mending
	return p
}

// mending is when to ask again whether the gateway can store what is said.
const mending = 10 * time.Second

// starting is when to ask again whether the gateway is ready.
const starting = time.Second

// challenge says how to ask (RFC 6750, 3).
const challenge = `Bearer realm="goclaw"`

// retryAfter is a delay for the header Retry-After, in whole seconds.
func retryAfter(d time.Duration) string { return strconv.Itoa(max(1, int(math.Ceil(d.Seconds())))) }

// fail answers with err, unless the answer has begun: then all that is left is
// to cut it, so that nobody takes it for whole.
func (s *Server) fail(w *response, r *http.Request, err error) {
	// Why the request was ended says more than that it was.
	if cause := context.Cause(r.Context()); errors.Is(cause, errRevoked) || errors.Is(cause, errClosing) {
		err = cause
	}
	p, internal := problemOf(err)
	gone := r.Context().Err() != nil
	if internal && !gone {
		s.opts.Log.Error("answer a request", "request", w.id, "method", r.Method, "path", r.URL.Path, "user", w.user, "err", err)
		if s.opts.Backend.Status(r.Context()).Fault != nil {
			p = unstorable() // what anybody can mend, and nobody by looking for a fault of ours
		}
	}
	if w.status != 0 {
		if !w.stream {
			panic(http.ErrAbortHandler)
		}
		return
	}
	told := *p
	told.Request = w.id
	if told.after > 0 {
		w.Header().Set("Retry-After", retryAfter(told.after))
	}
	if told.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", challenge)
	}
	if r.ContentLength != 0 && (!w.handled || told.Status == http.StatusRequestEntityTooLarge || told.Status == http.StatusRequestTimeout) {
		// Else net/http would wait for the body, only to throw it away, before
		// it sends the answer.
		w.Header().Set("Connection", "close")
	}
	if strings.HasPrefix(r.URL.Path, "/v1/") {
		w.Header().Set("Content-Type", "application/json")
		writeError(w, told.Status, told.openAI())
		return
	}
	writeProblem(w, &told)
}

// openAI is the problem in OpenAI's form.
func (p *Problem) openAI() OpenAIProblem {
	kind := "invalid_request_error"
	switch {
	case p.Status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case p.Status >= 500:
		kind = "server_error"
	}
	detail := p.Detail
	if p.Code == "internal" {
		detail += " (" + p.Request + ")"
	}
	f := OpenAIFault{Message: detail, Type: kind, Code: p.Code}
	if p.param != "" {
		f.Param = &p.param
	}
	return OpenAIProblem{f}
}

func writeProblem(w http.ResponseWriter, p *Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	writeError(w, p.Status, p)
}

func writeError(w http.ResponseWriter, status int, v any) {
	w.WriteHeader(status)
	// The client may be gone; nobody is left to tell.
	_ = json.NewEncoder(w).Encode(toldBy(w, v))
}
