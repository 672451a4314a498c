package term

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Code says which key was pressed.
type Code uint8

const (
	Rune   Code = iota + 1 // Text is one letter, or several that came at once
	Paste                  // Text was pasted; its lines end in \n
	Ctrl                   // Text is the letter, in lower case
	Enter                  // Alt: a line break
	Tab                    // Shift: backwards
	Escape                 // alone
	Backspace
	Delete
	Up
	Down
	Left
	Right
	Home
	End
	PageUp
	PageDown
)

// Key is a key that was pressed.
type Key struct {
	Code             Code
	Text             string
	Alt, Ctrl, Shift bool // held; for a Code of Ctrl only Alt counts
}

// MaxPaste bounds a pasted text, in bytes; what is longer is cut.
const MaxPaste = 4 << 20

// Decoder turns what a terminal sends into keys. Sequences that it doesn't know
// are swallowed.
type Decoder struct {
	buf   []byte
	paste []byte
	in    bool // within a pasted text
}

var (
	pasteBegin = []byte("\x1b[200~")
	pasteEnd   = []byte("\x1b[201~")
)

// Feed takes what came and returns the keys that it completes. Letters that
// come together are one key, so that a text that is typed by a program costs
// one step.
func (d *Decoder) Feed(b []byte) []Key {
	d.buf = append(d.buf, b...)
	var keys []Key
	rest := d.buf
	for len(rest) > 0 {
		if d.in {
			n, ended := d.pasted(rest)
			rest = rest[n:]
			if !ended {
				break
			}
			keys = append(keys, Key{Code: Paste, Text: lines(d.paste)})
			d.paste, d.in = nil, false
			continue
		}
		if n := letters(rest); n > 0 {
			keys = append(keys, Key{Code: Rune, Text: string(rest[:n])})
			rest = rest[n:]
			continue
		}
		n, key := next(rest)
		if n == 0 {
			break
		}
		if bytes.HasPrefix(rest, pasteBegin) {
			d.in = true
		} else if key.Code != 0 {
			keys = append(keys, key)
		}
		rest = rest[n:]
	}
	d.buf = append(d.buf[:0], rest...)
	return keys
}

// letters is the length of the letters at the beginning of b.
func letters(b []byte) int {
	n := 0
	for n < len(b) && utf8.FullRune(b[n:]) {
		r, size := utf8.DecodeRune(b[n:])
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError && size == 1 {
			break
		}
		n += size
	}
	return n
}

// pasted takes what belongs to the pasted text at the beginning of b; it
// returns its length with the end mark and whether that was there.
func (d *Decoder) pasted(b []byte) (n int, ended bool) {
	i := bytes.Index(b, pasteEnd)
	if i < 0 {
		n = max(len(b)-len(pasteEnd)+1, 0) // the end may have begun
		d.keep(b[:n])
		return n, false
	}
	d.keep(b[:i])
	return i + len(pasteEnd), true
}

func (d *Decoder) keep(b []byte) {
	d.paste = append(d.paste, b[:min(len(b), max(MaxPaste-len(d.paste), 0))]...)
}

// lines is pasted text as it is kept: valid UTF-8, lines that end in \n, and no
// control characters, which nobody meant to paste.
func lines(b []byte) string {
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, s)
}

// Waiting reports whether what came so far may be a key or the beginning of
// one. When nothing follows soon, [Decoder.Flush] takes it for a key.
func (d *Decoder) Waiting() bool { return len(d.buf) > 0 && !d.in }

// Flush returns the keys that what came so far makes when nothing follows.
func (d *Decoder) Flush() []Key {
	if !d.Waiting() {
		return nil
	}
	b := d.buf
	d.buf = nil
	if b[0] != '\x1b' {
		return nil // half a letter
	}
	if len(b) == 1 || len(b) == 2 && b[1] == '\x1b' {
		return []Key{{Code: Escape}}
	}
	if len(b) == 2 && b[1] < utf8.RuneSelf { // Alt-[ or Alt-O
		return []Key{{Code: Rune, Text: string(b[1:]), Alt: true}}
	}
	return nil
}

// maxSequence bounds an escape sequence; longer ones are none.
const maxSequence = 64

