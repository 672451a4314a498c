package jsonschema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of what is read. They are far above what a tool call or a tool's
// schema needs and low enough that no input can exhaust stack or memory.
const (
	maxBytes    = 32 << 20 // of one JSON text
	maxDepth    = 200      // of nested arrays and objects
	maxDigits   = 1000     // characters of one number
	maxExponent = 1000     // of one number, either sign
)

// A SyntaxError says where a text stops being JSON that can be trusted.
// Its message is written for a model that is to send the text again.
type SyntaxError struct {
	Offset int    // in bytes, where the fault was seen
	Cut    bool   // the text ends before its outermost value does
	Reason string // one clause, lower case
	Near   string // a short extract around Offset
}

func (e *SyntaxError) Error() string {
	if e.Near == "" {
		return fmt.Sprintf("invalid JSON at offset %d: %s", e.Offset, e.Reason)
	}
	return fmt.Sprintf("invalid JSON at offset %d, near %s: %s", e.Offset, strconv.Quote(e.Near), e.Reason)
}

// Decode reads exactly one JSON value. It is stricter than encoding/json where
// leniency would lose or invent data: a key that appears twice, invalid UTF-8
// and half of a surrogate pair are errors. Numbers stay as written
// ([json.Number]); values are map[string]any, []any, string, bool and nil
// otherwise. Nesting is limited to 200, a number to 1,000 characters and an
// exponent of 1,000, the text to 32 MiB. The error is a [*SyntaxError].
func Decode(raw []byte) (any, error) {
	v, _, err := decode(raw, false)
	return v, err
}

// Fixes that the decoder makes in its forgiving mode.
const (
	fixTrailingComma = 1 << iota
	fixRawNewline
)

// decode reads one value. With forgive it accepts, and reports, a comma before
// a closing bracket and raw line breaks and tabs inside a string: neither
// leaves a doubt about what was meant.
func decode(raw []byte, forgive bool) (v any, fixes int, err error) {
	d := decoder{src: raw, forgive: forgive}
	if len(raw) > maxBytes {
		return nil, 0, &SyntaxError{Reason: fmt.Sprintf("the text has %d bytes, the limit is %d", len(raw), maxBytes)}
	}
	d.space()
	if v, err = d.value(); err != nil {
		return nil, 0, err
	}
	d.space()
	if d.pos < len(d.src) {
		return nil, 0, d.fail(d.pos, "something follows the end of the value; send one JSON value and nothing else")
	}
	return v, d.fixes, nil
}

type decoder struct {
	src     []byte
	pos     int
	depth   int
	forgive bool
	fixes   int
}

func (d *decoder) space() {
	for d.pos < len(d.src) {
		switch d.src[d.pos] {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return
		}
	}
}

func (d *decoder) value() (any, error) {
	if d.pos >= len(d.src) {
		return nil, d.cut("a value is missing")
	}
	switch c := d.src[d.pos]; {
	case c == '{':
		return d.object()
	case c == '[':
		return d.array()
	case c == '"':
		return d.text()
	case c == '-' || c >= '0' && c <= '9':
		return d.number()
	case c == '\'':
		return nil, d.fail(d.pos, "strings and keys need double quotes, not single ones")
	}
	for _, word := range [...]struct {
		name  string
		value any
	}{{"true", true}, {"false", false}, {"null", nil}} {
		rest := d.src[d.pos:]
		if len(rest) >= len(word.name) && string(rest[:len(word.name)]) == word.name {
			d.pos += len(word.name)
			return word.value, nil
		}
		if len(rest) > 0 && strings.HasPrefix(word.name, string(rest)) {
			return nil, d.cut("a value is incomplete")
		}
	}
	return nil, d.fail(d.pos, "a JSON value was expected here")
}

func (d *decoder) enter() error {
	if d.depth++; d.depth > maxDepth {
		return d.fail(d.pos, fmt.Sprintf("nested deeper than %d levels", maxDepth))
	}
	d.pos++
	d.space()
	return nil
}

func (d *decoder) leave() {
	d.depth--
	d.pos++
}

