package selection

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/goclaw/goclaw/internal/lib/retrieval"
)

// Doc is what the scorer knows of a tool. The name need not be canonical.
type Doc struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Category    string          `json:"category,omitempty"`
	Tags        []string        `json:"tags,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // the JSON schema; what isn't one is passed over
	Owner       string          `json:"owner,omitempty"`
}

// The fields of a doc.
const (
	nameField = iota
	descriptionField
	parametersField
	tagsField
	fieldCount
)

// weights say what counts how much.
type weights struct {
	exact     float64 // a tool's name in the message
	part      float64 // of a word in a tool's name
	whole     float64 // what is added, as a share, when all words of a name are there
	topic     float64 // of a word of the same topic as the tool
	word      float64 // of a word anywhere in the tool's texts
	letters   float64 // of a word that no tool has and that is like one in its texts
	corrected float64 // of a word that was misspelt, as part of a right one
	weak      float64 // of a word that says little, as part of any other
	shape     float64 // of what something is by its shape, such as an e-mail address

	topicDescription float64 // of a word in a description, as part of one in a name
	clauses          float64 // how far the best tools of each clause are lifted

	fields     []retrieval.Field // of word
	saturation float64
	floor      float64 // a hit has at least this share of the best
	alike      float64 // words that are like each other share at least so much of their letters
}

// standard weights were tuned on one half of the labelled requests in testdata.
var standard = weights{
	exact: 16, part: 0.25, whole: 0.75, topic: 1.2, word: 1, letters: 0.5, corrected: 0.6, weak: 0.4, shape: 0.5,
	topicDescription: 0.5, clauses: 0.3,
	fields: []retrieval.Field{
		nameField:        {Weight: 1, Norm: 0.3},
		descriptionField: {Weight: 1, Norm: 0.5},
		parametersField:  {Weight: 0.5, Norm: 0.5},
		tagsField:        {Weight: 1},
	},
	saturation: 1.2, floor: 0.05, alike: 0.35,
}

// Index scores the tools of one catalog. It never changes; make a new one when
// the catalog does.
type Index struct {
	docs     []Doc
	weights  weights
	known    *vocabulary
	text     *retrieval.Index // all fields by their words
	parts    *retrieval.Index // names by their parts
	partsOf  []int32          // how many different ones the name of each doc has
	topics   [][]retrieval.Posting
	names    map[string][]retrieval.Posting // the docs of a name without what joins it
	longest  int                            // the most parts of a name
	begin    beginnings                     // of names
	scratch  sync.Pool                      // of *ranking
	likeness func() *likeness               // made when a word is first met that no tool has
}

// NewIndex makes an index of docs. It keeps docs, which must not change.
func NewIndex(docs []Doc) *Index { return newIndex(docs, standard) }

func newIndex(docs []Doc, w weights) *Index {
	x := &Index{docs: docs, weights: w, known: known()}
	texts, names := make([][]string, len(docs)), make([][]string, len(docs))
	for i, d := range docs {
		texts[i] = []string{
			nameField: d.Name, descriptionField: d.Description, parametersField: parameterWords(d.Parameters),
			tagsField: d.Category + "\n" + strings.Join(d.Tags, "\n") + "\n" + d.Owner,
		}
		names[i] = texts[i][:1]
	}
	o := retrieval.Options{
		Fields: w.fields, Saturation: w.saturation, Stem: retrieval.Stem,
		Keep: speaks,
	}
	x.text = retrieval.NewIndex(texts, o)
	o.Fields = w.fields[:1]
	x.parts = retrieval.NewIndex(names, o)
	x.countParts()
	x.topics = x.known.topicPostings(texts, x.text, w)
	x.likeness = sync.OnceValue(func() *likeness { return newLikeness(x.text) })
	x.nameDocs()
	x.scratch.New = func() any { return newRanking(x) }
	return x
}

// speaks reports whether a word of a field can say something for its doc: a number
// can't, nor can a stop word, and a single letter only in the name.
func speaks(field int, word []byte) bool {
	number, letter := retrieval.Bare(word)
	return !number && (!letter || field == nameField) && !retrieval.Stop(word)
}

// likeness finds words of the index that are like others.
type likeness struct {
	spelling *retrieval.Spelling // of stems
	letters  *retrieval.Letters
	terms    []int32 // of the words that letters knows
}

func newLikeness(text *retrieval.Index) *likeness {
	words := slices.Sorted(text.Words())
	l := &likeness{
		spelling: retrieval.NewSpelling(slices.Collect(text.Stems())),
		letters:  retrieval.NewLetters(words),
		terms:    make([]int32, len(words)),
	}
	for i, word := range words {
		l.terms[i], _ = text.Word([]byte(word))
	}
	return l
}

// nameDocs fills in names. A name of one word is a word that people also use
// for other things, so it counts less.
func (x *Index) nameDocs() {
	x.names = map[string][]retrieval.Posting{}
	var text retrieval.Text
	for i, d := range x.docs {
		text.Read(d.Name)
		var joined []byte
		parts := 0
		for _, w := range text.Words() {
			if w.Parts == 0 {
				joined = append(joined, text.Bytes(w)...)
				parts++
			}
		}
		score := float32(1)
		if parts == 1 {
			score = 0.25
		}
		if number, _ := retrieval.Bare(joined); parts == 0 || number || parts == 1 && retrieval.Stop(joined) {
			continue
		}
		x.longest = max(x.longest, parts)
		x.begin.add(joined)
		x.names[string(joined)] = append(x.names[string(joined)], retrieval.Posting{Doc: int32(i), Score: score})
	}
}

// beginnings tell at the first letters that no name begins with them, which is so
// for most words of a message.
type beginnings [1 << 7]uint64

// beginning is how many bytes of a name are looked at.
const beginning = 3

func (b *beginnings) bit(s []byte) (word int, bit uint64) {
	h := uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16
	h = h * 2654435761 >> 19
	return int(h / 64), 1 << (h % 64)
}

func (b *beginnings) add(name []byte) {
	if len(name) >= beginning {
		word, bit := b.bit(name)
		b[word] |= bit
	}
}

// may reports whether s is a name or what one begins with, as far as can be told.
func (b *beginnings) may(s []byte) bool {
	if len(s) < beginning {
		return true
	}
	word, bit := b.bit(s)
	return b[word]&bit != 0
}

// countParts fills in partsOf.
func (x *Index) countParts() {
	x.partsOf = make([]int32, len(x.docs))
	var text retrieval.Text
	var stem []byte
	var seen []int32
	for i, d := range x.docs {
		text.Read(d.Name)
		seen = seen[:0]
		for _, w := range text.Words() {
			stem = retrieval.Stem(stem[:0], text.Bytes(w))
			if term, ok := x.parts.Term(stem); ok && w.Parts == 0 && !slices.Contains(seen, term) {
				seen = append(seen, term)
			}
		}
		x.partsOf[i] = int32(len(seen))
	}
}

// parameterWords are the names and descriptions of the parameters of a schema,
// ordered by name.
func parameterWords(raw json.RawMessage) string {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &schema) != nil {
		return ""
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		var p struct {
			Description string `json:"description"`
		}
		b.WriteString(name + "\n")
		// A parameter can be a mere true or false; such have no words.
		if json.Unmarshal(schema.Properties[name], &p) == nil {
			b.WriteString(p.Description + "\n")
		}
	}
	return b.String()
}

// order sorts hits: the best first, by name where equally good.
func (x *Index) order(a, b Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(x.docs[a.Doc].Name, x.docs[b.Doc].Name), cmp.Compare(a.Doc, b.Doc))
}
