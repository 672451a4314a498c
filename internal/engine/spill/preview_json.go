package spill

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// summaryRoom is set aside for the line that sums up what is not shown.
const summaryRoom = 400

// json shows the first keys or items of v, an object or array, and sums up the
// rest. It reports whether all of v is there.
func (p *page) json(v string) bool {
	m := membersOf(p.work, v)
	first := make([][2]string, 0, previewItems)
	for len(first) < previewItems {
		key, value, ok := m.next()
		if !ok {
			break
		}
		first = append(first, [2]string{key, value})
	}
	rest := m
	_, _, more := m.next()
	whole := p.items(first, more) && !more
	if more {
		if rest.object {
			p.moreKeys(rest)
		} else {
			p.moreItems(rest, v)
		}
	}
	return whole
}

// items shows members, sharing the room among them, and reports whether all of
// them are shown whole.
func (p *page) items(first [][2]string, more bool) bool {
	room, whole := p.room, true
	if more {
		room -= summaryRoom
	}
	for i, item := range first {
		share := newPage(p.work, max(room/(len(first)-i), 24))
		key, value := item[0], item[1]
		fits := true
		if key == "" {
			share.say("[%d] ", i)
		} else if fits = share.show(key); fits {
			share.say(": ")
		} else {
			share.brief(key, share.room/2)
			share.say(": ")
		}
		share.room--
		fits = share.value(value) && fits
		share.room++
		share.say("\n")
		whole = whole && fits
		room -= runes(share.String())
		if runes(share.String()) > p.room {
			return false
		}
		p.add(share)
	}
	return whole
}

// moreKeys sums up the members of an object that follow.
func (p *page) moreKeys(m members) {
	var names []string
	var kinds tally
	for {
		key, value, ok := m.next()
		if !ok {
			break
		}
		if len(names) < 40 {
			names = append(names, key[1:len(key)-1])
		}
		kinds.add(jsonKind(value))
	}
	p.say("... %d more keys (%s)", kinds.total, kinds.list("s"))
	for i, name := range names {
		q := newPage(p.work, p.room-2)
		if i == 0 {
			q.say(": ")
		} else {
			q.say(", ")
		}
		if !q.show(name) {
			break
		}
		p.add(q)
		if i+1 < len(names) && p.room < summaryRoom/8 || i+1 == len(names) && kinds.total > len(names) {
			p.say(", …")
			break
		}
	}
	p.say("\n")
}

// moreItems sums up the items of the array v that follow.
func (p *page) moreItems(m members, v string) {
	var kinds tally
	for {
		_, value, ok := m.next()
		if !ok {
			break
		}
		kinds.add(jsonKind(value))
	}
	p.say("... %d more items (%s)", kinds.total, kinds.list("s"))
	p.say("%s", keyUnion(p.work, arrayObjects(p.work, v)))
	p.say("\n")
}

// jsonl shows the first objects and sums up the others.
func (p *page) jsonl(s string) {
	first, total := make([][2]string, 0, previewItems), 0
	lines := s
	for lines != "" {
		var line string
		line, lines = nextLine(lines)
		p.work.spend(len(line))
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if total++; len(first) < previewItems {
			first = append(first, [2]string{"", line})
		}
	}
	more := total - len(first)
	p.items(first, true)
	if more > 0 {
		p.say("... %d more objects", more)
		p.say("%s", keyUnion(p.work, lineObjects(p.work, s)))
		p.say("\n")
	} else {
		p.say("%s\n", strings.TrimPrefix(keyUnion(p.work, lineObjects(p.work, s)), "; "))
	}
}

// tally counts things by name, in the order in which they are first seen. More
// than ten names are counted as others.
type tally struct {
	total  int
	names  []string
	counts []int
}

func (t *tally) add(name string) {
	t.total++
	i := slices.Index(t.names, name)
	if i < 0 && len(t.names) < 10 {
		i = len(t.names)
		t.names, t.counts = append(t.names, name), append(t.counts, 0)
	}
	if i >= 0 {
		t.counts[i]++
	}
}

// list is "3 strings, 1 number"; plural is added to the names of several.
func (t *tally) list(plural string) string {
	parts, left := make([]string, 0, len(t.names)+1), t.total
	for i, name := range t.names {
		if t.counts[i] != 1 {
			name += plural
		}
		parts = append(parts, fmt.Sprintf("%d %s", t.counts[i], name))
		left -= t.counts[i]
	}
	if left > 0 {
		parts = append(parts, fmt.Sprintf("%d others", left))
	}
	return strings.Join(parts, ", ")
}

// arrayObjects yields the objects among the items of v.
func arrayObjects(work *meter, v string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for m := membersOf(work, v); ; {
			_, value, ok := m.next()
			if !ok {
				return
			}
			if value[0] == '{' && !yield(value) {
				return
			}
		}
	}
}

// lineObjects yields the objects of JSON lines.
func lineObjects(work *meter, s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for s != "" {
			var line string
			line, s = nextLine(s)
			work.spend(len(line))
			if line = strings.TrimSpace(line); line != "" && !yield(line) {
				return
			}
		}
	}
}

const (
	unionObjects = 100 // looked at
	unionKeys    = 30  // listed
	unionRoom    = 240 // bytes of the list, so that it fits into summaryRoom
)

