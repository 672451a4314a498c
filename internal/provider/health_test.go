package provider

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
)

// trouble1 is the state of one target.
func trouble1(s *Set, target string) State {
	for _, st := range s.State() {
		if st.Target.String() == target {
			return st
		}
	}
	return State{}
}

func TestCooldown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(map[string][]step{"a": {fails(llm.ClassNoModel)}})
		m := w.set.For("a", []string{"b"})
		ask := func() (who string) {
			t.Helper()
			got := w.ask(t.Context(), m, "", false)
			if got.err != nil {
				t.Fatal(got.err)
			}
			for _, c := range w.calls() {
				name, _, _ := strings.Cut(c, "/")
				who += name
			}
			return who
		}
		expect := func(want string) {
			t.Helper()
			if got := ask(); got != want {
				t.Fatalf("after %s: asked %s, want %s", time.Since(w.begin), got, want)
			}
		}
		// Two failures and an old one don't count.
		expect("ab")
		time.Sleep(failureWindow)
		expect("ab")
		expect("ab")
		if st := trouble1(w.set, "a/m"); st.Failures != 2 || !st.Cooling.IsZero() || st.LastError == "" {
			t.Errorf("%+v", st)
		}
		// PR-021: the third does.
		expect("ab")
		expect("b")
		if st := trouble1(w.set, "a/m"); !st.Cooling.Equal(time.Now().Add(time.Minute)) || st.Failures != 3 {
			t.Errorf("%+v", st)
		}
		// After each cooldown one failure is enough for one twice as long.
		for _, length := range []time.Duration{2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute, 15 * time.Minute} {
			time.Sleep(time.Until(trouble1(w.set, "a/m").Cooling))
			expect("ab")
			if st := trouble1(w.set, "a/m"); !st.Cooling.Equal(time.Now().Add(length)) {
				t.Errorf("cooling for %s, want %s", time.Until(st.Cooling), length)
			}
			expect("b")
		}
		// A success forgets all.
		time.Sleep(15 * time.Minute)
		w.script["a"] = nil
		expect("a")
		w.script["a"] = []step{fails(llm.ClassNoModel)}
		expect("ab")
		expect("ab")
	})
}

// A target that nobody asked for long after its cooldown begins anew.
func TestAnOldCooldownIsForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var h health
		target := llm.Target{Provider: "a", Model: "m"}
		fail := func() { h.failed(target, &llm.Error{Class: llm.ClassNetwork}, time.Now()) }
		for range failureLimit {
			fail()
		}
		time.Sleep(coolFirst + failureWindow)
		for n := range failureLimit {
			if until := h.cooling(target); !until.IsZero() {
				t.Errorf("after %d failures it rests for %s", n, time.Until(until))
			}
			fail()
		}
		if until := h.cooling(target); !until.Equal(time.Now().Add(coolFirst)) {
			t.Errorf("it rests for %s, want %s", time.Until(until), coolFirst)
		}
	})
}

// Whoever leaves while a target fails has not seen it answer.
func TestLeavingIsNoAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(map[string][]step{"a": {fails(llm.ClassNetwork)}})
		m := w.set.For("a", nil)
		w.ask(t.Context(), m, "", false)
		for range m.Stream(t.Context(), "", false, func(t llm.Target) (llm.Request, error) { return llm.Request{Target: t}, nil }) {
			break
		}
		if n := trouble1(w.set, "a/m").Failures; n != 1 {
			t.Errorf("%d failures are remembered", n)
		}
	})
}

func TestCooldownAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, c := range []llm.Class{llm.ClassAuth, llm.ClassBilling, llm.ClassQuota} {
			w := newWorld(map[string][]step{"a": {fails(c)}})
			m := w.set.For("a", []string{"b"})
			w.ask(t.Context(), m, "", false)
			got := w.ask(t.Context(), m, "", false)
			if asked := w.calls(); len(asked) != 3 || !strings.HasPrefix(asked[2], "b/m") {
				t.Errorf("%s: %q", c, asked)
			}
			if len(got.notices) != 1 || !strings.Contains(got.notices[0], "a/m rests for another 1 min") {
				t.Errorf("%s: %q", c, got.notices)
			}
			// Another model of the same provider is another matter.
			w.script["a"] = nil
			if got := w.ask(t.Context(), m, "a/other", false); got.err != nil || got.reply.Target.Model != "other" {
				t.Errorf("%s: %v", c, got.err)
			}
		}
	})
}

func TestAllCoolDown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(map[string][]step{"a": {fails(llm.ClassAuth)}, "b": {fails(llm.ClassAuth)}})
		m := w.set.For("a", []string{"b"})
		time.Sleep(time.Second)
		w.ask(t.Context(), w.set.For("b", nil), "", false)
		time.Sleep(time.Second)
		w.ask(t.Context(), w.set.For("a", nil), "", false)
		w.calls()
		// b began first, so it ends first.
		w.script["b"] = nil
		got := w.ask(t.Context(), m, "", false)
		if asked := w.calls(); len(asked) != 1 || !strings.HasPrefix(asked[0], "b/m") || got.err != nil {
			t.Errorf("%q, %v", asked, got.err)
		}
		// When it fails, the others go on resting.
		w.script["b"] = []step{fails(llm.ClassNoModel)}
		for range failureLimit {
			w.ask(t.Context(), w.set.For("b", nil), "", false)
		}
		w.calls()
		if got := w.ask(t.Context(), m, "", false); len(w.calls()) != 1 || got.err == nil {
			t.Errorf("more than one was asked while all rest: %v", got.err)
		}
		// A turn that has used a tool stays where it is.
		w.script["a"] = []step{says("hi")}
		w.set.health.failed(llm.Target{Provider: "a", Model: "m"}, &llm.Error{Class: llm.ClassAuth}, time.Now())
		if got := w.ask(t.Context(), m, "a/m", true); got.text != "hi" {
			t.Errorf("%+v", got)
		}
	})
}

// Many requests that fail together are one cooldown.
func TestABurstOfFailures(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(map[string][]step{"a": {fails(llm.ClassNetwork)}})
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { w.ask(t.Context(), w.set.For("a", nil), "", false) })
		}
		all.Wait()
		if st := trouble1(w.set, "a/m"); !st.Cooling.Equal(time.Now().Add(time.Minute)) {
			t.Errorf("%+v", st)
		}
	})
}

func TestTroubleIsBounded(t *testing.T) {
	t.Parallel()
	var h health
	for i := range 2 * maxTroubled {
		h.failed(llm.Target{Provider: "a", Model: fmt.Sprint(i)}, &llm.Error{Class: llm.ClassNoModel}, time.Now())
	}
	if n := len(h.troubled()); n != maxTroubled {
		t.Errorf("%d targets are remembered", n)
	}
}
