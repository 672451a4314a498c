package spill

import (
	"strings"

	"golang.org/x/net/html/atom"
)

// tag is one piece of markup: <a b="c">, </a>, <a/>, a comment, a directive.
type tag struct {
	kind tagKind
	name string // of an element
	from int    // its first byte
	to   int    // behind its last byte
}

type tagKind uint8

const (
	tagOpen tagKind = iota + 1
	tagClose
	tagEmpty // <a/>
	tagData  // CDATA
	tagOther // comment, processing instruction, doctype
)

// nextTag finds the first markup of s at or after i. What begins with '<' and
// is no markup is passed over. It needs no memory and looks at each byte once.
func nextTag(work *meter, s string, i int) (tag, bool) {
	from := i
	for {
		j := strings.IndexByte(s[i:], '<')
		if j < 0 {
			work.spend(len(s) - from)
			return tag{}, false
		}
		i += j
		t, known := tagAt(work, s, i)
		if !known {
			i++
			continue
		}
		work.spend(i - from)
		return t, t.to > 0
	}
}

// tagAt reads the markup at byte i, which is '<'. When it never ends, to is 0.
func tagAt(work *meter, s string, i int) (t tag, known bool) {
	rest := s[i:]
	defer func() {
		switch {
		case t.to > 0:
			work.spend(t.to - i)
		case known:
			work.spend(len(rest))
		}
	}()
	closed := func(kind tagKind, skip int, end string) (tag, bool) {
		j := strings.Index(rest[skip:], end)
		if j < 0 {
			return tag{kind: kind, from: i}, true
		}
		return tag{kind: kind, from: i, to: i + skip + j + len(end)}, true
	}
	switch {
	case strings.HasPrefix(rest, "<!--"):
		return closed(tagOther, 4, "-->")
	case strings.HasPrefix(rest, "<![CDATA["):
		return closed(tagData, 9, "]]>")
	case strings.HasPrefix(rest, "<?"):
		return closed(tagOther, 2, "?>")
	case strings.HasPrefix(rest, "<!"):
		return tag{kind: tagOther, from: i, to: doctypeEnd(s, i)}, true
	case strings.HasPrefix(rest, "</"):
		name := tagName(rest[2:])
		if name == "" {
			return tag{}, false
		}
		t, known = closed(tagClose, 2+len(name), ">")
		t.name = name
		return t, known
	}
	name := tagName(rest[1:])
	if name == "" {
		return tag{}, false
	}
	t = tag{kind: tagOpen, name: name, from: i}
	quote, equals := byte(0), false
	for j := i + 1 + len(name); j < len(s); j++ {
		switch c := s[j]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && equals:
			quote, equals = c, false
		case c == '=':
			equals = true
		case c == ' ', c == '\t', c == '\r', c == '\n':
		case c != '>':
			equals = false
		default:
			if s[j-1] == '/' {
				t.kind = tagEmpty
			}
			t.to = j + 1
			return t, true
		}
	}
	return t, true
}

// doctypeEnd is the end of the directive at i, past an internal subset; 0 when
// it never ends.
func doctypeEnd(s string, i int) int {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '[':
			depth++
		case ']':
			depth--
		case '>':
			if depth <= 0 {
				return i + 1
			}
		}
	}
	return 0
}

// tagName is the element name that s begins with; empty when it begins with
// none or the name is followed by what can't follow one.
func tagName(s string) string {
	i := 0
	for i < len(s) && (isLetter(s[i]) || i > 0 && (s[i] >= '0' && s[i] <= '9' || s[i] == '-' || s[i] == '.' || s[i] == ':')) {
		i++
	}
	if i == 0 || i == len(s) {
		return ""
	}
	switch s[i] {
	case ' ', '\t', '\r', '\n', '/', '>':
		return s[:i]
	}
	return ""
}

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == ':' || c >= 0x80
}