// keyUnion lists the keys that objects have, in the order in which they are
// first seen, as "; keys: a, b".
func keyUnion(work *meter, objects func(func(string) bool)) string {
	var names []string
	seen, size, more := 0, 0, false
	for o := range objects {
		if seen++; seen > unionObjects {
			break
		}
		for m := membersOf(work, o); ; {
			key, _, ok := m.next()
			if !ok {
				break
			}
			key = key[1 : len(key)-1]
			if slices.Contains(names, key) {
				continue
			}
			if len(names) == unionKeys || size+len(key) > unionRoom || !utf8.ValidString(key) {
				more = true
				continue
			}
			names = append(names, key)
			size += len(key) + 2
		}
	}
	if len(names) == 0 {
		return ""
	}
	list := "; keys: " + visibleList(names)
	if more {
		list += ", …"
	}
	if seen > unionObjects {
		list += fmt.Sprintf(" (seen in the first %d)", unionObjects)
	}
	return list
}

// shorter are the ways to shorten a value, each shorter than the one before.
var shorter = []abridged{{text: 1200, items: 100, depth: 8}, {text: 300, items: 30, depth: 6}, {text: 100, items: 10, depth: 4}, {text: 40, items: 5, depth: 3}, {text: 16, items: 3, depth: 2}, {text: 8, items: 1, depth: 1}}

// abridged bounds what is shown of a JSON value.
type abridged struct {
	text  int // characters of a string
	items int // members of a container
	depth int // levels of containers
}

// value shows v without blanks, shortened until it fits into the page, and
// reports whether all of it is shown.
func (p *page) value(v string) bool {
	if text, ok := compact(p.work, v, p.room); ok && p.show(text) {
		return true
	}
	for _, by := range shorter {
		q := newPage(p.work, p.room)
		if q.shorten(v, by) {
			p.add(q)
			return false
		}
	}
	p.brief(v, p.room)
	return false
}

// compact is v without the blanks between tokens, if it has at most limit code
// points then.
func compact(work *meter, v string, limit int) (string, bool) {
	var b strings.Builder
	n := 0
	for i := 0; i < len(v); {
		end := i + 1
		switch v[i] {
		case ' ', '\t', '\r', '\n':
			work.spend(1)
			i++
			continue
		case '"':
			end = jsonString(v, i)
			work.spend(max(end, i) - i)
			if end < 0 || (end-i)/utf8.UTFMax > limit-n {
				return "", false
			}
		}
		if n += runes(v[i:end]); n > limit {
			return "", false
		}
		b.WriteString(v[i:end])
		i = end
	}
	return b.String(), true
}

// shorten shows v in the bounds of by and reports whether that fits.
func (p *page) shorten(v string, by abridged) bool {
	switch v[0] {
	case '"':
		return p.shortenString(v, by.text)
	case '{', '[':
		return p.shortenContainer(v, by)
	}
	if len(v) <= by.text {
		return p.show(v)
	}
	return p.show(v[:by.text]) && p.say("…") // a very long number
}

func (p *page) shortenString(v string, longest int) bool {
	p.work.spend(len(v))
	if len(v)-2 <= longest || runes(v)-2 <= longest {
		return p.show(v)
	}
	cut := cutJSONString(v, 1+len(prefix(v[1:], longest)))
	return p.show(v[:cut]) && p.say(`…(+%d characters)"`, runes(v[cut:])-1)
}

func (p *page) shortenContainer(v string, by abridged) bool {
	opening, closing := v[:1], v[len(v)-1:]
	if by.depth == 0 {
		return p.show(opening) && p.say("…") && p.show(closing)
	}
	inner := abridged{text: by.text, items: by.items, depth: by.depth - 1}
	if !p.show(opening) {
		return false
	}
	m := membersOf(p.work, v)
	for i := range by.items {
		key, value, ok := m.next()
		if !ok {
			return p.show(closing)
		}
		if i > 0 && !p.show(",") {
			return false
		}
		if m.object && (!p.shortenString(key, by.text) || !p.show(":")) {
			return false
		}
		if !p.shorten(value, inner) {
			return false
		}
	}
	if left := m.left(); len(left) > 1<<16 {
		return p.say(",…(and more)") && p.show(closing)
	}
	more := 0
	for {
		if _, _, ok := m.next(); !ok {
			break
		}
		more++
	}
	if more > 0 && !p.say(",…(+%d)", more) {
		return false
	}
	return p.show(closing)
}

// cutJSONString moves byte n of the JSON string v back to where no escape
// sequence, and no pair of them that makes one character, is cut.
func cutJSONString(v string, n int) int {
	for i := 1; i < n; {
		step := 1
		if v[i] == '\\' {
			step = 2
			if v[i+1] == 'u' {
				step = 6
				if i+12 <= len(v) && strings.HasPrefix(v[i+6:], `\u`) && isSurrogate(v[i+2:i+4]) && isSurrogate(v[i+8:i+10]) {
					step = 12
				}
			}
		}
		if i+step > n {
			return i
		}
		i += step
	}
	return n
}

// isSurrogate reports whether a \u escape with these first two digits is half
// of a pair.
func isSurrogate(digits string) bool {
	return (digits[0] == 'd' || digits[0] == 'D') && strings.ContainsRune("89abABcdefCDEF", rune(digits[1]))
}

// keyQuery is a jq query, quoted, for a key of the object v: the first one
// that a preview does not show, or the first.
func keyQuery(work *meter, v string) string {
	name := ""
	m := membersOf(work, v)
	for range previewItems + 1 {
		key, _, ok := m.next()
		if !ok {
			break
		}
		var s string
		if err := json.Unmarshal([]byte(key), &s); err == nil && isIdentifier(s) {
			name = s
		}
	}
	if name == "" {
		return `"keys"`
	}
	return `".` + name + `"`
}

func isIdentifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 40
}
