package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxEvent bounds one event of a stream, and a body that is no stream.
const maxEvent = 32 << 20

// ErrTooLarge ends a stream with an event over 32 MiB.
var ErrTooLarge = fmt.Errorf("one event of the answer has more than %d MiB", maxEvent>>20)

// Events reads server-sent events as the WHATWG describes them: lines end with
// LF, CR or CRLF, the data lines of an event are joined by a line feed,
// comments are passed over. It forgives an event that is not closed by an
// empty line before the stream ends.
type Events struct {
	r     io.Reader
	heard func() // called when bytes came

	buf        []byte
	start, end int   // buf[start:end] holds what was read and not given away
	line       int   // where the current line begins, counted from start
	searched   int   // up to where no line end was found, counted from start
	afterCR    bool  // a line feed that comes now belongs to the line before
	err        error // how reading ended

	joined []byte // data of several lines
	stray  []byte // what stands between events and belongs to none
}

// NewEvents reads from r; heard is called whenever bytes came.
func NewEvents(r io.Reader, heard func()) *Events {
	return &Events{r: r, heard: heard, buf: make([]byte, 4<<10)}
}

// Err is how reading ended; nil while it has not.
func (e *Events) Err() error { return e.err }

// fill reads once more and reports whether that gave bytes.
func (e *Events) fill() bool {
	if e.err != nil {
		return false
	}
	if e.start > 0 && (e.start == e.end || e.end == len(e.buf)) {
		e.end = copy(e.buf, e.buf[e.start:e.end])
		e.start = 0
	}
	if e.end == len(e.buf) {
		if len(e.buf) >= maxEvent {
			e.err = ErrTooLarge
			return false
		}
		e.buf = append(e.buf, make([]byte, len(e.buf))...)
	}
	for range 100 {
		n, err := e.r.Read(e.buf[e.end:])
		e.err = err
		if n > 0 {
			e.end += n
			e.heard()
			return true
		}
		if err != nil {
			return false
		}
	}
	e.err = io.ErrNoProgress
	return false
}

// First is the first byte that is neither white space nor part of a byte order
// mark. ok is false when there is none.
func (e *Events) First() (c byte, ok bool) {
	for i := 0; ; i++ {
		for e.start+i >= e.end {
			if !e.fill() {
				return 0, false
			}
		}
		switch c := e.buf[e.start+i]; c {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF:
		default:
			return c, true
		}
	}
}

// Buffered is what was read and not given away, without what First skips.
func (e *Events) Buffered() []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(bytes.TrimLeft(e.buf[e.start:e.end], space), ByteOrderMark), space)
}

// IsStream reports whether an answer of this content type is a stream of
// events: it says so, or begins like one. Call First before.
func (e *Events) IsStream(contentType string) bool {
	if strings.HasPrefix(contentType, "text/event-stream") {
		return true
	}
	held := e.Buffered()
	for _, field := range []string{"data:", "event:", "id:", "retry:", ":"} {
		if n := min(len(field), len(held)); string(held[:n]) == field[:n] {
			return true
		}
	}
	return false
}

// Rest reads all that is left.
func (e *Events) Rest() ([]byte, error) {
	for e.fill() {
	}
	body := e.buf[e.start:e.end]
	e.start = e.end
	if errors.Is(e.err, io.EOF) {
		return body, nil
	}
	return body, e.err
}

