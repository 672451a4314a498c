package gemini

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

func calls(list ...llm.ToolCall) []llm.ToolCall { return list }

// What only this wire has; what all have is in the common scenarios.
func TestAnswers(t *testing.T) {
	t.Parallel()
	helloUsage := llm.Usage{Input: 9, Output: 2}
	for _, test := range []struct {
		name      string
		answer    fakellm.Answer
		text      string
		reasoning string
		calls     []llm.ToolCall
		finish    llm.Finish
		usage     llm.Usage
	}{
		{name: "text", answer: sse(chHel, chLo, chStop), text: "Hello", finish: llm.FinishStop, usage: helloUsage},
		{
			name:   "TC-047 two calls of one tool without ids",
			answer: parts("STOP", `{"functionCall":{"name":"calc","args":{"expression":"1+1"}}},{"functionCall":{"name":"calc","args":{"expression":"2+2"}}}`),
			calls:  calls(llm.ToolCall{Name: "calc", Arguments: `{"expression":"1+1"}`}, llm.ToolCall{Name: "calc", Arguments: `{"expression":"2+2"}`}), finish: llm.FinishCalls,
		},
		{
			name:   "equal calls without ids are two, one that is repeated under its id is one",
			answer: parts("STOP", `{"functionCall":{"name":"roll","args":{}}}`, `{"functionCall":{"name":"roll","args":{}}},{"functionCall":{"id":"a","name":"calc","args":{"e":1}}}`, `{"functionCall":{"id":"a","name":"calc","args":{"e":1}}}`),
			calls:  calls(llm.ToolCall{Name: "roll", Arguments: `{}`}, llm.ToolCall{Name: "roll", Arguments: `{}`}, llm.ToolCall{ID: "a", Name: "calc", Arguments: `{"e":1}`}), finish: llm.FinishCalls,
		},
		{
			name:   "arguments missing, null and as text",
			answer: parts("STOP", `{"functionCall":{"name":"a"}},{"functionCall":{"name":"b","args":null}},{"functionCall":{"name":"c","args":"{\"x\":\"界\"}"}}`),
			calls:  calls(llm.ToolCall{Name: "a", Arguments: `{}`}, llm.ToolCall{Name: "b", Arguments: `{}`}, llm.ToolCall{Name: "c", Arguments: `{"x":"界"}`}), finish: llm.FinishCalls,
		},
		{
			name:   "the limit in a call",
			answer: parts("MAX_TOKENS", `{"functionCall":{"name":"a","args":{"x":1}}},{"functionCall":{"name":"b"}}`),
			calls:  calls(llm.ToolCall{Name: "a", Arguments: `{"x":1}`}, llm.ToolCall{Name: "b", Cut: true}), finish: llm.FinishLength,
		},
		{
			name:   "thoughts, text and a call in one chunk",
			answer: parts("STOP", `{"text":"Hm","thought":true},{"text":"Let me see."},{"functionCall":{"name":"calc","args":{}}}`),
			text:   "Let me see.", reasoning: "Hm", calls: calls(llm.ToolCall{Name: "calc", Arguments: `{}`}), finish: llm.FinishCalls,
		},
		{name: "other spellings", answer: parts("STOP", `{"text":"a","thought_signature":"c2ln"},{"function_call":{"name":"calc","args":{}}}`), text: "a", calls: calls(llm.ToolCall{Name: "calc", Arguments: `{}`}), finish: llm.FinishCalls},
		{
			name:   "a list for a stream",
			answer: fakellm.Answer{Raw: []string{"[", chHel[:20], chHel[20:] + ",\r\n", chLo, ",", chStop, "]\n"}, Header: map[string]string{"Content-Type": "application/json"}},
			text:   "Hello", finish: llm.FinishStop, usage: helloUsage,
		},
		{name: "one document", answer: fakellm.Answer{Raw: []string{"\xEF\xBB\xBF" + chHel}}, text: "Hel", finish: llm.FinishStop, usage: llm.Usage{Input: 9}},
		{name: "an end mark of another wire", answer: sse(chHel, chLo, chStop, "[DONE]"), text: "Hello", finish: llm.FinishStop, usage: helloUsage},
		{
			name: "counts behind the reason", answer: sse(chHel, chLo, strings.Replace(chStop, `"candidatesTokenCount":2`, `"candidatesTokenCount":1`, 1), `{"usageMetadata":{"promptTokenCount":90,"cachedContentTokenCount":60,"candidatesTokenCount":4,"thoughtsTokenCount":3,"toolUsePromptTokenCount":10}}`),
			text: "Hello", finish: llm.FinishStop, usage: llm.Usage{Input: 100, Cached: 60, Output: 7, Reasoning: 3},
		},
		{name: "something broken behind the reason", answer: sse(chHel, chLo, chStop, `{"error":{"code":500}}`), text: "Hello", finish: llm.FinishStop, usage: helloUsage},
		{name: "unknown members, parts and candidates", answer: sse(`{"x":[{}],"candidates":[{"citationMetadata":{},"content":{"role":"model","parts":[{"from_the_future":{"a":[1]}},{"text":"Hel"},7]}},{"content":{"parts":[{"text":"other"}]}}]}`, chLo, chStop), text: "Hello", finish: llm.FinishStop, usage: helloUsage},
		{name: "code and what came of it in one part", answer: parts("STOP", `{"executableCode":{"code":"a"},"codeExecutionResult":{"output":"b"}},{"text":"tail"}`), text: "\n```\na\n```\n\n```\nb\n```\ntail", finish: llm.FinishStop},
		{name: "code that the server ran", answer: parts("STOP", `{"executableCode":{"language":"PYTHON","code":"print(1)\n"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1\n"}}`), text: "\n```\nprint(1)\n```\n\n```\n1\n```\n", finish: llm.FinishStop},
		{name: "more could be said", answer: parts("CONTINUATION", `{"text":"Hel"}`), text: "Hel", finish: llm.FinishLength},
		{name: "withheld in the middle", answer: parts("RECITATION", `{"text":"Hel"}`), text: "Hel", finish: llm.FinishFilter},
		{name: "withheld behind a call", answer: parts("SAFETY", `{"functionCall":{"name":"calc","args":{}}}`), calls: calls(llm.ToolCall{Name: "calc", Arguments: `{}`}), finish: llm.FinishFilter},
		{name: "a call where none may be, behind an answer", answer: parts("UNEXPECTED_TOOL_CALL", `{"text":"Hel"}`), text: "Hel", finish: llm.FinishStop},
		{name: "a reason from the future", answer: parts("TIRED", `{"text":"Hel"}`), text: "Hel", finish: llm.FinishStop},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.Start(t, test.answer)
			got := ask(t.Context(), open(t, provider.Settings{BaseURL: s.URL}), hello())
			if got.err != nil || got.reply == nil {
				t.Fatalf("no reply: %v", got.err)
			}
			if got.text != test.text || got.reasoning != test.reasoning || got.reply.Message.Text() != test.text {
				t.Errorf("streamed %q and %q, holds %q", got.text, got.reasoning, got.reply.Message.Text())
			}
			if diff := cmp.Diff(test.calls, got.reply.Message.Calls()); diff != "" || got.reply.Finish != test.finish {
				t.Errorf("finish %s, calls (-want +got):\n%s", got.reply.Finish, diff)
			}
			if got.reply.Usage != test.usage {
				t.Errorf("%+v, want %+v", got.reply.Usage, test.usage)
			}
			announced := 0
			for _, e := range got.events {
				if e.Type == llm.EventCall {
					if e.Text != test.calls[e.Index].Name {
						t.Errorf("%+v", e)
					}
					announced++
				}
			}
			if announced != len(test.calls) {
				t.Errorf("%d of %d calls were announced", announced, len(test.calls))
			}
		})
	}
}

