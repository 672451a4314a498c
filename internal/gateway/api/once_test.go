package api

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/agent"
)

// Whatever happens, in whatever order: each tab is told each event of each run
// of its session once and in order, whether it stays, comes again behind what it
// saw, or reads slowly.
func TestTabsAreToldEverythingOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { tellEverythingOnce(t, rand.New(rand.NewPCG(seed, 7))) })
		})
	}
}

func tellEverythingOnce(t *testing.T, random *rand.Rand) {
	// Few finished runs stay in memory, so that some are told from the record.
	r := newRig(t, rigOptions{keep: 1 + random.IntN(4)})
	const query = "?session=s"
	steady := []*tab{r.openTab(t, "bob", query, ""), r.openSlowTab(t, "ada", query, "", time.Duration(random.IntN(100))*time.Millisecond)}
	restless := r.openTab(t, "bob", query, "")
	var seen []sseEvent // by the restless one
	var last string
	comeAgain := func() {
		synctest.Wait() // without an event to go on behind, a page reads the turns anew
		restless.leave()
		seen = append(seen, ofRuns(restless.take())...)
		if restless.sse.last != "" {
			last = restless.sse.last
		}
		restless = r.openTab(t, "bob", query, last)
	}
	var runs []Run
	for i := range 40 {
		switch n := random.IntN(10); {
		case n < 5:
			text := fmt.Sprintf("message %d %s", i, strings.Repeat("w ", random.IntN(30)))
			r.model.on(strings.TrimSpace(text), reply{text: fmt.Sprintf("answer %d and so on. ", i), every: time.Duration(random.IntN(3)) * 7 * time.Millisecond})
			busy := []string{"", "queue", "interrupt", "steer"}[random.IntN(4)]
			runs = append(runs, r.post("bob", StartRun{Session: "s", Message: strings.TrimSpace(text), WhileBusy: busy}))
		case n == 5 && len(runs) > 0:
			// One that was withdrawn may be forgotten.
			r.send(t.Context(), "bob", "POST", "/api/runs/"+runs[random.IntN(len(runs))].ID+"/stop", nil).Body.Close()
		case n == 6:
			r.post("bob", StartRun{Session: "other", Message: "elsewhere"})
		case n == 7 && len(runs) > 0:
			comeAgain()
		default:
			time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
		}
	}
	time.Sleep(10 * time.Minute)
	comeAgain()
	synctest.Wait()
	restless.leave()
	seen = append(seen, ofRuns(restless.take())...)

	var page Turns
	r.call("bob", "GET", "/api/sessions/alpha/s/turns?limit=200", nil, http.StatusOK, &page)
	var want []string
	for _, turn := range page.Turns {
		want = append(want, turn.Run)
	}
	for i, events := range [][]sseEvent{ofRuns(steady[0].take()), ofRuns(steady[1].take()), seen} {
		told := tellings(t, events)
		var got []string
		for _, of := range told {
			if slices.Contains(want, of.run) {
				got = append(got, of.run)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("tab %d is told the runs (-want +got):\n%s", i, d)
		}
		for j, turn := range page.Turns {
			text := ""
			for _, round := range turn.Rounds {
				text += round.Text
			}
			var of telling
			for _, one := range told {
				if one.run == turn.Run {
					of = one
				}
			}
			if of.text != text || of.ends != 1 || of.status != turn.Status {
				t.Errorf("tab %d is told of turn %d: %q, %d ends, %s; want %q, %s", i, j, of.text, of.ends, of.status, text, turn.Status)
			}
		}
	}
	for _, tb := range steady {
		tb.leave()
	}
}

// telling is what was told of a run.
type telling struct {
	run    string
	text   string
	ends   int
	status agent.Status
}

// tellings takes the events of runs together by run, as a page does: what is
// told again from the record takes the place of what was told before.
func tellings(t *testing.T, events []sseEvent) []telling {
	t.Helper()
	var list []telling
	seq := map[string]int{}
	at := func(run string) *telling {
		for i := range list {
			if list[i].run == run {
				return &list[i]
			}
		}
		list = append(list, telling{run: run})
		return &list[len(list)-1]
	}
	for _, e := range events {
		switch e.event {
		case "run_queued", "run_opened":
			continue
		case "run_replayed":
			var k Kept
			if err := json.Unmarshal([]byte(e.data), &k); err != nil {
				t.Fatal(err)
			}
			*at(k.Run) = telling{run: k.Run}
			seq[k.Run] = 0
			continue
		}
		ev := e.agent(t)
		if e.id == "" {
			continue // it never began, or joined another
		}
		if ev.Seq <= seq[ev.Run] {
			t.Errorf("event %d of run %s comes after %d", ev.Seq, ev.Run, seq[ev.Run])
		}
		seq[ev.Run] = ev.Seq
		of := at(ev.Run)
		if len(list) > 0 && list[len(list)-1].run != ev.Run {
			t.Errorf("events of run %s come after those of the next", ev.Run)
		}
		switch {
		case ev.Type == agent.TokenChunk:
			of.text += ev.Text
		case ev.End != nil:
			of.ends++
			of.status = ev.End.Status
		}
	}
	return list
}
