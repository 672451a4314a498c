package selection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Embedder turns texts into vectors of length 1 that lie close to each other when
// the texts mean the same. It keeps what it made, so that to ask for the same
// again costs little, also after it failed. It is safe for concurrent use.
type Embedder interface {
	// Embed returns the vectors of texts, none of which is blank, in their order
	// and all of one length. query says that they look for something, else they
	// are what is to be found.
	Embed(ctx context.Context, texts []string, query bool) ([][]float32, error)
	// Kept returns the vectors of texts that are kept, nil for the others. It asks
	// nobody.
	Kept(ctx context.Context, texts []string, query bool) [][]float32
	// Model is whose vectors they are: those of two can't be compared.
	Model() string
}

// SemanticOptions completes [NewSemantic].
type SemanticOptions struct {
	// Open returns what embeds. It is called when something is first to be
	// embedded, and again after it failed.
	Open func(ctx context.Context) (Embedder, error)
	// TopK is how many tools a message adds at most.
	TopK int
	// MinSimilarity is the least similarity of those, from 0 to 1.
	MinSimilarity float64
}

// Semantic is the channel that finds tools by what they mean. It only ever adds
// to what words find, and nothing waits long for it: what embeds may be slow or
// down. It is safe for concurrent use, has no goroutine and needs no closing.
type Semantic struct {
	opts SemanticOptions

	mu       sync.Mutex
	embedder Embedder
	last     Embedder      // the one before it failed; what it kept is used meanwhile
	rests    time.Time     // until then nobody is asked
	pause    time.Duration // how long it rested last; 0 after a success
	tells    time.Time     // until then it isn't told again that some tools are not embedded yet
}

const (
	// semanticWithin bounds what a request may wait in all, and fillWithin within
	// which time it begins to embed more of the tools: what is not embedded by
	// then is by the requests that follow.
	semanticWithin = 6 * time.Second
	fillWithin     = 3 * time.Second
	// After a failure nobody is asked for a while, twice as long each time.
	restFirst = time.Minute
	restMost  = 15 * time.Minute
)

// NewSemantic makes a channel. It asks nobody yet.
func NewSemantic(o SemanticOptions) *Semantic { return &Semantic{opts: o} }

// Semantics is the meanings of the tools of one catalog, which are embedded when
// they are first needed.
type Semantics struct {
	s     *Semantic
	docs  []Doc
	texts []string

	// filling is held by whoever embeds tools; the others wait only as long as
	// they have time.
	filling chan struct{}
	batch   int // how many tools are embedded at once

	mu      sync.RWMutex
	model   string // whose vectors they are
	length  int    // of each vector; 0 before the first
	vectors []float32
	have    []bool
	left    int // without a vector
}

// Of returns the meanings of docs.
func (s *Semantic) Of(docs []Doc) *Semantics {
	x := &Semantics{s: s, docs: docs, texts: make([]string, len(docs)), filling: make(chan struct{}, 1), batch: firstBatch}
	for i, d := range docs {
		x.texts[i] = strings.ReplaceAll(d.Name, "_", " ") + ": " + d.Description
	}
	x.reset("")
	return x
}

// How many tools are embedded at once: a slow server has to be done with them in
// time, a fast one is to be asked seldom.
const (
	leastBatch = 4
	firstBatch = 32
	mostBatch  = 256
)

// reset forgets the vectors of another model. The caller holds x.mu, or x alone.
func (x *Semantics) reset(model string) {
	x.model, x.length, x.vectors = model, 0, nil
	x.have, x.left = make([]bool, len(x.docs)), len(x.docs)
}

