package spill

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
	"pgregory.net/rapid"
)

// selected are the elements of a page that a selector finds, and in how many
// steps.
func selected(t interface{ Fatalf(string, ...any) }, page, query string) (found []*html.Node, root *html.Node, steps int) {
	group, err := parseSelectors(query)
	if err != nil {
		t.Fatalf("%q: %v", query, err)
	}
	if root, err = html.Parse(strings.NewReader(page)); err != nil {
		t.Fatalf("%v", err)
	}
	work := &meter{ctx: context.Background(), left: math.MaxInt}
	f := finding{group: group, work: work, yield: func(n *html.Node) bool { found = append(found, n); return true }}
	f.below(root, parts{}, parts{})
	return found, root, math.MaxInt - work.left
}

// TestSelectors holds our way to join the parts of a selector against the
// library's.
func TestSelectors(t *testing.T) {
	t.Parallel()
	simple := rapid.SampledFrom([]string{
		"div", "p", "*", ".a", "#x", "[k]", `[k="a, b > c"]`, `[k='\'~']`, "p.a", "b:first-child", ":nth-child(2n + 1)", "b:not(.a)",
		":not(p, .a)", "p:has(b)", `i:contains("x ~ )")`, "div:empty", `.\61 b`, `.\+`, ":not( [k='>'] )", "p:last-of-type", "b:only-child", ":lang(en)",
	})
	rapid.Check(t, func(t *rapid.T) {
		var page strings.Builder
		for range rapid.IntRange(1, 25).Draw(t, "pieces") {
			page.WriteString(rapid.SampledFrom([]string{
				"<div>", "<div class=a>", "</div>", "<p>", `<p class="a ab">`, "</p>", "<b id=x>", "</b>", `<i k="a, b > c">`, "x ~ )</i>", "<i k=\"'~\">", "text", "<!-- c -->", `<b class="+" lang=en>`, "<i k=\">\"></i>",
			}).Draw(t, "piece"))
		}
		query := rapid.SampledFrom([]string{"", " ", "/* c */"}).Draw(t, "front") + simple.Draw(t, "part")
		for range rapid.IntRange(0, 4).Draw(t, "more") {
			query += rapid.SampledFrom([]string{" ", " > ", "+", " ~ ", ">", ", ", " /* > */ "}).Draw(t, "link") + simple.Draw(t, "part")
		}
		if strings.Count(query, ":has")+strings.Count(query, ":contains") > 1 {
			t.Skip("refused")
		}
		found, root, _ := selected(t, page.String(), query)
		group, err := cascadia.ParseGroup(query)
		if err != nil {
			t.Fatalf("%q: %v", query, err)
		}
		for n := range root.Descendants() {
			if n.Type != html.ElementNode || !group.Match(n) {
				continue
			}
			if len(found) == 0 || found[0] != n {
				t.Fatalf("%q in %q: the library finds <%s> as well", query, page.String(), n.Data)
			}
			found = found[1:]
		}
		if len(found) > 0 {
			t.Fatalf("%q in %q: the library does not find <%s>", query, page.String(), found[0].Data)
		}
	})
}

// TestSelectorSteps shows that a selector takes steps in proportion to the page,
// however its parts are joined.
func TestSelectorSteps(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat("<div>", 300) + "<span>x</span>"
	row := strings.Repeat("<i></i>", 3000)
	for _, tt := range []struct{ page, query string }{
		{nested, "p" + strings.Repeat(" div", 12) + " span"},
		{nested, "p" + strings.Repeat(" div", 100) + " span"},
		{row, "p" + strings.Repeat("~i", 200)},
		{row, "p" + strings.Repeat("~*", 100) + " *"},
		{nested, strings.Repeat("div div,", 60) + "b"},
	} {
		_, root, steps := selected(t, tt.page, tt.query)
		nodes := 0
		for range root.Descendants() {
			nodes++
		}
		if most := 10 * nodes * len(tt.query); steps > most {
			t.Errorf("%.40q on %d nodes: %d steps, more than %d", tt.query, nodes, steps, most)
		}
	}
}

func TestSelectorEnds(t *testing.T) {
	t.Parallel()
	many := "<html>" + strings.Repeat("<i></i>", 40_000)
	// Below the limit of time, which on a slow machine comes first.
	r := reader{doc: describe("gitlab", many), room: testRoom}
	if err := r.css(t.Context(), "i:nth-last-child(2n+1):nth-child(2n).none", new(results)); !errors.Is(err, errSelector) {
		t.Errorf("all siblings for each of 40,000: %v", err)
	}
	ended, stop := context.WithCancelCause(t.Context())
	stop(errors.New("it was stopped"))
	if _, err := readFrom(ended, many, testRoom, ReadArgs{Mode: "path", Query: "i"}); err == nil || !strings.Contains(err.Error(), "it was stopped") {
		t.Errorf("for nobody: %v", err)
	}
	for query, want := range map[string]string{
		":has(:HAS(b))":       "once",
		":has(b):contains(x)": "once",
		":has(a b)":           "joined",
		"p:not(a > b)":        "joined",
		":has(b:first-child)": "within :has()",
		":matches(a)":         "regular expression",
		`:m\61tches(a)`:       "regular expression",
		"[a#=x]":              "regular expression",
		"p:not([a#=x])":       "regular expression",
	} {
		if _, err := parseSelectors(query); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", query, err, want)
		}
	}
	if _, err := parseSelectors(fmt.Sprint("p", strings.Repeat(" b", 300))); err == nil || !strings.Contains(err.Error(), "parts") {
		t.Errorf("301 parts: %v", err)
	}
}

func FuzzSelectors(f *testing.F) {
	for _, q := range []string{"p > b, i", `[a="]"] ~ :not(b)`, `a\  b`, ":nth-child(2n+1)"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		if len(query) > maxMarkupQuery {
			return
		}
		if _, err := parseSelectors(query); err != nil && strings.Contains(err.Error(), "no CSS selector") {
			if _, err := cascadia.ParseGroup(query); err == nil {
				t.Errorf("%q is cut where it can't be: %v", query, err)
			}
		}
	})
}
