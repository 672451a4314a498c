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
	"iter"
	"maps"
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
	stemOf   []string // of each term
	first    []int32  // of term t, postings[first[t]:first[t+1]]
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
		x.stemOf = append(x.stemOf, string(stem))
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
		idf := Rarity(len(x.postings)-start, docs)
		for j := start; j < len(x.postings); j++ {
			x.postings[j].Score *= float32(idf)
		}
		x.first = append(x.first, int32(len(x.postings)))
	}
}

// Word is the term of a folded word that a document has as it is written; it
// is false for others, which may still have a term by their stem.
func (x *Index) Word(word []byte) (int32, bool) {
	t, ok := x.words[string(word)]
	return t, ok
}

// Term is the term of a stem. It is false when no document has it.
func (x *Index) Term(stem []byte) (int32, bool) {
	t, ok := x.stems[string(stem)]
	return t, ok
}

// Stem is the stem of a term.
func (x *Index) Stem(term int32) string { return x.stemOf[term] }

// Words are the words of the documents, in no order.
func (x *Index) Words() iter.Seq[string] { return maps.Keys(x.words) }

// Stems are the stems of the terms in their order.
func (x *Index) Stems() iter.Seq[string] { return slices.Values(x.stemOf) }

// Terms is how many terms there are; they are numbered from 0.
func (x *Index) Terms() int { return len(x.stems) }

// Postings are the documents that have the term, in their order, with what it
// says for each.
func (x *Index) Postings(term int32) []Posting { return x.postings[x.first[term]:x.first[term+1]] }

// Rarity is the IDF of what of docs documents have so many: near 0 when all do.
func Rarity(have, docs int) float64 {
	return math.Log(1 + (float64(docs-have)+0.5)/(float64(have)+0.5))
}

// Find is what postings, ordered by document, say for doc; 0 when it isn't
// there.
func Find(postings []Posting, doc int32) float32 {
	i, ok := slices.BinarySearchFunc(postings, doc, func(p Posting, doc int32) int { return cmp.Compare(p.Doc, doc) })
	if !ok {
		return 0
	}
	return postings[i].Score
}
