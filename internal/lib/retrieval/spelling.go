package retrieval

import (
	"math/bits"
	"slices"
)

// Spelling finds the word that a misspelt one was meant to be.
type Spelling struct {
	words []spelled // ordered by length, then by letters
	first []int     // of length n, words[first[n]:first[n+1]]
}

type spelled struct {
	word    string
	letters uint32 // a bit for each letter that is in it
}

// shortest is the length of the shortest word that is corrected: shorter ones
// are a slip away from too many others.
const shortest = 5

// NewSpelling knows words; those that aren't plain letters are passed over. It
// is quicker with words that stand in the order of the alphabet.
func NewSpelling(words []string) *Spelling {
	if !slices.IsSorted(words) {
		words = slices.Sorted(slices.Values(words))
	}
	var of [longest + 2][]spelled // by their length; longer ones are near to nothing
	n := 0
	for i, w := range words {
		if letters, ok := letterSet(w); ok && len(w) >= shortest-1 && len(w) < len(of) && (i == 0 || words[i-1] != w) {
			of[len(w)] = append(of[len(w)], spelled{w, letters})
			n++
		}
	}
	s := &Spelling{words: make([]spelled, 0, n)}
	for _, list := range of {
		s.words = append(s.words, list...)
	}
	for i, w := range s.words {
		for len(s.first) <= len(w.word) {
			s.first = append(s.first, i)
		}
	}
	s.first = append(s.first, len(s.words))
	return s
}

// letterSet is false for what isn't small letters of ASCII alone.
func letterSet[T string | []byte](word T) (uint32, bool) {
	var set uint32
	for i := range len(word) {
		c := word[i]
		if c < 'a' || c > 'z' {
			return 0, false
		}
		set |= 1 << (c - 'a')
	}
	return set, true
}

// Near is the known word that differs from word by one slip: a letter too few,
// too many or another, or two neighbours swapped. The first letter is hardly
// ever the one that slips, so it must be right or swapped with the second. Words
// of the same length go before others, then the alphabet decides. It is false
// when there is none, and for words of less than 5 letters.
func (s *Spelling) Near(word []byte) (string, bool) {
	letters, ok := letterSet(word)
	if !ok || len(word) < shortest || len(word) > longest {
		return "", false
	}
	for _, n := range [...]int{len(word), len(word) - 1, len(word) + 1} {
		if n+1 >= len(s.first) {
			continue
		}
		for _, k := range s.words[s.first[n]:s.first[n+1]] {
			if bits.OnesCount32(letters^k.letters) <= 2 && (k.word[0] == word[0] || k.word[0] == word[1] && k.word[1] == word[0]) && slip(word, k.word) {
				return k.word, true
			}
		}
	}
	return "", false
}

// slip reports that b differs from a by one slip.
func slip(a []byte, b string) bool {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	switch {
	case len(a) == len(b):
		if i == len(a) {
			return false
		}
		return string(a[i+1:]) == b[i+1:] ||
			i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && string(a[i+2:]) == b[i+2:]
	case len(a) == len(b)+1:
		return string(a[i+1:]) == b[i:]
	case len(a)+1 == len(b):
		return string(a[i:]) == b[i+1:]
	}
	return false
}
