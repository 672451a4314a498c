package fakellm

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// responsesAPI is OpenAI's other wire, at the same address as
// [chatCompletions].
type responsesAPI struct{}

type responsesRequest struct {
	Model   string   `json:"model"`
	Stream  bool     `json:"stream"`
	Include []string `json:"include"`
}

func (r responsesRequest) sealed() bool {
	return slices.Contains(r.Include, "reasoning.encrypted_content")
}

func (responsesAPI) speaks(r Request) bool { return strings.HasSuffix(r.Path, "/responses") }

func (responsesAPI) facts(Request, []string) []byte { return nil }

func (w responsesAPI) write(a Answer, r Request, n int) ([][]byte, string, error) {
	const stream = "text/event-stream; charset=utf-8"
	if pieces := a.literal(); len(pieces) > 0 {
		return pieces, stream, nil
	}
	var req responsesRequest
	if err := json.Unmarshal(r.Body, &req); err != nil {
		return nil, "", err
	}
	if len(a.Deltas) > 0 {
		pieces, err := w.deltas(a, req, n)
		return pieces, stream, err
	}
	if a.Whole || !req.Stream {
		return [][]byte{encode(w.response(a, req, n, w.status(a)))}, "application/json", nil
	}
	return w.stream(a, req, n), stream, nil
}

// events numbers the events of one stream, of which it has those behind before.
type events struct {
	before int
	out    [][]byte
}

func (e *events) add(kind string, data obj) {
	data["type"], data["sequence_number"] = kind, e.before+len(e.out)
	e.out = append(e.out, fmt.Appendf(nil, "event: %s\ndata: %s\n\n", kind, encode(data)))
}

// deltas is a stream of the script's own events, with the one that begins every
// stream before them; they have to bring the end.
func (w responsesAPI) deltas(a Answer, req responsesRequest, n int) ([][]byte, error) {
	var e events
	e.add("response.created", obj{"response": w.response(Answer{}, req, n, "in_progress")})
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
		e.add(kind, d)
	}
	return e.out, nil
}

func (w responsesAPI) stream(a Answer, req responsesRequest, n int) [][]byte {
	var e events
	begun := w.response(Answer{}, req, n, "in_progress")
	e.add("response.created", obj{"response": begun})
	e.add("response.in_progress", obj{"response": begun})
	for i, it := range w.items(a, req, n) {
		begin := maps.Clone(it.whole)
		begin["status"] = "in_progress"
		maps.Copy(begin, it.empty)
		e.add("response.output_item.added", obj{"output_index": i, "item": begin})
		for _, d := range it.deltas {
			data := maps.Clone(d)
			kind, _ := data["kind"].(string)
			delete(data, "kind")
			data["item_id"], data["output_index"] = it.whole["id"], i
			e.add(kind, data)
		}
		e.add("response.output_item.done", obj{"output_index": i, "item": it.whole})
	}
	return e.out
}

func (w responsesAPI) end(a Answer, r Request, n int) [][]byte {
	var req responsesRequest
	if len(a.Raw)+len(a.RawBytes)+len(a.Deltas) > 0 || a.Whole || a.Finish == "none" || json.Unmarshal(r.Body, &req) != nil || !req.Stream {
		return nil
	}
	e := events{before: len(w.stream(a, req, n))}
	status := w.status(a)
	e.add("response."+status, obj{"response": w.response(a, req, n, status)})
	return e.out
}

func (responsesAPI) status(a Answer) string {
	switch a.Finish {
	case "length", "filter":
		return "incomplete"
	case "none":
		return "in_progress"
	}
	return "completed"
}

// outputItem is one item of an answer: whole, what of it is still empty when it
// begins, and the events between.
type outputItem struct {
	whole, empty obj
	deltas       []obj
}

