package selection_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/engine/selection"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// fake is a tool that is only looked at.
type fake struct{ def tool.Definition }

func (f fake) Definition() tool.Definition { return f.def }
func (f fake) Execute(context.Context, tool.Call) (tool.Result, error) {
	return tool.Result{}, nil
}

// shop is a catalog of tools about things nobody else speaks of, so that a
// message picks exactly those whose things it names.
var things = []string{
	"aardvark", "bassoon", "cormorant", "dulcimer", "escarpment", "fandango", "gargoyle", "harpsichord", "iguana", "jodhpurs",
	"kumquat", "lighthouse", "mandolin", "narwhal", "obelisk", "pangolin", "quince", "rhubarb", "sextant", "tamarind",
	"ukulele", "vermouth", "wombat", "xylophone", "yarrow", "zeppelin",
}

// bench picks for one session, turn after turn.
type bench struct {
	t     *testing.T
	sel   *selection.Selector
	reg   *tool.Registry
	hide  map[string]bool
	state tool.State
	turns int
	facts tool.Facts
}

func set(t *testing.T, o selection.Options) *bench {
	t.Helper()
	b := &bench{t: t, reg: tool.NewRegistry(), hide: map[string]bool{}, facts: tool.Facts{Agent: "main", Session: "s", Origin: tool.FromChat}}
	o.Enabled = true
	b.sel = selection.New(o)
	b.add(tool.Owner{Kind: tool.FamilyOwner, ID: "core"},
		tool.Definition{Name: "memory_get", Traits: tool.Traits{Core: true}}, tool.Definition{Name: "calc", Traits: tool.Traits{Internal: true}},
		tool.Definition{Name: "web_fetch"}, tool.Definition{Name: "sop_edit"}, tool.Definition{Name: "file_read"}, tool.Definition{Name: "spreadsheet"},
		tool.Definition{Name: "goclaw_docs"}, tool.Definition{Name: "subagents"}, tool.Definition{Name: "skill_read"},
		tool.Definition{Name: "enter_plan_mode"}, tool.Definition{Name: "exit_plan_mode"},
		tool.Definition{Name: "undo", Traits: tool.Traits{Inverse: true, Core: true}})
	b.reg.Add(tool.Owner{Kind: tool.CoreOwner, ID: "selection"}, b.sel.Tools(b.reg.Catalog)...)
	var defs []tool.Definition
	for _, thing := range things {
		defs = append(defs, tool.Definition{Name: "t_" + thing, Description: "Polishes one " + thing + "."})
	}
	b.add(tool.Owner{Kind: tool.PluginOwner, ID: "shop"}, defs...)
	return b
}

func (b *bench) add(owner tool.Owner, defs ...tool.Definition) {
	b.t.Helper()
	for _, d := range defs {
		d.Description, d.Parameters = cmp.Or(d.Description, "Nothing else."), []byte(`{"type":"object"}`)
		if notes := b.reg.Add(owner, fake{d}); len(notes) > 0 {
			b.t.Fatal(notes)
		}
	}
}

// request offers tools in a run; the state is that of the last request that was
// answered.
func (b *bench) request(run string, idle time.Duration, parts ...llm.Part) selection.Choice {
	b.t.Helper()
	cat := b.reg.Catalog()
	var permitted []*tool.Entry
	for _, e := range cat.Entries {
		if !b.hide[e.Def.Name] {
			permitted = append(permitted, e)
		}
	}
	f := b.facts
	f.Run = run
	return b.sel.Select(b.t.Context(), selection.Request{
		Catalog: cat, Permitted: permitted, Scope: tool.NewScope(f), State: b.state,
		Ask: tool.Ask{Message: llm.Message{Role: llm.User, Parts: parts}, Idle: idle},
	})
}

// turn offers tools for a message about some things, and takes in that the
// request was answered.
func (b *bench) turn(idle time.Duration, words ...string) selection.Choice {
	b.t.Helper()
	b.turns++
	c := b.request(fmt.Sprint("run", b.turns), idle, llm.Text(strings.Join(words, " ")))
	b.state = c.State
	if len(c.Picks) != len(c.Offered) {
		b.t.Errorf("%d picks for %d tools", len(c.Picks), len(c.Offered))
	}
	for i, p := range c.Picks {
		if p.Tool != c.Offered[i].Def.Name || p.Why == "" {
			b.t.Errorf("pick %d of %s is %+v", i, c.Offered[i].Def.Name, p)
		}
	}
	return c
}

func shownIn(c selection.Choice) []string { return tool.Names(c.Offered) }

// why is what is told of each tool, in order.
func why(c selection.Choice) string {
	list := make([]string, len(c.Picks))
	for i, p := range c.Picks {
		list[i] = p.Tool + ":" + string(p.Why)
	}
	return strings.Join(list, " ")
}

