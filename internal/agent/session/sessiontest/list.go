package sessiontest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

func testList(t *testing.T, s session.Store) {
	ctx := t.Context()
	names := func(f session.Filter) (ids []string) {
		t.Helper()
		for {
			list, next, err := s.Sessions(ctx, f)
			must(t, err)
			for _, one := range list {
				ids = append(ids, one.Key.String())
			}
			if f.Limit > 0 && len(list) > f.Limit || next != "" && len(list) != f.Limit {
				t.Fatalf("a page of %d with limit %d and next %q", len(list), f.Limit, next)
			}
			if f.After = next; next == "" {
				return ids
			}
		}
	}
	equal(t, "empty", names(session.Filter{}), []string(nil))
	for i := range 5 {
		turn := turnOf(fmt.Sprint("run", i), "hi", 10*(i/2)) // some at the same time
		k := session.Key{Agent: "main", ID: fmt.Sprint("s", i)}
		if i == 3 {
			k.Agent, turn.Origin, turn.Caller = "helper", tool.FromCron, auth.Principal{ID: "cron", Role: auth.System}
		}
		value(s.Begin(ctx, k, turn, "t"))(t)
	}
	all := []string{"main/s4", "helper/s3", "main/s2", "main/s1", "main/s0"}
	equal(t, "all", names(session.Filter{}), all)
	for limit := 1; limit <= 6; limit++ {
		equal(t, fmt.Sprint("pages of ", limit), names(session.Filter{Limit: limit}), all)
	}
	equal(t, "agent", names(session.Filter{Agent: "main", Limit: 2}), []string{"main/s4", "main/s2", "main/s1", "main/s0"})
	equal(t, "id", names(session.Filter{ID: "s1"}), []string{"main/s1"})
	equal(t, "origin", names(session.Filter{Origin: tool.FromCron}), []string{"helper/s3"})
	equal(t, "caller", names(session.Filter{Caller: "cron"}), []string{"helper/s3"})
	equal(t, "since", names(session.Filter{Since: at(20)}), []string{"main/s4"})
	if _, _, err := s.Sessions(ctx, session.Filter{After: "nonsense"}); !errors.Is(err, session.ErrCursor) {
		t.Errorf("what is no cursor of a list of sessions: %v", err)
	}
	if _, _, err := s.Runs(ctx, session.RunFilter{After: "nonsense"}); !errors.Is(err, session.ErrCursor) {
		t.Errorf("what is no cursor of a list of runs: %v", err)
	}

	value(s.Begin(ctx, session.Key{Agent: "main", ID: "s0"}, turnOf("later", "hi", 99), "t"))(t)
	equal(t, "after an update", names(session.Filter{Limit: 1})[0], "main/s0")
}

func testTitles(t *testing.T, s session.Store) {
	ctx := t.Context()
	for i, title := range []string{"Fix the Docker build", "100% of ÄRGER_1", "Ärger im Café", "docker, again", "Die Straße"} {
		k := session.Key{Agent: "main", ID: fmt.Sprint("s", i)}
		turn := turnOf(fmt.Sprint("run", i), "hi", 10*i)
		if i == 3 {
			turn.Caller.ID = "bob"
		}
		value(s.Begin(ctx, k, turn, title))(t)
	}
	for _, c := range []struct {
		f    session.Filter
		want []string
	}{
		{session.Filter{}, []string{"s4", "s3", "s2", "s1", "s0"}},
		{session.Filter{Title: "  "}, []string{"s4", "s3", "s2", "s1", "s0"}},
		{session.Filter{Title: "DOCKER"}, []string{"s3", "s0"}},
		{session.Filter{Title: "build dock"}, []string{"s0"}},
		{session.Filter{Title: "docker", Caller: "bob"}, []string{"s3"}},
		{session.Filter{Title: "ärger"}, []string{"s2", "s1"}},
		{session.Filter{Title: "cafe"}, []string{"s2"}},
		{session.Filter{Title: "STRAßE"}, []string{"s4"}},
		{session.Filter{Title: "%"}, []string{"s1"}},
		{session.Filter{Title: "_"}, []string{"s1"}},
		{session.Filter{Title: "d%r"}, nil},
		{session.Filter{Title: "r_1"}, []string{"s1"}},
		{session.Filter{Title: `'"*?\\`}, nil},
	} {
		for limit := 1; limit <= 6; limit++ {
			f := c.f
			f.Limit = limit
			var got []string
			for {
				list, next, err := s.Sessions(ctx, f)
				must(t, err)
				for _, one := range list {
					got = append(got, one.ID)
				}
				if len(list) > limit || next != "" && len(list) != limit {
					t.Fatalf("a page of %d with limit %d and next %q", len(list), limit, next)
				}
				if f.After = next; next == "" {
					break
				}
			}
			equal(t, fmt.Sprintf("%+v", c.f), got, c.want)
		}
	}
}