// next reads the key at the beginning of b and its length. The length is 0 when
// b ends before the key does, the key zero when it is none that counts.
func next(b []byte) (int, Key) {
	if len(b) == 0 {
		return 0, Key{}
	}
	switch c := b[0]; {
	case c == '\x1b':
		return escape(b)
	case c < ' ' || c == 0x7f:
		return 1, control(c)
	}
	if !utf8.FullRune(b) {
		return 0, Key{}
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n == 1 || r >= 0x80 && r < 0xa0 {
		return n, Key{}
	}
	return n, Key{Code: Rune, Text: string(r)}
}

func control(c byte) Key {
	switch c {
	case '\r':
		return Key{Code: Enter}
	case '\t':
		return Key{Code: Tab}
	case '\b', 0x7f:
		return Key{Code: Backspace}
	case 0:
		return Key{Code: Ctrl, Text: " "}
	}
	return Key{Code: Ctrl, Text: strings.ToLower(string(rune(c + '@')))}
}

// escape reads a sequence that begins with ESC.
func escape(b []byte) (int, Key) {
	if len(b) == 1 {
		return 0, Key{}
	}
	switch b[1] {
	case '[':
		return csi(b)
	case 'O':
		if len(b) < 3 {
			return 0, Key{}
		}
		return 3, named(b[2], nil)
	case ']', 'P', '_', '^': // a string that answers a question; nobody asked one
		return str(b)
	case '\x1b':
		if len(b) == 2 {
			return 0, Key{}
		}
		return 1, Key{Code: Escape}
	}
	n, k := next(b[1:])
	if n == 0 {
		return 0, Key{}
	}
	k.Alt = k.Code != 0
	return n + 1, k
}

// str skips a string up to BEL or ESC \.
func str(b []byte) (int, Key) {
	for i := 2; i < min(len(b), maxSequence); i++ {
		switch {
		case b[i] == '\a':
			return i + 1, Key{}
		case b[i] == '\x1b' && i+1 < len(b):
			if b[i+1] == '\\' {
				return i + 2, Key{}
			}
			return i, Key{}
		}
	}
	if len(b) >= maxSequence {
		return 2, Key{}
	}
	return 0, Key{}
}

// csi reads ESC [ parameters letter.
func csi(b []byte) (int, Key) {
	i := 2
	for i < len(b) && i < maxSequence && b[i] >= 0x20 && b[i] < 0x40 {
		i++
	}
	switch {
	case i == maxSequence:
		return 2, Key{}
	case i == len(b):
		return 0, Key{}
	case b[i] < 0x40 || b[i] > 0x7e:
		return i, Key{} // broken: what follows is read anew
	}
	return i + 1, named(b[i], numbers(b[2:i]))
}

// numbers reads parameters; one that isn't given is 0.
func numbers(b []byte) []int {
	if len(b) == 0 {
		return nil
	}
	var out []int
	for part := range bytes.SplitSeq(b, []byte(";")) {
		n := 0
		for _, c := range part {
			if c < '0' || c > '9' || n > 1<<20 {
				break
			}
			n = n*10 + int(c-'0')
		}
		out = append(out, n)
	}
	return out
}

// named is the key of a sequence that ends in final.
func named(final byte, args []int) Key {
	arg := func(i int) int {
		if i < len(args) {
			return args[i]
		}
		return 0
	}
	var k Key
	switch final {
	case 'A':
		k.Code = Up
	case 'B':
		k.Code = Down
	case 'C':
		k.Code = Right
	case 'D':
		k.Code = Left
	case 'H':
		k.Code = Home
	case 'F':
		k.Code = End
	case 'M':
		k.Code = Enter // of the keypad, in application mode
	case 'Z':
		return Key{Code: Tab, Shift: true}
	case '~':
		k.Code = tilde(arg(0))
		if arg(0) == 27 { // modifyOtherKeys: ESC [ 27 ; modifiers ; character ~
			k = character(arg(2))
		}
	case 'u': // ESC [ character ; modifiers u
		k = character(arg(0))
	}
	if k.Code == 0 {
		return k
	}
	if m := arg(1) - 1; m > 0 {
		k.Shift, k.Alt, k.Ctrl = m&1 != 0, m&2 != 0, m&4 != 0
	}
	if k.Code == Rune && k.Ctrl {
		k.Code, k.Ctrl, k.Text = Ctrl, false, strings.ToLower(k.Text)
	}
	return k
}

func tilde(n int) Code {
	switch n {
	case 1, 7:
		return Home
	case 4, 8:
		return End
	case 3:
		return Delete
	case 5:
		return PageUp
	case 6:
		return PageDown
	}
	return 0
}

// character is the key of a character that comes by its number.
func character(n int) Key {
	switch {
	case n == 27:
		return Key{Code: Escape}
	case n == '\r', n == '\t', n == 0x7f, n == '\b':
		return control(byte(n))
	case n < ' ' || n >= 0x7f && n < 0xa0 || n > utf8.MaxRune || n >= 0xd800 && n < 0xe000 || n >= 57344 && n <= 63743:
		return Key{} // the last are function keys
	}
	return Key{Code: Rune, Text: string(rune(n))}
}
