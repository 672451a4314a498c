package openai

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/llm"
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