// Next returns the data of the next event that has any. The bytes are valid
// until Next is called again. The error is io.EOF at the end of the stream.
func (e *Events) Next() ([]byte, error) {
	e.drop()
	var data span
	have := false
	e.joined = e.joined[:0]
	for {
		s, ended := e.readLine()
		line := e.bytes(s)
		switch {
		case !ended && len(line) == 0:
			if have {
				return e.data(data), nil
			}
			return nil, e.err
		case len(line) == 0:
			if have {
				return e.data(data), nil
			}
			e.drop()
			continue
		}
		value, isData := dataField(line)
		if !isData {
			if !have {
				e.keep(line)
				e.drop()
			}
			continue
		}
		v := span{s.end - len(value), s.end}
		if !have {
			data, have = v, true
			continue
		}
		if len(e.joined) == 0 {
			e.joined = append(e.joined, e.bytes(data)...)
		}
		e.joined = append(append(e.joined, '\n'), e.bytes(v)...)
		if len(e.joined) > maxEvent {
			return nil, ErrTooLarge
		}
	}
}

// maxStray bounds what [Events.Stray] keeps.
const maxStray = 64 << 10

// keep keeps a line that may be of a document.
func (e *Events) keep(line []byte) {
	if begins := line[0] == '{' || line[0] == '['; (begins || len(e.stray) > 0) && len(e.stray)+len(line) < maxStray {
		e.stray = append(append(e.stray, line...), '\n')
	}
}

// Stray is the document that stood between events: some servers break a stream
// off with an error in the form that it has elsewhere. Empty when there is none.
func (e *Events) Stray() []byte { return e.stray }

// Line returns the next line that is not blank, without white space around it,
// for streams whose pieces are lines. The bytes are valid until Line is called
// again. The error is io.EOF at the end of the stream.
func (e *Events) Line() ([]byte, error) {
	for {
		e.drop()
		s, ended := e.readLine()
		line := bytes.Trim(bytes.TrimPrefix(e.bytes(s), ByteOrderMark), space)
		switch {
		case !ended && !errors.Is(e.err, io.EOF), !ended && len(line) == 0:
			return nil, e.err
		case len(line) > 0:
			return line, nil
		}
	}
}

// drop gives away the lines that were read.
func (e *Events) drop() {
	e.start += e.line
	e.searched -= e.line
	e.line = 0
}

// span is a part of what was read, counted from start.
type span struct{ begin, end int }

func (e *Events) bytes(s span) []byte { return e.buf[e.start+s.begin : e.start+s.end] }

func (e *Events) data(first span) []byte {
	if len(e.joined) > 0 {
		return e.joined
	}
	return e.bytes(first)
}

// readLine moves behind the next line. ended is false when the stream ended
// before the line did.
func (e *Events) readLine() (s span, ended bool) {
	for {
		held := e.buf[e.start:e.end]
		if e.afterCR && e.line < len(held) {
			e.afterCR = false
			if held[e.line] == '\n' {
				e.line++
				e.searched = max(e.searched, e.line)
			}
		}
		if i := lineEnd(held[e.searched:]); i >= 0 {
			end := e.searched + i
			s = span{e.line, end}
			e.afterCR = held[end] == '\r'
			e.line = end + 1
			e.searched = e.line
			return s, true
		}
		e.searched = len(held)
		if !e.fill() {
			s = span{e.line, e.end - e.start}
			e.line = s.end
			return s, false
		}
	}
}

// lineEnd is the index of the first CR or LF in b, -1 when there is none.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf < 0 {
		return bytes.IndexByte(b, '\r')
	}
	if cr := bytes.IndexByte(b[:lf], '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// ByteOrderMark is what some servers begin with.
var ByteOrderMark = []byte("\xEF\xBB\xBF")

var dataName = []byte("data")

const space = " \t\r\n"

// dataField returns the value of a line "data: value". The first line may
// begin with a byte order mark.
func dataField(line []byte) (value []byte, ok bool) {
	line = bytes.TrimPrefix(line, ByteOrderMark)
	rest, ok := bytes.CutPrefix(line, dataName)
	if !ok {
		return nil, false
	}
	if len(rest) == 0 {
		return rest, true
	}
	if rest[0] != ':' {
		return nil, false
	}
	rest = rest[1:]
	if len(rest) > 0 && rest[0] == ' ' {
		rest = rest[1:]
	}
	return rest, true
}