func prior(names ...string) func(context.Context) []string {
	return func(context.Context) []string { return names }
}

func TestTheFirstListOfASession(t *testing.T) {
	t.Parallel()
	b := set(t, selection.Options{TopK: 3, UsagePrior: 2, Core: []string{"t_wombat", "plugin:other", "t_q*"}, Prior: prior("calc", "gone", "t_iguana", "t_yarrow", "t_zeppelin")})
	c := b.turn(0, "rhubarb with narwhal and see https://example.org about it")
	want := "memory_get:core calc:internal t_wombat:configured t_quince:configured web_fetch:contents " +
		"subagents:pinned search_tools:pinned skill_read:pinned goclaw_docs:pinned t_iguana:prior t_yarrow:prior t_narwhal:message t_rhubarb:message"
	if got := why(c); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, p := range c.Picks {
		if (p.Why == tool.ForMessage) != (p.Score > 0) || (p.Score > 0) != (len(p.Reasons) > 0) {
			t.Errorf("%+v", p)
		}
	}
	// At most so many, the best first.
	c = set(t, selection.Options{TopK: 3}).turn(0, things...)
	if got := len(shownIn(c)); got != 6+3 {
		t.Errorf("%d tools: %s", got, why(c))
	}
}

func TestContentsCallForTools(t *testing.T) {
	t.Parallel()
	file := func(mime string) llm.Part {
		return llm.Part{Kind: llm.KindFile, Text: "[attached]", Media: &llm.Media{MIME: mime}}
	}
	for _, c := range []struct {
		part llm.Part
		want []string
	}{
		{file("text/plain; charset=utf-8"), []string{"file_read"}},
		{file("text/csv"), []string{"file_read", "spreadsheet"}},
		{file("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"), []string{"file_read", "spreadsheet"}},
		{llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png"}}, []string{"file_read"}},
		{file("audio/mpeg"), nil},
		{llm.Text("read HTTPS://Example.org/x please"), []string{"web_fetch"}},
		{llm.Text("please change the deploy SOP"), []string{"sop_edit"}},
		{llm.Text("add a step to our onboarding procedure"), []string{"sop_edit"}},
		{llm.Text("change the isopod"), nil},
		{llm.Text("what is a sop?"), nil},
		{llm.Part{Kind: llm.KindContext, Text: "see https://example.org"}, nil}, // the host's word
	} {
		var got []string
		for _, p := range set(t, selection.Options{TopK: 12}).request("r", 0, c.part).Picks {
			if p.Why == tool.ForContents {
				got = append(got, p.Tool)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.part, got, c.want)
		}
	}
}

func TestASessionKeepsItsList(t *testing.T) {
	t.Parallel()
	b := set(t, selection.Options{TopK: 12, Prior: prior()})
	first := shownIn(b.turn(0, things[:3]...))
	second := b.turn(time.Minute, things[2:6]...)
	if got := shownIn(second); !slices.Equal(got[:len(first)], first) || !slices.Equal(got[len(first):], []string{"t_dulcimer", "t_escarpment", "t_fandango"}) {
		t.Errorf("%v, then %v", first, got)
	}
	if got := why(second); !strings.Contains(got, "t_aardvark:kept t_bassoon:kept t_cormorant:message t_dulcimer:message") {
		t.Error(got)
	}
	// What is not permitted any more leaves at once and has no place to return to.
	b.hide["t_bassoon"] = true
	third := b.turn(0, "bassoon")
	if got := shownIn(third); slices.Contains(got, "t_bassoon") || len(got) != len(first)+3-1 {
		t.Errorf("%v", got)
	}
	b.hide["t_bassoon"] = false
	if got := shownIn(b.turn(0, "thanks")); slices.Contains(got, "t_bassoon") {
		t.Errorf("%v", got)
	}
	if got := shownIn(b.turn(0, "bassoon")); got[len(got)-1] != "t_bassoon" {
		t.Errorf("%v", got)
	}
	if len(third.Notices)+len(second.Notices) > 0 {
		t.Errorf("%v %v", second.Notices, third.Notices)
	}
}

// The bounds are exact: nine that are picked no more, and an hour.
func TestAListBeginsAnew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unpicked int
		idle     time.Duration
		anew     bool
	}{
		{0, time.Minute, false},
		{8, time.Hour - 1, false},
		{9, 0, true},
		{8, time.Hour, true},
		{0, time.Hour, true},
		{0, 48 * time.Hour, true},
	} {
		b := set(t, selection.Options{TopK: 12, Prior: prior()})
		first := b.turn(0, things[:10]...)
		next := b.turn(c.idle, append([]string{"zeppelin"}, things[c.unpicked:10]...)...)
		kept := len(next.Offered) >= len(first.Offered) && slices.Equal(shownIn(next)[:len(first.Offered)], shownIn(first))
		if !kept && !c.anew || (len(next.Notices) > 0) != c.anew {
			t.Errorf("%+v: %s %v", c, why(next), next.Notices)
		}
		if c.anew {
			own := set(t, selection.Options{TopK: 12, Prior: prior()})
			if want := shownIn(own.turn(0, append([]string{"zeppelin"}, things[c.unpicked:10]...)...)); !slices.Equal(shownIn(next), want) {
				t.Errorf("%+v: %v, want %v", c, shownIn(next), want)
			}
		}
	}
}