func (d *decoder) object() (any, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	obj := map[string]any{}
	if d.peek() == '}' {
		d.leave()
		return obj, nil
	}
	for {
		at := d.pos
		switch c := d.peek(); {
		case c == 0 && d.pos >= len(d.src):
			return nil, d.cut("the object is not closed")
		case c == '\'':
			return nil, d.fail(at, "strings and keys need double quotes, not single ones")
		case c != '"':
			return nil, d.fail(at, "a key in double quotes was expected here")
		}
		key, err := d.text()
		if err != nil {
			return nil, err
		}
		if _, twice := obj[key]; twice {
			return nil, d.fail(at, fmt.Sprintf("the key %s appears twice", quote(key)))
		}
		d.space()
		if d.pos >= len(d.src) {
			return nil, d.cut("the object is not closed")
		}
		if d.src[d.pos] != ':' {
			return nil, d.fail(d.pos, "a colon was expected after the key "+quote(key))
		}
		d.pos++
		d.space()
		if obj[key], err = d.value(); err != nil {
			return nil, err
		}
		more, err := d.next('}')
		if err != nil {
			return nil, err
		}
		if !more {
			d.leave()
			return obj, nil
		}
	}
}

func (d *decoder) array() (any, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	list := []any{}
	if d.peek() == ']' {
		d.leave()
		return list, nil
	}
	for {
		if d.pos >= len(d.src) {
			return nil, d.cut("the array is not closed")
		}
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		more, err := d.next(']')
		if err != nil {
			return nil, err
		}
		if !more {
			d.leave()
			return list, nil
		}
	}
}

// next stands after an element: it consumes a comma and reports true, or stops
// at the closing bracket and reports false.
func (d *decoder) next(closing byte) (bool, error) {
	d.space()
	switch {
	case d.pos >= len(d.src):
		return false, d.cut(fmt.Sprintf("a closing %c is missing", closing))
	case d.src[d.pos] == closing:
		return false, nil
	case d.src[d.pos] != ',':
		return false, d.fail(d.pos, fmt.Sprintf("a comma or %c was expected here", closing))
	}
	comma := d.pos
	d.pos++
	d.space()
	if d.peek() == closing {
		if !d.forgive {
			return false, d.fail(comma, fmt.Sprintf("a comma stands before the closing %c", closing))
		}
		d.fixes |= fixTrailingComma
		return false, nil
	}
	return true, nil
}

// peek gives the byte at hand, or 0 at the end.
func (d *decoder) peek() byte {
	if d.pos < len(d.src) {
		return d.src[d.pos]
	}
	return 0
}

func (d *decoder) number() (any, error) {
	start := d.pos
	n := numberLen(d.src[start:])
	if n == 0 {
		if d.pos++; d.pos >= len(d.src) {
			return nil, d.cut("a number is incomplete")
		}
		return nil, d.fail(start, "this is not a JSON number")
	}
	d.pos += n
	text := string(d.src[start:d.pos])
	if !bounded(text) {
		return nil, d.fail(start, fmt.Sprintf("a number may have at most %d characters and an exponent up to %d", maxDigits, maxExponent))
	}
	// What may follow a number is white space, a comma, a bracket or the end;
	// the callers refuse the rest, but 01 and 1.e5 deserve a better message.
	if c := d.peek(); c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-' {
		if d.pos+1 >= len(d.src) && (c < '0' || c > '9') {
			d.pos++
			return nil, d.cut("a number is incomplete")
		}
		return nil, d.fail(start, "this is not a JSON number")
	}
	return json.Number(text), nil
}

