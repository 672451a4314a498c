package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/llm"
)

// What a client brings is refused by the place where it is wrong.
func TestWhatClientsCantBring(t *testing.T) {
	t.Parallel()
	function := func(f string) string { return `"tools":[{"type":"function","function":` + f + `}]` }
	many := strings.TrimSuffix(strings.Repeat(`{"type":"function","function":{"name":"f"}},`, maxTools+1), ",")
	for rest, at := range map[string]string{
		`"tools":[{"type":"function"}]`:                                                                     "tools[0].function.name",
		`"tools":[{"type":"custom","custom":{"name":"f"}}]`:                                                 "tools[0].type",
		`"tools":[` + many + `]`:                                                                            "tools",
		function(`{"name":"two words"}`):                                                                    "tools[0].function.name",
		function(fmt.Sprintf(`{"name":%q}`, strings.Repeat("x", 65))):                                       "tools[0].function.name",
		function(fmt.Sprintf(`{"name":"f","description":%q}`, strings.Repeat("x", 40<<10))):                 "tools[0].function.description",
		function(`{"name":"f","parameters":[]}`):                                                            "tools[0].function.parameters",
		function(`{"name":"f","parameters":{"type":"array"}}`):                                              "tools[0].function.parameters",
		function(`{"name":"f","parameters":{"type":"object","properties":7}}`):                              "tools[0].function.parameters",
		`"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"f"}}]`: "tools[1].function.name",
		`"tool_choice":"required"`:                                                                          "tool_choice",
		`"tool_choice":"any"`:                                                                               "tool_choice",
		`"tool_choice":7`:                                                                                   "tool_choice",
		`"tool_choice":{"type":"function","function":{"name":"f"}}`:                                         "tool_choice.function.name",
		function(`{"name":"f"}`) + `,"tool_choice":{"type":"function","function":{"name":"g"}}`:             "tool_choice.function.name",
		function(`{"name":"f"}`) + `,"tool_choice":{"type":"allowed_tools"}`:                                "tool_choice",
	} {
		body := `{"messages":[{"role":"user","content":"hi"}],` + rest + `}`
		var q ChatRequest
		if err := json.Unmarshal([]byte(body), &q); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if _, p := q.read(); p == nil || p.Status != 400 || p.param != at || !strings.HasPrefix(p.Detail, at+": ") {
			t.Errorf("%.200s: %+v, want %s", rest, p, at)
		}
	}
}

func TestResultsAreReadFromMessages(t *testing.T) {
	t.Parallel()
	const (
		hi     = `{"role":"user","content":"hi"}`
		call   = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"getIt","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"9x","arguments":"{}"}}]}`
		a      = `{"role":"tool","tool_call_id":"a","content":"A"}`
		b      = `{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"B"}]}`
		two    = `{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"B"},{"type":"text","text":" "},{"type":"text","text":"C\n"},{"type":"text","text":"D"}]}`
		answer = `{"role":"assistant","content":"so"}`
	)
	for _, c := range []struct {
		messages []string
		want     string // before, then results, then said; or the place that is wrong
	}{
		{[]string{hi, call, a, b}, "user hi|assistant call_0_0:getit call_0_1:t_9x|> a b > "},
		{[]string{hi, call, b, a, hi}, "user hi|assistant call_0_0:getit call_0_1:t_9x|> b a > hi"},
		{[]string{hi, call, a, b, answer, hi}, "user hi|assistant call_0_0:getit call_0_1:t_9x|user call_0_0=A call_0_1=B|assistant so|>  > hi"},
		{[]string{hi, call, a, two, answer, hi}, "user hi|assistant call_0_0:getit call_0_1:t_9x|user call_0_0=A call_0_1=B\nC\nD|assistant so|>  > hi"},
		{[]string{hi, call, hi}, "user hi|assistant call_0_0:getit call_0_1:t_9x|>  > hi"},
		{[]string{hi, call, a, b, call, a, b}, "user hi|assistant call_0_0:getit call_0_1:t_9x|user call_0_0=A call_0_1=B|assistant call_0_2:getit call_0_3:t_9x|> a b > "},
		{[]string{a}, "> a > "},
		{[]string{hi, call, a}, "messages[1].tool_calls[1].id"},
		{[]string{hi, call, a, hi}, "messages[1].tool_calls[1].id"},
		{[]string{hi, call, a, answer, hi}, "messages[1].tool_calls[1].id"},
		{[]string{hi, call, a, a, b}, "messages[3].tool_call_id"},
		{[]string{hi, a}, "messages[1].tool_call_id"},
		{[]string{hi, call, hi, a}, "messages[3].tool_call_id"},
		{[]string{a, answer, hi}, "messages[0].tool_call_id"},
		{[]string{hi, call, `{"role":"tool","content":"A"}`}, "messages[2].tool_call_id"},
		{[]string{hi, call, `{"role":"tool","tool_call_id":"c","content":"A"}`}, "messages[2].tool_call_id"},
		{[]string{hi, call, `{"role":"tool","tool_call_id":"a","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}`}, "messages[2].content"},
		{[]string{hi, `{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":""}}]}`}, "messages[1].tool_calls[0].id"},
		{[]string{hi, `{"role":"assistant","tool_calls":[{"id":"a","function":{"arguments":""}}]}`}, "messages[1].tool_calls[0].function.name"},
		{[]string{hi, `{"role":"assistant","tool_calls":[{"id":"a","type":"custom","function":{"name":"f","arguments":""}}]}`}, "messages[1].tool_calls[0].type"},
		{[]string{hi, `{"role":"user","content":"x","tool_calls":[{"id":"a","function":{"name":"f","arguments":""}}]}`}, "messages[1].tool_calls"},
	} {
		var q ChatRequest
		if err := json.Unmarshal([]byte(`{"messages":[`+strings.Join(c.messages, ",")+`]}`), &q); err != nil {
			t.Fatal(err)
		}
		talk, p := q.read()
		if p != nil {
			if p.Status != 400 || p.param != c.want {
				t.Errorf("%v: %+v", c.messages, p)
			}
			continue
		}
		var got strings.Builder
		for _, m := range talk.before {
			got.WriteString(string(m.Role))
			for _, part := range m.Parts {
				switch part.Kind {
				case llm.KindCall:
					got.WriteString(" " + part.Call.ID + ":" + part.Call.Name)
				case llm.KindResult:
					got.WriteString(" " + part.Result.CallID + "=" + llm.JoinText(part.Result.Content))
				default:
					got.WriteString(" " + part.Text)
				}
			}
			got.WriteString("|")
		}
		got.WriteString(">")
		for _, r := range talk.results {
			got.WriteString(" " + r.id)
		}
		if len(talk.results) == 0 {
			got.WriteString(" ")
		}
		got.WriteString(" > " + talk.said.Text())
		if got.String() != c.want {
			t.Errorf("%v:\n%s\nwant\n%s", c.messages, got.String(), c.want)
		}
	}
}
