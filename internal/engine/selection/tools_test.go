package selection_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/engine/selection"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// desk is what a call of search_tools is lent: it permits all tools.
type desk struct {
	tool.Host
	reg *tool.Registry
}

func (d desk) Permitted() (list []tool.Definition) {
	for _, e := range d.reg.Catalog().Entries {
		list = append(list, e.Def)
	}
	return list
}

func (desk) Withheld() []tool.Removal { return nil }

// search calls search_tools in the state that the session is in, and takes in
// what it changes.
func (b *bench) search(query string) string {
	b.t.Helper()
	args, err := json.Marshal(map[string]any{"query": query, "limit": 1})
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := b.sel.Tools(b.reg.Catalog)[0].Execute(b.t.Context(), tool.Call{Args: args, Scope: tool.NewScope(b.facts), State: b.state, Host: desk{reg: b.reg}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.state = b.state.Apply(r.Effects...)
	return llm.JoinText(r.Content)
}

// What a run with a list of its own is shown is what stands in that, not in the
// session's.
func TestASearchKnowsTheListOfItsRun(t *testing.T) {
	t.Parallel()
	b := set(t, selection.Options{TopK: 12, Prior: prior()})
	b.turn(0, "zeppelin")
	b.facts.Origin = tool.FromCron
	b.turn(0, "wombat")
	const known = "was shown to you already"
	if got := b.search("zeppelin"); !strings.Contains(got, "t_zeppelin") || strings.Contains(got, known) {
		t.Errorf("in the list of the session: %s", got)
	}
	if got := shownIn(b.request("run2", 0, llm.Text("wombat"))); got[len(got)-1] != "t_zeppelin" {
		t.Errorf("then %v", got)
	}
	b.state.Added = nil
	if got := b.search("wombat"); !strings.Contains(got, "t_wombat") || !strings.Contains(got, known) || len(b.state.Added) > 0 {
		t.Errorf("in the run's own: %s %v", got, b.state.Added)
	}
	b.facts.Origin = tool.FromChat
	b.turn(0, "zeppelin")
	if got := b.search("zeppelin"); !strings.Contains(got, known) || len(b.state.Added) > 0 {
		t.Errorf("in the session's: %s", got)
	}
	if got := b.search("wombat"); strings.Contains(got, known) || len(b.state.Added) != 1 {
		t.Errorf("in the run's that is over: %s", got)
	}
}
