package api

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
)

// What is stored of a run can be older than what this process knows: it was
// read just before the end, or the end could not be stored.
func TestARunThatEndedSaysHow(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	r.model.on("works", reply{text: "there"})
	r.model.on("fails", reply{err: errors.New("the model is asleep")})
	for message, status := range map[string]agent.Status{"works": agent.Done, "fails": agent.Failed} {
		id := r.say("bob", message, message)[0].agent(t).Run
		f, err := r.Server.findRun(context.Background(), Caller{Principal: bob}, id, session.Heads)
		if err != nil {
			t.Fatal(err)
		}
		want := f.told()
		if want.State != RunEnded || want.Status != status || (want.Error != "") != (status == agent.Failed) || want.Ended.IsZero() {
			t.Fatalf("the run is told as %+v", want)
		}
		f.stored.Status, f.stored.Error, f.stored.Ended = agent.Running, "", time.Time{}
		got := f.told()
		if got.Ended.IsZero() {
			t.Errorf("a run that is %s has no end", status)
		}
		got.Ended = want.Ended // the record has it to the millisecond
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("a run that is %s (-want +got):\n%s", status, d)
		}
	}
}

func TestNoListTellsAnEndedRunAsRunning(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	r.model.on("go", reply{text: "there"})
	id := r.say("bob", "s", "go")[0].agent(t).Run
	stored, _, err := r.sessions.Runs(context.Background(), session.RunFilter{Run: id, Limit: 1})
	if err != nil || len(stored) != 1 {
		t.Fatal(stored, err)
	}
	// Its end could not be stored.
	stored[0].Status, stored[0].Ended = agent.Running, time.Time{}
	if got := r.Server.listed(stored[0]); got.State != RunEnded || got.Status != agent.Done || got.Ended.IsZero() {
		t.Errorf("the list of runs has %+v", got)
	}
	r.Server.opts.Sessions = behind{r.sessions}
	var page Turns
	r.call("bob", "GET", "/api/sessions/alpha/s/turns", nil, http.StatusOK, &page)
	if got := page.Turns[0]; got.Status != agent.Done || got.Ended.IsZero() {
		t.Errorf("the list of turns has %+v", got)
	}
}

// behind is a store in which the ends of turns could not be stored.
type behind struct{ session.Store }

func (b behind) Turns(ctx context.Context, key session.Key, first, last int, depth session.Depth) ([]session.Turn, error) {
	turns, err := b.Store.Turns(ctx, key, first, last, depth)
	for i := range turns {
		turns[i].Status, turns[i].Ended = agent.Running, time.Time{}
	}
	return turns, err
}

// A page that gets a turn as ended asks for no more of it.
func TestATurnIsNotToldAsEndedWithoutItsAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	r.model.on("go", reply{text: "there"})
	r.say("bob", "s", "go")
	key := session.Key{Agent: "alpha", ID: "s"}
	turns, err := r.sessions.Turns(t.Context(), key, 1, 1, session.Whole)
	if err != nil {
		t.Fatal(err)
	}
	// As it was read a moment before its end.
	turns[0].Status, turns[0].Ended, turns[0].Rounds = agent.Running, time.Time{}, nil
	got, err := r.Server.turn(t.Context(), &sights{s: r.Server, c: Caller{Principal: bob}, key: key}, turns[0])
	if err != nil || got.Status != agent.Done || len(got.Rounds) != 1 || got.Rounds[0].Text != "there" {
		t.Errorf("told as %s with %d rounds, %v", got.Status, len(got.Rounds), err)
	}
}
