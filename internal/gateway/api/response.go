package api

import (
	"crypto/rand"
	"net/http"
	"strings"
	"time"
)

// response is what is known of the answer to one request. It passes everything
// on to the server's own writer.
type response struct {
	http.ResponseWriter
	ctl   *http.ResponseController
	id    string // names the request in the log
	watch *watch // nil while nobody is known to ask

	from sender // whose page asks

	handled bool  // the route's handler was called, and may have read the body
	status  int   // 0 until the answer begins
	bytes   int64 // of the body
	user    string
	candid  bool // an admin asks; see [response.told]
	stream  bool
}

// Unwrap lets [http.ResponseController] reach the server's own writer.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (w *response) WriteHeader(status int) {
	if w.status != 0 {
		return // the answer has begun; net/http would only complain in the log
	}
	if status >= 200 {
		w.status = status
		w.stream = strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream")
		if w.stream && w.watch != nil {
			w.watch.streams()
		}
		w.limit()
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *response) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	n := 0
	for {
		w.limit()
		piece := b[n:min(len(b), n+pieceSize)]
		m, err := w.ResponseWriter.Write(piece)
		n += m
		w.bytes += int64(m)
		if err != nil || n >= len(b) {
			return n, err
		}
	}
}

// FlushError is for [http.ResponseController].
func (w *response) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return w.ctl.Flush()
}

// Flush implements [http.Flusher], for handlers of others.
func (w *response) Flush() {
	// A writer that can't flush sends everything at the end.
	_ = w.FlushError()
}

// limit gives a client some time to read what comes next, so that one that
// doesn't read holds no goroutine. Each piece has its own time, since one for
// the whole would cut streams, and long answers on a slow line.
func (w *response) limit() {
	// Only a writer that isn't a connection's knows no deadlines.
	_ = w.ctl.SetWriteDeadline(time.Now().Add(sendWithin))
}

// requestID is the id that the client gave its request when that is harmless
// in a log, else a new one.
func requestID(h http.Header) string {
	id := h.Get("X-Request-ID")
	if id == "" || len(id) > 64 {
		return rand.Text()
	}
	for i := range len(id) {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return rand.Text()
		}
	}
	return id
}

// secure sets the headers that hold for every answer. What a page needs beyond
// them, its handler sets.
func secure(h http.Header, id string) {
	h.Set("X-Request-ID", id)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY") // for browsers that don't read frame-ancestors
}
