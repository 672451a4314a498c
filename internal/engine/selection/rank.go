package selection

import (
	"math"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/lib/retrieval"
)

// Hit is a tool that a message speaks for.
type Hit struct {
	Doc     int // of the docs that the index was made of
	Score   float64
	New     float64  // of the score, what the message says for it and for no tool that is listed; all of it where it names the tool
	Faint   bool     // all that is said for it is words of its subject, or words that say little
	Reasons []Reason // ordered by layer; their scores add up to Score
}

// Reason is what one layer found.
type Reason struct {
	Layer string // name, name part, category or words
	Score float64
	Words []string // of the message, folded; "~" before one that is only like a word of the tool
}

// layer is where evidence comes from.
type layer uint8

const (
	byName layer = iota
	byPart
	byTopic
	byWord
	byLetters
	layers
)

// layerNames are the words for layers: letters are a weaker kind of words.
var layerNames = [layers]string{"name", "name part", "category", "words", "words"}

// evidence is what a word of a message says for tools.
type evidence struct {
	layer    layer
	word     retrieval.Word
	clause   int32
	weight   float32
	postings []retrieval.Posting
	covered  float32 // the most that it says for a listed doc
	faint    bool    // it is a word of a subject, or one that says little
	told     string  // the word, once a hit was explained by it
}

// heard is a word of a message with what was made of it.
type heard struct {
	word       retrieval.Word
	start, end int   // of its stem
	term       int32 // in the index's text, or -1
	stop       bool  // it says nothing by itself
}

// seen is where a term was last met.
type seen struct {
	request  uint32
	evidence int32
}

// ranking is the scratch memory of one request.
type ranking struct {
	text     retrieval.Text
	heard    []heard
	stems    []byte
	pair     []byte
	topics   []int32 // of a stem
	letters  retrieval.LettersScratch
	evidence []evidence
	seen     [layers][]seen // of each term
	request  uint32
	clause   int32 // that is being read
	weak     bool  // a weak word was heard
	telling  bool  // a name, a word that isn't weak, or a second weak one was heard
	scores   []float32
	inClause []float32 // scores of one clause
	parts    []int32   // how many words of its name each doc has heard
	lift     []float32 // the best share that a doc has of a clause's best
	listed   []bool    // the docs beside which others may be new
	hits     []Hit
	hitOf    []int32 // 1 + which of the hits a doc is; 0 is none
	said     []said  // of each hit
}

// said is what a message says for a hit.
type said struct {
	layers      [layers]Reason
	total, news float64
	named       bool
}

func newRanking(x *Index) *ranking {
	n := len(x.docs)
	r := &ranking{scores: make([]float32, n), inClause: make([]float32, n), lift: make([]float32, n), parts: make([]int32, n), listed: make([]bool, n), hitOf: make([]int32, n)}
	for l, terms := range [layers]int{n, x.parts.Terms(), len(x.topics), x.text.Terms(), x.text.Terms()} {
		r.seen[l] = make([]seen, terms)
	}
	return r
}

// Bounds of what is read of a message.
const (
	maxMessage = 4 << 10 // bytes: half from its start and half from its end, since a request stands before or after what it brings along
	maxStrange = 24      // words that are looked up by their letters
	maxLike    = 4       // words that one is like
	maxClauses = 8       // what follows is one more
)

// Rank returns the docs that message speaks for and keep admits (nil admits
// all), best first and by name where equally good, at most k of them. Of a
// message over 4 KiB only the start and the end count. It keeps nothing of the
// message. It may be called by any number of goroutines.
func (x *Index) Rank(message string, keep func(doc int) bool, k int) []Hit {
	return x.rank(message, keep, k, x.weights.floor, nil)
}

// RankBeside is [Index.Rank] for a list that holds the docs listed: of hits that
// are not among them it says how much is new.
func (x *Index) RankBeside(message string, keep func(doc int) bool, k int, listed []int) []Hit {
	return x.rank(message, keep, k, x.weights.floor, listed)
}

