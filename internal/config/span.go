package config

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// text is a document as bytes, with what is needed to find where its nodes
// begin and end. The parser tells the beginnings only; the ends are found by
// reading the text again beside the values.
type text struct {
	data []byte
	ends []int // behind each line, breaks included
	eol  string
}

func newText(data []byte) *text {
	t := &text{data: data, ends: lineEnds(data), eol: "\n"}
	if len(t.ends) > 0 && bytes.HasSuffix(data[:t.ends[0]], []byte("\r\n")) {
		t.eol = "\r\n"
	}
	return t
}

// errOdd says that the text is written in a way that is not edited by rule.
var errOdd = errors.New("the text around it is written in an unusual way: edit the file by hand")

// start is the offset of a node, tag and anchor included.
func (t *text) start(n *yaml.Node) int {
	off := 0
	if n.Line > 1 && n.Line-2 < len(t.ends) {
		off = t.ends[n.Line-2]
	}
	for range n.Column - 1 {
		if off >= len(t.data) {
			break
		}
		_, size := utf8.DecodeRune(t.data[off:])
		off += size
	}
	return off
}

// lineStart and lineEnd bound the line of an offset; lineEnd is behind the
// line break.
func (t *text) lineStart(off int) int {
	start := 0
	for _, e := range t.ends {
		if e > off {
			break
		}
		start = e
	}
	return start
}

func (t *text) lineEnd(off int) int {
	for _, e := range t.ends {
		if e > off {
			return e
		}
	}
	return len(t.data)
}

// textEnd is lineEnd without the line break.
func (t *text) textEnd(off int) int {
	end := t.lineEnd(off)
	return max(off, len(bytes.TrimRight(t.data[:end], "\r\n\u0085\u2028\u2029")))
}

// end is the offset behind a node: of a block, behind the last thing in it.
func (t *text) end(n *yaml.Node) (int, error) {
	at := t.skipProperties(n)
	switch n.Kind {
	case yaml.AliasNode:
		return at + 1 + len(n.Value), nil
	case yaml.ScalarNode:
		return t.scalarEnd(n, at)
	case yaml.MappingNode, yaml.SequenceNode:
		if n.Style&yaml.FlowStyle != 0 {
			return t.flowEnd(n, at)
		}
		if len(n.Content) == 0 {
			return 0, errOdd
		}
		last := n.Content[len(n.Content)-1]
		end, err := t.end(last)
		if n.Kind == yaml.MappingNode && err == nil && isImplicit(last) {
			var key int
			key, err = t.valueStart(n.Content[len(n.Content)-2])
			end = key
		}
		return end, err
	}
	return 0, errOdd
}

// isImplicit reports whether nothing is written for a value.
func isImplicit(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "" && n.Style == 0 && n.Anchor == ""
}

// valueStart is the offset behind the colon that follows a key.
func (t *text) valueStart(key *yaml.Node) (int, error) {
	end, err := t.end(key)
	if err != nil {
		return 0, err
	}
	at := end + len(t.data[end:]) - len(bytes.TrimLeft(t.data[end:], " \t"))
	if at >= len(t.data) || t.data[at] != ':' {
		return 0, errOdd
	}
	return at + 1, nil
}

// skipProperties is the offset of a node's content, behind tag and anchor.
func (t *text) skipProperties(n *yaml.Node) int {
	at := t.start(n)
	if n.Anchor == "" && n.Style&yaml.TaggedStyle == 0 {
		return at
	}
	for at < len(t.data) && (t.data[at] == '&' || t.data[at] == '!') {
		for at < len(t.data) && !isSpace(t.data[at]) && breakLen(t.data[at:]) == 0 {
			at++
		}
		at = t.skipSpace(at)
	}
	return at
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

// skipSpace goes over blanks and line breaks.
func (t *text) skipSpace(at int) int {
	for at < len(t.data) {
		if isSpace(t.data[at]) {
			at++
		} else if n := breakLen(t.data[at:]); n > 0 {
			at += n
		} else {
			break
		}
	}
	return at
}

func (t *text) scalarEnd(n *yaml.Node, at int) (int, error) {
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		for i := at + 1; i < len(t.data); i++ {
			switch t.data[i] {
			case '\\':
				i++
			case '"':
				return i + 1, nil
			}
		}
		return 0, errOdd
	case n.Style&yaml.SingleQuotedStyle != 0:
		for i := at + 1; i < len(t.data); i++ {
			if t.data[i] != '\'' {
				continue
			}
			if i+1 < len(t.data) && t.data[i+1] == '\'' {
				i++
				continue
			}
			return i + 1, nil
		}
		return 0, errOdd
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return t.blockScalarEnd(n, at)
	}
	return t.match(n.Value, at)
}

// match reads value from at on, where blanks and line breaks of any number
// stand for one another, and gives the offset behind its last letter. Plain
// and block scalars have no escapes, so that their other letters are the same
// in the text.
func (t *text) match(value string, at int) (int, error) {
	for _, r := range value {
		if strings.ContainsRune(" \t\n\r\u0085\u2028\u2029", r) {
			continue
		}
		at = t.skipSpace(at)
		got, size := utf8.DecodeRune(t.data[at:])
		if got != r || size == 0 {
			return 0, errOdd
		}
		at += size
	}
	return at, nil
}

func (t *text) blockScalarEnd(n *yaml.Node, at int) (int, error) {
	if at >= len(t.data) || (t.data[at] != '|' && t.data[at] != '>') {
		return 0, errOdd
	}
	header := t.textEnd(at)
	keep := bytes.IndexByte(t.data[at:min(at+3, header)], '+') >= 0
	end, err := t.match(n.Value, header)
	if err != nil {
		return 0, err
	}
	if end = t.textEnd(end); keep {
		for range len(n.Value) - len(strings.TrimRight(n.Value, "\n")) - 1 {
			end = t.textEnd(t.lineEnd(end))
		}
	}
	return end, nil
}

// flowEnd is behind the closing bracket of a flow collection.
func (t *text) flowEnd(n *yaml.Node, at int) (int, error) {
	if at >= len(t.data) || (t.data[at] != '{' && t.data[at] != '[') {
		return 0, errOdd
	}
	at++
	for _, c := range n.Content {
		end, err := t.end(c)
		if err != nil {
			return 0, err
		}
		at = max(at, end)
	}
	for ; at < len(t.data); at++ {
		switch t.data[at] {
		case '}', ']':
			return at + 1, nil
		case '#':
			at = t.textEnd(at) - 1
		}
	}
	return 0, errOdd
}
