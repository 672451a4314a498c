package session

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Term is a part of a [Query]: words that must stand one behind the other.
// With Prefix the last one may go on.
type Term struct {
	Words  []string
	Prefix bool
}

// Terms takes a query's text apart. It is empty when the text has no words.
func Terms(text string) []Term {
	var terms []Term
	quoted := false
	for chunk := range strings.SplitSeq(text, `"`) {
		if quoted {
			if words := wordsOf(chunk); len(words) > 0 {
				terms = append(terms, Term{Words: words})
			}
		} else {
			for _, field := range strings.Fields(chunk) {
				if words := wordsOf(field); len(words) > 0 {
					terms = append(terms, Term{Words: words, Prefix: true})
				}
			}
		}
		quoted = !quoted
	}
	return terms
}

// IndexText is text as words between single spaces, the form in which a store
// indexes it. Scripts that set no spaces between words give one word per
// character, so that any part of a sentence can be found.
func IndexText(text string) string { return strings.Join(wordsOf(text), " ") }

func wordsOf(text string) []string {
	var words []string
	for start, end := range eachWord(text) {
		words = append(words, text[start:end])
	}
	return words
}

// eachWord yields where the words of text begin and end.
func eachWord(text string) func(yield func(start, end int) bool) {
	return func(yield func(start, end int) bool) {
		start := -1
		for i, r := range text {
			alone := unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
			word := alone || unicode.In(r, unicode.L, unicode.N, unicode.M)
			if start >= 0 && (!word || alone) {
				if !yield(start, i) {
					return
				}
				start = -1
			}
			switch {
			case alone:
				if !yield(i, i+len(string(r))) {
					return
				}
			case word && start < 0:
				start = i
			}
		}
		if start >= 0 {
			yield(start, len(text))
		}
	}
}

// TitleHolds returns a function that reports whether a title holds all words of
// text, which stand between spaces; any part of a title will do. Neither case
// nor accents count, and no character has a meaning of its own. A text without
// words is held by every title.
func TitleHolds(text string) func(title string) bool {
	words := strings.Fields(folded(text))
	return func(title string) bool {
		if len(words) == 0 {
			return true
		}
		title = folded(title)
		for _, w := range words {
			if !strings.Contains(title, w) {
				return false
			}
		}
		return true
	}
}

// Snippet cuts the words around the first match of terms out of text, on one
// line of at most 160 code points. Without a match it takes the beginning.
func Snippet(text string, terms []Term) string {
	at := match(text, terms)
	// About a third of the snippet stands before the match.
	from, back := at, 0
	for from > 0 && back < maxSnippet/3 {
		from--
		if !isContinuation(text[from]) {
			back++
		}
	}
	if from > 0 {
		if space := strings.IndexAny(text[from:at], " \t\n"); space >= 0 {
			from += space
		}
	}
	line := OneLine(clip(text[from:], 4*maxSnippet))
	if from > 0 {
		line = "… " + line
	}
	return shorten(line, maxSnippet)
}

const maxSnippet = 160

// match is where the first word of any of terms begins, 0 when none does.
func match(text string, terms []Term) int {
	first := make([]string, 0, len(terms))
	for _, t := range terms {
		first = append(first, folded(t.Words[0]))
	}
	for start, end := range eachWord(text) {
		word := folded(text[start:end])
		for i, f := range first {
			if word == f || terms[i].Prefix && len(terms[i].Words) == 1 && strings.HasPrefix(word, f) {
				return start
			}
		}
	}
	return 0
}

// folded is text without case and accents.
func folded(text string) string {
	ascii := true
	for i := range len(text) {
		ascii = ascii && text[i] < 0x80
	}
	if ascii {
		return strings.ToLower(text)
	}
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFD.String(text))
}

// clip is the beginning of s, at most n code points.
func clip(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func isContinuation(b byte) bool { return b&0xC0 == 0x80 }