// rank ranks what has at least the share floor of the best score.
func (x *Index) rank(message string, keep func(doc int) bool, k int, floor float64, listed []int) []Hit {
	if k <= 0 || len(x.docs) == 0 {
		return nil
	}
	if len(message) > maxMessage {
		message = message[:maxMessage/2] + "\n" + message[len(message)-maxMessage/2:]
	}
	r := x.scratch.Get().(*ranking)
	defer x.scratch.Put(r)
	x.hear(r, message)
	x.gather(r)
	if x.matchShapes(r, message); !r.telling {
		return nil // "go on" speaks for no tool, though one may go somewhere
	}
	x.sum(r)
	hits := x.best(r, keep, k, float32(floor))
	x.compare(r, listed)
	r.explain(hits)
	for _, d := range listed {
		r.listed[d] = false
	}
	return hits
}

// compare says of evidence whether it is faint and what it says for the docs
// listed.
func (x *Index) compare(r *ranking, listed []int) {
	for _, d := range listed {
		r.listed[d] = true
	}
	for i := range r.evidence {
		e := &r.evidence[i]
		e.faint = e.layer == byTopic || x.known.weak[string(r.text.Bytes(e.word))]
		if len(listed) == 0 {
			continue
		}
		for _, p := range e.postings {
			if r.listed[p.Doc] {
				e.covered = max(e.covered, p.Score)
			}
		}
	}
}

// hear takes the message apart.
func (x *Index) hear(r *ranking, message string) {
	r.heard, r.stems = r.heard[:0], r.stems[:0]
	r.text.Read(message)
	for _, w := range r.text.Words() {
		word := r.text.Bytes(w)
		h := heard{word: w, start: len(r.stems), term: -1}
		number, letter := retrieval.Bare(word)
		if h.stop = number || retrieval.Stop(word); h.stop {
			r.stems = append(r.stems, word...)
		} else if term, ok := x.text.Word(word); ok {
			h.term = term
			r.stems = append(r.stems, x.text.Stem(term)...)
		} else if h.stop = letter; letter {
			r.stems = append(r.stems, word...)
		} else {
			r.stems = retrieval.Stem(r.stems, word)
			if term, ok := x.text.Term(r.stems[h.start:]); ok {
				h.term = term
			}
		}
		h.end = len(r.stems)
		r.heard = append(r.heard, h)
	}
}

// gather finds what the words say.
func (x *Index) gather(r *ranking) {
	r.request++
	if r.request == 0 { // after 2^32 requests, old marks would look new
		for _, marks := range r.seen {
			clear(marks)
		}
		r.request = 1
	}
	r.evidence, r.clause, r.telling, r.weak = r.evidence[:0], 0, false, false
	strange, inside := 0, int32(0)
	for i, h := range r.heard {
		word, stem := r.text.Bytes(h.word), r.stems[h.start:h.end]
		if i > 0 && r.clause < maxClauses && (h.word.Clause != r.heard[i-1].word.Clause || conjunction(word)) {
			r.clause++
		}
		x.matchName(r, i)
		if i+1 < len(r.heard) {
			r.pair = append(append(r.pair[:0], stem...), r.stems[r.heard[i+1].start:r.heard[i+1].end]...)
			x.matchTopics(r, r.pair, h.word, x.weights.word*x.weights.topic)
		}
		if inside > 0 { // a compound that was found as a whole
			inside--
			continue
		}
		if h.stop {
			continue
		}
		weight, weak := x.weights.word, x.known.weak[string(word)]
		if weak {
			weight *= x.weights.weak
		}
		inTopics := x.matchTopics(r, stem, h.word, weight*x.weights.topic)
		r.telling = r.telling || !weak || r.weak
		r.weak = r.weak || weak
		if h.term >= 0 {
			r.add(byWord, h.term, h.word, weight, x.text.Postings(h.term))
			if id, ok := x.parts.Term(stem); ok {
				r.add(byPart, id, h.word, weight*x.weights.part, x.parts.Postings(id))
			}
			inside = h.word.Parts
			continue
		}
		if h.word.Parts == 0 && strange < maxStrange {
			strange++
			x.matchStrange(r, word, stem, inTopics, h.word, weight)
		}
	}
}

// conjunction reports words that begin another part of a request.
func conjunction(word []byte) bool {
	switch string(word) {
	case "and", "then", "also", "plus", "afterwards":
		return true
	}
	return false
}

