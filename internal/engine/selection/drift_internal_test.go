package selection

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// listed is a tool that is only looked at.
type listed struct{ def tool.Definition }

func (l listed) Definition() tool.Definition { return l.def }
func (l listed) Execute(context.Context, tool.Call) (tool.Result, error) {
	return tool.Result{}, nil
}

// canonical is the name under which a tool of a labelled set is registered.
func canonical(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, strings.ToLower(name))
}

// registered is a catalog of the tools of labelled sets.
func registered(t *testing.T, sets ...string) (*tool.Catalog, []Query) {
	t.Helper()
	core := strings.Fields("memory_search memory_write memory_get message secret_get secret_list")
	internal := strings.Fields("read_output json_transform datetime calc regex text_utils")
	reg := tool.NewRegistry()
	var all []Query
	for _, set := range sets {
		docs, queries := labelled(t, set, false)
		_, rest := labelled(t, set, true)
		for _, q := range append(queries, rest...) {
			if len(q.Tools) > 0 {
				all = append(all, q)
			}
		}
		var tools []tool.Tool
		for _, d := range docs {
			def := tool.Definition{Name: canonical(d.Name), Description: d.Description, Parameters: d.Parameters}
			def.Category, def.Tags = d.Category, d.Tags
			def.Core, def.Internal = slices.Contains(core, d.Name), slices.Contains(internal, d.Name)
			if len(def.Parameters) == 0 {
				def.Parameters = json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"what is asked for"}}}`)
			}
			tools = append(tools, listed{def})
		}
		reg.Add(tool.Owner{Kind: tool.FamilyOwner, ID: set}, tools...)
	}
	return reg.Catalog(), all
}

// words are what people say that speaks for no tool, or hardly.
var words = []string{"and the other one?", "yes please go on", "ok", "thanks, that helps", "now the same for Tuesday", "can you do that again with more detail?", "the second one", "and in March?"}

// spokenTurn is what is said in a turn and which tools it needs, if any.
type spokenTurn struct {
	says  string
	needs []string
}

// talk is a conversation of 30 turns. A topic lasts for up to six, or for one
// where it is restless.
func talk(r *rand.Rand, queries []Query, restless bool) (turns []spokenTurn) {
	about := map[string][]Query{}
	for _, q := range queries {
		about[q.Tools[0]] = append(about[q.Tools[0]], q)
	}
	for len(turns) < 30 {
		q := queries[r.IntN(len(queries))]
		turns = append(turns, spokenTurn{q.Text, q.Tools})
		for more := r.IntN(6); more > 0 && !restless; more-- {
			switch x := r.IntN(10); {
			case x < 5:
				again := about[q.Tools[0]][r.IntN(len(about[q.Tools[0]]))]
				turns = append(turns, spokenTurn{again.Text, again.Tools})
			case x < 7:
				turns = append(turns, spokenTurn{words[r.IntN(len(words))], q.Tools})
			default:
				turns = append(turns, spokenTurn{words[r.IntN(len(words))], nil})
			}
		}
	}
	return turns[:30]
}

// drifted sums up conversations.
type drifted struct {
	turns, anew, joins, needed, there int
	kept, keptShare                   float64 // requests but where the list began anew, and the shares of the one before that they repeat
	bytes, repeated                   float64 // of all requests
}

// Sizes of what a request holds besides tools, in bytes, as those of a session
// with the settings that ship.
const (
	headBytes, systemBytes             = 100, 4500
	saidBytes, calledBytes, aboutBytes = 400, 750, 400
)

func entryBytes(list []*tool.Entry) (n float64) {
	for _, e := range list {
		n += float64(60 + len(e.Def.Name) + len(e.Def.Description) + len(e.Def.Parameters))
	}
	return n
}

// hold goes through a conversation and holds each list against the rules: places are kept
// until more than eight tools of the list are picked no more by the turn's own
// selection, then that is the list; else its new tools join at the end, all or
// none.
func (d *drifted) hold(t *testing.T, s *Selector, cat *tool.Catalog, turns []spokenTurn) {
	t.Helper()
	var st tool.State
	var list []*tool.Entry
	before, said := 0.0, 0.0
	for i, turn := range turns {
		r := Request{
			Catalog: cat, Permitted: cat.Entries, State: st,
			Scope: tool.NewScope(tool.Facts{Agent: "main", Session: "s", Origin: tool.FromChat, Run: fmt.Sprint(i)}),
			Ask:   tool.Ask{Message: llm.UserMessage(turn.says), Idle: time.Minute},
		}
		got := s.Select(t.Context(), r)
		r.State = tool.State{Used: st.Used, Meant: st.Meant}
		own := s.Select(t.Context(), r).Offered
		unpicked := 0
		for _, e := range list {
			if !slices.Contains(own, e) {
				unpicked++
			}
		}
		joining := slices.DeleteFunc(slices.Clone(own), func(e *tool.Entry) bool { return slices.Contains(list, e) })
		grown := append(slices.Clone(list), joining...)
		anew := i == 0 || unpicked > maxUnpicked
		switch {
		case anew && !slices.Equal(got.Offered, own), !anew && !slices.Equal(got.Offered, list) && !slices.Equal(got.Offered, grown):
			t.Fatalf("%q: %d of %v are picked no more, then %v", turn.says, unpicked, tool.Names(list), tool.Names(got.Offered))
		case i == 0:
		default:
			share, same := headBytes+entryBytes(list), len(got.Offered) == len(list)
			for k := range list {
				if k >= len(got.Offered) || got.Offered[k] != list[k] {
					share = headBytes + entryBytes(list[:k])
					break
				}
			}
			if same && !anew {
				share = before
			}
			d.bytes, d.repeated = d.bytes+before, d.repeated+share
			if anew {
				d.anew++
				break
			}
			d.kept, d.keptShare = d.kept+1, d.keptShare+share/before
			if !same {
				d.joins++
			}
		}
		st, list = got.State, got.Offered
		d.turns++
		said += saidBytes + float64(len(turn.says))
		before = headBytes + systemBytes + entryBytes(list) + said
		for _, name := range turn.needs {
			d.needed++
			if slices.Contains(tool.Names(list), canonical(name)) {
				d.there++
				st = st.Using(canonical(name))
			}
		}
		if len(turn.needs) > 0 { // the request with the results repeats all
			d.bytes, d.repeated, d.kept, d.keptShare = d.bytes+before, d.repeated+before, d.kept+1, d.keptShare+1
			said += calledBytes
			before += calledBytes
		}
		said += aboutBytes
		before += aboutBytes
	}
}

// TestDrift has many conversations of 30 turns, made of labelled requests, and
// holds what lists cost and are worth to what they did when it was written.
func TestDrift(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sets     []string
		restless bool
		share    float64 // of a request that the next one repeats, but where the list began anew, on average
		there    float64 // of the tools that a turn needs
	}{
		{[]string{"shipped"}, false, 0.92, 0.95},
		{[]string{"shipped"}, true, 0.82, 0.94},
		{[]string{"shipped", "plugins"}, false, 0.92, 0.91},
		{[]string{"shipped", "plugins"}, true, 0.84, 0.905},
		{[]string{"shipped", "later"}, false, 0.93, 0.94},
		{[]string{"shipped", "later"}, true, 0.87, 0.93},
	} {
		t.Run(fmt.Sprint(c.sets, c.restless), func(t *testing.T) {
			t.Parallel()
			cat, queries := registered(t, c.sets...)
			s := New(Options{Enabled: true, TopK: 12, UsagePrior: 6})
			var d drifted
			for seed := range uint64(10) {
				d.hold(t, s, cat, talk(rand.New(rand.NewPCG(seed, 7)), queries, c.restless))
			}
			share, there := d.keptShare/d.kept, float64(d.there)/float64(d.needed)
			t.Logf("%d turns: the list began anew %d times and grew %d times; but where it began anew a request repeats %.3f of the one before, "+
				"of all bytes %.3f are repeated; %.3f of the needed tools were there", d.turns, d.anew, d.joins, share, d.repeated/d.bytes, there)
			if share < c.share || there < c.there {
				t.Errorf("at least %.2f and %.2f were to be", c.share, c.there)
			}
		})
	}
}
