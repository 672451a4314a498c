package spill

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/antchfx/xmlquery"
	"github.com/antchfx/xpath"
	"golang.org/x/net/html"
)

const (
	maxMarkupQuery = 500     // characters of a selector or an XPath
	maxXMLDepth    = 1000    // levels of elements
	maxMoves       = 5 << 20 // steps from node to node that an XPath may take
)

// css shows the elements that a CSS selector finds: their HTML, or with ::text
// or ::attr(name) at its end their text or an attribute.
func (r *reader) css(ctx context.Context, query string, out *results) error {
	if len(query) > maxMarkupQuery {
		return fmt.Errorf("the selector has %d characters, at most %d are allowed", len(query), maxMarkupQuery)
	}
	query, take := elementPart(query)
	group, err := parseSelectors(query)
	if err != nil {
		return err
	}
	work := &meter{ctx: ctx, left: maxSelectorSteps, over: errSelector}
	ended := work.run(func() {
		var root *html.Node
		if root, err = parseHTML(work, r.doc.Text); err != nil {
			return
		}
		f := finding{group: group, work: work, yield: func(n *html.Node) bool {
			text, ok := take(n)
			work.spend(len(text) / 16)
			return !ok || out.add(text)
		}}
		f.below(root, parts{}, parts{})
	})
	return cmp.Or(ended, err)
}

// parseHTML parses a page. The library refuses by panic what nests too deeply.
func parseHTML(work *meter, text string) (root *html.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the page can't be parsed: %s; use mode search or lines", short(p))
		}
	}()
	root, err = parsePage(work, text)
	var ended stopped
	switch {
	case errors.As(err, &ended):
		return nil, ended.error
	case err != nil:
		return nil, fmt.Errorf("the page can't be parsed: %s; use mode search or lines", short(err))
	}
	return root, nil
}

// elementPart splits what to take of an element from a selector.
func elementPart(query string) (string, func(*html.Node) (string, bool)) {
	if s, ok := strings.CutSuffix(query, "::text"); ok {
		return strings.TrimSpace(s), func(n *html.Node) (string, bool) {
			var b strings.Builder
			for d := range n.Descendants() {
				if d.Type == html.TextNode {
					b.WriteString(d.Data)
				}
			}
			return strings.TrimSpace(squeeze(b.String())), true
		}
	}
	if s, name, ok := strings.Cut(query, "::attr("); ok && strings.HasSuffix(name, ")") {
		name = strings.TrimSuffix(name, ")")
		return strings.TrimSpace(s), func(n *html.Node) (string, bool) {
			for _, a := range n.Attr {
				if a.Key == name {
					return a.Val, true
				}
			}
			return "", false
		}
	}
	return query, func(n *html.Node) (string, bool) {
		var b strings.Builder
		if err := html.Render(&b, n); err != nil {
			return fmt.Sprintf("<%s> can't be written: %s", n.Data, short(err)), true
		}
		return b.String(), true
	}
}

// What runs regular expressions over any text or, as translate does, builds a
// table of any text's characters, which can't be stopped, and the strings that
// may hold such words.
var (
	xpathRegex  = regexp.MustCompile(`\b(matches|replace|translate)\s*\(`)
	xpathString = regexp.MustCompile(`"[^"]*"|'[^']*'`)
)

