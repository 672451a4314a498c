package spill

import (
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/goclaw/goclaw/internal/lib/visible"
)

// outlineBytes is how much of a page is read for its outline.
const outlineBytes = 1 << 20

// outline is what a reader sees first of an HTML page.
type outline struct {
	title    string
	headings []string
	text     strings.Builder // other text, a line for each block
	room     int             // bytes of text still wanted
	blocks   int             // lines of it still wanted
}

// html shows the title, the headings and the first text of a page.
func (p *page) html(s string) {
	o := outline{room: p.room * utf8.UTFMax, blocks: 60}
	o.read(p.work, s[:min(len(s), outlineBytes)])
	if o.title != "" {
		p.say("Title: ")
		p.brief(o.title, p.room/4)
		p.say("\n")
	}
	if len(o.headings) > 0 {
		p.say("Headings:\n")
		for room := p.room / 3; len(o.headings) > 0 && room > 40; o.headings = o.headings[1:] {
			before := p.room
			p.brief(o.headings[0], min(room, 120))
			p.say("\n")
			room -= before - p.room
		}
		if n := len(o.headings); n > 0 {
			p.say("... %d more headings\n", n)
		}
	}
	if o.text.Len() > 0 {
		p.say("Text:\n")
		p.brief(strings.TrimSpace(o.text.String()), p.room-1)
	}
}

// read collects the outline of s. Scripts and styles are no text.
func (o *outline) read(work *meter, s string) {
	z := html.NewTokenizer(metered{strings.NewReader(s), work})
	var current strings.Builder // the title or heading that is open
	var open, skip atom.Atom
	level := 0
	for {
		switch z.Next() {
		case html.ErrorToken:
			if err := z.Err(); err != io.EOF {
				panic(err) // the work was stopped
			}
			return
		case html.TextToken:
			if skip != 0 {
				continue
			}
			text := squeeze(string(z.Text()))
			if open != 0 {
				current.WriteString(text)
				continue
			}
			o.add(text)
		case html.StartTagToken:
			name, _ := z.TagName()
			switch a := atom.Lookup(name); a {
			case atom.Script, atom.Style, atom.Noscript, atom.Template:
				skip = a
			case atom.Title, atom.H1, atom.H2, atom.H3:
				if open == 0 && skip == 0 {
					open, level = a, int(name[len(name)-1]-'0')
					current.Reset()
				}
			default:
				o.breakLine(a)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			a := atom.Lookup(name)
			if a != 0 && a == skip {
				skip = 0
			}
			if a == 0 || a != open {
				o.breakLine(a)
				continue
			}
			text := strings.TrimSpace(current.String())
			switch {
			case a == atom.Title && o.title == "":
				o.title = text
			case a != atom.Title && text != "" && len(o.headings) < 200:
				o.headings = append(o.headings, strings.Repeat("#", level)+" "+text)
			}
			open = 0
		}
	}
}

// add takes in text until there is enough.
func (o *outline) add(text string) {
	if o.room <= 0 || o.blocks <= 0 {
		return
	}
	if soFar := o.text.String(); soFar == "" || soFar[len(soFar)-1] == '\n' || soFar[len(soFar)-1] == ' ' {
		text = strings.TrimLeft(text, " ")
	}
	o.text.WriteString(text)
	o.room -= len(text)
}

// breakLine begins a new line when an element of this name does.
func (o *outline) breakLine(a atom.Atom) {
	switch a {
	case atom.A, atom.Abbr, atom.B, atom.Bdi, atom.Bdo, atom.Cite, atom.Code, atom.Del, atom.Dfn, atom.Em, atom.Font, atom.I,
		atom.Img, atom.Ins, atom.Kbd, atom.Label, atom.Mark, atom.Q, atom.S, atom.Samp, atom.Small, atom.Span, atom.Strong,
		atom.Sub, atom.Sup, atom.Time, atom.U, atom.Var, atom.Wbr:
		return
	}
	if s := o.text.String(); s != "" && s[len(s)-1] != '\n' {
		o.text.WriteByte('\n')
		o.blocks--
	}
}

// squeeze makes one blank of each run of blanks.
func squeeze(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	blank := false
	for i := range len(s) {
		switch c := s[i]; c {
		case ' ', '\t', '\r', '\n':
			if !blank {
				b.WriteByte(' ')
			}
			blank = true
		default:
			b.WriteByte(c)
			blank = false
		}
	}
	return b.String()
}

// xml shows the root with its attributes, its first children, and sums up the
// other ones.
func (p *page) xml(s string) {
	root, ok := rootTag(p.work, s)
	if !ok {
		p.brief(s, p.room-1)
		return
	}
	p.brief(squeeze(s[root.from:root.to]), p.room/4)
	p.say("\n")
	first := make([]string, 0, previewItems)
	var others tally
	for t := range children(p.work, s, root) {
		if len(first) < previewItems {
			first = append(first, s[t.from:t.to])
		} else {
			others.add(visible.Text(prefix(t.name, 30)))
		}
	}
	room := p.room - summaryRoom
	for i, child := range first {
		before := p.room
		p.say("[%d] ", i)
		limit := max(room/(len(first)-i)-8, 24)
		p.brief(squeeze(child[:min(len(child), limit*16)]), limit)
		p.say("\n")
		room -= before - p.room
	}
	switch {
	case len(first) == 0:
		p.brief(squeeze(s[root.to:min(len(s), root.to+p.room*8)]), p.room-1)
	case others.total > 0:
		p.say("... %d more children (%s)\n", others.total, others.list(""))
	}
}

// rootTag is the first element of s.
func rootTag(work *meter, s string) (tag, bool) {
	for i := 0; ; {
		t, ok := nextTag(work, s, i)
		if !ok {
			return tag{}, false
		}
		if t.kind == tagOpen || t.kind == tagEmpty {
			return t, true
		}
		i = t.to
	}
}

// children yields the elements right below root, from their first byte to their
// last.
func children(work *meter, s string, root tag) func(yield func(tag) bool) {
	return func(yield func(tag) bool) {
		if root.kind == tagEmpty {
			return
		}
		depth := 0
		var child tag
		for i := root.to; ; {
			t, ok := nextTag(work, s, i)
			if !ok {
				return
			}
			i = t.to
			switch t.kind {
			case tagOpen:
				if depth++; depth == 1 {
					child = t
				}
				continue
			case tagClose:
				if depth--; depth < 0 {
					return
				}
				child.to = t.to
			case tagEmpty:
				if depth == 0 {
					child = t
				}
			default:
				continue
			}
			if depth == 0 && !yield(child) {
				return
			}
		}
	}
}

// childQuery is an XPath for the elements that follow the first ones.
func childQuery(work *meter, s string) string {
	root, ok := rootTag(work, s)
	if !ok {
		return "/*"
	}
	for t := range children(work, s, root) {
		if isIdentifier(strings.Map(asLetter, t.name)) {
			return "//" + t.name + "[6]"
		}
		break
	}
	return "/*/*[6]"
}

// asLetter makes letters of what else a plain name of XML may hold.
func asLetter(r rune) rune {
	if r == '-' || r == '.' {
		return '_'
	}
	return r
}

// visibleList joins names for a line of ours.
func visibleList(names []string) string { return visible.Text(strings.Join(names, ", ")) }
