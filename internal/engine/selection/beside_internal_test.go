package selection

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// subjects is a catalog of plugins that all have the same three tools, each for
// a subject of its own.
func subjects() *tool.Catalog {
	reg := tool.NewRegistry()
	for line := range strings.Lines(`calendar event appointments and meetings
mail message electronic letters
invoice bill money that customers owe
hotel room overnight stays
movie film films and cinemas
flight trip air travel and airports
lamp light lights in the house
camera clip surveillance video
photo picture pictures and albums
recipe dish cooking and meals
fitness workout steps, calories and heart rate
music song songs and playlists
translate text languages and wording
stock share prices and markets
payroll payslip salaries
bank transfer accounts and balances
garden plant soil and watering
library book loans
`) {
		subject, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		noun, about, _ := strings.Cut(rest, " ")
		var tools []tool.Tool
		for _, verb := range []string{"create", "list", "search"} {
			tools = append(tools, listed{tool.Definition{
				Name:        subject + "_" + verb + "_" + noun,
				Description: fmt.Sprintf("To %s a %s (%s). Use it when somebody asks about %s.", verb, noun, about, about),
				Parameters:  json.RawMessage(`{"type":"object","properties":{"` + noun + `":{"type":"string"}}}`),
			}})
		}
		reg.Add(tool.Owner{Kind: tool.PluginOwner, ID: subject}, tools...)
	}
	return reg.Catalog()
}

// A session is about one subject; a message that speaks of it and of another one
// brings the tools of the other, and one that is about the same brings none.
func TestATurnOfTwoSubjects(t *testing.T) {
	t.Parallel()
	cat := subjects()
	s := New(Options{Enabled: true, TopK: 12, UsagePrior: 6})
	for _, test := range []struct{ before, says, needs string }{
		{"what is in my calendar?", "for that calendar event in my calendar, send Anna an e-mail that I will be late", "mail"},
		{"book a hotel room in Rome", "is there a cinema near the hotel room that we booked in the hotel?", "movie"},
		{"list my flights to Rome", "when the flight lands, switch the light on at home before my flight arrives", "lamp"},
		{"what invoices are open?", "pay the invoice from my account: invoice bill 23", "bank"},
		{"list the camera clips", "take the camera clip and put the picture into the album", "photo"},
		{"find a recipe for dinner", "how many calories did I burn before that dish of the recipe?", "fitness"},
		{"search a song of the album", "how do you say the song title of that song in German?", "translate"},
		{"what stock shares do I own?", "how much salary do I get to buy that stock share?", "payroll"},
		{"search a flight to Rome for the weekend", "which of these is the cheapest?", "flight"},
		{"book a hotel room in Rome", "something closer to the station please", "hotel"},
		{"hello", "find the film with movie_search_film and then put its length into fitness_create_workout", "fitness"},
		{"create a calendar event for tomorrow", "thanks, looks good", "calendar"},
		{"create a calendar event for tomorrow", "ok, looks fine", ""},
		{"search a flight to Rome for the weekend", "take the second one", "flight"},
		{"search a flight to Rome for the weekend", "does that include a bag?", "flight"},
		{"list the camera clips", "show me the last three of yesterday", "camera"},
		{"list the films in the cinema", "and which films are in the other cinema?", ""},
		{"which plants need watering?", "list the plants with dry soil", ""},
	} {
		r := Request{
			Catalog: cat, Permitted: cat.Entries,
			Scope: tool.NewScope(tool.Facts{Agent: "main", Session: "s", Origin: tool.FromChat, Run: "1"}),
			Ask:   tool.Ask{Message: llm.UserMessage(test.before)},
		}
		first := s.Select(t.Context(), r)
		r.State, r.Scope = first.State, tool.NewScope(tool.Facts{Agent: "main", Session: "s", Origin: tool.FromChat, Run: "2"})
		r.Ask = tool.Ask{Message: llm.UserMessage(test.says), Idle: time.Minute}
		second := s.Select(t.Context(), r)
		joined := tool.Names(second.Offered[min(len(first.Offered), len(second.Offered)):])
		there := slices.ContainsFunc(tool.Names(second.Offered), func(name string) bool { return strings.HasPrefix(name, test.needs+"_") })
		switch {
		case !slices.Equal(second.Offered[:len(first.Offered)], first.Offered):
			t.Errorf("%q: places changed", test.says)
		case test.needs != "" && !there:
			t.Errorf("%q: nothing of %s came, only %v", test.says, test.needs, joined)
		case test.needs == "" && len(joined) > 0:
			t.Errorf("%q: %v came", test.says, joined)
		}
	}
}

// A word of a subject of which there are more tools than are kept as meant.
func TestAWordOfALargeSubject(t *testing.T) {
	t.Parallel()
	reg := tool.NewRegistry()
	for i := range 40 {
		def := tool.Definition{Name: fmt.Sprintf("t%d_zq", i), Description: "Does it.", Parameters: json.RawMessage(`{"type":"object"}`)}
		def.Category = "weather"
		reg.Add(tool.Owner{Kind: tool.PluginOwner, ID: fmt.Sprint(i)}, listed{def})
	}
	cat := reg.Catalog()
	c := New(Options{Enabled: true, TopK: 40}).Select(t.Context(), Request{
		Catalog: cat, Permitted: cat.Entries,
		Scope: tool.NewScope(tool.Facts{Agent: "main", Session: "s", Origin: tool.FromChat, Run: "1"}),
		Ask:   tool.Ask{Message: llm.UserMessage("meteorology?"), Idle: time.Minute},
	})
	if len(c.Offered) != 40 {
		t.Errorf("%d tools are offered", len(c.Offered))
	}
}