// numberLen gives the length of the longest JSON number that src begins with,
// 0 for none (RFC 8259, section 6).
func numberLen[T string | []byte](src T) int {
	i := 0
	digits := func() bool {
		from := i
		for i < len(src) && src[i] >= '0' && src[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(src) && src[i] == '-' {
		i++
	}
	switch {
	case i < len(src) && src[i] == '0':
		i++
	case !digits():
		return 0
	}
	end := i
	if i < len(src) && src[i] == '.' {
		if i++; !digits() {
			return end
		}
		end = i
	}
	if i < len(src) && (src[i] == 'e' || src[i] == 'E') {
		i++
		if i < len(src) && (src[i] == '+' || src[i] == '-') {
			i++
		}
		if !digits() {
			return end
		}
		end = i
	}
	return end
}

// bounded reports whether arithmetic on the number is cheap.
func bounded(num string) bool {
	if len(num) > maxDigits {
		return false
	}
	if i := strings.IndexAny(num, "eE"); i >= 0 {
		exp, err := strconv.Atoi(num[i+1:])
		return err == nil && -maxExponent <= exp && exp <= maxExponent
	}
	return true
}

func (d *decoder) text() (string, error) {
	start := d.pos
	d.pos++
	for i := d.pos; i < len(d.src); i++ {
		c := d.src[i]
		if c == '"' { // the common case: nothing to unescape
			s := string(d.src[d.pos:i])
			d.pos = i + 1
			return s, nil
		}
		if c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			break
		}
	}
	var b strings.Builder
	for d.pos < len(d.src) {
		switch c := d.src[d.pos]; {
		case c == '"':
			d.pos++
			return b.String(), nil
		case c == '\\':
			if err := d.escape(&b); err != nil {
				return "", err
			}
		case c < ' ':
			if !d.forgive || c != '\n' && c != '\r' && c != '\t' {
				return "", d.fail(d.pos, fmt.Sprintf(`a control character stands inside a string; write it as \u%04x`, c))
			}
			d.fixes |= fixRawNewline
			b.WriteByte(c)
			d.pos++
		case c < utf8.RuneSelf:
			b.WriteByte(c)
			d.pos++
		default:
			r, n := utf8.DecodeRune(d.src[d.pos:])
			if r == utf8.RuneError && n == 1 {
				if !utf8.FullRune(d.src[d.pos:]) {
					return "", d.cut("a string is not closed")
				}
				return "", d.fail(d.pos, "the text is not valid UTF-8")
			}
			b.Write(d.src[d.pos : d.pos+n])
			d.pos += n
		}
	}
	d.pos = start
	return "", d.cut("a string is not closed")
}

func (d *decoder) escape(b *strings.Builder) error {
	at := d.pos
	if at+1 >= len(d.src) {
		return d.cut("a string is not closed")
	}
	d.pos += 2
	switch c := d.src[at+1]; c {
	case '"', '\\', '/':
		b.WriteByte(c)
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case 'n':
		b.WriteByte('\n')
	case 'r':
		b.WriteByte('\r')
	case 't':
		b.WriteByte('\t')
	case 'u':
		r, err := d.hex(at)
		if err != nil {
			return err
		}
		if utf16.IsSurrogate(r) {
			if left := len(d.src) - d.pos; left == 0 || left == 1 && d.src[d.pos] == '\\' {
				return d.cut("a string is not closed")
			}
			low := rune(-1)
			if d.src[d.pos] == '\\' && d.src[d.pos+1] == 'u' {
				second := d.pos
				d.pos += 2
				if low, err = d.hex(second); err != nil {
					return err
				}
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return d.fail(at, `a \u escape is half of a character; write both halves or the character itself`)
			}
		}
		b.WriteRune(r)
	default:
		return d.fail(at, fmt.Sprintf(`\%c is no JSON escape; write a backslash as \\`, c))
	}
	return nil
}

// hex reads the four digits of the escape that begins at the offset at.
func (d *decoder) hex(at int) (rune, error) {
	if d.pos+4 > len(d.src) {
		return 0, d.cut("a string is not closed")
	}
	n, err := strconv.ParseUint(string(d.src[d.pos:d.pos+4]), 16, 16)
	if err != nil {
		return 0, d.fail(at, `\u needs four hexadecimal digits`)
	}
	d.pos += 4
	return rune(n), nil
}

func (d *decoder) fail(at int, reason string) error {
	return &SyntaxError{Offset: at, Reason: reason, Near: near(d.src, at)}
}

func (d *decoder) cut(what string) error {
	return &SyntaxError{
		Offset: len(d.src),
		Cut:    true,
		Reason: "the text ends too early, " + what + "; send the complete JSON again",
		Near:   near(d.src, len(d.src)),
	}
}

// near extracts at most 40 bytes around an offset, whole characters only.
func near(src []byte, at int) string {
	from, to := max(0, at-20), min(len(src), at+20)
	for from < at && !utf8.RuneStart(src[from]) {
		from++
	}
	for to < len(src) && to > at && !utf8.RuneStart(src[to]) {
		to--
	}
	return strings.ToValidUTF8(string(src[from:to]), "?")
}
