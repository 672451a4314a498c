package run_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
)

// said is a message of one of the lives below.
type said struct {
	session, text string
	run           *run.Run
	process       *process
	safe          bool // it was kept when its process ended, or the process lives
	stopped       bool // somebody ended it
}

// life is a home folder with the processes that follow each other on it.
type life struct {
	t    *testing.T
	rnd  *rand.Rand
	dir  string
	p    *process
	said []*said
}

// Whatever happens in whatever order, each message that was accepted stands in
// the history once, unless somebody stopped it.
func TestWholeLives(t *testing.T) {
	t.Parallel()
	for seed := range uint64(16) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &life{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), dir: t.TempDir()}
				l.open()
				for range 15 {
					l.step()
				}
				l.settle()
				l.check()
			})
		})
	}
}

func (l *life) open() {
	l.p = born(l.t, l.dir, run.Queue, nil)
	l.p.recover()
}

func (l *life) step() {
	switch n := l.rnd.IntN(12); {
	case n < 6:
		l.say()
	case n < 9:
		time.Sleep(time.Duration(l.rnd.IntN(2500)) * time.Millisecond)
	case n == 9:
		if len(l.said) > 0 {
			m := l.said[l.rnd.IntN(len(l.said))]
			if r, ok := l.p.Run(m.run.ID); ok {
				m.stopped = true
				r.Stop()
			}
		}
	case n == 10:
		l.note()
		l.p.kill()
		l.open()
	default:
		l.note()
		ctx, cancel := context.WithTimeout(l.t.Context(), time.Duration(l.rnd.IntN(3000))*time.Millisecond)
		defer cancel()
		if err := l.p.Drain(ctx); err != nil {
			l.t.Error(err)
		}
		for _, m := range l.said {
			m.safe = m.safe || m.process == l.p // it finished, or was left to the next
		}
		l.p.end()
		l.open()
	}
}

func (l *life) say() {
	m := &said{session: fmt.Sprint("s", l.rnd.IntN(2)), text: fmt.Sprintf("m%02d.", len(l.said))}
	if l.rnd.IntN(3) == 0 {
		m.text = "call" // which takes two rounds, so that others can join
	}
	q := ask(m.session, m.text)
	q.WhileBusy = []run.Busy{run.Queue, run.Steer, run.Interrupt}[l.rnd.IntN(3)]
	q.ID = run.IDOf("p", fmt.Sprint(len(l.said)))
	m.run, m.process = start(l.t, l.p.Runner, q), l.p
	if again := start(l.t, l.p.Runner, q); again != m.run {
		l.t.Error("a message that was sent again got another run")
	}
	l.said = append(l.said, m)
}

// note remembers which messages must survive what comes now.
func (l *life) note() {
	for _, m := range l.said {
		if r, ok := l.p.Run(m.run.ID); ok {
			m.run, m.process = r, l.p
		}
		if m.process != l.p {
			continue // it was noted when that one ended
		}
		select {
		case <-m.run.Kept():
			m.safe = true
		default:
		}
	}
}

// settle waits until nothing goes on.
func (l *life) settle() {
	for {
		if going, _ := l.p.Count(); going == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	l.note()
}

func (l *life) check() {
	same(l.t, "the inbox", l.p.waits(), []string(nil))
	where := map[string]int{} // how many messages of each run's id the history holds
	var lines []string
	for _, id := range []string{"s0", "s1"} {
		lines = append(lines, l.p.told(id)...)
		for _, m := range l.said {
			if m.session != id {
				continue
			}
			at, ok, err := l.p.inbox.Find(l.t.Context(), m.run.ID)
			if err != nil {
				l.t.Fatal(err)
			}
			if ok && at.Session == (session.Key{Agent: "main", ID: id}) {
				where[m.run.ID]++
			}
		}
	}
	all := strings.Join(lines, "\n")
	for i, m := range l.said {
		if n := strings.Count(all, m.text+":") + strings.Count(all, "+"+m.text+" "); m.text != "call" && n > 1 {
			l.t.Errorf("message %d (%s) stands in the history %d times", i, m.text, n)
		}
		end, words, ended := m.run.End()
		if where[m.run.ID] != 1 && m.safe && !m.stopped {
			l.t.Errorf("message %d (%s) is not in the history; its last run ended %v: %+v %s", i, m.text, ended, end, words)
		}
	}
	if l.t.Failed() {
		l.t.Logf("the history:\n%s", all)
	}
}

// Those who watch are told when a run gets its place, begins and ends.
func TestChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := born(t, t.TempDir(), run.Queue, nil)
		ctx, cancel := context.WithCancel(t.Context())
		changes := p.Changes(ctx)
		var mu sync.Mutex
		var seen []string
		done := make(chan struct{})
		go func() {
			defer close(done)
			for key := range changes {
				going, waiting := p.Session(key)
				mu.Lock()
				seen = append(seen, fmt.Sprintf("%s %v %d", key.ID, going != nil, len(waiting)))
				mu.Unlock()
			}
		}()
		step := func(want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if len(seen) == 0 || !slices.Contains(want, seen[len(seen)-1]) {
				t.Errorf("seen %q, want %q", seen, want)
			}
			seen = nil
		}
		start(t, p.Runner, ask("s", "one"))
		step("s true 0")
		start(t, p.Runner, ask("s", "two"))
		step("s true 1")
		time.Sleep(time.Second)
		step("s true 0")
		time.Sleep(time.Second)
		step("s false 0")
		start(t, p.Runner, ask("s", "call"))
		joins := ask("s", "call") // so that the run goes on behind the round that it joins
		joins.WhileBusy = run.Steer
		joined := start(t, p.Runner, joins)
		step("s true 1")
		time.Sleep(time.Second)
		step("s true 0") // it was taken in
		time.Sleep(time.Second)
		step("s true 0") // it was stored, which is its end
		if joined.State() != run.Ended {
			t.Errorf("the message that joined is %s", joined.State())
		}
		time.Sleep(time.Second)
		step("s false 0")
		p.Touch(session.Key{Agent: "main", ID: "t"})
		step("t false 0")
		cancel()
		<-done
	})
}
