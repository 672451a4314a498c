package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
	"github.com/goclaw/goclaw/plugin"
)

// searching is a gateway with the books and some more configuration.
func searching(t *testing.T, more string, answers ...fakellm.Answer) *rig {
	t.Helper()
	model := fakellm.Start(t, answers...)
	defs := append(books(), plugin.Definition{Name: "crane_lift", Description: "Lifts what a crane holds.", Traits: plugin.Traits{DirectOnly: true}})
	return configured(t, model, fmt.Sprintf("ai:\n  provider: openai\n  providers:\n    openai: {api_key: key, model: m, base_url: %q}\n%s", model.Base(), more), bazaar(defs))
}

// search is what search_tools answers.
func (r *rig) search(req run.Request, query string) string {
	r.t.Helper()
	o, err := r.Invoke(r.t.Context(), req, "search_tools", fmt.Appendf(nil, `{"query":%q}`, query))
	if err != nil || o.Status != tool.OK {
		r.t.Fatalf("%q: %+v %v", query, o, err)
	}
	return llm.JoinText(o.Content)
}

// What a search finds can be called from the next step of the same run on, and
// stands at the end of the list.
func TestASearchLendsWhatItFinds(t *testing.T) {
	t.Parallel()
	r := searching(
		t, "",
		fakellm.Calls(fakellm.Use("warehouse_export", `{"query":"all"}`)),
		fakellm.Calls(fakellm.Use("search_tools", `{"query":"export a warehouse","limit":2}`)),
		fakellm.Calls(fakellm.Use("warehouse_export", `{"query":"all"}`)), fakellm.Text("Exported."),
	)
	out := r.say("s", "list the invoices").outcomes()
	if len(out) != 3 || out[0].Status != tool.Refused || out[1].Status != tool.OK || out[2].Status != tool.OK || out[2].Tool != "warehouse_export" {
		t.Fatalf("%+v", out)
	}
	all := r.model.Requests()
	before, after := toolNames(t, all[1]), toolNames(t, all[2])
	if !slices.Equal(after[:len(before)], before) || len(after) != len(before)+2 || after[len(before)] != "warehouse_export" {
		t.Errorf("%v, then %v", before, after)
	}
	if again := toolNames(t, all[3]); !slices.Equal(again, after) {
		t.Errorf("%v, then %v", after, again)
	}
	mustContain(t, "the answer", r.results(3)[0].text(), "warehouse_export: Exports what is known of one warehouse", "matched by name part: ", `"query"`)
}

func TestWhatASearchTells(t *testing.T) {
	t.Parallel()
	r := searching(t, "tools: {deny: [\"museum_*\"]}\n")
	got := r.search(admin("s", ""), "approve a contract")
	if first, _, _ := strings.Cut(got[strings.Index(got, "\n\n")+2:], ":"); first != "contract_approve" {
		t.Errorf("the best is %q: %s", first, got)
	}
	if n := strings.Count(got, "  matched by "); n != 5 {
		t.Errorf("%d tools are told: %s", n, got)
	}
	if n := strings.Count(got, "  parameters: {"); n != 3 {
		t.Errorf("the parameters of %d tools are told: %s", n, got)
	}
	// What policy denies is not revealed, whatever is asked.
	for _, query := range []string{"museum", "museum_list", "list what is known of one museum"} {
		_, got, _ := strings.Cut(r.search(admin("s", ""), query), "\n") // behind the query itself
		if strings.Contains(got, "museum_") || strings.Contains(got, "one museum") {
			t.Errorf("%s: %s", query, got)
		}
	}
	// Some tools are called where they are offered, or not at all.
	if got := r.search(admin("s", ""), "lift with a crane"); strings.Contains(got, "crane_lift") {
		t.Error(got)
	}
	mustContain(t, "nothing found", r.search(admin("s", ""), "qqqq zzzz"), "No tool fits", "There are tools of these kinds: ", "bazaar (232)")
}

// A tool that the role withholds is named in the words in which a call of it is
// refused, and not lent.
func TestASearchNamesWhatTheRoleWithholds(t *testing.T) {
	t.Parallel()
	r := searching(t, "")
	user := admin("s", "")
	user.Caller.Role = "user"
	refused, err := r.Invoke(t.Context(), user, "sessions_list", []byte(`{}`))
	if err != nil || refused.Refusal == nil {
		t.Fatalf("%+v %v", refused, err)
	}
	o, err := r.Invoke(t.Context(), user, "search_tools", []byte(`{"query":"sessions_list"}`))
	if err != nil {
		t.Fatal(err)
	}
	mustContain(t, "the answer", llm.JoinText(o.Content), "Not for you:\n", "- "+refused.Refusal.Reason)
	if slices.ContainsFunc(o.Effects, func(e tool.Effect) bool { return e.Key == "sessions_list" }) {
		t.Errorf("it is lent: %+v", o.Effects)
	}
	if got := r.search(admin("s", ""), "sessions_list"); strings.Contains(got, "Not for you") || !strings.Contains(got, "sessions_list: ") {
		t.Errorf("an admin is told %s", got)
	}
}

// What an agent called with success stands in the lists of new sessions; what
// was refused or failed does not.
func TestWhatAnAgentUsesMostIsShownAtOnce(t *testing.T) {
	t.Parallel()
	r := searching(
		t, "",
		fakellm.Calls(fakellm.Use("orchard_list", `{"query":"1"}`), fakellm.Use("orchard_show", `{"query":"1"}`), fakellm.Use("orchard_show", `{"query":"2"}`)),
		fakellm.Calls(fakellm.Use("orchard_remove", `{}`)), fakellm.Text("Done."),
	)
	r.say("s", "work on the orchard: list, show, remove")
	sf, err := r.Surface(t.Context(), admin("new", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	var prior []string
	for _, p := range sf.Picks {
		if p.Why == tool.ForPrior {
			prior = append(prior, p.Tool)
		}
	}
	if want := []string{"orchard_list", "orchard_show"}; !slices.Equal(prior, want) {
		t.Errorf("%v, want %v", prior, want)
	}
}
