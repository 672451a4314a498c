package provider

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/llm"
)

// silent is a vendor that is never asked for an answer.
type silent struct{}

func (silent) Stream(context.Context, llm.Request) iter.Seq2[llm.Event, error] {
	return func(func(llm.Event, error) bool) {}
}

func (silent) List(context.Context) ([]string, error) { return []string{"qwen3:8b"}, nil }

// curious also tells of its models.
type curious struct{ silent }

func (curious) Probe(_ context.Context, model string) (Abilities, error) {
	if model != "qwen3:8b" {
		return Abilities{}, &llm.Error{Class: llm.ClassNoModel, Message: "not pulled"}
	}
	return Abilities{Known: true, ContextWindow: 4096}, nil
}

func openSilent(Settings) (llm.Model, error) { return silent{}, nil }

func TestTargets(t *testing.T) {
	t.Parallel()
	s := New(Options{
		Vendors: map[string]Vendor{"openai": {Open: openSilent}, "demo": {Open: openSilent}},
		Providers: []Settings{
			{Name: "openai", Key: "k"},
			{Name: "my-vllm", Type: Compatible, BaseURL: "http://10.0.0.5:8000/v1", Model: "qwen3", ContextWindow: 32_000, MaxOutput: 4_000},
			{Name: "nomodel", Type: Compatible, BaseURL: "http://10.0.0.5:8000/v1"},
			{Name: "nourl", Type: Compatible, Model: "x"},
			{Name: "odd", Type: "telex"},
			{Name: "plain", Type: Compatible, BaseURL: "http://10.0.0.5:8000/v1", Model: "qwen3", Images: new(false), Files: new(true), Tools: new(false)},
			{Name: "local", Type: "openai", BaseURL: "http://127.0.0.1:1/v1", Model: "gpt-4o-2024-08-06"},
		},
	})
	for _, test := range []struct {
		otherwise, model string
		want             llm.Target
		err              string
		class            llm.Class
	}{
		{"", "", llm.Target{Provider: "openai", Model: "gpt-6-luna", Vendor: "openai", ContextWindow: 1_050_000, MaxOutput: 128_000, Images: true, Files: true, Tools: true}, "", ""},
		{"my-vllm", "", llm.Target{Provider: "my-vllm", Model: "qwen3", Vendor: "openai", ContextWindow: 32_000, MaxOutput: 4_000, Images: true, Tools: true}, "", ""},
		{"my-vllm", "openai", llm.Target{Provider: "openai", Model: "gpt-6-luna", Vendor: "openai", ContextWindow: 1_050_000, MaxOutput: 128_000, Images: true, Files: true, Tools: true}, "", ""},
		{"", "my-vllm/a/b/c", llm.Target{Provider: "my-vllm", Model: "a/b/c", Vendor: "openai", ContextWindow: 32_000, MaxOutput: 4_000, Images: true, Tools: true}, "", ""},
		{"", "my-vllm/", llm.Target{Provider: "my-vllm", Model: "qwen3", Vendor: "openai", ContextWindow: 32_000, MaxOutput: 4_000, Images: true, Tools: true}, "", ""},
		{"", "plain", llm.Target{Provider: "plain", Model: "qwen3", Vendor: "openai", Files: true}, "", ""},
		{"", "local", llm.Target{Provider: "local", Model: "gpt-4o-2024-08-06", Vendor: "openai", ContextWindow: 128_000, MaxOutput: 16_384, Images: true, Files: true, Tools: true}, "", ""},
		{"", "demo", llm.Target{Provider: "demo", Model: "demo", Vendor: "demo", ContextWindow: 128_000, MaxOutput: 8_192, Tools: true}, "", ""},
		{"", "ollama/x", llm.Target{Provider: "ollama", Model: "x", Vendor: "openai", Images: true, Tools: true}, "", ""},
		{"", "gpt-4o", llm.Target{Provider: "gpt-4o"}, "there is no provider of this name; there are claude, deepseek, demo, gemini", llm.ClassUnknown},
		{"", "claude", llm.Target{Provider: "claude", Model: "claude-sonnet-5-5", ContextWindow: 1_000_000, MaxOutput: 128_000, Images: true, Files: true, Tools: true}, "claude is not in this version", llm.ClassUnknown},
		{"", "deepseek", llm.Target{Provider: "deepseek", Model: "deepseek-flash", Vendor: "openai", ContextWindow: 1_000_000, MaxOutput: 384_000, Images: true, Tools: true}, "there is no API key; set DEEPSEEK_API_KEY", llm.ClassAuth},
		{"", "nomodel", llm.Target{Provider: "nomodel", Vendor: "openai", Images: true, Tools: true}, "no model is configured", llm.ClassNoModel},
		{"", "nourl", llm.Target{Provider: "nourl", Model: "x", Vendor: "openai", Images: true, Tools: true}, "it has no base_url", llm.ClassUnknown},
		{"", "odd/x", llm.Target{Provider: "odd", Model: "x", Tools: true}, `there is no type of provider "telex"`, llm.ClassUnknown},
	} {
		got, err := s.For(test.otherwise, nil).Target(test.model)
		if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%q: %v, want %q", test.model, err, test.err)
		}
		var e *llm.Error
		if errors.As(err, &e) && e.Class != test.class {
			t.Errorf("%q: %s, want %s", test.model, e.Class, test.class)
		}
		if test.model == "claude" {
			got.Vendor = "" // nothing of it is known before its wire is
		}
		if test.err == "" || test.class != llm.ClassUnknown {
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", test.model, diff)
			}
		}
	}
}