func testRuns(t *testing.T, s session.Store) {
	ctx := t.Context()
	other := session.Key{Agent: "helper", ID: "work"}
	for i := range 4 {
		k := key
		if i == 2 {
			k = other
		}
		store(t, s, k, fmt.Sprint("run", i), "ask", "answer", 10*i)
	}
	value(s.Begin(ctx, key, turnOf("run4", "hi", 40), "t"))(t)
	names := func(f session.RunFilter) (runs []string) {
		t.Helper()
		for {
			list, next, err := s.Runs(ctx, f)
			must(t, err)
			for _, one := range list {
				runs = append(runs, one.Run)
			}
			if f.After = next; next == "" {
				return runs
			}
		}
	}
	for limit := range 6 {
		equal(t, "all", names(session.RunFilter{Limit: limit}), []string{"run4", "run3", "run2", "run1", "run0"})
	}
	equal(t, "run", names(session.RunFilter{Run: "run2"}), []string{"run2"})
	equal(t, "agent", names(session.RunFilter{Agent: "helper"}), []string{"run2"})
	equal(t, "session", names(session.RunFilter{Agent: "main", ID: "work", Limit: 1}), []string{"run4", "run3", "run1", "run0"})
	equal(t, "status", names(session.RunFilter{Status: agent.Running}), []string{"run4"})
	equal(t, "origin", names(session.RunFilter{Origin: tool.FromCron}), []string(nil))
	equal(t, "caller", names(session.RunFilter{Caller: "ada", Since: at(30)}), []string{"run4", "run3"})

	list, _, err := s.Runs(ctx, session.RunFilter{Run: "run2", Depth: session.Whole})
	must(t, err)
	equal(t, "whole", list, []session.Run{{Session: other, Turn: value(s.Turns(ctx, other, 1, 1, session.Whole))(t)[0]}})
}

