package provider

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/goclaw/goclaw/internal/llm"
)

// triedOutput is the output limit of a request that only tries something, in
// tokens. OpenAI's Responses API takes no smaller one.
const triedOutput = 16

// TryTools finds out whether a model takes tools by asking it with one: refused
// is the server's refusal, nil when it takes them. It costs a few tokens, and
// ends with the first that is answered. With an error nothing is known: the
// request failed for another reason, or ctx ended.
func (s *Set) TryTools(ctx context.Context, t llm.Target) (refused *llm.Error, err error) {
	m, err := s.client(t.Provider)
	if err != nil {
		return nil, err
	}
	t = s.entries[t.Provider].target(t.Provider, t.Model)
	t.Tools = true
	req := llm.Request{
		Target: t, MaxOutput: triedOutput, Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{llm.Text("Say ok.")}}},
		Tools: []llm.ToolSpec{{
			Name: "look_up", Description: "Looks up a word.",
			Parameters: json.RawMessage(`{"properties":{"word":{"type":"string"}},"required":["word"],"type":"object"}`),
		}},
	}
	for _, err := range m.Stream(ctx, req) {
		var e *llm.Error
		switch {
		case err == nil:
			return nil, nil
		case !errors.As(err, &e):
			return nil, err
		case e.Class == llm.ClassEmpty: // it was asked, and answered badly
			return nil, nil
		}
		e.Target = t.Short()
		if refusesTools(e) {
			return e, nil
		}
		return nil, e
	}
	return nil, errNoEnd
}
