package selection

import (
	_ "embed"
	"maps"
	"math"
	"slices"
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
	topics int                // how many there are
	of     map[string][]int32 // the topics of a stem
	weak   map[string]bool    // words that say little
	// spelling knows the stems of topics. It is made when a word is first met that
	// nothing knows.
	spelling func() *retrieval.Spelling
}

// known is read when the first index is made.
var known = sync.OnceValue(func() *vocabulary {
	v := &vocabulary{of: make(map[string][]int32, 1<<12), weak: map[string]bool{}}
	var ids []int32 // of all stems, one behind the other
	for line := range dataLines(stemsFile) {
		stem, rest, _ := strings.Cut(line, " ")
		from := len(ids)
		for id := range strings.FieldsSeq(rest) {
			n, _ := strconv.Atoi(id) // the file is ours: a test reads it
			ids = append(ids, int32(n))
			v.topics = max(v.topics, n+1)
		}
		v.of[stem] = ids[from:len(ids):len(ids)]
	}
	for line := range dataLines(weakFile) {
		for w := range strings.FieldsSeq(line) {
			v.weak[w] = true
		}
	}
	v.spelling = sync.OnceValue(func() *retrieval.Spelling { return retrieval.NewSpelling(slices.Collect(maps.Keys(v.of))) })
	return v
})

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
			in := p.of[stem]
			for _, t := range in {
				p.scores[t] += weight / math.Sqrt(float64(len(in)))
			}
		} else {
			stem = string(word) // a stop word
		}
		p.pair = append(append(p.pair[:0], before...), stem...)
		if before != "" {
			for _, t := range p.of[string(p.pair)] {
				p.scores[t] += weight
			}
		}
		before = stem
	}
}
