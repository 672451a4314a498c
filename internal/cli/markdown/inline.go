package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// flow is words with styles, to be broken into lines. A line feed in it breaks the line.
type flow struct {
	words strings.Builder
	runs  []run
}

// run is a part of a text in one style.
type run struct {
	end   int // where in the words it ends
	style style
	link  string // the address, when the terminal shows it as a link
}

func (t *flow) add(s string, st style, link string) {
	if s == "" {
		return
	}
	t.words.WriteString(s)
	if n := len(t.runs); n > 0 && t.runs[n-1].style == st && t.runs[n-1].link == link {
		t.runs[n-1].end = t.words.Len()
		return
	}
	t.runs = append(t.runs, run{t.words.Len(), st, link})
}

// inline collects the text of a block.
func (l *layout) inline(n ast.Node, st style) *flow {
	t := &flow{}
	l.collect(t, n, st, "")
	return t
}

func (l *layout) collect(t *flow, parent ast.Node, st style, link string) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			t.add(l.words(n), st, link)
			switch {
			case n.HardLineBreak():
				t.add("\n", st, link)
			case n.SoftLineBreak():
				t.add(" ", st, link)
			}
		case *ast.String:
			t.add(plain(string(n.Value)), st, link)
		case *ast.CodeSpan:
			l.codeSpan(t, n, st, link)
		case *ast.Emphasis:
			inner := st | italic
			if n.Level == 2 {
				inner = st | bold
			}
			l.collect(t, n, inner, link)
		case *east.Strikethrough:
			l.collect(t, n, st|struck, link)
		case *ast.Link:
			l.link(t, n, string(n.Destination), st, link)
		case *ast.Image:
			t.add("[", st|dim, link)
			t.add("image: ", st|dim, link)
			l.link(t, n, string(n.Destination), st, link)
			t.add("]", st|dim, link)
		case *ast.AutoLink:
			label := plain(string(n.Label(l.src)))
			t.add(label, st|underline, l.target(string(n.URL(l.src)), link))
		case *ast.RawHTML:
			l.rawHTML(t, n, st, link)
		default:
			l.collect(t, n, st, link)
		}
	}
}

// words is the text of a node with escapes and entities resolved. What an
// entity stands for is made safe like everything else.
func (l *layout) words(n *ast.Text) string {
	v := n.Segment.Value(l.src)
	if !n.IsRaw() {
		v = resolve(v)
	}
	return plain(string(v))
}

func resolve(v []byte) []byte {
	return util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(v)))
}

// codeSpan adds code. Without colours it keeps its backticks.
func (l *layout) codeSpan(t *flow, n *ast.CodeSpan, st style, link string) {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c, ok := c.(*ast.Text); ok {
			b.Write(c.Segment.Value(l.src))
		}
	}
	code := b.String()
	if inCell(n) {
		code = strings.ReplaceAll(code, `\|`, "|")
	}
	code = plain(code)
	if !l.opts.Color {
		code = "`" + code + "`"
	}
	t.add(code, st|codeStyle, link)
}

func inCell(n ast.Node) bool {
	for ; n != nil; n = n.Parent() {
		if n.Kind() == east.KindTableCell {
			return true
		}
	}
	return false
}

// link adds a link: its text, and its address where the terminal shows none or
// where the text claims to be another one.
func (l *layout) link(t *flow, n ast.Node, dest string, st style, outer string) {
	from := t.words.Len()
	target := l.target(dest, outer)
	l.collect(t, n, st|underline, target)
	said := t.words.String()[from:]
	address := spell(string(resolve([]byte(dest))))
	if address == "" || said == address || "mailto:"+said == address {
		return
	}
	if said == "" {
		t.add(address, st|underline, target)
		return
	}
	if target != "" && !claims(said) {
		return
	}
	t.add(" ", st, "")
	t.add("("+address+")", st|dim, "")
}

// claims reports whether a link's text looks like an address, which a reader
// would take for the one it leads to.
func claims(s string) bool {
	return strings.Contains(s, "://") || strings.HasPrefix(s, "www.") || !strings.Contains(s, " ") && strings.Contains(s, ".")
}

// target is the address of a link that the terminal shows, empty when it
// doesn't or shouldn't.
func (l *layout) target(dest, outer string) string {
	if !l.opts.Links {
		return ""
	}
	if outer != "" {
		return outer
	}
	address := spell(string(resolve([]byte(dest))))
	for _, scheme := range []string{"https://", "http://", "mailto:"} {
		if len(address) > len(scheme) && strings.EqualFold(address[:len(scheme)], scheme) && len(address) < 2048 {
			return address
		}
	}
	return ""
}

// spell writes an address in printable ASCII, all else percent-encoded, so
// that neither its letters nor its controls can deceive.
func spell(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c > ' ' && c < 0x7f {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + hex[c>>4:c>>4+1] + hex[c&15:c&15+1])
		}
	}
	return b.String()
}

// rawHTML shows a tag as it stands; only a line break does what it says.
func (l *layout) rawHTML(t *flow, n *ast.RawHTML, st style, link string) {
	var b strings.Builder
	for i := range n.Segments.Len() {
		s := n.Segments.At(i)
		b.Write(s.Value(l.src))
	}
	tag := b.String()
	switch strings.ToLower(strings.Join(strings.Fields(tag), "")) {
	case "<br>", "<br/>":
		t.add("\n", st, link)
		return
	}
	t.add(plain(tag), st|dim, link)
}
