package selection

import (
	"context"
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
	// among the first so many, averaged over the requests; AtTopK the same for
	// as many as are offered.
	Recall map[int]float64 `json:"recall"`
	AtTopK float64         `json:"recall_at_top_k"`
	// MRR is the mean of 1 / the place of the first needed tool.
	MRR float64 `json:"mrr"`
}

// Report is how well a ranking finds the tools that requests need.
type Report struct {
	Tools int `json:"tools"`
	TopK  int `json:"top_k"`

	All     Figures `json:"all"`
	Single  Figures `json:"single"`  // of requests that need one tool
	Several Figures `json:"several"` // of requests that need more

	// None is of requests that need no tool: how many there are, and how many
	// tools such a request is offered, on average.
	None struct {
		Queries int     `json:"queries"`
		Picked  float64 `json:"picked"`
	} `json:"none"`

	// Time is how long ranking one request took, on average.
	Time time.Duration `json:"time_per_query_ns"`
	// Missed are the requests of which a needed tool was not among the first
	// TopK, in their order.
	Missed []Miss `json:"missed,omitempty"`
}

// Miss is a request that was not offered a tool that it needs.
type Miss struct {
	Query  string   `json:"query"`
	Needed []string `json:"needed"`
	Missed []string `json:"missed"`
}

// Measure asks rank for the names of the tools for each query, best first and
// at most k of them, and compares. It ends with the first error of rank.
func Measure(ctx context.Context, queries []Query, topK int, rank func(ctx context.Context, message string, k int) ([]string, error)) (Report, error) {
	r := Report{TopK: topK}
	depth := max(topK, Depths[len(Depths)-1])
	var spent time.Duration
	for _, q := range queries {
		start := time.Now()
		names, err := rank(ctx, q.Text, depth)
		if err != nil {
			return Report{}, err
		}
		spent += time.Since(start)
		r.add(q, names)
	}
	r.All.settle()
	r.Single.settle()
	r.Several.settle()
	if r.None.Queries > 0 {
		r.None.Picked /= float64(r.None.Queries)
	}
	if len(queries) > 0 {
		r.Time = spent / time.Duration(len(queries))
	}
	return r, nil
}

func (r *Report) add(q Query, names []string) {
	switch len(q.Tools) {
	case 0:
		r.None.Queries++
		r.None.Picked += float64(min(len(names), r.TopK))
		return
	case 1:
		r.Single.add(q, names, r.TopK)
	default:
		r.Several.add(q, names, r.TopK)
	}
	r.All.add(q, names, r.TopK)
	offered := names[:min(len(names), r.TopK)]
	var missed []string
	for _, t := range q.Tools {
		if !slices.Contains(offered, t) {
			missed = append(missed, t)
		}
	}
	if missed != nil {
		r.Missed = append(r.Missed, Miss{q.Text, q.Tools, missed})
	}
}

// add sums; settle divides.
func (f *Figures) add(q Query, names []string, topK int) {
	if f.Recall == nil {
		f.Recall = map[int]float64{}
	}
	f.Queries++
	share := func(k int) float64 {
		found := 0
		for _, t := range q.Tools {
			if slices.Contains(names[:min(len(names), k)], t) {
				found++
			}
		}
		return float64(found) / float64(len(q.Tools))
	}
	for _, k := range Depths {
		f.Recall[k] += share(k)
	}
	f.AtTopK += share(topK)
	if i := slices.IndexFunc(names, func(n string) bool { return slices.Contains(q.Tools, n) }); i >= 0 {
		f.MRR += 1 / float64(i+1)
	}
}

func (f *Figures) settle() {
	if f.Queries == 0 {
		return
	}
	n := float64(f.Queries)
	for k := range f.Recall {
		f.Recall[k] /= n
	}
	f.AtTopK /= n
	f.MRR /= n
}
