// Package visible writes hidden characters so that they can be seen, and reads
// that form back.
//
// Text from outside can hold characters which a person or a model does not see
// but which change what the text does: Unicode tags that spell out orders,
// direction controls that show code in another order than it runs, escape
// sequences that drive a terminal, bytes that are no UTF-8 and break a request.
// Text that a model reads passes through [Text] once; text that comes back from
// a model in order to match the original passes through [Reveal].
//
//	ESC, NUL and the other control characters, DEL    ␛ ␀ …   (U+2400 to U+2421)
//	C1 controls, direction controls, Unicode tags     ⟦U+202E⟧
//	a byte that is no UTF-8                           ⟦xE9⟧
//
// Tab, line feed and carriage return stay. The form is unambiguous: where the
// original has one of these forms literally, its first character is written as
// a form itself, so that Reveal(Text(s)) == s for every s. For the same reason
// Text is not idempotent; apply it once, where text is handed to a model.
//
// The functions keep no state and are safe for concurrent use.
package visible

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	open    = '⟦' // U+27E6
	openUTF = "⟦"
	shut    = "⟧" // U+27E7
	picture = 0x2400
	pictDel = picture + 0x21
)

// Text returns s with everything hidden made visible. The result is valid
// UTF-8 whatever s is. When there is nothing to do, it is s itself and nothing
// is allocated.
func Text(s string) string {
	i := first(s)
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/8 + 16)
	b.WriteString(s[:i])
	for i < len(s) {
		n, w := next(s[i:])
		if w == 1 {
			b.WriteString(s[i : i+n])
		} else {
			write(&b, s[i:i+n])
		}
		i += n
		// What follows is mostly plain: copy it in one piece.
		j := first(s[i:])
		if j < 0 {
			b.WriteString(s[i:])
			break
		}
		b.WriteString(s[i : i+j])
		i += j
	}
	return b.String()
}

// Count is the number of code points of Text(s), without building it.
func Count(s string) int {
	total := 0
	for {
		i := first(s)
		if i < 0 {
			return total + utf8.RuneCountInString(s)
		}
		n, w := next(s[i:])
		total += utf8.RuneCountInString(s[:i]) + width(w)
		s = s[i+n:]
	}
}

// Fit is the length in bytes of the longest prefix of s whose visible form has
// at most limit code points. It never ends inside a code point.
func Fit(s string, limit int) int {
	i := 0
	for i < len(s) && limit > 0 {
		n, w := next(s[i:])
		if w = width(w); w > limit {
			break
		}
		limit -= w
		i += n
	}
	return i
}

// FitEnd is where the longest suffix of s begins whose visible form has at most
// limit code points.
func FitEnd(s string, limit int) int {
	i := len(s)
	for i > 0 && limit > 0 {
		_, n := utf8.DecodeLastRuneInString(s[:i])
		_, w := next(s[i-n:])
		if w = width(w); w > limit {
			break
		}
		limit -= w
		i -= n
	}
	return i
}

// next describes the first code point of s: its length in bytes and the width
// of its visible form: 1 when it stays as it is, −1 when another single
// character stands for it.
func next(s string) (n, w int) {
	c := s[0]
	if c < utf8.RuneSelf {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f {
			return 1, -1
		}
		return 1, 1
	}
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && n == 1:
		return 1, len("[xFF]")
	case r >= picture && r <= pictDel && literalPicture(r):
		return n, len("[U+2400]")
	case r == open && form(s) > 0:
		return n, len("[U+27E6]")
	case Hidden(r):
		switch {
		case r > 0xfffff:
			return n, len("[U+10FFFF]")
		case r > 0xffff:
			return n, len("[U+E0001]")
		}
		return n, len("[U+202E]")
	}
	return n, 1
}

// width is the number of code points that a width of [next] stands for.
func width(w int) int {
	if w < 0 {
		return 1
	}
	return w
}

// first is the index of the first code point that does not stay as it is, or
// −1. It is the fast path, so it looks at bytes as long as it can.
func first(s string) int {
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c >= ' ' && c < 0x7f, c == '\n', c == '\t', c == '\r':
			i++
			continue
		case c >= 0xc3 && c <= 0xd7 && i+1 < len(s) && s[i+1]&0xc0 == 0x80:
			// U+00C0 to U+05FF: nothing hidden there.
			i += 2
			continue
		case c >= 0xe3 && c <= 0xec && i+2 < len(s) && s[i+1]&0xc0 == 0x80 && s[i+2]&0xc0 == 0x80:
			// U+3000 to U+CFFF, which is most of what East Asia writes.
			i += 3
			continue
		}
		n, w := next(s[i:])
		if w != 1 {
			return i
		}
		i += n
	}
	return -1
}

