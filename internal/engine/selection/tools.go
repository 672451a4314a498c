package selection

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/lib/nearest"
	"github.com/goclaw/goclaw/internal/tool"
)

//go:embed search_tools.md
var searchText string

// Bounds on what one search shows.
const (
	searchLimit  = 5    // tools, unless the call says otherwise
	maxWithheld  = 3    // tools that the caller's role keeps away
	maxSchemas   = 3    // tools whose parameters are shown
	maxSchema    = 3000 // bytes of those of one tool
	maxLine      = 200  // characters of what a tool is for
	maxKinds     = 20   // kinds of tools that are named when nothing fits
	maxSuggested = 5    // names that are proposed for one that isn't there
)

type searchIn struct {
	Query string `json:"query" min:"1" max:"500"`
	Limit int    `json:"limit,omitempty" min:"0" max:"20"`
}

// Tools returns the tools of this room: search_tools. catalog is what they
// search, as far as the caller may use it.
func (s *Selector) Tools(catalog func() *tool.Catalog) []tool.Tool {
	return []tool.Tool{tool.New(tool.Definition{
		Name: SearchTools, Description: strings.TrimSpace(searchText),
		Traits: tool.Traits{Category: "sessions", ReadOnly: true, DirectOnly: true, Finder: true, Tags: []string{"find", "discover", "capability"}},
	}, func(_ context.Context, call tool.Call, in searchIn) (tool.Result, error) {
		q := s.search(catalog(), call, in.Query, in.Limit)
		if q.limit == 0 {
			q.limit = searchLimit
		}
		return q.run(), nil
	})}
}

// Search finds at most most tools for query among those of catalog that call
// may use, as search_tools does.
func (s *Selector) Search(catalog *tool.Catalog, call tool.Call, query string, most int) tool.Found {
	return s.search(catalog, call, query, most).found()
}

// search is one call of search_tools.
type search struct {
	*Selector
	call    tool.Call
	catalog *tool.Catalog
	query   string
	limit   int
	may     map[string]*tool.Definition // what it may come upon
}

func (s *Selector) search(catalog *tool.Catalog, call tool.Call, query string, limit int) *search {
	q := &search{Selector: s, call: call, catalog: catalog, query: query, limit: limit, may: map[string]*tool.Definition{}}
	permitted := call.Host.Permitted()
	for i := range permitted {
		if d := &permitted[i]; q.finds(d) {
			q.may[d.Name] = d
		}
	}
	return q
}

// found is what the search comes upon.
func (q *search) found() tool.Found {
	hits := q.rank(q.limit, func(name string) bool { return q.may[name] != nil })
	if len(hits) == 0 {
		for _, name := range nearest.Names(q.query, keys(q.may), min(q.limit, maxSuggested)) {
			hits = append(hits, tool.Match{Name: name, Reasons: []string{"its name is close"}})
		}
	}
	kept := map[string]tool.Removal{}
	for _, r := range q.call.Host.Withheld() {
		if e, ok := q.catalog.Find(r.Tool); ok && q.finds(&e.Def) && Hidden(e) == "" {
			kept[r.Tool] = r
		}
	}
	f := tool.Found{Tools: hits}
	for _, h := range q.rank(maxWithheld, func(name string) bool { _, ok := kept[name]; return ok }) {
		f.Withheld = append(f.Withheld, kept[h.Name])
	}
	shown := q.call.State.Tools
	if ownList(q.call.Scope.Origin()) {
		shown = q.call.State.Own
	}
	for i, h := range f.Tools {
		f.Tools[i].Offered = slices.Contains(shown, h.Name)
	}
	return f
}

// run is what search_tools answers: what it found joins what the model is shown.
func (q *search) run() tool.Result {
	f := q.found()
	var effects []tool.Effect
	for _, h := range f.Tools {
		if !h.Offered {
			effects = append(effects, tool.Effect{Kind: tool.ToolAdded, Key: h.Name})
		}
	}
	r := tool.TextResult(q.text(f))
	r.Details, r.Effects = f, effects
	return r
}

// finds reports whether a search may come upon a tool.
func (q *search) finds(d *tool.Definition) bool {
	return !d.DirectOnly && (d.Name != ExitPlanMode || q.call.State.Plan)
}

// rank lists the tools of the catalog that fit the query and keep admits.
func (q *search) rank(most int, keep func(name string) bool) []tool.Match {
	var list []tool.Match
	hits := q.indexOf(q.catalog).index.Rank(q.query, func(doc int) bool { return keep(q.catalog.Entries[doc].Def.Name) }, most)
	for _, h := range hits {
		list = append(list, tool.Match{Name: q.catalog.Entries[h.Doc].Def.Name, Score: h.Score, Reasons: phrases(h.Reasons)})
	}
	return list
}

// text is what the model is told.
func (q *search) text(f tool.Found) string {
	var b strings.Builder
	switch {
	case len(f.Tools) > 0:
		fmt.Fprintf(&b, "Found for %q, best first; all of them can be called from your next step on:\n", q.query)
	case len(f.Withheld) > 0:
		fmt.Fprintf(&b, "No tool that you may use fits %q.\n", q.query)
	default:
		fmt.Fprintf(&b, "No tool fits %q. Try other words for what is to be done; when none fits either, no tool can do it.\n%s", q.query, q.kinds())
	}
	for i, t := range f.Tools {
		d := q.may[t.Name]
		fmt.Fprintf(&b, "\n%s: %s\n", t.Name, line(d.Description))
		if t.Offered {
			b.WriteString("  was shown to you already\n")
		}
		if len(t.Reasons) > 0 {
			fmt.Fprintf(&b, "  matched by %s\n", strings.Join(t.Reasons, "; "))
		}
		if i < maxSchemas {
			schema(&b, "parameters", d.Parameters)
			schema(&b, "details of its result", d.Output)
		}
	}
	if len(f.Withheld) > 0 {
		b.WriteString("\nNot for you:\n")
	}
	for _, r := range f.Withheld {
		fmt.Fprintf(&b, "- %s.\n", r.Reason)
	}
	return strings.TrimSpace(b.String())
}

func schema(b *strings.Builder, what string, raw []byte) {
	switch {
	case len(raw) == 0:
	case len(raw) > maxSchema:
		fmt.Fprintf(b, "  %s: too long to show here\n", what)
	default:
		fmt.Fprintf(b, "  %s: %s\n", what, raw)
	}
}

// kinds says what there are tools for at all.
func (q *search) kinds() string {
	count := map[string]int{}
	for _, e := range q.catalog.Entries {
		d := q.may[e.Def.Name]
		switch {
		case d == nil || d.Internal:
		case e.Owner.Selector() != "":
			count[e.Owner.ID]++
		case d.Category != "":
			count[d.Category]++
		default:
			count[e.Owner.String()]++
		}
	}
	if len(count) == 0 {
		return "There are no tools besides those you see."
	}
	names := keys(count)
	rest := ""
	if len(names) > maxKinds {
		names, rest = names[:maxKinds], fmt.Sprintf(" and %d more kinds", len(names)-maxKinds)
	}
	for i, n := range names {
		names[i] = fmt.Sprintf("%s (%d)", n, count[n])
	}
	return "There are tools of these kinds: " + strings.Join(names, ", ") + rest + "."
}

func keys[V any](m map[string]V) []string {
	list := make([]string, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// line is the first line of what a tool is for.
func line(description string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(description), "\n")
	if r := []rune(first); len(r) > maxLine {
		return string(r[:maxLine]) + "…"
	}
	return first
}
