package fakellm

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// tell sends a request to Anthropic's wire and returns the answer's body.
func tell(t *testing.T, method, url, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Anthropic-Version", "2026-10-21")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

const claudeStream = `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`

func TestMessagesStreams(t *testing.T) {
	t.Parallel()
	s := Start(t,
		Answer{Reasoning: "Hm", Text: "Hi 界", Pieces: 4, Calls: []Call{Use("calc", `{"e":1}`)}, Usage: &Usage{Input: 9, Cached: 4, CacheWrite: 2, Output: 5, Reasoning: 1}},
		Answer{Deltas: []json.RawMessage{
			[]byte(`{"event":"content_block_start","content_block":{"type":"text","text":""}}`), []byte(`{"event":"content_block_delta","delta":{"text":"x"}}`),
			[]byte(`{"event":"content_block_start","content_block":{"type":"text","text":""}}`), []byte(`{"event":"content_block_delta","index":0,"delta":{"text":"y"}}`),
		}},
		Answer{Text: "Hi", Finish: "none"})
	for i, want := range [][]string{
		{
			"event: message_start\ndata: {", `"input_tokens":3`, `"cache_read_input_tokens":4`, `"cache_creation_input_tokens":2`, `{"signature":"signature-1","type":"signature_delta"}`,
			`"content_block":{"id":"call-1_0","input":{},"name":"calc","type":"tool_use"},"index":2`, `"partial_json":"{\"e\""`, `"partial_json":":1}"`,
			`"stop_reason":"tool_use"`, `"thinking_tokens":1`, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		},
		{`"delta":{"text":"x"},"index":0`, `"index":1,"type":"content_block_start"`, `"delta":{"text":"y"},"index":0`, "event: message_stop"},
		{`"text":"Hi"`, "event: message_stop"},
	} {
		_, got := tell(t, http.MethodPost, s.URL+"/v1/messages", claudeStream)
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("answer %d: %s\nlacks %s", i, got, part)
			}
		}
		if i == 2 && strings.Contains(got, "message_delta") {
			t.Errorf("a reason where none was wanted: %s", got)
		}
	}
}