func TestCompletedSettings(t *testing.T) {
	t.Parallel()
	both := map[string]Vendor{"openai": {Open: openSilent}, "ollama": {Open: openSilent}, "demo": {Open: openSilent}}
	one := map[string]Vendor{"openai": {Open: openSilent}}
	for _, test := range []struct {
		in      Settings
		vendors map[string]Vendor
		vendor  string
		base    string
	}{
		{Settings{Name: "openai", Key: "k"}, one, "openai", "https://api.openai.com/v1"},
		{Settings{Name: "openai", Key: " k\n"}, one, "openai", "https://api.openai.com/v1"},
		{Settings{Name: "openai", BaseURL: "http://127.0.0.1:9000"}, one, "openai", "http://127.0.0.1:9000/v1"},
		{Settings{Name: "openai", BaseURL: "http://127.0.0.1:9000/api/"}, one, "openai", "http://127.0.0.1:9000/api"},
		{Settings{Name: "deepseek", Key: "k"}, one, "openai", "https://api.deepseek.com"},
		{Settings{Name: "ollama"}, one, "openai", "http://127.0.0.1:11434/v1"},
		{Settings{Name: "ollama", BaseURL: "http://box:11434"}, one, "openai", "http://box:11434/v1"},
		{Settings{Name: "ollama"}, both, "ollama", "http://127.0.0.1:11434"},
		{Settings{Name: "demo"}, both, "demo", ""},
		{Settings{Name: "mine", Type: Compatible, BaseURL: "http://box/v1/"}, one, "openai", "http://box/v1"},
		{Settings{Name: "mine", Type: Compatible, BaseURL: "http://box"}, one, "openai", "http://box"},
		{Settings{Name: "openai", BaseURL: "http://127.0.0.1:9000?v=1"}, one, "openai", "http://127.0.0.1:9000/v1?v=1"},
		{Settings{Name: "openai", BaseURL: "http://127.0.0.1:9000/?v=1"}, one, "openai", "http://127.0.0.1:9000/v1?v=1"},
		{Settings{Name: "mine", Type: Compatible, BaseURL: "http://box/d/?v=1"}, one, "openai", "http://box/d?v=1"},
	} {
		got, vendor, p := test.in.complete(test.vendors)
		if p != nil || vendor != test.vendor || got.BaseURL != test.base || got.Key != strings.TrimSpace(test.in.Key) {
			t.Errorf("%+v: %s at %q, %v", test.in, vendor, got.BaseURL, p)
		}
		if got.Limits != (Limits{Total: 10 * time.Minute, FirstByte: time.Minute, Idle: time.Minute}) {
			t.Errorf("%+v", got.Limits)
		}
	}
}

