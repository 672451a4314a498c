package selection

import (
	_ "embed"
	"iter"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/goclaw/goclaw/internal/lib/retrieval"
)

//go:generate go test -run TopicStems -update .

// stemsFile is topics.txt with stems in place of words and the other way round,
// so that reading it costs a start of the program next to nothing. The test that
// compares them writes it.
//
//go:embed topics.stems
var stemsFile string

//go:embed weak.txt
var weakFile string

// vocabulary is the words that mean something to the scorer whatever the
// catalog.
type vocabulary struct {
	topics int // how many there are
	stems  string
	slots  []uint16        // of a stem, by its hash: 1 + where its line begins in stems; 0 is free
	weak   map[string]bool // words that say little
	// spelling knows the stems of topics. It is made when a word is first met that
	// nothing knows.
	spelling func() *retrieval.Spelling
}

// slotCount is a power of two, three times as many as there are stems.
const slotCount = 1 << 13

// known is read when the first index is made. The stems stay as they are in
// their file, which costs a start of the program less than a map of them.
var known = sync.OnceValue(func() *vocabulary {
	_, body, _ := strings.Cut(stemsFile, "\n")
	topics, stems, _ := strings.Cut(body, "\n")
	v := &vocabulary{stems: stems, slots: make([]uint16, slotCount), weak: map[string]bool{}}
	v.topics, _ = strconv.Atoi(topics) // the file is ours: a test reads it
	for at, stem := range v.all() {
		slot := hash([]byte(stem))
		for v.slots[slot] != 0 {
			slot = (slot + 1) % slotCount
		}
		v.slots[slot] = uint16(at + 1)
	}
	for line := range dataLines(weakFile) {
		for w := range strings.FieldsSeq(line) {
			v.weak[w] = true
		}
	}
	v.spelling = sync.OnceValue(func() *retrieval.Spelling {
		words := make([]string, 0, slotCount/2)
		for _, stem := range v.all() {
			words = append(words, stem)
		}
		return retrieval.NewSpelling(words)
	})
	return v
})

// all gives the stems of topics in the order of the alphabet, each with where
// its line begins.
func (v *vocabulary) all() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for at := 0; at < len(v.stems); {
			end := at + strings.IndexByte(v.stems[at:], ' ')
			if !yield(at, v.stems[at:end]) {
				return
			}
			at = end + strings.IndexByte(v.stems[end:], '\n') + 1
		}
	}
}

// of appends the topics of a stem to ids.
func (v *vocabulary) of(stem []byte, ids []int32) []int32 {
	for slot := hash(stem); v.slots[slot] != 0; slot = (slot + 1) % slotCount {
		rest := v.stems[v.slots[slot]-1:]
		if len(rest) <= len(stem) || rest[len(stem)] != ' ' || rest[:len(stem)] != string(stem) {
			continue
		}
		n := int32(0)
		for _, c := range []byte(rest[len(stem)+1:]) {
			if '0' <= c && c <= '9' {
				n = 10*n + int32(c-'0')
				continue
			}
			ids = append(ids, n)
			if n = 0; c == '\n' {
				break
			}
		}
		break
	}
	return ids
}

// hash is FNV-1a, as a slot.
func hash(stem []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range stem {
		h = (h ^ uint32(c)) * 16777619
	}
	return (h ^ h>>16) % slotCount
}

// dataLines gives the lines that are neither empty nor comments.
func dataLines(file string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.Lines(file) {
			line = strings.TrimSpace(line)
			if line != "" && line[0] != '#' && !yield(line) {
				return
			}
		}
	}
}

// topicPostings says for each topic which docs speak of it and how clearly:
// name, category and tags say it outright. Text is an index of all fields.
func (v *vocabulary) topicPostings(docs [][]string, text *retrieval.Index, w weights) [][]retrieval.Posting {
	all := make([][]retrieval.Posting, v.topics)
	said := spoken{vocabulary: v, index: text, scores: make([]float64, v.topics)}
	for d, doc := range docs {
		clear(said.scores)
		said.add(doc[nameField], 1)
		said.add(doc[tagsField], 1)
		said.add(doc[descriptionField], w.topicDescription)
		for t, c := range said.scores {
			if c > 0 {
				all[t] = append(all[t], retrieval.Posting{Doc: int32(d), Score: float32(2 * c / (c + 1))})
			}
		}
	}
	for _, postings := range all {
		rarity := float32(retrieval.Rarity(len(postings), len(docs)))
		for i := range postings {
			postings[i].Score *= rarity
		}
	}
	return all
}

// spoken is what the words of a doc say for each topic.
type spoken struct {
	*vocabulary
	index  *retrieval.Index
	text   retrieval.Text
	pair   []byte
	in     []int32
	scores []float64
}

// add adds what the words of s say. A word of many topics says less for each.
func (p *spoken) add(s string, weight float64) {
	p.text.Read(s)
	before := ""
	for _, w := range p.text.Words() {
		word := p.text.Bytes(w)
		stem := ""
		if term, ok := p.index.Word(word); ok {
			stem = p.index.Stem(term)
			p.pair = append(p.pair[:0], stem...)
			p.in = p.of(p.pair, p.in[:0])
			for _, t := range p.in {
				p.scores[t] += weight / math.Sqrt(float64(len(p.in)))
			}
		} else {
			stem = string(word) // a stop word
		}
		p.pair = append(append(p.pair[:0], before...), stem...)
		if before != "" {
			p.in = p.of(p.pair, p.in[:0])
			for _, t := range p.in {
				p.scores[t] += weight
			}
		}
		before = stem
	}
}
