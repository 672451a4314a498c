package retrieval

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// gram is how many neighbouring letters are compared at a time.
const gram = 4

// Letters finds words that share most of their letters with another: what
// differs by an ending, a compound or more than one slip. It never changes.
type Letters struct {
	words   []string
	counts  []uint16           // of grams in each word
	holders map[string][]int32 // the words that hold a gram
}

// Like is a word with how much of its letters another shares, from 0 to 1.
type Like struct {
	Word  int32 // of the words that Letters was made of
	Share float32
}

// LettersScratch is memory that lookups of one reader use again.
type LettersScratch struct {
	marked []byte
	shared []uint16
	like   []Like
}

// NewLetters knows words, which must not change.
func NewLetters(words []string) *Letters {
	l := &Letters{words: words, counts: make([]uint16, len(words)), holders: map[string][]int32{}}
	var marked []byte
	for i, w := range words {
		marked = mark(marked[:0], []byte(w))
		eachGram(marked, func(g []byte) {
			l.counts[i]++
			if in := l.holders[string(g)]; len(in) == 0 || in[len(in)-1] != int32(i) {
				l.holders[string(g)] = append(in, int32(i))
			}
		})
	}
	return l
}

// Like gives the words of which at least the share least of four letters at a
// time, their beginnings and ends among them, are those of word (Dice's
// coefficient), the nearest first, at most limit. The result is valid until the
// scratch is used again.
func (l *Letters) Like(word []byte, least float32, limit int, s *LettersScratch) []Like {
	if len(s.shared) < len(l.words) {
		s.shared = make([]uint16, len(l.words))
	}
	s.marked, s.like = mark(s.marked[:0], word), s.like[:0]
	count := 0
	eachGram(s.marked, func(g []byte) {
		count++
		for _, w := range l.holders[string(g)] {
			if s.shared[w] == 0 {
				s.like = append(s.like, Like{Word: w})
			}
			s.shared[w]++
		}
	})
	kept := s.like[:0]
	for _, k := range s.like {
		k.Share = 2 * float32(s.shared[k.Word]) / float32(count+int(l.counts[k.Word]))
		if s.shared[k.Word] > 1 && k.Share >= least {
			kept = append(kept, k)
		}
		s.shared[k.Word] = 0
	}
	slices.SortFunc(kept, func(a, b Like) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(l.words[a.Word], l.words[b.Word]))
	})
	return kept[:min(len(kept), limit)]
}

// mark appends word to dst with a mark before and after it.
func mark(dst, word []byte) []byte {
	dst = append(dst, '_')
	dst = append(dst, word[:min(len(word), longest)]...)
	return append(dst, '_')
}

// eachGram gives every so many neighbouring letters of a marked word.
func eachGram(marked []byte, yield func([]byte)) {
	from, letters := 0, 0
	for to := 0; to < len(marked); {
		_, size := utf8.DecodeRune(marked[to:])
		to += size
		if letters++; letters < gram {
			continue
		}
		yield(marked[from:to])
		_, size = utf8.DecodeRune(marked[from:])
		from += size
	}
}
