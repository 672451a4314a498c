package fakellm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// chatCompletions is OpenAI's wire.
type chatCompletions struct{}

// created is the time in every answer, so that equal scripts give equal bytes.
const created = 1767225600

type openAIRequest struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type obj = map[string]any

func (chatCompletions) speaks(r Request) bool {
	return strings.HasSuffix(r.Path, "/chat/completions") || strings.HasSuffix(r.Path, "/models")
}

func (chatCompletions) facts(r Request, models []string) []byte {
	if r.Method != http.MethodGet {
		return nil
	}
	var data []obj
	for _, n := range models {
		data = append(data, obj{"id": n, "object": "model", "created": created, "owned_by": "fakellm"})
	}
	return encode(obj{"object": "list", "data": data})
}

func (w chatCompletions) write(a Answer, r Request, n int) ([][]byte, string, error) {
	const stream = "text/event-stream; charset=utf-8"
	pieces := a.literal()
	if len(pieces) > 0 {
		return pieces, stream, nil
	}
	var req openAIRequest
	if err := json.Unmarshal(r.Body, &req); err != nil {
		return nil, "", err
	}
	if len(a.Deltas) > 0 {
		for _, d := range a.Deltas {
			piece, err := w.literal(d, req, n)
			if err != nil {
				return nil, "", err
			}
			pieces = append(pieces, piece)
		}
		return pieces, stream, nil
	}
	if a.Whole || !req.Stream {
		return [][]byte{w.document(a, req, n)}, "application/json", nil
	}
	return w.stream(a, req, n), stream, nil
}

// literal is a delta of the script as a chunk.
func (w chatCompletions) literal(raw json.RawMessage, req openAIRequest, n int) ([]byte, error) {
	var d struct {
		Delta  json.RawMessage `json:"delta"`
		Finish *string         `json:"finish"`
	}
	if err := strict(raw, &d); err != nil {
		return nil, fmt.Errorf("delta: %w", err)
	}
	if d.Delta == nil {
		d.Delta = json.RawMessage("{}")
	}
	return w.event(w.chunk(req, n, d.Delta, d.Finish)), nil
}

func (w chatCompletions) stream(a Answer, req openAIRequest, n int) [][]byte {
	var out [][]byte
	delta := func(d obj) { out = append(out, w.event(w.chunk(req, n, d, nil))) }
	delta(obj{"role": "assistant", "content": ""})
	for _, p := range cut(a.Reasoning, a.Pieces) {
		delta(obj{"reasoning_content": p})
	}
	for _, p := range cut(a.Text, a.Pieces) {
		delta(obj{"content": p})
	}
	for i, c := range a.Calls {
		delta(obj{"tool_calls": []obj{{"index": i, "id": callID(c, n, i), "type": "function", "function": obj{"name": c.Name, "arguments": ""}}}})
		for _, p := range cut(c.arguments(), a.Pieces) {
			delta(obj{"tool_calls": []obj{{"index": i, "function": obj{"arguments": p}}}})
		}
	}
	return out
}

func (w chatCompletions) end(a Answer, r Request, n int) [][]byte {
	var req openAIRequest
	if len(a.Raw)+len(a.RawBytes) > 0 || a.Whole || json.Unmarshal(r.Body, &req) != nil || !req.Stream {
		return nil
	}
	if len(a.Deltas) > 0 {
		return [][]byte{[]byte("data: [DONE]\n\n")}
	}
	var out [][]byte
	if a.Finish != "none" {
		reason := finish(a)
		out = append(out, w.event(w.chunk(req, n, obj{}, &reason)))
	}
	if req.StreamOptions.IncludeUsage {
		c := w.chunk(req, n, nil, nil)
		c["choices"], c["usage"] = []obj{}, usage(a)
		out = append(out, w.event(c))
	}
	return append(out, []byte("data: [DONE]\n\n"))
}

func (chatCompletions) chunk(req openAIRequest, n int, delta any, reason *string) obj {
	return obj{
		"id": id("chatcmpl", n), "object": "chat.completion.chunk", "created": created, "model": req.Model,
		"choices": []obj{{"index": 0, "delta": delta, "finish_reason": reason}},
	}
}

