package spill

import (
	"errors"
	"fmt"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxSelectorSteps bounds what a CSS selector may take on a page: nodes looked
// at, for each of the selector's parts.
const maxSelectorSteps = 1 << 26

var errSelector = errors.New("the selector takes too many steps on this page; ask for fewer elements by tag, #id or .class, without :nth-child, :has and :contains, or use mode search")

// selector is a CSS selector whose parts are joined by combinators, as in
// "ul > li b". The library would try all ways to join them, which grows with
// each part; here each element is looked at once, from the top down.
type selector []part

// part is a compound selector, such as li.a:first-child.
type part struct {
	link  byte // how it is joined to the part before: ' ', '>', '+', '~'
	match cascadia.Sel
	cost  int   // how many simple selectors it has at most
	looks looks // at what else than the element
	count int   // how often it looks at the siblings
	bit   int   // of the elements that match all parts up to this one
}

// looks says what a part looks at besides the element itself.
type looks uint8

const (
	siblings looks = 1 << iota
	below
	above
	regex // which can't be bounded
)

// pseudoLooks lists the pseudo-classes that look further than the element.
var pseudoLooks = map[string]looks{
	"first-child": siblings, "last-child": siblings, "only-child": siblings,
	"first-of-type": siblings, "last-of-type": siblings, "only-of-type": siblings,
	"nth-child": siblings, "nth-last-child": siblings, "nth-of-type": siblings, "nth-last-of-type": siblings,
	"has": below, "haschild": below, "contains": below, "containsown": below,
	"lang": above, "enabled": above, "disabled": above,
	"matches": regex, "matchesown": regex,
}

// parseSelectors compiles a group of selectors.
func parseSelectors(query string) ([]selector, error) {
	if _, err := cascadia.ParseGroup(query); err != nil {
		return nil, fmt.Errorf("the query is no CSS selector: %s", short(err))
	}
	l := selectorLexer{s: query}
	var group []selector
	bit := 0
	for _, chain := range l.group() {
		var s selector
		for _, p := range chain {
			sel, err := cascadia.Parse(p.text)
			if err != nil {
				return nil, fmt.Errorf("the query is no CSS selector: %s", short(err))
			}
			s = append(s, part{link: p.link, match: sel, cost: 1 + len(p.text)/2, looks: p.looks, count: p.count, bit: bit})
			bit++
		}
		group = append(group, s)
	}
	switch {
	case l.looks&regex != 0:
		return nil, errors.New("the selector may have no regular expression (:matches, #=); use :contains, or mode search with regex")
	case l.deep > 1:
		return nil, errors.New("the selector may have :has or :contains once")
	case l.joined:
		return nil, errors.New("within :not() and :has() elements can't be joined, as in :has(a b); name one element there")
	case l.far:
		return nil, errors.New("within :has() only tags, #ids, .classes and attributes can be asked for")
	case bit > maxParts:
		return nil, fmt.Errorf("the selector has %d parts, at most %d are allowed", bit, maxParts)
	}
	return group, nil
}

// selectorLexer splits selectors that the library takes at their combinators.
type selectorLexer struct {
	s      string
	i      int
	looks  looks // of all parts
	count  int   // how many pseudo-classes look at the siblings
	deep   int   // how many pseudo-classes look at all below
	joined bool  // there are combinators within a pseudo-class
	far    bool  // :has() holds what looks further than an element
}

// rawPart is a part before it is compiled.
type rawPart struct {
	link  byte
	text  string
	looks looks
	count int
}

// group reads selectors up to a closing parenthesis or the end.
func (l *selectorLexer) group() [][]rawPart {
	var group [][]rawPart
	for {
		group = append(group, l.chain())
		if l.i >= len(l.s) || l.s[l.i] != ',' {
			return group
		}
		l.i++
	}
}

// chain reads the parts of one selector.
func (l *selectorLexer) chain() []rawPart {
	var chain []rawPart
	l.blank()
	for link := byte(0); ; {
		from, count := l.i, l.count
		saw := l.compound()
		chain = append(chain, rawPart{link: link, text: l.s[from:l.i], looks: saw, count: l.count - count})
		link = 0
		if l.blank() {
			link = ' '
		}
		if l.i >= len(l.s) {
			return chain
		}
		switch c := l.s[l.i]; c {
		case ',', ')':
			return chain
		case '>', '+', '~':
			link = c
			l.i++
			l.blank()
		}
		if from == l.i {
			return chain // what the library would not have taken
		}
	}
}

// compound reads simple selectors as long as one follows the other.
func (l *selectorLexer) compound() (saw looks) {
	for l.i < len(l.s) {
		switch c := l.s[l.i]; c {
		case ' ', '\t', '\r', '\n', '\f', ',', ')', '>', '+', '~', '/':
			return saw
		case '\\':
			l.escape()
		case '[':
			saw |= l.brackets(']')
		case ':':
			saw |= l.pseudo()
		default:
			l.i++
		}
	}
	return saw
}

// pseudo reads a pseudo-class with its argument.
func (l *selectorLexer) pseudo() looks {
	l.i++
	from := l.i
	for l.i < len(l.s) && strings.IndexByte(" \t\r\n\f,)>+~/[:.#(", l.s[l.i]) < 0 {
		if l.s[l.i] == '\\' {
			l.looks |= regex // a name that hides what it is
		}
		l.i++
	}
	name := strings.ToLower(l.s[from:l.i])
	saw := pseudoLooks[name]
	l.looks |= saw
	switch saw {
	case below:
		l.deep++
	case siblings:
		l.count++
	}
	if l.i >= len(l.s) || l.s[l.i] != '(' {
		return saw
	}
	switch name {
	case "not", "has", "haschild":
		l.i++
		for _, chain := range l.group() {
			l.joined = l.joined || len(chain) > 1
			for _, p := range chain {
				saw |= p.looks
				l.far = l.far || p.looks != 0 && name != "not"
			}
		}
		l.i++
		return saw
	}
	return saw | l.brackets(')')
}

// brackets reads up to the closing bracket, past strings.
func (l *selectorLexer) brackets(shut byte) (saw looks) {
	for l.i++; l.i < len(l.s); {
		switch c := l.s[l.i]; c {
		case shut:
			l.i++
			return saw
		case '\\':
			l.escape()
		case '"', '\'':
			for l.i++; l.i < len(l.s) && l.s[l.i] != c; {
				if l.s[l.i] == '\\' {
					l.escape()
				} else {
					l.i++
				}
			}
			l.i++
		default:
			if c == '#' && shut == ']' {
				l.looks |= regex
			}
			l.i++
		}
	}
	return saw
}

// escape reads a backslash and what it stands before: a character, or up to six
// hexadecimal digits and a blank.
func (l *selectorLexer) escape() {
	l.i++
	from := l.i
	for l.i < len(l.s) && l.i < from+6 && isHexDigit(l.s[l.i]) {
		l.i++
	}
	switch {
	case l.i == from:
		l.i++
	case strings.HasPrefix(l.s[l.i:], "\r\n"):
		l.i += 2
	case l.i < len(l.s) && strings.IndexByte(" \t\r\n\f", l.s[l.i]) >= 0:
		l.i++
	}
	l.i = min(l.i, len(l.s))
}

// blank reads blanks and comments and reports whether there were any.
func (l *selectorLexer) blank() bool {
	from := l.i
	for l.i < len(l.s) {
		if strings.IndexByte(" \t\r\n\f", l.s[l.i]) >= 0 {
			l.i++
			continue
		}
		end := strings.Index(l.s[l.i:], "*/")
		if !strings.HasPrefix(l.s[l.i:], "/*") || end < 2 {
			break
		}
		l.i += end + 2
	}
	return l.i > from
}

// maxParts is how many parts a group of selectors has at most.
const maxParts = 256

// parts is a set of the parts of a group.
type parts [maxParts / 64]uint64

func (p *parts) add(bit int)      { p[bit/64] |= 1 << (bit % 64) }
func (p *parts) has(bit int) bool { return p[bit/64]&(1<<(bit%64)) != 0 }

func (p *parts) join(q parts) {
	for i := range p {
		p[i] |= q[i]
	}
}

// place is where an element stands: what its parent, any of its ancestors, the
// element before it and any one before it match.
type place struct {
	parent, ancestors, before, earlier parts
	children                           int // nodes that the parent has
}

// finding holds a group of selectors against a page.
type finding struct {
	group []selector
	work  *meter
	yield func(*html.Node) bool
}

// below yields the elements below n that match, in their order. at has what n
// and those above match.
func (f *finding) below(n *html.Node, parent, ancestors parts) bool {
	at := place{parent: parent, ancestors: ancestors}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		at.children++
	}
	f.work.spend(at.children)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode {
			continue
		}
		got, found := f.matches(c, &at)
		if found && !f.yield(c) {
			return false
		}
		all := ancestors
		all.join(got)
		if !f.below(c, got, all) {
			return false
		}
		at.before = got
		at.earlier.join(got)
	}
	return true
}

