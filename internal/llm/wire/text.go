package wire

import (
	"strings"
	"unicode/utf8"
)

// Text collects pieces of text that a model sends. Servers that stream bytes
// or UTF-16 cut letters between two pieces: what has not become a whole code
// point waits, and only what can never become one is replaced by U+FFFD.
type Text struct {
	b     strings.Builder
	carry []byte // the beginning of a code point, or half of a surrogate pair
}

// Add takes in a piece.
func (t *Text) Add(piece []byte) {
	if len(t.carry) == 0 && utf8.Valid(piece) {
		t.b.Write(piece)
		return
	}
	t.carry = append(t.carry, piece...)
	n := t.repair(false)
	t.carry = t.carry[:copy(t.carry, t.carry[n:])]
}

// Flush ends the text: what still waits will not be completed any more.
func (t *Text) Flush() {
	if len(t.carry) > 0 {
		t.repair(true)
		t.carry = nil
	}
}

// repair writes what is complete in carry and returns how many bytes that
// were. At the end everything is written.
func (t *Text) repair(end bool) (n int) {
	for n < len(t.carry) {
		rest := t.carry[n:]
		if high, ok := surrogate(rest, isHigh); ok {
			if low, ok := surrogate(rest[3:], isLow); ok {
				t.b.WriteRune(join(high, low))
				n += 6
				continue
			}
			if !end && mayBeLow(rest[3:]) {
				return n
			}
			t.b.WriteRune(utf8.RuneError)
			n += 3
			continue
		}
		if _, ok := surrogate(rest, isLow); ok {
			t.b.WriteRune(utf8.RuneError)
			n += 3
			continue
		}
		if !end && (!utf8.FullRune(rest) || mayBeSurrogate(rest)) {
			return n
		}
		r, size := utf8.DecodeRune(rest)
		t.b.WriteRune(r)
		n += size
	}
	return n
}

// surrogate decodes a surrogate of the wanted kind at the beginning of b.
func surrogate(b []byte, kind func(rune) bool) (rune, bool) {
	if len(b) < 3 || b[0] != 0xED || b[1]&0xC0 != 0x80 || b[2]&0xC0 != 0x80 {
		return 0, false
	}
	r := rune(b[0]&0x0F)<<12 | rune(b[1]&0x3F)<<6 | rune(b[2]&0x3F)
	return r, kind(r)
}

// mayBeLow reports whether b is or may still become a low surrogate.
func mayBeLow(b []byte) bool {
	return len(b) < 3 && (len(b) < 1 || b[0] == 0xED) && (len(b) < 2 || b[1] >= 0xB0 && b[1] <= 0xBF)
}

// mayBeSurrogate reports whether b is the beginning of a surrogate that lacks
// its last byte; utf8.FullRune already calls it an error.
func mayBeSurrogate(b []byte) bool {
	return len(b) == 2 && b[0] == 0xED && b[1] >= 0xA0 && b[1] <= 0xBF
}

// String is all that has come, but for what still waits.
func (t *Text) String() string { return t.b.String() }

// From is the text behind its first n bytes.
func (t *Text) From(n int) string { return t.b.String()[n:] }

// Len counts the bytes of String.
func (t *Text) Len() int { return t.b.Len() }

// Empty reports whether nothing has come, not even half of a letter.
func (t *Text) Empty() bool { return t.b.Len() == 0 && len(t.carry) == 0 }

// Valid is s as UTF-8, which can be stored.
func Valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Blank reports whether s holds nothing but white space.
func Blank(s string) bool { return strings.TrimSpace(s) == "" }
