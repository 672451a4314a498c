package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
)

// fence is a block of code of the outermost level whose lines are settled one
// by one, since nothing that follows changes them.
type fence struct {
	char     byte
	length   int
	indent   int
	language string
	head     []string // what stands above the lines and was not shown yet; may be nothing
	headed   bool     // it was shown
	begun    bool     // there is a line
}

// newFence reads the line that opens a block of code; the parser has found
// that it does.
func newFence(l *layout, n ast.Node, line []byte) *fence {
	rest := bytes.TrimLeft(line, " ")
	f := &fence{indent: len(line) - len(rest), char: rest[0]}
	for f.length < len(rest) && rest[f.length] == f.char {
		f.length++
	}
	if n, ok := n.(*ast.FencedCodeBlock); ok {
		f.language = string(n.Language(l.src))
	}
	f.head = append(l.gap(n), l.codeHead(f.language)...)
	return f
}

// line lays out one line; ended says that it closes the block instead.
func (f *fence) line(line []byte) (shown string, ended bool) {
	if f.ends(line) {
		return "", true
	}
	return codeLine(string(unindent(line, f.indent))), false
}

// unindent takes at most n columns of white space from the beginning of line. A
// tab reaches to the next column that 4 divides; what is left of it becomes
// spaces.
func unindent(line []byte, n int) []byte {
	column := 0
	for i, c := range line {
		switch {
		case column >= n:
			return append(bytes.Repeat([]byte{' '}, column-n), line[i:]...)
		case c == ' ':
			column++
		case c == '\t':
			column += 4 - column%4
		default:
			return line[i:]
		}
	}
	return bytes.Repeat([]byte{' '}, max(column-n, 0))
}

// ends reports whether a line closes the block: at most three spaces, at least
// as many of the same character, and nothing behind them.
func (f *fence) ends(line []byte) bool {
	rest := bytes.TrimLeft(line, " ")
	if len(line)-len(rest) > 3 {
		return false
	}
	n := 0
	for n < len(rest) && rest[n] == f.char {
		n++
	}
	return n >= f.length && len(bytes.TrimSpace(rest[n:])) == 0
}
