package gateway_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/tool"
	"github.com/goclaw/goclaw/plugin"
)

// bazaar is a plugin with tools that all take a query and answer at length.
func bazaar(defs []plugin.Definition) plugin.Plugin {
	type in struct {
		Query string `json:"query" doc:"what is asked for, in a few words"`
		Limit int    `json:"limit,omitempty" doc:"how many answers at most"`
	}
	p := plugin.Plugin{Manifest: plugin.Manifest{ID: "bazaar", Version: "1.0.0"}}
	var tools []plugin.Tool
	for _, d := range defs {
		p.Manifest.Tools = append(p.Manifest.Tools, d.Name)
		tools = append(tools, plugin.NewTool(d, func(_ context.Context, _ plugin.Call, q in) (string, error) {
			return strings.Repeat("What there is on "+q.Query+". ", 20), nil
		}))
	}
	p.Register = func(a plugin.API) error {
		for _, x := range tools {
			if err := a.RegisterTool(x); err != nil {
				return err
			}
		}
		return nil
	}
	return p
}

// strangers are the tools by which the scorer is measured, each of another
// topic.
func strangers(t *testing.T) (defs []plugin.Definition) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "engine", "selection", "testdata", "later_tools.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &defs); err != nil {
		t.Fatal(err)
	}
	for i := range defs {
		defs[i].Name = strings.ToLower(defs[i].Name)
	}
	return defs
}

// books are 240 tools, eight for each of thirty things.
func books() (defs []plugin.Definition) {
	for thing := range strings.FieldsSeq(`invoice ticket contract shipment employee vehicle meeting survey warehouse campaign
		certificate budget server recipe patient lecture apartment flight playlist garden insurance passport parcel auction
		lawsuit battery vaccine museum tournament orchard`) {
		for _, does := range []string{"Create", "List", "Show", "Change", "Remove", "Export", "Approve", "Compare"} {
			defs = append(defs, plugin.Definition{
				Name:        thing + "_" + strings.ToLower(does),
				Description: fmt.Sprintf("%ss what is known of one %s in the books of the company.", does, thing),
			})
		}
	}
	return defs
}

// said is what a person says in a turn and the tool that it calls for, if any.
type said struct{ says, tool string }

// office is a conversation of 30 turns on six things, one after the other.
func office() (all []said) {
	for _, thing := range []string{"invoice", "shipment", "employee", "meeting", "warehouse", "ticket"} {
		all = append(all, said{"list the " + thing + "s of last week", thing + "_list"}, said{"and show me the " + thing + " of Miller", thing + "_show"},
			said{"and the other one?", thing + "_show"}, said{"change that " + thing + ", the date is wrong", thing + "_change"},
			said{"thanks, now export all " + thing + "s", thing + "_export"})
	}
	return all
}

// restless is a conversation of 30 turns in which nearly each needs a tool that
// none before needed.
var restless = []said{
	{"I'd like to go to Lisbon in May. Search for flights from Berlin, what are the fares?", "flyfinder"},
	{"and on the day after?", "flyfinder"},
	{"Now find a hotel near the old town", "stayhere"},
	{"do I need a visa for Portugal?", "visahelper"},
	{"thanks, that helps", ""},
	{"What will the weather forecast be there?", "skycast"},
	{"make a packing list for the trip", "packlist"},
	{"Something else: which recipes can I cook with lentils and spinach?", "chefmate"},
	{"how many calories has that meal?", "nutriscan"},
	{"and which wine goes with the dish?", "winepal"},
	{"put the ingredients into an online grocery order", "grocerycart"},
	{"ok", ""},
	{"My car makes a strange noise, is there a repair guide?", "fixitguide"},
	{"are there recalls of this vehicle?", "carspecs"},
	{"compare car insurance offers", "lemonly"},
	{"what would a second hand car from a dealer cost", "usedcars"},
	{"Let us work. Draft an email to my landlord about the heating", "mailwriter"},
	{"check the spelling and grammar of that text", "grammarguard"},
	{"translate the text into Portuguese", "translingo"},
	{"create an appointment in my calendar on Monday at ten", "calsync"},
	{"yes please go on", ""},
	{"add a reminder to my to-do list", "todomate"},
	{"how do stock quotes of Siemens look today?", "stockpulse"},
	{"and its earnings call, is there a transcript?", "earningscall"},
	{"convert 500 dollars to euros at today's rate", "fxrates"},
	{"calculate the mortgage payments for 300000 at 4 percent interest", "loancalc"},
	{"Find peer reviewed papers on urban heat", "scholarsearch"},
	{"format the citations as a bibliography in APA style", "citeright"},
	{"draw a mind map of the ideas", "mindmapper"},
	{"and now the guitar chords of a popular song, to relax", "chordbook"},
}

// toolNames are the tools of a request, in their order.
func toolNames(t *testing.T, q fakellm.Request) []string {
	t.Helper()
	var body struct {
		Tools []struct{ Function struct{ Name string } }
	}
	if err := q.Decode(&body); err != nil {
		t.Fatal(err)
	}
	list := make([]string, len(body.Tools))
	for i, x := range body.Tools {
		list[i] = x.Function.Name
	}
	return list
}

// own is what a message picks in a session that begins, and which of that it
// speaks for.
func (r *rig) own(fresh, says string) (list, meant []string) {
	r.t.Helper()
	sf, err := r.Surface(r.t.Context(), admin(fresh, says))
	if err != nil {
		r.t.Fatal(err)
	}
	for i, x := range sf.Offered {
		list = append(list, x.Name)
		if sf.Picks[i].Score > 0 {
			meant = append(meant, x.Name)
		}
	}
	return list, meant
}