// matches finds out which parts the element matches, and whether that are all
// parts of a selector.
func (f *finding) matches(n *html.Node, at *place) (got parts, found bool) {
	attributes := 0
	for _, a := range n.Attr {
		attributes += 1 + (len(a.Key)+len(a.Val))/16
	}
	for _, s := range f.group {
		for i, p := range s {
			f.work.spend(1)
			if i > 0 && !at.allows(p) {
				continue
			}
			f.charge(n, p, attributes, at.children)
			if !p.match.Match(n) {
				continue
			}
			got.add(p.bit)
			found = found || i == len(s)-1
		}
	}
	return got, found
}

// allows reports whether an element at this place may match p after those that
// match the part before.
func (at *place) allows(p part) bool {
	switch p.link {
	case '>':
		return at.parent.has(p.bit - 1)
	case '+':
		return at.before.has(p.bit - 1)
	case '~':
		return at.earlier.has(p.bit - 1)
	}
	return at.ancestors.has(p.bit - 1)
}

// charge spends what matching the part may cost.
func (f *finding) charge(n *html.Node, p part, attributes, children int) {
	f.work.spend(p.cost * (1 + attributes))
	f.work.spend(p.count * children)
	if p.looks&below != 0 {
		for d := range n.Descendants() {
			cost := 1 + len(d.Data)/16
			for _, a := range d.Attr {
				cost += 1 + (len(a.Key)+len(a.Val))/16
			}
			f.work.spend(p.cost * cost)
		}
	}
	if p.looks&above != 0 {
		for a := n; a != nil; a = a.Parent {
			f.work.spend(p.cost * (1 + len(a.Attr)))
			if a.DataAtom != atom.Legend {
				continue
			}
			for s := a.PrevSibling; s != nil; s = s.PrevSibling {
				f.work.spend(p.cost)
			}
		}
	}
}
