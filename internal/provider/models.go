package provider

import (
	"regexp"
	"strings"
	"sync"

	"github.com/goclaw/goclaw/internal/llm"
)

// Price is in US dollars per million tokens.
type Price struct {
	In  float64
	Out float64
	// Cached and CacheWrite count for input read from and written to the
	// provider's cache; nil means as In.
	Cached, CacheWrite *float64
}

// Model is what the model table knows of a model.
type Model struct {
	Name          string
	ContextWindow int // tokens
	MaxOutput     int // tokens of one answer, reasoning included
	Images        bool
	Price         *Price // nil when unknown

	// Effort lists the values of reasoning_effort that the model takes; empty
	// when it doesn't reason or can't be told how much.
	Effort []string
	// Direct says that OpenAI's own Chat Completions takes tools only with the
	// effort "none".
	Direct bool
	// OwnTemperature says that another temperature than its own is refused.
	OwnTemperature bool
}

// usd is a price with a price for cached input.
func usd(in, cached, out float64) *Price { return &Price{In: in, Cached: &cached, Out: out} }

// usdWrite is a price for models that charge a quarter more for what they
// write to their cache.
func usdWrite(in, cached, out float64) *Price {
	p := usd(in, cached, out)
	write := in * 1.25
	p.CacheWrite = &write
	return p
}

var (
	effortO     = []string{"low", "medium", "high"}
	effort5     = []string{"minimal", "low", "medium", "high"}
	effort5x    = []string{"none", "low", "medium", "high"}
	effortXhigh = []string{"none", "low", "medium", "high", "xhigh"}
	effortSol61 = []string{"low", "medium", "high", "xhigh"}
	effortDeep  = []string{"low", "medium", "high", "max"}
)

