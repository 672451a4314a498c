package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/plugin"
)

// called is an answer of a told conversation that calls look.
func called(id, args string) string {
	return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":%q,"type":"function","function":{"name":"look","arguments":%q}}]}`, id, args)
}

// resulted is the message with what came of a call.
func resulted(id, content string) string {
	return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%q}`, id, content)
}

// chatOf is a request with look as the client's tool.
func chatOf(messages ...string) string {
	return `{"model":"goclaw","messages":[` + strings.Join(messages, ",") + `],"tools":[` + look + `]}`
}

const askLook = `{"role":"user","content":"look at the door"}`

// What a client's tool gave is treated as what others give: handlers change what is
// kept, observers hear of it once, and when it is there; a long one is kept aside,
// where the model reads it.
func TestAClientsResultsAreShownAsOthers(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"in a session", "told", "begun anew"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			heard := make(chan string, 10)
			r := hooked(t, func(a plugin.API) error {
				if err := plugin.On(a, plugin.AfterToolCall, func(_ context.Context, c *plugin.HookCall, o *plugin.Outcome) error {
					heard <- fmt.Sprintf("%s%s by %s %s: %.9s, took: %v", c.Tool, c.Args, c.Owner, o.Status, o.Content[0].Text, o.Ended.After(o.Started))
					return nil
				}, plugin.HookOptions{}); err != nil {
					return err
				}
				return plugin.On(a, plugin.ToolResultPersist, func(_ context.Context, _ *plugin.HookCall, res plugin.Result) (plugin.Result, error) {
					res.Content[0].Text = strings.ReplaceAll(res.Content[0].Text, "sesame", "******")
					return res, nil
				}, plugin.HookOptions{})
			}, fakellm.Calls(fakellm.Use("look", `{"at":"door"}`)),
				fakellm.Calls(fakellm.Use("read_output", `{"ref":"$","mode":"search","query":"line 9999"}`)),
				fakellm.Text("Seen."))
			s := r.serve(gateway.ServeOptions{})
			name := map[string]string{"in a session": "house"}[how]
			_, first := s.chat(name, chatOf(askLook))
			door := id(t, first, 0)
			var long strings.Builder
			long.WriteString("open with sesame\n")
			for i := range 12000 {
				fmt.Fprintf(&long, "this is line %d\n", i)
			}
			told := []string{askLook, called(door, `{"at":"door"}`), resulted(door, long.String())}
			want := `look{"at":"door"} by client ok: open with, took: true`
			switch how {
			case "in a session":
				told = told[2:]
			case "begun anew":
				told = append(told, `{"role":"assistant","content":"I see."}`, `{"role":"user","content":"so?"}`)
				want = ""
			}
			status, body := s.chat(name, chatOf(told...))
			if status != 200 {
				t.Fatalf("%d %.300s", status, body)
			}
			sent := string(s.model.Requests()[1].Body)
			for _, part := range []string{"[LARGE OUTPUT: look | type:text", "open with ******", "call the SEPARATE 'read_output' tool"} {
				if !strings.Contains(sent, part) {
					t.Errorf("the model read no %q", part)
				}
			}
			if len(sent) > 200_000 || strings.Contains(sent, "sesame") {
				t.Errorf("the model read %d bytes", len(sent))
			}
			if want != "" {
				if got := <-heard; got != want {
					t.Errorf("heard %q", got)
				}
			}
			if got := <-heard; !strings.HasPrefix(got, "read_output") {
				t.Errorf("heard %q", got)
			}
		})
	}
}

// refIn is the ref that a request shows.
func refIn(t *testing.T, r fakellm.Request) string {
	t.Helper()
	_, rest, ok := strings.Cut(string(r.Body), "| ref:")
	ref, _, ended := strings.Cut(rest, "]")
	if !ok || !ended {
		t.Fatal("the request shows no ref")
	}
	return ref
}

// The model reads what was kept aside of a client's result, also after a restart.
func TestAClientsResultIsReadBack(t *testing.T) {
	t.Parallel()
	r := setup(t, "", fakellm.Calls(fakellm.Use("look", `{"at":"door"}`)), fakellm.Text("Seen."))
	s := r.serve(gateway.ServeOptions{})
	_, first := s.chat("house", chatOf(askLook))
	if status, body := s.chat("house", chatOf(resulted(id(t, first, 0), strings.Repeat("x\n", 20000)+"the end"))); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	ref := refIn(t, s.model.Requests()[1])
	var o struct{ Content []struct{ Text string } }
	args, _ := json.Marshal(map[string]any{"tool": "read_output", "session": "api:ada:house", "args": map[string]string{"ref": ref, "mode": "tail"}})
	s.read("POST", "/tools/invoke", string(args), 200, &o)
	if !strings.Contains(o.Content[0].Text, "the end") {
		t.Errorf("read %q", o.Content[0].Text)
	}
}

// A model that turns in circles by way of a client is told and stopped as with
// other tools, whether the client names a session or tells everything, and whether
// that goes on where it was.
func TestAClientInCirclesIsStopped(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"in a session", "told", "foreign ids"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			var answers []fakellm.Answer
			for range 8 {
				answers = append(answers, fakellm.Calls(fakellm.Use("look", `{"at":"door"}`)))
			}
			s := setup(t, "", answers...).serve(gateway.ServeOptions{})
			name := map[string]string{"in a session": "house"}[how]
			told := []string{askLook}
			rounds, last := 0, ""
			for rounds < 8 {
				status, body := s.chat(name, chatOf(told...))
				if status != 200 {
					t.Fatalf("%d %s", status, body)
				}
				if last = body; !strings.Contains(body, `"finish_reason":"tool_calls"`) {
					break
				}
				rounds++
				call := id(t, body, 0)
				if how == "foreign ids" {
					call = fmt.Sprintf("mine-%d", rounds)
				}
				if how == "in a session" {
					told = nil
				} else {
					told = append(told, called(call, `{"at":"door"}`))
				}
				told = append(told, resulted(call, "it is closed"))
			}
			if rounds != 5 || !strings.Contains(last, "I stopped: look was called 5 times in a row with the same arguments and gave the same result each time.") {
				t.Errorf("after %d rounds: %s", rounds, last)
			}
			for i, r := range s.model.Requests() {
				if hinted := strings.Contains(string(r.Body), "You called look 3 times in a row"); hinted != (i >= 3 && how != "foreign ids" || i == 3) {
					t.Errorf("request %d: hinted %v", i, hinted)
				}
			}
		})
	}
}

// The limit of tool rounds holds for what a person said, not for each request of
// their client; who speaks begins anew.
func TestAClientsRoundsAreCounted(t *testing.T) {
	t.Parallel()
	var answers []fakellm.Answer
	for i := range 3 {
		answers = append(answers, fakellm.Calls(fakellm.Use("look", fmt.Sprintf(`{"at":"door %d"}`, i))))
	}
	answers = append(answers, fakellm.Text("That is all."), fakellm.Calls(fakellm.Use("look", `{"at":"roof"}`)))
	s := setup(t, "tools: {max_tool_iterations: 3}\n", answers...).serve(gateway.ServeOptions{})
	ask := askLook
	for i := range 3 {
		_, body := s.chat("house", chatOf(ask))
		ask = resulted(id(t, body, 0), fmt.Sprintf("it is closed %d", i))
	}
	status, body := s.chat("house", chatOf(ask))
	if status != 200 || !strings.Contains(body, "That is all.") {
		t.Fatalf("%d %s", status, body)
	}
	last := string(s.model.Requests()[3].Body)
	if !strings.Contains(last, `"tool_choice":"none"`) || !strings.Contains(last, "The limit of 3 tool rounds is reached.") {
		t.Errorf("the last request allows tools: %s", s.wire(3))
	}
	if _, body := s.chat("house", chatOf(askLook)); !strings.Contains(body, `"finish_reason":"tool_calls"`) {
		t.Errorf("a new message can't use tools: %s", body)
	}
}

// Results that are sent again, since no answer came of them, begin nothing anew.
func TestAClientsRoundsAreCountedWhenItSendsAgain(t *testing.T) {
	t.Parallel()
	s := setup(t, "tools: {max_tool_iterations: 2}\n", fakellm.Calls(fakellm.Use("look", `{"at":"door"}`)), fakellm.Calls(fakellm.Use("look", `{"at":"roof"}`)),
		fakellm.Answer{Fault: fakellm.BadRequest}, fakellm.Text("That is all.")).serve(gateway.ServeOptions{})
	_, body := s.chat("house", chatOf(askLook))
	_, body = s.chat("house", chatOf(resulted(id(t, body, 0), "it is closed")))
	again := chatOf(resulted(id(t, body, 0), "it leaks"))
	if status, body := s.chat("house", again); status != 502 {
		t.Fatalf("%d %s", status, body)
	}
	if status, body := s.chat("house", again); status != 200 || !strings.Contains(body, "That is all.") {
		t.Fatalf("%d %s", status, body)
	}
	if last := string(s.model.Requests()[3].Body); !strings.Contains(last, `"tool_choice":"none"`) {
		t.Errorf("the last request allows tools: %s", s.wire(3))
	}
}

// A key stands for one request: what the model is told and the tools that it has.
// What comes again under it is answered as the first was, also by the next process.
func TestAKeyIsOfOneConversation(t *testing.T) {
	t.Parallel()
	r := setup(t, "", fakellm.Calls(fakellm.Use("look", `{"at":"door"}`)), fakellm.Text("Seen."))
	s := r.serve(gateway.ServeOptions{})
	const before = `{"role":"user","content":"hi"},{"role":"assistant","content":"Hello."}`
	first := chatOf(before, askLook)
	status, body := s.chat("", first, "Idempotency-Key", "one")
	door := id(t, body, 0)
	second := chatOf(before, askLook, called(door, `{"at":"door"}`), resulted(door, strings.Repeat("open\n", 9000)))
	if status, body := s.chat("", second, "Idempotency-Key", "two"); status != 200 || !strings.Contains(body, "Seen.") {
		t.Fatalf("%d %s", status, body)
	}
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	for range 2 {
		for _, equal := range []string{
			first, strings.Replace(first, `"model":"goclaw"`, `"model":"goclaw/main"`, 1),
			strings.Replace(first, `{"role":"user","content":"hi"}`, `{ "content":"\u0068i", "role":"user"}`, 1),
		} {
			if status, again := s.chat("", equal, "Idempotency-Key", "one"); status != 200 || id(t, again, 0) != door {
				t.Errorf("%s: %d %s", equal, status, again)
			}
		}
		if status, again := s.chat("", second, "Idempotency-Key", "two"); status != 200 || !strings.Contains(again, "Seen.") {
			t.Errorf("%d %s", status, again)
		}
		for _, other := range []string{
			strings.Replace(first, `"content":"hi"`, `"content":"ho"`, 1),
			strings.Replace(first, "Hello.", "Bye.", 1),
			strings.Replace(first, `"name":"look"`, `"name":"peek"`, 1),
			chatOf(`{"role":"system","content":"be brief"}`, before, askLook),
			`{"model":"goclaw","messages":[` + before + `,` + askLook + `]}`,
		} {
			if status, body := s.chat("", other, "Idempotency-Key", "one"); status != 422 || !strings.Contains(body, `"code":"key_reused"`) {
				t.Errorf("%s: %d %s", other, status, body)
			}
		}
		if status, body := s.chat("", strings.Replace(second, "open", "shut", 1), "Idempotency-Key", "two"); status != 422 {
			t.Errorf("another result: %d %s", status, body)
		}
		if err := s.end(); err != nil {
			t.Fatal(err)
		}
		s.close()
		s.open()
		s = r.serve(gateway.ServeOptions{})
	}
	if n := len(s.model.Requests()); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}

// Results that got no answer are answered when they are sent again, with what the
// session has of them; others are not taken in their place.
func TestResultsWithoutAnAnswerAreSentAgain(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "house"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t, "", fakellm.Calls(fakellm.Use("look", `{"at":"door"}`), fakellm.Use("calc", `{"expression":"6*7"}`)),
				fakellm.Answer{Fault: fakellm.BadRequest}, fakellm.Answer{Fault: fakellm.BadRequest}, fakellm.Text("Seen.")).serve(gateway.ServeOptions{})
			_, body := s.chat(name, chatOf(askLook))
			door := id(t, body, 0)
			told := func(result string) string {
				if name == "" {
					return chatOf(askLook, called(door, `{"at":"door"}`), resulted(door, result))
				}
				return chatOf(resulted(door, result))
			}
			for range 2 {
				if status, body := s.chat(name, told("it is open")); status != 502 {
					t.Fatalf("%d %s", status, body)
				}
			}
			if name != "" {
				if status, body := s.chat(name, told("it is shut")); status != 400 || !strings.Contains(body, "waits for no result") {
					t.Errorf("another result: %d %s", status, body)
				}
			}
			if status, body := s.chat(name, told("it is open")); status != 200 || !strings.Contains(body, "Seen.") {
				t.Fatalf("%d %s", status, body)
			}
			if got := s.wire(3); strings.Count(got, "tool it is open|") != 1 || strings.Count(got, "tool 42|") != 1 {
				t.Errorf("the model read %q", got)
			}
			if status, _ := s.chat("house", chatOf(resulted(door, "it is open"))); status != 400 {
				t.Errorf("once more: %d", status)
			}
		})
	}
}
