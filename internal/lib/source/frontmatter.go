package source

import (
	"bytes"
	"errors"
)

// ErrUnclosed says that a document begins with a line --- and has no second
// one that would end its frontmatter.
var ErrUnclosed = errors.New("frontmatter has no closing --- line")

// Front is a document split into its frontmatter and its body. Both are parts
// of the bytes that were split, line ends included; nothing is copied.
type Front struct {
	// Meta is the YAML between the two --- lines, empty when there is none.
	Meta []byte
	// MetaLine is the line, from 1, on which Meta begins: add the line of a
	// YAML error minus one. It is 0 when the document has no frontmatter.
	MetaLine int
	// Body is all that follows.
	Body []byte
	// BodyLine is the line, from 1, on which Body begins.
	BodyLine int
}

// Frontmatter splits a document whose first line is --- at the next such line.
// A byte-order mark before the first line is dropped, lines may end with LF or
// CRLF, and spaces or tabs after the dashes are ignored. A document that does
// not begin so is all body. When the closing line is missing the error is
// [ErrUnclosed] and the document is all body as well.
func Frontmatter(doc []byte) (Front, error) {
	doc = bytes.TrimPrefix(doc, []byte("\xef\xbb\xbf"))
	whole := Front{Body: doc, BodyLine: 1}
	line, rest := cutLine(doc)
	if !isFence(line) {
		return whole, nil
	}
	meta := rest
	for n := 2; len(rest) > 0; n++ {
		start := len(meta) - len(rest)
		line, rest = cutLine(rest)
		if isFence(line) {
			return Front{Meta: meta[:start:start], MetaLine: 2, Body: rest, BodyLine: n + 1}, nil
		}
	}
	return whole, ErrUnclosed
}

// cutLine splits after the first LF; the line is without its end.
func cutLine(b []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(b, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), rest
}

func isFence(line []byte) bool {
	return bytes.HasPrefix(line, []byte("---")) && len(bytes.TrimRight(line[3:], " \t")) == 0
}
