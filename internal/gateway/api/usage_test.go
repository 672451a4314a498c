package api

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/agent/budget"
)

// What model calls used is told to admins whole, and to others as far as they
// caused it.
func TestUsage(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	r.say("bob", "his", "hi")
	r.say("bob", "his", "again")
	r.say("ada", "hers", "hi")
	r.call("bob", "DELETE", "/api/sessions/alpha/his", nil, http.StatusNoContent, nil)
	read := func(who, query string) (rows []string, report budget.Report) {
		t.Helper()
		r.call(who, "GET", "/api/usage"+query, nil, http.StatusOK, &report)
		calls := 0
		for _, row := range report.Rows {
			rows = append(rows, row.Agent+row.Model+row.Person+" "+row.Session)
			calls += row.Calls
		}
		if report.More == 0 && calls != report.Total.Calls {
			t.Errorf("%s as %s: the rows have %d calls, the total %d", query, who, calls, report.Total.Calls)
		}
		return rows, report
	}
	_, all := read("ada", "")
	if all.Total.Calls != 3 || all.Total.USD == nil || len(all.Budgets) != 1 || all.Rows[0].Day == "" || all.Rows[0].Model != "fake/m" {
		t.Errorf("an admin is told %+v", all)
	}
	_, own := read("bob", "")
	if own.Total.Calls != 2 || own.Budgets != nil {
		t.Errorf("bob is told %+v", own)
	}
	// Of a session of theirs people are told what is left of its own budget.
	r.say("bob", "more", "hi")
	if _, own := read("bob", "?agent=main&session=more"); len(own.Budgets) != 1 || own.Budgets[0].Scope != budget.PerSession {
		t.Errorf("of his session bob is told %+v", own.Budgets)
	}
	for who, query := range map[string]string{"bob": "?agent=main&session=hers", "eve": "?agent=main&session=more"} {
		if _, others := read(who, query); len(others.Budgets) != 0 {
			t.Errorf("of somebody else's session %s is told %+v", who, others.Budgets)
		}
	}
	r.call("bob", "DELETE", "/api/sessions/alpha/more", nil, http.StatusNoContent, nil)
	for query, want := range map[string][]string{
		"?by=person":           {"bob ", "ada "},
		"?by=person&limit=1":   {"bob "},
		"?by=session":          {"alpha ", "alpha hers"},
		"?by=model&person=ada": {"fake/m "},
		"?by=model&agent=main": {"fake/m "},
		"?by=agent&agent=main&session=hers&zone=UTC": {"alpha "},
		"?by=agent&model=fake&since=1d&until=0h":     {"alpha "},
		"?by=agent&model=fake/other":                 nil,
		"?by=agent&agent=gone":                       nil,
		"?by=agent&until=2020-01-01":                 nil,
	} {
		if rows, _ := read("ada", query); !cmp.Equal(rows, want) {
			t.Errorf("%s tells %q, want %q", query, rows, want)
		}
	}
	if rows, _ := read("bob", "?by=person&person=bob"); !cmp.Equal(rows, []string{"bob "}) {
		t.Errorf("bob's own are %q", rows)
	}
	r.refused("bob", "GET", "/api/usage?person=ada", nil, http.StatusForbidden, "forbidden", "only an admin")
	for query, words := range map[string]string{
		"?by=hour": "there are day, agent", "?limit=0": "a number", "?since=soon": "how long ago", "?until=2999-01-01T00:00": "a date", "?zone=Nowhere/None": "time zone", "?agent=a%20b": "agent name",
	} {
		r.refused("ada", "GET", "/api/usage"+query, nil, http.StatusBadRequest, "bad_request", words)
	}
}
