// Package demo is a model without intelligence: a script that recognises a few
// simple wishes and drives the real tools with them, so that GoClaw can be
// tried, shown and tested without a key. Every answer says what it is.
//
// A [Model] has no state, no connection and no clock: what it answers follows
// from the request alone, so equal requests get equal answers. It calls only
// tools that the request offers, and reads their results from the transcript
// as any other model does.
//
// Start reading at [Model.Stream] and the list of wishes in wish.go.
package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// Mark begins every answer.
const Mark = "Demo model (no AI): "

// Model is the scripted model.
type Model struct{}

// Open implements [provider.Open]. The demo model needs no settings.
func Open(provider.Settings) (llm.Model, error) { return Model{}, nil }

// pace is the pause between two words of an answer that was asked for slowly.
const pace = 60 * time.Millisecond

// Stream implements [llm.Model].
func (Model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		t := read(req)
		text, calls := t.answer()
		for word := range words(Mark + text) {
			if err := pause(ctx, t.slowly); err != nil {
				yield(llm.Event{}, err)
				return
			}
			if !yield(llm.Event{Type: llm.EventText, Text: word}, nil) {
				return
			}
		}
		reply := &llm.Reply{Message: llm.AssistantMessage(Mark + text), Finish: llm.FinishStop, Target: req.Target, Model: req.Target.Model}
		for i, c := range calls {
			reply.Finish = llm.FinishCalls
			reply.Message.Parts = append(reply.Message.Parts, llm.Part{Kind: llm.KindCall, Call: &c})
			if !yield(llm.Event{Type: llm.EventCall, Text: c.Name, Index: i}, nil) {
				return
			}
		}
		reply.Usage = usage(req, reply.Message)
		yield(llm.Event{Type: llm.EventDone, Reply: reply}, nil)
	}
}

// words yields text in pieces that end behind a space.
func words(text string) iter.Seq[string] { return strings.SplitAfterSeq(text, " ") }

func pause(ctx context.Context, slowly bool) error {
	if !slowly {
		return ctx.Err()
	}
	t := time.NewTimer(pace)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// usage counts four bytes as a token, so that the meters have something to
// show.
func usage(req llm.Request, reply llm.Message) llm.Usage {
	in := len(req.Static) + len(req.Session)
	for _, t := range req.Tools {
		in += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	for _, m := range req.Messages {
		in += size(m.Parts)
	}
	return llm.Usage{Input: int64(in+3) / 4, Output: int64(size(reply.Parts)+3) / 4}
}

func size(parts []llm.Part) int {
	n := 0
	for _, p := range parts {
		n += len(p.Text)
		if p.Call != nil {
			n += len(p.Call.Name) + len(p.Call.Arguments)
		}
		if p.Result != nil {
			n += size(p.Result.Content)
		}
	}
	return n
}

// turn is what the model makes of a request: the person's last message and
// what was done about it since.
type turn struct {
	offered map[string]bool
	first   bool // the session's first message
	said    string
	slowly  bool
	done    []step
}

// step is a call of this turn with its result.
type step struct {
	name   string
	args   map[string]any
	text   string
	failed bool
}

func read(req llm.Request) turn {
	t := turn{offered: map[string]bool{}, first: true}
	if req.Choice != llm.ChoiceNone {
		for _, s := range req.Tools {
			t.offered[s.Name] = true
		}
	}
	last := -1
	for i, m := range req.Messages {
		if m.Role == llm.User && spoken(m) {
			t.first = last < 0
			last = i
		}
	}
	if last < 0 {
		return t
	}
	t.said = strings.TrimSpace(req.Messages[last].Text())
	t.slowly = strings.Contains(strings.ToLower(t.said), "slowly")
	calls := map[string]llm.ToolCall{}
	for _, m := range req.Messages[last+1:] {
		for _, c := range m.Calls() {
			calls[c.ID] = c
		}
		for _, p := range m.Parts {
			if p.Kind == llm.KindResult && p.Result != nil {
				t.done = append(t.done, stepOf(calls[p.Result.CallID], p.Result))
			}
		}
	}
	return t
}

// spoken reports whether m holds what a person said or gave.
func spoken(m llm.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
		return p.Kind == llm.KindFile || p.Kind == llm.KindMedia || p.Kind == llm.KindText && strings.TrimSpace(p.Text) != ""
	})
}

func stepOf(c llm.ToolCall, r *llm.ToolResult) step {
	s := step{name: c.Name, text: strings.TrimSpace(llm.JoinText(r.Content)), failed: r.IsError}
	if s.name == "" {
		s.name = r.Name
	}
	if json.Unmarshal([]byte(c.Arguments), &s.args) != nil {
		s.args = nil // the script wrote it itself; shown without it
	}
	return s
}

func (s step) arg(name string) string {
	v, _ := s.args[name].(string)
	return v
}

// answer is what the model says now and what it calls.
func (t turn) answer() (text string, calls []llm.ToolCall) {
	w := recognise(t.said, t.first)
	if len(t.done) == 0 {
		return t.begin(w)
	}
	if w.then != nil {
		words, calls := w.then(t.done)
		calls = slices.DeleteFunc(calls, func(c llm.ToolCall) bool { return !t.offered[c.Name] })
		if len(calls) > 0 {
			return words, calls
		}
	}
	return t.tell(w), nil
}

// begin calls what the wish needs.
func (t turn) begin(w wish) (string, []llm.ToolCall) {
	var calls []llm.ToolCall
	var names, missing []string
	for _, c := range w.calls {
		if !t.offered[c.Name] {
			missing = append(missing, c.Name)
			continue
		}
		calls = append(calls, c)
		names = append(names, c.Name)
	}
	switch {
	case len(w.calls) == 0:
		return w.words + help, nil
	case len(calls) == 0:
		return fmt.Sprintf("that needs %s, which is not offered to me here. ", strings.Join(missing, " and ")) + help, nil
	}
	return fmt.Sprintf("asking %s.", strings.Join(names, " and ")), calls
}

// maxShown bounds how much of a result is repeated, in bytes.
const maxShown = 800

// tell puts the results into words.
func (t turn) tell(w wish) string {
	var b strings.Builder
	done := t.done
	if w.last {
		done = done[len(done)-1:]
	}
	words := w.words
	if len(done) == 1 && done[0].failed {
		words = "that did not work."
	}
	b.WriteString(words)
	brief := w.brief
	if brief == 0 {
		brief = maxShown
	}
	b.WriteByte('\n')
	for _, s := range done {
		what := s.name
		if p := s.arg("path"); p != "" {
			what += " " + p
		}
		switch text := clip(s.text, brief); {
		case s.failed:
			fmt.Fprintf(&b, "\n%s failed: %s\n", what, text)
		case strings.Contains(text, "\n"):
			fence := "```"
			for strings.Contains(text, fence) {
				fence += "`"
			}
			fmt.Fprintf(&b, "\n%s says:\n\n%s\n%s\n%s\n", what, fence, text, fence)
		default:
			fmt.Fprintf(&b, "\n%s says: %s\n", what, text)
		}
	}
	if t.first && w.brief == 0 {
		b.WriteString("\n" + help)
	}
	return strings.TrimRight(b.String(), "\n")
}

// clip is the beginning of s, at most n bytes, cut between lines where there are some.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = strings.ToValidUTF8(s[:n], "")
	if i := strings.LastIndexByte(s, '\n'); i > n/2 {
		s = s[:i]
	}
	return s + " …"
}
