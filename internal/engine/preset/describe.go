package preset

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/lib/retrieval"
)

// MaxListed is how many characters of presets a description lists. Longer lists
// are ranked.
const MaxListed = 2000

// Listed are the presets that a description has room for: all, in the order in
// which they were added, when they fit. Else it is those of names, in that order,
// which an earlier call chose; where that is nil the message ranks them, and those
// are listed that fit, the best first. cut reports that a choice was made, whose
// names are to be kept.
func Listed(all []Preset, names []string, message string) (list []Preset, cut bool) {
	if size(all) <= MaxListed {
		return all, false
	}
	if names != nil {
		for _, n := range names {
			if i := slices.IndexFunc(all, func(p Preset) bool { return p.Name == n }); i >= 0 {
				list = append(list, all[i])
			}
		}
		return list, true
	}
	room := MaxListed
	for _, p := range ranked(all, message, true) {
		if n := size([]Preset{p}); n <= room {
			room -= n
			list = append(list, p)
		}
	}
	return list, true
}

// Matching are at most k presets that have to do with a text, the best first,
// without those that ask another database than args do and those for which a
// hint, which is no longer than a description's list, has no room.
func Matching(all []Preset, text string, args json.RawMessage, k int) []Preset {
	if asked := datasource(args); asked != "" {
		all = slices.DeleteFunc(slices.Clone(all), func(p Preset) bool { return p.Datasource() != "" && p.Datasource() != asked })
	}
	var list []Preset
	room := MaxListed
	for _, p := range ranked(all, text, false) {
		if n := size([]Preset{p}); n <= room && len(list) < k {
			room -= n
			list = append(list, p)
		}
	}
	return list
}

// ranked orders presets by what they have to do with a text; whole keeps those
// that have nothing to do with it, at the end.
func ranked(all []Preset, text string, whole bool) []Preset {
	docs := make([][]string, len(all))
	for i, p := range all {
		docs[i] = []string{p.Name, p.Description, string(p.Args)}
	}
	x := retrieval.NewIndex(docs, retrieval.Options{
		Fields: []retrieval.Field{{Weight: 3}, {Weight: 2, Norm: 0.5}, {Weight: 1, Norm: 0.75}}, Saturation: 1.2, Stem: retrieval.Stem,
	})
	scores := make([]float32, len(all))
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
	for i := range all {
		if whole || scores[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	list := make([]Preset, len(order))
	for i, j := range order {
		list[i] = all[j]
	}
	return list
}

// Lines writes presets for a model, a line each, with the arguments to call.
func Lines(list []Preset) string {
	var b strings.Builder
	for _, p := range list {
		b.WriteString("- " + p.Name)
		if p.Description != "" {
			b.WriteString(" (" + strings.TrimSuffix(p.Description, ".") + ")")
		}
		b.WriteString(": ")
		b.Write(compact(p.Args))
		b.WriteByte('\n')
	}
	return b.String()
}

func size(list []Preset) int { return utf8.RuneCountInString(Lines(list)) }

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