// Rank returns the docs that are closest in meaning to message among those that
// keep admits, which leaves out what was found otherwise; best first, by name
// where equally close, with their similarity as score. It waits for a few
// seconds at most. notice says what kept it from looking at all tools: it is told
// once for each time that nobody is asked. What a message adds is nothing then, or
// less; it is never an error.
func (x *Semantics) Rank(ctx context.Context, message string, keep func(doc int) bool) (hits []Hit, notice string) {
	if x.s.opts.TopK <= 0 || len(x.docs) == 0 || strings.TrimSpace(message) == "" {
		return nil, ""
	}
	if x.s.resting() {
		return x.kept(ctx, message, keep), ""
	}
	begin := time.Now()
	within, cancel := context.WithTimeout(ctx, semanticWithin)
	defer cancel()
	hits, err := x.rank(within, begin, message, keep)
	switch {
	case ctx.Err() != nil:
		return nil, ""
	case err == nil:
		x.s.worked()
		return hits, ""
	}
	var part *partError
	if errors.As(err, &part) {
		return hits, x.s.told(part)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("there was no answer within %s", semanticWithin)
	} else {
		hits = x.kept(ctx, message, keep) // as the requests do that follow
	}
	rest := x.s.failed()
	how := "by words alone, not by meaning"
	if len(hits) > 0 {
		how = "by meaning only as far as that is kept"
	}
	return hits, fmt.Sprintf("tools were looked for %s: %v; asking again in %.0f min", how, err, rest.Minutes())
}

// partError says that only some of the tools are embedded yet.
type partError struct{ have, all int }

func (e *partError) Error() string {
	return fmt.Sprintf("%d of %d tools are embedded", e.have, e.all)
}

// rank is Rank within its time. What it found stands beside an error.
func (x *Semantics) rank(ctx context.Context, begin time.Time, message string, keep func(int) bool) ([]Hit, error) {
	e, err := x.s.open(ctx)
	if err != nil {
		return nil, err
	}
	asked, err := e.Embed(ctx, []string{message}, true)
	if err != nil {
		return nil, err
	}
	err = x.fill(ctx, e, func() bool { return time.Since(begin) < fillWithin })
	return x.nearest(e.Model(), asked[0], keep), err
}

// kept is what Rank finds by what is kept, without asking anybody.
func (x *Semantics) kept(ctx context.Context, message string, keep func(int) bool) []Hit {
	ctx, cancel := context.WithTimeout(ctx, semanticWithin)
	defer cancel()
	e := x.s.before()
	if e == nil {
		return nil
	}
	asked := e.Kept(ctx, []string{message}, true)[0]
	if asked == nil {
		return nil
	}
	select {
	case x.filling <- struct{}{}:
		defer func() { <-x.filling }()
	case <-ctx.Done():
		return nil
	}
	x.of(e.Model())
	places := x.missing(len(x.docs))
	texts := make([]string, len(places))
	for i, at := range places {
		texts[i] = x.texts[at]
	}
	var vectors [][]float32
	if len(texts) > 0 {
		vectors = e.Kept(ctx, texts, false)
	}
	for i, v := range vectors {
		// Of another length it is of no use to this message.
		if len(v) == len(asked) && x.put(places[i:i+1], vectors[i:i+1]) != nil {
			return nil // nor are those from before
		}
	}
	return x.nearest(e.Model(), asked, keep)
}

// Fill embeds all tools, however long it takes, for those who measure.
func (x *Semantics) Fill(ctx context.Context) error {
	e, err := x.s.open(ctx)
	if err != nil {
		return err
	}
	return x.fill(ctx, e, func() bool { return true })
}

// fill embeds the tools that have no vector of e's model yet, a batch at a time
// as long as more says so. The error is a [*partError] when it got further, or
// another is at work, but not to the end.
func (x *Semantics) fill(ctx context.Context, e Embedder, more func() bool) error {
	if _, left := x.progress(e.Model()); left == 0 {
		return nil
	}
	select {
	case x.filling <- struct{}{}:
	case <-ctx.Done():
		return x.part(e)
	}
	defer func() { <-x.filling }()
	x.of(e.Model())
	got := 0
	for more() {
		places := x.missing(x.batch)
		if len(places) == 0 {
			return nil
		}
		texts := make([]string, len(places))
		for i, at := range places {
			texts[i] = x.texts[at]
		}
		begin := time.Now()
		vectors, err := e.Embed(ctx, texts, false)
		if err != nil {
			x.batch = max(x.batch/2, leastBatch)
			if ctx.Err() != nil && got > 0 {
				break
			}
			return err
		}
		if err := x.put(places, vectors); err != nil {
			return err
		}
		got += len(places)
		if time.Since(begin) < time.Second {
			x.batch = min(2*x.batch, mostBatch)
		}
	}
	return x.part(e)
}