// write appends the visible form of s, which is one code point or one byte.
func write(b *strings.Builder, s string) {
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && n == 1:
		const digits = "0123456789ABCDEF"
		b.WriteString(openUTF)
		b.WriteByte('x')
		b.WriteByte(digits[s[0]>>4])
		b.WriteByte(digits[s[0]&15])
		b.WriteString(shut)
	case r < ' ':
		b.WriteRune(picture + r)
	case r == 0x7f:
		b.WriteRune(pictDel)
	default:
		b.WriteString(openUTF)
		b.WriteString("U+")
		hex := strings.ToUpper(strconv.FormatInt(int64(r), 16))
		for range 4 - len(hex) {
			b.WriteByte('0')
		}
		b.WriteString(hex)
		b.WriteString(shut)
	}
}

// Hidden reports whether r is made visible by name: a C1 control, a direction
// control or a Unicode tag. ASCII controls have pictures and are not meant.
func Hidden(r rune) bool {
	switch {
	case r < 0x80:
		return false
	case r <= 0x9f:
		return true // C1: U+009B starts an escape sequence as ESC [ does
	case r == 0x061c, r == 0x200e, r == 0x200f:
		return true // direction marks
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true // embeddings, overrides, isolates
	}
	return r >= 0xe0000 && r <= 0xe007f
}

// literalPicture reports whether r is one of the pictures that [Text] writes.
func literalPicture(r rune) bool {
	switch r - picture {
	case '\t', '\n', '\r', ' ':
		return false
	}
	return true
}

// form is the length in bytes of the form in brackets at the start of s, or 0
// when there is none.
func form(s string) int {
	rest, ok := strings.CutPrefix(s, openUTF)
	if !ok || rest == "" {
		return 0
	}
	from, least, most := 2, 4, 6
	switch {
	case rest[0] == 'x':
		from, least, most = 1, 2, 2
	case !strings.HasPrefix(rest, "U+"):
		return 0
	}
	i := from
	for i < len(rest) && i-from < most && isHex(rest[i]) {
		i++
	}
	if i-from < least || !strings.HasPrefix(rest[i:], shut) {
		return 0
	}
	return len(openUTF) + i + len(shut)
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'A' && c <= 'F' }

// Reveal is the inverse of [Text]: it turns every visible form in s back into
// what it stands for. What is no form stays. When there is no form in s, it is
// s itself.
func Reveal(s string) string {
	i := firstForm(s)
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i >= 0 {
		b.WriteString(s[:i])
		s = s[i:]
		if n := form(s); n > 0 {
			b.WriteString(value(s[len(openUTF) : n-len(shut)]))
			s = s[n:]
		} else {
			r, n := utf8.DecodeRuneInString(s)
			b.WriteByte(control(r))
			s = s[n:]
		}
		i = firstForm(s)
	}
	b.WriteString(s)
	return b.String()
}

// firstForm is the index of the first visible form in s, or −1.
func firstForm(s string) int {
	for i := 0; i < len(s); {
		// Every form begins with U+2400 to U+2421 or U+27E6, so with this byte.
		j := strings.IndexByte(s[i:], 0xe2)
		if j < 0 {
			return -1
		}
		i += j
		r, n := utf8.DecodeRuneInString(s[i:])
		if r >= picture && r <= pictDel && literalPicture(r) || r == open && form(s[i:]) > 0 {
			return i
		}
		i += n
	}
	return -1
}

// control is the control character that the picture r stands for.
func control(r rune) byte {
	if r == pictDel {
		return 0x7f
	}
	return byte(r - picture)
}

// value is what the inside of a form in brackets stands for.
func value(s string) string {
	if s[0] == 'x' {
		v, err := strconv.ParseUint(s[1:], 16, 8)
		if err != nil {
			return openUTF + s + shut
		}
		return string([]byte{byte(v)})
	}
	v, err := strconv.ParseUint(s[2:], 16, 32)
	if err != nil || v > utf8.MaxRune || !utf8.ValidRune(rune(v)) {
		return openUTF + s + shut
	}
	return string(rune(v))
}
