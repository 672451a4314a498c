package selection

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"

	"github.com/goclaw/goclaw/internal/lib/retrieval"
)

// Doc is what the scorer knows of a tool. The name need not be canonical.
type Doc struct {
	Name        string
	Description string
	Category    string
	Tags        []string
	Parameters  json.RawMessage // the JSON schema; what isn't one is passed over
	Owner       string
}

// Hit is a tool that a message speaks for.
type Hit struct {
	Doc     int // of the docs that the index was made of
	Score   float64
	Reasons []Reason
}

// Reason is what one layer found.
type Reason struct {
	Layer string
	Score float64
	Words []string // of the message
}

// Index scores the tools of one catalog. It never changes; make a new one when
// the catalog does.
type Index struct {
	docs []Doc
	text *retrieval.Index
	work sync.Pool // of *ranking
}

// NewIndex makes an index of docs.
func NewIndex(docs []Doc) *Index {
	texts := make([][]string, len(docs))
	for i, d := range docs {
		texts[i] = []string{d.Name, d.Description}
	}
	x := &Index{docs: docs, text: retrieval.NewIndex(texts, retrieval.Options{
		Fields:     []retrieval.Field{{Weight: 1, Norm: 0.75}, {Weight: 1, Norm: 0.75}},
		Saturation: 1.2,
		Keep:       func(_ int, word []byte) bool { return !retrieval.Stop(word) },
		Stem:       retrieval.Stem,
	})}
	x.work.New = func() any { return &ranking{scores: make([]float32, len(docs))} }
	return x
}

// ranking is the scratch memory of one request.
type ranking struct {
	text   retrieval.Text
	scores []float32
	terms  []term
}

// term is a term of the message with the word that it stands for.
type term struct {
	id   int32
	word retrieval.Word
}

// Rank returns the docs that message speaks for and keep admits (nil admits
// all), best first and by name where equally good, at most k of them. It keeps
// nothing of the message. It may be called by any number of goroutines.
func (x *Index) Rank(message string, keep func(doc int) bool, k int) []Hit {
	r := x.work.Get().(*ranking)
	defer x.work.Put(r)
	clear(r.scores)
	r.text.Read(message)
	r.terms = r.terms[:0]
	for _, w := range r.text.Words() {
		word := r.text.Bytes(w)
		if retrieval.Stop(word) {
			continue
		}
		id, ok := x.text.Term(word)
		if !ok || slices.ContainsFunc(r.terms, func(t term) bool { return t.id == id }) {
			continue
		}
		r.terms = append(r.terms, term{id, w})
		for _, p := range x.text.Postings(id) {
			r.scores[p.Doc] += p.Score
		}
	}
	var hits []Hit
	for i, s := range r.scores {
		if s > 0 && (keep == nil || keep(i)) {
			hits = append(hits, Hit{Doc: i, Score: float64(s)})
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(x.docs[a.Doc].Name, x.docs[b.Doc].Name), cmp.Compare(a.Doc, b.Doc))
	})
	hits = hits[:min(len(hits), max(k, 0))]
	for i := range hits {
		hits[i].Reasons = x.reasons(r, hits[i])
	}
	return hits
}

func (x *Index) reasons(r *ranking, h Hit) []Reason {
	why := Reason{Layer: "words", Score: h.Score}
	for _, t := range r.terms {
		if x.text.Score(t.id, int32(h.Doc)) > 0 {
			why.Words = append(why.Words, string(r.text.Bytes(t.word)))
		}
	}
	return []Reason{why}
}
