package session

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// OneLine is s on one line, its words apart by one blank, without control
// characters and what would turn the direction of the text around it.
func OneLine(s string) string {
	return strings.Join(strings.Fields(strings.Map(printable, s)), " ")
}

// printable is for [strings.Map]: it makes white space of control characters
// that separate words and drops all others, as well as invisible ones that
// change how text around them reads. The joiners stay: emoji and scripts need
// them.
func printable(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case r == '\u200c' || r == '\u200d':
		return r
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs) || r == utf8.RuneError:
		return -1
	}
	return r
}

// shorten cuts s to at most limit code points, the mark of the cut included.
// It cuts between graphemes, and between words unless that would lose more
// than a third.
func shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	cut, space, count := 0, 0, 0
	for rest, state := s, -1; rest != ""; {
		var g string
		g, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		count += utf8.RuneCountInString(g)
		if count > limit-1 {
			if strings.TrimSpace(g) == "" {
				space = cut
			}
			break
		}
		if strings.TrimSpace(g) == "" {
			space = cut
		}
		cut += len(g)
	}
	if space*3 >= cut*2 {
		cut = space
	}
	return strings.TrimRight(s[:cut], " ") + "…"
}
