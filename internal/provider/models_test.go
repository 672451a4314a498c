package provider

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/llm"
)

func TestTheTableIsSound(t *testing.T) {
	t.Parallel()
	table := Shipped()
	if _, err := time.Parse(time.DateOnly, table.Date); err != nil {
		t.Error(err)
	}
	for _, p := range table.Providers {
		b, ok := Known(p.Name)
		if !ok || len(p.Models) == 0 || p.Note == "" {
			t.Errorf("%+v", p)
		}
		if len(p.Sources) == 0 && !b.Free {
			t.Errorf("nothing says where the prices of %s are from", p.Name)
		}
		for _, m := range p.Models {
			soundModel(t, m)
			if claude := p.Name == "claude"; claude && (m.Thinking == nil || !m.Thinking.Budget && len(m.Effort) == 0) {
				t.Errorf("%s: thinking %+v, effort %v", m.Name, m.Thinking, m.Effort)
			}
		}
	}
	for _, b := range Builtins {
		if _, ok := Lookup(b.Model); !ok && b.Model != "" && b.Name != "ollama" {
			t.Errorf("the default of %s is not in the table", b.Name)
		}
	}
}

func soundModel(t *testing.T, m Model) {
	t.Helper()
	if m.Name != strings.ToLower(m.Name) || m.ContextWindow < m.MaxOutput || m.MaxOutput == 0 {
		t.Errorf("%+v", m)
	}
	if p := m.Price; p != nil {
		soundPrice(t, m.Name, *p)
	}
	if th := m.Thinking; th != nil && (th.Least > th.Most || th.Most > 0 && !th.Budget) {
		t.Errorf("%s: %+v", m.Name, th)
	}
	if m.Direct && len(m.Effort) == 0 {
		t.Errorf("%s takes tools only without reasoning, and doesn't reason", m.Name)
	}
	for _, e := range m.Effort {
		if !slices.Contains(efforts, e) {
			t.Errorf("%s: effort %q has no place in the order", m.Name, e)
		}
	}
}

// soundPrice also holds tiers to what no provider does: less for more.
func soundPrice(t *testing.T, model string, p Price) {
	t.Helper()
	if p.In <= 0 || p.Out < p.In || p.Cached != nil && *p.Cached > p.In || p.CacheWrite != nil && *p.CacheWrite < p.In {
		t.Errorf("%s: %+v", model, p)
	}
	before := p
	for _, tier := range p.Tiers {
		if tier.Above <= before.Above || tier.In <= before.In || tier.Out <= before.Out || tier.Tiers != nil ||
			(tier.Cached == nil) != (p.Cached == nil) || (tier.CacheWrite == nil) != (p.CacheWrite == nil) {
			t.Errorf("%s: %+v after %+v", model, tier, before)
		}
		soundPrice(t, model, tier)
		before = tier
	}
}

func TestTheTableIsReadStrictly(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`{"date": "2026-11-30", "providers": [{"name": "p", "models": [{"name": "a", "contextwindow": 1}]}]}`: `unknown field "contextwindow"`,
		`{"providers": [{"models": [{"name": "a"}]}, {"models": [{"name": "a"}]}]}`:                           "a stands there twice",
		`{`: "unexpected EOF",
	} {
		if _, err := readTable([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", data, err, want)
		}
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"gpt-4o": "gpt-4o", "GPT-4o-2024-08-06": "gpt-4o", "openai/gpt-4o-mini": "gpt-4o-mini", "a/b/o3-20250416": "o3",
		"claude-haiku-4-5-20251001": "claude-haiku-4-5", "claude-opus-4-5-20251101": "claude-opus-4-5",
		"models/gemini-2.5-flash": "gemini-2.5-flash", "google/gemini-4-argon": "gemini-4-argon",
		"gpt-4o-audio-preview": "", "": "", "gpt-6": "",
	} {
		if m, _ := Lookup(name); m.Name != want {
			t.Errorf("%q is %q, want %q", name, m.Name, want)
		}
	}
}

func TestNearestEffort(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ takes, want, best string }{
		{"low medium high xhigh max", "medium", "medium"},
		{"low medium high xhigh max", "none", "low"},
		{"low medium high max", "xhigh", "high"},
		{"minimal low medium high", "none", "minimal"},
		{"none low medium high", "high", "high"},
		{"", "high", ""},
	} {
		if got := (Model{Effort: strings.Fields(test.takes)}).NearestEffort(test.want); got != test.best {
			t.Errorf("%s of %s: %s, want %s", test.want, test.takes, got, test.best)
		}
	}
}

func TestTheInputOfACallDecidesItsPrice(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		model string
		usage llm.Usage
		want  float64 // of all of it, in millionths of a dollar
	}{
		{"claude-haiku-5-5", llm.Usage{Input: 100_000, Output: 1000}, 100_000*0.1 + 1000*0.5},
		{"claude-haiku-5-5", llm.Usage{Input: 100_001, Output: 1000}, 100_001*0.5 + 1000*2.5},
		{"claude-haiku-5-5", llm.Usage{Input: 200_000, Cached: 150_000, CacheWrite: 40_000, Output: 1000}, 10_000*0.5 + 150_000*0.05 + 40_000*0.625 + 1000*2.5},
		{"gpt-6-luna", llm.Usage{Input: 272_000, Cached: 200_000, Output: 10}, 72_000*0.1 + 200_000*0.01 + 10*0.5},
		{"gpt-6-luna", llm.Usage{Input: 272_001, Cached: 200_000, Output: 10}, 72_001*0.2 + 200_000*0.02 + 10*0.75},
		{"gpt-5.4-mini", llm.Usage{Input: 300_000, Output: 10}, 300_000*0.75 + 10*4.5},
		{"gemini-2.5-pro", llm.Usage{Input: 200_001, Output: 10}, 200_001*2.5 + 10*15},
	} {
		m, ok := Lookup(test.model)
		if !ok || m.Price == nil {
			t.Errorf("%s: no price", test.model)
			continue
		}
		if got := m.Price.Cost(test.usage) * 1e6; got < test.want-1e-6 || got > test.want+1e-6 {
			t.Errorf("%s for %+v: %v, want %v", test.model, test.usage, got, test.want)
		}
	}
}

// BenchmarkTable measures what the first look into the table costs a process.
func BenchmarkTable(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readTable(tableJSON); err != nil {
			b.Fatal(err)
		}
	}
}

func TestPricesOfEmbeddings(t *testing.T) {
	t.Parallel()
	s := New(Options{Vendors: map[string]Vendor{"openai": {Open: openSilent}}, Providers: []Settings{
		{Name: "openai", Key: "k"}, {Name: "work", Type: Compatible, BaseURL: "http://10.0.0.5/v1", Prices: map[string]Price{"bge-m3": {In: 1}}},
	}})
	for model, want := range map[llm.Target]*float64{
		{Provider: "openai", Model: "text-embedding-3-small"}:      new(0.02),
		{Provider: "work", Model: "openai/text-embedding-3-large"}: new(0.13),
		{Provider: "work", Model: "bge-m3"}:                        new(1.0),
		{Provider: "work", Model: "e5"}:                            nil,
		{Provider: "ollama", Model: "embeddinggemma"}:              new(0.0),
	} {
		if diff := cmp.Diff(want, s.Cost(llm.Usage{Input: 1e6}, model)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", model, diff)
		}
	}
}
