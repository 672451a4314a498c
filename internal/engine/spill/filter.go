package spill

import (
	"fmt"
	"strings"
)

// filter is a condition on the fields of a record.
type filter struct {
	any [][]condition // one of them must hold, each of whose conditions must hold

	odd      int    // how many records had no number where numbers are compared
	oddField string // what the first of them had
	work     *meter
}

// parseFilter compiles conditions on fields: column, operator, value, joined by
// and and or, of which and binds tighter.
//
//	amount > 100 and name contains 'x' or status = open
//
// Operators are = == != <> < <= > >= contains startswith endswith, and not
// before the last three. Two numbers, as number reads them, are compared as
// numbers, anything else as text. A nil filter lets everything through.
func parseFilter(work *meter, text string, names []string, number func(string) (float64, bool)) (*filter, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if n := runes(text); n > maxQuery {
		return nil, fmt.Errorf("the filter has %d characters, at most %d are allowed", n, maxQuery)
	}
	words, err := filterWords(text)
	if err != nil {
		return nil, err
	}
	f := &filter{work: work}
	all := []condition{}
	for {
		c, rest, err := parseCondition(work, words, names, number)
		if err != nil {
			return nil, err
		}
		all, words = append(all, c), rest
		if len(words) == 0 {
			f.any = append(f.any, all)
			return f, nil
		}
		switch w := words[0]; {
		case w.quoted:
			return nil, filterError(fmt.Sprintf("found %q where 'and' or 'or' may stand", w.text))
		case strings.EqualFold(w.text, "and") || w.text == "&&":
		case strings.EqualFold(w.text, "or") || w.text == "||":
			f.any, all = append(f.any, all), nil
		default:
			return nil, filterError(fmt.Sprintf("found %q where 'and' or 'or' may stand; put quotes around values with blanks", w.text))
		}
		words = words[1:]
	}
}

// holds reports whether the record with these fields passes.
func (f *filter) holds(fields []string) bool {
	odd, oddField := false, ""
	for _, all := range f.any {
		holds := true
		for _, c := range all {
			field := c.field(fields)
			f.work.spend(1 + len(field))
			ok, strange := c.holds(field)
			if strange && !odd {
				odd, oddField = true, field
			}
			if !ok {
				holds = false
				break
			}
		}
		if holds {
			return true
		}
	}
	if odd {
		if f.odd++; f.odd == 1 {
			f.oddField = oddField
		}
	}
	return false
}

func filterError(what string) error {
	return fmt.Errorf("the filter can't be read: %s. An example: amount > 100 and name contains 'x'", what)
}

// word is a piece of a filter.
type word struct {
	text   string
	quoted bool
}

const operatorSigns = "=!<>"

// filterWords splits a filter into names, operators and values.
func filterWords(s string) ([]word, error) {
	var words []word
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '\'' || c == '"' || c == '`':
			end := strings.IndexByte(s[i+1:], c)
			if end < 0 {
				return nil, filterError(fmt.Sprintf("the quote %c is not closed", c))
			}
			words = append(words, word{text: s[i+1 : i+1+end], quoted: true})
			i += end + 2
		case strings.IndexByte(operatorSigns, c) >= 0:
			end := i + 1
			for end < len(s) && strings.IndexByte(operatorSigns, s[end]) >= 0 {
				end++
			}
			words = append(words, word{text: s[i:end]})
			i = end
		default:
			end := i + 1
			for end < len(s) && strings.IndexByte(" \t\r\n'\"`"+operatorSigns, s[end]) < 0 {
				end++
			}
			words = append(words, word{text: s[i:end]})
			i = end
		}
	}
	return words, nil
}

// condition is one comparison of a filter.
type condition struct {
	column int
	op     string
	not    bool
	value  string
	number float64
	isNum  bool
	read   func(string) (float64, bool)
}

func parseCondition(work *meter, words []word, names []string, number func(string) (float64, bool)) (condition, []word, error) {
	c := condition{read: number}
	if len(words) == 0 {
		return c, nil, filterError("a condition is missing at its end")
	}
	// A column's name may have blanks: take words until an operator comes.
	at := 0
	for at < len(words) && !isOperator(words[at]) {
		at++
	}
	if at == len(words) {
		return c, nil, filterError("there is no operator (= != < <= > >= contains startswith endswith)")
	}
	name := make([]string, at)
	for i, w := range words[:at] {
		name[i] = w.text
	}
	if at > 1 && strings.EqualFold(name[at-1], "not") {
		c.not, name = true, name[:at-1]
	}
	if c.column = columnIndex(work, strings.Join(name, " "), names); c.column < 0 {
		return c, nil, fmt.Errorf("there is no column %q; the columns are: %s", strings.Join(name, " "), columnList(names, 1000))
	}
	c.op = strings.ToLower(words[at].text)
	switch c.op {
	case "==":
		c.op = "="
	case "<>":
		c.op = "!="
	}
	if at+1 == len(words) {
		return c, nil, filterError(fmt.Sprintf("there is no value after %q", words[at].text))
	}
	c.value = words[at+1].text
	c.number, c.isNum = number(c.value)
	return c, words[at+2:], nil
}

func isOperator(w word) bool {
	if w.quoted {
		return false
	}
	switch strings.ToLower(w.text) {
	case "=", "==", "!=", "<>", "<", "<=", ">", ">=", "contains", "startswith", "endswith":
		return true
	}
	return false
}

func (c condition) field(fields []string) string {
	if c.column < len(fields) {
		return strings.TrimSpace(fields[c.column])
	}
	return ""
}

// holds reports whether the condition holds; strange says that it asks for a
// number that is less or more, and the field is none.
func (c condition) holds(field string) (holds, strange bool) {
	holds, strange = c.compare(field)
	return holds != c.not, strange
}

func (c condition) compare(field string) (holds, strange bool) {
	switch c.op {
	case "contains":
		return strings.Contains(strings.ToLower(field), strings.ToLower(c.value)), false
	case "startswith":
		return hasPrefixFold(field, c.value), false
	case "endswith":
		return len(field) >= len(c.value) && strings.EqualFold(field[len(field)-len(c.value):], c.value), false
	}
	order := strings.Compare(field, c.value)
	if c.isNum {
		n, ok := c.read(field)
		if !ok {
			return c.op == "!=", c.op != "=" && c.op != "!="
		}
		order = 0
		if n < c.number {
			order = -1
		} else if n > c.number {
			order = 1
		}
	}
	switch c.op {
	case "=":
		return order == 0, false
	case "!=":
		return order != 0, false
	case "<":
		return order < 0, false
	case "<=":
		return order <= 0, false
	case ">":
		return order > 0, false
	}
	return order >= 0, false
}
