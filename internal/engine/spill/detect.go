package spill

import "strings"

// Type is what a result's text is taken for. It decides how a preview looks and
// which modes of read_output fit.
type Type string

const (
	JSON   Type = "json"   // one JSON object or array
	JSONL  Type = "jsonl"  // a JSON object on each line, at least two
	HTML   Type = "html"   // begins with the doctype or an element of HTML
	XML    Type = "xml"    // declared as XML, or one root element that closes
	CSV    Type = "csv"    // rows and columns, whatever the delimiter
	Text   Type = "text"   // anything else
	Binary Type = "binary" // bytes that are no text
)

// bom is the byte-order mark that may begin a text.
const bom = "\ufeff"

// detect says what s is. A byte-order mark and blanks before it don't count,
// nor do comments before markup. It reads s at most a few times, needs no
// recursion and hardly any memory, whatever s is.
func detect(work *meter, s string) Type {
	if isBinary(s) {
		return Binary
	}
	whole := s
	s = trimFront(s)
	if s == "" {
		return Text
	}
	switch s[0] {
	case '{':
		if validJSON(work, s) {
			return JSON
		}
		if jsonLines(work, s) {
			return JSONL
		}
		return Text
	case '[':
		if validJSON(work, s) {
			return JSON
		}
		return Text
	case '<':
		return detectMarkup(work, s)
	}
	if _, ok := sniffTable(work, whole); ok {
		return CSV
	}
	return Text
}

// trimFront is s without a byte-order mark and leading blanks.
func trimFront(s string) string {
	return strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(s, " \t\r\n"), bom), " \t\r\n")
}
