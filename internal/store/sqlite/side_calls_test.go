package sqlite_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/agent/session/sessiontest"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/store/sqlite"
	"github.com/goclaw/goclaw/internal/tool"
)

// A call that no model wrote is there from before it runs; its end, or that of the
// process, takes the place of that.
func TestCallsThatRunAreKnown(t *testing.T) {
	t.Parallel()
	s := fresh(t).Sessions()
	open := func(by, root, parent, name string) {
		t.Helper()
		o := made(name, "", 1)
		o.Ended, o.Refusal = time.Time{}, nil
		if err := s.OpenCall(t.Context(), engine.SideCall{Outcome: o, By: by, Root: root, Parent: parent, Agent: "main", Session: "s", Caller: "bob"}); err != nil {
			t.Fatal(err)
		}
	}
	count := func(name string) (n int) {
		t.Helper()
		if err := s.EachCall(t.Context(), engine.CallQuery{Agent: "main", Tool: name}, time.Time{}, func(engine.CallFact) { n++ }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	status := func(name string) string {
		t.Helper()
		c, ok, err := s.LastCall(t.Context(), engine.CallQuery{Agent: "main", Tool: name, Caller: "bob"})
		if err != nil || !ok {
			return fmt.Sprint(ok, err)
		}
		return fmt.Sprint(c.Hand, " ", c.Status, " ", c.Ended.IsZero())
	}
	open("p1", "h1", "", "file_delete")
	open("p2", "h2", "", "tool_code")
	for range 250 {
		open("p2", "h2", "tool_code", "file_write")
	}
	if got := status("file_delete"); got != "bob  true" || count("file_delete") != 0 {
		t.Errorf("a call that runs: %s, counted %d", got, count("file_delete"))
	}
	if by, err := s.OpenBy(t.Context()); err != nil || strings.Join(by, " ") != "p1 p2" {
		t.Errorf("open by %v, %v", by, err)
	}
	ended := made("file_delete", tool.OK, 2)
	ended.Call.ID = "h1"
	if err := s.KeepCall(t.Context(), engine.SideCall{Outcome: ended, Agent: "main", Session: "s", Caller: "bob"}); err != nil {
		t.Fatal(err)
	}
	if got := status("file_delete"); got != "bob ok false" || count("file_delete") != 1 {
		t.Errorf("one that ended: %s, counted %d", got, count("file_delete"))
	}
	if n, err := s.InterruptCalls(t.Context(), "p2", sessiontest.Start.Add(time.Hour)); err != nil || n != 201 {
		t.Errorf("%d are closed, %v", n, err)
	}
	if got := status("file_write"); got != "bob interrupted false" || count("file_write") != 200 {
		t.Errorf("one whose process died: %s, counted %d", got, count("file_write"))
	}
	if by, err := s.OpenBy(t.Context()); err != nil || len(by) != 0 {
		t.Errorf("open by %v, %v", by, err)
	}
}

// What is asked for of calls that no model wrote is found by an index, however
// many of a tool there are.
func TestSideCallsAreFoundByAnIndex(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r := raw(t, path, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 3000)"+
		" INSERT INTO side_calls (agent, session, caller, copied, parent, tool, status, started, ended, body)"+
		" SELECT 'main', 's'||(i%50), 'c'||(i%20), 0, 'tool_code', 't'||(i%3), 'ok', i, i, '{}' FROM n")
	const newest = " ORDER BY started DESC, id DESC LIMIT 1"
	for query, index := range map[string]string{
		"SELECT body FROM side_calls WHERE agent = 'main' AND NOT copied AND tool = 't1'" + newest:                            "side_calls_tool",
		"SELECT body FROM side_calls WHERE agent = 'main' AND NOT copied AND caller = 'nobody' AND tool = 't1'" + newest:      "side_calls_caller",
		"SELECT body FROM side_calls WHERE agent = 'main' AND session = 's1' AND tool = 't1'" + newest:                        "side_calls_session",
		"SELECT body FROM side_calls WHERE agent = 'main' AND NOT copied AND tool = 't1' AND started >= 5 ORDER BY started":   "side_calls_tool",
		"SELECT id FROM side_calls WHERE call IS NULL AND agent = 'main' AND tool = 't1' ORDER BY id DESC LIMIT 1 OFFSET 500": "side_calls_hand",
		"DELETE FROM side_calls WHERE agent = 'main' AND session = 's1'":                                                      "side_calls_session",
		"SELECT DISTINCT open FROM side_calls WHERE open IS NOT NULL":                                                         "side_calls_open",
		"DELETE FROM side_calls WHERE open = 'p' AND root = 'h' AND parent <> ''":                                             "side_calls_open",
		"SELECT count(x.open) FROM calls c LEFT JOIN side_calls x ON x.call = c.id WHERE c.round = 1 AND c.idx = 0":           "side_calls_call",
	} {
		rows, err := r.Query("EXPLAIN QUERY PLAN " + query)
		if err != nil {
			t.Fatal(err)
		}
		var plan []string
		for rows.Next() {
			var id, parent, zero int
			var detail string
			if err := rows.Scan(&id, &parent, &zero, &detail); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, detail)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(plan, "; "); !strings.Contains(got, index+" (") && !strings.Contains(got, "INDEX "+index) || strings.Contains(got, "TEMP B-TREE") {
			t.Errorf("%s\nis found by %s, want %s", query, got, index)
		}
	}
}