func testSearch(t *testing.T, s session.Store) {
	ctx := t.Context()
	store(t, s, key, "run0", "Where is the Café near the harbour?", "It is closed. The naïve answer: nowhere.", 0)
	store(t, s, session.Key{Agent: "helper", ID: "b"}, "run1", "the harbour again", "Harbours are closed today", 10)
	find := func(q session.Query) (got []string) {
		t.Helper()
		hits, err := s.Search(ctx, q)
		must(t, err)
		for _, h := range hits {
			got = append(got, fmt.Sprintf("%s %d %s", h.Session, h.Turn, h.Role))
			if h.Snippet == "" || h.Title == "" || h.Time.IsZero() {
				t.Errorf("incomplete hit %+v", h)
			}
		}
		return got
	}
	for _, c := range []struct {
		q    session.Query
		want int
	}{
		{session.Query{Text: "harbour"}, 3},
		{session.Query{Text: "HARB"}, 3},
		{session.Query{Text: `"harbour"`}, 2},
		{session.Query{Text: "cafe"}, 1},
		{session.Query{Text: "NAÏVE"}, 1},
		{session.Query{Text: "harbour café"}, 1},
		{session.Query{Text: "closed", Agent: "main"}, 1},
		{session.Query{Text: "closed", ID: "b"}, 1},
		{session.Query{Text: "closed", Caller: "eve"}, 0},
		{session.Query{Text: "closed", Limit: 1}, 1},
		{session.Query{Text: `"is the"`}, 1},
		{session.Query{Text: `"the is"`}, 0},
		{session.Query{Text: "nothing-like-this"}, 0},
		{session.Query{Text: `a" OR text:"* NEAR(`}, 0}, // no language of the index shows through
		{session.Query{Text: "file_read"}, 0},           // calls are not searched
	} {
		if got := find(c.q); len(got) != c.want {
			t.Errorf("search %+v: %q, want %d", c.q, got, c.want)
		}
	}
	equal(t, "place", find(session.Query{Text: "nowhere"}), []string{"main/work 1 assistant"})
	hits := value(s.Search(ctx, session.Query{Text: "nowhere"}))(t)
	equal(t, "snippet", hits[0].Snippet, "It is closed. The naïve answer: nowhere.")
	if _, err := s.Search(ctx, session.Query{Text: ` "?" `}); err == nil {
		t.Error("a query without words was taken")
	}
}

func testSearchScripts(t *testing.T, s session.Store) {
	ctx := t.Context()
	store(t, s, key, "run0", "如何读取文件内容？", "カタカナとひらがな", 0)
	store(t, s, key, "run1", "ภาษาไทยง่าย", "Пример ответа", 10)
	for _, q := range []string{"文件", "读取文件", "ひらがな", "ไทย", "пример"} {
		if hits := value(s.Search(ctx, session.Query{Text: q}))(t); len(hits) != 1 {
			t.Errorf("search %s: %d hits, want 1", q, len(hits))
		}
	}
}

func testRename(t *testing.T, s session.Store) {
	ctx := t.Context()
	wantErr(t, "rename", s.Rename(ctx, key, "x"), session.ErrNotFound)
	value(s.Begin(ctx, key, turnOf("run", "hi", 0), "t"))(t)
	must(t, s.Rename(ctx, key, "another"))
	equal(t, "title", value(s.Session(ctx, key))(t).Title, "another")
}

func testDelete(t *testing.T, s session.Store) {
	ctx := t.Context()
	other := session.Key{Agent: "main", ID: "stays"}
	store(t, s, key, "run0", "harbour", "harbour", 0)
	store(t, s, other, "run1", "harbour", "harbour", 10)
	must(t, s.KeepSnapshot(ctx, key, session.Snapshot{Name: "files", Text: "a"}))
	must(t, s.Delete(ctx, key))
	wantErr(t, "delete again", s.Delete(ctx, key), session.ErrNotFound)
	_, err := s.Session(ctx, key)
	wantErr(t, "session", err, session.ErrNotFound)
	hits := value(s.Search(ctx, session.Query{Text: "harbour"}))(t)
	if len(hits) != 2 || hits[0].Session != other || hits[1].Session != other {
		t.Errorf("hits after deleting: %+v", hits)
	}
	if len(value(s.Turns(ctx, other, 1, 0, session.Whole))(t)[0].Rounds) != 2 {
		t.Error("another session lost rounds")
	}

	// The name can be used anew and begins with nothing.
	begun := value(s.Begin(ctx, key, turnOf("run2", "hi", 20), "new"))(t)
	equal(t, "begun anew", begun, session.Begun{New: true, Turn: 1})
	if _, ok, err := s.Snapshot(ctx, key, "files"); ok || err != nil {
		t.Errorf("a snapshot outlived its session (%v)", err)
	}
	must(t, s.Called(ctx, "run2", &agent.Round{Number: 1, Reply: llm.Reply{Message: llm.AssistantMessage("ok")}}))
}
