package selection_test

import (
	"testing"

	"github.com/goclaw/goclaw/internal/engine/selection"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// What selection leaves out says at which rank it stands, which setting drew
// the line, and what brings it in.
func TestWhyAToolIsLeftOut(t *testing.T) {
	t.Parallel()
	at := source.Pos{Key: "agents.list[main].tools.rag.top_k", File: "/home/config.yaml", Line: 7}
	b := set(t, selection.Options{TopK: 1, TopKAt: at, CoreAt: source.Pos{Key: "agents.list[main].tools.core"}})
	const brings = `name t_wombat in the message, or add "t_wombat" to agents.list[main].tools.core; in a run, search_tools finds it`
	for _, c := range []struct {
		name, message, tool string
		want                selection.Missed
	}{
		{"behind the limit", "t_aardvark, and then a wombat", "t_wombat", selection.Missed{
			Detail: "rank 2 of the 2 that fit the message, and agents.list[main].tools.rag.top_k is 1", Where: at,
			Fix: "raise agents.list[main].tools.rag.top_k to 2, " + brings,
		}},
		{"no word fits", "an aardvark", "t_wombat", selection.Missed{Detail: "no word of the message fits it; 1 others fit", Fix: brings}},
		{"no word at all", "go on", "t_wombat", selection.Missed{Detail: "the message speaks for no tool that isn't pinned", Fix: brings}},
		{"its condition", "an aardvark", "exit_plan_mode", selection.Missed{
			Detail: "it is shown while plan mode is on, and it is off in this session", Fix: "nothing has to be done: enter_plan_mode, or /plan in a chat, brings it",
		}},
		{"no model's", "an aardvark", "undo", selection.Missed{
			Detail: "it undoes what another tool did and is never offered to a model", Fix: "call it yourself",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cat := b.reg.Catalog()
			r := selection.Request{
				Catalog: cat, Permitted: cat.Entries, Scope: tool.NewScope(tool.Facts{Agent: "main", Run: "r"}),
				Ask: tool.Ask{Message: llm.UserMessage(c.message)},
			}
			choice := b.sel.Select(t.Context(), r)
			if _, in := tool.Find(choice.Offered, c.tool); in {
				t.Fatal("it is not left out")
			}
			e, _ := cat.Find(c.tool)
			if got := b.sel.Missing(r, choice)(e); got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// Where no message picks anything, none is told to name a tool.
func TestNamingIsNoFixWhereNothingIsPicked(t *testing.T) {
	t.Parallel()
	b := set(t, selection.Options{TopK: 0})
	cat := b.reg.Catalog()
	r := selection.Request{
		Catalog: cat, Permitted: cat.Entries, Scope: tool.NewScope(tool.Facts{Agent: "main", Run: "r"}),
		Ask: tool.Ask{Message: llm.UserMessage("t_wombat")},
	}
	e, _ := cat.Find("t_wombat")
	const want = `raise tools.rag.top_k to 1, or add "t_wombat" to tools.core; in a run, search_tools finds it`
	if got := b.sel.Missing(r, b.sel.Select(t.Context(), r))(e); got.Fix != want {
		t.Errorf("got %+v", got)
	}
}

// Where nothing is picked since there is no message, a tool that a request
// would not show is not shown either.
func TestPlanModeIsNotLeftBeforeItBegan(t *testing.T) {
	t.Parallel()
	b := set(t, selection.Options{TopK: 1})
	for plan, want := range map[bool]bool{false: false, true: true} {
		b.state.Plan = plan
		if _, in := tool.Find(b.request("", 0).Offered, selection.ExitPlanMode); in != want {
			t.Errorf("plan mode %v: exit_plan_mode is offered: %v", plan, in)
		}
	}
}
