package sessiontest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/tool"
)

// forkOf is a session that is to begin with the first turns of the tests'
// session.
func forkOf(id string, turn, second int) session.Session {
	return session.Session{
		Key: session.Key{Agent: key.Agent, ID: id}, Title: "fork", Origin: tool.FromAPI, Caller: person,
		Created: at(second), ForkOf: &session.Point{Session: key.ID, Turn: turn},
	}
}

// asCopies are turns as a fork has them.
func asCopies(turns []session.Turn) []session.Turn {
	out := append([]session.Turn(nil), turns...)
	for i := range out {
		out[i].Copied = true
	}
	return out
}

// testFork checks that a fork has what its turns held, and counts as none of it.
func testFork(t *testing.T, s session.Store) {
	ctx := t.Context()
	value(s.Begin(ctx, key, turnOf("run0", "who keeps the harbour?", 0), "t", told(1, 1, "Where is the harbour?", "In the north.")))(t)
	must(t, s.Called(ctx, "run0", full(2, "x"), session.Snapshot{Name: "files", Text: "a\nb"}))
	must(t, s.Settled(ctx, "run0", full(2, "x")))
	must(t, s.End(ctx, "run0", agent.End{Status: agent.Failed, Error: "e", Time: at(9)}))
	store(t, s, key, "run1", "and the lighthouse?", "Nobody.", 10)
	original := value(s.Turns(ctx, key, 1, 0, session.Whole))(t)
	was := value(s.Session(ctx, key))(t)

	f := forkOf("early", 2, 30)
	must(t, s.Fork(ctx, f))
	equal(t, "turns", value(s.Turns(ctx, f.Key, 1, 0, session.Whole))(t), asCopies(original[:2]))
	want := f
	want.Updated, want.Turns, want.Rounds, want.Status, want.USD = f.Created, 2, 2, agent.Failed, new(float64)
	// What the calls of those turns saw and changed is known, and what they were offered.
	want.State = &tool.State{Tools: []string{"calc", "file_read"}, Files: []tool.SeenFile{{Path: "a <b>", Digest: "d1"}}}
	equal(t, "session", value(s.Session(ctx, f.Key))(t), want)
	want.State = nil
	list, _, err := s.Sessions(ctx, session.Filter{Agent: key.Agent, Limit: 1})
	equal(t, "list", []any{list, err}, []any{[]session.Session{want}, nil})
	text, ok, err := s.Snapshot(ctx, f.Key, "files")
	equal(t, "snapshot", []any{text, ok, err}, []any{"a\nb", true, nil})

	all := forkOf("all", 3, 40)
	must(t, s.Fork(ctx, all))
	equal(t, "the state of all turns", value(s.Session(ctx, all.Key))(t).State, was.State)
	value(s.Change(ctx, key, at(90), nil, tool.Effect{Kind: tool.PlanMode, Value: "on"}))(t)
	planned := forkOf("planned", 2, 45)
	must(t, s.Fork(ctx, planned))
	equal(t, "a fork of a session that plans", value(s.Session(ctx, planned.Key))(t).Plan, true)
	value(s.Change(ctx, key, at(90), nil, tool.Effect{Kind: tool.PlanMode, Value: "off"}))(t)
	none := forkOf("none", 0, 50)
	must(t, s.Fork(ctx, none))
	empty := value(s.Session(ctx, none.Key))(t)
	equal(t, "a fork of nothing", []any{empty.Turns, empty.Rounds, empty.Status, empty.State}, []any{0, 0, agent.Done, &tool.State{}})

	// They are no runs, by whatever they are looked for.
	for _, q := range []session.RunFilter{{}, {ID: "early"}, {Run: "run0"}, {Status: agent.Failed}} {
		runs, _, err := s.Runs(ctx, q)
		must(t, err)
		for _, r := range runs {
			if r.Copied || r.Session != key {
				t.Errorf("runs %+v: %+v", q, r)
			}
		}
	}
	equal(t, "the original", value(s.Session(ctx, key))(t), was)
	equal(t, "its turns", value(s.Turns(ctx, key, 1, 0, session.Whole))(t), original)
}

