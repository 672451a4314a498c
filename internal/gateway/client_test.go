package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/gateway/api"
	"github.com/goclaw/goclaw/internal/tool"
)

// sdk is OpenAI's own client, which speaks to the gateway.
func (s *served) sdk() openai.ChatCompletionService {
	return openai.NewChatCompletionService(option.WithBaseURL("http://"+s.instance.Address+"/v1"), option.WithAPIKey(s.token), option.WithHTTPClient(s.client), option.WithMaxRetries(0))
}

func weather() openai.ChatCompletionToolUnionParam {
	return openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
		Name: "getWeather", Description: openai.String("Tells the weather at the client's."), Strict: openai.Bool(true),
		Parameters: openai.FunctionParameters{
			"type": "object", "properties": map[string]any{"city": map[string]string{"type": "string"}}, "required": []string{"city"}, "additionalProperties": false,
		},
	})
}

// wire is the transcript that request n to the model held, in short.
func (s *served) wire(n int) string {
	s.t.Helper()
	var body struct {
		Messages []struct {
			Role      string `json:"role"`
			Content   any    `json:"content"`
			ToolCalls []struct {
				Function struct{ Name, Arguments string } `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	all := s.model.Requests()
	if n >= len(all) {
		s.t.Fatalf("the model was asked %d times", len(all))
	}
	if err := json.Unmarshal(all[n].Body, &body); err != nil {
		s.t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range body.Messages {
		if m.Role == "system" {
			continue
		}
		b.WriteString(m.Role)
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, " %s(%s)", c.Function.Name, c.Function.Arguments)
		}
		if text, ok := m.Content.(string); ok && m.Role != "user" {
			b.WriteString(" " + text)
		}
		b.WriteString("|")
	}
	return b.String()
}

// OpenAI's client works as with OpenAI: it gets calls of its own tool beside
// which one of the agent's ran, answers them, and gets the answer; it tells the
// whole conversation, or names a session.
func TestOpenAIsClientBringsTools(t *testing.T) {
	t.Parallel()
	for _, streams := range []bool{false, true} {
		for _, session := range []string{"", "trip"} {
			t.Run(fmt.Sprintf("stream %v session %q", streams, session), func(t *testing.T) {
				t.Parallel()
				s := setup(t, "",
					fakellm.Answer{Text: "Let me see.", Calls: []fakellm.Call{
						fakellm.Use("getweather", `{"city":"Rome"}`), fakellm.Use("calc", `{"expression":"6*7"}`), fakellm.Use("getweather", `{"city":"Oslo"}`),
					}},
					fakellm.Text("Rome is warm."), fakellm.Text("You asked twice.")).serve(gateway.ServeOptions{})
				chat := s.sdk()
				p := openai.ChatCompletionNewParams{
					Model: "goclaw/main", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("How is the weather?")},
					Tools: []openai.ChatCompletionToolUnionParam{weather()},
				}
				ask := func() openai.ChatCompletion {
					t.Helper()
					var with []option.RequestOption
					if session != "" {
						with = append(with, option.WithHeader("X-GoClaw-Session", session))
					}
					if !streams {
						c, err := chat.New(t.Context(), p, with...)
						if err != nil {
							t.Fatal(err)
						}
						return *c
					}
					st := chat.NewStreaming(t.Context(), p, with...)
					acc := openai.ChatCompletionAccumulator{}
					for st.Next() {
						acc.AddChunk(st.Current())
					}
					if err := st.Err(); err != nil {
						t.Fatal(err)
					}
					return acc.ChatCompletion
				}
				c := ask()
				choice := c.Choices[0]
				if choice.FinishReason != "tool_calls" || len(choice.Message.ToolCalls) != 2 || choice.Message.Content != "Let me see." {
					t.Fatalf("got %s", choice.RawJSON())
				}
				p.Messages = append(p.Messages, choice.Message.ToParam())
				for i, want := range []string{`{"city":"Rome"}`, `{"city":"Oslo"}`} {
					call := choice.Message.ToolCalls[i]
					if call.Function.Name != "getWeather" || call.Function.Arguments != want || call.ID == "" {
						t.Errorf("call %d: %+v", i, call)
					}
					p.Messages = append(p.Messages, openai.ToolMessage("sun over "+want, call.ID))
				}
				if c = ask(); c.Choices[0].Message.Content != "Rome is warm." || c.Choices[0].FinishReason != "stop" {
					t.Fatalf("got %+v", c.Choices[0])
				}
				const called = `user|assistant getweather({"city":"Rome"}) calc({"expression":"6*7"}) getweather({"city":"Oslo"}) Let me see.|tool sun over {"city":"Rome"}|tool 42|tool sun over {"city":"Oslo"}|`
				if got := s.wire(1); !strings.HasPrefix(got, called) {
					t.Errorf("the model read %q", got)
				}
				p.Messages = append(p.Messages, c.Choices[0].Message.ToParam(), openai.UserMessage("And how often did I ask?"))
				if c = ask(); c.Choices[0].Message.Content != "You asked twice." {
					t.Fatalf("got %+v", c.Choices[0])
				}
				if got := s.wire(2); session != "" && !strings.HasPrefix(got, called) || strings.Count(got, "tool sun over") != 2 || !strings.Contains(got, "assistant Rome is warm.|user|") {
					t.Errorf("the model read %q", got)
				}
			})
		}
	}
}

// chat posts a completion and returns its status and body.
func (s *served) chat(session, body string, header ...string) (int, string) {
	s.t.Helper()
	q, err := http.NewRequestWithContext(s.t.Context(), "POST", "http://"+s.instance.Address+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+s.token)
	q.Header.Set("Content-Type", "application/json")
	if session != "" {
		q.Header.Set("X-GoClaw-Session", session)
	}
	for i := 0; i < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	r, err := s.client.Do(q)
	if err != nil {
		s.t.Fatal(err)
	}
	return r.StatusCode, bodyOf(s.t, r)
}

const look = `{"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{"at":{"type":"string"},"n":{"type":"number"}},"required":["at"]}}}`

// id is that of call n of an answer.
func id(t *testing.T, body string, n int) string {
	t.Helper()
	var a struct {
		Choices []struct {
			Message struct {
				ToolCalls []struct{ ID string } `json:"tool_calls"`
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &a); err != nil || len(a.Choices) != 1 || len(a.Choices[0].Message.ToolCalls) <= n {
		t.Fatalf("no call %d in %s (%v)", n, body, err)
	}
	return a.Choices[0].Message.ToolCalls[n].ID
}

// A session takes the result of a call once, and goes on without one where
// somebody speaks instead.
func TestCallsOfAClientInASession(t *testing.T) {
	t.Parallel()
	s := setup(t, "", fakellm.Calls(fakellm.Use("look", `{"at":"door"}`)), fakellm.Text("Open."),
		fakellm.Calls(fakellm.Use("look", `{"at":"roof"}`)), fakellm.Text("Never mind then.")).serve(gateway.ServeOptions{})
	ask := func(messages string) (int, string) {
		return s.chat("house", `{"model":"goclaw","messages":[`+messages+`],"tools":[`+look+`]}`)
	}
	_, first := ask(`{"role":"user","content":"look at the door"}`)
	door := id(t, first, 0)
	result := func(id string) string {
		return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"it is open"}`, id)
	}
	if status, body := ask(result("call_x_0")); status != 400 || !strings.Contains(body, "messages[0].tool_call_id") {
		t.Errorf("an unknown call: %d %s", status, body)
	}
	if status, body := ask(result(door)); status != 200 || !strings.Contains(body, "Open.") {
		t.Errorf("the result: %d %s", status, body)
	}
	if status, body := ask(result(door)); status != 400 || !strings.Contains(body, "waits for no result") || !strings.Contains(body, `"param":"messages[0].tool_call_id"`) {
		t.Errorf("the result once more: %d %s", status, body)
	}
	_, second := ask(`{"role":"user","content":"and the roof"}`)
	roof := id(t, second, 0)
	if status, body := ask(`{"role":"user","content":"leave it"}`); status != 200 || !strings.Contains(body, "Never mind then.") {
		t.Errorf("going on without: %d %s", status, body)
	}
	if got := s.wire(3); !strings.Contains(got, `look({"at":"roof"})|tool Error: no result: the client went on`) {
		t.Errorf("the model read %q", got)
	}
	if status, body := ask(result(roof)); status != 400 {
		t.Errorf("a late result: %d %s", status, body)
	}
	if n := len(s.model.Requests()); n != 4 {
		t.Errorf("the model was asked %d times", n)
	}
}

// A client that changes what it tells is answered by what it tells; one that only
// writes it otherwise goes on where it was, with what the agent did besides.
func TestAClientChangesWhatItTells(t *testing.T) {
	t.Parallel()
	const (
		said   = `{"role":"user","content":"the code is 4711"}`
		noted  = `{"role":"assistant","content":"Noted."}`
		asks   = `{"role":"user","content":[{"type":"text","text":"look at"},{"type":"text","text":" the door"}]}`
		seeing = `{"role":"assistant","content":"Let me see.","tool_calls":[{"id":"$1","type":"function","function":{"name":"look","arguments":"{\"at\":\"door\",\"n\":1.0}"}}]}`
		open   = `{"role":"tool","tool_call_id":"$1","content":"it is open"}`
		more   = `{"role":"assistant","content":null,"tool_calls":[{"id":"$2","type":"function","function":{"name":"look","arguments":"{\"at\":\"roof\"}"}}]}`
		wet    = `{"role":"tool","tool_call_id":"$2","content":"it is wet"}`
	)
	for _, c := range []struct {
		from, to string
		stays    bool
		gone     string // what the model may not read
	}{
		{"", "", true, ""},
		{"the code is", "the  code\\n is", true, ""},
		{`"content":null,`, ``, true, ""},
		{`"content":null,`, `"content":"",`, true, ""},
		{`\"at\":\"door\",\"n\":1.0`, ` \"n\" : 1, \"at\":\"\\u0064oor\"`, true, ""},
		{`"type":"text","text":"look at"},{`, ``, false, ""},
		{"4711", "taken out", false, "4711"},
		{"Noted.", "Taken out.", false, "Noted."},
		{"Let me see.", "I look.", false, "Let me see."},
		{`\"door\"`, `\"gate\"`, false, `\"door\"`},
		{`"name":"look","arguments":"{\"at\":\"door`, `"name":"peek","arguments":"{\"at\":\"door`, false, ""},
		{"it is open", "it is shut", false, "it is open"},
		{noted + ",", "", false, "Noted."},
	} {
		t.Run(c.to, func(t *testing.T) {
			t.Parallel()
			s := setup(t, "",
				fakellm.Answer{Text: "Let me see.", Calls: []fakellm.Call{fakellm.Use("look", `{"n":1.0,"at":"door"}`), fakellm.Use("calc", `{"expression":"6*7"}`)}},
				fakellm.Calls(fakellm.Use("look", `{"at":"roof"}`)), fakellm.Text("Open.")).serve(gateway.ServeOptions{})
			told := []string{said, noted, asks}
			_, body := s.chat("", chatOf(told...))
			door := id(t, body, 0)
			told = append(told, seeing, open)
			ask := func(from, to string, ids ...string) (int, string) {
				text := strings.Join(told, ",")
				for i, id := range ids {
					text = strings.ReplaceAll(text, fmt.Sprintf("$%d", i+1), id)
				}
				changed := strings.Replace(text, from, to, 1)
				if from != "" && changed == text {
					t.Fatalf("%s is not in %s", from, text)
				}
				return s.chat("", chatOf(changed))
			}
			_, body = ask("", "", door)
			roof := id(t, body, 0)
			told = append(told, more, wet)
			if status, body := ask(c.from, c.to, door, roof); status != 200 || !strings.Contains(body, "Open.") {
				t.Fatalf("%d %s", status, body)
			}
			wire, sent := s.wire(2), string(s.model.Requests()[2].Body)
			if strings.Contains(wire, "|tool 42|") != c.stays || c.gone != "" && strings.Contains(sent, c.gone) {
				t.Errorf("the model read %s of %s", wire, sent[strings.Index(sent, `"role":"user"`):])
			}
			if strings.Count(sent, "it is wet") != 1 || strings.Count(sent, `"role":"assistant"`) != map[bool]int{true: 2, false: 3}[c.from == noted+","] {
				t.Errorf("the model read %q", wire)
			}
		})
	}
}

// What decides about the agent's tools decides about a client's: policies,
// arguments, the names that the agent has.
func TestAClientsToolsAreHeldToPolicies(t *testing.T) {
	t.Parallel()
	tools := func(names ...string) string {
		var list []string
		for _, n := range names {
			list = append(list, fmt.Sprintf(`{"type":"function","function":{"name":%q,"description":"the client's"}}`, n))
		}
		return `"tools":[` + strings.Join(list, ",") + `]`
	}
	const hi = `{"model":"goclaw","messages":[{"role":"user","content":"hi"}],`
	s := setup(t, "tools:\n  deny: [\"bad_*\"]\n", fakellm.Text("one"),
		fakellm.Calls(fakellm.Use("fine", `{}`), fakellm.Use("fine", `{}`)), fakellm.Text("four")).serve(gateway.ServeOptions{})
	s.chat("", hi+tools("bad_one", "fine", "calc")+`}`)
	offered := offeredTo(t, s.model.Requests()[0])
	if slices.Contains(offered, "bad_one") || !slices.Contains(offered, "fine") || !slices.Contains(offered, "calc") {
		t.Errorf("offered %v", offered)
	}
	if strings.Contains(string(s.model.Requests()[0].Body), "the client's\",\"parameters\":{\"properties\":{},\"type\":\"object\"}},\"type\":\"function\"},{\"function\":{\"name\":\"calc") {
		t.Error("the client's calc beat the agent's")
	}
	for choice, want := range map[string]string{
		`{"type":"function","function":{"name":"bad_one"}}`: `it is not offered here; the agent's admin sees why`,
		`{"type":"function","function":{"name":"calc"}}`:    `the agent has a tool of that name`,
	} {
		if status, body := s.chat("", hi+tools("bad_one", "fine", "calc")+`,"tool_choice":`+choice+`}`); status != 400 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", choice, status, body)
		}
	}
	if status, body := s.chat("", hi+tools("bad_one")+`,"tool_choice":"required"}`); status != 400 || !strings.Contains(body, "can't be made to call") {
		t.Errorf("required: %d %s", status, body)
	}
	status, body := s.chat("", hi+tools("fine")+`,"tool_choice":"required","parallel_tool_calls":false}`)
	if status != 200 || strings.Count(body, `"id":"call_`) != 1 {
		t.Errorf("one at a time: %d %s", status, body)
	}
	if req := string(s.model.Requests()[1].Body); !strings.Contains(req, `"tool_choice":"required"`) {
		t.Errorf("the model may choose: %s", req)
	}
	s.chat("", hi+tools("fine")+`,"tool_choice":"none"}`)
	if slices.Contains(offeredTo(t, s.model.Requests()[2]), "fine") {
		t.Error("none offers it")
	}
}

// What would become of a client's tools is told with reasons, and forgotten.
func TestAClientsToolsAreExplained(t *testing.T) {
	t.Parallel()
	r := setup(t, "tools:\n  deny: [\"bad_*\"]\n")
	brought, err := api.ReadTools([]byte(`{"model":"x","tools":[{"type":"function","function":{"name":"bad-one"}},{"type":"function","function":{"name":"fine"}},{"type":"function","function":{"name":"calc"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req := admin("s", "hi")
	ctx, stop := context.WithCancel(t.Context())
	req.Brought = brought
	sf, err := r.Surface(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(sf.Offered, func(x api.Tool) bool { return x.Name == "fine" })
	if at < 0 || sf.Offered[at].Owner != "client" || sf.Picks[at].Why != tool.ForClient {
		t.Errorf("fine is number %d", at)
	}
	for name, want := range map[string]string{
		"bad-one": `exposed: layer policy: denied by tools.deny "bad_*" (config.yaml:6)`, "fine": "",
		"calc": "",
	} {
		x, err := r.Explain(ctx, req, name)
		if err != nil || stops(x) != want {
			t.Errorf("%s: %q (%v), want %q", name, stops(x), err, want)
		}
		if name == "calc" && !strings.Contains(x.States[2].Detail, "client also has one: the name is taken by family") {
			t.Errorf("calc: %s", x.States[2].Detail)
		}
	}
	if x, err := r.Explain(ctx, req, "calc"); err != nil || x.Fix != "have the client name its tool otherwise" {
		t.Errorf("calc: %q (%v)", x.Fix, err)
	}
	stop()
	if x := r.explain(admin("s", "hi"), "fine"); !strings.HasPrefix(stops(x), "installed: nothing") {
		t.Errorf("later: %s", stops(x))
	}
	if _, err := api.ReadTools([]byte(`[{"type":"function","function":{"name":"two words"}}]`)); err == nil || !strings.HasPrefix(err.Error(), "tools[0].function.name: ") {
		t.Errorf("a bad name: %v", err)
	}
}

// What holds calls of a client's tools is told with what to do about it: rules,
// handlers and plan mode, from their side, too.
func TestWhatHoldsAClientsTools(t *testing.T) {
	t.Parallel()
	s := setup(t, "hooks:\n  - {name: doors, tools: [\"group:client\"], match: 'args.at == \"door\"', action: block}\n  - {name: ask, tools: [look], action: approve}\n",
		fakellm.Calls(fakellm.Use("look", `{"at":"door"}`)), fakellm.Text("No.")).serve(gateway.ServeOptions{})
	const query = "?session=api:ada:house&client_tools="
	explain := func(name, more string) (x engine.Explanation) {
		t.Helper()
		s.read("GET", "/api/tools/"+name+"/explain"+query+url.QueryEscape("["+look+"]")+more, "", 200, &x)
		return x
	}
	s.chat("house", chatOf(askLook))
	x := explain("look", "")
	text := x.Text()
	for _, want := range []string{
		`a call with the arguments of the last one would be blocked by the rule doors`, `a call with the arguments of the last one would wait for a person's approval by the rule ask`,
		"(config.yaml:", "goclaw hooks test --tool look",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if !strings.Contains(x.Fix, "hooks[") {
		t.Errorf("fix: %q", x.Fix)
	}
	s.read("PUT", "/api/sessions/main/api:ada:house/plan", `{"on":true}`, 200, nil)
	if x := explain("look", ""); !strings.Contains(x.Text(), "plan mode is on in this session") {
		t.Errorf("in plan mode:\n%s", x.Text())
	}
	var v api.HookReadings
	s.read("POST", "/api/hooks/test", `{"tool":"Look","args":{"at":"door"},"client_tools":[`+look+`]}`, 200, &v)
	if v.Decision != "blocked by doors" || len(v.Notes) != 0 || v.Tool != "look" {
		t.Errorf("tested: %+v", v)
	}
	for path, body := range map[string]string{
		"/api/tools/look/explain" + query + `{"x`: "", "/api/hooks/test": `{"tool":"look","client_tools":[{"type":"x"}]}`,
	} {
		var p api.Problem
		if s.read(map[bool]string{true: "GET", false: "POST"}[body == ""], path, body, 400, &p); !strings.HasPrefix(p.Detail, "client_tools") {
			t.Errorf("%s: %s", path, p.Detail)
		}
	}
}

func offeredTo(t *testing.T, r fakellm.Request) []string {
	t.Helper()
	var body struct {
		Tools []struct {
			Function struct{ Name string } `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range body.Tools {
		names = append(names, x.Function.Name)
	}
	return names
}

func bodyOf(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err = errors.Join(err, r.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return string(b)
}
