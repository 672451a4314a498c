package fakellm

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// messages is Anthropic's wire.
type messages struct{}

type anthropicRequest struct {
	Model  string `json:"model"`
	Stream bool   `json:"stream"`
}

func (messages) speaks(r Request) bool {
	return strings.HasSuffix(r.Path, "/v1/messages") || strings.HasSuffix(r.Path, "/v1/models") && r.Header.Get("Anthropic-Version") != ""
}

func (messages) facts(r Request, models []string) []byte {
	if r.Method != http.MethodGet {
		return nil
	}
	var data []obj
	for _, n := range models {
		data = append(data, obj{"type": "model", "id": n, "display_name": n, "created_at": "2026-01-01T00:00:00Z"})
	}
	return encode(obj{"data": data, "has_more": false, "first_id": models[0], "last_id": models[len(models)-1]})
}

func (w messages) write(a Answer, r Request, n int) ([][]byte, string, error) {
	const stream = "text/event-stream; charset=utf-8"
	if pieces := a.literal(); len(pieces) > 0 {
		return pieces, stream, nil
	}
	var req anthropicRequest
	if err := json.Unmarshal(r.Body, &req); err != nil {
		return nil, "", err
	}
	if len(a.Deltas) > 0 {
		pieces, err := w.deltas(a, req, n)
		return pieces, stream, err
	}
	if a.Whole || !req.Stream {
		return [][]byte{w.document(a, req, n)}, "application/json", nil
	}
	return w.stream(a, req, n), stream, nil
}

// deltas is a stream of the script's own events. An event without an index is
// about the block that began last.
func (w messages) deltas(a Answer, req anthropicRequest, n int) ([][]byte, error) {
	out := [][]byte{w.begin(a, req, n)}
	index := -1
	for _, raw := range a.Deltas {
		var d obj
		if err := json.Unmarshal(raw, &d); err != nil {
			return nil, fmt.Errorf("delta: %w", err)
		}
		kind, ok := d["event"].(string)
		if !ok {
			return nil, fmt.Errorf("delta %s names no event", raw)
		}
		delete(d, "event")
		if kind == "content_block_start" {
			index++
		}
		if _, given := d["index"]; !given && strings.HasPrefix(kind, "content_block_") {
			d["index"] = index
		}
		out = append(out, w.event(kind, d))
	}
	return out, nil
}

func (w messages) begin(a Answer, req anthropicRequest, n int) []byte {
	u := w.usage(a)
	if a.Usage != nil {
		u["output_tokens"] = min(a.Usage.Output, 1) // it has only begun
	}
	return w.event("message_start", obj{"message": w.message(req, n, []obj{}, nil, u)})
}

func (w messages) stream(a Answer, req anthropicRequest, n int) [][]byte {
	out := [][]byte{w.begin(a, req, n)}
	for i, b := range w.blocks(a, n) {
		start := maps.Clone(b.start)
		out = append(out, w.event("content_block_start", obj{"index": i, "content_block": start}))
		for _, d := range b.deltas {
			out = append(out, w.event("content_block_delta", obj{"index": i, "delta": d}))
		}
		out = append(out, w.event("content_block_stop", obj{"index": i}))
	}
	return out
}

// anthropicBlock is one block of an answer: as it begins, piece by piece, and
// whole.
type anthropicBlock struct {
	start  obj
	deltas []obj
	whole  obj
}

func (messages) blocks(a Answer, n int) []anthropicBlock {
	var out []anthropicBlock
	if a.Reasoning != "" {
		b := anthropicBlock{
			start: obj{"type": "thinking", "thinking": "", "signature": ""},
			whole: obj{"type": "thinking", "thinking": a.Reasoning, "signature": id("signature", n)},
		}
		for _, p := range cut(a.Reasoning, a.Pieces) {
			b.deltas = append(b.deltas, obj{"type": "thinking_delta", "thinking": p})
		}
		b.deltas = append(b.deltas, obj{"type": "signature_delta", "signature": id("signature", n)})
		out = append(out, b)
	}
	if a.Text != "" {
		b := anthropicBlock{start: obj{"type": "text", "text": ""}, whole: obj{"type": "text", "text": a.Text}}
		for _, p := range cut(a.Text, a.Pieces) {
			b.deltas = append(b.deltas, obj{"type": "text_delta", "text": p})
		}
		out = append(out, b)
	}
	for i, c := range a.Calls {
		use := obj{"type": "tool_use", "id": callID(c, n, i), "name": c.Name, "input": obj{}}
		b := anthropicBlock{start: use, whole: maps.Clone(use)}
		if json.Valid([]byte(c.arguments())) {
			b.whole["input"] = json.RawMessage(c.arguments())
		}
		b.deltas = append(b.deltas, obj{"type": "input_json_delta", "partial_json": ""})
		for _, p := range cut(c.arguments(), a.Pieces) {
			b.deltas = append(b.deltas, obj{"type": "input_json_delta", "partial_json": p})
		}
		out = append(out, b)
	}
	return out
}

