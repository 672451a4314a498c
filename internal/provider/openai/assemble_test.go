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
