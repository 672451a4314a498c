package sqlite_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/agent/session/sessiontest"
	"github.com/goclaw/goclaw/internal/store/sqlite"
)

// The test binary is also the other process: with -child it does one thing on
// the home folder given, says so on a line, and waits to be killed or for the
// end of its input.
var (
	child = flag.String("child", "", "what to do as another process")
	home  = flag.String("home", "", "the folder to do it in")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *child == "" {
		os.Exit(m.Run())
	}
	if err := beChild(context.Background(), *child, *home); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

var killed = session.Key{Agent: "main", ID: "killed"}

func beChild(ctx context.Context, what, home string) error {
	db, err := sqlite.Open(ctx, filepath.Join(home, "state.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	if what == "turns" {
		return errors.Join(turns(ctx, db, fmt.Sprint("child", os.Getpid())), db.Close())
	}
	h := session.NewHistory(db.Sessions(), nil)
	if _, err := session.NewHolds(filepath.Join(home, "locks")).Hold(ctx, killed); err != nil {
		return err
	}
	if what == "busy" {
		for n := 1; ; n++ {
			if _, err := sessiontest.TurnWithTool(ctx, h, killed, fmt.Sprint("busy-", n), "do it"); err != nil {
				return err
			}
			fmt.Println(n)
		}
	}
	t := sessiontest.AgentTurn(killed, "run-"+what, "do it")
	thread, err := h.Begin(ctx, t)
	if err != nil {
		return err
	}
	if what == "tool" {
		// Two of three calls ended, in another order than they were called in.
		r := sessiontest.Calling(thread.Rounds+1, "", "", "")
		if err := h.Called(ctx, t, r); err != nil {
			return err
		}
		for _, i := range []int{2, 0} {
			if err := h.Result(ctx, t, r, i, sessiontest.Outcome(r.Calls[i], fmt.Sprint("result ", i))); err != nil {
				return err
			}
		}
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// turns runs 10 sessions of 10 turns at once.
func turns(ctx context.Context, db *sqlite.DB, name string) error {
	h := session.NewHistory(db.Sessions(), nil)
	var wg sync.WaitGroup
	errs := make([]error, 10)
	for i := range errs {
		wg.Go(func() {
			k := session.Key{Agent: "main", ID: fmt.Sprintf("%s-%d", name, i)}
			for n := range 10 {
				thread, err := sessiontest.TurnWithTool(ctx, h, k, fmt.Sprintf("%s-%d", k.ID, n), k.ID)
				if err == nil {
					err = sessiontest.Valid(thread.Messages)
				}
				if err == nil && len(thread.Messages) != 4*n+1 {
					err = fmt.Errorf("turn %d of %s begins with %d messages", n, k, len(thread.Messages))
				}
				if err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func start(t *testing.T, what, home string) (cmd *exec.Cmd, out *bufio.Reader) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(exe, "-child="+what, "-home="+home)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(stdout)
}

// TestKilled kills a process with SIGKILL in the middle of a model call, then
// one in the middle of a tool call, and goes on in the same session.
func TestKilled(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path := filepath.Join(home, "state.db")
	holds := session.NewHolds(filepath.Join(home, "locks"))
	rounds := 0
	for n, c := range []struct {
		what  string
		swept session.Swept
		left  []string // roles of what the killed turn left, the person's message first
	}{
		{"model", session.Swept{Turns: 1}, []string{"user", "assistant"}},
		{"tool", session.Swept{Turns: 1, Calls: 1}, []string{"user", "assistant", "tool", "assistant"}},
	} {
		cmd, out := start(t, c.what, home)
		if line, err := out.ReadString('\n'); line != "ready\n" {
			t.Fatalf("%s: the child said %q (%v)", c.what, line, err)
		}
		db := open(t, path)
		h := session.NewHistory(db.Sessions(), nil)
		sweep := func(want session.Swept) {
			t.Helper()
			if got, err := h.Sweep(t.Context(), holds); err != nil || got != want {
				t.Errorf("%s: swept %+v (%v), want %+v", c.what, got, err, want)
			}
		}
		sweep(session.Swept{Held: 1}) // it lives
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
		sweep(c.swept)

		release, err := holds.Hold(t.Context(), killed)
		if err != nil {
			t.Fatal(err)
		}
		thread, err := sessiontest.TurnWithTool(t.Context(), h, killed, fmt.Sprint("after", n), "go on")
		if err != nil {
			t.Fatal(err)
		}
		release()
		if err := sessiontest.Valid(thread.Messages); err != nil {
			t.Error(err)
		}
		m := thread.Messages[len(thread.Messages)-1-len(c.left):]
		for i, role := range c.left {
			if string(m[i].Role) != role {
				t.Errorf("%s: message %d is of %s, want %s", c.what, i, m[i].Role, role)
			}
		}
		if c.what == "tool" {
			for i, p := range m[2].Parts {
				text, want := p.Result.Content[0].Text, fmt.Sprint("result ", i)
				if i == 1 {
					want = "interrupted: "
				}
				if !strings.HasPrefix(text, want) {
					t.Errorf("result %d is %q, want %q", i, text, want)
				}
			}
		}
		if thread.Rounds < rounds {
			t.Errorf("%s: %d rounds, there were %d", c.what, thread.Rounds, rounds)
		}
		rounds = thread.Rounds + 2
		turns, err := db.Sessions().Turns(t.Context(), killed, 2*n+1, 2*n+1, session.Heads)
		if err != nil || turns[0].Status != agent.Interrupted {
			t.Errorf("%s: the killed turn is %+v (%v)", c.what, turns, err)
		}
	}
}

// TestKilledAnywhere kills a process that runs turn after turn: what it said to
// be done is there, and no answer is without the end of its turn.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	for _, after := range []int{1, 2, 5, 17} {
		home := t.TempDir()
		cmd, out := start(t, "busy", home)
		for n := range after {
			if line, err := out.ReadString('\n'); line != fmt.Sprintln(n+1) {
				t.Fatalf("the child said %q (%v)", line, err)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(out) // what it could still say
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
		db := open(t, filepath.Join(home, "state.db"))
		turns, err := db.Sessions().Turns(t.Context(), killed, 1, 0, session.Whole)
		if err != nil {
			t.Fatal(err)
		}
		done := 0
		for _, turn := range turns {
			switch turn.Status {
			case agent.Done:
				done++
				if len(turn.Rounds) != 2 || turn.Rounds[1].Ended.IsZero() || turn.Ended.IsZero() {
					t.Errorf("a turn that is done: %+v", turn)
				}
			case agent.Running:
				if len(turn.Rounds) > 1 {
					t.Errorf("an answer without the end of its turn: %+v", turn)
				}
				for _, r := range turn.Rounds {
					if settled := !r.Ended.IsZero(); settled != (r.Outcomes[0].Status != "") {
						t.Errorf("half of a round: %+v", r)
					}
				}
			default:
				t.Errorf("a turn is %s", turn.Status)
			}
		}
		if promised := after + bytes.Count(said, []byte("\n")); done < promised || len(turns) > done+1 {
			t.Errorf("%d turns of %d are done, %d were said to be", done, len(turns), promised)
		}
	}
}

// TestProcesses lets three processes make the file and then work on it, each
// with ten sessions at once: nobody is told that it is locked, and all rows
// are there.
func TestProcesses(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	var children []*exec.Cmd
	var outputs []*bufio.Reader
	for range 2 {
		cmd, out := start(t, "turns", home)
		children, outputs = append(children, cmd), append(outputs, out)
	}
	db := open(t, filepath.Join(home, "state.db"))
	if err := turns(t.Context(), db, "parent"); err != nil {
		t.Error(err)
	}
	for i, cmd := range children {
		said, err := io.ReadAll(outputs[i])
		if err = errors.Join(err, cmd.Wait()); err != nil {
			t.Errorf("%v: %s", err, said)
		}
	}
	list, _, err := db.Sessions().Sessions(t.Context(), session.Filter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 30 {
		t.Errorf("%d sessions, want 30", len(list))
	}
	for _, s := range list {
		if s.Turns != 10 || s.Rounds != 20 || s.Status != agent.Done {
			t.Errorf("session %s: %d turns, %d rounds, %s", s.ID, s.Turns, s.Rounds, s.Status)
		}
	}
	if err := db.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
