package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/provider"
)

// assembled reads the tool_calls lists of deltas, then a finish reason.
func assembled(t *testing.T, finish string, lists ...string) llm.Reply {
	t.Helper()
	r := &reply{}
	for _, l := range lists {
		chunk := fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":%s}}]}`, l)
		if err := r.chunk([]byte(chunk)); err != nil {
			t.Fatalf("%s: %v", chunk, err)
		}
	}
	if err := r.chunk([]byte(fmt.Sprintf(`{"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, finish))); err != nil {
		t.Fatal(err)
	}
	return r.done(llm.Target{})
}

// TestDeltasFindTheirCalls has what servers that call themselves compatible
// were seen to send.
func TestDeltasFindTheirCalls(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		deltas []string
		want   []llm.ToolCall
	}{
		{
			"as documented",
			[]string{
				`[{"index":0,"id":"a","type":"function","function":{"name":"calc","arguments":""}}]`,
				`[{"index":0,"function":{"arguments":"{\"expression\":"}}]`,
				`[{"index":0,"function":{"arguments":"\"1+1\"}"}}]`,
			},
			[]llm.ToolCall{{ID: "a", Name: "calc", Arguments: `{"expression":"1+1"}`}},
		},
		{
			"two interleaved",
			[]string{
				`[{"index":0,"id":"a","function":{"name":"calc","arguments":"{\"e\":"}}]`,
				`[{"index":1,"id":"b","function":{"name":"calc","arguments":"{\"e\":"}}]`,
				`[{"index":0,"function":{"arguments":"1}"}},{"index":1,"function":{"arguments":"2}"}}]`,
			},
			[]llm.ToolCall{{ID: "a", Name: "calc", Arguments: `{"e":1}`}, {ID: "b", Name: "calc", Arguments: `{"e":2}`}},
		},
		{
			"one id for two calls",
			[]string{`[{"index":0,"id":"a","function":{"name":"calc","arguments":"{\"e\":1}"}},{"index":1,"id":"a","function":{"name":"calc","arguments":"{\"e\":2}"}}]`},
			[]llm.ToolCall{{ID: "a", Name: "calc", Arguments: `{"e":1}`}, {ID: "a", Name: "calc", Arguments: `{"e":2}`}},
		},
		{
			"one index for two calls",
			[]string{
				`[{"index":0,"id":"a","function":{"name":"calc","arguments":"{\"e\":1}"}}]`,
				`[{"index":0,"id":"b","function":{"name":"calc","arguments":"{\"e\":2}"}}]`,
			},
			[]llm.ToolCall{{ID: "a", Name: "calc", Arguments: `{"e":1}`}, {ID: "b", Name: "calc", Arguments: `{"e":2}`}},
		},
		{
			"one index for calls that come in pieces",
			[]string{
				`[{"index":0,"id":"a","function":{"name":"calc","arguments":""}}]`,
				`[{"index":0,"function":{"arguments":"{\"e\":1}"}}]`,
				`[{"index":0,"id":"b","function":{"name":"calc","arguments":""}}]`,
				`[{"index":0,"function":{"arguments":"{\"e\":"}}]`,
				`[{"index":0,"function":{"arguments":"2}"}}]`,
				`[{"index":0,"id":"c","function":{"name":"calc","arguments":""}}]`,
				`[{"index":0,"id":"c","function":{"arguments":"{\"e\":2}"}}]`,
			},
			[]llm.ToolCall{{ID: "a", Name: "calc", Arguments: `{"e":1}`}, {ID: "b", Name: "calc", Arguments: `{"e":2}`}, {ID: "c", Name: "calc", Arguments: `{"e":2}`}},
		},
		{
			"one index and no ids for two calls",
			[]string{
				`[{"index":0,"function":{"name":"calc","arguments":"{\"e\":1}"}}]`,
				`[{"index":0,"function":{"name":"calc","arguments":"{\"e\":2}"}}]`,
			},
			[]llm.ToolCall{{Name: "calc", Arguments: `{"e":1}`}, {Name: "calc", Arguments: `{"e":2}`}},
		},
		{
			"no index, ids",
			[]string{
				`[{"id":"a","function":{"name":"calc","arguments":"{\"e\":"}}]`,
				`[{"function":{"arguments":"1}"}}]`,
				`[{"id":"b","function":{"name":"calc","arguments":"{\"e\":2"}}]`,
				`[{"id":"b","function":{"arguments":"2}"}}]`,
			},
			[]llm.ToolCall{{ID: "a", Name: "calc", Arguments: `{"e":1}`}, {ID: "b", Name: "calc", Arguments: `{"e":22}`}},
		},
		{
			"no index, pieces told apart by ids",
			[]string{
				`[{"id":"a","function":{"name":"calc","arguments":"{\"e\":"}}]`,
				`[{"id":"b","function":{"name":"calc","arguments":"{\"e\":"}}]`,
				`[{"id":"a","function":{"arguments":"1}"}}]`,
				`[{"id":"b","function":{"arguments":"2}"}}]`,
			},
			[]llm.ToolCall{{ID: "a", Name: "calc", Arguments: `{"e":1}`}, {ID: "b", Name: "calc", Arguments: `{"e":2}`}},
		},
		{
			"null for the index",
			[]string{
				`[{"index":null,"id":"a","function":{"name":"calc","arguments":"{\"e\":1"}}]`,
				`[{"index":null,"id":null,"function":{"name":null,"arguments":"}"}}]`,
			},
			[]llm.ToolCall{{ID: "a", Name: "calc", Arguments: `{"e":1}`}},
		},
		{
			"neither index nor id, whole calls",
			[]string{
				`[{"function":{"name":"calc","arguments":"{\"e\":1}"}},{"function":{"name":"calc","arguments":"{\"e\":1}"}}]`,
				`[{"function":{"name":"datetime","arguments":""}}]`,
				`[{"function":{"name":"file_list","arguments":"{}"}}]`,
			},
			[]llm.ToolCall{
				{Name: "calc", Arguments: `{"e":1}`},
				{Name: "calc", Arguments: `{"e":1}`},
				{Name: "datetime"},
				{Name: "file_list", Arguments: "{}"},
			},
		},
		{
			"neither index nor id, in pieces, the name repeated",
			[]string{
				`[{"function":{"name":"calc","arguments":"{\"e\":"}}]`,
				`[{"function":{"name":"calc","arguments":"1}"}}]`,
				`[{"function":{"name":"calc","arguments":"{\"e\":2}"}}]`,
			},
			[]llm.ToolCall{{Name: "calc", Arguments: `{"e":1}`}, {Name: "calc", Arguments: `{"e":2}`}},
		},
		{
			"calls without arguments in one list",
			[]string{`[{"function":{"name":"datetime"}},{"function":{"name":"datetime"}}]`},
			[]llm.ToolCall{{Name: "datetime"}, {Name: "datetime"}},
		},
		{
			"an id that changes with each piece",
			[]string{
				`[{"index":0,"id":"a1","function":{"name":"calc","arguments":""}}]`,
				`[{"index":0,"id":"a2","function":{"arguments":"{\"e\":"}}]`,
				`[{"index":0,"id":"a3","function":{"name":"calc","arguments":"1}"}}]`,
				`[{"index":0,"id":"a4","function":{"name":"calc","arguments":""}}]`,
			},
			[]llm.ToolCall{{ID: "a1", Name: "calc", Arguments: `{"e":1}`}},
		},
		{
			"an id that comes late",
			[]string{
				`[{"index":0,"function":{"name":"calc","arguments":"{\"e\":"}}]`,
				`[{"index":0,"id":"a","function":{"arguments":"1}"}}]`,
			},
			[]llm.ToolCall{{ID: "a", Name: "calc", Arguments: `{"e":1}`}},
		},
		{
			"an index that comes late",
			[]string{
				`[{"id":"a","function":{"name":"calc","arguments":""}}]`,
				`[{"index":0,"function":{"arguments":"{\"e\":1}"}}]`,
			},
			[]llm.ToolCall{{ID: "a", Name: "calc", Arguments: `{"e":1}`}},
		},
		{
			"a name in pieces",
			[]string{
				`[{"index":0,"id":"a","function":{"name":"file_"}}]`,
				`[{"index":0,"function":{"name":"read"}}]`,
				`[{"index":0,"function":{"name":"","arguments":"{}"}}]`,
			},
			[]llm.ToolCall{{ID: "a", Name: "file_read", Arguments: "{}"}},
		},
		{
			"a name that grows",
			[]string{
				`[{"index":0,"id":"a","function":{"name":"file_"}}]`,
				`[{"index":0,"id":"a","function":{"name":"file_read","arguments":"{}"}}]`,
			},
			[]llm.ToolCall{{ID: "a", Name: "file_read", Arguments: "{}"}},
		},
		{
			"id and name repeated in each piece",
			[]string{
				`[{"index":0,"id":"a","function":{"name":"calc","arguments":"{\"e\""}}]`,
				`[{"index":0,"id":"a","function":{"name":"calc","arguments":":1}"}}]`,
				`[{"index":0,"id":"a","function":{"name":"calc","arguments":""}}]`,
			},
			[]llm.ToolCall{{ID: "a", Name: "calc", Arguments: `{"e":1}`}},
		},
		{
			"all arguments once more at the end",
			[]string{
				`[{"index":0,"id":"a","function":{"name":"calc","arguments":"{\"e\":"}}]`,
				`[{"index":0,"function":{"arguments":"1}"}}]`,
				`[{"index":0,"id":"a","function":{"name":"calc","arguments":"{\"e\":1}"}}]`,
			},
			[]llm.ToolCall{{ID: "a", Name: "calc", Arguments: `{"e":1}`}},
		},
		{
			"an object for the arguments",
			[]string{`[{"index":0,"id":"a","function":{"name":"calc","arguments":{"e": 1}}}]`},
			[]llm.ToolCall{{ID: "a", Name: "calc", Arguments: `{"e": 1}`}},
		},
		{
			"null for the arguments",
			[]string{`[{"index":0,"id":"a","function":{"name":"datetime","arguments":null}}]`},
			[]llm.ToolCall{{ID: "a", Name: "datetime"}},
		},
		{
			"arguments encoded twice, for two calls",
			[]string{
				`[{"id":"a","function":{"name":"calc","arguments":"\"{\\\"e\\\":1}\""}}]`,
				`[{"function":{"name":"calc","arguments":"\"{\\\"e\\\":2}\""}}]`,
			},
			[]llm.ToolCall{{ID: "a", Name: "calc", Arguments: `"{\"e\":1}"`}, {Name: "calc", Arguments: `"{\"e\":2}"`}},
		},
		{
			"a call without a list, fields without the function around them",
			[]string{`{"index":0,"id":"a","name":"calc","arguments":"{}"}`},
			[]llm.ToolCall{{ID: "a", Name: "calc", Arguments: "{}"}},
		},
		{
			"white space around the name",
			[]string{`[{"index":0,"id":"a","function":{"name":" calc\n","arguments":"{}"}}]`},
			[]llm.ToolCall{{ID: "a", Name: "calc", Arguments: "{}"}},
		},
		{
			"nothing that is a call",
			[]string{`[{}]`, `[{"index":0}]`, `[null]`, `[[1]]`, `"x"`, `null`, `[{"index":0,"function":"x"}]`},
			nil,
		},
		{
			"an empty object before the real one",
			[]string{
				`[{"index":0,"id":"a","function":{"name":"calc","arguments":"{}"}}]`,
				`[{"index":0,"function":{"arguments":" "}}]`,
				`[{"index":0,"function":{"arguments":"{\"e\":"}}]`,
				`[{"index":0,"function":{"arguments":"1}"}}]`,
			},
			[]llm.ToolCall{{ID: "a", Name: "calc", Arguments: `{"e":1}`}},
		},
		{
			"half a letter in the arguments",
			[]string{
				`[{"index":0,"id":"a","function":{"name":"calc","arguments":"{\"e\":\"` + "\xe7\x95" + `"}}]`,
				`[{"index":0,"function":{"arguments":"` + "\x8c" + `\ud83d"}}]`,
				`[{"index":0,"function":{"arguments":"\ude00\"}"}}]`,
			},
			[]llm.ToolCall{{ID: "a", Name: "calc", Arguments: `{"e":"界😀"}`}},
		},
		{
			"an index far away and below zero",
			[]string{
				`[{"index":-7,"id":"a","function":{"name":"calc","arguments":"{}"}}]`,
				`[{"index":99999999999,"id":"b","function":{"name":"datetime","arguments":"{}"}}]`,
				`[{"index":"1","id":"c","function":{"name":"datetime","arguments":"{}"}}]`,
			},
			[]llm.ToolCall{
				{ID: "a", Name: "calc", Arguments: "{}"}, {ID: "b", Name: "datetime", Arguments: "{}"}, {ID: "c", Name: "datetime", Arguments: "{}"},
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := assembled(t, "tool_calls", test.deltas...)
			if diff := cmp.Diff(test.want, got.Message.Calls()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if want := llm.FinishCalls; len(test.want) > 0 && got.Finish != want {
				t.Errorf("finish %q, want %q", got.Finish, want)
			}
		})
	}
}

func TestCutCalls(t *testing.T) {
	t.Parallel()
	const whole = `{"index":0,"id":"a","function":{"name":"calc","arguments":"{\"e\":1}"}}`
	for _, test := range []struct {
		name, finish, deltas string
		want                 []bool
	}{
		{"whole ones before the limit", "length", `[` + whole + `]`, []bool{false}},
		{"the limit inside the last", "length", `[` + whole + `,{"index":1,"id":"b","function":{"name":"w","arguments":"{\"x\":\"half"}}]`, []bool{false, true}},
		{"the limit before the arguments", "length", `[` + whole + `,{"index":1,"id":"b","function":{"name":"w","arguments":""}}]`, []bool{false, true}},
		{"the limit inside one that is broken anyway", "length", `[{"index":0,"id":"b","function":{"name":"w","arguments":"{'a': 1"}}]`, []bool{true}},
		{"cut although it says otherwise", "tool_calls", `[{"index":0,"id":"b","function":{"name":"w","arguments":"{\"path\": \"a.txt\""}}]`, []bool{true}},
		{"cut in an escape", "tool_calls", `[{"index":0,"id":"b","function":{"name":"w","arguments":"{\"path\": \"a\\"}}]`, []bool{true}},
		{"cut in a string encoded twice", "tool_calls", `[{"index":0,"id":"b","function":{"name":"w","arguments":"\"{\\\"path"}}]`, []bool{true}},
		{"broken but not cut", "tool_calls", `[{"index":0,"id":"b","function":{"name":"w","arguments":"{'a': 1}"}}]`, []bool{false}},
		{"no arguments", "tool_calls", `[{"index":0,"id":"b","function":{"name":"w","arguments":""}}]`, []bool{false}},
		{"trailing white space", "stop", `[{"index":0,"id":"b","function":{"name":"w","arguments":"{} \n"}}]`, []bool{false}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []bool
			for _, c := range assembled(t, test.finish, test.deltas).Message.Calls() {
				got = append(got, c.Cut)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	part := func(kind llm.Kind, text string) llm.Part { return llm.Part{Kind: kind, Text: text} }
	call := llm.Part{Kind: llm.KindCall, Call: &llm.ToolCall{ID: "a", Name: "calc", Arguments: "{}"}}
	for _, test := range []struct {
		name   string
		chunks []string
		parts  []llm.Part
		finish llm.Finish
	}{
		{"content null", []string{`{"choices":[{"delta":{"content":null,"role":"assistant"},"finish_reason":"stop"}]}`}, nil, llm.FinishStop},
		{
			"content in parts",
			[]string{`{"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"x"},"b",{"text":{"value":1}},7]},"finish_reason":"stop"}]}`},
			[]llm.Part{part(llm.KindText, "ab")},
			llm.FinishStop,
		},
		{
			"a refusal is the answer",
			[]string{`{"choices":[{"delta":{"refusal":"I won't."},"finish_reason":"stop"}]}`},
			[]llm.Part{part(llm.KindText, "I won't.")},
			llm.FinishStop,
		},
		{
			"reasoning under two names",
			[]string{
				`{"choices":[{"delta":{"reasoning_content":"so","reasoning":"so"}}]}`,
				`{"choices":[{"delta":{"reasoning":" then"}}]}`,
				`{"choices":[{"delta":{"content":"yes"},"finish_reason":"stop"}]}`,
			},
			[]llm.Part{thought("so then"), part(llm.KindText, "yes")},
			llm.FinishStop,
		},
		{
			"the old form of a call",
			[]string{
				`{"choices":[{"delta":{"function_call":{"name":"calc","arguments":"{"}}}]}`,
				`{"choices":[{"delta":{"function_call":{"arguments":"}"}},"finish_reason":"function_call"}]}`,
			},
			[]llm.Part{{Kind: llm.KindCall, Call: &llm.ToolCall{Name: "calc", Arguments: "{}"}}},
			llm.FinishCalls,
		},
		{
			"calls although it says stop",
			[]string{`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"calc","arguments":"{}"}}]},"finish_reason":"stop"}]}`},
			[]llm.Part{call},
			llm.FinishCalls,
		},
		{
			"no calls although it says so",
			[]string{`{"choices":[{"delta":{"content":"hi"},"finish_reason":"tool_calls"}]}`},
			[]llm.Part{part(llm.KindText, "hi")},
			llm.FinishStop,
		},
		{
			"the filter",
			[]string{`{"choices":[{"delta":{"content":"hi"},"finish_reason":"content_filter"}]}`},
			[]llm.Part{part(llm.KindText, "hi")},
			llm.FinishFilter,
		},
		{
			"other choices",
			[]string{`{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"yes"},"finish_reason":"stop"},null]}`},
			[]llm.Part{part(llm.KindText, "yes")},
			llm.FinishStop,
		},
		{
			"the whole message once more",
			[]string{
				`{"choices":[{"delta":{"content":"Hel"}}]}`, `{"choices":[{"delta":{"content":"lo"}}]}`,
				`{"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]}`,
			},
			[]llm.Part{part(llm.KindText, "Hello")},
			llm.FinishStop,
		},
		{
			"half letters",
			[]string{
				"{\"choices\":[{\"delta\":{\"content\":\"\xe7\x95\"}}]}", "{\"choices\":[{\"delta\":{\"content\":\"\x8c\\ud83d\"}}]}",
				`{"choices":[{"delta":{"content":"\ude00"},"finish_reason":"stop"}]}`,
			},
			[]llm.Part{part(llm.KindText, "界😀")},
			llm.FinishStop,
		},
		{
			"a letter that is never completed",
			[]string{"{\"choices\":[{\"delta\":{\"content\":\"a\xe7\x95\"},\"finish_reason\":\"stop\"}]}"},
			[]llm.Part{part(llm.KindText, "a\uFFFD\uFFFD")},
			llm.FinishStop,
		},
		{
			"unknown members and values of other types",
			[]string{`{"x":[{}],"choices":[{"logprobs":null,"delta":{"audio":{"id":"1"},"content":"hi"},"finish_reason":"stop"}],"service_tier":null,"id":null,"model":5}`},
			[]llm.Part{part(llm.KindText, "hi")},
			llm.FinishStop,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := &reply{}
			for _, c := range test.chunks {
				if err := r.chunk([]byte(c)); err != nil {
					t.Fatalf("%s: %v", c, err)
				}
			}
			got := r.done(llm.Target{})
			if diff := cmp.Diff(test.parts, got.Message.Parts); diff != "" || got.Finish != test.finish {
				t.Errorf("finish %q, want %q (-want +got):\n%s", got.Finish, test.finish, diff)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	r := &reply{}
	for _, c := range []string{
		`{"id":"x1","model":"gpt-x","choices":[{"delta":{"content":"a"}}],"usage":null}`,
		`{"id":"x2","model":"other","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":64,"cache_write_tokens":20,"audio_tokens":null},"completion_tokens_details":{"reasoning_tokens":3}}}`,
	} {
		if err := r.chunk([]byte(c)); err != nil {
			t.Fatal(err)
		}
	}
	got := r.done(llm.Target{Provider: "p"})
	want := llm.Usage{Input: 100, Cached: 64, CacheWrite: 20, Output: 7, Reasoning: 3}
	if got.Usage != want || got.ID != "x1" || got.Model != "gpt-x" || got.Target.Provider != "p" {
		t.Errorf("%+v", got)
	}
}

func TestUsageOfOtherServers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		usages []string
		want   llm.Usage
	}{
		{"DeepSeek's", []string{`{"prompt_tokens":5,"completion_tokens":1,"prompt_cache_hit_tokens":4}`}, llm.Usage{Input: 5, Cached: 4, Output: 1}},
		{
			"xAI's, and nothing behind it",
			[]string{`{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":94}}`, `{}`},
			llm.Usage{Input: 32, Output: 103, Reasoning: 94},
		},
		{
			"xAI's, told again without details",
			[]string{
				`{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":94}}`,
				`{"prompt_tokens":32,"completion_tokens":10,"total_tokens":136}`,
			},
			llm.Usage{Input: 32, Output: 104, Reasoning: 94},
		},
		{
			"told again without details",
			[]string{
				`{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":64,"cache_write_tokens":20},"completion_tokens_details":{"reasoning_tokens":3}}`,
				`{"prompt_tokens":100,"completion_tokens":9,"prompt_tokens_details":null}`,
			},
			llm.Usage{Input: 100, Cached: 64, CacheWrite: 20, Output: 9, Reasoning: 3},
		},
		{
			"corrected",
			[]string{
				`{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":64}}`,
				`{"prompt_tokens":100,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":0}}`,
			},
			llm.Usage{Input: 100, Output: 9},
		},
	} {
		r := &reply{}
		for _, u := range test.usages {
			if err := r.chunk([]byte(`{"choices":[],"usage":` + u + `}`)); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.done(llm.Target{}); got.Usage != test.want {
			t.Errorf("%s: %+v", test.name, got.Usage)
		}
	}
}

func TestFaultsInAStream(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		chunk  string
		class  llm.Class
		status int
	}{
		{`{"error":{"message":"The server had an error","type":"server_error","code":null,"param":null}}`, llm.ClassNetwork, 0},
		{`{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`, llm.ClassOverloaded, 0},
		{`{"error":{"message":"Provider returned error","code":502},"choices":[{"delta":{},"finish_reason":"error"}]}`, llm.ClassNetwork, 502},
		{`{"object":"error","message":"maximum context length is 4096 tokens","type":"BadRequestError","code":400}`, llm.ClassTooLong, 400},
		{`{"error":"something went wrong"}`, llm.ClassUnknown, 0},
		{`{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}`, llm.ClassQuota, 0},
		{`{"type":"error","message":"overloaded"}`, llm.ClassOverloaded, 0},
		{`{"error":{"error":{"message":"Overloaded","type":"overloaded_error"}}}`, llm.ClassOverloaded, 0},
	} {
		var f *fault
		if err := (&reply{}).chunk([]byte(test.chunk)); !errors.As(err, &f) {
			t.Errorf("%s: %v", test.chunk, err)
		} else if e := f.Failure(); e.Class != test.class || e.Status != test.status {
			t.Errorf("%s: %s, status %d (%s)", test.chunk, e.Class, e.Status, e.Message)
		}
	}
	for _, bad := range []string{``, `{`, `[]`, `{"choices":[{"delta":{"content":"a"}}`, `{"choices":[]} x`, `null`} {
		if err := (&reply{}).chunk([]byte(bad)); !errors.Is(err, provider.ErrMalformed) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// Whatever comes, nothing panics, text stays UTF-8, and what was told as it
// came is what the reply holds.
func FuzzReply(f *testing.F) {
	f.Add(`{"choices":[{"delta":{"content":"a","tool_calls":[{"index":0,"id":"a","function":{"name":"n","arguments":"{"}}]}}]}` + "\n" +
		`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]},"finish_reason":"length"}],"usage":{"prompt_tokens":1}}`)
	f.Add(`{"choices":[{"message":{"content":[{"text":"a"}],"function_call":{"name":"x"}},"finish_reason":"stop"}],"error":null}`)
	f.Add(`{"error":{"message":{"a":1},"code":"x"}}`)
	f.Fuzz(func(t *testing.T, in string) {
		r := &reply{}
		var told strings.Builder
		keep := func(e llm.Event, err error) bool {
			if e.Type == llm.EventText {
				told.WriteString(e.Text)
			}
			return true
		}
		for chunk := range strings.SplitSeq(in, "\n") {
			if err := r.chunk([]byte(chunk)); err != nil {
				var fault *fault
				if errors.As(err, &fault) {
					fault.Failure()
				}
				return
			}
			r.tell(keep)
		}
		out := r.done(llm.Target{})
		r.grown = nil
		r.tell(keep)
		if text := out.Message.Text(); !utf8.ValidString(text) || text != told.String() {
			t.Fatalf("told %q, holds %q", told.String(), text)
		}
		for _, c := range out.Message.Calls() {
			if !utf8.ValidString(c.Arguments) {
				t.Fatalf("arguments %q", c.Arguments)
			}
			if !json.Valid([]byte(wire.Arguments(c.Arguments))) {
				t.Fatalf("arguments %q go back as %q", c.Arguments, wire.Arguments(c.Arguments))
			}
		}
	})
}

// Images come in deltas or in a whole message, new ones or all there are so far.
func TestImagesOfAReply(t *testing.T) {
	t.Parallel()
	one, two := "data:image/png;base64,iVBORw0KGgo=", "data:application/x;base64,R0lGODlh"
	list := func(urls ...string) string {
		var parts []string
		for _, u := range urls {
			parts = append(parts, fmt.Sprintf(`{"type":"image_url","image_url":{"url":%q}}`, u))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	for name, test := range map[string]struct {
		deltas []string
		want   string
	}{
		"one":              {[]string{`{"content":"See:"}`, `{"images":` + list(one) + `}`}, "See: image-1.png image/png"},
		"one by one":       {[]string{`{"images":` + list(one) + `}`, `{"images":` + list(two) + `}`}, "image-1.png image/png image-2.gif image/gif"},
		"all so far":       {[]string{`{"images":` + list(one) + `}`, `{"images":` + list(one, two) + `}`}, "image-1.png image/png image-2.gif image/gif"},
		"an address":       {[]string{`{"images":` + list("https://x.example/a.png") + `}`}, "https://x.example/a.png"},
		"no image":         {[]string{`{"content":"See:","images":` + list("data:image/png;base64,PGh0bWw+", "data:image/png,x", "data:image/png;base64,?") + `}`}, "See:"},
		"another form":     {[]string{`{"content":"See:","images":["x"]}`, `{"images":null}`, `{"images":{}}`}, "See:"},
		"beside a call":    {[]string{`{"images":` + list(one) + `,"tool_calls":[{"index":0,"id":"a","function":{"name":"calc","arguments":"{}"}}]}`}, "image-1.png image/png calc"},
		"and nothing else": {[]string{`{}`}, ""},
	} {
		r := &reply{}
		for _, d := range append(test.deltas, `{}`) {
			if err := r.chunk([]byte(`{"choices":[{"index":0,"delta":` + d + `}]}`)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		var got []string
		for _, p := range r.done(llm.Target{}).Message.Parts {
			switch p.Kind {
			case llm.KindText:
				got = append(got, strings.TrimSpace(p.Text))
			case llm.KindMedia:
				got = append(got, p.Media.Name, p.Media.MIME)
			case llm.KindCall:
				got = append(got, p.Call.Name)
			}
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%s: %q, want %q", name, s, test.want)
		}
	}
	whole := &reply{}
	if err := whole.chunk([]byte(`{"choices":[{"message":{"content":"See:","images":` + list(one) + `},"finish_reason":"stop"}]}`)); err != nil {
		t.Fatal(err)
	}
	if parts := whole.done(llm.Target{}).Message.Parts; len(parts) != 2 || parts[1].Kind != llm.KindMedia {
		t.Errorf("of a whole message: %+v", parts)
	}
}
