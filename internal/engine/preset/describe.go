package preset

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/lib/retrieval"
)

// MaxListed is how many characters of presets a description lists. Longer lists
// are ranked.
const MaxListed = 2000

// Listing are the presets of a tool with what is made of them for models, once
// for all requests: it is kept as long as the answer of the [Book]. It is safe
// for concurrent use.
type Listing struct {
	all    []Preset
	lines  []string // for each
	sizes  []int    // of the lines, in characters
	size   int      // of all lines together
	byName map[string]int
	index  func() *retrieval.Index // made when something is ranked first
}

// list makes a listing of presets in the order in which they were added.
func list(all []Preset) *Listing {
	l := &Listing{all: all, lines: make([]string, len(all)), sizes: make([]int, len(all)), byName: map[string]int{}}
	for i, p := range all {
		l.lines[i] = line(p)
		l.sizes[i] = utf8.RuneCountInString(l.lines[i])
		l.size += l.sizes[i]
		l.byName[p.Name] = i
	}
	l.index = sync.OnceValue(func() *retrieval.Index {
		docs := make([][]string, len(all))
		for i, p := range all {
			docs[i] = []string{p.Name, p.Description, string(p.Args)}
		}
		return retrieval.NewIndex(docs, retrieval.Options{
			Fields: []retrieval.Field{{Weight: 3}, {Weight: 2, Norm: 0.5}, {Weight: 1, Norm: 0.75}}, Saturation: 1.2, Stem: retrieval.Stem,
		})
	})
	return l
}

// Listed writes the presets that a description has room for, a line each: all, in
// the order in which they were added, when they fit. Else it is those of names, in
// that order, which an earlier call chose; where that is nil the message ranks
// them, and those are listed that fit, the best first. cut reports that a choice
// was made, and chosen are its names, which are to be kept. A nil listing has none.
func (l *Listing) Listed(names []string, message string) (lines string, chosen []string, cut bool) {
	switch {
	case l == nil:
		return "", nil, false
	case l.size <= MaxListed:
		return strings.Join(l.lines, ""), nil, false
	}
	var b strings.Builder
	if names != nil {
		for _, n := range names {
			if i, ok := l.byName[n]; ok {
				b.WriteString(l.lines[i])
			}
		}
		return b.String(), names, true
	}
	chosen = []string{} // that none fits is a choice, too
	room := MaxListed
	for _, i := range l.ranked(message, true) {
		if n := l.sizes[i]; n <= room {
			room -= n
			b.WriteString(l.lines[i])
			chosen = append(chosen, l.all[i].Name)
		}
	}
	return b.String(), chosen, true
}

// Matching writes at most k presets that have to do with a text, a line each, the
// best first, without those that ask another database than args do and those for
// which a hint, which is no longer than a description's list, has no room.
func (l *Listing) Matching(text string, args json.RawMessage, k int) string {
	if l == nil {
		return ""
	}
	asked := datasource(args)
	var b strings.Builder
	room := MaxListed
	for _, i := range l.ranked(text, false) {
		if k == 0 {
			break
		}
		if n, of := l.sizes[i], l.all[i].Datasource(); n <= room && (asked == "" || of == "" || of == asked) {
			room -= n
			k--
			b.WriteString(l.lines[i])
		}
	}
	return b.String()
}

// ranked orders presets by what they have to do with a text; whole keeps those
// that have nothing to do with it, at the end.
func (l *Listing) ranked(text string, whole bool) []int {
	x := l.index()
	scores := make([]float32, len(l.all))
	var t retrieval.Text
	t.Read(text)
	for _, w := range t.Words() {
		if term, ok := x.Term(t.Bytes(w)); ok {
			for _, p := range x.Postings(term) {
				scores[p.Doc] += p.Score
			}
		}
	}
	var order []int
	for i := range l.all {
		if whole || scores[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return order
}

// line writes a preset for a model, with the arguments to call.
func line(p Preset) string {
	about := ""
	if p.Description != "" {
		about = " (" + strings.TrimSuffix(p.Description, ".") + ")"
	}
	return "- " + p.Name + about + ": " + string(compact(p.Args)) + "\n"
}

// compact writes arguments on one line with sorted names, so that equal ones
// are equal bytes.
func compact(args json.RawMessage) []byte {
	var v any
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return args
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return args
	}
	return bytes.TrimSpace(b.Bytes())
}
