package openai

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// TestOtherServers plays streams as servers other than OpenAI's send them, by
// their documentation or by what was reported of them.
func TestOtherServers(t *testing.T) {
	t.Parallel()
	const delta, end = `{"choices":[{"index":0,"delta":`, `,"finish_reason":null}]}`
	calc := calls(llm.ToolCall{ID: "c1", Name: "calc", Arguments: `{"e":1}`})
	for _, test := range []struct {
		name      string
		answer    fakellm.Answer
		text      string
		reasoning string
		calls     []llm.ToolCall
		finish    llm.Finish
		usage     llm.Usage
	}{
		{
			name: "DeepSeek: keep-alive comments, reasoning, cache hits",
			answer: fakellm.Answer{Raw: []string{
				": keep-alive\n\n", ": keep-alive\n\n", "data: " + delta + `{"role":"assistant","content":null,"reasoning_content":"Hm."}` + end + "\n\n",
				"data: " + delta + `{"content":"Hello","reasoning_content":null}` + end + "\n\n",
				`data: {"choices":[{"index":0,"delta":{"content":"","reasoning_content":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":16},"completion_tokens_details":{"reasoning_tokens":4},"prompt_cache_hit_tokens":16,"prompt_cache_miss_tokens":4}}` + "\n\ndata: [DONE]\n\n",
			}},
			text: "Hello", reasoning: "Hm.", finish: llm.FinishStop, usage: llm.Usage{Input: 20, Cached: 16, Output: 9, Reasoning: 4},
		},
		{
			name:   "DeepSeek: empty lines before a document",
			answer: fakellm.Answer{Raw: []string{"\n", "\n", `{"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}`}},
			text:   "Hello", finish: llm.FinishStop, usage: llm.Usage{Input: 9, Output: 2},
		},
		{
			name: "OpenRouter: comments, its name for reasoning, an empty last piece with usage",
			answer: fakellm.Answer{Raw: []string{
				": OPENROUTER PROCESSING\n\n", `data: {"id":"gen-1","provider":"X","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"Hm."},"finish_reason":null,"native_finish_reason":null}]}` + "\n\n",
				": OPENROUTER PROCESSING\n\n", "data: " + delta + `{"role":"assistant","content":"Hello"}` + end + "\n\n",
				`data: {"id":"gen-1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop","native_finish_reason":"end_turn"}]}` + "\n\n",
				`data: {"id":"gen-1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":{"prompt_tokens":9,"completion_tokens":2,"cost":0.1}}` + "\n\ndata: [DONE]\n\n",
			}},
			text: "Hello", reasoning: "Hm.", finish: llm.FinishStop, usage: llm.Usage{Input: 9, Output: 2},
		},
		{
			name: "Groq: usage in an object of its own",
			answer: sse(delta+`{"role":"assistant","content":"Hello"}`+end,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"r","usage":{"prompt_tokens":9,"completion_tokens":2,"total_time":0.1}}}`),
			text: "Hello", finish: llm.FinishStop, usage: llm.Usage{Input: 9, Output: 2},
		},
		{
			name: "Mistral: thinking among the parts of the content",
			answer: sse(delta+`{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]}]}`+end,
				delta+`{"content":[{"type":"text","text":"Hello"}]}`+end, chunkStop),
			text: "Hello", reasoning: "Hm.", finish: llm.FinishStop,
		},
		{
			name: "Azure: a first piece about the prompt alone, filters in every piece",
			answer: sse(`{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false}}}]}`,
				`{"choices":[{"content_filter_results":{},"delta":{"content":"","refusal":null,"role":"assistant"},"finish_reason":null,"index":0,"logprobs":null}],"id":"x"}`,
				`{"choices":[{"content_filter_results":{"hate":{"filtered":false}},"delta":{"content":"Hello"},"finish_reason":null,"index":0}]}`,
				`{"choices":[{"content_filter_offsets":{},"content_filter_results":{},"finish_reason":null,"index":0}]}`,
				chunkStop, "[DONE]"),
			text: "Hello", finish: llm.FinishStop,
		},
		{
			name:   "Azure: withheld",
			answer: sse(delta+`{"content":"Hel"}`+end, `{"choices":[{"content_filter_results":{"hate":{"filtered":true}},"delta":{},"finish_reason":"content_filter","index":0}]}`),
			text:   "Hel", finish: llm.FinishFilter,
		},
		{
			name: "vLLM: a usage that is null, a reason to stop that is a number",
			answer: sse(`{"choices":[{"index":0,"delta":{"content":"Hello"},"logprobs":null,"finish_reason":null,"stop_reason":null}],"usage":null}`,
				`{"choices":[{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":"stop","stop_reason":2}],"usage":null}`, chunkUsage, "[DONE]"),
			text: "Hello", finish: llm.FinishStop, usage: llm.Usage{Input: 9, Output: 2},
		},
		{
			name: "vLLM: a call in pieces with null for what is known",
			answer: sse(delta+`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"calc"}}]}`+end,
				delta+`{"tool_calls":[{"index":0,"id":null,"type":null,"function":{"name":null,"arguments":"{\"e\":"}}]}`+end,
				delta+`{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`+end,
				`{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"tool_calls"}]}`),
			calls: calc, finish: llm.FinishCalls,
		},
		{
			name: "llama.cpp: timings, a call with its arguments at once",
			answer: sse(delta+`{"role":"assistant","content":null}`+end,
				delta+`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"calc","arguments":"{\"e\":1}"}}]}`+end,
				`{"choices":[{"finish_reason":"tool_calls","index":0,"delta":{}}],"timings":{"prompt_n":9}}`, "[DONE]"),
			calls: calc, finish: llm.FinishCalls,
		},
		{
			name: "no index",
			answer: sse(delta+`{"tool_calls":[{"id":"c1","type":"function","function":{"name":"calc","arguments":"{\"e\":1}"}}]}`+end,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`),
			calls: calc, finish: llm.FinishCalls,
		},
		{
			name: "the older form of a call",
			answer: sse(delta+`{"function_call":{"name":"calc","arguments":""}}`+end, delta+`{"function_call":{"arguments":"{\"e\":1}"}}`+end,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"function_call"}]}`),
			calls: calls(llm.ToolCall{Name: "calc", Arguments: `{"e":1}`}), finish: llm.FinishCalls,
		},
		{
			name: "Kimi: usage inside the choice",
			answer: sse(delta+`{"content":"Hello"}`+end,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":9,"completion_tokens":2,"cached_tokens":4}}]}`, "[DONE]"),
			text: "Hello", finish: llm.FinishStop, usage: llm.Usage{Input: 9, Cached: 4, Output: 2},
		},
		{
			name: "vLLM without a parser: thoughts in the content, the tag in pieces",
			answer: sse(delta+`{"role":"assistant","content":""}`+end, delta+`{"content":"<th"}`+end, delta+`{"content":"ink>\nHm."}`+end,
				delta+`{"content":"</thi"}`+end, delta+`{"content":"nk>\n\nHel"}`+end, delta+`{"content":"lo <think>"}`+end, chunkStop, chunkUsage),
			text: "Hello <think>", reasoning: "Hm.", finish: llm.FinishStop, usage: llm.Usage{Input: 9, Output: 2},
		},
		{
			name:   "LM Studio: thoughts in a whole message, and a call",
			answer: fakellm.Answer{Raw: []string{`{"choices":[{"message":{"content":"<think>Hm.</think>","tool_calls":[{"id":"c1","function":{"name":"calc","arguments":"{\"e\":1}"}}]},"finish_reason":"tool_calls"}]}`}},
			calls:  calc, reasoning: "Hm.", finish: llm.FinishCalls,
		},
		{
			name:      "thoughts that the limit ended",
			answer:    sse(delta+`{"content":"<think>Hm. </"}`+end, `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`),
			reasoning: "Hm. </", finish: llm.FinishLength,
		},
		{name: "thoughts, told again whole at the end", answer: sse(delta+`{"content":"<think>Hm.</think>Hello"}`+end, `{"choices":[{"index":0,"message":{"content":"<think>Hm.</think>Hello"},"finish_reason":"stop"}]}`), text: "Hello", reasoning: "Hm.", finish: llm.FinishStop},
		{name: "a tag in the answer of who thinks otherwise", answer: sse(delta+`{"reasoning_content":"Hm."}`+end, delta+`{"content":"<think> it is."}`+end, chunkStop), text: "<think> it is.", reasoning: "Hm.", finish: llm.FinishStop},
		{name: "GLM: withheld", answer: sse(delta+`{"content":"Hel"}`+end, `{"choices":[{"index":0,"delta":{},"finish_reason":"sensitive"}]}`), text: "Hel", finish: llm.FinishFilter},
		{name: "the window is full", answer: sse(delta+`{"content":"Hel"}`+end, `{"choices":[{"index":0,"delta":{},"finish_reason":"model_context_window_exceeded"}]}`), text: "Hel", finish: llm.FinishLength},
		{name: "no usage and no end mark", answer: sse(chunkHel, chunkLo, chunkStop), text: "Hello", finish: llm.FinishStop},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.Start(t, test.answer)
			got := ask(t.Context(), open(t, provider.Settings{BaseURL: s.Base()}), hello())
			if got.err != nil || got.reply == nil {
				t.Fatalf("no reply: %v", got.err)
			}
			if got.text != test.text || got.reply.Message.Text() != test.text || got.reasoning != test.reasoning || got.reply.Finish != test.finish || got.reply.Usage != test.usage {
				t.Errorf("%q, %q, %+v", got.text, got.reasoning, got.reply)
			}
			if diff := cmp.Diff(test.calls, got.reply.Message.Calls()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailuresOfOtherServers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		answer fakellm.Answer
		class  llm.Class
	}{
		{"DeepSeek: no balance", fakellm.Fail(402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`), llm.ClassBilling},
		{"DeepSeek: wrong key", fakellm.Fail(401, `{"error":{"message":"Authentication Fails (no such user)","type":"authentication_error","param":null,"code":"invalid_request_error"}}`), llm.ClassAuth},
		{"DeepSeek: overloaded", fakellm.Fail(503, `{"error":{"message":"Service is too busy. We advise users to temporarily switch to alternative LLM API service providers."}}`), llm.ClassOverloaded},
		{"DeepSeek: wrong parameters", fakellm.Fail(422, `{"error":{"message":"Failed to deserialize the JSON body into the target type"}}`), llm.ClassBadRequest},
		{"DeepSeek: out of resources in the middle", sse(chunkHel, `{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"insufficient_system_resource"}]}`), llm.ClassOverloaded},
		{"DeepSeek: and in a document", fakellm.Answer{Raw: []string{`{"choices":[{"message":{"content":"Hel"},"finish_reason":"insufficient_system_resource"}]}`}}, llm.ClassOverloaded},
		{"OpenRouter: an error inside the stream", sse(chunkHel, `{"id":"gen-1","error":{"code":502,"message":"Provider returned error"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`), llm.ClassNetwork},
		{"OpenRouter: an error with status 200", fakellm.Answer{Raw: []string{`{"error":{"message":"Rate limit exceeded: free-models-per-min","code":429}}`}}, llm.ClassOverloaded},
		{"OpenRouter: no credits", fakellm.Fail(402, `{"error":{"message":"Insufficient credits. Add more using https://openrouter.ai/credits","code":402}}`), llm.ClassBilling},
		{"OpenRouter: flagged", fakellm.Fail(403, `{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged for \"violence\". No credits were charged.","metadata":{"reasons":["violence"]}}}`), llm.ClassEmpty},
		{"xAI: too long", fakellm.Fail(400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 200000 tokens."}`), llm.ClassTooLong},
		{"Moonshot: too long", fakellm.Fail(400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 131072","type":"invalid_request_error"}}`), llm.ClassTooLong},
		{"Groq: the call could not be read", fakellm.Fail(400, `{"error":{"message":"Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=calc{}"}}`), llm.ClassEmpty},
		{"Groq: more than a minute's tokens", fakellm.Fail(413, `{"error":{"message":"Request too large for model `+"`m`"+` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}`), llm.ClassTooLong},
		{"Together: too long", fakellm.Fail(422, `{"error":{"message":"Input validation error: `+"`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 4050 `inputs` tokens and 100 `max_new_tokens`"+`","type":"invalid_request_error","param":null,"code":null}}`), llm.ClassTooLong},
		{"vLLM: too long", fakellm.Fail(400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.","type":"BadRequestError","param":null,"code":400}`), llm.ClassTooLong},
		{"vLLM: what was sent is repeated", fakellm.Fail(400, `{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'x'), 'msg': 'Extra inputs', 'input': {'content': 'what does invalid api key mean, and rate limit?'}}]","type":"BadRequestError","param":null,"code":400}`), llm.ClassBadRequest},
		{"vLLM: and told in another way", fakellm.Fail(422, `{"detail":[{"type":"missing","loc":["body"],"msg":"Field required","input":{"content":"explain insufficient_quota"}}]}`), llm.ClassBadRequest},
		{"vLLM: started without tools", fakellm.Fail(400, `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","param":null,"code":400}`), llm.ClassBadRequest},
		{"vLLM: no such model", fakellm.Fail(404, `{"error":{"message":"The model x does not exist.","type":"NotFoundError","param":"model","code":404}}`), llm.ClassNoModel},
		{"llama.cpp: loading", fakellm.Fail(503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`), llm.ClassOverloaded},
		{"llama.cpp: started without tools", fakellm.Fail(500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`), llm.ClassBadRequest},
		{"llama.cpp: too long", fakellm.Fail(400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`), llm.ClassTooLong},
		{"LM Studio: an event for an error", fakellm.Answer{Raw: []string{"event: error\ndata: {\"error\":{\"message\":\"The number of tokens to keep from the initial prompt is greater than the context length.\"}}\n\n"}}, llm.ClassTooLong},
		{"Mistral: too many requests", fakellm.Fail(429, `{"object":"error","message":"Service tier capacity exceeded for this model.","type":"service_tier_capacity_exceeded","param":null,"code":"3505"}`), llm.ClassOverloaded},
		{"Azure: no such deployment", fakellm.Fail(404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`), llm.ClassNoModel},
		{"Azure: too many requests", fakellm.Fail(429, `{"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation have exceeded token rate limit of your current pricing tier."}}`), llm.ClassOverloaded},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.Start(t, test.answer)
			got := ask(t.Context(), open(t, provider.Settings{BaseURL: s.Base()}), hello())
			var e *llm.Error
			if !errors.As(got.err, &e) || e.Class != test.class || got.reply != nil {
				t.Errorf("%v (want %s), %+v", got.err, test.class, got.reply)
			}
		})
	}
}

// What a server wants back unchanged goes back to it, and to no other.
func TestOpaqueDataGoesBack(t *testing.T) {
	t.Parallel()
	const end = `,"finish_reason":null}]}`
	s := fakellm.Start(t, sse(
		`{"choices":[{"index":0,"delta":{"reasoning":"Lo","reasoning_details":[{"type":"reasoning.text","text":"Lo","format":"anthropic-claude-v1","index":0}]}`+end,
		`{"choices":[{"index":0,"delta":{"reasoning":"ok.","reasoning_details":[{"type":"reasoning.text","text":"ok.","format":"anthropic-claude-v1","index":0}]}`+end,
		`{"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.text","signature":"<sig>","format":"anthropic-claude-v1","index":0},{"type":"reasoning.encrypted","data":"abc","id":"rs_1","index":1}]}`+end,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"datetime","arguments":"{}"},"extra_content":{"google": {"thought_signature":"xyz"}}}]}`+end,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
	), fakellm.Text("Noon."))
	m, req := open(t, provider.Settings{BaseURL: s.Base()}), hello()
	got := ask(t.Context(), m, req)
	if got.err != nil || got.reasoning != "Look." {
		t.Fatalf("%q, %v", got.reasoning, got.err)
	}
	req.Messages = append(req.Messages, got.reply.Message, results(result("c1", "12:00", false)))
	if got := ask(t.Context(), m, req); got.err != nil {
		t.Fatal(got.err)
	}
	var sent struct {
		Messages []struct {
			Details json.RawMessage `json:"reasoning_details"`
			Calls   []struct {
				Extra json.RawMessage `json:"extra_content"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := s.Requests()[1].Decode(&sent); err != nil {
		t.Fatal(err)
	}
	const details = `[{"format":"anthropic-claude-v1","index":0,"signature":"\u003csig\u003e","text":"Look.","type":"reasoning.text"},{"data":"abc","id":"rs_1","index":1,"type":"reasoning.encrypted"}]`
	if got := sent.Messages[2]; string(got.Details) != details || string(got.Calls[0].Extra) != `{"google":{"thought_signature":"xyz"}}` {
		t.Errorf("%s\n%s", got.Details, got.Calls[0].Extra)
	}
	other := newDialect(provider.Settings{BaseURL: "http://127.0.0.1:1/v1"})
	if body := string(encoded(t, req, other)); strings.Contains(body, "xyz") || strings.Contains(body, "abc") {
		t.Errorf("%s", body)
	}
	// Blocks that nothing shows in words are told in their own.
	shown := fakellm.Start(t, sse(`{"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.summary","summary":"Hm."}]}`+end, chunkHel, chunkStop))
	if got := ask(t.Context(), open(t, provider.Settings{BaseURL: shown.Base()}), hello()); got.err != nil || got.reasoning != "Hm." {
		t.Errorf("%q, %v", got.reasoning, got.err)
	}
}

// Which replies go back with their reasoning: none, unless a server insists.
func TestReasoningStaysHere(t *testing.T) {
	t.Parallel()
	own := dialect{deepseek: true, own: true}
	for _, test := range []struct {
		name string
		d    dialect
		off  bool
		bare bool
		want bool
	}{
		{name: "anywhere"},
		{name: "DeepSeek's wire at another address", d: dialect{deepseek: true}},
		{name: "DeepSeek itself", d: own, want: true},
		{name: "without tools", d: own, bare: true},
		{name: "without thinking", d: own, off: true},
		{name: "where a server insisted", d: dialect{learned: wantsReasoning}, want: true},
		{name: "where a server refused it", d: dialect{own: true, learned: refusedReasoning}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			req := sample()
			req.Messages[1].Parts = append(req.Messages[1].Parts,
				llm.Part{Kind: llm.KindReasoning, Text: "Claude's.", Opaque: &llm.Opaque{Vendor: "anthropic", Data: json.RawMessage(`{}`)}},
				llm.Part{Kind: llm.KindReasoning, Text: "Gemini's, unsigned."})
			if test.off {
				req.Reasoning = "off"
			}
			if test.bare {
				req.Tools = nil
			}
			body := string(encoded(t, req, test.d))
			if got := strings.Contains(body, `"reasoning_content":"I should look."`); got != test.want || strings.Contains(body, "Claude's.") || strings.Contains(body, "Gemini's") {
				t.Errorf("%v: %s", got, body)
			}
			if got := strings.Count(body, `"reasoning_content":`); test.want && got != 5 {
				t.Errorf("%d replies with reasoning: %s", got, body)
			}
		})
	}
}

// A server that knows no reasoning of replies is asked without it.
func TestReasoningThatIsRefused(t *testing.T) {
	t.Parallel()
	s := fakellm.Start(t, fakellm.Fail(400, `{"error":{"message":"'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]","type":"invalid_request_error"}}`), fakellm.Text("a"))
	m := open(t, provider.Settings{BaseURL: s.Base()})
	m.dialect.own = true
	if got := ask(t.Context(), m, sample()); got.err != nil {
		t.Fatal(got.err)
	}
	if sent := s.Requests(); !strings.Contains(string(sent[0].Body), "reasoning_content") || strings.Contains(string(sent[1].Body), "reasoning_content") {
		t.Errorf("%s", sent[1].Body)
	}
}
