package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/lib/jsonstring"
)

const (
	// keepAlive is how often a stream that has nothing to say shows that it lives.
	keepAlive = 15 * time.Second
	// sendWithin is how long a client may take to read what was sent.
	sendWithin = 30 * time.Second
)

// errUnwritable says that an event has no form on the wire.
var errUnwritable = errors.New("encode an event")

// ours is err when the gateway is at fault, and not the client that left or
// doesn't read: nobody is left to tell then.
func ours(err error) error {
	if errors.Is(err, errUnwritable) {
		return err
	}
	return nil
}

// stream writes server-sent events. It is safe for concurrent use.
type stream struct {
	mu  sync.Mutex
	w   http.ResponseWriter
	ctl *http.ResponseController
	buf []byte        // what goes out with the next flush
	enc *json.Encoder // writes to buf

	begun bool // something was sent
}

// newStream answers with a stream of events, which begins with what is sent
// first: until then there can be another answer.
func newStream(w http.ResponseWriter) *stream {
	s := &stream{w: w, ctl: http.NewResponseController(w)}
	s.enc = json.NewEncoder(appender{s})
	s.enc.SetEscapeHTML(false)
	return s
}

// begin begins the answer. It sends nothing else: OpenAI's library for Python
// takes each block of lines for an event with data. The caller holds the lock.
func (s *stream) begin() {
	if s.begun {
		return
	}
	s.begun = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies that buffer would hold events back
	s.w.WriteHeader(http.StatusOK)
}

// newEventStream is newStream for browsers, which come again by themselves: it
// says after how many milliseconds.
func newEventStream(w http.ResponseWriter) (*stream, error) {
	s := newStream(w)
	return s, s.write("retry: 1000\n\n")
}

// appender lets a JSON encoder write to a stream's buffer.
type appender struct{ s *stream }

func (a appender) Write(b []byte) (int, error) {
	a.s.buf = append(a.s.buf, b...)
	return len(b), nil
}

// send writes one event; data is written as JSON. An empty id or event is left
// out.
func (s *stream) send(id, event string, data any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.append(id, event, data); err != nil {
		return err
	}
	return s.flush()
}

// write writes raw lines: a comment, or what another protocol wants.
func (s *stream) write(lines string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf = append(s.buf, lines...)
	return s.flush()
}

// sendAll writes items in one piece.
func (s *stream) sendAll(items []item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range items {
		if err := s.appendItem(&items[i]); err != nil {
			return err
		}
		if len(s.buf) >= pieceSize {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return s.flush()
}

// pieceSize bounds how much is written at once, in bytes: a client has
// sendWithin for each piece.
const pieceSize = 64 << 10

// append puts an event behind what goes out next. The caller holds the lock.
func (s *stream) append(id, event string, data any) error {
	begin := len(s.buf)
	if id != "" {
		s.buf = append(append(append(s.buf, "id: "...), id...), '\n')
	}
	if event != "" {
		s.buf = append(append(append(s.buf, "event: "...), event...), '\n')
	}
	s.buf = append(s.buf, "data: "...)
	if err := s.enc.Encode(toldBy(s.w, data)); err != nil { // ends with a line break
		s.buf = s.buf[:begin]
		return fmt.Errorf("%w: %w", errUnwritable, err)
	}
	s.buf = append(s.buf, '\n')
	return nil
}

// appendItem is append for what a feed held. Chunks of text are most of what
// is ever sent, so nothing is allocated for them.
func (s *stream) appendItem(it *item) error {
	if it.name != "" {
		return s.append("", it.name, it.data)
	}
	begin := len(s.buf)
	if !it.bare {
		s.buf = append(s.buf, "id: "...)
		s.buf = append(s.buf, it.prefix...)
		if it.kept {
			s.buf = append(s.buf, 'r')
		}
		s.buf = strconv.AppendInt(s.buf, int64(it.event.Seq), 10)
		s.buf = append(s.buf, '\n')
	}
	s.buf = append(append(append(s.buf, "event: "...), it.event.Type...), '\n')
	s.buf = append(s.buf, "data: "...)
	if isChunk(&it.event) {
		s.buf = append(appendChunk(s.buf, &it.event), '\n')
	} else if err := s.enc.Encode(toldBy(s.w, &it.event)); err != nil {
		s.buf = s.buf[:begin]
		return fmt.Errorf("%w: %w", errUnwritable, err)
	}
	s.buf = append(s.buf, '\n')
	return nil
}

// flush sends what was appended. The caller holds the lock.
func (s *stream) flush() error {
	if len(s.buf) == 0 {
		return nil
	}
	s.begin()
	_, err := s.w.Write(s.buf)
	if cap(s.buf) > 4*pieceSize {
		s.buf = nil // one large event must not cost its room for as long as the stream lives
	} else {
		s.buf = s.buf[:0]
	}
	if err != nil {
		return err
	}
	return s.ctl.Flush()
}

// lively shows from time to time that a stream which says nothing lives, until
// stop is called, which waits for it.
func (s *stream) lively() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(keepAlive)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				if s.write(": keep-alive\n\n") != nil {
					return // whoever sends next is told
				}
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// isChunk reports whether [appendChunk] can write e.
func isChunk(e *agent.Event) bool {
	return (e.Type == agent.TokenChunk || e.Type == agent.ReasoningChunk) &&
		e.Kind == "" && e.Ref == "" && e.Target == nil && e.Request == nil && e.Tool == nil && e.End == nil
}

// appendChunk writes a chunk of text as [json.Encoder] would without escaping
// HTML, and without reflecting on it.
func appendChunk(b []byte, e *agent.Event) []byte {
	b = jsonstring.Append(append(b, `{"type":`...), string(e.Type))
	b = jsonstring.Append(append(b, `,"run":`...), e.Run)
	b = jsonstring.Append(append(b, `,"session":`...), e.Session)
	if e.Agent != "" {
		b = jsonstring.Append(append(b, `,"agent":`...), e.Agent)
	}
	b = strconv.AppendInt(append(b, `,"seq":`...), int64(e.Seq), 10)
	b = e.Time.AppendFormat(append(b, `,"time":"`...), time.RFC3339Nano)
	b = append(b, '"')
	if e.Text != "" {
		b = jsonstring.Append(append(b, `,"text":`...), e.Text)
	}
	return append(b, '}')
}
