package budget

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
)

// Ledger keeps what each model call used. It is entered by the store of
// sessions with the round or the end of the turn that the call belongs to. It
// is safe for concurrent use, by several processes too.
type Ledger interface {
	// Sum adds up what q chooses, by what q.By names: one row for each
	// combination that occurs, in any order, and none where there is nothing.
	// Days are told by [Row.At], a time within each part of them. Limit is of no
	// interest here.
	Sum(ctx context.Context, q Query) ([]Row, error)
	// Session is what a session used: what calls used that nobody counted is
	// guessed. What a fork began with was used elsewhere.
	Session(ctx context.Context, agent, id string) (Amount, error)
	// Behind adds up, by day and run and as Session does, what was entered
	// behind the entry numbered so (0 is before all) and happened from a time on.
	// last is the number of the last of these entries, or entry.
	Behind(ctx context.Context, entry int64, from time.Time) (days []RunDay, last int64, err error)
	// Enter enters a call that was made for an agent, by a caller's id, and belongs
	// to no run and no session: such as one that embeds.
	Enter(ctx context.Context, agentID, person string, s agent.Spent) error
}

// RunDay is what a run of an agent used on a day.
type RunDay struct {
	Day   time.Time // when it began, in UTC
	Agent string
	Run   string
	Calls int
	Used  Amount
}

// By is what a report adds up by.
type By string

const (
	ByDay     By = "day"
	ByAgent   By = "agent"
	ByModel   By = "model"
	ByPerson  By = "person"
	BySession By = "session"
	ByRun     By = "run"
)

// Bys are all that a report can be by.
var Bys = []By{ByDay, ByAgent, ByModel, ByPerson, BySession, ByRun}

// Query chooses model calls and says how they are added up. A zero field
// chooses all.
type Query struct {
	By           []By
	Since, Until time.Time // Until itself is left out
	Agent        string
	Session      string // its id
	Person       string // the caller's id
	Model        string // provider or provider/model
	Run          string
	// Zone is whose days count; UTC when nil.
	Zone *time.Location
	// Limit is how many rows are told; all when 0.
	Limit int
}

// Row is what some calls used. Of the first fields those are set that the report
// is by.
type Row struct {
	Day     string `json:"day,omitempty"` // 2026-12-31
	Agent   string `json:"agent,omitempty"`
	Model   string `json:"model,omitempty"` // provider/model
	Person  string `json:"person,omitempty"`
	Session string `json:"session,omitempty"` // empty for one that was deleted, and for calls of none
	Run     string `json:"run,omitempty"`     // empty for calls of none, such as those that embed

	Calls int       `json:"calls"`
	Usage llm.Usage `json:"usage"`
	// USD is what they cost, nil when that is unknown of one of them; Known is
	// the sum without those.
	USD       *float64 `json:"usd,omitempty"`
	Known     float64  `json:"known_usd"`
	Unpriced  int      `json:"unpriced,omitempty"`  // calls whose cost is unknown
	Uncounted int      `json:"uncounted,omitempty"` // calls of which the provider said no tokens

	At time.Time `json:"-"` // within the day
}

// add adds what o has.
func (r *Row) add(o Row) {
	r.Calls += o.Calls
	r.Usage = r.Usage.Add(o.Usage)
	r.Known += o.Known
	r.Unpriced += o.Unpriced
	r.Uncounted += o.Uncounted
}

// settle fills in USD.
func (r *Row) settle() {
	if r.USD = nil; r.Unpriced == 0 {
		usd := r.Known
		r.USD = &usd
	}
}

// Report is what model calls used, added up.
type Report struct {
	By    []By      `json:"by"`
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	Zone  string    `json:"zone"` // its name, or how far it is from UTC now, as +01:00
	Rows  []Row     `json:"rows"`
	// More is how many rows are left out, those that cost least.
	More  int `json:"more,omitempty"`
	Total Row `json:"total"` // of all rows
	// Unpriced are the models of which calls have an unknown cost.
	Unpriced []Unpriced `json:"unpriced,omitempty"`
	// Budgets tell how it stands with limits; nil for those who may not see it.
	Budgets []Standing `json:"budgets,omitempty"`
}

// HideShared leaves out how it stands with the limits that all share, which is
// told to admins alone.
func (r *Report) HideShared() {
	r.Budgets = slices.DeleteFunc(r.Budgets, func(s Standing) bool { return s.Scope != PerSession })
}

// Unpriced is a model of which calls have an unknown cost.
type Unpriced struct {
	Model string `json:"model"`
	Calls int    `json:"calls"`
	// Priced says that its price is known now.
	Priced bool `json:"priced,omitempty"`
}

// Advice says why the cost is unknown, and what to do if that can be helped.
func (u Unpriced) Advice() string {
	if u.Priced {
		return "the price was unknown then, or the provider told no tokens"
	}
	provider, model, _ := strings.Cut(u.Model, "/")
	return "the price is unknown: " + howToPrice(llm.Target{Provider: provider, Model: model})
}

// zoneName names a zone for those who are elsewhere.
func zoneName(zone *time.Location) string {
	if zone != time.Local {
		return zone.String()
	}
	if name, offset := time.Now().Zone(); name == "UTC" && offset == 0 {
		return name
	}
	return time.Now().Format("-07:00")
}

