package api

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// reply is what the model does when it is asked.
type reply struct {
	reasoning string
	text      string        // streamed word by word
	every     time.Duration // between words
	calls     []llm.ToolCall
	gate      chan struct{} // waited for before the first word
	middle    chan struct{} // waited for before the last word
	err       error
	finish    llm.Finish // how it ends; by what it holds when empty
}

// model answers by the last words that it reads; what it has no answer for it
// repeats.
type model struct {
	mu      sync.Mutex
	answers map[string][]reply
	seen    []string
	open    chan struct{} // closed at the end of the test
	once    sync.Once
	media   []byte // what the tool picture returns
}

func newModel() *model {
	return &model{answers: map[string][]reply{}, open: make(chan struct{})}
}

func (m *model) release() { m.once.Do(func() { close(m.open) }) }

// on says what the model answers to text, one reply after the other.
func (m *model) on(text string, replies ...reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers[text] = append(m.answers[text], replies...)
}

func (m *model) next(text string) reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, text)
	list := m.answers[text]
	if len(list) == 0 {
		return reply{text: text}
	}
	m.answers[text] = list[1:]
	return list[0]
}

var target = llm.Target{Provider: "fake", Model: "m"}

func cost(u llm.Usage, _ llm.Target) *float64 {
	usd := float64(u.Output) / 4
	return &usd
}

func (m *model) Stream(ctx context.Context, _ string, _ bool, build func(llm.Target) (llm.Request, error)) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		req, err := build(target)
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		text := ""
		for _, msg := range req.Messages {
			if msg.Role == llm.User && msg.Text() != "" {
				text = msg.Text()
			}
		}
		a := m.next(text)
		wait := func(c <-chan struct{}) bool {
			if c == nil {
				return ctx.Err() == nil
			}
			select {
			case <-c:
				return true
			case <-m.open:
				return ctx.Err() == nil
			case <-ctx.Done():
				return false
			}
		}
		if !wait(a.gate) {
			yield(llm.Event{}, ctx.Err())
			return
		}
		if a.err != nil {
			yield(llm.Event{}, a.err)
			return
		}
		if a.reasoning != "" && !yield(llm.Event{Type: llm.EventReasoning, Text: a.reasoning}, nil) {
			return
		}
		words := strings.SplitAfter(a.text, " ")
		for i, w := range words {
			if i == len(words)-1 && !wait(a.middle) {
				yield(llm.Event{}, ctx.Err())
				return
			}
			if a.every > 0 {
				timer := time.NewTimer(a.every)
				select {
				case <-timer.C:
				case <-ctx.Done():
					timer.Stop()
					yield(llm.Event{}, ctx.Err())
					return
				}
			}
			if w != "" && !yield(llm.Event{Type: llm.EventText, Text: w}, nil) {
				return
			}
		}
		out := llm.Reply{
			Message: llm.Message{Role: llm.Assistant}, Finish: llm.FinishStop, Target: target,
			Usage: llm.Usage{Input: 10, Output: 4},
		}
		if a.reasoning != "" {
			out.Message.Parts = append(out.Message.Parts, llm.Part{Kind: llm.KindReasoning, Text: a.reasoning})
		}
		if a.text != "" {
			out.Message.Parts = append(out.Message.Parts, llm.Text(a.text))
		}
		for _, c := range a.calls {
			out.Message.Parts = append(out.Message.Parts, llm.Part{Kind: llm.KindCall, Call: &c})
			out.Finish = llm.FinishCalls
		}
		if a.finish != "" {
			out.Finish = a.finish
		}
		yield(llm.Event{Type: llm.EventDone, Reply: &out}, nil)
	}
}

// toolbox has a few tools whose names say what they do.
type toolbox struct{ m *model }

func (b toolbox) Offer(_ context.Context, s tool.Scope, t llm.Target, st tool.State, _ tool.Ask) (tool.Surface, error) {
	return tool.Surface{Scope: s, Target: t, State: st}, nil
}

func (b toolbox) Execute(ctx context.Context, _ tool.Surface, calls []llm.ToolCall, emit func(tool.Event)) []tool.Outcome {
	var out []tool.Outcome
	for i, c := range calls {
		o := b.outcome(ctx, i, c, emit)
		out = append(out, o)
		emit(tool.Event{Type: tool.Finished, Index: i, Outcome: &o})
	}
	return out
}

func (b toolbox) outcome(ctx context.Context, i int, c llm.ToolCall, emit func(tool.Event)) tool.Outcome {
	now := time.Now()
	o := tool.Outcome{
		Call: c, Tool: c.Name, Args: json.RawMessage(c.Arguments), Status: tool.OK,
		Content: []llm.Part{llm.Text("ok")}, Started: now, Ended: now,
	}
	if c.Name == "refuse" {
		o.Status, o.Step, o.Args = tool.Refused, "offered", nil
		o.Refusal = &tool.Refusal{Step: "offered", Rule: "never", Reason: "refuse is never allowed.", Allowed: "Use noop."}
		o.Content = []llm.Part{llm.Text(o.Refusal.Error())}
		return o
	}
	emit(tool.Event{Type: tool.Started, Index: i, Tool: c.Name, Args: o.Args})
	switch c.Name {
	case "picture":
		o.Content = append(o.Content, llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png", Name: "shot.png", Data: b.m.media}})
	case "slow":
		emit(tool.Event{Type: tool.Progress, Index: i, Text: "half"})
		<-ctx.Done()
		o.Status, o.Content = tool.Cancelled, []llm.Part{llm.Text("cancelled")}
	}
	return o
}

// prompts adds the host's word to what the person says, and nothing else.
type prompts struct{}

func (prompts) Context(context.Context, agent.Turn) ([]llm.Part, error) {
	return []llm.Part{{Kind: llm.KindContext, Text: "It is noon."}}, nil
}

func (prompts) Build(_ context.Context, _ agent.Turn, sf tool.Surface, messages []llm.Message) (llm.Request, agent.RequestFacts, error) {
	return llm.Request{Target: sf.Target, Messages: messages}, agent.RequestFacts{Target: sf.Target, Messages: len(messages)}, nil
}