// part says how far the tools are embedded, nil when all are. Who has none after
// all that time has to be left alone.
func (x *Semantics) part(e Embedder) error {
	switch have, left := x.progress(e.Model()); {
	case left == 0:
		return nil
	case have == 0:
		return context.DeadlineExceeded
	default:
		return &partError{have, have + left}
	}
}

// progress is how many tools have a vector of a model, and how many have none.
func (x *Semantics) progress(model string) (have, left int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.model != model {
		return 0, len(x.docs)
	}
	return len(x.docs) - x.left, x.left
}

// of begins anew for another model.
func (x *Semantics) of(model string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.model != model {
		x.reset(model)
	}
}

// missing is the next tools to be embedded, at most so many.
func (x *Semantics) missing(most int) (places []int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for i, have := range x.have {
		if !have && len(places) < most {
			places = append(places, i)
		}
	}
	return places
}

// put keeps the vectors of the tools at places.
func (x *Semantics) put(places []int, vectors [][]float32) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.length == 0 {
		x.length = len(vectors[0])
		x.vectors = make([]float32, len(x.docs)*x.length)
	}
	for i, at := range places {
		if len(vectors[i]) != x.length {
			return fmt.Errorf("%s gave a vector of %d numbers after those of %d", x.model, len(vectors[i]), x.length)
		}
		copy(x.vectors[at*x.length:], vectors[i])
		if !x.have[at] {
			x.have[at] = true
			x.left--
		}
	}
	return nil
}

// nearest are the tools closest to a vector of a model.
func (x *Semantics) nearest(model string, v []float32, keep func(int) bool) []Hit {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.model != model || len(v) != x.length {
		return nil
	}
	var hits []Hit
	for i := range x.docs {
		if !x.have[i] || keep != nil && !keep(i) {
			continue
		}
		if score := float64(dot(v, x.vectors[i*x.length:(i+1)*x.length])); score >= x.s.opts.MinSimilarity && score > 0 {
			hits = append(hits, Hit{Doc: i, Score: score})
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(x.docs[a.Doc].Name, x.docs[b.Doc].Name), cmp.Compare(a.Doc, b.Doc))
	})
	hits = hits[:min(len(hits), x.s.opts.TopK)]
	for i := range hits {
		hits[i].Reasons = []Reason{{Layer: ByMeaning, Score: hits[i].Score}}
	}
	return hits
}

// ByMeaning is the layer of what a [Semantic] found.
const ByMeaning = "meaning"

// dot is the cosine of two vectors of length 1, in sums that the processor works
// at side by side.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	for len(a) >= 8 {
		x, y := (*[8]float32)(a), (*[8]float32)(b)
		s0 += x[0]*y[0] + x[4]*y[4]
		s1 += x[1]*y[1] + x[5]*y[5]
		s2 += x[2]*y[2] + x[6]*y[6]
		s3 += x[3]*y[3] + x[7]*y[7]
		a, b = a[8:], b[8:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

// open returns what embeds.
func (s *Semantic) open(ctx context.Context) (Embedder, error) {
	s.mu.Lock()
	e := s.embedder
	s.mu.Unlock()
	if e != nil {
		return e, nil
	}
	e, err := s.opts.Open(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.embedder, s.last = e, e
	return e, nil
}

// before is what embedded before it failed, nil when nothing did.
func (s *Semantic) before() Embedder {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *Semantic) resting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.rests)
}

func (s *Semantic) worked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pause = 0
}

// told is what is told of tools that are not embedded yet, "" when it was lately.
func (s *Semantic) told(p *partError) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.tells) {
		return ""
	}
	s.tells = time.Now().Add(restFirst)
	return fmt.Sprintf("tools were looked for by meaning among %d of %d only: the others are not embedded yet", p.have, p.all)
}

// failed begins a rest and tells how long it is. Many that fail at once begin
// one.
func (s *Semantic) failed() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !time.Now().Before(s.rests) {
		s.pause = min(max(2*s.pause, restFirst), restMost)
		s.rests = time.Now().Add(s.pause)
	}
	s.embedder = nil
	return s.pause
}
