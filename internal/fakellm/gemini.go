package fakellm

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// generateContent is the wire of Google's Gemini API.
type generateContent struct{}

func (generateContent) speaks(r Request) bool {
	return strings.HasSuffix(r.Path, ":generateContent") || streams(r) ||
		r.Method == http.MethodGet && strings.Contains(r.Path, "/v1beta/models")
}

func (generateContent) facts(r Request, models []string) []byte {
	if r.Method != http.MethodGet {
		return nil
	}
	list := []obj{{"name": "models/fake-embedding", "inputTokenLimit": 2048, "supportedGenerationMethods": []string{"embedContent"}}}
	for _, n := range models {
		one := obj{
			"name": "models/" + n, "displayName": n, "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536,
			"supportedGenerationMethods": []string{"generateContent", "countTokens"},
		}
		if strings.HasSuffix(r.Path, "/models/"+n) {
			return encode(one)
		}
		list = append(list, one)
	}
	// The first page has all but the last model.
	last := len(list) - 1
	if strings.Contains(r.Query, "pageToken=") {
		return encode(obj{"models": list[last:]})
	}
	return encode(obj{"models": list[:last], "nextPageToken": "more/2"})
}

// geminiModel is the model that a request names in its path.
func geminiModel(r Request) string {
	name, _, _ := strings.Cut(r.Path[strings.LastIndexByte(r.Path, '/')+1:], ":")
	return name
}

func streams(r Request) bool { return strings.HasSuffix(r.Path, ":streamGenerateContent") }

func (w generateContent) write(a Answer, r Request, n int) ([][]byte, string, error) {
	const stream = "text/event-stream"
	if pieces := a.literal(); len(pieces) > 0 {
		return pieces, stream, nil
	}
	chunks, err := w.chunks(a, r, n)
	if err != nil {
		return nil, "", err
	}
	const document = "application/json; charset=UTF-8"
	switch {
	case !streams(r):
		return [][]byte{encode(w.whole(chunks))}, document, nil
	case a.Whole || !strings.Contains(r.Query, "alt=sse"):
		return [][]byte{encode(chunks)}, document, nil
	}
	var out [][]byte
	for _, c := range chunks[:len(chunks)-1] {
		out = append(out, w.event(c))
	}
	return out, stream, nil
}

// end is the last chunk, which says why the answer ended.
func (w generateContent) end(a Answer, r Request, n int) [][]byte {
	if len(a.literal()) > 0 || a.Whole || !strings.Contains(r.Query, "alt=sse") {
		return nil
	}
	chunks, err := w.chunks(a, r, n)
	if err != nil {
		return nil // write has said so
	}
	return [][]byte{w.event(chunks[len(chunks)-1])}
}

// whole is the documents of a stream as one.
func (generateContent) whole(chunks []obj) obj {
	last := chunks[len(chunks)-1]
	candidate := last["candidates"].([]obj)[0]
	var parts []obj
	for _, c := range chunks {
		if content, ok := c["candidates"].([]obj)[0]["content"].(obj); ok {
			parts = append(parts, content["parts"].([]obj)...)
		}
	}
	candidate["content"] = obj{"role": "model", "parts": parts}
	return last
}

// chunks are the documents of a stream. The model signs as Gemini 3 does: the
// first of the calls of an answer, or an empty part behind its text.
func (w generateContent) chunks(a Answer, r Request, n int) ([]obj, error) {
	var out []obj
	chunk := func(parts []obj, reason string) {
		candidate := obj{"index": 0}
		if len(parts) > 0 {
			candidate["content"] = obj{"role": "model", "parts": parts}
		}
		if reason != "" {
			candidate["finishReason"] = reason
		}
		out = append(out, obj{
			"candidates": []obj{candidate}, "usageMetadata": w.usage(a), "modelVersion": geminiModel(r), "responseId": id("response", n),
		})
	}
	for _, raw := range a.Deltas {
		var d struct {
			Parts  []obj  `json:"parts"`
			Finish string `json:"finish"`
		}
		if err := strict(raw, &d); err != nil {
			return nil, fmt.Errorf("delta: %w", err)
		}
		chunk(d.Parts, d.Finish)
	}
	if len(a.Deltas) > 0 {
		return out, nil
	}
	for _, p := range cut(a.Reasoning, a.Pieces) {
		chunk([]obj{{"text": p, "thought": true}}, "")
	}
	for _, p := range cut(a.Text, a.Pieces) {
		chunk([]obj{{"text": p}}, "")
	}
	for i, c := range a.Calls {
		part, err := w.call(c, i == 0)
		if err != nil {
			return nil, err
		}
		chunk([]obj{part}, "")
	}
	var last []obj
	if a.Text != "" && len(a.Calls) == 0 {
		last = []obj{{"text": "", "thoughtSignature": signature("")}}
	}
	reason := w.finish(a)
	if a.Finish == "none" {
		last, reason = nil, ""
	}
	chunk(last, reason)
	return out, nil
}

