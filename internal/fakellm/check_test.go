package fakellm

import (
	"fmt"
	"strings"
	"testing"
)

const (
	userMessage = `{"role":"user","content":"hi"}`
	oneCall     = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"calc","arguments":"{}"}}]}`
	twoCalls    = `{"role":"assistant","content":"so","tool_calls":[{"id":"a","type":"function","function":{"name":"calc","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"calc","arguments":"{\"e\":1}"}}]}`
	resultA     = `{"role":"tool","tool_call_id":"a","content":"1"}`
	resultB     = `{"role":"tool","tool_call_id":"b","content":"2"}`
)

func request(messages ...string) string {
	return fmt.Sprintf(`{"model":"m","messages":[%s]}`, strings.Join(messages, ","))
}

func withTool(tool string) string {
	return fmt.Sprintf(`{"model":"m","messages":[%s],"tools":[%s]}`, userMessage, tool)
}

func tool(name, parameters string) string {
	return fmt.Sprintf(`{"type":"function","function":{"name":%q,"description":"d","parameters":%s}}`, name, parameters)
}

const good = `{"type":"object","properties":{"a":{"type":"array","items":{}}}}`

func TestCheckRequest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, body, want string }{
		{"text", request(`{"role":"system","content":"s"}`, userMessage, `{"role":"assistant","content":"hello"}`, userMessage), ""},
		{"a call", request(userMessage, oneCall, resultA), ""},
		{"two calls", request(userMessage, twoCalls, resultA, resultB, userMessage), ""},
		{"a file", request(`{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}}]}`), ""},
		{"a file without a name", request(`{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERi0="}}]}`), "has nothing"},
		{"an image", request(`{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:x"}}]}`), ""},
		{"a tool", withTool(tool("calc", good)), ""},
		{"tools forbidden", strings.Replace(withTool(tool("calc", good)), `"tools"`, `"tool_choice":"none","tools"`, 1), ""},

		{"no JSON", `{"model"`, "not JSON"},
		{"a member twice", `{"model":"m","model":"m","messages":[` + userMessage + `]}`, `"model" is there twice`},
		{"no model", `{"messages":[` + userMessage + `]}`, "no model"},
		{"no messages", request(), "no messages"},
		{"a choice without tools", `{"model":"m","messages":[` + userMessage + `],"tool_choice":"none"}`, "without tools"},
		{"an unknown role", request(`{"role":"robot","content":"x"}`), `role is "robot"`},
		{"an unknown member", request(`{"role":"user","content":"x","time":1}`), "unknown field"},
		{"empty words", request(`{"role":"user","content":" "}`), "content is empty"},
		{"no words", request(`{"role":"user"}`), "neither text nor parts"},
		{"an empty answer", request(userMessage, `{"role":"assistant","content":""}`), "content is empty"},
		{"an answer of nothing", request(userMessage, `{"role":"assistant","content":null}`), "content is empty"},
		{"an empty part", request(`{"role":"user","content":[{"type":"text","text":""}]}`), "has nothing"},
		{"no parts", request(`{"role":"user","content":[]}`), "empty list"},
		{"no result", request(userMessage, oneCall), "no result for call a"},
		{"one result of two", request(userMessage, twoCalls, resultA, userMessage), "before the result of call b"},
		{"results in the wrong order", request(userMessage, twoCalls, resultB, resultA), `where that of "a" belongs`},
		{"a result too many", request(userMessage, oneCall, resultA, resultA), "no call waits for"},
		{"a result first", request(resultA), "no call waits for"},
		{"an empty result", request(userMessage, oneCall, `{"role":"tool","tool_call_id":"a","content":""}`), "content is empty"},
		{"an id twice in one answer", request(userMessage, strings.ReplaceAll(twoCalls, `"b"`, `"a"`), resultA, resultA), `"a" is there twice`},
		{"an id twice in two answers", request(userMessage, oneCall, resultA, oneCall, resultA), `"a" is there twice`},
		{"no id", request(userMessage, strings.Replace(oneCall, `"a"`, `""`, 1), resultA), "no id"},
		{"a long id", request(userMessage, strings.Replace(oneCall, `"a"`, `"`+strings.Repeat("x", 41)+`"`, 1), resultA), "more than 40"},
		{"a bad name", request(userMessage, strings.Replace(oneCall, `calc`, `a.b`, 1), resultA), `the name "a.b"`},
		{"arguments that are no object", request(userMessage, strings.Replace(oneCall, `"{}"`, `"[1]"`, 1), resultA), "no object"},
		{"broken arguments", request(userMessage, strings.Replace(oneCall, `"{}"`, `"{"`, 1), resultA), "no object"},
		{"null for arguments", request(userMessage, strings.Replace(oneCall, `"{}"`, `"null"`, 1), resultA), "no object"},
		{"a call of another type", request(userMessage, strings.Replace(oneCall, `"function",`, `"custom",`, 1), resultA), `type of call a is "custom"`},
		{"a tool of another type", withTool(`{"type":"x","function":{}}`), `type is "x"`},
		{"a tool with a bad name", withTool(tool("a b", good)), "does not match"},
		{"a tool twice", withTool(tool("a", good) + "," + tool("a", good)), "there twice"},
		{"no parameters", withTool(tool("a", `null`)), "type of parameters"},
		{"parameters of another type", withTool(tool("a", `{"type":"string"}`)), "type of parameters"},
		{"no properties", withTool(tool("a", `{"type":"object"}`)), "no properties"},
		{"anyOf at the top", withTool(tool("a", `{"type":"object","properties":{},"anyOf":[]}`)), "anyOf at the top"},
		{"an array without items", withTool(tool("a", `{"type":"object","properties":{"a":{"anyOf":[{"type":"array"}]}}}`)), "without items"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := CheckRequest([]byte(test.body))
			switch {
			case test.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}