// testForkGoesOn checks that a fork is a session like any other from its first
// own turn on, and that neither needs the other.
func testForkGoesOn(t *testing.T, s session.Store) {
	ctx := t.Context()
	store(t, s, key, "run0", "Where is the harbour?", "In the north.", 0)
	store(t, s, key, "run1", "and the lighthouse?", "Nobody knows.", 10)
	f := forkOf("fork", 1, 20)
	must(t, s.Fork(ctx, f))
	begun := value(s.Begin(ctx, f.Key, turnOf("run2", "and the beacon?", 30), "ignored"))(t)
	equal(t, "begun", []any{begun.New, begun.Turn, begun.Rounds}, []any{false, 2, 2})
	equal(t, "taken", value(s.Taken(ctx, f.Key, []string{"run0_a", "run1_a"}))(t), []string{"run0_a"})
	must(t, s.Called(ctx, "run2", full(3, "run2")))
	must(t, s.Settled(ctx, "run2", full(3, "run2")))
	must(t, s.End(ctx, "run2", agent.End{Status: agent.Done, Time: at(39)}))
	one := value(s.Session(ctx, f.Key))(t)
	equal(t, "usage", []any{one.Usage, one.Turns, one.Title}, []any{full(3, "").Reply.Usage, 2, "fork"})

	// A fork of a fork tells of the runs themselves.
	second := forkOf("second", 2, 50)
	second.ForkOf.Session = "fork"
	must(t, s.Fork(ctx, second))
	turns := value(s.Turns(ctx, second.Key, 1, 0, session.Heads))(t)
	equal(t, "runs of a fork of a fork", []any{turns[0].Run, turns[1].Run, len(turns)}, []any{"run0", "run2", 2})

	find := func(q session.Query) (keys []string) {
		for _, h := range value(s.Search(ctx, q))(t) {
			keys = append(keys, fmt.Sprintf("%s %d", h.Session.ID, h.Turn))
		}
		return keys
	}
	equal(t, "what was said once is found once", find(session.Query{Text: "harbour"}), []string{"work 1"})
	equal(t, "in the fork itself", find(session.Query{Text: "harbour", ID: "second"}), []string{"second 1"})
	equal(t, "what the fork went on with", find(session.Query{Text: "beacon"}), []string{"fork 2"})

	must(t, s.Delete(ctx, key))
	equal(t, "without the original", find(session.Query{Text: `"in the north"`, ID: "fork"}), []string{"fork 1"})
	if got := find(session.Query{Text: "harbour"}); len(got) == 0 {
		t.Error("what forks hold is not found without the original")
	}
	equal(t, "turns without the original", len(value(s.Turns(ctx, f.Key, 1, 0, session.Whole))(t)[0].Rounds), 2)
	must(t, s.Delete(ctx, f.Key))
	must(t, s.Delete(ctx, second.Key))
	equal(t, "without any", find(session.Query{Text: "harbour"}), []string(nil))
}

func testForkRefused(t *testing.T, s session.Store) {
	ctx := t.Context()
	wantErr(t, "a fork of nothing", s.Fork(ctx, forkOf("fork", 0, 1)), session.ErrNotFound)
	store(t, s, key, "run0", "one", "two", 0)
	store(t, s, key, "run1", "three", "four", 10)
	value(s.Begin(ctx, key, turnOf("run2", "five", 20), "ignored"))(t)
	must(t, s.Called(ctx, "run2", full(5, "run2")))
	wantErr(t, "behind a turn that isn't there", s.Fork(ctx, forkOf("fork", 4, 21)), session.ErrNotFound)
	wantErr(t, "before all turns", s.Fork(ctx, forkOf("fork", -1, 21)), session.ErrNotFound)
	wantErr(t, "behind a turn that runs", s.Fork(ctx, forkOf("fork", 3, 21)), session.ErrUnended)
	wantErr(t, "onto itself", s.Fork(ctx, forkOf(key.ID, 1, 21)), session.ErrExists)
	if _, err := s.Session(ctx, session.Key{Agent: "main", ID: "fork"}); err == nil {
		t.Error("a fork that was refused is there")
	}
	plain := forkOf("fork", 1, 21)
	plain.ForkOf = nil
	if s.Fork(ctx, plain) == nil {
		t.Error("a session that is no fork was stored as one")
	}
	// What goes on behind is no reason to wait.
	must(t, s.Fork(ctx, forkOf("fork", 2, 21)))
	equal(t, "status", value(s.Session(ctx, session.Key{Agent: "main", ID: "fork"}))(t).Status, agent.Done)
	equal(t, "unfinished", value(s.Unfinished(ctx))(t), []session.Key{key})
}

