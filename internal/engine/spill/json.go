package spill

import "strings"

// maxDepth is how deep JSON may nest. The standard library's decoder has the
// same limit, so what is called JSON here can be decoded.
const maxDepth = 10_000

// validJSON reports whether s is one JSON value, perhaps between blanks. It
// works on the string itself, without recursion and without allocating, so
// that neither size nor depth can harm.
func validJSON(work *meter, s string) bool {
	work.spend(len(s))
	end := jsonEnd(s, jsonBlank(s, 0))
	return end >= 0 && jsonBlank(s, end) == len(s)
}

// jsonEnd is the end of the JSON value that begins at byte i of s, or −1 when
// none does.
func jsonEnd(s string, i int) int {
	if i < len(s) && s[i] != '{' && s[i] != '[' {
		return jsonScalar(s, i)
	}
	return jsonContainer(s, i)
}

// jsonScalar is the end of the string, number or word at i, or −1.
func jsonScalar(s string, i int) int {
	switch s[i] {
	case '"':
		return jsonString(s, i)
	case 't':
		return jsonWord(s, i, "true")
	case 'f':
		return jsonWord(s, i, "false")
	case 'n':
		return jsonWord(s, i, "null")
	}
	return jsonNumber(s, i)
}

// jsonContainer is the end of the value at i, of whatever kind, or −1. What is
// open is kept as a bit for each level, so nothing grows with the depth.
func jsonContainer(s string, i int) int {
	var objects [maxDepth/64 + 1]uint64 // bit d: the container at depth d is an object
	depth := 0
	for {
		if i >= len(s) {
			return -1
		}
		switch c := s[i]; c {
		case '{', '[':
			if depth++; depth > maxDepth {
				return -1
			}
			bit := uint64(1) << (depth % 64)
			i = jsonBlank(s, i+1)
			if c == '{' {
				objects[depth/64] |= bit
			} else {
				objects[depth/64] &^= bit
			}
			if i < len(s) && s[i] == c+2 { // ']' and '}' follow two places after
				depth--
				i++
				break
			}
			if c == '{' {
				if i = jsonKey(s, i); i < 0 {
					return -1
				}
			}
			continue
		default:
			i = jsonScalar(s, i)
		}
		if i < 0 {
			return -1
		}
		// A value has ended: close what ends with it, or go to the next one.
		for {
			if depth == 0 {
				return i
			}
			i = jsonBlank(s, i)
			if i >= len(s) {
				return -1
			}
			object := objects[depth/64]&(1<<(depth%64)) != 0
			if s[i] == ',' {
				i = jsonBlank(s, i+1)
				if object {
					if i = jsonKey(s, i); i < 0 {
						return -1
					}
				}
				break
			}
			if object && s[i] != '}' || !object && s[i] != ']' {
				return -1
			}
			depth--
			i++
		}
	}
}

// jsonKey is where the value begins whose key begins at i, or −1.
func jsonKey(s string, i int) int {
	if i >= len(s) || s[i] != '"' {
		return -1
	}
	if i = jsonString(s, i); i < 0 {
		return -1
	}
	if i = jsonBlank(s, i); i >= len(s) || s[i] != ':' {
		return -1
	}
	return jsonBlank(s, i+1)
}

func jsonBlank(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t') {
		i++
	}
	return i
}

func jsonWord(s string, i int, word string) int {
	if !strings.HasPrefix(s[i:], word) {
		return -1
	}
	return i + len(word)
}

// jsonString is the end of the string whose opening quote is at i, or −1.
func jsonString(s string, i int) int {
	for i++; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return -1
		case c == '\\':
			if i++; i >= len(s) {
				return -1
			}
			switch s[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					if i++; i >= len(s) || !isHexDigit(s[i]) {
						return -1
					}
				}
			default:
				return -1
			}
		}
	}
	return -1
}

func isHexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// jsonNumber is the end of the number that begins at i, or −1.
func jsonNumber(s string, i int) int {
	if i < len(s) && s[i] == '-' {
		i++
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else if i = digits(s, i); i < 0 {
		return -1
	}
	if i < len(s) && s[i] == '.' {
		if i = digits(s, i+1); i < 0 {
			return -1
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if i = digits(s, i); i < 0 {
			return -1
		}
	}
	return i
}

// digits is the end of the digits at i, or −1 when there is none.
func digits(s string, i int) int {
	from := i
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

// members walks the items of a JSON array or the members of an object. Its text
// must be valid.
type members struct {
	s      string
	i      int // the next item or key, or the closing bracket
	object bool
	work   *meter
}

// membersOf begins to walk v, a valid array or object, perhaps between blanks.
func membersOf(work *meter, v string) members {
	i := jsonBlank(v, 0)
	return members{s: v, i: jsonBlank(v, i+1), object: v[i] == '{', work: work}
}

// next returns the next item; key is empty in an array and the quoted text in
// an object. It returns false after the last one.
func (m *members) next() (key, value string, ok bool) {
	i := m.i
	if i >= len(m.s) || m.s[i] == ']' || m.s[i] == '}' {
		return "", "", false
	}
	if m.object {
		end := jsonString(m.s, i)
		if end < 0 {
			return "", "", false
		}
		key = m.s[i:end]
		i = jsonKey(m.s, i)
	}
	end := jsonEnd(m.s, i)
	if end < 0 {
		return "", "", false
	}
	value = m.s[i:end]
	m.work.spend(end - m.i)
	m.i = jsonBlank(m.s, end)
	if m.i < len(m.s) && m.s[m.i] == ',' {
		m.i = jsonBlank(m.s, m.i+1)
	}
	return key, value, true
}

// left is the text that next has not walked yet.
func (m *members) left() string { return m.s[m.i:] }

// jsonKind names the kind of the value that v begins with.
func jsonKind(v string) string {
	if v == "" {
		return ""
	}
	switch v[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// jsonLines reports whether every line of s that is not blank is a JSON object,
// and whether there are at least two.
func jsonLines(work *meter, s string) bool {
	n := 0
	for s != "" {
		var line string
		line, s = nextLine(s)
		work.spend(len(line))
		i := jsonBlank(line, 0)
		if i == len(line) {
			continue
		}
		if line[i] != '{' {
			return false
		}
		end := jsonEnd(line, i)
		if end < 0 || jsonBlank(line, end) != len(line) {
			return false
		}
		n++
	}
	return n >= 2
}
