package gateway_test

import (
	"testing"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
)

const noTools = "tools: {deny: ['*']}\n"

// rounds lists the rounds of a session's turns.
func (r *rig) rounds(id string) (all []llm.Reply) {
	r.t.Helper()
	turns, err := r.Sessions.Turns(r.t.Context(), session.Key{Agent: "main", ID: id}, 1, 0, session.Whole)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, turn := range turns {
		for _, round := range turn.Rounds {
			all = append(all, round.Reply)
		}
	}
	return all
}

func TestAnEqualFirstMessageIsAnsweredWithoutAModel(t *testing.T) {
	t.Parallel()
	r := setup(t, noTools, fakellm.Text("one"), fakellm.Text("two"), fakellm.Text("three"), fakellm.Text("four"))
	if got := r.say("a", "hi"); got.text != "one" || got.end.End.Cached {
		t.Fatalf("the first time: %q, cached %v", got.text, got.end.End.Cached)
	}
	r.close() // what is kept survives
	r.open()
	got := r.say("b", "hi")
	if got.text != "one" || !got.end.End.Cached || got.end.End.Usage != (llm.Usage{}) {
		t.Errorf("another session: %q, %+v", got.text, got.end.End)
	}
	if all := r.rounds("b"); len(all) != 1 || !all[0].Cached || all[0].Message.Text() != "one" || all[0].Usage != (llm.Usage{}) {
		t.Errorf("what is stored: %+v", all)
	}
	if got := r.say("a", "hi"); got.text != "two" || got.end.End.Cached {
		t.Errorf("the same message again, in the same session: %q", got.text)
	}
	other := admin("c", "hi")
	other.Caller.ID, other.Caller.Name = "bob", "Bob"
	if got := r.watch(r.start(other)); got.text != "three" || got.end.End.Cached {
		t.Errorf("another person, of whom the model is told: %q", got.text)
	}
	fresh := admin("d", "hi")
	fresh.Fresh = true
	if got := r.watch(r.start(fresh)); got.text != "four" || got.end.End.Cached {
		t.Errorf("one that is to be answered by a model: %q", got.text)
	}
}

func TestWithToolsEveryMessageIsForAModel(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{
		"tools are offered":    "",
		"all caches are off":   noTools + "cache: {enabled: false}\n",
		"this cache is off":    noTools + "cache: {llm_cache: {enabled: false}}\n",
		"nothing is kept long": noTools + "cache: {llm_cache: {ttl: 0}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, more, fakellm.Text("one"), fakellm.Text("two"))
			if a, b := r.say("a", "hi"), r.say("b", "hi"); a.text != "one" || b.text != "two" || b.end.End.Cached {
				t.Errorf("answered %q and %q", a.text, b.text)
			}
		})
	}
}