func TestContinuity(t *testing.T) {
	t.Parallel()
	b := set(t, selection.Options{TopK: 12, Prior: prior()})
	b.turn(0, things[:10]...)
	b.state = b.state.Using("t_aardvark").Using("t_bassoon")
	// Ten tools would be picked no more, but for the two that were used.
	if c := b.turn(0, "zeppelin"); len(c.Notices) > 0 || !strings.Contains(why(c), "t_aardvark:continuity t_bassoon:continuity t_cormorant:kept") {
		t.Errorf("%s %v", why(c), c.Notices)
	}
	// That turn used nothing, so nothing goes on.
	if c := b.turn(0, "zeppelin"); len(c.Notices) != 1 || slices.Contains(shownIn(c), "t_aardvark") {
		t.Errorf("%s %v", why(c), c.Notices)
	}
}

// What speaks for no tool goes on with what was spoken of, until nobody knows any
// more what that was.
func TestAMessageThatSpeaksForNoToolGoesOn(t *testing.T) {
	t.Parallel()
	b := set(t, selection.Options{TopK: 12, Prior: prior()})
	first := shownIn(b.turn(0, things[:12]...))
	for _, says := range []string{"yes please, go on", "and the other one?", "ok"} {
		if c := b.turn(time.Hour-1, says); !slices.Equal(shownIn(c), first) || len(c.Notices) > 0 {
			t.Errorf("%s: %s %v", says, why(c), c.Notices)
		}
	}
	if got := why(b.request("look", 0, llm.Text("ok"))); !strings.Contains(got, "t_aardvark:continuity") {
		t.Error(got)
	}
	if c := b.turn(time.Hour, "ok"); slices.Contains(shownIn(c), "t_aardvark") || len(c.Notices) != 1 {
		t.Errorf("%s %v", why(c), c.Notices)
	}
}

// A tool that a message speaks for about as well as for one that is there
// joins, one that it hardly speaks for doesn't, unless others do.
func TestWhatJoinsAListThatIsKept(t *testing.T) {
	t.Parallel()
	b := set(t, selection.Options{TopK: 12, Prior: prior()})
	b.turn(0, "wombat")
	if c := b.turn(0, "a wombat and a zeppelin"); !slices.Contains(shownIn(c), "t_zeppelin") {
		t.Error(why(c))
	}
	b.add(tool.Owner{Kind: tool.PluginOwner, ID: "late"}, tool.Definition{Name: "feed", Description: "Feeds what lives near a wombat, an otter, a heron, a badger or some other creature of the river and the wood."})
	own := b.sel.Select(t.Context(), selection.Request{Catalog: b.reg.Catalog(), Permitted: b.reg.Catalog().Entries, Scope: tool.NewScope(b.facts), Ask: tool.Ask{Message: llm.UserMessage("polish one wombat")}})
	if !slices.Contains(shownIn(own), "feed") {
		t.Fatal("the test is of no use: the message doesn't pick it")
	}
	if c := b.turn(0, "polish one wombat"); slices.Contains(shownIn(c), "feed") {
		t.Error(why(c))
	}
	if c := b.turn(0, "polish one wombat and an iguana"); !slices.Contains(shownIn(c), "feed") || !slices.Contains(shownIn(c), "t_iguana") {
		t.Error(why(c))
	}
}

