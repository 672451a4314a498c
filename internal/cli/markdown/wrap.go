package markdown

import (
	"fmt"
	"hash/fnv"
	"iter"
	"strings"

	"github.com/rivo/uniseg"
)

// style is a set of attributes.
type style uint8

const (
	bold style = 1 << iota
	dim
	italic
	underline
	struck
	codeStyle
)

// on is the sequence that switches to s and nothing else.
func (s style) on(o Options) string {
	if s == codeStyle && !o.Color {
		s = 0
	}
	if s == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\x1b[0")
	for _, a := range []struct {
		style style
		code  string
	}{{bold, "1"}, {dim, "2"}, {italic, "3"}, {underline, "4"}, {struck, "9"}, {codeStyle, "36"}} {
		if s&a.style != 0 && (a.style != codeStyle || o.Color) {
			b.WriteString(";" + a.code)
		}
	}
	b.WriteByte('m')
	return b.String()
}

// off ends what on began.
func (s style) off(o Options) string {
	if s.on(o) == "" {
		return ""
	}
	return "\x1b[0m"
}

// widthOf is the width of a text without line breaks, in cells.
func widthOf(s string) int { return uniseg.StringWidth(s) }

// span is a part of the words of a text that makes a line.
type span struct {
	from, to int
	width    int
}

// wrap breaks a text into lines of at most width cells, where Unicode allows a
// line to be broken (UAX #14), and within a word where that is too long.
func (t *flow) wrap(width int, o Options) []string {
	spans := t.spans(width)
	out := make([]string, len(spans))
	for i, s := range spans {
		out[i] = t.paint(s, o)
	}
	return out
}

// spans finds the lines of a text. Spaces at which a line was broken belong to
// none.
func (t *flow) spans(width int) []span {
	words := t.words.String()
	var out []span
	var line span
	begun, space := false, 0 // space: the width of the spaces behind the line
	flush := func() {
		out = append(out, line)
		begun, space = false, 0
	}
	for a := range atoms(words) {
		if begun && line.width+space+a.width > width && a.width > 0 {
			flush()
		}
		if !begun {
			line, begun = span{from: a.from, to: a.from}, true
		}
		if line.width+space+a.width <= width {
			if a.end > a.from {
				line.to, line.width, space = a.end, line.width+space+a.width, 0
			}
		} else {
			// The word alone is too long.
			at, state := a.from, -1
			for rest := words[a.from:a.end]; rest != ""; {
				var cluster string
				var w int
				cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
				if line.width+space+w > width && line.to > line.from {
					flush()
					line, begun = span{from: at, to: at}, true
				}
				at += len(cluster)
				line.to, line.width, space = at, line.width+space+w, 0
			}
		}
		space += a.space
		if a.hard {
			flush()
		}
	}
	if begun {
		flush()
	}
	return out
}

// atom is a part of a text that a line is not broken in: words[from:end], and
// spaces behind it.
type atom struct {
	from, end    int
	width, space int  // in cells
	hard         bool // the line ends here
}

// atoms yields the atoms of words.
func atoms(words string) iter.Seq[atom] {
	return func(yield func(atom) bool) {
		var a atom
		at, state := 0, -1
		for rest := words; rest != ""; {
			var cluster string
			var info int
			cluster, rest, info, state = uniseg.StepString(rest, state)
			at += len(cluster)
			switch w := info >> uniseg.ShiftWidth; cluster {
			case "\n":
				a.hard = true
			case " ":
				a.space += w
			default:
				a.end, a.width, a.space = at, a.width+a.space+w, 0
			}
			if a.hard || info&uniseg.MaskLine != uniseg.LineDontBreak {
				if !yield(a) {
					return
				}
				a = atom{from: at, end: at}
			}
		}
	}
}

// paint writes a line with its styles and links.
func (t *flow) paint(s span, o Options) string {
	words := t.words.String()
	var b strings.Builder
	link := ""
	at := s.from
	for _, r := range t.runs {
		if r.end <= at {
			continue
		}
		if at >= s.to {
			break
		}
		end := min(r.end, s.to)
		if r.link != link {
			b.WriteString(hyperlink(r.link))
			link = r.link
		}
		b.WriteString(r.style.on(o))
		b.WriteString(words[at:end])
		b.WriteString(r.style.off(o))
		at = end
	}
	if link != "" {
		b.WriteString(hyperlink(""))
	}
	return b.String()
}

// hyperlink begins a link of the terminal, or ends it when address is empty.
// The id makes one link of the parts that a line break left.
func hyperlink(address string) string {
	if address == "" {
		return "\x1b]8;;\x1b\\"
	}
	h := fnv.New32a()
	h.Write([]byte(address)) // never fails
	return fmt.Sprintf("\x1b]8;id=%08x;%s\x1b\\", h.Sum32(), address)
}