// moreTopic is how much each further word of a topic adds to the clearest one, as
// a share of what it says: two words of cooking speak more for it than one.
const moreTopic = 0.3

// add notes what a word says. Of words that say the same, the one that says it
// most clearly counts.
func (r *ranking) add(l layer, id int32, w retrieval.Word, weight float64, postings []retrieval.Posting) {
	if weight == 0 {
		return
	}
	mark := &r.seen[l][id]
	if mark.request != r.request {
		*mark = seen{r.request, int32(len(r.evidence))}
		r.evidence = append(r.evidence, evidence{layer: l, word: w, clause: r.clause, weight: float32(weight), postings: postings})
		return
	}
	e := &r.evidence[mark.evidence]
	if l == byTopic {
		e.weight = max(e.weight, float32(weight)) + moreTopic*min(e.weight, float32(weight))
		return
	}
	if float32(weight) > e.weight {
		e.weight, e.word = float32(weight), w
	}
}

// matchName looks for a name that begins with the word at i.
func (x *Index) matchName(r *ranking, i int) {
	r.pair = r.pair[:0]
	for n, h := range r.heard[i:] {
		whole := h.word.Parts > 0 // its parts follow
		if n >= x.longest || n > 0 && whole {
			return
		}
		r.pair = append(r.pair, r.text.Bytes(h.word)...)
		if !x.begin.may(r.pair) {
			return
		}
		if docs := x.names[string(r.pair)]; docs != nil {
			r.add(byName, docs[0].Doc, r.heard[i].word, x.weights.exact, docs)
			r.telling = true
		}
		if whole {
			return
		}
	}
}

// matchTopics is false when the stem belongs to no topic. A word of many topics
// says less for each.
func (x *Index) matchTopics(r *ranking, stem []byte, w retrieval.Word, weight float64) bool {
	r.topics = x.known.of(stem, r.topics[:0])
	for _, t := range r.topics {
		r.add(byTopic, t, w, weight/math.Sqrt(float64(len(r.topics))), x.topics[t])
	}
	return len(r.topics) > 0
}

// matchShapes takes in what pieces of the message are by their shape: a tool that
// speaks of e-mail addresses is meant by one. They are a clause of their own.
func (x *Index) matchShapes(r *ranking, message string) {
	if x.weights.shape == 0 || !strings.ContainsAny(message, shapely) {
		return // which costs nothing
	}
	r.clause++
	for piece := range strings.FieldsSeq(message) {
		word := shapeOf(piece)
		if word == "" {
			continue
		}
		from := len(r.evidence)
		x.matchTopics(r, []byte(word), retrieval.Word{}, x.weights.shape*x.weights.topic)
		if term, ok := x.text.Term(retrieval.Stem(nil, []byte(word))); ok {
			r.add(byWord, term, retrieval.Word{}, x.weights.shape, x.text.Postings(term))
		}
		for i := from; i < len(r.evidence); i++ {
			r.evidence[i].told = "(" + word + ")"
		}
		r.telling = r.telling || len(r.evidence) > from
	}
}

// matchStrange looks for words that a word which no tool has is like: the one
// that it was meant to be, if no topic knows it either, and those that share
// most of its letters.
func (x *Index) matchStrange(r *ranking, word, stem []byte, inTopics bool, w retrieval.Word, weight float64) {
	like := x.likeness()
	if !inTopics && x.weights.corrected > 0 {
		meant, ok := like.spelling.Near(stem)
		if !ok {
			meant, ok = x.known.spelling().Near(stem)
		}
		share := weight * x.weights.corrected
		if term, in := x.text.Term([]byte(meant)); in && ok {
			r.add(byLetters, term, w, share, x.text.Postings(term))
		}
		x.matchTopics(r, []byte(meant), w, share*x.weights.topic)
	}
	if x.weights.letters == 0 {
		return
	}
	for _, l := range like.letters.Like(word, float32(x.weights.alike), maxLike, &r.letters) {
		term := like.terms[l.Word]
		r.add(byLetters, term, w, weight*x.weights.letters*float64(l.Share), x.text.Postings(term))
	}
}