// detectMarkup tells HTML, XML and text apart; s begins with '<'.
func detectMarkup(work *meter, s string) Type {
	declared := false // <?xml …?>
	for i := 0; ; {
		i = jsonBlank(s, i)
		if i >= len(s) || s[i] != '<' {
			break
		}
		t, known := tagAt(work, s, i)
		if !known || t.to == 0 {
			break
		}
		if t.kind == tagOther {
			switch text := s[t.from:t.to]; {
			case hasPrefixFold(text, "<?xml"):
				declared = true
			case hasPrefixFold(text, "<!doctype"):
				if name := strings.Fields(strings.TrimSuffix(text, ">")[len("<!doctype"):]); len(name) > 0 && strings.EqualFold(name[0], "html") {
					return HTML
				}
				declared = true
			}
			i = t.to
			continue
		}
		if t.kind != tagOpen && t.kind != tagEmpty {
			break
		}
		switch strings.ToLower(t.name) {
		case "html":
			return HTML
		case "head", "body":
			if !declared {
				return HTML
			}
		}
		closes := rootCloses(work, s, t)
		if !declared && isHTMLName(t.name) && !(closes && foreign(work, s, i)) {
			return HTML
		}
		if closes {
			return XML
		}
		break
	}
	if declared {
		return XML
	}
	return Text
}

// rootCloses reports whether the element that begins with root is closed, and
// only blanks and comments follow.
func rootCloses(work *meter, s string, root tag) bool {
	depth, i := 0, root.from
	for {
		t, ok := nextTag(work, s, i)
		if !ok {
			return false
		}
		switch t.kind {
		case tagOpen:
			depth++
		case tagClose:
			depth--
		}
		i = t.to
		if depth > 0 {
			continue
		}
		if depth < 0 || t.kind == tagClose && t.name != root.name {
			return false
		}
		break
	}
	for {
		i = jsonBlank(s, i)
		if i == len(s) {
			return true
		}
		if s[i] != '<' {
			return false
		}
		t, known := tagAt(work, s, i)
		if !known || t.kind != tagOther || t.to == 0 {
			return false
		}
		i = t.to
	}
}

// foreign reports whether most of the first elements are none of HTML's, so
// that a root like <table> or <data> is one of XML by the same name.
func foreign(work *meter, s string, i int) bool {
	others, all := 0, 0
	for all < 100 {
		t, ok := nextTag(work, s, i)
		if !ok {
			break
		}
		i = t.to
		if t.kind != tagOpen && t.kind != tagEmpty {
			continue
		}
		switch strings.ToLower(t.name) {
		case "svg", "math", "script", "style":
			return false
		}
		all++
		if !isHTMLName(t.name) {
			others++
		}
	}
	return others*2 > all
}

// isHTMLName reports whether name is an element of HTML. The names are those
// that the HTML library knows as elements, not as attributes.
func isHTMLName(name string) bool {
	if len(name) > len("figcaption") {
		return false
	}
	var buf [len("figcaption")]byte
	n := copy(buf[:], name)
	for i := range n {
		if c := buf[i]; c >= 'A' && c <= 'Z' {
			buf[i] = c + 'a' - 'A'
		}
	}
	switch atom.Lookup(buf[:n]) {
	case atom.A, atom.Abbr, atom.Address, atom.Area, atom.Article, atom.Aside, atom.Audio, atom.B, atom.Base, atom.Bdi,
		atom.Bdo, atom.Blockquote, atom.Body, atom.Br, atom.Button, atom.Canvas, atom.Caption, atom.Center, atom.Cite,
		atom.Code, atom.Col, atom.Colgroup, atom.Data, atom.Datalist, atom.Dd, atom.Del, atom.Details, atom.Dfn,
		atom.Dialog, atom.Div, atom.Dl, atom.Dt, atom.Em, atom.Embed, atom.Fieldset, atom.Figcaption, atom.Figure,
		atom.Font, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Head, atom.Header,
		atom.Hgroup, atom.Hr, atom.Html, atom.I, atom.Iframe, atom.Img, atom.Input, atom.Ins, atom.Kbd, atom.Label,
		atom.Legend, atom.Li, atom.Link, atom.Main, atom.Map, atom.Mark, atom.Menu, atom.Meta, atom.Meter, atom.Nav,
		atom.Noscript, atom.Object, atom.Ol, atom.Optgroup, atom.Option, atom.Output, atom.P, atom.Param, atom.Picture,
		atom.Pre, atom.Progress, atom.Q, atom.S, atom.Samp, atom.Script, atom.Section, atom.Select, atom.Small,
		atom.Source, atom.Span, atom.Strong, atom.Style, atom.Sub, atom.Summary, atom.Sup, atom.Table, atom.Tbody,
		atom.Td, atom.Template, atom.Textarea, atom.Tfoot, atom.Th, atom.Thead, atom.Time, atom.Title, atom.Tr,
		atom.Track, atom.U, atom.Ul, atom.Var, atom.Video, atom.Wbr:
		return true
	}
	return false
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
