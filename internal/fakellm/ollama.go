package fakellm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ollamaChat is Ollama's wire. The tag of a model's name says what the model
// takes, in words joined by dashes, and how much it holds: small:tools-8192
// takes tools in 8,192 tokens. Without a tag it takes everything.
type ollamaChat struct{}

type ollamaRequest struct {
	Model  string `json:"model"`
	Stream *bool  `json:"stream"`
}

func (ollamaChat) speaks(r Request) bool {
	return slices.Contains([]string{"/api/chat", "/api/tags", "/api/show"}, r.Path)
}

func (ollamaChat) facts(r Request, models []string) []byte {
	switch r.Path {
	case "/api/tags":
		list := []obj{}
		for _, n := range models {
			list = append(list, obj{"name": n, "model": n, "modified_at": "2026-01-01T00:00:00Z", "size": 1 << 30, "digest": "0a", "details": obj{"family": "fake"}})
		}
		return encode(obj{"models": list})
	case "/api/show":
		var q ollamaRequest
		if json.Unmarshal(r.Body, &q) != nil {
			return encode(obj{"error": "missing request body"})
		}
		takes := ollamaTakes(q.Model)
		return encode(obj{
			"details": obj{"family": "fake"}, "capabilities": takes.capabilities, "modified_at": "2026-01-01T00:00:00Z",
			"model_info": obj{"general.architecture": "fake", "fake.context_length": takes.window},
		})
	}
	return nil
}

// ollamaModel is what a model of this server takes.
type ollamaModel struct {
	capabilities []string
	window       int
}

func (m ollamaModel) has(capability string) bool { return slices.Contains(m.capabilities, capability) }

func ollamaTakes(model string) ollamaModel {
	m := ollamaModel{[]string{"completion"}, 32_768}
	_, tag, tagged := strings.Cut(model, ":")
	for _, capability := range []string{"tools", "vision", "thinking"} {
		if !tagged || tag == "latest" || slices.Contains(strings.Split(tag, "-"), capability) {
			m.capabilities = append(m.capabilities, capability)
		}
	}
	for _, word := range strings.Split(tag, "-") {
		if n, err := strconv.Atoi(word); err == nil {
			m.window = n
		}
	}
	return m
}

func (w ollamaChat) write(a Answer, r Request, n int) ([][]byte, string, error) {
	const stream = "application/x-ndjson"
	if pieces := a.literal(); len(pieces) > 0 {
		return pieces, stream, nil
	}
	var req ollamaRequest
	if err := json.Unmarshal(r.Body, &req); err != nil {
		return nil, "", err
	}
	var out [][]byte
	if len(a.Deltas) > 0 {
		for _, raw := range a.Deltas {
			var d obj
			if err := json.Unmarshal(raw, &d); err != nil {
				return nil, "", fmt.Errorf("delta: %w", err)
			}
			out = append(out, w.line(req, d))
		}
		return out, stream, nil
	}
	if a.Whole || req.Stream != nil && !*req.Stream {
		message := obj{"role": "assistant", "content": a.Text}
		if a.Reasoning != "" {
			message["thinking"] = a.Reasoning
		}
		if len(a.Calls) > 0 {
			message["tool_calls"] = w.calls(a.Calls)
		}
		return [][]byte{w.last(a, req, message)}, "application/json; charset=utf-8", nil
	}
	say := func(message obj) {
		message["role"] = "assistant"
		out = append(out, w.line(req, obj{"message": message}))
	}
	for _, p := range cut(a.Reasoning, a.Pieces) {
		say(obj{"content": "", "thinking": p})
	}
	for _, p := range cut(a.Text, a.Pieces) {
		say(obj{"content": p})
	}
	for _, c := range a.Calls {
		say(obj{"content": "", "tool_calls": w.calls([]Call{c})})
	}
	return out, stream, nil
}

// calls are calls as they come: whole, each with its index among those of its
// line, and without an id in servers before 0.12.
func (ollamaChat) calls(list []Call) []obj {
	var out []obj
	for i, c := range list {
		call := obj{"function": obj{"index": i, "name": c.Name, "arguments": c.object()}}
		if c.ID != "" {
			call["id"] = c.ID
		}
		out = append(out, call)
	}
	return out
}

// object is the arguments as a value: what they say when they are JSON, else
// their text.
func (c Call) object() any {
	text := c.arguments()
	switch {
	case text == "":
		return obj{}
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return text
}

func (w ollamaChat) end(a Answer, r Request, _ int) [][]byte {
	var req ollamaRequest
	if len(a.Raw)+len(a.RawBytes) > 0 || a.Whole || a.Finish == "none" || json.Unmarshal(r.Body, &req) != nil || req.Stream != nil && !*req.Stream {
		return nil
	}
	return [][]byte{w.last(a, req, obj{"role": "assistant", "content": ""})}
}

// line is a line of a stream; d may have any of its members.
func (ollamaChat) line(req ollamaRequest, d obj) []byte {
	line := obj{"model": req.Model, "created_at": "2026-01-01T00:00:00.000000001Z", "done": false}
	for k, v := range d {
		line[k] = v
	}
	return append(encode(line), '\n')
}

// last is the line that ends an answer. What was cached isn't told.
func (w ollamaChat) last(a Answer, req ollamaRequest, message obj) []byte {
	reason := "stop"
	if a.Finish == "length" {
		reason = "length"
	}
	d := obj{"message": message, "done": true, "done_reason": reason, "total_duration": 3, "load_duration": 1}
	if a.Usage != nil {
		d["prompt_eval_count"], d["eval_count"] = a.Usage.Input, a.Usage.Output
	}
	return w.line(req, d)
}

func (ollamaChat) fails() failures {
	fault := func(message string) string { return string(encode(obj{"error": message})) }
	return failures{
		Overloaded:  {503, fault("server busy, please try again.  maximum pending requests exceeded")},
		Unavailable: {503, fault("service unavailable")},
		ServerError: {500, fault("llama runner process has terminated: exit status 2")},
		RateLimit:   {429, fault("too many concurrent requests")},
		Quota:       {429, fault("you have reached your weekly usage limit, upgrade for higher limits: https://ollama.com/upgrade")},
		Billing:     {402, fault("this model requires a subscription, upgrade for access: https://ollama.com/upgrade")},
		WrongKey:    {401, fault("unauthorized")},
		NoModel:     {404, fault("model 'no-such-model' not found")},
		TooLong:     {400, fault("the input length exceeds the context length")},
		BadRequest:  {400, fault("invalid options: num_ctx")},
		NoTools:     {400, fault("registry.ollama.ai/library/gemma:2b does not support tools")},
		BadMedia:    {400, fault("Failed to load image or audio file")},
	}
}

func (ollamaChat) within(f failure) []byte { return append([]byte(f.body), '\n') }