func (w messages) end(a Answer, r Request, _ int) [][]byte {
	var req anthropicRequest
	if len(a.Raw)+len(a.RawBytes) > 0 || a.Whole || json.Unmarshal(r.Body, &req) != nil || !req.Stream {
		return nil
	}
	var out [][]byte
	if len(a.Deltas) == 0 && a.Finish != "none" {
		out = append(out, w.event("message_delta", obj{"delta": obj{"stop_reason": w.finish(a), "stop_sequence": nil}, "usage": w.usage(a)}))
	}
	return append(out, w.event("message_stop", obj{}))
}

func (w messages) document(a Answer, req anthropicRequest, n int) []byte {
	content := []obj{}
	for _, b := range w.blocks(a, n) {
		content = append(content, b.whole)
	}
	var reason any = w.finish(a)
	if a.Finish == "none" {
		reason = nil
	}
	return encode(w.message(req, n, content, reason, w.usage(a)))
}

func (messages) message(req anthropicRequest, n int, content []obj, reason any, usage obj) obj {
	return obj{
		"id": id("msg", n), "type": "message", "role": "assistant", "model": req.Model, "content": content,
		"stop_reason": reason, "stop_sequence": nil, "usage": usage,
	}
}

func (messages) event(kind string, data obj) []byte {
	data["type"] = kind
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", kind, encode(data))
}

// usage counts as Anthropic does: the input without what was read from and
// written to the cache.
func (messages) usage(a Answer) obj {
	var u Usage
	if a.Usage != nil {
		u = *a.Usage
	}
	return obj{
		"input_tokens": u.Input - u.Cached - u.CacheWrite, "cache_read_input_tokens": u.Cached,
		"cache_creation_input_tokens": u.CacheWrite, "output_tokens": u.Output,
		"output_tokens_details": obj{"thinking_tokens": u.Reasoning},
	}
}

func (messages) finish(a Answer) string {
	switch {
	case a.Finish == "length":
		return "max_tokens"
	case a.Finish == "filter":
		return "refusal"
	case a.Finish == "tool_calls", a.Finish == "" && len(a.Calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

func (messages) fails() failures {
	fault := func(kind, message string) string {
		return string(encode(obj{"type": "error", "error": obj{"type": kind, "message": message}, "request_id": "req_fake"}))
	}
	return failures{
		Overloaded:  {529, fault("overloaded_error", "Overloaded")},
		Unavailable: {503, fault("api_error", "Service unavailable")},
		ServerError: {500, fault("api_error", "Internal server error")},
		RateLimit:   {429, fault("rate_limit_error", "This request would exceed your organization's rate limit of 50,000 input tokens per minute.")},
		Quota:       {400, fault("invalid_request_error", "You have reached your specified API usage limits. You will regain access on 2027-01-01 at 00:00 UTC.")},
		Billing:     {400, fault("invalid_request_error", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.")},
		WrongKey:    {401, fault("authentication_error", "invalid x-api-key")},
		NoModel:     {404, fault("not_found_error", "model: no-such-model")},
		TooLong:     {400, fault("invalid_request_error", "prompt is too long: 1200000 tokens > 1000000 maximum")},
		BadRequest:  {400, fault("invalid_request_error", "messages.0.content.0.type: Field required")},
		BadMedia:    {400, fault("invalid_request_error", "Could not process image")},
	}
}

func (messages) within(f failure) []byte {
	return fmt.Appendf(nil, "event: error\ndata: %s\n\n", f.body)
}
