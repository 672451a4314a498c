package markdown

import (
	"bytes"
	"sync"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// The parser is goldmark's with tables and strikethrough added here: importing
// its own extensions would compile their regular expressions, and cost every
// start of the program 0.4 ms.
var fullParser = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(append(parser.DefaultInlineParsers(), util.Prioritized(strike{}, 500))...),
		parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(), util.Prioritized(tables{}, 200))...),
	)
})

// plainParser knows code, headings and rules only. It takes a time that is
// linear in the text, whatever that is.
var plainParser = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(parser.WithBlockParsers(
		util.Prioritized(parser.NewThematicBreakParser(), 200), util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700), util.Prioritized(parser.NewParagraphParser(), 1000),
	))
})

// parse never fails. Should the parser break over a text, that is shown without
// its marks being understood rather than taking the whole conversation along.
func parse(src []byte) (doc ast.Node) {
	if hostile(src) {
		return plainParser().Parse(text.NewReader(src))
	}
	defer func() {
		if recover() != nil {
			doc = plainParser().Parse(text.NewReader(src))
		}
	}()
	return fullParser().Parse(text.NewReader(src))
}

const (
	maxMarks = 3000 // in one paragraph
	maxDepth = 50   // of containers that one line opens
)

// hostile reports whether the parser would take long for src: for the marks of
// one paragraph it takes a time that grows with the square of their number,
// for containers within each other too. No text that is meant to be read has
// as many.
func hostile(src []byte) bool {
	if len(src) < maxMarks {
		return deep(src)
	}
	marks := 0
	for line := range bytes.Lines(src) {
		first := firstOf(line)
		switch {
		case first == 0:
			marks = 0
			continue
		case first == '|':
			continue // cells are parsed each by itself
		}
		for _, c := range line {
			switch c {
			case '[', ']', '`', '*', '_', '~', '<', '!', '\\', '&':
				marks++
			}
		}
		if marks > maxMarks {
			return true
		}
	}
	return deep(src)
}

// deep reports whether a line opens too many containers.
func deep(src []byte) bool {
	if len(src) < maxDepth {
		return false
	}
	for line := range bytes.Lines(src) {
		n := 0
		for _, c := range line {
			if c == '>' || c == '-' || c == '*' || c == '+' || c == '.' || c == ')' {
				n++
			} else if c != ' ' && c != '\t' && (c < '0' || c > '9') {
				break
			}
		}
		if n > maxDepth && len(bytes.Trim(line, "-* \t\n")) > 0 {
			return true
		}
	}
	return false
}

// strike parses ~~text~~.
type strike struct{}

func (strike) Trigger() []byte { return []byte{'~'} }

func (s strike) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	d := parser.ScanDelimiter(line, before, 2, s)
	if d == nil || d.OriginalLength != 2 || before == '~' {
		return nil
	}
	d.Segment = segment.WithStop(segment.Start + d.OriginalLength)
	block.Advance(d.OriginalLength)
	pc.PushDelimiter(d)
	return d
}

func (strike) IsDelimiter(b byte) bool { return b == '~' }

func (strike) CanOpenCloser(opener, closer *parser.Delimiter) bool { return opener.Char == closer.Char }

func (strike) OnMatch(int) ast.Node { return east.NewStrikethrough() }

// tables turns the lines of a paragraph into a table from where a row of
// headings stands above a row of dashes.
type tables struct{}

func (tables) Transform(p *ast.Paragraph, reader text.Reader, _ parser.Context) {
	src := reader.Source()
	lines := p.Lines()
	for i := 1; i < lines.Len(); i++ {
		align := delimiters(lineOf(lines, i, src))
		if align == nil {
			continue
		}
		head := cells(lines.At(i-1), src)
		if len(head) != len(align) {
			continue
		}
		t := east.NewTable()
		t.Alignments = align
		t.SetPos(lines.At(i - 1).Start)
		t.SetBlankPreviousLines(i == 1 && p.HasBlankPreviousLines())
		t.AppendChild(t, east.NewTableHeader(row(head, align)))
		for j := i + 1; j < lines.Len(); j++ {
			t.AppendChild(t, row(cells(lines.At(j), src), align))
		}
		p.Parent().InsertAfter(p.Parent(), p, t)
		if i == 1 {
			p.Parent().RemoveChild(p.Parent(), p)
			return
		}
		lines.SetSliced(0, i-1)
		last := lines.At(i - 2)
		lines.Set(i-2, last.TrimRightSpace(src))
		return
	}
}

func lineOf(lines *text.Segments, i int, src []byte) []byte {
	s := lines.At(i)
	return s.Value(src)
}

// delimiters reads the row of dashes; nil when it is none.
func delimiters(line []byte) []east.Alignment {
	line = bytes.TrimSpace(line)
	if len(line) < 2 || len(bytes.Trim(line, "|-: \t")) > 0 || bytes.IndexByte(line, '|') < 0 && bytes.IndexByte(line, ':') < 0 {
		return nil
	}
	line = bytes.TrimSuffix(bytes.TrimPrefix(line, []byte("|")), []byte("|"))
	var align []east.Alignment
	for cell := range bytes.SplitSeq(line, []byte("|")) {
		cell = bytes.TrimSpace(cell)
		left, right := bytes.HasPrefix(cell, []byte(":")), bytes.HasSuffix(cell, []byte(":"))
		dashes := bytes.Trim(cell, ":")
		switch {
		case len(dashes) == 0 || len(bytes.Trim(dashes, "-")) > 0 || len(cell)-len(dashes) > 2:
			return nil
		case left && right:
			align = append(align, east.AlignCenter)
		case right:
			align = append(align, east.AlignRight)
		case left:
			align = append(align, east.AlignLeft)
		default:
			align = append(align, east.AlignNone)
		}
	}
	return align
}

// cells cuts a row at its bars; one behind a backslash is text.
func cells(line text.Segment, src []byte) []text.Segment {
	line = line.TrimLeftSpace(src)
	line = line.TrimRightSpace(src)
	at, end := line.Start, line.Stop
	if at < end && src[at] == '|' {
		at++
	}
	if end > at && src[end-1] == '|' && !(end-2 >= at && src[end-2] == '\\') {
		end--
	}
	var out []text.Segment
	from := at
	for i := at; i <= end; i++ {
		if i < end && (src[i] != '|' || i > at && src[i-1] == '\\') {
			continue
		}
		s := text.NewSegment(from, i)
		s = s.TrimLeftSpace(src)
		out = append(out, s.TrimRightSpace(src))
		from = i + 1
	}
	return out
}

// row makes a row of exactly as many cells as there are columns.
func row(cells []text.Segment, align []east.Alignment) *east.TableRow {
	r := east.NewTableRow(align)
	for i, a := range align {
		c := east.NewTableCell()
		c.Alignment = a
		if i < len(cells) && cells[i].Start < cells[i].Stop {
			c.Lines().Append(cells[i])
		}
		r.AppendChild(r, c)
	}
	return r
}
