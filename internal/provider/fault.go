package provider

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/goclaw/goclaw/internal/llm"
)

// StatusClass sorts an HTTP status by what can be done about it, for answers
// that say no more.
func StatusClass(status int) llm.Class {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return llm.ClassAuth
	case http.StatusPaymentRequired:
		return llm.ClassBilling
	case http.StatusNotFound:
		return llm.ClassNoModel
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusGone, http.StatusLengthRequired,
		http.StatusRequestURITooLong, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusRequestHeaderFieldsTooLarge:
		return llm.ClassBadRequest
	case http.StatusRequestEntityTooLarge:
		return llm.ClassTooLong
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, 529:
		return llm.ClassOverloaded
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		return llm.ClassNetwork
	}
	if status >= 500 {
		return llm.ClassNetwork
	}
	return llm.ClassUnknown // of which nobody says that it is our own fault
}

// RetryAfter is what the header of an answer asks to wait: retry-after-ms, or
// Retry-After as seconds or as a date. 0 when it asks nothing that can be
// understood.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 && s < 1e9 {
		return time.Duration(s * float64(time.Second))
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}

// Unreachable turns an error of a connection into one for people. The cause is
// kept without the request that failed, which holds the key.
func Unreachable(err error, secrets ...string) *llm.Error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	e := &llm.Error{Class: llm.ClassNetwork, Message: Clean(withoutPort(err), secrets...), Err: err}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Message = "the connection timed out"
	}
	return e
}

// withoutPort is what err says, of a connection that broke off without its port
// on this machine, which tells nobody anything.
func withoutPort(err error) string {
	var op *net.OpError
	if !errors.As(err, &op) || op.Source == nil || op.Addr == nil || op.Err == nil {
		return err.Error()
	}
	cause := op.Err
	if call := (*os.SyscallError)(nil); errors.As(cause, &call) {
		cause = call.Err
	}
	return strings.Replace(err.Error(), op.Error(), fmt.Sprintf("%s: %v", op.Addr, cause), 1)
}

const (
	// maxMessage bounds the message of an error, in characters.
	maxMessage = 300
	// minSecret is the length from which a value is masked wherever it stands:
	// shorter ones are parts of words.
	minSecret = 8
)

// Clean makes a provider's message fit to be shown and logged: on one line, at
// most 300 characters, an HTML page reduced to its title, and neither the
// given secrets nor what looks like a key in it.
func Clean(message string, secrets ...string) string {
	for _, s := range secrets {
		if len(s) >= minSecret {
			message = masked(message, s)
		}
	}
	p := cleaning()
	if p.html.MatchString(message) {
		title := p.title.FindStringSubmatch(message)
		message = "an HTML page instead of an answer"
		if title != nil {
			message += ": " + title[1]
		}
	}
	message = p.bearer.ReplaceAllString(message, "${1}***")
	message = p.key.ReplaceAllString(message, "***")
	return clip(strings.Join(strings.FieldsFunc(message, unprintable), " "), maxMessage)
}

// masked is message without a secret, as it is and as it stands in addresses, and
// without its beginning at the end of a message that was cut within it.
func masked(message, secret string) string {
	for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
		message = strings.ReplaceAll(message, form, "***")
		for n := len(form) - 1; n >= minSecret; n-- {
			if rest, ok := strings.CutSuffix(message, form[:n]); ok {
				message = rest + "***"
				break
			}
		}
	}
	return message
}

func unprintable(r rune) bool {
	return unicode.IsSpace(r) || !unicode.IsPrint(r) && !unicode.IsGraphic(r)
}

// clip shortens s to n characters, the last one then being an ellipsis.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	count := 0
	cut := 0
	for i := range s {
		if count == n-1 {
			cut = i
		}
		if count++; count > n {
			return s[:cut] + "…"
		}
	}
	return s
}

type patterns struct{ html, title, bearer, key *regexp.Regexp }

// cleaning compiles its patterns when an error is first shown.
var cleaning = sync.OnceValue(func() patterns {
	return patterns{
		html:   regexp.MustCompile(`(?i)^\s*(<!doctype html|<html|<head|<body)`),
		title:  regexp.MustCompile(`(?is)<title[^>]*>\s*(.*?)\s*</title>`),
		bearer: regexp.MustCompile(`(?i)\b(bearer\s+|basic\s+|x-api-key:\s*|api[-_ ]?key["']?\s*[:=]\s*["']?)[^\s"',;)]{6,}`),
		key:    regexp.MustCompile(`\b(sk|pk|rk|gsk|xai|ant|pplx|nvapi)[-_][A-Za-z0-9*._-]{6,}|\bAIza[A-Za-z0-9_-]{16,}`),
	}
})