// Make adds up what l holds. Days come in their order, and what belongs to one
// comes by what it cost.
func Make(ctx context.Context, l Ledger, q Query) (Report, error) {
	if q.Zone == nil {
		q.Zone = time.UTC
	}
	out := Report{By: q.By, Since: q.Since, Until: q.Until, Zone: zoneName(q.Zone), Rows: []Row{}}
	parts, err := l.Sum(ctx, q)
	if err != nil {
		return out, fmt.Errorf("add up what was used: %w", err)
	}
	byKey := map[Row]*Row{}
	for _, p := range parts {
		out.Total.add(p)
		key := Row{Agent: p.Agent, Model: p.Model, Person: p.Person, Session: p.Session, Run: p.Run}
		if slices.Contains(q.By, ByDay) {
			key.Day = p.At.In(q.Zone).Format(time.DateOnly)
		}
		if byKey[key] == nil {
			row := key
			byKey[key] = &row
		}
		byKey[key].add(p)
	}
	for _, r := range byKey {
		r.settle()
		out.Rows = append(out.Rows, *r)
	}
	out.Total.settle()
	slices.SortFunc(out.Rows, compare)
	if q.Limit > 0 && len(out.Rows) > q.Limit {
		out.cut(q.Limit)
	}
	if out.Total.Unpriced == 0 {
		return out, nil
	}
	q.By = []By{ByModel}
	models, err := l.Sum(ctx, q)
	if err != nil {
		return out, fmt.Errorf("add up what has no price: %w", err)
	}
	for _, m := range models {
		if m.Unpriced > 0 {
			out.Unpriced = append(out.Unpriced, Unpriced{Model: m.Model, Calls: m.Unpriced})
		}
	}
	slices.SortFunc(out.Unpriced, func(a, b Unpriced) int { return strings.Compare(a.Model, b.Model) })
	return out, nil
}

// compare orders rows by day, and within one by what they cost, most first.
func compare(a, b Row) int {
	return cmp.Or(strings.Compare(a.Day, b.Day), dearer(a, b),
		strings.Compare(a.Agent+"\x00"+a.Model+"\x00"+a.Person+"\x00"+a.Session+"\x00"+a.Run, b.Agent+"\x00"+b.Model+"\x00"+b.Person+"\x00"+b.Session+"\x00"+b.Run))
}

func dearer(a, b Row) int {
	return cmp.Or(cmp.Compare(b.Known, a.Known), cmp.Compare(b.Usage.Input+b.Usage.Output, a.Usage.Input+a.Usage.Output))
}

// cut leaves the n rows that cost most, in their order.
func (r *Report) cut(n int) {
	byCost := slices.Clone(r.Rows)
	slices.SortStableFunc(byCost, dearer)
	r.More = len(r.Rows) - n
	r.Rows = byCost[:n]
	slices.SortFunc(r.Rows, compare)
}

const (
	// maxRows is the most that a report holds for whom sets no limit.
	maxRows = 1000
	// defaultDays is how many days a report is of when nobody says since when.
	defaultDays = 30
)

// Parse reads a query as people write it, each field under its name: by (several
// with commas; day,model when empty), since and until (a date, a time, or how long
// ago: 7d, 12h; a date as until includes that day; the last 30 days when neither
// is said), agent, session, person, model, run, zone, limit (1000 when empty).
// local is the zone when none is named. The error says what is wrong with it.
func Parse(get func(name string) string, now time.Time, local *time.Location) (Query, error) {
	q := Query{Agent: get("agent"), Session: get("session"), Person: get("person"), Model: get("model"), Run: get("run"), Zone: local}
	bad := func(name, format string, args ...any) (Query, error) {
		return Query{}, fmt.Errorf("%s is %q: %s", name, get(name), fmt.Sprintf(format, args...))
	}
	if name := get("zone"); name != "" {
		zone, err := time.LoadLocation(name)
		if err != nil {
			return bad("zone", "no such time zone is known here, as in Europe/Berlin or UTC")
		}
		q.Zone = zone
	}
	for b := range strings.SplitSeq(cmp.Or(get("by"), "day,model"), ",") {
		by := By(strings.TrimSpace(b))
		if !slices.Contains(Bys, by) {
			return bad("by", "there are %s", joined(Bys))
		}
		if !slices.Contains(q.By, by) {
			q.By = append(q.By, by)
		}
	}
	var ok bool
	if q.Since, ok = instant(get("since"), now, q.Zone, 0); !ok {
		return bad("since", "it is a date as 2026-12-31, a time as 2026-12-31T08:00:00Z, or how long ago, as 7d or 12h")
	}
	if q.Until, ok = instant(get("until"), now, q.Zone, 1); !ok {
		return bad("until", "it is a date as 2026-12-31, a time as 2026-12-31T08:00:00Z, or how long ago, as 7d or 12h")
	}
	if get("since") == "" && q.Until.IsZero() && q.Session == "" && q.Run == "" {
		y, m, d := now.In(q.Zone).Date()
		q.Since = time.Date(y, m, d-defaultDays+1, 0, 0, 0, 0, q.Zone)
	}
	q.Limit = maxRows
	if text := get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxRows {
			return bad("limit", "it is a number from 1 to %d", maxRows)
		}
		q.Limit = n
	}
	return q, nil
}

func joined(list []By) string {
	var names []string
	for _, b := range list {
		names = append(names, string(b))
	}
	return strings.Join(names, ", ")
}

// instant reads a time; empty is none. A date is its beginning, or that of a
// day some days behind it.
func instant(text string, now time.Time, zone *time.Location, behind int) (time.Time, bool) {
	if text == "" {
		return time.Time{}, true
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		return day.AddDate(0, 0, behind), true
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, true
	}
	for unit, days := range map[string]int{"d": 1, "w": 7} {
		if n, err := strconv.Atoi(strings.TrimSuffix(text, unit)); err == nil && n >= 0 && n <= 36500 && strings.HasSuffix(text, unit) {
			return now.AddDate(0, 0, -n*days), true
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), true
	}
	return time.Time{}, false
}
