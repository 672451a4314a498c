package fakellm

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

const (
	itemUser   = `{"type":"message","role":"user","content":"hi"}`
	itemAnswer = `{"type":"message","role":"assistant","content":"hello","phase":"final_answer"}`
	itemThink  = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}`
	itemCallA  = `{"type":"function_call","call_id":"a","name":"calc","arguments":"{}"}`
	itemCallB  = `{"type":"function_call","call_id":"b","name":"calc","arguments":"{}"}`
	itemOutA   = `{"type":"function_call_output","call_id":"a","output":"1"}`
	itemOutB   = `{"type":"function_call_output","call_id":"b","output":[{"type":"input_text","text":"2"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,eA=="}]}`
)

func itemRequest(items ...string) string {
	return `{"model":"m","stream":true,"store":false,"include":["reasoning.encrypted_content"],"input":[` + strings.Join(items, ",") + `]}`
}

func with(member, body string) string { return strings.Replace(body, `"input"`, member+`,"input"`, 1) }

func TestCheckResponses(t *testing.T) {
	t.Parallel()
	const calc = `"tools":[{"type":"function","name":"calc","parameters":{"type":"object","properties":{}},"strict":false}]`
	for _, test := range []struct{ name, body, want string }{
		{"text", itemRequest(itemUser, itemAnswer, itemUser), ""},
		{"calls, and what led to them", with(calc, itemRequest(itemUser, itemThink, itemCallA, itemCallB, itemOutA, itemOutB, itemAnswer)), ""},
		{"a file", itemRequest(`{"role":"user","content":[{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,eA=="}]}`), ""},
		{"settings", with(`"reasoning":{"effort":"low","summary":"auto"},"max_output_tokens":16,"temperature":1,"instructions":"s",`+calc+`,"tool_choice":"none"`, itemRequest(itemUser)), ""},

		{"no model", `{"input":[` + itemUser + `]}`, "no model"},
		{"no items", itemRequest(), "no input"},
		{"an unknown member", with(`"messages":[]`, itemRequest(itemUser)), "unknown field"},
		{"a member twice", with(`"store":false`, itemRequest(itemUser)), `"store" is there twice`},
		{"a choice without tools", with(`"tool_choice":"none"`, itemRequest(itemUser)), "without tools"},
		{"another choice", with(calc+`,"tool_choice":"any"`, itemRequest(itemUser)), `tool_choice is "any"`},
		{"too small a limit", with(`"max_output_tokens":5`, itemRequest(itemUser)), "less than 16"},
		{"an effort", with(`"reasoning":{"effort":"much"}`, itemRequest(itemUser)), `effort is "much"`},
		{"a summary", with(`"reasoning":{"summary":"long"}`, itemRequest(itemUser)), `summary is "long"`},
		{"included", strings.Replace(itemRequest(itemUser), "reasoning.encrypted_content", "all", 1), `include has "all"`},
		{"hot", with(`"temperature":3`, itemRequest(itemUser)), "temperature is 3"},
		{"a strict tool", with(strings.Replace(calc, `,"strict":false`, "", 1), itemRequest(itemUser)), "strict"},
		{"a tool of the other API", with(`"tools":[{"type":"function","function":{"name":"calc"}}]`, itemRequest(itemUser)), "unknown field"},
		{"a tool twice", with(strings.Replace(calc, "[{", `[{"type":"function","name":"calc","parameters":{"type":"object","properties":{}},"strict":false},{`, 1), itemRequest(itemUser)), "there twice"},

		{"an item of another kind", itemRequest(`{"type":"web_search_call","id":"ws"}`), "has the member"},
		{"another kind's member", itemRequest(`{"type":"message","role":"user","content":"x","call_id":"a"}`), `has the member "call_id"`},
		{"a role", itemRequest(`{"role":"robot","content":"x"}`), `role is "robot"`},
		{"a person's phase", itemRequest(`{"role":"user","content":"x","phase":"commentary"}`), "phase"},
		{"no words", itemRequest(`{"role":"user","content":" "}`), "content is empty"},
		{"an empty part", itemRequest(`{"role":"user","content":[{"type":"input_text","text":""}]}`), "has nothing"},
		{"a model's parts", itemRequest(`{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`), "neither text nor parts"},
		{"an output without its call", itemRequest(itemUser, itemOutA), "no tool call found for function call output with call_id a"},
		{"a call without its output", itemRequest(itemUser, itemCallA), "no tool output found for function call a"},
		{"a person between", itemRequest(itemCallA, itemUser, itemOutA), "no tool output found for function call a before"},
		{"a call between outputs", itemRequest(itemCallA, itemCallB, itemOutA, `{"type":"function_call","call_id":"c","name":"calc","arguments":"{}"}`), "no tool output found for function call b before"},
		{"outputs in the wrong order", itemRequest(itemCallA, itemCallB, itemOutB, itemOutA), "where that of a belongs"},
		{"a call twice", itemRequest(itemCallA, itemOutA, itemCallA, itemOutA), "there twice"},
		{"arguments", itemRequest(`{"type":"function_call","call_id":"a","name":"calc","arguments":"x"}`), "no object"},
		{"a name", itemRequest(`{"type":"function_call","call_id":"a","name":"a b","arguments":"{}"}`), `has the name "a b"`},
		{"an empty output", itemRequest(itemCallA, `{"type":"function_call_output","call_id":"a","output":""}`), "content is empty"},
		{"reasoning that leads nowhere", itemRequest(itemThink, itemUser), "without its required following item"},
		{"reasoning at the end", itemRequest(itemUser, itemThink), "without its required following item"},
		{"reasoning twice", itemRequest(itemThink, itemAnswer, itemThink, itemAnswer), "duplicate item found"},
		{"reasoning by name alone", itemRequest(`{"type":"reasoning","id":"rs_1","summary":[]}`, itemAnswer), "not persisted"},
		{"reasoning without a summary", itemRequest(`{"type":"reasoning","id":"rs_1","encrypted_content":"x"}`, itemAnswer), "summary"},
		{"reasoning of another name", itemRequest(`{"type":"reasoning","id":"x","summary":[],"encrypted_content":"x"}`, itemAnswer), "begins with 'rs'"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := CheckResponses([]byte(test.body))
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// Both of OpenAI's APIs are at one address.
func TestResponsesStreams(t *testing.T) {
	t.Parallel()
	s := Start(t,
		Answer{Reasoning: "Hm", Text: "Hi 界", Pieces: 4, Calls: []Call{Use("calc", `{"e":1}`)}, Usage: &Usage{Input: 9, Cached: 4, Output: 5, Reasoning: 1}},
		Answer{Text: "Hi", Finish: "length"},
		Answer{Text: "Hi", Whole: true},
	)
	for i, want := range [][]string{
		{
			"event: response.created\ndata: {", `"encrypted_content":"unfinished"`, `"encrypted_content":"sealed-1"`, `"type":"response.reasoning_summary_text.delta"`,
			`"delta":"Hi 界"`, `"call_id":"call-1_0"`, `"delta":"{\"e\""`, `"delta":":1}"`, `"type":"response.function_call_arguments.done"`,
			"event: response.completed", `"cached_tokens":4`, `"reasoning_tokens":1`,
		},
		{"event: response.incomplete", `"reason":"max_output_tokens"`},
		{`{"created_at":`, `"status":"completed"`, `"text":"Hi"`},
	} {
		resp, err := http.Post(s.URL+"/v1/responses", "application/json", strings.NewReader(itemRequest(itemUser)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(string(got), part) {
				t.Errorf("answer %d: %s\nlacks %s", i, got, part)
			}
		}
	}
	if _, got, err := post(t, s.URL, "{}"); err != nil || !strings.Contains(got, "no answer left") {
		t.Errorf("%s, %v", got, err)
	}
	if err := s.Forgive(); err == nil {
		t.Error("a request without an answer was forgotten")
	}
}