// xpath shows what an XPath finds: the XML of elements, the values of
// attributes and texts, or a number, string or truth.
func (r *reader) xpath(ctx context.Context, query string, out *results) (err error) {
	if len(query) > maxMarkupQuery {
		return fmt.Errorf("the XPath has %d characters, at most %d are allowed", len(query), maxMarkupQuery)
	}
	// The library tells of faults by panic, those it finds when it runs included.
	defer func() {
		if p := recover(); p != nil {
			cause, known := p.(error)
			if !known || !errors.Is(cause, errMoves) && ctx.Err() == nil {
				cause = fmt.Errorf("the XPath can't be used: %s", short(p))
			}
			err = cause
		}
	}()
	if m := xpathRegex.FindStringSubmatch(xpathString.ReplaceAllString(query, "''")); m != nil {
		return fmt.Errorf("the XPath may not use %s(); use contains(), starts-with() or lower-case(), or mode search with regex", m[1])
	}
	expr, err := xpath.Compile(query)
	if err != nil {
		return fmt.Errorf("the query is no XPath: %s", short(err))
	}
	text := trimFront(r.doc.Text)
	root, err := xmlquery.ParseWithOptions(metered{strings.NewReader(text), looking(ctx, text)}, xmlquery.ParserOptions{
		Decoder: &xmlquery.DecoderOptions{Strict: false, Entity: xml.HTMLEntity, CharsetReader: sameBytes},
	})
	var ended stopped
	switch {
	case errors.As(err, &ended):
		return ended.error
	case err != nil:
		return fmt.Errorf("the XML can't be parsed: %s; use mode search or lines", short(err))
	}
	if tooDeep(root) {
		return fmt.Errorf("the XML nests deeper than %d; use mode search or lines", maxXMLDepth)
	}
	meter := &moves{ctx: ctx, left: maxMoves}
	start := &node{NodeNavigator: xmlquery.CreateXPathNavigator(root), moves: meter}
	switch v := expr.Evaluate(start).(type) {
	case *xpath.NodeIterator:
		for v.MoveNext() {
			if !out.add(v.Current().(*node).text()) {
				return nil
			}
		}
	case float64:
		out.add(strconv.FormatFloat(v, 'g', -1, 64))
	default:
		out.add(fmt.Sprint(v))
	}
	return nil
}

// sameBytes reads any declared encoding as it is: the text is UTF-8 by now,
// whatever its declaration says.
func sameBytes(_ string, input io.Reader) (io.Reader, error) { return input, nil }

// tooDeep reports whether the tree is deeper than the library, which works by
// recursion, may be given.
func tooDeep(root *xmlquery.Node) bool {
	depth := 0
	for n := root; n != nil; {
		if n.FirstChild != nil {
			if depth++; depth > maxXMLDepth {
				return true
			}
			n = n.FirstChild
			continue
		}
		for n != nil && n.NextSibling == nil {
			n = n.Parent
			depth--
		}
		if n != nil {
			n = n.NextSibling
		}
	}
	return false
}

var errMoves = errors.New("the XPath takes too many steps; begin it with the path of the elements, as in /root/item[1], and avoid // within conditions")

// moves bounds the work of an XPath, which can grow with any power of the size
// of the document and can't be stopped otherwise.
type moves struct {
	ctx  context.Context
	left int
}

func (m *moves) spend(n int) {
	before := m.left
	if m.left -= n; m.left < 0 {
		panic(errMoves)
	}
	if before>>12 != m.left>>12 && m.ctx.Err() != nil {
		panic(context.Cause(m.ctx))
	}
}

// node is a place in a document that counts how often it is moved.
type node struct {
	*xmlquery.NodeNavigator
	moves *moves
}

func (n *node) Copy() xpath.NodeNavigator {
	n.moves.spend(1)
	return &node{NodeNavigator: n.NodeNavigator.Copy().(*xmlquery.NodeNavigator), moves: n.moves}
}

func (n *node) MoveTo(other xpath.NodeNavigator) bool {
	n.moves.spend(1)
	o, ok := other.(*node)
	return ok && n.NodeNavigator.MoveTo(o.NodeNavigator)
}

func (n *node) MoveToParent() bool { n.moves.spend(1); return n.NodeNavigator.MoveToParent() }
func (n *node) MoveToNextAttribute() bool {
	n.moves.spend(1)
	return n.NodeNavigator.MoveToNextAttribute()
}
func (n *node) MoveToChild() bool    { n.moves.spend(1); return n.NodeNavigator.MoveToChild() }
func (n *node) MoveToNext() bool     { n.moves.spend(1); return n.NodeNavigator.MoveToNext() }
func (n *node) MoveToPrevious() bool { n.moves.spend(1); return n.NodeNavigator.MoveToPrevious() }

// MoveToFirst goes back over all siblings, so it costs as much.
func (n *node) MoveToFirst() bool {
	moved := false
	for n.MoveToPrevious() {
		moved = true
	}
	return moved
}

// Value costs as much as it is long.
func (n *node) Value() string {
	v := n.NodeNavigator.Value()
	n.moves.spend(1 + len(v)/16)
	return v
}

// text is the result that the place stands for.
func (n *node) text() string {
	switch n.NodeType() {
	case xpath.AttributeNode, xpath.TextNode:
		return strings.TrimSpace(n.Value())
	}
	return strings.TrimSpace(n.Current().OutputXML(true))
}
