package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/llm"
)

// tried is an attempt on one line.
func tried(a llm.Attempt) string {
	s := fmt.Sprintf("%s %s %q after %s", a.Target, a.Class, a.Message, a.Ended.Sub(a.Started))
	if a.Status != 0 {
		s += fmt.Sprintf(" %d", a.Status)
	}
	if a.Skipped {
		s += " skipped"
	}
	if a.Next != llm.GaveUp {
		s += fmt.Sprintf(", %s", a.Next)
	}
	if a.Wait > 0 {
		s += " in " + a.Wait.Round(100*time.Millisecond).String()
	}
	if a.To != nil {
		s += " to " + a.To.String()
	}
	return s
}

func TestAttemptsAreTold(t *testing.T) {
	t.Parallel()
	busy := step{err: &llm.Error{Class: llm.ClassOverloaded, Status: 529, Message: "busy, says key-of-provider-a"}}
	slow := step{hang: true}
	for _, test := range []struct {
		name     string
		script   map[string][]step
		fallback []string
		want     []string
		failed   bool
	}{
		{"none", nil, []string{"b"}, nil, false},
		{"again, then the next", map[string][]step{"a": {busy}, "b": {fails(llm.ClassNetwork), says("hi")}}, []string{"b"}, []string{
			`a/m overloaded "busy, says ***" after 0s 529, retry in 2s`, `a/m overloaded "busy, says ***" after 0s 529, retry in 6s`,
			`a/m overloaded "busy, says ***" after 0s 529, failover to b/m`, `b/m network "no luck" after 0s, retry in 500ms`,
		}, false},
		{"one that can't be asked", map[string][]step{"a": {fails(llm.ClassQuota)}, "b": {fails(llm.ClassAuth)}}, []string{"gone", "b"}, []string{
			`a/m quota "no luck" after 0s, failover to gone/m`,
			`gone/m auth "there is no API key; set DEEPSEEK_API_KEY" after 0s skipped, failover to b/m`, `b/m auth "no luck" after 0s`,
		}, true},
		{"empty", map[string][]step{"a": {says(""), says("hi")}}, nil, []string{`a/m empty "the answer is empty" after 0s, retry`}, false},
		{"our own fault", map[string][]step{"a": {fails(llm.ClassBadRequest)}}, []string{"b"}, []string{`a/m bad_request "no luck" after 0s`}, true},
		{"stopped", map[string][]step{"a": {slow}}, []string{"b"}, nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(test.script)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				got := w.ask(ctx, w.set.For("a", test.fallback), "", false)
				for i, want := range test.want {
					if strings.Contains(want, " in 2s") || strings.Contains(want, " in 6s") {
						got.attempts[i] = roughly(got.attempts[i], want)
					}
				}
				if diff := cmp.Diff(test.want, got.attempts); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				var e *llm.Error
				if failed := got.err != nil; failed != test.failed {
					t.Errorf("%v", got.err)
				} else if errors.As(got.err, &e) && len(e.Before) != len(test.want)-1 {
					t.Errorf("before the last failure there were %d: %v", len(e.Before), e.Before)
				}
			})
		})
	}
}

// roughly is got with the pause of want, when it is within a fifth of it.
func roughly(got, want string) string {
	head, pause, ok := strings.Cut(got, " in ")
	_, wanted, _ := strings.Cut(want, " in ")
	d, err1 := time.ParseDuration(pause)
	w, err2 := time.ParseDuration(wanted)
	if !ok || err1 != nil || err2 != nil || (d-w).Abs() > w/5 {
		return got
	}
	return head + " in " + wanted
}

// What an attempt used whose answer is not the one is told before another is
// made, with a request that is built anew.
func TestWhatIsDroppedIsTold(t *testing.T) {
	counted := func(s step, n int64) step {
		s.used = llm.Usage{Input: n}
		return s
	}
	for _, tc := range []struct {
		name  string
		a, b  []step
		built string
		want  []int64 // -1 where nobody counted
	}{
		{"an answer at once", []step{counted(says("hi"), 1)}, nil, "a", nil},
		{"an empty one", []step{counted(says(), 2), counted(says("hi"), 1)}, nil, "a a", []int64{2}},
		{"two that are empty", []step{counted(says(), 2)}, []step{says("hi")}, "a a b", []int64{2, 2}},
		{"one that was cut", []step{counted(breaks(llm.ClassNetwork, "h"), 3), says("hi")}, nil, "a a", []int64{3}},
		{"one that was cut and not counted", []step{breaks(llm.ClassNetwork, "h"), says("hi")}, nil, "a a", []int64{-1}},
		{"one that was cut after its tokens were told", []step{counted(fails(llm.ClassOverloaded), 4), says("hi")}, nil, "a a", []int64{4}},
		{"none at all", []step{fails(llm.ClassOverloaded), says("hi")}, nil, "a", nil},
		{"all fail", []step{counted(breaks(llm.ClassQuota, "h"), 5)}, []step{fails(llm.ClassQuota)}, "a b", []int64{5}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(map[string][]step{"a": tc.a, "b": tc.b})
				var built []string
				build := func(t llm.Target) (llm.Request, error) {
					built = append(built, t.Provider)
					return llm.Request{Target: t}, nil
				}
				var got []int64
				for e := range w.set.For("a", []string{"b"}).Stream(t.Context(), "", false, build) {
					if e.Type == llm.EventUsage {
						t.Error("what a call used so far was passed on")
					}
					if e.Type == llm.EventDropped && e.Usage == nil {
						got = append(got, -1)
					} else if e.Type == llm.EventDropped {
						got = append(got, e.Usage.Input)
					}
				}
				if d := cmp.Diff(tc.want, got); d != "" || strings.Join(built, " ") != tc.built {
					t.Errorf("dropped (-want +got):\n%s, built for %q, want %q", d, built, tc.built)
				}
			})
		})
	}
}
