package api

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/llm"
)

// fork forks alpha/s.
func (r *rig) fork(who string, body Fork, headers ...header) Session {
	r.t.Helper()
	var out Session
	r.call(who, "POST", "/api/sessions/alpha/s/fork", body, http.StatusCreated, &out, headers...)
	return out
}

// said are the messages and answers of a session.
func (r *rig) said(who, session string) string {
	r.t.Helper()
	var page Turns
	r.call(who, "GET", "/api/sessions/alpha/"+session+"/turns", nil, http.StatusOK, &page)
	var words []string
	for _, t := range page.Turns {
		words = append(words, t.Message.Text())
		for _, round := range t.Rounds {
			words = append(words, round.Text)
		}
	}
	return strings.Join(words, "|")
}

func TestASessionIsForked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		defer r.stop()
		tab := r.openTab(t, "bob", "", "")
		defer tab.leave()
		other := r.openTab(t, "eve", "", "")
		defer other.leave()
		var runs []string
		for _, words := range []string{"one", "two", "three"} {
			r.model.on(words, reply{text: "A " + words})
			runs = append(runs, r.say("bob", "s", words)[0].agent(t).Run)
		}
		synctest.Wait()
		tab.take()

		after := r.fork("bob", Fork{Turn: "2"})
		synctest.Wait()
		if told := changes(t, tab.take()); len(told) != 1 || told[0].ID != after.ID || told[0].Turns != 2 {
			t.Errorf("bob's tab hears %+v", told)
		}
		if told := changes(t, other.take()); len(told) != 0 {
			t.Errorf("eve's tab hears %+v", told)
		}
		want := Session{
			Agent: "alpha", ID: after.ID, Title: "one (fork)", Origin: "api", Caller: after.Caller, Created: after.Created, Updated: after.Created,
			Turns: 2, USD: new(0.0), Status: "done", ForkOf: &session.Point{Session: "s", Turn: 2},
		}
		if d := cmp.Diff(want, after); d != "" || after.Caller.ID != "bob" || after.Usage != (llm.Usage{}) {
			t.Error(d)
		}
		for _, c := range []struct {
			body Fork
			want string
		}{
			{Fork{}, "one|A one|two|A two|three|A three"},
			{Fork{Turn: "1", Mode: ForkAfter}, "one|A one"},
			{Fork{Turn: runs[1]}, "one|A one|two|A two"},
			{Fork{Turn: runs[2], Mode: ForkBefore}, "one|A one|two|A two"},
			{Fork{Turn: "1", Mode: ForkBefore}, ""},
		} {
			if got := r.said("bob", r.fork("bob", c.body).ID); got != c.want {
				t.Errorf("%+v: the fork holds %q, want %q", c.body, got, c.want)
			}
		}

		// It goes on by itself, and a fork of it by the numbers of its turns.
		r.say("bob", after.ID, "other")
		if got := r.said("bob", after.ID); got != "one|A one|two|A two|other|other" {
			t.Errorf("the fork goes on: %q", got)
		}
		if got := r.said("bob", "s"); got != "one|A one|two|A two|three|A three" {
			t.Errorf("the session is now %q", got)
		}
		var page Turns
		r.call("bob", "GET", "/api/sessions/alpha/"+after.ID+"/turns", nil, http.StatusOK, &page)
		for i, turn := range page.Turns {
			if turn.Copied != (i < 2) || i < 2 && turn.Run != runs[i] {
				t.Errorf("turn %d: copied %v, run %s", turn.Number, turn.Copied, turn.Run)
			}
		}
		var list Runs
		r.call("bob", "GET", "/api/runs?session="+after.ID, nil, http.StatusOK, &list)
		if len(list.Runs) != 1 || list.Runs[0].Message.Text() != "other" {
			t.Errorf("its runs are %+v", list.Runs)
		}

		r.refused("bob", "POST", "/api/sessions/alpha/s/fork", Fork{Turn: "4"}, http.StatusNotFound, "not_found", "no turn 4")
		r.refused("bob", "POST", "/api/sessions/alpha/s/fork", Fork{Turn: "1", Mode: "within"}, http.StatusBadRequest, "bad_request", "after or before")
		r.refused("bob", "POST", "/api/sessions/alpha/s/fork", Fork{Mode: ForkBefore}, http.StatusBadRequest, "bad_request", "which turn")
		r.refused("eve", "POST", "/api/sessions/alpha/s/fork", Fork{}, http.StatusNotFound, "not_found", "no session")
	})
}

// What an admin forks stays its owner's.
func TestAForkIsItsOwners(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	r.say("bob", "s", "one")
	f := r.fork("ada", Fork{})
	if f.Caller.ID != "bob" {
		t.Errorf("the fork is %s's", f.Caller.ID)
	}
	r.call("bob", "GET", "/api/sessions/alpha/"+f.ID, nil, http.StatusOK, nil)
	r.refused("eve", "GET", "/api/sessions/alpha/"+f.ID, nil, http.StatusNotFound, "not_found")
}

func TestAForkOfASessionThatGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		defer r.stop()
		release, err := r.holds.Try(session.Key{Agent: "alpha", ID: "s"}) // so that it can't begin
		if err != nil {
			t.Fatal(err)
		}
		first := r.post("bob", StartRun{Session: "s", Message: "one"})
		r.refused("bob", "POST", "/api/sessions/alpha/s/fork", Fork{Turn: first.ID}, http.StatusConflict, "busy", "about to begin")
		release()
		synctest.Wait()
		r.model.on("two", reply{text: "a b", middle: make(chan struct{})})
		going := r.post("bob", StartRun{Session: "s", Message: "two"})
		synctest.Wait()
		waiting := r.post("bob", StartRun{Session: "s", Message: "three"})
		for _, turn := range []string{"2", going.ID} {
			r.refused("bob", "POST", "/api/sessions/alpha/s/fork", Fork{Turn: turn}, http.StatusConflict, "busy", "stop it")
			if got := r.said("bob", r.fork("bob", Fork{Turn: turn, Mode: ForkBefore}).ID); got != "one|one" {
				t.Errorf("before turn %s is %q", turn, got)
			}
		}
		r.refused("bob", "POST", "/api/sessions/alpha/s/fork", Fork{Turn: waiting.ID}, http.StatusConflict, "busy", "has not begun")
		if f := r.fork("bob", Fork{}); f.Turns != 1 || f.Status != "done" || f.Running != "" {
			t.Errorf("what has ended is %+v", f)
		}
	})
}

func TestAForkIsMadeOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	r.say("bob", "s", "one")
	key := header{"Idempotency-Key", "k1"}
	first := r.fork("bob", Fork{}, key)
	r.say("bob", first.ID, "two")
	again := r.fork("bob", Fork{}, key)
	if again.ID != first.ID || again.Turns != 2 {
		t.Errorf("the same request made %+v, then %+v", first, again)
	}
	if other := r.fork("bob", Fork{}, header{"Idempotency-Key", "k2"}); other.ID == first.ID {
		t.Error("another key is the same fork")
	}
	if ada := r.fork("ada", Fork{}, key); ada.ID == first.ID {
		t.Error("another person's key is the same fork")
	}
	var p Problem
	r.call("bob", "POST", "/api/sessions/alpha/s/fork", Fork{}, http.StatusBadRequest, &p, header{"Idempotency-Key", "ü"})
}
