package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// layout turns blocks into lines.
type layout struct {
	opts  Options
	src   []byte
	joint joint
}

// document lays out the blocks of doc before the block until, and when that is
// a list and item one of its items, the items before that. Both nil means all.
func (l *layout) document(doc, until, item ast.Node) []string {
	var out []string
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if n == until && item == nil {
			break
		}
		list, isList := n.(*ast.List)
		if !isList {
			if lines := l.block(n, l.opts.width()); len(lines) > 0 {
				out = append(append(out, l.gap(n)...), lines...)
				l.joint = joint{begun: true}
			}
			continue
		}
		stop := item
		if n != until {
			stop = nil
		}
		out = append(out, l.topList(list, stop)...)
		if n == until {
			break
		}
	}
	return out
}

// topList lays out the items of a list before stop, all of them when it is nil.
// The list may be the rest of one whose first items are settled.
func (l *layout) topList(list *ast.List, stop ast.Node) []string {
	out := l.gap(list)
	number := -1
	if l.joint.item {
		number = l.joint.number
	}
	n := list.FirstChild()
	for ; n != nil && n != stop; n = n.NextSibling() {
		if n != list.FirstChild() && n.HasBlankPreviousLines() {
			out = append(out, "")
		}
		number = l.number(list, n, number)
		out = append(out, l.item(list, n, number, l.opts.width())...)
	}
	l.joint = joint{begun: true}
	if n != nil {
		l.joint.item, l.joint.number, l.joint.loose = true, number, n.HasBlankPreviousLines()
	}
	return out
}

// gap is what separates n from what stands above it.
func (l *layout) gap(n ast.Node) []string {
	switch {
	case !l.joint.begun:
		return nil
	case l.joint.item && n.Kind() == ast.KindList && !l.joint.loose:
		return nil
	}
	return []string{""}
}

// block lays out one block in width cells.
func (l *layout) block(n ast.Node, width int) []string {
	switch n := n.(type) {
	case *ast.Paragraph, *ast.TextBlock:
		return l.prose(n, width, 0)
	case *ast.Heading:
		return l.prose(n, width, headingStyle(n.Level))
	case *ast.ThematicBreak:
		return []string{dim.on(l.opts) + strings.Repeat("─", min(width, proseWidth)) + dim.off(l.opts)}
	case *ast.CodeBlock:
		return l.code("", linesOf(n, l.src))
	case *ast.FencedCodeBlock:
		return l.code(string(n.Language(l.src)), linesOf(n, l.src))
	case *ast.HTMLBlock:
		return l.html(n, width)
	case *ast.Blockquote:
		return l.quote(n, width)
	case *ast.List:
		return l.list(n, width)
	case *east.Table:
		return l.table(n, width)
	case *ast.LinkReferenceDefinition:
		return nil
	}
	return l.children(n, width)
}

func headingStyle(level int) style {
	switch level {
	case 1:
		return bold | underline
	case 2:
		return bold
	}
	return bold | italic
}

// prose lays out text with marks in it.
func (l *layout) prose(n ast.Node, width int, s style) []string {
	return l.inline(n, s).wrap(min(width, proseWidth), l.opts)
}

// linesOf are the lines of a block of code as they stand.
func linesOf(n ast.Node, src []byte) []string {
	segments := n.Lines()
	out := make([]string, segments.Len())
	for i := range out {
		s := segments.At(i)
		out[i] = string(s.Value(src))
	}
	return out
}

func (l *layout) html(n *ast.HTMLBlock, width int) []string {
	lines := linesOf(n, l.src)
	if n.HasClosure() {
		lines = append(lines, string(n.ClosureLine.Value(l.src)))
	}
	var out []string
	for _, line := range lines {
		t := &flow{}
		if t.add(plain(strings.TrimRight(line, "\r\n")), dim, ""); t.words.Len() == 0 {
			out = append(out, "")
		}
		out = append(out, t.wrap(min(width, proseWidth), l.opts)...)
	}
	return out
}

// children lays out blocks one below the other, with a blank line where one
// stands in the text or blocks would run together.
func (l *layout) children(n ast.Node, width int) []string {
	var out []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		lines := l.block(c, width)
		if len(lines) == 0 {
			continue
		}
		if len(out) > 0 && (c.HasBlankPreviousLines() || n.Kind() != ast.KindListItem) {
			out = append(out, "")
		}
		out = append(out, lines...)
	}
	return out
}

func (l *layout) quote(n ast.Node, width int) []string {
	const bar = "│ "
	inner, ok := narrowed(width, 2)
	lines := l.children(n, inner)
	if !ok {
		return lines
	}
	mark := dim.on(l.opts) + bar + dim.off(l.opts)
	return indent(lines, mark, mark)
}

