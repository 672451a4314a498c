package retrieval

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Word is one word of a [Text].
type Word struct {
	start, end uint32
	// Clause counts up at the ends of sentences, lines and parts of sentences,
	// as far as punctuation tells.
	Clause int32
	// Parts is more than 1 for a compound (createIssue, web_search, e-mail):
	// it is all of it without what joins it, and its parts are the next so
	// many words.
	Parts int32
}

// Text is a text taken apart into words. The zero value is ready; reading the
// next text reuses the memory of the last.
type Text struct {
	folded []byte
	words  []Word
	parts  []Word // of the compound that is being read
	clause int32
}

// Words are the words in the order of the text, until the next Read.
func (t *Text) Words() []Word { return t.words }

// Bytes is the word as it is compared: folded to lower case, without accents.
// It is valid until the next Read.
func (t *Text) Bytes(w Word) []byte { return t.folded[w.start:w.end] }

// Read takes s apart. Letters are folded (Unicode's NFKD without accents, lower
// case). A word is a run of letters and digits; it ends where a new one begins
// within an identifier (createIssue, HTTPRequest). Scripts that put no spaces
// give every two neighbouring letters as a word. An ending after an apostrophe
// is left off.
func (t *Text) Read(s string) {
	t.folded, t.words, t.parts, t.clause = t.folded[:0], t.words[:0], t.parts[:0], 0
	r := runes{s: plain(s)}
	for r.next() {
		switch {
		case unspaced(r.now):
			t.end()
			t.bigrams(&r)
		case wordy(r.now):
			t.word(&r)
		case joins(r.now) && r.between():
		default:
			t.end()
			if ends(r.now, r.after) {
				t.clause++
			}
		}
	}
	t.end()
}

// runes walks over a string with the rune before and the one after.
type runes struct {
	s                  string
	at                 int // of the rune after
	before, now, after rune
	started            bool
}

const none = rune(-1)

func (r *runes) next() bool {
	if !r.started {
		r.started, r.now = true, none
		r.after = r.take()
	}
	r.before, r.now = r.now, r.after
	if r.now == none {
		return false
	}
	r.after = r.take()
	return true
}

func (r *runes) take() rune {
	if r.at >= len(r.s) {
		return none
	}
	c, n := utf8.DecodeRuneInString(r.s[r.at:])
	r.at += n
	return c
}

// between reports that the rune stands between letters of words.
func (r *runes) between() bool {
	return wordy(r.before) && wordy(r.after) && !unspaced(r.before) && !unspaced(r.after)
}

// word reads one part: up to where letters and digits end or an identifier's
// next word begins.
func (t *Text) word(r *runes) {
	start := uint32(len(t.folded))
	for {
		t.folded = fold(t.folded, r.now)
		if !wordy(r.after) || unspaced(r.after) || humps(r) {
			break
		}
		r.next()
	}
	t.parts = append(t.parts, Word{start: start, end: uint32(len(t.folded)), Clause: t.clause})
	if apostrophe(r.after) {
		t.ending(r)
	}
}

// ending leaves off up to two letters after an apostrophe: what's, they're.
func (t *Text) ending(r *runes) {
	ahead := *r
	ahead.next()
	n := 0
	for wordy(ahead.after) {
		ahead.next()
		n++
	}
	if n <= 2 {
		*r = ahead
		return
	}
	t.end()
}

// humps reports that the rune after begins another word of an identifier.
func humps(r *runes) bool {
	if !unicode.IsUpper(r.after) {
		return false
	}
	if unicode.IsLower(r.now) {
		return true
	}
	if !unicode.IsUpper(r.now) {
		return false
	}
	following, _ := utf8.DecodeRuneInString(r.s[r.at:])
	return unicode.IsLower(following) && !(following == 's' && !letterAt(r.s, r.at+1))
}

func letterAt(s string, at int) bool {
	c, n := utf8.DecodeRuneInString(s[min(at, len(s)):])
	return n > 0 && wordy(c)
}

// end puts the parts of the compound that ends here to the words.
func (t *Text) end() {
	if len(t.parts) > 1 {
		start := uint32(len(t.folded))
		for _, p := range t.parts {
			t.folded = append(t.folded, t.folded[p.start:p.end]...)
		}
		t.words = append(t.words, Word{start, uint32(len(t.folded)), t.clause, int32(len(t.parts))})
	}
	t.words = append(t.words, t.parts...)
	t.parts = t.parts[:0]
}

// bigrams reads a run of a script without spaces.
func (t *Text) bigrams(r *runes) {
	for alone := true; ; r.next() {
		more := unspaced(r.after)
		if more || alone {
			start := uint32(len(t.folded))
			t.folded = fold(t.folded, r.now)
			if more {
				t.folded = fold(t.folded, r.after)
			}
			t.words = append(t.words, Word{start: start, end: uint32(len(t.folded)), Clause: t.clause})
		}
		if !more {
			return
		}
		alone = false
	}
}

// plain is s without accents, in compatibility form.
func plain(s string) string {
	ascii := true
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return s
	}
	apart := norm.NFKD.AppendString(nil, s)
	kept := apart[:0]
	for i := 0; i < len(apart); {
		c, n := utf8.DecodeRune(apart[i:])
		if c < 0x300 || c > 0x36f {
			kept = append(kept, apart[i:i+n]...)
		}
		i += n
	}
	return norm.NFC.String(string(kept))
}

// fold appends c in lower case; letters that have no other plain form are
// written as people without them would.
func fold(dst []byte, c rune) []byte {
	if c < utf8.RuneSelf {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		return append(dst, byte(c))
	}
	c = unicode.ToLower(c)
	switch c {
	case 'ß':
		return append(dst, "ss"...)
	case 'æ':
		return append(dst, "ae"...)
	case 'œ':
		return append(dst, "oe"...)
	case 'ø':
		c = 'o'
	case 'ł':
		c = 'l'
	case 'đ', 'ð':
		c = 'd'
	case 'ı':
		c = 'i'
	}
	return utf8.AppendRune(dst, c)
}

func wordy(c rune) bool {
	if c < utf8.RuneSelf {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
	}
	return unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c)
}

// unspaced reports letters of scripts that put no spaces between words, and
// Hangul, whose endings change with the sentence.
func unspaced(c rune) bool {
	return c >= 0xe00 && unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// Bare reports folded words that are a number of digits alone, and those that are
// a single character of a script that spells words with several: neither says by
// itself what a text is about.
func Bare(word []byte) (number, letter bool) {
	if len(word) > 0 && word[0] < utf8.RuneSelf { // most begin so
		if c := word[0]; c < '0' || c > '9' {
			return false, len(word) == 1
		}
	}
	n := 0
	number = len(word) > 0
	for rest := word; len(rest) > 0; n++ {
		c, size := utf8.DecodeRune(rest)
		if number = number && unicode.IsDigit(c); !number && n > 0 {
			return false, false
		}
		letter, rest = !unspaced(c), rest[size:]
	}
	return number, !number && n == 1 && letter
}

func joins(c rune) bool { return c == '_' || c == '-' || c == '‐' || c == '‑' }

func apostrophe(c rune) bool { return c == '\'' || c == '’' }

// ends reports that a clause ends with c.
func ends(c, after rune) bool {
	switch c {
	case '.', '!', '?', ':', ',':
		return after == none || !wordy(after)
	case ';', '\n', '。', '！', '？', '，', '、', '…':
		return true
	}
	return false
}
