package provider

import (
	"bytes"
	_ "embed" // holds the table
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/goclaw/goclaw/internal/llm"
)

// Table is what GoClaw ships of well-known models, as their providers
// published it on a day.
type Table struct {
	Date      string  `json:"date"` // YYYY-MM-DD
	Providers []Maker `json:"providers"`

	byName map[string]*Model
}

// Maker is the models of one provider.
type Maker struct {
	Name    string   `json:"name"` // of the built-in provider
	Note    string   `json:"note,omitempty"`
	Sources []string `json:"sources,omitempty"` // the pages that say so
	Models  []Model  `json:"models"`            // newest first
	// Embeddings are the models that turn texts into vectors.
	Embeddings []Embedding `json:"embeddings,omitempty"`
}

// Embedding is what the table knows of a model that turns texts into vectors.
type Embedding struct {
	Name string  `json:"name"`
	In   float64 `json:"in"` // US dollars per million tokens
}

// Model is what the model table knows of a model.
type Model struct {
	Name          string `json:"name"`
	Maker         string `json:"-"`              // the built-in provider in whose list it stands
	ContextWindow int    `json:"context_window"` // tokens
	MaxOutput     int    `json:"max_output"`     // tokens of one answer, reasoning included
	Price         *Price `json:"price,omitempty"`

	Tools  bool `json:"tools"`
	Images bool `json:"images,omitempty"`
	Files  bool `json:"files,omitempty"` // PDF

	// Effort lists the values of the effort that the model takes; empty when it
	// doesn't reason or can't be told how much.
	Effort []string `json:"effort,omitempty"`
	// Thinking is how a Claude model, or a Gemini model without efforts, is told
	// to think; nil for others.
	Thinking *Thinking `json:"thinking,omitempty"`
	// Direct says that OpenAI's own Chat Completions takes tools only with the
	// effort "none", so not at all where the model doesn't take that.
	Direct bool `json:"direct,omitempty"`
	// OwnTemperature says that another temperature than its own is refused.
	OwnTemperature bool `json:"own_temperature,omitempty"`
}

// Thinking is how much a model thinks, and what keeps it from it.
type Thinking struct {
	// Budget says that a number of tokens limits it, from Least to Most where
	// they are known; else the model thinks as it sees fit, and the effort
	// guides it.
	Budget bool `json:"budget,omitempty"`
	Least  int  `json:"least,omitempty"`
	Most   int  `json:"most,omitempty"`
	// Default says that the model thinks without being told to.
	Default bool `json:"default,omitempty"`
	// Off is what keeps the model from it, "" when nothing does: for Claude a
	// type of thinking.
	Off string `json:"off,omitempty"`
}

// Price is in US dollars per million tokens.
type Price struct {
	In  float64 `json:"in"`
	Out float64 `json:"out"`
	// Cached and CacheWrite count for input read from and written to the
	// provider's cache; nil means as In.
	Cached     *float64 `json:"cached,omitempty"`
	CacheWrite *float64 `json:"cache_write,omitempty"`

	// Tiers are what a call costs, all of it, that has more input; sorted by
	// Above, in tokens, which only they have.
	Tiers []Price `json:"tiers,omitempty"`
	Above int64   `json:"above,omitempty"`
}

//go:embed models.json
var tableJSON []byte

// Shipped is the model table. ai.providers.NAME.prices, .context_window and
// .max_output_tokens go before it. It is read when it is first needed, so that
// it costs the start of the program nothing.
var Shipped = sync.OnceValue(func() *Table {
	t, err := readTable(tableJSON)
	if err != nil {
		panic("provider: models.json: " + err.Error()) // a test reads it as well
	}
	return t
})

func readTable(data []byte) (*Table, error) {
	t := &Table{byName: map[string]*Model{}}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(t); err != nil {
		return nil, err
	}
	for _, p := range t.Providers {
		for i := range p.Models {
			m := &p.Models[i]
			if t.byName[m.Name] != nil {
				return nil, fmt.Errorf("%s stands there twice", m.Name)
			}
			m.Maker = p.Name
			t.byName[m.Name] = m
		}
	}
	return t, nil
}

// embedding is the price of a model that turns texts into vectors.
func (t *Table) embedding(name string) (Price, bool) {
	for _, p := range t.Providers {
		for _, e := range p.Embeddings {
			if e.Name == strings.ToLower(name[strings.LastIndexByte(name, '/')+1:]) {
				return Price{In: e.In}, true
			}
		}
	}
	return Price{}, false
}

// Of lists the models of a built-in provider, and what holds for all of them.
func (t *Table) Of(provider string) Maker {
	for _, p := range t.Providers {
		if p.Name == provider {
			return p
		}
	}
	return Maker{Name: provider}
}

// Makes names the built-in provider whose model is called so in the table, ""
// when none is.
func (t *Table) Makes(model string) string {
	known, ok := Lookup(model)
	for _, p := range t.Providers {
		if ok && slices.ContainsFunc(p.Models, func(m Model) bool { return m.Name == known.Name }) {
			return p.Name
		}
	}
	return ""
}

// dated is the suffix of a model's frozen state, as in gpt-4o-2024-08-06.
var dated = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-20\d\d-?\d\d-?\d\d$`) })

// Lookup finds a model in the table by the name that a provider gives it: a
// maker in front ("openai/gpt-4o") and a date behind ("gpt-4o-2024-08-06")
// are the same model.
func Lookup(name string) (Model, bool) {
	name = strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	byName := Shipped().byName
	m, ok := byName[name]
	if !ok {
		m, ok = byName[dated().ReplaceAllString(name, "")]
	}
	if !ok {
		return Model{}, false
	}
	return *m, true
}

// efforts orders the values of an effort.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// NearestEffort is the value among those that m takes which is closest to want,
// the smaller of two equally close ones; "" when it takes none.
func (m Model) NearestEffort(want string) string {
	best, distance := "", len(efforts)
	at := slices.Index(efforts, want)
	for _, v := range m.Effort {
		away := slices.Index(efforts, v) - at
		if away < 0 {
			away = -away
		}
		if away < distance {
			best, distance = v, away
		}
	}
	return best
}

// Cost is what usage costs in US dollars. The usage is that of one call, since
// its input decides which prices count.
func (p Price) Cost(u llm.Usage) float64 {
	for _, t := range slices.Backward(p.Tiers) {
		if u.Input > t.Above {
			return t.Cost(u)
		}
	}
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