// table holds the well-known models as their providers published them in
// November 2026. Prices are the standard ones: OpenAI charges more for requests
// beyond 272,000 tokens, DeepSeek half of these outside of its peak hours.
// ai.providers.NAME.prices and .context_window go before.
var table = []Model{
	{Name: "gpt-6-astra", ContextWindow: 1_050_000, MaxOutput: 128_000, Images: true, Price: &Price{In: 10, Out: 50}, Effort: effortSol61, OwnTemperature: true},
	{Name: "gpt-6.1-sol", ContextWindow: 1_050_000, MaxOutput: 128_000, Images: true, Price: usdWrite(2, 0.1, 10), Effort: effortSol61, OwnTemperature: true},
	{Name: "gpt-6-sol", ContextWindow: 1_050_000, MaxOutput: 128_000, Images: true, Price: usdWrite(2, 0.2, 10), Effort: effortXhigh, Direct: true, OwnTemperature: true},
	{Name: "gpt-6-luna", ContextWindow: 1_050_000, MaxOutput: 128_000, Images: true, Price: usdWrite(0.1, 0.01, 0.5), Effort: effortXhigh, Direct: true, OwnTemperature: true},
	{Name: "gpt-5.6-sol", ContextWindow: 1_050_000, MaxOutput: 128_000, Images: true, Price: usdWrite(4, 0.4, 20), Effort: effortXhigh, Direct: true, OwnTemperature: true},
	{Name: "gpt-5.6-terra", ContextWindow: 1_050_000, MaxOutput: 128_000, Images: true, Price: usdWrite(2, 0.2, 12), Effort: effortXhigh, Direct: true, OwnTemperature: true},
	{Name: "gpt-5.6-luna", ContextWindow: 1_050_000, MaxOutput: 128_000, Images: true, Price: usdWrite(0.2, 0.02, 1.2), Effort: effortXhigh, Direct: true, OwnTemperature: true},
	{Name: "gpt-5.5", ContextWindow: 1_050_000, MaxOutput: 128_000, Images: true, Price: usd(5, 0.5, 30), Effort: effortXhigh, Direct: true, OwnTemperature: true},
	{Name: "gpt-5.4", ContextWindow: 1_050_000, MaxOutput: 128_000, Images: true, Price: usd(2.5, 0.25, 15), Effort: effortXhigh, Direct: true},
	{Name: "gpt-5.4-mini", ContextWindow: 400_000, MaxOutput: 128_000, Images: true, Price: usd(0.75, 0.075, 4.5), Effort: effortXhigh, Direct: true},
	{Name: "gpt-5.4-nano", ContextWindow: 400_000, MaxOutput: 128_000, Images: true, Price: usd(0.2, 0.02, 1.25), Effort: effortXhigh, Direct: true},
	{Name: "gpt-5.2", ContextWindow: 400_000, MaxOutput: 128_000, Images: true, Price: usd(1.75, 0.175, 14), Effort: effortXhigh},
	{Name: "gpt-5.1", ContextWindow: 400_000, MaxOutput: 128_000, Images: true, Price: usd(1.25, 0.125, 10), Effort: effort5x},
	{Name: "gpt-5", ContextWindow: 400_000, MaxOutput: 128_000, Images: true, Price: usd(1.25, 0.125, 10), Effort: effort5, OwnTemperature: true},
	{Name: "gpt-5-mini", ContextWindow: 400_000, MaxOutput: 128_000, Images: true, Price: usd(0.25, 0.025, 2), Effort: effort5, OwnTemperature: true},
	{Name: "gpt-5-nano", ContextWindow: 400_000, MaxOutput: 128_000, Images: true, Price: usd(0.05, 0.005, 0.4), Effort: effort5, OwnTemperature: true},
	{Name: "gpt-4.1", ContextWindow: 1_047_576, MaxOutput: 32_768, Images: true, Price: usd(2, 0.5, 8)},
	{Name: "gpt-4.1-mini", ContextWindow: 1_047_576, MaxOutput: 32_768, Images: true, Price: usd(0.4, 0.1, 1.6)},
	{Name: "gpt-4.1-nano", ContextWindow: 1_047_576, MaxOutput: 32_768, Images: true, Price: usd(0.1, 0.025, 0.4)},
	{Name: "gpt-4o", ContextWindow: 128_000, MaxOutput: 16_384, Images: true, Price: usd(2.5, 1.25, 10)},
	{Name: "gpt-4o-mini", ContextWindow: 128_000, MaxOutput: 16_384, Images: true, Price: usd(0.15, 0.075, 0.6)},
	{Name: "o4-mini", ContextWindow: 200_000, MaxOutput: 100_000, Images: true, Price: usd(1.1, 0.275, 4.4), Effort: effortO, OwnTemperature: true},
	{Name: "o3", ContextWindow: 200_000, MaxOutput: 100_000, Images: true, Price: usd(2, 0.5, 8), Effort: effortO, OwnTemperature: true},
	{Name: "deepseek-flash", ContextWindow: 1_000_000, MaxOutput: 384_000, Images: true, Price: usd(0.3, 0.006, 1.2), Effort: effortDeep},
	{Name: "deepseek-v4-flash", ContextWindow: 1_000_000, MaxOutput: 384_000, Images: true, Price: usd(0.3, 0.006, 1.2), Effort: effortDeep},
	{Name: "deepseek-v4-pro", ContextWindow: 1_000_000, MaxOutput: 384_000, Price: usd(1.32, 0.044, 3.96), Effort: effortDeep},
	{Name: "demo", ContextWindow: 128_000, MaxOutput: 8_192},
}

var byName = sync.OnceValue(func() map[string]*Model {
	m := make(map[string]*Model, len(table))
	for i := range table {
		m[table[i].Name] = &table[i]
	}
	return m
})

// dated is the suffix of a model's frozen state, as in gpt-4o-2024-08-06.
var dated = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-20\d\d-?\d\d-?\d\d$`) })

// Lookup finds a model in the table by the name that a provider gives it: a
// maker in front ("openai/gpt-4o") and a date behind ("gpt-4o-2024-08-06")
// are the same model.
func Lookup(name string) (Model, bool) {
	name = strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	m, ok := byName()[name]
	if !ok {
		m, ok = byName()[dated().ReplaceAllString(name, "")]
	}
	if !ok {
		return Model{}, false
	}
	return *m, true
}

// Cost is what usage costs in US dollars.
func (p Price) Cost(u llm.Usage) float64 {
	fresh := u.Input - u.Cached - u.CacheWrite
	return (float64(fresh)*p.In + float64(u.Cached)*or(p.Cached, p.In) +
		float64(u.CacheWrite)*or(p.CacheWrite, p.In) + float64(u.Output)*p.Out) / 1e6
}

func or(v *float64, otherwise float64) float64 {
	if v == nil {
		return otherwise
	}
	return *v
}
