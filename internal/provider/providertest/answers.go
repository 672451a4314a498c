package providertest

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// call is a call as a person would compare it: vendors without ids have none,
// and arguments are what they mean.
type call struct {
	name string
	args string
	cut  bool
}

func answers(t *testing.T, v Vendor) {
	full := &fakellm.Usage{Input: 100, Cached: 60, Output: 7, Reasoning: 3}
	for _, test := range []struct {
		name   string
		answer fakellm.Answer
		calls  []call
		finish llm.Finish
	}{
		{"text", fakellm.Answer{Text: "Hello 界, how are you?", Pieces: 4}, nil, llm.FinishStop},
		{"reasoning", fakellm.Answer{Reasoning: "Look first.", Text: "Hello.", Pieces: 3}, nil, llm.FinishStop},
		{"usage with cached tokens", fakellm.Answer{Reasoning: "hm", Text: "Hello", Usage: full}, nil, llm.FinishStop},
		{"one call", fakellm.Calls(fakellm.Use("file_read", `{"path":"a.txt"}`)), []call{{"file_read", `{"path":"a.txt"}`, false}}, llm.FinishCalls},
		{
			"calls side by side, behind text and reasoning",
			fakellm.Answer{
				Reasoning: "Both.", Text: "Let me see.", Pieces: 5,
				Calls: []fakellm.Call{fakellm.Use("file_read", `{"from":2,"path":"ä 界.txt"}`), fakellm.Use("file_read", `{"path":"b"}`), fakellm.Use("datetime", `{"zone":"UTC"}`)},
			},
			[]call{{"file_read", `{"from":2,"path":"ä 界.txt"}`, false}, {"file_read", `{"path":"b"}`, false}, {"datetime", `{"zone":"UTC"}`, false}},
			llm.FinishCalls,
		},
		{"a call without arguments", fakellm.Calls(fakellm.Use("datetime", `{}`)), []call{{"datetime", `{}`, false}}, llm.FinishCalls},
		{"a tool that there isn't", fakellm.Calls(fakellm.Use("no_such_tool", `{}`)), []call{{"no_such_tool", `{}`, false}}, llm.FinishCalls},
		{"cut by the limit", fakellm.Answer{Text: "Hel", Finish: "length"}, nil, llm.FinishLength},
		{"withheld", fakellm.Answer{Text: "Hel", Finish: "filter"}, nil, llm.FinishFilter},
		{"a whole document for a stream", fakellm.Answer{Whole: true, Text: "Hello", Calls: []fakellm.Call{fakellm.Use("datetime", `{}`)}, Usage: full}, []call{{"datetime", `{}`, false}}, llm.FinishCalls},
		{"nothing", fakellm.Answer{}, nil, llm.FinishStop},
	} {
		if test.finish == llm.FinishFilter && !v.has(Filter) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := ask(t.Context(), v.at(fakellm.Start(t, test.answer), provider.Limits{}), v.request())
			if got.err != nil || got.reply == nil {
				t.Fatalf("no reply: %v", got.err)
			}
			a := test.answer
			if got.text != a.Text || got.reply.Message.Text() != a.Text || got.reasoning != a.Reasoning {
				t.Errorf("streamed %q and %q, holds %q", got.text, got.reasoning, got.reply.Message.Text())
			}
			if c := callsOf(t, got.reply); !reflect.DeepEqual(c, test.calls) || got.reply.Finish != test.finish {
				t.Errorf("calls %+v, finish %s", c, got.reply.Finish)
			}
			if a.Usage != nil {
				v.usage(t, *a.Usage, got.reply.Usage)
			}
		})
	}
}

// usage holds what is counted against what the server told, as far as the
// vendor's wire can say it.
func (v Vendor) usage(t *testing.T, want fakellm.Usage, got llm.Usage) {
	t.Helper()
	all := llm.Usage{Input: int64(want.Input), Output: int64(want.Output)}
	if v.has(Shares) {
		all.Cached, all.Reasoning = int64(want.Cached), int64(want.Reasoning)
	}
	if got != all {
		t.Errorf("%+v, want %+v", got, all)
	}
}

func callsOf(t *testing.T, r *llm.Reply) (list []call) {
	t.Helper()
	for _, c := range r.Message.Calls() {
		args := c.Arguments
		var v any
		if !c.Cut && json.Unmarshal([]byte(args), &v) == nil {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			args = string(b)
		}
		list = append(list, call{c.Name, args, c.Cut})
	}
	return list
}
