package wire

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// Scan reads JSON without building anything from it. It differs from
// encoding/json where data would be lost: a string's bytes come as they are,
// even when a letter is cut between two strings, and half of a surrogate pair
// is kept (in the three bytes that UTF-8 would give it) so that the other half
// can join it. It takes control characters in strings, as some servers send
// them.
//
// After a fault all methods do nothing and ok is false.
type Scan struct {
	b      []byte
	i      int
	bad    bool
	strict bool
}

// NewScan reads what a server sent.
func NewScan(b []byte) *Scan { return &Scan{b: b} }

// NewStrictScan refuses what is forgiven when it is received but may not be
// sent out: control characters in strings, and escapes that are half of a
// surrogate pair.
func NewStrictScan(b []byte) *Scan { return &Scan{b: b, strict: true} }

// Offset is how many bytes have been read.
func (s *Scan) Offset() int { return s.i }

// maxDepth bounds how deep values may be nested.
const maxDepth = 500

// OK reports whether there was no fault.
func (s *Scan) OK() bool { return !s.bad }

func (s *Scan) fail() {
	s.bad = true
	s.i = len(s.b)
}

// Peek is the first byte of the next token, 0 at the end.
func (s *Scan) Peek() byte {
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return c
		}
	}
	return 0
}

// Open enters an object or array. When the next value is something else it is
// skipped and open reports false.
func (s *Scan) Open(bracket byte) bool {
	if s.Peek() != bracket {
		s.Skip()
		return false
	}
	s.i++
	return true
}

// More reports whether another element follows, and leaves the object or array
// behind when none does. first is true before the first element.
func (s *Scan) More(closing byte, first *bool) bool {
	c := s.Peek()
	switch {
	case s.bad || c == 0:
		s.fail()
		return false
	case c == closing:
		s.i++
		return false
	case *first:
		*first = false
		return true
	case c == ',':
		s.i++
		if s.Peek() == closing {
			s.fail()
			return false
		}
		return true
	}
	s.fail()
	return false
}

// Key reads the name of a member. The bytes belong to the input unless the
// name has escapes.
func (s *Scan) Key() []byte {
	k, _ := s.stringBytes(nil)
	if s.Peek() != ':' {
		s.fail()
		return nil
	}
	s.i++
	return k
}

// stringBytes reads a string. Without escapes the bytes belong to the input,
// else own is true and they were appended to dst.
func (s *Scan) stringBytes(dst []byte) (b []byte, own bool) {
	if s.Peek() != '"' {
		s.fail()
		return nil, false
	}
	begin := s.i + 1
	quote := bytes.IndexByte(s.b[begin:], '"')
	if quote < 0 {
		s.fail()
		return nil, false
	}
	if plain := s.b[begin : begin+quote]; bytes.IndexByte(plain, '\\') < 0 {
		if s.strict && hasControl(plain) {
			s.fail()
			return nil, false
		}
		s.i = begin + quote + 1
		return plain, false
	}
	s.i = begin
	return s.unescape(dst), true
}

// unescape reads the rest of a string behind its opening quote.
func (s *Scan) unescape(dst []byte) []byte {
	for s.i < len(s.b) {
		c := s.b[s.i]
		switch c {
		case '"':
			s.i++
			return dst
		case '\\':
			dst = s.escape(dst)
		default:
			if s.strict && c < ' ' {
				s.fail()
				return nil
			}
			dst = append(dst, c)
			s.i++
		}
	}
	s.fail()
	return nil
}

func hasControl(b []byte) bool {
	for _, c := range b {
		if c < ' ' {
			return true
		}
	}
	return false
}

// escape reads one escape and appends what it stands for.
func (s *Scan) escape(dst []byte) []byte {
	if s.i+1 >= len(s.b) {
		s.fail()
		return dst
	}
	c := s.b[s.i+1]
	s.i += 2
	switch c {
	case '"', '\\', '/':
		return append(dst, c)
	case 'b':
		return append(dst, '\b')
	case 'f':
		return append(dst, '\f')
	case 'n':
		return append(dst, '\n')
	case 'r':
		return append(dst, '\r')
	case 't':
		return append(dst, '\t')
	case 'u':
		r, ok := s.hex()
		if !ok {
			s.fail()
			return dst
		}
		if isHigh(r) && s.i+1 < len(s.b) && s.b[s.i] == '\\' && s.b[s.i+1] == 'u' {
			at := s.i
			s.i += 2
			if low, ok := s.hex(); ok && isLow(low) {
				return utf8.AppendRune(dst, join(r, low))
			}
			s.i = at
		}
		if s.strict && (isHigh(r) || isLow(r)) {
			s.fail()
			return dst
		}
		return appendWTF8(dst, r)
	}
	s.fail()
	return dst
}

