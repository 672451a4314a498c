package spill

import (
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/goclaw/goclaw/internal/lib/visible"
)

// nearby is how far, in bytes, a cut looks for the beginning of the grapheme
// it falls into. What is longer (a letter under hundreds of accents) is cut
// between code points.
const nearby = 256

// boundary is the start of the grapheme that contains byte n of s, which is n
// itself when a grapheme begins there. Only text near n is looked at.
func boundary(s string, n int) int {
	if n <= 0 {
		return 0
	}
	if n >= len(s) {
		return len(s)
	}
	if s[n] < utf8.RuneSelf && s[n-1] < utf8.RuneSelf {
		if s[n] == '\n' && s[n-1] == '\r' {
			return n - 1
		}
		return n
	}
	n = runeStart(s, n)
	before, size := utf8.DecodeLastRuneInString(s[:n])
	after, _ := utf8.DecodeRuneInString(s[n:])
	if isFlag(before) && isFlag(after) {
		// Flags are pairs, so what counts is where their run began.
		odd := false
		for i := n; i > 0 && n-i < 1<<16; {
			r, k := utf8.DecodeLastRuneInString(s[:i])
			if !isFlag(r) {
				break
			}
			odd = !odd
			i -= k
		}
		if odd {
			return n - size
		}
		return n
	}
	from := n
	for from > 0 && n-from < nearby {
		_, k := utf8.DecodeLastRuneInString(s[:from])
		from -= k
		if s[from] < utf8.RuneSelf {
			break // a grapheme begins with an ASCII character, or right before it
		}
	}
	rest, state := s[from:min(len(s), n+nearby)], -1
	for at := from; ; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		end := at + len(cluster)
		switch {
		case at == n || cluster == "":
			return n
		case end > n:
			if n-at >= nearby {
				return n
			}
			return at
		}
		at = end
	}
}

// runeStart is the start of the code point that contains byte n of s.
func runeStart(s string, n int) int {
	for i := n; i > 0 && n-i < utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			if _, k := utf8.DecodeRuneInString(s[i:]); i+k > n {
				return i
			}
			break
		}
	}
	return n
}

func isFlag(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// prefix is the longest start of s whose visible form has at most limit code
// points and that does not end inside a grapheme, unless it would be empty then.
func prefix(s string, limit int) string {
	n := visible.Fit(s, limit)
	if b := boundary(s, n); b > 0 {
		return s[:b]
	}
	return s[:n]
}

// suffix is like prefix for the end of s.
func suffix(s string, limit int) string {
	n := visible.FitEnd(s, limit)
	b := boundary(s, n)
	if b == n {
		return s[n:]
	}
	// The grapheme that n falls into does not fit: begin with the next one.
	for m := n; m < len(s) && m-n < nearby; {
		_, k := utf8.DecodeRuneInString(s[m:])
		m += k
		if boundary(s, m) == m {
			if m < len(s) {
				return s[m:]
			}
			break
		}
	}
	return s[n:]
}

// lineCount is the number of lines of s. A line feed at the very end ends the
// last line and begins none.
func lineCount(s string) int {
	if s == "" {
		return 0
	}
	n := strings.Count(s, "\n")
	if s[len(s)-1] != '\n' {
		n++
	}
	return n
}

// nextLine splits s after its first line feed.
func nextLine(s string) (line, rest string) {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[:i+1], s[i+1:]
	}
	return s, ""
}

// runes counts the code points of s; a byte that is no UTF-8 counts as one.
func runes(s string) int { return utf8.RuneCountInString(s) }
