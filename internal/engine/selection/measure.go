package selection

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// Query is a labelled request: what a person wrote and the tools it needs.
type Query struct {
	Text  string   `json:"query"`
	Tools []string `json:"tools"` // none: the request needs no tool
}

// Depths are the numbers of tools at which recall is told.
var Depths = [...]int{1, 3, 5, 12, 20}

// Figures measure rankings of requests that need at least one tool.
type Figures struct {
	Queries int `json:"queries"`
	// Recall tells, for each of Depths, which share of the needed tools was
	// among the first so many, averaged over the requests.
	Recall map[int]float64 `json:"recall"`
	// Offered is the same for the tools that a request is offered.
	Offered float64 `json:"recall_offered"`
	// MRR is the mean of 1 / the place of the first needed tool.
	MRR float64 `json:"mrr"`
}

// Report is how well a ranking finds the tools that requests need. Its own
// figures are of all requests.
type Report struct {
	Figures
	Single  Figures `json:"single"`  // of requests that need one tool
	Several Figures `json:"several"` // of requests that need more

	// None is of requests that need no tool: how many there are, and how many
	// tools such a request is offered, on average.
	None struct {
		Queries int     `json:"queries"`
		Offered float64 `json:"offered"`
	} `json:"none"`

	Time Milliseconds `json:"ms_per_query"` // that ranking took, on average
	// Missed are the requests that were not offered a tool that they need, in
	// their order.
	Missed []Miss `json:"missed"`
}

// Milliseconds is a time that is written as a number of milliseconds.
type Milliseconds time.Duration

// MarshalJSON implements [json.Marshaler].
func (m Milliseconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(float64(m) / float64(time.Millisecond))
}

// Miss is a request that was not offered a tool that it needs.
type Miss struct {
	Query  string   `json:"query"`
	Needed []string `json:"needed"`
	Missed []string `json:"missed"`
}

// Ranking is what is made of one message.
type Ranking struct {
	Names   []string // of tools, the best first
	Offered []string // what the request is offered
}

// Measure asks rank about each query and compares. A ranking should be as deep
// as the last of Depths. It ends with the first error of rank, and with ctx.
func Measure(ctx context.Context, queries []Query, rank func(ctx context.Context, message string) (Ranking, error)) (Report, error) {
	r := Report{Missed: []Miss{}}
	var spent time.Duration
	for _, q := range queries {
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
		start := time.Now()
		got, err := rank(ctx, q.Text)
		if err != nil {
			return Report{}, err
		}
		spent += time.Since(start)
		r.add(q, got)
	}
	r.settle()
	r.Single.settle()
	r.Several.settle()
	r.None.Offered /= float64(max(r.None.Queries, 1))
	r.Time = Milliseconds(spent / time.Duration(max(len(queries), 1)))
	return r, nil
}

func (r *Report) add(q Query, got Ranking) {
	switch len(q.Tools) {
	case 0:
		r.None.Queries++
		r.None.Offered += float64(len(got.Offered))
		return
	case 1:
		r.Single.add(q, got)
	default:
		r.Several.add(q, got)
	}
	r.Figures.add(q, got)
	missed := slices.DeleteFunc(slices.Clone(q.Tools), func(t string) bool { return slices.Contains(got.Offered, t) })
	if len(missed) > 0 {
		r.Missed = append(r.Missed, Miss{q.Text, q.Tools, missed})
	}
}

// add sums; settle divides.
func (f *Figures) add(q Query, got Ranking) {
	if f.Recall == nil {
		f.Recall = map[int]float64{}
	}
	f.Queries++
	share := func(names []string) float64 {
		found := 0
		for _, t := range q.Tools {
			if slices.Contains(names, t) {
				found++
			}
		}
		return float64(found) / float64(len(q.Tools))
	}
	for _, k := range Depths {
		f.Recall[k] += share(got.Names[:min(len(got.Names), k)])
	}
	f.Offered += share(got.Offered)
	if i := slices.IndexFunc(got.Names, func(n string) bool { return slices.Contains(q.Tools, n) }); i >= 0 {
		f.MRR += 1 / float64(i+1)
	}
}

func (f *Figures) settle() {
	n := float64(max(f.Queries, 1))
	for k := range f.Recall {
		f.Recall[k] /= n
	}
	f.Offered /= n
	f.MRR /= n
}

// Meter ranks by one index for [Measure].
type Meter struct {
	docs  []Doc
	index *Index
	topK  int
	means *Semantics
}

// NewMeter ranks docs as a request for topK tools does; with semantic, if it is
// not nil, also by meaning, for which all docs are embedded first.
func NewMeter(ctx context.Context, docs []Doc, topK int, semantic *Semantic) (*Meter, error) {
	m := &Meter{docs: docs, index: NewIndex(docs), topK: topK}
	if semantic != nil {
		m.means = semantic.Of(docs)
		if err := m.means.Fill(ctx); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Rank ranks: what words find up to topK, what meaning adds, then what words
// find beyond.
func (m *Meter) Rank(ctx context.Context, message string) (Ranking, error) {
	hits := m.index.Rank(message, nil, max(m.topK, Depths[len(Depths)-1]))
	picked := hits[:min(len(hits), m.topK)]
	var got Ranking
	seen := map[int]bool{}
	take := func(hits []Hit) {
		for _, h := range hits {
			if !seen[h.Doc] {
				seen[h.Doc] = true
				got.Names = append(got.Names, m.docs[h.Doc].Name)
			}
		}
	}
	take(picked)
	if m.means != nil {
		added, notice := m.means.Rank(ctx, message, func(doc int) bool { return !seen[doc] })
		if notice != "" {
			return got, errors.New(notice)
		}
		take(added)
	}
	got.Offered = got.Names
	take(hits[len(picked):])
	return got, nil
}
