// Package prompt turns an agent's files and a thread into a request: the static
// system prompt, the session context behind it, and what is added after the
// person's words. Each piece is a named section with its source, so that it
// can be shown, measured and compared.
//
// The static prompt holds across turns byte for byte unless its inputs change:
// the time, and anything about the message, is never in it. Sections are made
// in a fixed order from files as they are at each request; a missing file is
// skipped. Between calls the package keeps what [Snapshots] stores, and the text
// of files for as long as they don't change. Prompts are safe for concurrent
// use.
//
// Start reading at [Prompts.Build] and the list in sections.go.
package prompt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/tool"
)

// Prompts implements [agent.Prompts] for one agent.
type Prompts struct {
	o    Options
	seen seen
}

// Options completes [Prompts].
type Options struct {
	// Files gives the workspace, read through a root that can't be left. It is
	// asked once for each request.
	Files func() (fs.FS, error)
	// Workspace is its path as the model is told it.
	Workspace string
	// CoreInstruction is the admin's word for this agent.
	CoreInstruction string
	// ContextBudget bounds the session context, in characters.
	ContextBudget int
	// MaxResultChars is told to the model, which plans with it.
	MaxResultChars int
	Snapshots      Snapshots
	// Trim shortens messages to budget tokens as estimated by Tokens and says
	// how many it dropped. It never splits a call from its results.
	Trim func(messages []llm.Message, budget int) ([]llm.Message, int)
	Now  func() time.Time
	// MaxOutput, Temperature and Reasoning go into each request for a provider.
	Parameters func(provider string) Parameters
}

// Parameters are what the configuration sets for a provider's requests.
type Parameters struct {
	MaxOutput   int
	Temperature *float64
	Reasoning   string
}

// Snapshots keeps, for each session, what was taken when it began and must not
// change with every file that is written: the listing of the workspace.
type Snapshots interface {
	// Snapshot returns what was kept under name, or keeps and returns what
	// take gives.
	Snapshot(ctx context.Context, agent, session, name string, take func() (string, error)) (string, error)
}

// New returns the prompts of one agent.
func New(o Options) *Prompts {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Prompts{o: o}
}

// Context implements [agent.Prompts]: the current time at minute precision, so
// that sessions which begin alike differ in as little as possible.
func (p *Prompts) Context(_ context.Context, t agent.Turn) ([]llm.Part, error) {
	return []llm.Part{{Kind: llm.KindContext, Text: p.clock(t)}}, nil
}

// clock says when t began.
func (p *Prompts) clock(t agent.Turn) string {
	now := t.Started
	if now.IsZero() {
		now = p.o.Now()
	}
	zone := now.Location().String()
	if zone == "Local" {
		zone, _ = now.Zone()
	}
	return fmt.Sprintf("Now: %s (%s, UTC%s)", now.Format("Monday, 2006-01-02 15:04"), zone, now.Format("-07:00"))
}

// Build implements [agent.Prompts].
func (p *Prompts) Build(ctx context.Context, t agent.Turn, sf tool.Surface, messages []llm.Message) (llm.Request, agent.RequestFacts, error) {
	sections, err := p.sections(ctx, t, sf)
	if err != nil {
		return llm.Request{}, agent.RequestFacts{}, err
	}
	par := Parameters{}
	if p.o.Parameters != nil {
		par = p.o.Parameters(sf.Target.Provider)
	}
	req := llm.Request{
		Target: sf.Target, Static: join(sections, Static), Session: join(sections, Session),
		Messages: messages, Tools: sf.Specs(), Clock: p.clock(t),
		MaxOutput: par.MaxOutput, Temperature: par.Temperature, Reasoning: par.Reasoning,
	}
	facts := agent.RequestFacts{Target: sf.Target, Sections: sections, Tools: tool.Names(sf.Offered)}
	fixed := len(req.Static) + len(req.Session)
	for _, s := range req.Tools {
		fixed += len(s.Name) + len(s.Description) + len(s.Parameters)
	}
	if budget, ok := p.budget(sf.Target, par, fixed); ok {
		req.Messages, facts.Dropped = p.o.Trim(messages, budget)
	}
	facts.Messages, facts.Bytes = len(req.Messages), fixed
	for _, m := range req.Messages {
		facts.Bytes += Bytes(m)
	}
	return req, facts, nil
}

// budget is how many tokens the messages may take, when the target's window or
// its largest request is known: the window without the answer and the fixed part. The quarter of the
// window that is left unused at least for the answer is what models with small
// windows need.
func (p *Prompts) budget(t llm.Target, par Parameters, fixed int) (int, bool) {
	if p.o.Trim == nil || t.ContextWindow <= 0 && t.MaxInput <= 0 {
		return 0, false
	}
	fixed = Tokens(fixed)
	learned := max(t.MaxInput-fixed, t.MaxInput/8)
	if t.ContextWindow <= 0 {
		return learned, true
	}
	answer := par.MaxOutput
	if answer == 0 {
		answer = min(t.MaxOutput, 16384)
	}
	answer = max(min(answer, t.ContextWindow/2), t.ContextWindow/8)
	known := max(t.ContextWindow-answer-fixed, t.ContextWindow/8)
	if t.MaxInput > 0 {
		known = min(known, learned)
	}
	return known, true
}

// Tokens estimates the tokens of n bytes of text. It errs to the high side for
// English and is close for code and JSON.
func Tokens(n int) int { return (n + 2) / 3 }

// Bytes is about how long m is on the wire.
func Bytes(m llm.Message) int {
	n := 16
	for _, p := range m.Parts {
		n += partBytes(p)
	}
	return n
}

func partBytes(p llm.Part) int {
	n := len(p.Text)
	if p.Call != nil {
		n += len(p.Call.ID) + len(p.Call.Name) + len(p.Call.Arguments) + 32
	}
	if p.Result != nil {
		n += len(p.Result.CallID) + 32
		for _, c := range p.Result.Content {
			n += partBytes(c)
		}
	}
	if p.Kind == llm.KindMedia && p.Media != nil {
		n += mediaBytes(p.Media)
	}
	if p.Opaque != nil {
		n += len(p.Opaque.Data)
	}
	return n
}

const (
	// imageBytes is how much text costs a model about as much as an image does,
	// whatever its size in bytes.
	imageBytes = 4096
	// pageBytes is the same for a page of a PDF file, of which models are given
	// the text and an image: 1,500 to 3,000 tokens.
	// https://platform.claude.com/docs/en/build-with-claude/pdf-support
	pageBytes = 3000 * 3
	// sparsePage is how many bytes of a file a page has at least, and maxPages how
	// many it has at most, where they can't be counted. Some models take no file
	// that has more.
	sparsePage = 20 << 10
	maxPages   = 100
)

func mediaBytes(m *llm.Media) int {
	if m.MIME != wire.PDF {
		return imageBytes
	}
	pages := m.Pages
	if pages == 0 {
		pages = min(1+m.Bytes()/sparsePage, maxPages)
	}
	return pages * pageBytes
}

func join(sections []agent.Section, place string) string {
	var b strings.Builder
	size := 0
	for _, s := range sections {
		if s.Place == place {
			size += len(s.Text) + 2
		}
	}
	b.Grow(size)
	for _, s := range sections {
		if s.Place != place {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(s.Text)
	}
	return b.String()
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