func TestMessagesDocuments(t *testing.T) {
	t.Parallel()
	s := Start(t, Answer{Text: "Hi", Finish: "length"}, Answer{Calls: []Call{Use("calc", `{"e":1}`)}, Whole: true}, Answer{Text: "No.", Finish: "filter", Whole: true})
	for body, want := range map[string]string{
		strings.Replace(claudeStream, `"stream":true,`, "", 1): `"content":[{"text":"Hi","type":"text"}],"id":"msg-1","model":"m","role":"assistant","stop_reason":"max_tokens"`,
	} {
		if _, got := tell(t, http.MethodPost, s.URL+"/v1/messages", body); !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	for _, want := range []string{`"input":{"e":1}`, `"stop_reason":"refusal"`} {
		if _, got := tell(t, http.MethodPost, s.URL+"/v1/messages", claudeStream); !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
}

// One server speaks several wires: a list of models is Anthropic's when the
// client names a version.
func TestModelsOfTwoWires(t *testing.T) {
	t.Parallel()
	s := StartScript(t, Script{Models: []string{"a", "b"}})
	if _, got := tell(t, http.MethodGet, s.URL+"/v1/models", ""); !strings.Contains(got, `"first_id":"a","has_more":false,"last_id":"b"`) {
		t.Error(got)
	}
	resp, err := http.Get(s.URL + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(got), `"object":"list"`) {
		t.Errorf("%s %v", got, err)
	}
}

func TestHeadersOfMessages(t *testing.T) {
	t.Parallel()
	r := Request{Header: http.Header{}, Body: []byte(claudeStream)}
	if err := (messages{}).check(r); err == nil || !strings.Contains(err.Error(), "no anthropic-version") {
		t.Error(err)
	}
	r.Header.Set("Anthropic-Version", "2026-10-21")
	if err := (messages{}).check(r); err != nil {
		t.Error(err)
	}
	r.Body = []byte(strings.Replace(claudeStream, `"max_tokens"`, `"temperature":0.5,"max_tokens"`, 1))
	if err := (messages{}).check(r); err == nil || !strings.Contains(err.Error(), "takes no temperature") {
		t.Error(err)
	}
	r.Header.Set("Anthropic-Version", "2023-06-01")
	if err := (messages{}).check(r); err != nil {
		t.Error(err)
	}
}

func TestCheckMessages(t *testing.T) {
	t.Parallel()
	const (
		text    = `{"type":"text","text":"hi"}`
		marked  = `{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}`
		useA    = `{"type":"tool_use","id":"a","name":"calc","input":{}}`
		useB    = `{"type":"tool_use","id":"b","name":"calc","input":{"e":1}}`
		resultA = `{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"1"}]}`
		resultB = `{"type":"tool_result","tool_use_id":"b","is_error":true,"content":[{"type":"text","text":"2"}]}`
		think   = `{"type":"thinking","thinking":"","signature":"s"}`
		hidden  = `{"type":"redacted_thinking","data":"d"}`
		picture = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw=="}}`
		tool    = `{"name":"calc","input_schema":{"type":"object"}}`
	)
	user := func(blocks ...string) string {
		return fmt.Sprintf(`{"role":"user","content":[%s]}`, strings.Join(blocks, ","))
	}
	model := func(blocks ...string) string {
		return fmt.Sprintf(`{"role":"assistant","content":[%s]}`, strings.Join(blocks, ","))
	}
	with := func(settings string, list ...string) string {
		return fmt.Sprintf(`{"model":"m","max_tokens":2000,%s"messages":[%s]}`, settings, strings.Join(list, ","))
	}
	tools := func(list ...string) string { return with(`"tools":[`+tool+`],`, list...) }
	for _, test := range []struct{ name, body, want string }{
		{"text", with(`"system":[`+text+`],`, user(text), model(text), user(text, picture)), ""},
		{"calls", tools(user(text), model(think, text, useA, hidden, useB), user(resultB, resultA, text)), ""},
		{"a picture in a result", tools(user(text), model(useA), user(strings.Replace(resultA, `"content":[`, `"content":[`+picture+`,`, 1))), ""},
		{"a file", with("", user(strings.NewReplacer("image/png", "application/pdf", `"image"`, `"document"`).Replace(picture))), ""},
		{"four marks", with(`"system":[`+marked+`,`+marked+`],`, user(marked), model(text), user(marked)), ""},
		{"settings", with(`"stream":true,"temperature":1,"output_config":{"effort":"low"},"thinking":{"type":"disabled"},`, user(text)), ""},
		{"a budget", with(`"thinking":{"type":"enabled","budget_tokens":1024,"display":"omitted","block_binding":{"prefix_mismatch_behavior":"error"}},`, user(text)), ""},
		{"tools forbidden", with(`"tool_choice":{"type":"none"},"tools":[`+tool+`],`, user(text)), ""},

		{"no JSON", `{"model"`, "none of the API's"},
		{"an unknown setting", with(`"top_p":1,`, user(text)), "unknown field"},
		{"a member twice", with(`"model":"m",`, user(text)), `"model" is there twice`},
		{"no model", `{"max_tokens":1,"messages":[` + user(text) + `]}`, "no model"},
		{"no limit", `{"model":"m","messages":[` + user(text) + `]}`, "no max_tokens"},
		{"no messages", with(""), "no messages"},
		{"words for a text", with(`"system":"x",`, user(text)), "none of the API's"},
		{"an empty text", with("", user(`{"type":"text","text":" \n"}`)), "text is empty"},
		{"an empty system text", with(`"system":[{"type":"text","text":""}],`, user(text)), "system text 0"},
		{"no content", with("", user()), "no content"},
		{"the model first", with("", model(text)), `of role "assistant", want user`},
		{"a person twice", with("", user(text), user(text)), `of role "user", want assistant`},
		{"the model last", with("", user(text), model(text)), "last message is the model's"},
		{"a result that nobody waits for", tools(user(resultA)), "no call waits for"},
		{"no result", tools(user(text), model(useA), user(text)), "no result for call a"},
		{"one result of two", tools(user(text), model(useA, useB), user(resultA)), "no result for call b"},
		{"a result twice", tools(user(text), model(useA), user(resultA, resultA)), "no call waits for"},
		{"a result behind words", tools(user(text), model(useA), user(text, resultA)), "no result for call a"},
		{"a result behind another's words", tools(user(text), model(useA, useB), user(resultA, text, resultB)), "no result for call b"},
		{
			"a failure with an image",
			tools(user(text), model(useA), user(`{"type":"tool_result","tool_use_id":"a","is_error":true,"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"eA=="}}]}`)),
			"all content must be type `text`",
		},
		{"an empty result", tools(user(text), model(useA), user(`{"type":"tool_result","tool_use_id":"a","content":[]}`)), "result of a is empty"},
		{"a result of nothing", tools(user(text), model(useA), user(strings.Replace(resultA, `"text":"1"`, `"text":""`, 1))), "text is empty"},
		{"calls without tools", with("", user(text), model(useA), user(resultA)), "no tools are defined"},
		{"an id twice", tools(user(text), model(useA, useA), user(resultA, resultA)), `"a" is there twice`},
		{"an id of other letters", tools(user(text), model(strings.Replace(useA, `"a"`, `"a b"`, 1)), user(resultA)), "does not match"},
		{"a name of other letters", tools(user(text), model(strings.Replace(useA, `calc`, `a.b`, 1)), user(resultA)), `the name "a.b"`},
		{"input that is no object", tools(user(text), model(strings.Replace(useA, `{}`, `"{}"`, 1)), user(resultA)), "no object"},
		{"no input", tools(user(text), model(strings.Replace(useA, `,"input":{}`, ``, 1)), user(resultA)), "no object"},
		{"thinking without a signature", with("", user(text), model(`{"type":"thinking","thinking":"x"}`, text), user(text)), "signature"},
		{"thinking without its text", with("", user(text), model(`{"type":"thinking","signature":"x"}`, text), user(text)), "its text"},
		{"hidden thinking without data", with("", user(text), model(`{"type":"redacted_thinking"}`, text), user(text)), "without data"},
		{"thinking last", with("", user(text), model(text, think), user(text)), "last block is thinking"},
		{"thinking marked", with("", user(text), model(strings.Replace(think, `{`, `{"cache_control":{"type":"ephemeral"},`, 1), text), user(text)), "marked for the cache"},
		{"a person's thinking", with("", user(think)), "in a message of role user"},
		{"a model's picture", with("", user(text), model(picture), user(text)), "in a message of role assistant"},
		{"a picture of another type", with("", user(strings.Replace(picture, "png", "bmp", 1))), "source of the image"},
		{"a picture of nothing", with("", user(`{"type":"image"}`)), "source of the image"},
		{"an unknown block", with("", user(`{"type":"audio"}`)), `type "audio"`},
		{"five marks", with(`"system":[`+marked+`,`+marked+`],`, user(marked, marked), model(text), user(marked)), "5 blocks are marked"},
		{"an unknown mark", with("", user(strings.Replace(marked, "ephemeral", "eternal", 1))), "cache_control is"},
		{"a choice without tools", with(`"tool_choice":{"type":"none"},`, user(text)), "tool_choice without tools"},
		{"a forced call", with(`"tool_choice":{"type":"any"},"tools":[`+tool+`],`, user(text)), `tool_choice is "any"`},
		{"a tool twice", with(`"tools":[`+tool+`,`+tool+`],`, user(text)), "there twice"},
		{"a tool with a bad name", with(`"tools":[`+strings.Replace(tool, "calc", "a b", 1)+`],`, user(text)), "does not match"},
		{"a tool without a schema", with(`"tools":[{"name":"calc"}],`, user(text)), "input_schema is no object's"},
		{"anyOf at the top", with(`"tools":[`+strings.Replace(tool, `"type":"object"`, `"type":"object","anyOf":[]`, 1)+`],`, user(text)), "anyOf at the top"},
		{"too warm", with(`"temperature":1.1,`, user(text)), "temperature is 1.1"},
		{"warm thinking", with(`"temperature":1,"thinking":{"type":"adaptive"},`, user(text)), "beside thinking"},
		{"an unknown effort", with(`"output_config":{"effort":"none"},`, user(text)), `effort is "none"`},
		{"unknown thinking", with(`"thinking":{"type":"deep"},`, user(text)), `thinking is "deep"`},
		{"no budget", with(`"thinking":{"type":"enabled"},`, user(text)), "has the budget 0"},
		{"a needless budget", with(`"thinking":{"type":"adaptive","budget_tokens":2000},`, user(text)), "has the budget 2000"},
		{"a small budget", with(`"thinking":{"type":"enabled","budget_tokens":1000},`, user(text)), "1000 of 2000"},
		{"a budget beyond the limit", with(`"thinking":{"type":"enabled","budget_tokens":2000},`, user(text)), "2000 of 2000"},
		{"thinking off with a setting", with(`"thinking":{"type":"disabled","display":"omitted"},`, user(text)), "no other setting"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := CheckMessages([]byte(test.body))
			switch {
			case test.want == "" && err != nil:
				t.Errorf("refused: %v\n%s", err, test.body)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}