// drift is a conversation under way.
type drift struct {
	*rig
	list, used  []string
	meant       []string  // what the last message that spoke for any tool spoke for
	shares      []float64 // of the bytes of a request that the next one repeats, but where the list began anew
	anew, joins int
}

// turn says something and holds each request against what was there before:
// the list is kept in place unless more than eight of it are picked no more, by
// what a session that begins would be shown and what the turn before used; a
// message that speaks for no tool goes on with the one before.
func (d *drift) turn(says, wants string) {
	d.t.Helper()
	picked, meant := d.own("nobody's", says)
	if len(meant) > 0 {
		d.meant = meant
	}
	picked = append(append(picked, d.used...), d.meant...)
	unpicked := 0
	for _, name := range d.list {
		if !slices.Contains(picked, name) {
			unpicked++
		}
	}
	before := len(d.model.Requests())
	seen := d.say("s", says)
	d.used = nil
	for _, o := range seen.outcomes() {
		if o.Status != tool.OK {
			d.t.Errorf("%q: %s: %s", says, o.Call.Name, o.Status)
		}
		d.used = append(d.used, o.Tool)
	}
	all := d.model.Requests()
	for i := before; i < len(all); i++ {
		list := toolNames(d.t, all[i])
		kept := len(list) >= len(d.list) && slices.Equal(list[:len(d.list)], d.list)
		anew := i > 0 && i == before && unpicked > 8
		switch {
		case kept == anew && i > 0:
			d.t.Errorf("%q: the list was kept: %v, though %d of it are picked no more: %v, then %v", says, kept, unpicked, d.list, list)
		case i > before && len(list) != len(d.list):
			d.t.Errorf("%q: %v joined between two requests of a turn", says, list[len(d.list):])
		case anew:
			d.anew++
		case i > 0:
			if len(list) > len(d.list) {
				d.joins++
				if new := list[len(d.list):]; !slices.Contains(new, wants) {
					d.t.Errorf("%q: %v joined, and %s is there without them", says, new, wants)
				}
			}
			d.shares = append(d.shares, float64(repeated(all[i-1].Body, all[i].Body))/float64(len(bytes.TrimRight(all[i-1].Body, "]}\n"))))
		}
		d.list = list
	}
}

// Sessions of 30 turns over catalogs of more than 200 tools: the list keeps its
// places, begins anew exactly when it should, and what was called for is there.
func TestConversationsThatDrift(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		tools       []plugin.Definition
		turns       []said
		least       float64 // mean share of repeated bytes
		anew, joins int
	}{
		{"six things in a row", books(), office(), 0.95, 5, 0},
		// Where each turn needs another tool, each that joins costs the conversation,
		// and so does a new list. What the agent uses most changes with each turn as
		// well while it has hardly used anything: that makes more of them begin, and
		// fewer tools join.
		{"always something else", strangers(t), restless, 0.95, 18, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var answers []fakellm.Answer
			for i, turn := range c.turns {
				if turn.tool != "" {
					answers = append(answers, fakellm.Calls(fakellm.Use(turn.tool, fmt.Sprintf(`{"query":"matter %d"}`, i))))
				}
				answers = append(answers, fakellm.Text(strings.Repeat(fmt.Sprintf("Here is what I found on matter %d. ", i), 12)))
			}
			model := fakellm.Start(t, answers...)
			d := &drift{rig: configured(t, model, fmt.Sprintf("ai:\n  provider: openai\n  providers:\n    openai: {api_key: key, model: m, base_url: %q}\n", model.Base()), bazaar(c.tools))}
			if len(c.turns) != 30 || len(c.tools) < 200 {
				t.Fatalf("%d turns, %d tools", len(c.turns), len(c.tools))
			}
			for _, turn := range c.turns {
				d.turn(turn.says, turn.tool)
			}
			sum := 0.0
			for _, share := range d.shares {
				sum += share
			}
			mean := sum / float64(len(d.shares))
			t.Logf("%d requests, the list began anew %d times, tools joined it %d times, else requests repeat %.4f of the one before", len(model.Requests()), d.anew, d.joins, mean)
			if mean < c.least || d.anew > c.anew || d.joins > c.joins {
				t.Errorf("at least %.2f, at most %d and %d were to be", c.least, c.anew, c.joins)
			}
			d.quiet()
		})
	}
}

// quiet lets the session rest, not quite an hour and then a whole one.
func (d *drift) quiet() {
	d.t.Helper()
	for _, c := range []struct {
		rest time.Duration
		anew bool
	}{{time.Hour - time.Minute, false}, {time.Hour, true}} {
		d.close()
		d.rest(c.rest)
		d.open()
		d.model.Add(fakellm.Text("Good morning."))
		old := d.list
		d.say("s", "ok")
		all := d.model.Requests()
		d.list = toolNames(d.t, all[len(all)-1])
		want := old
		if c.anew { // the turn before used nothing that would go on
			want, _ = d.own("nobody's", "ok")
		}
		if !slices.Equal(d.list, want) || slices.Equal(old, want) == c.anew {
			d.t.Errorf("after %s: %v, then %v, want %v", c.rest, old, d.list, want)
		}
	}
}

// rest makes the sessions of a closed gateway older.
func (r *rig) rest(by time.Duration) {
	r.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(r.home, "state.db"))
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := db.ExecContext(r.t.Context(), "UPDATE sessions SET updated = updated - ?", by.Nanoseconds()); err != nil {
		r.t.Error(err)
	}
	if err := db.Close(); err != nil {
		r.t.Error(err)
	}
}
