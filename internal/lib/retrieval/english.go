package retrieval

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

//go:embed stop.txt
var stopText string

var stopWords = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for line := range strings.Lines(stopText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, w := range strings.Fields(line) {
			words[w] = true
		}
	}
	return words
})

// Stop reports folded words that say nothing about what a text is about:
// function words of English, and what is said only to be polite.
func Stop(word []byte) bool { return stopWords()[string(word)] }

// longest bounds what is stemmed, in bytes; no word of English is longer.
const longest = 40

// Stem appends the stem of an English word, folded before, to dst, by
// Porter's second algorithm (https://snowballstem.org/algorithms/english/stemmer.html).
// Words of other scripts and words with digits stay as they are.
func Stem(dst, word []byte) []byte {
	if len(word) <= 2 || len(word) > longest {
		return append(dst, word...)
	}
	for _, c := range word {
		if c < 'a' || c > 'z' {
			return append(dst, word...)
		}
	}
	env := snowballstem.NewEnv(string(word))
	english.Stem(env)
	return append(dst, env.Current()...)
}
