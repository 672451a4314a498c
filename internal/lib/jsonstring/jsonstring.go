// Package jsonstring writes strings as JSON without allocating, for the two
// places where most of all bytes pass: what is sent to models, and the chunks
// of their answers on the way to those who read along. It is pure. Start
// reading at [Append].
package jsonstring

import (
	"math/bits"
	"unicode/utf8"
)

const hex = "0123456789abcdef"

// Append appends s to b as a JSON string, byte for byte as encoding/json writes
// it without escaping HTML: what is not UTF-8 becomes U+FFFD.
func Append(b []byte, s string) []byte {
	b = append(b, '"')
	begin := 0
	for i := plain(s); i < len(s); i += plain(s[i:]) {
		c := s[i]
		if c < utf8.RuneSelf {
			b = appendEscape(append(b, s[begin:i]...), c)
			i++
			begin = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(append(b, s[begin:i]...), `\ufffd`...)
			begin = i + n
		case r == '\u2028' || r == '\u2029': // they end lines in JavaScript
			b = append(append(b, s[begin:i]...), `\u202`...)
			b = append(b, hex[r&15])
			begin = i + n
		}
		i += n
	}
	return append(append(b, s[begin:]...), '"')
}

// appendEscape appends an ASCII character that can't stand for itself.
func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// plain counts the bytes at the beginning of s that stand for themselves in a
// JSON string: ASCII but control characters, quote and backslash. It looks at
// eight bytes at once, since most of a request is such text.
func plain(s string) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	// has marks the bytes of x that are below n, for n up to 0x80; of what it
	// marks only the lowest byte is certain, and only that is used.
	has := func(x, n uint64) uint64 { return (x - n*ones) &^ x }
	i := 0
	for ; i+8 <= len(s); i += 8 {
		x := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		special := (x | has(x, ' ') | has(x^'"'*ones, 1) | has(x^'\\'*ones, 1)) & highs
		if special != 0 {
			return i + bits.TrailingZeros64(special)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return i
		}
	}
	return i
}