// sum adds up what is said for each doc. What is best for a clause is lifted
// towards the best of all, so that a request for two things isn't answered with
// tools for the one that has more words for it.
func (x *Index) sum(r *ranking) {
	clear(r.scores)
	clear(r.lift)
	clear(r.parts)
	for i := 0; i < len(r.evidence); {
		clause := r.evidence[i].clause
		clear(r.inClause)
		for ; i < len(r.evidence) && r.evidence[i].clause == clause; i++ {
			e := &r.evidence[i]
			for _, p := range e.postings {
				r.inClause[p.Doc] += e.weight * p.Score
			}
			if e.layer == byPart {
				for _, p := range e.postings {
					r.parts[p.Doc]++
				}
			}
		}
		top := highest(r.inClause)
		if top == 0 {
			continue
		}
		for d, s := range r.inClause {
			r.scores[d] += s
			r.lift[d] = max(r.lift[d], s/top)
		}
	}
	for d, n := range r.parts {
		if n > 1 && n == x.partsOf[d] {
			r.scores[d] *= 1 + float32(x.weights.whole)
		}
	}
	most := float32(x.weights.clauses) * highest(r.scores)
	for d, l := range r.lift {
		r.scores[d] += most * l
	}
}

// highest is slices.Max of what is no NaN and not negative; scores are neither.
func highest(scores []float32) (top float32) {
	for _, s := range scores {
		if s > top {
			top = s
		}
	}
	return top
}

// best picks the k best that keep admits and that have the share floor of the
// best of all.
func (x *Index) best(r *ranking, keep func(int) bool, k int, floor float32) []Hit {
	r.hits = r.hits[:0]
	floor *= highest(r.scores)
	for d, s := range r.scores {
		h := Hit{Doc: d, Score: float64(s)}
		if s == 0 || s < floor || len(r.hits) == k && x.order(r.hits[k-1], h) < 0 || keep != nil && !keep(d) {
			continue
		}
		at, _ := slices.BinarySearchFunc(r.hits, h, x.order)
		if len(r.hits) == k {
			r.hits = r.hits[:k-1]
		}
		r.hits = slices.Insert(r.hits, at, h)
	}
	if len(r.hits) == 0 {
		return nil
	}
	return slices.Clone(r.hits)
}

// explain puts together by layers what was said for each hit, and what of it is
// said for no listed doc. Whose name is said is meant, whatever else is.
func (r *ranking) explain(hits []Hit) {
	r.said = append(r.said[:0], make([]said, len(hits))...)
	for i := range hits {
		hits[i].Faint = true
		r.hitOf[hits[i].Doc] = int32(i + 1)
	}
	for i := range r.evidence {
		e := &r.evidence[i]
		for _, p := range e.postings {
			if at := r.hitOf[p.Doc]; at > 0 {
				r.tell(e, p.Score, &hits[at-1], &r.said[at-1])
			}
		}
	}
	for i := range hits {
		h, of := &hits[i], &r.said[i]
		r.hitOf[h.Doc] = 0
		switch {
		case r.listed[h.Doc]:
		case of.named:
			h.New = h.Score
		default:
			h.New = h.Score * of.news / of.total
		}
		h.Reasons = make([]Reason, 0, layers)
		for l, why := range of.layers {
			if why.Score > 0 {
				why.Layer = layerNames[l]
				why.Score *= h.Score / of.total
				h.Reasons = append(h.Reasons, why)
			}
		}
	}
	clear(r.said) // its words are the hits'
}

// tell adds to what is said for h that e speaks for it so clearly.
func (r *ranking) tell(e *evidence, clearly float32, h *Hit, of *said) {
	score := float64(e.weight * clearly)
	if score == 0 {
		return
	}
	if e.told == "" {
		e.told = string(r.text.Bytes(e.word))
		if e.layer == byLetters {
			e.told = "~" + e.told
		}
	}
	of.total += score
	of.news += float64(e.weight * max(clearly-e.covered, 0))
	of.named = of.named || e.layer == byName
	h.Faint = h.Faint && e.faint
	to := &of.layers[e.layer]
	if e.layer == byLetters {
		to = &of.layers[byWord]
	}
	to.Score += score
	if !slices.Contains(to.Words, e.told) {
		to.Words = append(to.Words, e.told)
	}
}
