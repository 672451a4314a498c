package workspace

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fold maps all spellings of a name that some file system holds to be the same
// to one: case, Unicode form (NFC, NFD and the compatibility forms), characters
// that are ignored when names are compared, and blanks and dots at the end.
// Names that fold to the same may be different files here; for the protected
// names the cautious answer is the right one.
func fold(name string) string {
	if isASCII(name) {
		return strings.ToLower(strings.Trim(strings.TrimRight(name, ". \t"), " \t"))
	}
	var b strings.Builder
	for _, r := range norm.NFKC.String(name) {
		if !ignorable(r) {
			b.WriteRune(foldRune(r))
		}
	}
	// Folding can make what can be composed again, as with a letter whose
	// capital has no composed form.
	folded := norm.NFKC.String(b.String())
	folded = strings.TrimRightFunc(folded, func(r rune) bool { return r == '.' || unicode.IsSpace(r) })
	return strings.TrimLeftFunc(folded, unicode.IsSpace)
}

// foldPath folds a path element by element.
func foldPath(path string) string {
	if isASCII(path) && !strings.ContainsAny(path, ". \t") {
		return strings.ToLower(path)
	}
	segs := strings.Split(path, "/")
	for i, seg := range segs {
		segs[i] = fold(seg)
	}
	return strings.Join(segs, "/")
}

// foldRune picks the smallest of the letters that differ by case only, and
// then the lower case of an ASCII letter, so that both branches of fold agree.
func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}

func ignorable(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) ||
		unicode.Is(unicode.Variation_Selector, r)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
