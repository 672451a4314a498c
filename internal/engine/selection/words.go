package selection

import (
	_ "embed"
	"math"
	"strings"
	"sync"

	"github.com/goclaw/goclaw/internal/lib/retrieval"
)

//go:embed topics.txt
var topicsFile string

//go:embed weak.txt
var weakFile string

// vocabulary is the words that mean something to the scorer whatever the
// catalog.
type vocabulary struct {
	topics []string           // their names
	of     map[string][]int32 // the topics of a stem
	weak   map[string]bool    // words that say little
}

// known is read when the first index is made.
var known = sync.OnceValue(func() *vocabulary {
	v := &vocabulary{of: map[string][]int32{}, weak: map[string]bool{}}
	for line := range dataLines(topicsFile) {
		name, list, _ := strings.Cut(line, ":")
		id := int32(len(v.topics))
		v.topics = append(v.topics, name)
		for _, w := range strings.Fields(list) {
			stem := stemTogether(w)
			if in := v.of[stem]; len(in) == 0 || in[len(in)-1] != id {
				v.of[stem] = append(in, id)
			}
		}
	}
	for line := range dataLines(weakFile) {
		for _, w := range strings.Fields(line) {
			v.weak[w] = true
		}
	}
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

// stemTogether is the stems of words joined by "_" without what joins them.
func stemTogether(words string) string {
	var stems []byte
	for part := range strings.SplitSeq(words, "_") {
		if retrieval.Stop([]byte(part)) {
			stems = append(stems, part...)
		} else {
			stems = retrieval.Stem(stems, []byte(part))
		}
	}
	return string(stems)
}

// topicPostings says for each topic which docs speak of it and how clearly:
// name, category and tags say it outright. Text is an index of all fields.
func (v *vocabulary) topicPostings(docs [][]string, text *retrieval.Index, w weights) [][]retrieval.Posting {
	all := make([][]retrieval.Posting, len(v.topics))
	said := spoken{vocabulary: v, index: text, scores: make([]float64, len(v.topics))}
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