// testForkThread checks that a fork goes on from the bytes that the original
// went on from, and names calls as that did.
func testForkThread(t *testing.T, s session.Store) {
	ctx := t.Context()
	h := session.NewHistory(s, nil)
	var threads []agent.Thread // as each turn began with
	for i := range 3 {
		threads = append(threads, value(TurnWithTool(ctx, h, key, fmt.Sprint("run", i), fmt.Sprint("ask ", i)))(t))
	}
	for turn := range 3 {
		f := value(session.Fork(ctx, s, session.ForkOptions{From: key, Turn: turn, ID: fmt.Sprint("fork", turn), Origin: tool.FromChat, By: person, Time: at(90)}))(t)
		run := fmt.Sprint("again", turn)
		thread := value(TurnWithTool(ctx, h, f.Key, run, fmt.Sprint("ask ", turn)))(t)
		equal(t, fmt.Sprintf("thread behind turn %d", turn), thread, threads[turn], cmpopts.IgnoreFields(agent.Thread{}, "Last"))
		equal(t, "when the fork was made", thread.Last, at(90))
		equal(t, "the turn itself", text(session.Thread(value(s.Turns(ctx, f.Key, 1, 0, session.Spoken))(t))),
			text(session.Thread(value(s.Turns(ctx, key, 1, turn+1, session.Spoken))(t))))
	}
}

func testForkFor(t *testing.T, s session.Store) {
	ctx := t.Context()
	eve := auth.Principal{ID: "eve", Role: auth.User, Human: true}
	root := auth.Principal{ID: "root", Role: auth.Admin, Human: true}
	store(t, s, key, "run0", "The   garden", "green", 0)
	o := session.ForkOptions{From: key, Turn: session.AllEnded, Origin: tool.FromAPI, By: person, Time: at(20)}
	first := value(session.Fork(ctx, s, o))(t)
	equal(t, "a fork", []any{first.Title, first.Turns, *first.ForkOf, first.Origin, first.Created}, []any{"The garden (fork)", 1, session.Point{Session: key.ID, Turn: 1}, tool.FromAPI, at(20)})

	o.By = eve
	_, err := session.Fork(ctx, s, o)
	wantErr(t, "somebody else's", err, session.ErrNotFound)
	o.By = root
	if f := value(session.Fork(ctx, s, o))(t); f.Caller != person {
		t.Errorf("the fork that an admin makes belongs to %+v", f.Caller)
	}
	o.ID = first.ID
	_, err = session.Fork(ctx, s, o)
	wantErr(t, "a name that is taken", err, session.ErrExists)
	o.ID = "../x"
	if _, err = session.Fork(ctx, s, o); err == nil {
		t.Error("a name that is none was taken")
	}

	// With a turn that runs, all is what has ended.
	value(s.Begin(ctx, key, turnOf("run1", "more", 30), "ignored"))(t)
	o.ID = ""
	equal(t, "turns that have ended", value(session.Fork(ctx, s, o))(t).Turns, 1)

	for from, want := range map[string]string{
		"T":                      "T (fork)",
		"T (fork)":               "T (fork 2)",
		"T (fork 2)":             "T (fork 3)",
		"T (fork 99)":            "T (fork 100)",
		"T (fork 1)":             "T (fork 1) (fork)",
		"T (fork x)":             "T (fork x) (fork)",
		"T (fork) and more":      "T (fork) and more (fork)",
		"(fork)":                 "(fork) (fork)",
		strings.Repeat("ü", 100): strings.Repeat("ü", 100) + " (fork)",
		strings.Repeat("ü", 120): strings.Repeat("ü", 99) + "… (fork)",
		strings.Repeat("ü", 99) + "… (fork 1000)": strings.Repeat("ü", 99) + "… (fork 1001)",
	} {
		must(t, s.Rename(ctx, key, from))
		equal(t, "title", value(session.Fork(ctx, s, o))(t).Title, want)
	}
}

// testForkExport checks that an export tells what was copied.
func testForkExport(t *testing.T, s session.Store) {
	ctx := t.Context()
	store(t, s, key, "run0", "Where is the harbour?", "In the north.", 0)
	must(t, s.Fork(ctx, forkOf("fork", 1, 20)))
	fork := session.Key{Agent: "main", ID: "fork"}
	var b strings.Builder
	must(t, session.ExportMarkdown(ctx, &b, s, fork))
	for _, words := range []string{"fork of session `main/work` after turn 1", "In the north."} {
		if !strings.Contains(b.String(), words) {
			t.Errorf("the transcript doesn't say %q:\n%s", words, b.String())
		}
	}
	b.Reset()
	must(t, session.ExportJSONL(ctx, &b, s, fork))
	for _, words := range []string{`"fork_of":{"session":"work","turn":1}`, `"copied":true`, `"run":"run0"`} {
		if strings.Count(b.String(), words) != 1 {
			t.Errorf("the lines say %q %d times:\n%s", words, strings.Count(b.String(), words), b.String())
		}
	}
}