func (w responsesAPI) items(a Answer, req responsesRequest, n int) []outputItem {
	var out []outputItem
	status := "completed"
	if a.Finish == "length" {
		status = "incomplete"
	}
	if a.Reasoning != "" {
		it := outputItem{whole: obj{
			"type": "reasoning", "id": id("rs", n), "summary": []obj{{"type": "summary_text", "text": a.Reasoning}},
		}, empty: obj{"summary": []obj{}}}
		if req.sealed() {
			it.whole["encrypted_content"] = id("sealed", n)
			it.empty["encrypted_content"] = "unfinished"
		}
		it.deltas = append(it.deltas, obj{"kind": "response.reasoning_summary_part.added", "summary_index": 0, "part": obj{"type": "summary_text", "text": ""}})
		for _, p := range cut(a.Reasoning, a.Pieces) {
			it.deltas = append(it.deltas, obj{"kind": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": p})
		}
		it.deltas = append(it.deltas, obj{"kind": "response.reasoning_summary_text.done", "summary_index": 0, "text": a.Reasoning})
		out = append(out, it)
	}
	if a.Text != "" {
		part := obj{"type": "output_text", "text": a.Text, "annotations": []obj{}}
		it := outputItem{whole: obj{
			"type": "message", "id": id("msg", n), "role": "assistant", "status": status, "content": []obj{part},
		}, empty: obj{"content": []obj{}}}
		it.deltas = append(it.deltas, obj{"kind": "response.content_part.added", "content_index": 0, "part": obj{"type": "output_text", "text": "", "annotations": []obj{}}})
		for _, p := range cut(a.Text, a.Pieces) {
			it.deltas = append(it.deltas, obj{"kind": "response.output_text.delta", "content_index": 0, "delta": p, "logprobs": []obj{}})
		}
		it.deltas = append(it.deltas, obj{"kind": "response.output_text.done", "content_index": 0, "text": a.Text, "logprobs": []obj{}})
		it.deltas = append(it.deltas, obj{"kind": "response.content_part.done", "content_index": 0, "part": part})
		out = append(out, it)
	}
	for i, c := range a.Calls {
		it := outputItem{whole: obj{
			"type": "function_call", "id": id("fc", n) + fmt.Sprint("_", i), "call_id": callID(c, n, i), "name": c.Name,
			"arguments": c.arguments(), "status": "completed",
		}, empty: obj{"arguments": ""}}
		if i == len(a.Calls)-1 {
			it.whole["status"] = status
		}
		for _, p := range cut(c.arguments(), a.Pieces) {
			it.deltas = append(it.deltas, obj{"kind": "response.function_call_arguments.delta", "delta": p})
		}
		it.deltas = append(it.deltas, obj{"kind": "response.function_call_arguments.done", "arguments": c.arguments(), "name": c.Name})
		out = append(out, it)
	}
	return out
}

func (w responsesAPI) response(a Answer, req responsesRequest, n int, status string) obj {
	output := []obj{}
	for _, it := range w.items(a, req, n) {
		output = append(output, it.whole)
	}
	var details, usage any
	switch a.Finish {
	case "length":
		details = obj{"reason": "max_output_tokens"}
	case "filter":
		details = obj{"reason": "content_filter"}
	}
	if status != "in_progress" {
		usage = w.usage(a)
	}
	return obj{
		"id": id("resp", n), "object": "response", "created_at": created, "status": status, "model": req.Model, "output": output,
		"error": nil, "incomplete_details": details, "usage": usage, "store": false, "parallel_tool_calls": true,
	}
}

func (responsesAPI) usage(a Answer) obj {
	var u Usage
	if a.Usage != nil {
		u = *a.Usage
	}
	return obj{
		"input_tokens": u.Input, "output_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"input_tokens_details":  obj{"cached_tokens": u.Cached, "cache_write_tokens": u.CacheWrite},
		"output_tokens_details": obj{"reasoning_tokens": u.Reasoning},
	}
}

func (responsesAPI) fails() failures { return chatCompletions{}.fails() }

func (responsesAPI) within(f failure) []byte {
	var fault struct {
		Error obj `json:"error"`
	}
	if err := json.Unmarshal([]byte(f.body), &fault); err != nil {
		panic(fmt.Sprintf("fakellm: a failure that is no JSON: %v", err)) // it is this package's own
	}
	code := fault.Error["code"]
	if code == nil {
		code = fault.Error["type"]
	}
	e := events{before: 2} // what began the stream
	e.add("error", obj{"code": code, "message": fault.Error["message"], "param": nil})
	return e.out[0]
}
