package provider

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
)

// Settings is how one provider is reached: what the configuration says of it.
type Settings struct {
	Name string // as people write it before the slash of provider/model
	// Type is the name of a built-in provider or "openai-compatible"; Name
	// when empty.
	Type string

	BaseURL string // the provider's own address when empty
	Key     string // may be empty where a server of one's own wants none
	Model   string // when a model string names the provider only; the shipped default when empty

	ContextWindow int // tokens; from the model table when 0
	MaxOutput     int // tokens; from the model table when 0

	// What its models take; nil leaves it to the server and the model table.
	Images, Files, Tools *bool

	Prices  map[string]Price // by model, before those of the model table
	Headers map[string]string
	Proxy   string
	Limits  Limits
}

// String names the provider and tells no key.
func (s Settings) String() string { return s.Name }

// LogValue tells no key either.
func (s Settings) LogValue() slog.Value { return slog.StringValue(s.Name) }

// Open makes the client of one vendor's wire for the completed settings s. It
// connects to nothing.
type Open func(s Settings) (llm.Model, error)

// Vendor is one wire that is compiled in.
type Vendor struct {
	Open Open
}

// Lister is implemented by clients that can ask which models there are.
type Lister interface {
	List(ctx context.Context) ([]string, error)
}

// Limits are the time-outs of one model call. Zero fields take the defaults.
type Limits struct {
	Total     time.Duration // 10 min: the whole call
	FirstByte time.Duration // 60 s: until the first byte of the answer's body
	Idle      time.Duration // 60 s: between two bytes of it

	// Late and Silent say what may be the cause when the first byte comes too
	// late, or too late another, and what to do: for vendors who know.
	Late, Silent string
}

func (l Limits) complete() Limits {
	if l.Total <= 0 {
		l.Total = 10 * time.Minute
	}
	if l.FirstByte <= 0 {
		l.FirstByte = time.Minute
	}
	if l.Idle <= 0 {
		l.Idle = time.Minute
	}
	return l
}

// Compatible is the type of servers that speak OpenAI's wire at an address of
// their own.
const Compatible = "openai-compatible"

// Builtin is a provider that GoClaw knows by name.
type Builtin struct {
	Name   string
	KeyVar string // the environment variable that usually holds its key; "" when it needs none
	Model  string // the shipped default
	// Embedding is the model that turns texts into vectors unless another is
	// named; "" when it has none.
	Embedding string
	Free      bool     // costs nothing per token
	Also      []string // what other programs call it
	// Wires are the ways to reach it, the best first: the first whose vendor
	// this build has is taken.
	Wires []Wire
}

// Wire is a vendor's format and where a provider speaks it.
type Wire struct {
	Vendor string
	Host   string // scheme and host
	Path   string // what an address without a path gets
}

// Builtins lists the known providers in the order in which a key in the
// environment decides for one. The default models are those of November 2026:
// current, cheap, and good with tools.
var Builtins = []Builtin{
	{
		Name: "openai", KeyVar: "OPENAI_API_KEY", Model: "gpt-6-luna", Embedding: "text-embedding-3-small", Also: []string{"open-ai", "chatgpt"},
		Wires: []Wire{{"openai", "https://api.openai.com", "/v1"}},
	},
	{
		Name: "claude", KeyVar: "ANTHROPIC_API_KEY", Model: "claude-sonnet-5-5", Also: []string{"anthropic"},
		Wires: []Wire{{"anthropic", "https://api.anthropic.com", ""}},
	},
	{
		Name: "gemini", KeyVar: "GEMINI_API_KEY", Model: "gemini-3.8-flash", Embedding: "gemini-embedding-2", Also: []string{"google"},
		Wires: []Wire{{"gemini", "https://generativelanguage.googleapis.com", ""}},
	},
	{
		Name: "gemini-legacy", KeyVar: "GEMINI_API_KEY", Model: "gemini-3.8-flash", Embedding: "gemini-embedding-2",
		Wires: []Wire{{"gemini", "https://generativelanguage.googleapis.com", ""}},
	},
	{
		Name: "deepseek", KeyVar: "DEEPSEEK_API_KEY", Model: "deepseek-flash",
		Wires: []Wire{{"openai", "https://api.deepseek.com", ""}},
	},
	{
		Name: "ollama", Model: "qwen3", Embedding: "embeddinggemma", Free: true,
		Wires: []Wire{{"ollama", "http://127.0.0.1:11434", ""}, {"openai", "http://127.0.0.1:11434", "/v1"}},
	},
	{Name: "demo", Model: "demo", Free: true, Wires: []Wire{{Vendor: "demo"}}},
	{Name: Compatible, Wires: []Wire{{Vendor: "openai"}}},
}

// Known returns the built-in provider called name.
func Known(name string) (Builtin, bool) {
	for _, b := range Builtins {
		if b.Name == name {
			return b, true
		}
	}
	return Builtin{}, false
}

// problem is why a provider can't be asked at all, in words for people.
type problem struct {
	class   llm.Class
	message string
}

func (p *problem) Error() string { return p.message }

func problemf(c llm.Class, format string, args ...any) *problem {
	return &problem{c, fmt.Sprintf(format, args...)}
}

// complete fills in what s leaves to its type and says which vendor's wire it
// takes. vendors are those of this build.
func (s Settings) complete(vendors map[string]Vendor) (Settings, string, *problem) {
	if s.Type == "" {
		s.Type = s.Name
	}
	b, ok := Known(s.Type)
	if !ok {
		return s, "", problemf(llm.ClassUnknown, "there is no type of provider %q", s.Type)
	}
	if s.Model == "" {
		s.Model = b.Model
	}
	s.Key = strings.TrimSpace(s.Key) // keys from files end with a line feed, which no header takes
	var wire Wire
	for _, w := range b.Wires {
		if vendors[w.Vendor].Open != nil {
			wire = w
			break
		}
	}
	if wire.Vendor == "" {
		return s, "", problemf(llm.ClassUnknown, "%s is not in this version", s.Type)
	}
	needsKey := b.KeyVar != "" && s.BaseURL == ""
	if needsKey && s.Key == "" {
		return s, wire.Vendor, problemf(llm.ClassAuth, "there is no API key; set %s", b.KeyVar)
	}
	if s.BaseURL == "" {
		s.BaseURL = wire.Host
	}
	if s.BaseURL == "" && s.Type == Compatible {
		return s, wire.Vendor, problemf(llm.ClassUnknown, "it has no base_url")
	}
	if strings.Contains(s.BaseURL, "?") && wire.Vendor != "openai" {
		return s, wire.Vendor, problemf(llm.ClassUnknown, "its base_url has a query (?…), which its API has no use for: leave it out")
	}
	s.BaseURL = withPath(s.BaseURL, wire.Path)
	s.Limits = s.Limits.complete()
	return s, wire.Vendor, nil
}

// withPath adds path to an address that has none, before its query.
func withPath(address, path string) string {
	base, query, asks := strings.Cut(address, "?")
	base = strings.TrimRight(base, "/")
	u, err := url.Parse(base)
	if err == nil && u.Path == "" && u.Host != "" { // a malformed one is reported by whoever connects to it
		base += path
	}
	if asks {
		base += "?" + query
	}
	return base
}