// Of an address with a query each request would have to repeat it, which only
// OpenAI's wire does.
func TestAddressesWithAQuery(t *testing.T) {
	t.Parallel()
	all := map[string]Vendor{"openai": {Open: openSilent}, "ollama": {Open: openSilent}, "gemini": {Open: openSilent}, "anthropic": {Open: openSilent}}
	s := New(Options{Vendors: all, Providers: []Settings{
		{Name: "openai", BaseURL: "http://box?v=1"},
		{Name: "ollama", BaseURL: "http://box?v=1"},
		{Name: "gemini", BaseURL: "http://box/?v=1"},
		{Name: "claude", BaseURL: "http://box/v1?v=1"},
	}})
	if err := s.Problem("openai"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"ollama", "gemini", "claude"} {
		if err := s.Problem(name); err == nil || !strings.Contains(err.Error(), "base_url has a query") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	s := New(Options{
		Vendors:   map[string]Vendor{"openai": {Open: openSilent}},
		Providers: []Settings{{Name: "mine", Type: Compatible, BaseURL: "http://box:1/v1", Model: "m"}},
	})
	s.health.failed(llm.Target{Provider: "mine", Model: "other"}, &llm.Error{Class: llm.ClassAuth, Message: "no"}, time.Now())
	var names []string
	for _, st := range s.State() {
		names = append(names, st.Target.String())
		switch st.Target.Provider {
		case "claude", "openai", "deepseek":
			if st.Problem == "" {
				t.Errorf("%+v", st)
			}
		case "mine":
			if st.Address != "http://box:1" || st.Problem != "" || (st.Target.Model == "other") == st.Cooling.IsZero() {
				t.Errorf("%+v", st)
			}
		}
	}
	want := []string{
		"claude/claude-sonnet-5-5", "deepseek/deepseek-flash", "demo/demo", "gemini-legacy/gemini-3.8-flash", "gemini/gemini-3.8-flash",
		"mine/m", "mine/other", "ollama/qwen3", "openai/gpt-6-luna",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestListing(t *testing.T) {
	t.Parallel()
	s := New(Options{Vendors: map[string]Vendor{"openai": {Open: openSilent}}, Providers: []Settings{{Name: "nomodel", Type: Compatible, BaseURL: "http://box"}}})
	for _, name := range []string{"ollama", "nomodel"} {
		if got, err := s.List(t.Context(), name); err != nil || !slices.Equal(got, []string{"qwen3:8b"}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"openai", "nobody"} {
		if _, err := s.List(t.Context(), name); err == nil {
			t.Errorf("%s was asked", name)
		}
	}
}

func TestOffered(t *testing.T) {
	t.Parallel()
	price := Price{In: 3, Out: 4}
	s := New(Options{Vendors: map[string]Vendor{"openai": {Open: openSilent}}, Providers: []Settings{
		{Name: "deepseek", Key: "k", Model: "my-tune", Prices: map[string]Price{"deepseek-v4-pro": price, "other": price}, ContextWindow: 9000},
		{Name: "own", Type: Compatible, BaseURL: "http://box", Model: "gpt-4o"},
	}})
	show := func(provider string, names []string) (out []string) {
		t.Helper()
		list, err := s.Offered(provider, names)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list {
			line := fmt.Sprintf("%s %d", m.Name, m.ContextWindow)
			if m.Price != nil {
				line += fmt.Sprintf(" $%g", m.Price.In)
			}
			for _, is := range []struct {
				word string
				so   bool
			}{{"known", m.Known}, {"default", m.Default}, {"free", m.Free}, {"tools", m.Tools}} {
				if is.so {
					line += " " + is.word
				}
			}
			out = append(out, line)
		}
		return out
	}
	for _, test := range []struct {
		provider string
		names    []string
		want     []string
	}{
		{"deepseek", nil, []string{
			"deepseek-flash 9000 $0.3 known tools", "deepseek-v4-flash 9000 $0.3 known tools", "deepseek-v4-pro 9000 $3 known tools",
			"my-tune 9000 default tools", "other 9000 $3 tools",
		}},
		{"deepseek", []string{"b", "a", "deepseek-flash", "a"}, []string{"deepseek-flash 9000 $0.3 known tools", "a 9000 tools", "b 9000 tools"}},
		{"own", nil, []string{"gpt-4o 128000 $2.5 known default tools"}},
		{"demo", nil, []string{"demo 128000 known default free tools"}},
		{"ollama", nil, []string{"qwen3 0 default free tools"}},
	} {
		if diff := cmp.Diff(test.want, show(test.provider, test.names)); diff != "" {
			t.Errorf("%s %v (-want +got):\n%s", test.provider, test.names, diff)
		}
	}
	if _, err := s.Offered("nobody", nil); err == nil {
		t.Error("nobody offers models")
	}
}

func TestProbing(t *testing.T) {
	t.Parallel()
	s := New(Options{Vendors: map[string]Vendor{
		"ollama": {Open: func(Settings) (llm.Model, error) { return curious{}, nil }},
		"openai": {Open: openSilent},
	}, Providers: []Settings{{Name: "own", Type: Compatible, BaseURL: "http://box"}}})
	got, err := s.Probe(t.Context(), llm.Target{Provider: "ollama", Model: "qwen3:8b"})
	if err != nil || !got.Known || got.Tools || got.ContextWindow != 4096 {
		t.Errorf("%+v, %v", got, err)
	}
	var e *llm.Error
	if _, err := s.Probe(t.Context(), llm.Target{Provider: "ollama", Model: "x"}); !errors.As(err, &e) || e.Error() != "ollama: not pulled" {
		t.Errorf("%v", err)
	}
	if _, err := s.Probe(t.Context(), llm.Target{Provider: "own", Model: "x"}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v", err)
	}
	for name, want := range map[string]string{
		"own": "", "ollama": "", "openai": "there is no API key; set OPENAI_API_KEY", "demo": "demo is not in this version", "nobody": "there is no provider of this name",
	} {
		if err := s.Problem(name); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCost(t *testing.T) {
	t.Parallel()
	cached := 0.5
	s := New(Options{
		Vendors:   map[string]Vendor{"openai": {Open: openSilent}},
		Providers: []Settings{{Name: "openai", Key: "k", Prices: map[string]Price{"gpt-x": {In: 10, Out: 20, Cached: &cached}}}},
	})
	million := llm.Usage{Input: 1_000_000, Cached: 400_000, CacheWrite: 100_000, Output: 500_000}
	for target, want := range map[llm.Target]float64{
		{Provider: "openai", Model: "gpt-x"}:                  5 + 0.2 + 1 + 10,
		{Provider: "openai", Model: "gpt-4o-mini-2024-07-18"}: 0.5*0.15 + 0.4*0.075 + 0.1*0.15 + 0.3,
		{Provider: "openai", Model: "gpt-4.1"}:                0.5*2 + 0.4*0.5 + 0.1*2 + 4,
		{Provider: "ollama", Model: "anything"}:               0,
		{Provider: "demo", Model: "demo"}:                     0,
	} {
		got := s.Cost(million, target)
		if got == nil || *got < want-1e-9 || *got > want+1e-9 {
			t.Errorf("%s: %v, want %v", target, got, want)
		}
	}
	for _, target := range []llm.Target{{Provider: "openai", Model: "new"}, {Provider: "nobody", Model: "gpt-4o"}} {
		if got := s.Cost(million, target); got != nil {
			t.Errorf("%s: %v", target, *got)
		}
	}
}

// Two requests that were sent before either was refused learn the same, and
// both are made again; what was known already teaches nothing.
func TestLessons(t *testing.T) {
	t.Parallel()
	var l Lessons[uint16]
	if l.Of("a") != 0 || l.Learn("a", 0, 0) {
		t.Error("something was known before anything was learned")
	}
	for range 2 {
		if !l.Learn("a", 0, 2) {
			t.Error("a lesson was not new to a request that did not know it")
		}
	}
	if l.Learn("a", 2, 2) || !l.Learn("a", 2, 4) || l.Of("a") != 6 || l.Of("b") != 0 {
		t.Errorf("a: %d, b: %d", l.Of("a"), l.Of("b"))
	}
}

func TestLessonsAreBounded(t *testing.T) {
	t.Parallel()
	var l Lessons[uint16]
	for i := range 2 * maxLessons {
		l.Learn(fmt.Sprint(i), 0, 1)
	}
	if n := len(l.byModel); n > maxLessons {
		t.Errorf("%d models are remembered", n)
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain words.": "plain words.",
		"  two\n\tlines\x1b[31m \u202e and  more":           "two lines [31m and more",
		"Incorrect API key provided: sk-abc***xyz9876. See": "Incorrect API key provided: *** See",
		"Authorization: Bearer abcdef123456, sorry":         "Authorization: Bearer ***, sorry",
		`{"api_key": "abcdef123456"}`:                       `{"api_key": "***"}`,
		"key AIzaSyA1234567890abcdefgh is bad":              "key *** is bad",
		"my-very-own-key is bad":                            "*** is bad",
		"GET /v1?key=my-very-own-key+%2B failed":            "GET /v1?key=***+%2B failed",
		"it was cut in my-very-own":                         "it was cut in ***",
		"<html><head><title>\n 502 Bad\nGateway</title>":    "an HTML page instead of an answer: 502 Bad Gateway",
		"<!DOCTYPE html><body>no title":                     "an HTML page instead of an answer",
		"a task-1234567890 and risk_management_office stay": "a task-1234567890 and risk_management_office stay",
	} {
		if got := Clean(in, "my-very-own-key", ""); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := Clean("GET /v1?key=a%2Bsecret%2Fwith-signs", "a+secret/with-signs"); got != "GET /v1?key=***" {
		t.Errorf("%q", got)
	}
	if got := []rune(Clean(strings.Repeat("界", 1000))); len(got) != 300 || got[299] != '…' {
		t.Errorf("%d characters", len(got))
	}
	if got := Clean(strings.Repeat("界", 300)); strings.HasSuffix(got, "…") {
		t.Error("what fits was cut")
	}
}

func TestSettingsTellNoKey(t *testing.T) {
	t.Parallel()
	s := Settings{Name: "mine", Key: "sk-secret", Headers: map[string]string{"X-Key": "other-secret"}}
	var b strings.Builder
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "settings", s)
	if text := b.String() + fmt.Sprintf("%v %+v %s", s, s, s); strings.Contains(text, "secret") || !strings.Contains(text, "mine") {
		t.Error(text)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", "0.5", 500 * time.Millisecond},
		{"Retry-After", "Mon, 30 Nov 2026 12:00:20 GMT", 20 * time.Second},
		{"Retry-After", "Mon, 30 Nov 2026 11:00:20 GMT", 0},
		{"Retry-After", "-1", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After", "1e300", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After-Ms", "250", 250 * time.Millisecond},
		{"X-Other", "7", 0},
	} {
		if got := RetryAfter(header(test.name, test.value), now); got != test.want {
			t.Errorf("%s: %s is %s, want %s", test.name, test.value, got, test.want)
		}
	}
}

func header(name, value string) http.Header {
	h := http.Header{}
	h.Set(name, value)
	return h
}
