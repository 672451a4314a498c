package telemetry

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Wrap counts the requests that next answers. A route is named by its pattern,
// never by the path, which anybody can make up; next is or holds an
// [http.ServeMux] that gets the request itself.
func (m *Metrics) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		a := &answer{ResponseWriter: w, m: m, r: r}
		// Also when the handler panics to end the answer, as streams do.
		defer func() {
			route := routeOf(r)
			if a.stream {
				m.stream.add(-1, route)
			} else {
				m.requestTime.observe(time.Since(began).Seconds(), route)
			}
			if a.status == 0 {
				a.status = http.StatusOK
			}
			m.requests.add(1, route, strconv.Itoa(a.status))
		}()
		next.ServeHTTP(a, r)
	})
}

// routeOf is the method and the pattern of a request.
func routeOf(r *http.Request) string {
	switch {
	case r.Pattern == "":
		return "none"
	case strings.Contains(r.Pattern, " "):
		return r.Pattern
	case slices.Contains(methods, r.Method):
		return r.Method + " " + r.Pattern
	}
	return other + " " + r.Pattern
}

// methods are those that get a series of their own.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// answer notes the status of an answer and whether it is a stream.
type answer struct {
	http.ResponseWriter
	m      *Metrics
	r      *http.Request
	status int
	stream bool
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= 200 {
		a.status = status
		if strings.HasPrefix(a.Header().Get("Content-Type"), "text/event-stream") {
			a.stream = true
			a.m.stream.add(1, routeOf(a.r))
		}
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	return a.ResponseWriter.Write(b)
}

// FlushError is for [http.ResponseController], which tells by it that a client
// doesn't read any more.
func (a *answer) FlushError() error {
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