func (generateContent) call(c Call, signed bool) (obj, error) {
	args := obj{}
	if text := c.arguments(); text != "" {
		if err := json.Unmarshal([]byte(text), &args); err != nil {
			return nil, fmt.Errorf("gemini's arguments are an object: %w", err)
		}
	}
	call := obj{"name": c.Name, "args": args}
	if c.ID != "" {
		call["id"] = c.ID
	}
	part := obj{"functionCall": call}
	if signed {
		part["thoughtSignature"] = signature(c.Name + string(encode(args)))
	}
	return part, nil
}

// signature is one that tells what it belongs to.
func signature(of string) string {
	sum := sha256.Sum256([]byte(of))
	return base64.StdEncoding.EncodeToString(append([]byte(signatureMark), sum[:12]...))
}

const signatureMark = "fakellm thought "

func (generateContent) event(v any) []byte {
	return append(append([]byte("data: "), encode(v)...), "\r\n\r\n"...)
}

// usage counts as Google does: the output without the thoughts.
func (generateContent) usage(a Answer) obj {
	var u Usage
	if a.Usage != nil {
		u = *a.Usage
	}
	return obj{
		"promptTokenCount": u.Input, "cachedContentTokenCount": u.Cached, "candidatesTokenCount": u.Output - u.Reasoning,
		"thoughtsTokenCount": u.Reasoning, "totalTokenCount": u.Input + u.Output,
	}
}

func (generateContent) finish(a Answer) string {
	switch a.Finish {
	case "length":
		return "MAX_TOKENS"
	case "filter":
		return "SAFETY"
	}
	return "STOP" // also behind calls
}

func (generateContent) fails() failures {
	fault := func(code int, status, message string, details ...obj) failure {
		body := obj{"code": code, "message": message, "status": status}
		if len(details) > 0 {
			body["details"] = details
		}
		return failure{code, string(encode(obj{"error": body}))}
	}
	detail := func(kind string, fields obj) obj {
		fields["@type"] = "type.googleapis.com/google.rpc." + kind
		return fields
	}
	exceeded := func(quota string, more ...obj) failure {
		return fault(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details.", append(more,
			detail("QuotaFailure", obj{"violations": []obj{{"quotaMetric": "generativelanguage.googleapis.com/requests", "quotaId": quota, "quotaValue": "250"}}}))...)
	}
	return failures{
		Overloaded:  fault(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
		Unavailable: fault(503, "UNAVAILABLE", "The service is currently unavailable."),
		ServerError: fault(500, "INTERNAL", "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting"),
		RateLimit:   exceeded("GenerateRequestsPerMinutePerProjectPerModel"),
		Quota:       exceeded("GenerateRequestsPerDayPerProjectPerModel-FreeTier", detail("RetryInfo", obj{"retryDelay": "22s"})),
		Billing:     fault(400, "FAILED_PRECONDITION", "Gemini API free tier is not available in your country. Please enable billing on your project in Google AI Studio."),
		WrongKey: fault(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.",
			detail("ErrorInfo", obj{"reason": "API_KEY_INVALID", "domain": "googleapis.com"})),
		NoModel:    fault(404, "NOT_FOUND", "models/no-such-model is not found for API version v1beta, or is not supported for generateContent."),
		TooLong:    fault(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
		BadRequest: fault(400, "INVALID_ARGUMENT", "Invalid JSON payload received. Unknown name \"x\": Cannot find field."),
		NoTools:    fault(400, "INVALID_ARGUMENT", "Function calling is not enabled for models/gemma-3-27b-it"),
		BadMedia:   fault(400, "INVALID_ARGUMENT", "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting"),
	}
}

func (generateContent) within(f failure) []byte { return fmt.Appendf(nil, "data: %s\r\n\r\n", f.body) }