// Signatures stay on the parts with which they came, and go back on them.
func TestSignaturesComeAndGo(t *testing.T) {
	t.Parallel()
	s := fakellm.Start(t,
		parts("STOP", `{"text":"I thi","thought":true}`, `{"text":"nk.","thought":true}`, `{"text":"","thought":true,"thoughtSignature":"c2lnMA=="}`,
			`{"text":"Let "}`, `{"text":"me"},{"text":" see","thoughtSignature":"c2lnMQ=="}`, `{"text":"."}`,
			`{"functionCall":{"id":"fc1","name":"file_read","args":{"path":"a"}},"thoughtSignature":"c2lnMg=="},{"functionCall":{"name":"datetime","args":{}}}`,
			`{"text":"","thoughtSignature":"c2lnMw=="}`),
		fakellm.Text("Done."), fakellm.Text("Indeed."))
	m := open(t, provider.Settings{BaseURL: s.URL})
	req := hello()
	got := ask(t.Context(), m, req)
	if got.err != nil {
		t.Fatal(got.err)
	}
	want := []llm.Part{
		thought("I think."), signed(thought(""), "", "c2lnMA=="), llm.Text("Let me"), signed(llm.Text(" see"), "", "c2lnMQ=="), llm.Text("."),
		signed(use("fc1", "file_read", `{"path":"a"}`), "fc1", "c2lnMg=="), use("", "datetime", `{}`), signed(llm.Text(""), "", "c2lnMw=="),
	}
	if diff := cmp.Diff(want, got.reply.Message.Parts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The loop names the calls as it likes.
	got.reply.Message.Parts[5].Call.ID, got.reply.Message.Parts[6].Call.ID = "call_1_0", "call_1_1"
	req.Messages = append(req.Messages, got.reply.Message, results(result("call_1_0", "x", false), result("call_1_1", "y", false)))
	second := ask(t.Context(), m, req)
	if second.err != nil {
		t.Fatal(second.err)
	}
	for _, part := range []string{
		`{"text":"","thought":true,"thoughtSignature":"c2lnMA=="},{"text":"Let me"},{"text":" see","thoughtSignature":"c2lnMQ=="},{"text":"."},` +
			`{"functionCall":{"id":"fc1","name":"file_read","args":{"path":"a"}},"thoughtSignature":"c2lnMg=="},{"functionCall":{"name":"datetime","args":{}}},{"text":"","thoughtSignature":"c2lnMw=="}`,
		`{"functionResponse":{"id":"fc1","name":"file_read","response":{"output":"x"}}},{"functionResponse":{"name":"datetime","response":{"output":"y"}}}`,
	} {
		if body := string(s.Requests()[1].Body); !strings.Contains(body, part) {
			t.Errorf("%s\nlacks %s", body, part)
		}
	}
	// What ends a turn is an empty part that holds only a signature.
	req.Messages = append(req.Messages, second.reply.Message, llm.UserMessage("Sure?"))
	if got := ask(t.Context(), m, req); got.err != nil {
		t.Fatal(got.err)
	}
	if last := second.reply.Message.Parts; len(last) != 2 || last[1].Text != "" || last[1].Opaque == nil {
		t.Errorf("%+v", last)
	}
}

// What a call has used counts however it ends.
func TestUsageOfWhatFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer fakellm.Answer
		want   llm.Usage
	}{
		"it breaks off": {
			sse(`{"candidates":[{"content":{"parts":[{"text":"Hel"}]}}],"usageMetadata":{"promptTokenCount":90,"cachedContentTokenCount":60,"candidatesTokenCount":3}}`),
			llm.Usage{Input: 90, Cached: 60, Output: 3},
		},
		"a call that can't be read": {
			sse(`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}],"usageMetadata":{"promptTokenCount":90,"thoughtsTokenCount":800}}`),
			llm.Usage{Input: 90, Output: 800, Reasoning: 800},
		},
		"a document": {
			fakellm.Answer{Raw: []string{`{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":90}}`}},
			llm.Usage{Input: 90},
		},
	} {
		got := ask(t.Context(), open(t, provider.Settings{BaseURL: fakellm.Start(t, test.answer).URL}), hello())
		if got.err == nil {
			t.Errorf("%s: no failure", name)
		}
		var told []llm.Usage
		for _, e := range got.events {
			if e.Type == llm.EventUsage {
				told = append(told, *e.Usage)
			}
		}
		if diff := cmp.Diff([]llm.Usage{test.want}, told); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestPicturesOfTheModel(t *testing.T) {
	t.Parallel()
	s := fakellm.Start(t, parts("STOP", `{"inlineData":{"mimeType":"image/png","data":"c2tldGNo"},"thought":true}`, `{"inlineData":{"mimeType":"image/png","data":"ZGF0YQ=="},"thoughtSignature":"c2ln"},{"inlineData":{"mimeType":"image/png","data":"!"}}`))
	got := ask(t.Context(), open(t, provider.Settings{BaseURL: s.URL}), hello())
	if got.err != nil {
		t.Fatal(got.err)
	}
	want := []llm.Part{signed(llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png", Data: []byte("data")}}, "", "c2ln")}
	if diff := cmp.Diff(want, got.reply.Message.Parts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// rpc is a google.rpc.Status as the API answers it.
func rpc(code int, status, message, details string) fakellm.Answer {
	return fakellm.Fail(code, rpcBody(code, status, message, details))
}

func rpcBody(code int, status, message, details string) string {
	return `{"error":{"code":` + itoa(code) + `,"message":"` + message + `","status":"` + status + `","details":[` + details + `]}}`
}

func itoa(n int) string {
	return string([]byte{byte('0' + n/100), byte('0' + n/10%10), byte('0' + n%10)})
}

func TestFailures(t *testing.T) {
	t.Parallel()
	violation := func(id, value string) string {
		return `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"m","quotaId":"` + id + `","quotaValue":"` + value + `"}]}`
	}
	const (
		retry    = `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"22.5s"}`
		exceeded = "You exceeded your current quota, please check your plan and billing details."
	)
	info := func(reason string) string {
		return `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"` + reason + `","domain":"googleapis.com"}`
	}
	for _, test := range []struct {
		name    string
		answer  fakellm.Answer
		class   llm.Class
		message string // a part of it
		retry   time.Duration
	}{
		{"wrong key", rpc(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", info("API_KEY_INVALID")), llm.ClassAuth, "API key not valid", 0},
		{"expired key", rpc(400, "INVALID_ARGUMENT", "API key expired. Please renew the API key.", ""), llm.ClassAuth, "renew", 0},
		{"no permission", rpc(403, "PERMISSION_DENIED", "Your project has been denied access.", info("CONSUMER_INVALID")), llm.ClassAuth, "denied", 0},
		{"no key", rpc(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.", ""), llm.ClassAuth, "credentials", 0},
		{"no billing", rpc(403, "PERMISSION_DENIED", "This API method requires billing to be enabled.", info("BILLING_DISABLED")), llm.ClassBilling, "billing", 0},
		{"no free tier there", rpc(400, "FAILED_PRECONDITION", "Gemini API free tier is not available in your country. Please enable billing on your project.", ""), llm.ClassBilling, "country", 0},
		{"nothing left", rpc(429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted.", ""), llm.ClassBilling, "credits", 0},
		{"not served there", rpc(400, "FAILED_PRECONDITION", "User location is not supported for the API use.", ""), llm.ClassUnknown, "location", 0},
		{"per day", rpc(429, "RESOURCE_EXHAUSTED", exceeded, violation("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "250")+","+retry), llm.ClassQuota, "quota", 22500 * time.Millisecond},
		{"per minute", rpc(429, "RESOURCE_EXHAUSTED", exceeded, violation("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "10")+","+retry), llm.ClassOverloaded, "quota", 22500 * time.Millisecond},
		{"both", rpc(429, "RESOURCE_EXHAUSTED", exceeded, violation("GenerateContentInputTokensPerModelPerMinute", "10")+","+violation("GenerateRequestsPerDayPerProjectPerModel", "9")), llm.ClassQuota, "quota", 0},
		{"none at all", rpc(429, "RESOURCE_EXHAUSTED", exceeded, violation("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "0")+","+retry), llm.ClassQuota, "quota", 22500 * time.Millisecond},
		{"exceeded without a word", rpc(429, "RESOURCE_EXHAUSTED", exceeded, ""), llm.ClassQuota, "quota", 0},
		{"exhausted", rpc(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).", ""), llm.ClassOverloaded, "exhausted", 0},
		{"429 of a proxy", fakellm.Answer{Status: 429, Body: "slow down", Header: map[string]string{"Retry-After": "7"}}, llm.ClassOverloaded, "slow down", 7 * time.Second},
		{"too long", rpc(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", ""), llm.ClassTooLong, "1200000", 0},
		{"too large", rpc(400, "INVALID_ARGUMENT", "Request payload size exceeds the limit: 20971520 bytes.", ""), llm.ClassTooLong, "payload", 0},
		{"no model", rpc(404, "NOT_FOUND", "models/x is not found for API version v1beta, or is not supported for generateContent.", ""), llm.ClassNoModel, "models/x", 0},
		{"404 of a wrong address", fakellm.Fail(404, "404 page not found"), llm.ClassNoModel, "either the model or the address", 0},
		{"overloaded", rpc(503, "UNAVAILABLE", "The model is overloaded. Please try again later.", ""), llm.ClassOverloaded, "overloaded", 0},
		{"internal", rpc(500, "INTERNAL", "An internal error has occurred.", ""), llm.ClassNetwork, "internal", 0},
		{"late", rpc(504, "DEADLINE_EXCEEDED", "The request timed out.", ""), llm.ClassNetwork, "timed out", 0},
		{"cancelled", rpc(499, "CANCELLED", "The operation was cancelled.", ""), llm.ClassNetwork, "cancelled", 0},
		{"a schema with a field of this name", rpc(400, "INVALID_ARGUMENT", "tools[0].function_declarations[3].parameters.properties[api_key].items: missing field.", ""), llm.ClassBadRequest, "api_key", 0},
		{"a bad request", rpc(400, "INVALID_ARGUMENT", "Invalid JSON payload received. Unknown name \\\"x\\\": Cannot find field.", ""), llm.ClassBadRequest, "Cannot find field", 0},
		{"a list of one", fakellm.Fail(503, "["+rpcBody(503, "UNAVAILABLE", "Later.", "")+"]"), llm.ClassOverloaded, "Later.", 0},
		{"an error that is no object", fakellm.Fail(400, `{"error":"just words"}`), llm.ClassBadRequest, "just words", 0},
		{"a message alone", fakellm.Fail(400, `{"message":"just words"}`), llm.ClassBadRequest, "just words", 0},

		{"overloaded in the stream", sse(chHel, rpcBody(503, "UNAVAILABLE", "The model is overloaded.", "")), llm.ClassOverloaded, "overloaded", 0},
		{"a code alone in the stream", sse(chHel, `{"error":{"code":500,"message":"oops"}}`), llm.ClassNetwork, "oops", 0},
		{"an error in a list", fakellm.Answer{Raw: []string{"[" + chHel + "," + rpcBody(500, "INTERNAL", "oops", "") + "]"}}, llm.ClassNetwork, "oops", 0},
		{
			"overloaded in the stream, outside the events",
			fakellm.Answer{Raw: []string{"data: " + chHel + "\r\n\r\n", "{\n  \"error\": {\n    \"code\": 503,\n    \"message\": \"The model is overloaded.\",\n    \"status\": \"UNAVAILABLE\"\n  }\n}\n"}},
			llm.ClassOverloaded, "overloaded", 0,
		},
		{"a list that is cut", fakellm.Answer{Raw: []string{"[" + chHel}}, llm.ClassNetwork, "broke off", 0},
		{"an empty list", fakellm.Answer{Raw: []string{"[]"}}, llm.ClassUnknown, "not in Gemini's format", 0},
		{"another wire's document", fakellm.Answer{Raw: []string{`{"choices":[]}`}}, llm.ClassUnknown, "not in Gemini's format", 0},
		{"no reason", sse(chHel, chLo), llm.ClassNetwork, "broke off", 0},
		{"an unspecified reason", parts("FINISH_REASON_UNSPECIFIED", `{"text":"Hel"}`), llm.ClassNetwork, "broke off", 0},
		{"an end mark of another wire without a reason", sse(chHel, "[DONE]"), llm.ClassNetwork, "broke off", 0},
		{"a broken piece", sse(chHel, chLo[:40], chStop), llm.ClassNetwork, "not valid JSON", 0},

		{"a blocked prompt", sse(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":9}}`), llm.ClassEmpty, "filter refused the request (PROHIBITED_CONTENT)", 0},
		{"a blocked prompt as a document", fakellm.Answer{Raw: []string{`{"promptFeedback":{"blockReason":"OTHER","blockReasonMessage":"No."}}`}}, llm.ClassEmpty, "(OTHER: No.)", 0},
		{"withheld", parts("SPII", ``), llm.ClassEmpty, "filter withheld the answer (SPII)", 0},
		{"withheld with a message", sse(`{"candidates":[{"finishReason":"RECITATION","finishMessage":"Too like a song."}]}`), llm.ClassEmpty, "(RECITATION: Too like a song.)", 0},
		{"withheld with the key", sse(`{"candidates":[{"finishReason":"RECITATION","finishMessage":"Not for my-key-0123456789."}]}`), llm.ClassEmpty, "(RECITATION: Not for ***.)", 0},
		{"a malformed call", sse(chHel, `{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print(x)"}]}`), llm.ClassEmpty, "a call that can't be read (MALFORMED_FUNCTION_CALL: Malformed", 0},
		{"a malformed call behind a good one", parts("MALFORMED_FUNCTION_CALL", `{"functionCall":{"name":"calc","args":{}}}`), llm.ClassEmpty, "can't be read", 0},
		{"a call where none may be", parts("UNEXPECTED_TOOL_CALL", ``), llm.ClassEmpty, "called a tool where it may not", 0},
		{"too many calls", parts("TOO_MANY_TOOL_CALLS", ``), llm.ClassEmpty, "too many tools", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.Start(t, test.answer)
			got := ask(t.Context(), open(t, provider.Settings{BaseURL: s.URL, Key: "AIza-key-0123456789", Headers: map[string]string{"X-Mine": "my-key-0123456789"}}), hello())
			var e *llm.Error
			if !errors.As(got.err, &e) {
				t.Fatalf("%v, %+v", got.err, got.reply)
			}
			if e.Class != test.class || !strings.Contains(e.Message, test.message) || e.RetryAfter != test.retry || e.Target.Provider != "gemini" {
				t.Errorf("class %s, message %q, retry after %s, %+v", e.Class, e.Message, e.RetryAfter, e.Target)
			}
			if got.reply != nil || len(s.Requests()) != 1 {
				t.Errorf("a reply in spite of it, or %d requests", len(s.Requests()))
			}
		})
	}
}

// A refused setting costs one request, and is not sent again; refused signatures
// are left out of this request only.
func TestLessons(t *testing.T) {
	t.Parallel()
	refusal := func(message string) fakellm.Answer { return rpc(400, "INVALID_ARGUMENT", message, "") }
	temperature := 0.3
	for _, test := range []struct {
		name  string
		model string
		with  string // what the first request has, and the others don't
		again string // what they have instead
		fails string
	}{
		{"level", "from-the-future", `"thinkingLevel":"HIGH"`, `"thinkingBudget"`, "Thinking level is not supported for this model."},
		{"budget", "gemini-2.5-flash", `"thinkingBudget"`, `"includeThoughts":true`, "Budget 0 is invalid. This model only works in thinking mode."},
		{"thinking", "from-the-future", `"thinkingConfig"`, ``, "Thinking is not enabled for models/from-the-future"},
		{"temperature", "from-the-future", `"temperature"`, ``, "temperature is not supported"},
		{"signatures", "gemini-2.5-flash", "", skipSignature, "Function call is missing a thought_signature in functionCall parts."},
		{"system", "gemma-3-27b-it", `"systemInstruction"`, `"contents":[{"role":"user","parts":[{"text":"Be short."},{"text":"Hello"}]}`, "Developer instruction is not enabled for models/gemma-3-27b-it"},
		{"images within results", "from-the-future", `"parts":[{"inlineData"`, `{"inlineData"`, "Multimodal function response is not supported by this model."},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.StartScript(t, fakellm.Script{Invalid: true, Answers: []fakellm.Answer{refusal(test.fails), fakellm.Text("a"), fakellm.Text("b")}})
			m := open(t, provider.Settings{BaseURL: s.URL})
			req := hello()
			req.Target.Model, req.Target.Images, req.Reasoning, req.Temperature = test.model, true, "high", &temperature
			shown := result("c", "x", false)
			shown.Result.Content = append(shown.Result.Content, media("image/png", "a"))
			req.Messages = append(req.Messages, assistant(use("c", "datetime", "{}")), results(shown))
			for range 2 {
				if got := ask(t.Context(), m, req); got.err != nil {
					t.Fatal(got.err)
				}
			}
			all := s.Requests()
			if len(all) != 3 {
				t.Fatalf("%d requests", len(all))
			}
			for i, r := range all {
				if has := strings.Contains(string(r.Body), test.with); test.with != "" && has != (i == 0) || i > 0 && !strings.Contains(string(r.Body), test.again) {
					t.Errorf("request %d: %s", i+1, r.Body)
				}
			}
		})
	}
}

func TestRefusedSignatures(t *testing.T) {
	t.Parallel()
	refused := rpc(400, "INVALID_ARGUMENT", "Corrupted thought signature.", "")
	s := fakellm.Start(t, refused, fakellm.Text("a"), refused, refused)
	m := open(t, provider.Settings{BaseURL: s.URL})
	req := hello()
	req.Messages = append(req.Messages, assistant(signed(use("c", "datetime", "{}"), "", "c2ln")), results(result("c", "x", false)))
	if got := ask(t.Context(), m, req); got.err != nil {
		t.Fatal(got.err)
	}
	var e *llm.Error
	if got := ask(t.Context(), m, req); !errors.As(got.err, &e) || e.Class != llm.ClassBadRequest {
		t.Errorf("refused twice: %v", got.err)
	}
	for i, r := range s.Requests() {
		if own := strings.Contains(string(r.Body), "c2ln"); own != (i%2 == 0) || strings.Contains(string(r.Body), skipSignature) == own {
			t.Errorf("request %d: %s", i+1, r.Body)
		}
	}
}

// People write an address in many ways.
func TestAddresses(t *testing.T) {
	t.Parallel()
	s := fakellm.StartScript(t, fakellm.Script{Loop: true, Answers: []fakellm.Answer{fakellm.Text("hi")}})
	for _, test := range []struct{ base, model, want string }{
		{"", "gemini-3.8-flash", "/v1beta/models/gemini-3.8-flash:streamGenerateContent"},
		{"/", "models/gemini-3.8-flash", "/v1beta/models/gemini-3.8-flash:streamGenerateContent"},
		{"/v1beta/", "tunedModels/mine", "/v1beta/tunedModels/mine:streamGenerateContent"},
		{"/v1beta/openai/", "a", "/v1beta/models/a:streamGenerateContent"},
		{"/v1alpha", "a", "/v1alpha/models/a:streamGenerateContent"},
		{"/proxy/gemini", "a b", "/proxy/gemini/v1beta/models/a b:streamGenerateContent"},
	} {
		req := hello()
		req.Target.Model = test.model
		got := ask(t.Context(), open(t, provider.Settings{BaseURL: s.URL + test.base}), req)
		all := s.Requests()
		if got.err != nil {
			t.Errorf("%q, %q: %v", test.base, test.model, got.err)
			continue
		}
		if r := all[len(all)-1]; r.Path != test.want || r.Query != "alt=sse" {
			t.Errorf("%q, %q: %s?%s", test.base, test.model, r.Path, r.Query)
		}
	}
	if _, err := Open(provider.Settings{BaseURL: "nonsense"}); err == nil {
		t.Error("an address that is none was taken")
	}
}

// What is sent besides the body: the key, the headers that were asked for, and
// nothing of the machine or of its environment.
func TestHeaders(t *testing.T) {
	for _, name := range []string{"GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT", "HTTPS_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	s := fakellm.Start(t, fakellm.Text("a"), fakellm.Text("b"))
	for _, settings := range []provider.Settings{{BaseURL: s.URL, Key: "AIza-mine", Headers: map[string]string{"X-Title": "mine"}}, {BaseURL: s.URL}} {
		if got := ask(t.Context(), open(t, settings), hello()); got.err != nil {
			t.Fatal(got.err)
		}
	}
	with, without := s.Requests()[0], s.Requests()[1]
	if with.Header.Get("X-Goog-Api-Key") != "AIza-mine" || with.Header.Get("X-Title") != "mine" || with.Header.Get("User-Agent") != "GoClaw" {
		t.Errorf("%v", with.Header)
	}
	if without.Header.Get("X-Goog-Api-Key") != "" {
		t.Errorf("a key that nobody configured: %v", without.Header)
	}
	for name, values := range with.Header {
		switch name {
		case "Accept-Encoding", "Content-Length", "Content-Type", "X-Goog-Api-Key", "X-Title", "User-Agent":
		default:
			t.Errorf("%s: %q is sent", name, values)
		}
	}
	if string(with.Body) != string(without.Body) {
		t.Error("the bodies of equal requests differ")
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	s := fakellm.StartScript(t, fakellm.Script{Models: []string{"gemini-from-the-future", "other"}})
	m := open(t, provider.Settings{BaseURL: s.URL})
	for model, want := range map[string]provider.Abilities{
		"gemini-3.8-flash":              {}, // as the table says
		"models/gemini-from-the-future": {ContextWindow: 1_048_576, MaxOutput: 65_536, Known: true, Images: true, Files: true, Tools: true},
	} {
		if got, err := m.Probe(t.Context(), model); err != nil || got != want {
			t.Errorf("%s: %+v, %v", model, got, err)
		}
	}
	if got, err := m.Probe(t.Context(), "other"); err != nil || got.Known || got.ContextWindow == 0 {
		t.Errorf("%+v, %v", got, err)
	}
	var e *llm.Error
	if _, err := open(t, provider.Settings{BaseURL: "http://127.0.0.1:1"}).Probe(t.Context(), "other"); !errors.As(err, &e) {
		t.Errorf("no server: %v", err)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	s := fakellm.StartScript(t, fakellm.Script{Models: []string{"gemini-a", "gemini-b"}})
	got, err := open(t, provider.Settings{BaseURL: s.URL, Key: "k"}).List(t.Context())
	if err != nil || !cmp.Equal(got, []string{"gemini-a", "gemini-b"}) {
		t.Errorf("%v, %v", got, err)
	}
	const key = "a-key-of-nobodys-form"
	for _, test := range []struct {
		status int
		body   string
		class  llm.Class
	}{
		{200, "<html></html>", llm.ClassUnknown},
		{200, `{"models":`, llm.ClassUnknown},
		{200, "a proxy says that " + key + " is not known", llm.ClassUnknown},
		{400, rpcBody(400, "INVALID_ARGUMENT", "API key not valid.", ""), llm.ClassAuth},
	} {
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.status)
			_, _ = w.Write([]byte(test.body))
		}))
		var e *llm.Error
		_, err := open(t, provider.Settings{BaseURL: other.URL, Key: key}).List(t.Context())
		if !errors.As(err, &e) || e.Class != test.class || strings.Contains(e.Error(), key) {
			t.Errorf("%q: %v", test.body, err)
		}
		other.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t, provider.Settings{BaseURL: s.URL}).List(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}
