package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/agent/session/sessiontest"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/store/sqlite"
)

// BenchmarkTurn stores a whole turn with one tool call, each in a session of
// its own, and reads its thread.
func BenchmarkTurn(b *testing.B) {
	h := session.NewHistory(fresh(b).Sessions(), nil)
	n := 0
	for b.Loop() {
		n++
		run := fmt.Sprint("run", n)
		if _, err := sessiontest.TurnWithTool(b.Context(), h, session.Key{Agent: "main", ID: run}, run, "please read main.go"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTurnParallel is BenchmarkTurn by many sessions at once.
func BenchmarkTurnParallel(b *testing.B) {
	h := session.NewHistory(fresh(b).Sessions(), nil)
	b.SetParallelism(25)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			run := session.NewID()
			if _, err := sessiontest.TurnWithTool(b.Context(), h, session.Key{Agent: "main", ID: run}, run, "please read main.go"); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// long makes a session of so many rounds, two in a turn.
func long(b *testing.B, h *session.History, rounds int) session.Key {
	k := session.Key{Agent: "main", ID: fmt.Sprint("long", rounds)}
	for n := range rounds / 2 {
		if _, err := sessiontest.TurnWithTool(b.Context(), h, k, fmt.Sprint(k.ID, n), "please read main.go"); err != nil {
			b.Fatal(err)
		}
	}
	return k
}

// BenchmarkThread reads the thread of a session.
func BenchmarkThread(b *testing.B) {
	s := fresh(b).Sessions()
	h := session.NewHistory(s, nil)
	for _, rounds := range []int{10, 100, 1000} {
		k := long(b, h, rounds)
		b.Run(fmt.Sprint(rounds, "rounds"), func(b *testing.B) {
			for b.Loop() {
				turns, err := s.Turns(b.Context(), k, 1, 0, session.Spoken)
				if err != nil {
					b.Fatal(err)
				}
				if m := session.Thread(turns); len(m) != 2*rounds {
					b.Fatalf("%d messages", len(m))
				}
			}
		})
	}
}

// BenchmarkOpen opens a database that is up to date.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "state.db")
	long(b, session.NewHistory(open(b, path).Sessions(), nil), 10)
	for b.Loop() {
		db, err := sqlite.Open(b.Context(), path, sqlite.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCreate makes a database.
func BenchmarkCreate(b *testing.B) {
	dir := b.TempDir()
	n := 0
	for b.Loop() {
		n++
		db, err := sqlite.Open(b.Context(), filepath.Join(dir, fmt.Sprint(n, ".db")), sqlite.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	s := fresh(b).Sessions()
	long(b, session.NewHistory(s, nil), 1000)
	for b.Loop() {
		if hits, err := s.Search(b.Context(), session.Query{Text: "please main", Limit: 20}); err != nil || len(hits) != 20 {
			b.Fatal(len(hits), err)
		}
	}
}

func BenchmarkRuns(b *testing.B) {
	s := fresh(b).Sessions()
	long(b, session.NewHistory(s, nil), 1000)
	for b.Loop() {
		if runs, _, err := s.Runs(b.Context(), session.RunFilter{Depth: session.Traced, Limit: 20}); err != nil || len(runs) != 20 {
			b.Fatal(len(runs), err)
		}
	}
}

// BenchmarkSeeded begins a session with a conversation of 40 messages, as a
// client does that keeps the history itself.
func BenchmarkSeeded(b *testing.B) {
	h := session.NewHistory(fresh(b).Sessions(), nil)
	var seed []llm.Message
	for range 20 {
		seed = append(seed, llm.UserMessage("please read main.go"), llm.AssistantMessage("It holds one function, which calls another."))
	}
	n := 0
	for b.Loop() {
		n++
		run := fmt.Sprint("run", n)
		turn := sessiontest.AgentTurn(session.Key{Agent: "main", ID: run}, run, "go on")
		turn.Seed = seed
		if thread, err := h.Begin(b.Context(), turn); err != nil || len(thread.Messages) != 41 {
			b.Fatal(len(thread.Messages), err)
		}
	}
}

// BenchmarkTitles looks through the titles of 5000 sessions.
func BenchmarkTitles(b *testing.B) {
	s := fresh(b).Sessions()
	h := session.NewHistory(s, nil)
	for n := range 5000 {
		run := fmt.Sprint("run", n)
		if _, err := h.Begin(b.Context(), sessiontest.AgentTurn(session.Key{Agent: "main", ID: run}, run, "please read main.go and say what it does")); err != nil {
			b.Fatal(err)
		}
	}
	for title, want := range map[string]int{"main": 50, "nothing": 0} {
		b.Run(fmt.Sprint(want, "found"), func(b *testing.B) {
			for b.Loop() {
				if list, _, err := s.Sessions(b.Context(), session.Filter{Title: title}); err != nil || len(list) != want {
					b.Fatal(len(list), err)
				}
			}
		})
	}
}

// BenchmarkVerify looks a token up, as each request does.
func BenchmarkVerify(b *testing.B) {
	u := fresh(b).Users()
	now := time.Now()
	admin, _, err := auth.EnsureAdmin(b.Context(), u, now)
	if err != nil {
		b.Fatal(err)
	}
	secret, k := auth.NewToken()
	k.User, k.Created = admin.ID, now
	if err := u.AddToken(b.Context(), k); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := auth.Verify(b.Context(), u, secret, now); err != nil {
			b.Fatal(err)
		}
	}
}
