// Package retrieval finds texts by words, without a model and without a
// network: it takes texts apart into words ([Text]), brings words to their
// stems, and weighs by BM25 over several fields how much a word says about a
// document ([Index]).
//
// An index is made once and never changes, so any number of goroutines may
// read it. A Text is scratch memory of one reader. Everything is deterministic:
// equal input gives equal bits.
//
// It knows nothing of tools; which words of a request count how much is for
// its user to say. Start reading at [NewIndex] and [Text.Read].
package retrieval

import (
	"cmp"
	"math"
	"slices"
)

// Field is a part of every document, such as its title.
type Field struct {
	// Weight is how many times a word counts that stands in this field.
	Weight float64
	// Norm, from 0 to 1, is how much a word loses in a text that is longer
	// than the field usually is: b in BM25.
	Norm float64
}

// Options say how an index weighs words.
type Options struct {
	Fields []Field
	// Saturation is how fast a repeated word stops to count: k1 in BM25. At 0
	// the second time counts nothing.
	Saturation float64
	// Keep, if given, says which words take part in which field; the others
	// are neither found nor counted in lengths.
	Keep func(field int, word []byte) bool
	// Stem, if given, appends to dst the form by which word is compared.
	Stem func(dst, word []byte) []byte
}

// Posting says how much a term speaks for a document.
type Posting struct {
	Doc   int32
	Score float32
}

// Index is an immutable index over documents.
type Index struct {
	stem     func(dst, word []byte) []byte
	words    map[string]int32 // words as they are written in the documents, and their terms
	stems    map[string]int32
	idf      []float32
	first    []int32 // of term t, postings[first[t]:first[t+1]]
	postings []Posting
}

// occurrence counts a term in a field of a document.
type occurrence struct {
	term, doc int32
	field     int32
	count     int32
}

// NewIndex makes an index of docs, each with a text per field.
func NewIndex(docs [][]string, o Options) *Index {
	x := &Index{stem: o.Stem, words: map[string]int32{}, stems: map[string]int32{}}
	if x.stem == nil {
		x.stem = func(dst, word []byte) []byte { return append(dst, word...) }
	}
	lengths := make([][]float64, len(o.Fields)) // of each document
	for f := range lengths {
		lengths[f] = make([]float64, len(docs))
	}
	var all []occurrence
	var text Text
	for d, fields := range docs {
		for f, s := range fields {
			text.Read(s)
			for _, w := range text.Words() {
				word := text.Bytes(w)
				if o.Keep != nil && !o.Keep(f, word) {
					continue
				}
				if w.Parts == 0 {
					lengths[f][d]++
				}
				all = append(all, occurrence{x.intern(word), int32(d), int32(f), 1})
			}
		}
	}
	x.weigh(count(all), lengths, o)
	return x
}

// intern is the term of a word of a document.
func (x *Index) intern(word []byte) int32 {
	if t, ok := x.words[string(word)]; ok {
		return t
	}
	stem := x.stem(nil, word)
	t, ok := x.stems[string(stem)]
	if !ok {
		t = int32(len(x.stems))
		x.stems[string(stem)] = t
	}
	x.words[string(word)] = t
	return t
}

// count puts equal occurrences together, ordered by term and document.
func count(all []occurrence) []occurrence {
	slices.SortFunc(all, func(a, b occurrence) int {
		return cmp.Or(cmp.Compare(a.term, b.term), cmp.Compare(a.doc, b.doc), cmp.Compare(a.field, b.field))
	})
	kept := all[:0]
	for _, c := range all {
		if n := len(kept); n > 0 && kept[n-1].term == c.term && kept[n-1].doc == c.doc && kept[n-1].field == c.field {
			kept[n-1].count += c.count
		} else {
			kept = append(kept, c)
		}
	}
	return kept
}

// weigh makes the postings of the counted occurrences.
func (x *Index) weigh(all []occurrence, lengths [][]float64, o Options) {
	usual := make([]float64, len(o.Fields))
	docs := 0
	for f, of := range lengths {
		docs = len(of)
		for _, n := range of {
			usual[f] += n / float64(len(of))
		}
	}
	x.first = append(x.first, 0)
	for i := 0; i < len(all); {
		start, term := len(x.postings), all[i].term
		for i < len(all) && all[i].term == term {
			doc, tf := all[i].doc, 0.0
			for ; i < len(all) && all[i].term == term && all[i].doc == doc; i++ {
				f := o.Fields[all[i].field]
				long := 1 - f.Norm
				if u := usual[all[i].field]; u > 0 {
					long += f.Norm * lengths[all[i].field][doc] / u
				}
				tf += f.Weight * float64(all[i].count) / long
			}
			if tf > 0 {
				x.postings = append(x.postings, Posting{doc, float32(tf * (o.Saturation + 1) / (tf + o.Saturation))})
			}
		}
		df := float64(len(x.postings) - start)
		idf := math.Log(1 + (float64(docs)-df+0.5)/(df+0.5))
		for j := start; j < len(x.postings); j++ {
			x.postings[j].Score *= float32(idf)
		}
		x.idf = append(x.idf, float32(idf))
		x.first = append(x.first, int32(len(x.postings)))
	}
}

// Term is the term of a folded word of a request, as [Text.Bytes] gives it.
// It is false when no document has it.
func (x *Index) Term(word []byte) (int32, bool) {
	if t, ok := x.words[string(word)]; ok {
		return t, true
	}
	var room [64]byte
	t, ok := x.stems[string(x.stem(room[:0], word))]
	return t, ok
}

// Terms is how many terms there are; they are numbered from 0.
func (x *Index) Terms() int { return len(x.idf) }

// Rarity is the term's IDF: near 0 when every document has it.
func (x *Index) Rarity(term int32) float32 { return x.idf[term] }

// Postings are the documents that have the term, in their order, with what it
// says for each.
func (x *Index) Postings(term int32) []Posting { return x.postings[x.first[term]:x.first[term+1]] }

// Score is what the term says for one document; 0 when it isn't there.
func (x *Index) Score(term, doc int32) float32 {
	p := x.Postings(term)
	i, ok := slices.BinarySearchFunc(p, doc, func(p Posting, doc int32) int { return cmp.Compare(p.Doc, doc) })
	if !ok {
		return 0
	}
	return p[i].Score
}
