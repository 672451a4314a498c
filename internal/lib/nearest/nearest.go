// Package nearest finds what a name that nobody knows was probably meant to
// be: a tool that a model misnamed, a misspelt argument or configuration key.
// It is pure and keeps nothing. Start reading at [Names].
package nearest

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Scores, from 0 (unlike) to 1 (the same).
const (
	near      = 0.6  // worth mentioning
	sure      = 0.65 // good enough to be named alone
	lead      = 0.05 // by which the best must beat the next to be named alone
	reordered = 0.95 // the same words in another order
	inflected = 0.8  // a word that begins another, or is a slip away from it
)

// maxLen bounds the work on one name; no name we give is longer.
const maxLen = 128

// Names gives the names that are near to want, nearest first and by name where
// equally near, at most limit of them. Near is what differs in a few letters
// (insertions, deletions, substitutions, swaps of neighbours) or shares most of
// its words: "shell_exec" finds shell, "read_file" and "FileRead" find
// file_read. It knows no synonyms. The result is empty when nothing is near.
func Names(want string, have []string, limit int) []string {
	return firstOf(rank(want, have), limit)
}

// Sorted gives all of have, nearest to want first and by name where equally near,
// at most limit of them, however little they have in common.
func Sorted(want string, have []string, limit int) []string {
	return firstOf(score(want, have, 0), limit)
}

func firstOf(ranked []candidate, limit int) []string {
	names := make([]string, 0, min(max(limit, 0), len(ranked)))
	for _, r := range ranked[:cap(names)] {
		names = append(names, r.name)
	}
	return names
}

// Name gives the one name that want was surely meant to be: close, and clearly
// closer than any other.
func Name(want string, have []string) (string, bool) {
	ranked := rank(want, have)
	if len(ranked) == 0 || ranked[0].score < sure {
		return "", false
	}
	if len(ranked) > 1 && ranked[0].score-ranked[1].score < lead {
		return "", false
	}
	return ranked[0].name, true
}

type candidate struct {
	name  string
	score float64
}

func rank(want string, have []string) []candidate { return score(want, have, near) }

// score ranks the names that score at least least.
func score(want string, have []string, least float64) []candidate {
	w := parse(want)
	var ranked []candidate
	for _, name := range have {
		if s := w.like(parse(name)); s >= least {
			ranked = append(ranked, candidate{name, s})
		}
	}
	slices.SortFunc(ranked, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.name, b.name))
	})
	return slices.CompactFunc(ranked, func(a, b candidate) bool { return a.name == b.name })
}

// name is a name taken apart.
type name struct {
	words []string // lower case
	bare  []rune   // all words joined
}

// parse splits at every character that is no letter or digit, where upper case
// follows lower case, and before the last capital of several (HTTPRequest).
func parse(s string) name {
	if len(s) > maxLen {
		s = strings.ToValidUTF8(s[:maxLen], "")
	}
	var n name
	var word []rune
	end := func() {
		if len(word) > 0 {
			n.words = append(n.words, string(word))
			n.bare = append(n.bare, word...)
			word = nil
		}
	}
	letters := []rune(s)
	for i, c := range letters {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			end()
			continue
		}
		if unicode.IsUpper(c) && i > 0 &&
			(unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1])) {
			end()
		}
		word = append(word, unicode.ToLower(c))
	}
	end()
	return n
}

// like scores two names by their letters or their words, whichever are closer,
// the other breaking ties.
func (n name) like(m name) float64 {
	if len(n.bare) == 0 || len(m.bare) == 0 {
		return 0
	}
	letters := 1 - float64(Distance(n.bare, m.bare, maxLen))/float64(max(len(n.bare), len(m.bare)))
	if letters == 1 {
		return 1
	}
	words := n.shared(m)
	return min(max(letters, words)+0.01*min(letters, words), reordered)
}

// shared gives the share of words that the names have in common.
func (n name) shared(m name) float64 {
	used := make([]bool, len(m.words))
	sum := 0.0
	for _, w := range n.words {
		best, at := 0.0, -1
		for i, v := range m.words {
			if used[i] {
				continue
			}
			if s := alike(w, v); s > best {
				best, at = s, i
			}
		}
		if at >= 0 {
			used[at] = true
			sum += best
		}
	}
	return 2 * sum / float64(len(n.words)+len(m.words))
}

func alike(a, b string) float64 {
	switch {
	case a == b:
		return 1
	case min(len(a), len(b)) < 3:
		return 0
	case strings.HasPrefix(a, b), strings.HasPrefix(b, a),
		min(len(a), len(b)) > 3 && Distance([]rune(a), []rune(b), 1) == 1:
		return inflected
	}
	return 0
}

// Distance is the number of insertions, deletions, substitutions and swaps of
// neighbours that make b of a, no letter touched twice (optimal string
// alignment); any number over most when it is more than that.
func Distance(a, b []rune, most int) int {
	if d := len(a) - len(b); d > most || -d > most {
		return most + 1
	}
	two, one, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range one {
		one[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(one[j]+1, row[j-1]+1, one[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > most {
			return most + 1
		}
		two, one, row = one, row, two
	}
	return one[len(b)]
}
