package session_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/agent/session/sessiontest"
	"github.com/goclaw/goclaw/internal/llm"
)

func one(llm.Message) int { return 1 }

// round is a reply that calls tools, and the results.
func round(ids ...string) []llm.Message {
	reply := llm.AssistantMessage("look")
	results := llm.Message{Role: llm.Results}
	for _, id := range ids {
		reply.Parts = append(reply.Parts, llm.Part{Kind: llm.KindCall, Call: &llm.ToolCall{ID: id, Name: "calc"}})
		results.Parts = append(results.Parts, llm.Part{Kind: llm.KindResult, Result: &llm.ToolResult{
			CallID: id, Name: "calc", Content: []llm.Part{llm.Text("2")},
		}})
	}
	return []llm.Message{reply, results}
}

func host(text string) llm.Message {
	return llm.Message{Role: llm.User, Parts: []llm.Part{{Kind: llm.KindContext, Text: text}}}
}

// TestTrimAnyLength: 50 turns of a person, a call and its result, at every
// length from 3 to 150.
func TestTrimAnyLength(t *testing.T) {
	t.Parallel()
	var all []llm.Message
	for i := range 50 {
		all = append(all, llm.UserMessage(fmt.Sprint("ask ", i)))
		all = append(all, round(fmt.Sprint("c", i))...)
	}
	for length := 3; length <= 150; length++ {
		kept, dropped := session.Trim(all, length, one)
		if err := sessiontest.Valid(kept); err != nil {
			t.Errorf("length %d: %v", length, err)
		}
		if len(kept) > length || len(kept)+dropped != len(all) {
			t.Errorf("length %d: kept %d and dropped %d of %d", length, len(kept), dropped, len(all))
		}
		if !slices.ContainsFunc(kept, func(m llm.Message) bool { return m.Text() == "ask 49" }) {
			t.Errorf("length %d: the newest message is gone", length)
		}
	}
}

// thread draws a thread as the loop makes them: turns of rounds, some of them
// begun by words of the host or of the person, the last one cut anywhere.
func thread(t *rapid.T) []llm.Message {
	var all []llm.Message
	text := func() string { return strings.Repeat("x", rapid.IntRange(1, 40).Draw(t, "size")) }
	for n := range rapid.IntRange(1, 30).Draw(t, "turns") {
		all = append(all, llm.UserMessage(text()))
		rounds := rapid.IntRange(0, 5).Draw(t, "rounds")
		for r := range rounds {
			switch rapid.IntRange(0, 6).Draw(t, "before") {
			case 0:
				all = append(all, host(text()))
			case 1:
				all = append(all, llm.UserMessage(text()), host(text()))
			}
			m := round(fmt.Sprintf("c%d_%d", n, r), fmt.Sprintf("d%d_%d", n, r))
			m[1].Parts[0].Result.Content[0].Text = text()
			all = append(all, m...)
		}
		all = append(all, llm.AssistantMessage(text()))
	}
	// What goes to a model ends with a person's message or with results.
	cut := rapid.IntRange(0, len(all)-1).Draw(t, "cut")
	for cut > 0 && all[cut].Role == llm.Assistant {
		cut--
	}
	return all[:cut+1]
}

func size(m llm.Message) int {
	n := 0
	for _, p := range m.Parts {
		n += 1 + len(p.Text)
		if p.Result != nil {
			n += len(p.Result.Content[0].Text)
		}
	}
	return n
}

func total(messages []llm.Message) int {
	n := 0
	for _, m := range messages {
		n += size(m)
	}
	return n
}

func byPerson(m llm.Message) bool {
	return m.Role == llm.User && m.Parts[0].Kind == llm.KindText
}

func TestTrimProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := thread(t)
		budget := rapid.IntRange(0, 600).Draw(t, "budget")
		kept, dropped := session.Trim(all, budget, size)
		if err := sessiontest.Valid(kept); err != nil {
			t.Fatal(err)
		}
		if len(kept)+dropped != len(all) {
			t.Fatalf("kept %d and dropped %d of %d", len(kept), dropped, len(all))
		}
		// The newest message of a person stays, and so does the end.
		newest := len(all) - 1
		for !byPerson(all[newest]) {
			newest--
		}
		person := slices.IndexFunc(kept, func(m llm.Message) bool { return &m.Parts[0] == &all[newest].Parts[0] })
		if person < 0 {
			t.Fatal("the newest message of a person is gone")
		}
		if &kept[len(kept)-1].Parts[0] != &all[len(all)-1].Parts[0] {
			t.Fatal("the end is gone")
		}
		if total(kept) <= budget {
			return
		}
		// Too large: then only the newest turn's head and last round are left.
		if person > 0 && byPerson(kept[0]) && kept[person-1].Role != llm.User {
			t.Fatalf("%d over %d, and an older turn is still there", total(kept), budget)
		}
		rounds := 0
		for _, m := range kept[person:] {
			if m.Role == llm.Assistant {
				rounds++
			}
		}
		if rounds > 1 {
			t.Fatalf("%d over %d, and %d rounds are still there", total(kept), budget, rounds)
		}
	})
}

// TestTrimHoldsItsPlace: while a thread grows, what is kept grows at its end
// alone, but for few cuts, each of which makes much room.
func TestTrimHoldsItsPlace(t *testing.T) {
	t.Parallel()
	var all, before []llm.Message
	cuts, calls := 0, 0
	for i := range 300 {
		all = append(all, llm.UserMessage(fmt.Sprint("ask ", i)))
		all = append(all, round(fmt.Sprint("c", i))...)
		// The budget varies a little, as it does when other tools are offered.
		kept, _ := session.Trim(all, 100+i%4, one)
		calls++
		if !samePrefix(before, kept) {
			cuts++
			if len(kept) > 60 {
				t.Errorf("turn %d: %d of 100 kept right after a cut", i, len(kept))
			}
		}
		before = kept
		all = append(all, llm.AssistantMessage("done"))
		before = append(slices.Clip(before), all[len(all)-1])
	}
	if cuts > calls/9 {
		t.Errorf("%d cuts in %d calls", cuts, calls)
	}
	if cuts == 0 {
		t.Error("nothing was cut")
	}
}

func samePrefix(short, long []llm.Message) bool {
	if len(short) > len(long) {
		return false
	}
	for i := range short {
		if &short[i].Parts[0] != &long[i].Parts[0] {
			return false
		}
	}
	return true
}

func TestTrimWithinTurn(t *testing.T) {
	t.Parallel()
	all := []llm.Message{llm.UserMessage("old"), llm.AssistantMessage("done"), llm.UserMessage("new")}
	for i := range 20 {
		all = append(all, round(fmt.Sprint("c", i))...)
	}
	kept, dropped := session.Trim(all, 20, one)
	if err := sessiontest.Valid(kept); err != nil {
		t.Error(err)
	}
	if kept[0].Text() != "new" || len(kept) > 20 || len(kept) < 9 || dropped != len(all)-len(kept) {
		t.Errorf("kept %d from %q, dropped %d", len(kept), kept[0].Text(), dropped)
	}
	// What answers nothing is left out even when there is room.
	kept, dropped = session.Trim(append([]llm.Message{round("x")[1]}, all...), 1000, one)
	if len(kept) != len(all) || dropped != 1 {
		t.Errorf("kept %d, dropped %d", len(kept), dropped)
	}
	if kept, dropped = session.Trim(nil, 10, one); len(kept) != 0 || dropped != 0 {
		t.Errorf("of nothing: kept %d, dropped %d", len(kept), dropped)
	}
}

func BenchmarkTrim(b *testing.B) {
	for _, turns := range []int{10, 100, 1000} {
		var all []llm.Message
		for i := range turns {
			all = append(all, llm.UserMessage(fmt.Sprint("ask ", i)))
			all = append(all, round(fmt.Sprint("c", i))...)
		}
		b.Run(fmt.Sprint(turns, "turns"), func(b *testing.B) {
			for b.Loop() {
				session.Trim(all, 2*turns, one)
			}
		})
	}
}