func TestLaterRequestsOfATurn(t *testing.T) {
	t.Parallel()
	b := set(t, selection.Options{TopK: 12, Prior: prior()})
	first := b.turn(0, "aardvark")
	b.state = b.state.Apply(tool.Effect{Kind: tool.ToolAdded, Key: "t_zeppelin"}, tool.Effect{Kind: tool.PlanMode, Value: "on"}).Using("search_tools")
	again := b.request("run1", 3*time.Hour, llm.Text("bassoon"))
	if want := append(shownIn(first), "t_zeppelin", "exit_plan_mode"); !slices.Equal(shownIn(again), want) || why(again) != "t_zeppelin:search exit_plan_mode:pinned" {
		t.Errorf("%v %s", shownIn(again), why(again))
	}
	b.state = again.State
	if c := b.request("run1", 0, llm.Text("aardvark")); !slices.Equal(shownIn(c), shownIn(again)) || c.Picks != nil {
		t.Errorf("%v %s", shownIn(c), why(c))
	}
	// Another target of the same turn may permit less; what it doesn't is not offered.
	b.hide["t_aardvark"] = true
	if c := b.request("run1", 0, llm.Text("aardvark")); slices.Contains(shownIn(c), "t_aardvark") || len(c.Offered) != len(again.Offered)-1 {
		t.Errorf("%v", shownIn(c))
	}
	b.hide["t_aardvark"] = false
	// In the next turn what was added keeps its place, and plan mode what ends it.
	b.state = b.state.Apply(tool.Effect{Kind: tool.PlanMode, Value: "off"})
	next := b.turn(0, "cormorant")
	if want := append(shownIn(again), "t_cormorant"); !slices.Equal(shownIn(next), want) || len(b.state.Added) > 0 {
		t.Errorf("%v %v", shownIn(next), b.state.Added)
	}
	if !strings.Contains(why(next), "t_zeppelin:kept exit_plan_mode:kept") {
		t.Error(why(next))
	}
}

func TestPlanModePinsWhatEndsIt(t *testing.T) {
	t.Parallel()
	b := set(t, selection.Options{TopK: 12})
	if c := b.turn(0, "exit_plan_mode now"); slices.Contains(shownIn(c), "exit_plan_mode") {
		t.Error(why(c))
	}
	b = set(t, selection.Options{TopK: 12})
	b.state.Plan = true
	if c := b.turn(0, "hello"); !strings.Contains(why(c), "exit_plan_mode:pinned") {
		t.Error(why(c))
	}
}

// The first request of a turn gives the same list from the same state, however
// often it is made.
func TestTheSameStateGivesTheSameList(t *testing.T) {
	t.Parallel()
	b := set(t, selection.Options{TopK: 12})
	b.turn(0, things[:5]...)
	b.state = b.state.Using("t_bassoon")
	one, two := b.request("next", 0, llm.Text("dulcimer narwhal")), b.request("next", 0, llm.Text("dulcimer narwhal"))
	if !slices.Equal(shownIn(one), shownIn(two)) || why(one) != why(two) || !one.State.Equal(two.State) {
		t.Errorf("%s\n%s", why(one), why(two))
	}
}

func TestRunsWithListsOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, origin := range []tool.Origin{tool.FromCron, tool.FromSOP} {
		b := set(t, selection.Options{TopK: 12, Prior: prior()})
		person := shownIn(b.turn(0, "aardvark"))
		b.facts.Origin = origin
		own := b.turn(0, "bassoon")
		if got := shownIn(own); slices.Contains(got, "t_aardvark") || !slices.Contains(got, "t_bassoon") {
			t.Errorf("%s: %v", origin, got)
		}
		b.state = b.state.Apply(tool.Effect{Kind: tool.ToolAdded, Key: "t_zeppelin"})
		if got, want := shownIn(b.request("run2", 0, llm.Text("bassoon"))), append(shownIn(own), "t_zeppelin"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", origin, got, want)
		}
		b.facts.Origin = tool.FromChat
		if got := shownIn(b.turn(0, "aardvark")); !slices.Equal(got, person) {
			t.Errorf("%s: %v, want %v", origin, got, person)
		}
	}
}

func TestWithoutSelectionTheSessionsListStays(t *testing.T) {
	t.Parallel()
	b := set(t, selection.Options{TopK: 1, Prior: prior()})
	list := shownIn(b.turn(0, "aardvark"))
	b.facts.Declared = tool.Only("t_bassoon", "calc")
	for name := range map[string]bool{"memory_get": true, "web_fetch": true, "file_read": true} {
		b.hide[name] = true // the layer declared does that
	}
	got := why(b.turn(0, "aardvark"))
	if !strings.HasPrefix(got, "calc:declared ") || !strings.Contains(got, "t_bassoon:declared") {
		t.Error(got)
	}
	clear(b.hide)
	b.facts.Declared = tool.List{}
	if got := shownIn(b.turn(0, "aardvark")); !slices.Equal(got, list) {
		t.Errorf("%v, want %v", got, list)
	}
}

// What was installed on purpose is shown where it is little.
func TestFewToolsAreShownWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hidden int
		shown  bool
	}{{len(things) - 3, true}, {len(things) - 10, true}, {0, false}} {
		b := set(t, selection.Options{TopK: 12, UsagePrior: 6})
		for _, thing := range things[:c.hidden] {
			b.hide["t_"+thing] = true
		}
		got := why(b.turn(0, "hello"))
		if strings.Contains(got, "t_zeppelin:few") != c.shown || strings.Contains(got, "sop_edit") || !strings.Contains(got, "file_read:everyday") {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