func (chatCompletions) event(v any) []byte {
	return append(append([]byte("data: "), encode(v)...), "\n\n"...)
}

func (chatCompletions) document(a Answer, req openAIRequest, n int) []byte {
	message := obj{"role": "assistant", "content": nil, "refusal": nil}
	if a.Text != "" || len(a.Calls) == 0 {
		message["content"] = a.Text
	}
	if a.Reasoning != "" {
		message["reasoning_content"] = a.Reasoning
	}
	var calls []obj
	for i, c := range a.Calls {
		calls = append(calls, obj{"id": callID(c, n, i), "type": "function", "function": obj{"name": c.Name, "arguments": c.arguments()}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	choice := obj{"index": 0, "message": message, "finish_reason": finish(a)}
	if a.Finish == "none" {
		choice["finish_reason"] = nil
	}
	return encode(obj{
		"id": id("chatcmpl", n), "object": "chat.completion", "created": created, "model": req.Model,
		"choices": []obj{choice}, "usage": usage(a),
	})
}

func usage(a Answer) obj {
	var u Usage
	if a.Usage != nil {
		u = *a.Usage
	}
	return obj{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     obj{"cached_tokens": u.Cached, "cache_write_tokens": u.CacheWrite},
		"completion_tokens_details": obj{"reasoning_tokens": u.Reasoning},
	}
}

func finish(a Answer) string {
	switch {
	case a.Finish == "filter":
		return "content_filter"
	case a.Finish != "":
		return a.Finish
	case len(a.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func callID(c Call, n, i int) string {
	if c.ID != "" {
		return c.ID
	}
	return id("call", n) + "_" + strconv.Itoa(i)
}

func id(prefix string, n int) string { return prefix + "-" + strconv.Itoa(n) }

// cut divides s into pieces of about n bytes without cutting a code point.
func cut(s string, n int) []string {
	if s == "" {
		return nil
	}
	if n <= 0 {
		return []string{s}
	}
	var out []string
	for len(s) > n {
		at := n
		for at < len(s) && !utf8.RuneStart(s[at]) {
			at++
		}
		out = append(out, s[:at])
		s = s[at:]
	}
	if s != "" {
		out = append(out, s)
	}
	return out
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("fakellm: encode %T: %v", v, err)) // only values of this package are encoded
	}
	return b
}

func (chatCompletions) fails() failures {
	fault := func(kind, code, message string) string {
		var c any
		if code != "" {
			c = code
		}
		return string(encode(obj{"error": obj{"message": message, "type": kind, "param": nil, "code": c}}))
	}
	return failures{
		Overloaded:  {503, fault("server_error", "", "The engine is currently overloaded, please try again later.")},
		Unavailable: {503, fault("server_error", "", "Service unavailable.")},
		ServerError: {500, fault("server_error", "", "The server had an error while processing your request. Sorry about that!")},
		RateLimit:   {429, fault("requests", "rate_limit_exceeded", "Rate limit reached for requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s.")},
		Quota:       {429, fault("insufficient_quota", "insufficient_quota", "You exceeded your current quota, please check your plan and billing details.")},
		Billing:     {402, fault("billing_not_active", "billing_not_active", "Your account is not active, please check your billing details on our website.")},
		WrongKey:    {401, fault("invalid_request_error", "invalid_api_key", "Incorrect API key provided: sk-wrong. You can find your API key at https://platform.openai.com/account/api-keys.")},
		NoModel:     {404, fault("invalid_request_error", "model_not_found", "The model `no-such-model` does not exist or you do not have access to it.")},
		TooLong:     {400, fault("invalid_request_error", "context_length_exceeded", "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.")},
		BadRequest:  {400, fault("invalid_request_error", "", "Invalid value: 'x'.")},
		NoTools:     {404, fault("", "", "No endpoints found that support tool use. Try disabling \"calc\".")},
		BadMedia:    {400, fault("invalid_request_error", "image_parse_error", "You uploaded an unsupported image. Please make sure your image is valid.")},
	}
}

func (chatCompletions) within(f failure) []byte { return fmt.Appendf(nil, "data: %s\n\n", f.body) }