// narrowed is the width that remains beside an indentation of n cells. Where
// too little would remain nothing is indented any more.
func narrowed(width, n int) (int, bool) {
	const least = 10
	if width-n < least {
		return width, false
	}
	return width - n, true
}

// indent writes first before the first line and rest before the others. Blank
// lines get nothing that ends in spaces.
func indent(lines []string, first, rest string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		prefix := rest
		if i == 0 {
			prefix = first
		}
		if line == "" {
			prefix = strings.TrimRight(prefix, " ")
		}
		out[i] = prefix + line
	}
	return out
}

// list lays out a list within another block.
func (l *layout) list(list *ast.List, width int) []string {
	var out []string
	number := -1
	for n := list.FirstChild(); n != nil; n = n.NextSibling() {
		if n != list.FirstChild() && n.HasBlankPreviousLines() {
			out = append(out, "")
		}
		number = l.number(list, n, number)
		out = append(out, l.item(list, n, number, width)...)
	}
	return out
}

// number is the number of an item that follows the one with number last, -1
// for none: the one that stands there, unless that doesn't go up.
func (l *layout) number(list *ast.List, item ast.Node, last int) int {
	if !list.IsOrdered() {
		return 0
	}
	own := 0
	for at := item.Pos(); at >= 0 && at < len(l.src) && l.src[at] >= '0' && l.src[at] <= '9'; at++ {
		own = own*10 + int(l.src[at]-'0') // the parser takes nine figures at most
	}
	return max(own, last+1)
}

// item lays out an item with its bullet or number.
func (l *layout) item(list *ast.List, n ast.Node, number, width int) []string {
	mark := "• "
	if list.IsOrdered() {
		mark = strconv.Itoa(number) + string(list.Marker) + " "
	}
	if box, ok := l.task(n); ok {
		mark = box
	}
	inner, ok := narrowed(width, widthOf(mark))
	lines := l.children(n, inner)
	if len(lines) == 0 {
		return []string{strings.TrimRight(mark, " ")}
	}
	if !ok {
		return append([]string{strings.TrimRight(mark, " ")}, lines...)
	}
	return indent(lines, mark, strings.Repeat(" ", widthOf(mark)))
}

// task finds the box of a task at the beginning of an item and takes it off
// the text.
func (l *layout) task(item ast.Node) (mark string, ok bool) {
	p := item.FirstChild()
	if p == nil || p.Type() != ast.TypeBlock || p.Kind() != ast.KindParagraph && p.Kind() != ast.KindTextBlock {
		return "", false
	}
	// The brackets come as texts of their own, since a link could begin there.
	var s string
	var taken []ast.Node
	for c := p.FirstChild(); c != nil && len(s) < 4; c = c.NextSibling() {
		t, isText := c.(*ast.Text)
		if !isText {
			break
		}
		s += string(t.Segment.Value(l.src))
		taken = append(taken, c)
		if t.SoftLineBreak() {
			break
		}
	}
	switch {
	case strings.HasPrefix(s, "[ ] "):
		mark = "☐ "
	case strings.HasPrefix(s, "[x] "), strings.HasPrefix(s, "[X] "):
		mark = "☑ "
	default:
		return "", false
	}
	for skip := 4; skip > 0; taken = taken[1:] {
		t := taken[0].(*ast.Text)
		n := min(skip, t.Segment.Len())
		t.Segment = t.Segment.WithStart(t.Segment.Start + n)
		skip -= n
	}
	return mark, true
}

// code lays out lines of code: as they are, so that they can be copied.
func (l *layout) code(language string, lines []string) []string {
	out := l.codeHead(language)
	for _, line := range lines {
		out = append(out, codeLine(line))
	}
	return out
}

const codeIndent = "  "

// codeHead names the language.
func (l *layout) codeHead(language string) []string {
	if language = plain(language); language == "" {
		return nil
	}
	t := &flow{}
	t.add(language, dim, "")
	return indent(t.wrap(max(l.opts.width()-len(codeIndent), minWidth), l.opts), codeIndent, codeIndent)
}

func codeLine(line string) string {
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return ""
	}
	return codeIndent + plain(expand(line))
}

// expand writes tabs as spaces, so that lines are as wide as they are taken
// to be.
func expand(line string) string {
	const stop = 4
	if !strings.Contains(line, "\t") {
		return line
	}
	var b strings.Builder
	column := 0
	for i, part := range strings.Split(line, "\t") {
		if i > 0 {
			n := stop - column%stop
			b.WriteString(strings.Repeat(" ", n))
			column += n
		}
		b.WriteString(part)
		column += widthOf(part)
	}
	return b.String()
}