// hex reads four hexadecimal digits.
func (s *Scan) hex() (rune, bool) {
	if s.i+4 > len(s.b) {
		return 0, false
	}
	var r rune
	for _, c := range s.b[s.i : s.i+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	s.i += 4
	return r, true
}

// Text reads a string and passes over any other value: ok tells which it was.
// The bytes are valid until scratch is used again.
func (s *Scan) Text(scratch *[]byte) (b []byte, ok bool) {
	if s.Peek() != '"' {
		s.Skip()
		return nil, false
	}
	b, own := s.stringBytes((*scratch)[:0])
	if own {
		*scratch = b[:0]
	}
	return b, !s.bad
}

// Integer reads a number, or a string that holds one; ok is false for any
// other value.
func (s *Scan) Integer() (n int64, ok bool) {
	raw := s.Raw()
	raw = bytes.Trim(raw, `"`)
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != f || f > 1<<62 || f < -1<<62 {
		return 0, false
	}
	return int64(f), true
}

// Raw reads any value and returns its bytes.
func (s *Scan) Raw() []byte {
	s.Peek()
	begin := s.i
	s.Skip()
	if s.bad {
		return nil
	}
	return s.b[begin:s.i]
}

// Skip passes over one value.
func (s *Scan) Skip() { s.skipNested(0) }

func (s *Scan) skipNested(depth int) {
	if depth > maxDepth {
		s.fail()
		return
	}
	switch c := s.Peek(); c {
	case '"':
		s.skipString()
	case '{':
		s.i++
		for first := true; s.More('}', &first); {
			s.Key()
			s.skipNested(depth + 1)
		}
	case '[':
		s.i++
		for first := true; s.More(']', &first); {
			s.skipNested(depth + 1)
		}
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.number()
	}
}

// skipString passes over a string, escapes checked.
func (s *Scan) skipString() {
	s.i++
	for s.i < len(s.b) {
		rest := s.b[s.i:]
		quote := bytes.IndexByte(rest, '"')
		if quote < 0 {
			break
		}
		slash := bytes.IndexByte(rest[:quote], '\\')
		plain := rest[:quote]
		if slash >= 0 {
			plain = rest[:slash]
		}
		if s.strict && hasControl(plain) {
			break
		}
		if slash < 0 {
			s.i += quote + 1
			return
		}
		s.i += slash
		var scratch [8]byte
		s.escape(scratch[:0])
	}
	s.fail()
}

func (s *Scan) literal(word string) {
	if !bytes.HasPrefix(s.b[s.i:], []byte(word)) {
		s.fail()
		return
	}
	s.i += len(word)
}

func (s *Scan) number() {
	digits := func() bool {
		begin := s.i
		for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
			s.i++
		}
		return s.i > begin
	}
	at := func(c byte) bool { return s.i < len(s.b) && s.b[s.i] == c }
	if at('-') {
		s.i++
	}
	if at('0') {
		s.i++
	} else if !digits() {
		s.fail()
		return
	}
	if at('.') {
		s.i++
		if !digits() {
			s.fail()
			return
		}
	}
	if at('e') || at('E') {
		s.i++
		if at('+') || at('-') {
			s.i++
		}
		if !digits() {
			s.fail()
		}
	}
}

// End reports whether the input held exactly the values that were read.
func (s *Scan) End() bool { return s.Peek() == 0 && s.i == len(s.b) && !s.bad }

func isHigh(r rune) bool       { return r >= 0xD800 && r < 0xDC00 }
func isLow(r rune) bool        { return r >= 0xDC00 && r < 0xE000 }
func join(high, low rune) rune { return 0x10000 + (high-0xD800)<<10 + (low - 0xDC00) }

// appendWTF8 appends r, which may be half of a surrogate pair, in as many
// bytes as UTF-8 would use for it.
func appendWTF8(dst []byte, r rune) []byte {
	if r < 0xD800 || r >= 0xE000 {
		return utf8.AppendRune(dst, r)
	}
	return append(dst, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0xBF, 0x80|byte(r)&0xBF)
}
