package term

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Width is the width of a line in cells. Escape sequences take none.
func Width(line string) int {
	if ascii(line) {
		return len(line)
	}
	n := 0
	for part := range parts(line) {
		if !part.escape {
			n += uniseg.StringWidth(part.text)
		}
	}
	return n
}

// ascii reports whether s holds printable ASCII alone.
func ascii(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// part is a piece of a line: an escape sequence, or text.
type part struct {
	text   string
	escape bool
}

// parts yields the pieces of a line. It knows the sequences that we write:
// CSI, and OSC that end in ESC \.
func parts(line string) func(yield func(part) bool) {
	return func(yield func(part) bool) {
		for line != "" {
			i := strings.IndexByte(line, '\x1b')
			if i < 0 {
				yield(part{line, false})
				return
			}
			if i > 0 && !yield(part{line[:i], false}) {
				return
			}
			n := sequence(line[i:])
			if !yield(part{line[i : i+n], true}) {
				return
			}
			line = line[i+n:]
		}
	}
}

// sequence is the length of the escape sequence at the beginning of s.
func sequence(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
		}
		return len(s)
	case ']':
		if i := strings.Index(s, "\x1b\\"); i >= 0 {
			return i + 2
		}
		return len(s)
	}
	return 2
}

// split cuts a line behind the last letter that fits into width cells. The head
// ends without styles and links; the rest goes on with them.
func split(line string, width int) (head, rest string) {
	var b strings.Builder
	styles, link := "", ""
	used, done := 0, 0
	full := false
	for p := range parts(line) {
		if p.escape {
			if full {
				break
			}
			b.WriteString(p.text)
			done += len(p.text)
			if strings.HasPrefix(p.text, "\x1b]8;") {
				if link = p.text; p.text == "\x1b]8;;\x1b\\" {
					link = ""
				}
			} else if styles = p.text; p.text == reset {
				styles = ""
			}
			continue
		}
		state := -1
		for text := p.text; text != ""; {
			var cluster string
			var w int
			cluster, text, w, state = uniseg.FirstGraphemeClusterInString(text, state)
			if used+w > width {
				full = true
				break
			}
			b.WriteString(cluster)
			done += len(cluster)
			used += w
		}
		if full {
			break
		}
	}
	if done == len(line) {
		return line, ""
	}
	if used == 0 {
		return "", line
	}
	rest = link + styles + line[done:]
	if styles != "" {
		b.WriteString(reset)
	}
	if link != "" {
		b.WriteString("\x1b]8;;\x1b\\")
	}
	return b.String(), rest
}

// Fold breaks a line into rows of at most width cells, between words where that
// is possible. All but the first begin with indent.
func Fold(line string, width int, indent string) []string {
	room := width
	var out []string
	for Width(line) > room && room > 0 {
		head, rest := split(line, min(lastSpace(line, room), room))
		if rest == line { // a letter that is wider than the room
			break
		}
		if len(out) > 0 {
			head = indent + head
		}
		out = append(out, strings.TrimRight(head, " "))
		line, room = dropSpaces(rest), width-len(indent)
	}
	if len(out) > 0 {
		line = indent + line
	}
	return append(out, line)
}

// lastSpace is the width of the longest beginning of line that ends before a
// space and fits into width cells; width when there is none.
func lastSpace(line string, width int) int {
	used, found, words := 0, 0, false
	for p := range parts(line) {
		if p.escape {
			continue
		}
		state := -1
		for text := p.text; text != "" && used <= width; {
			var cluster string
			var w int
			cluster, text, w, state = uniseg.FirstGraphemeClusterInString(text, state)
			if cluster == " " && words {
				found = used
			}
			words = words || cluster != " "
			used += w
		}
	}
	if found == 0 {
		return width
	}
	return found
}

// dropSpaces takes the spaces off the beginning of a line, behind its styles.
func dropSpaces(line string) string {
	at := 0
	for p := range parts(line) {
		if !p.escape {
			break
		}
		at += len(p.text)
	}
	return line[:at] + strings.TrimLeft(line[at:], " ")
}
