package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/gateway"
)

// Whatever a client calls its tools, it reads these names and writes them, also
// where the model knows several of them by one name.
func TestAClientsNamesAreItsOwn(t *testing.T) {
	t.Parallel()
	s := setup(t, "",
		fakellm.Calls(fakellm.Use("t__x", `{}`), fakellm.Use("t__x_2", `{}`), fakellm.Use("t_1st", `{}`), fakellm.Use("get_weather", `{}`), fakellm.Use("get_weather_2", `{}`)),
		fakellm.Text("All done.")).serve(gateway.ServeOptions{})
	var tools []string
	for _, n := range []string{"_x", "1st", "get-weather", "get_weather", "t__x"} {
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":%q}}`, n))
	}
	with := `"tools":[` + strings.Join(tools, ",") + `]`
	const hi = `{"role":"user","content":"hi"}`
	_, body := s.chat("", `{"model":"goclaw","messages":[`+hi+`],`+with+`,"tool_choice":{"type":"function","function":{"name":"_x"}}}`)
	var calls, results []string
	for i, want := range []string{"t__x", "_x", "1st", "get_weather", "get-weather"} {
		call := id(t, body, i)
		if !strings.Contains(body, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,`, call, want)) {
			t.Errorf("call %d is not of %s: %s", i, want, body)
		}
		calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":"{}"}}`, call, want))
		results = append(results, fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"of %s"}`, call, want))
	}
	if sent := string(s.model.Requests()[0].Body); !strings.Contains(sent, `"tool_choice":{"function":{"name":"t__x_2"},"type":"function"}`) &&
		!strings.Contains(sent, `"tool_choice":{"type":"function","function":{"name":"t__x_2"}}`) {
		t.Errorf("the choice: %s", sent[max(0, len(sent)-300):])
	}
	slices.Reverse(results) // a client answers in whatever order
	status, body := s.chat("", `{"model":"goclaw","messages":[`+hi+`,{"role":"assistant","tool_calls":[`+strings.Join(calls, ",")+`]},`+strings.Join(results, ",")+`],`+with+`}`)
	if status != 200 || !strings.Contains(body, "All done.") {
		t.Fatalf("%d %s", status, body)
	}
	if got := s.wire(1); got != `user|assistant t__x({}) t__x_2({}) t_1st({}) get_weather({}) get_weather_2({})|tool of t__x|tool of _x|tool of 1st|tool of get_weather|tool of get-weather|user|` {
		t.Errorf("the model read %q", got)
	}
	if n := len(s.model.Requests()); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}

// What is known to be wrong before the model is asked is told before a stream
// begins, as clients expect it.
func TestAStreamBeginsWithTheModel(t *testing.T) {
	t.Parallel()
	s := setup(t, "tools:\n  deny: [\"bad_*\"]\n", fakellm.Text("one")).serve(gateway.ServeOptions{})
	const hi = `{"model":"goclaw","stream":true,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"bad_one"}}]`
	for _, choice := range []string{`"required"`, `{"type":"function","function":{"name":"bad_one"}}`} {
		status, body := s.chat("", hi+`,"tool_choice":`+choice+`}`)
		if status != 400 || !strings.HasPrefix(body, `{"error":`) || !strings.Contains(body, `"param":"tool_choice"`) {
			t.Errorf("%s: %d %s", choice, status, body)
		}
	}
	if n := len(s.model.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	if status, body := s.chat("", hi+`}`); status != 200 || !strings.HasPrefix(body, `data: {"id":"chatcmpl-`) || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("%d %s", status, body)
	}
}

// Of equal results that come at once one is taken, and the others are the
// client's fault.
func TestEqualResultsAtOnce(t *testing.T) {
	t.Parallel()
	const rounds, senders = 4, 6
	var answers []fakellm.Answer
	for range rounds {
		answers = append(answers, fakellm.Calls(fakellm.Use("look", `{"at":"door"}`)), fakellm.Text("Open."))
	}
	s := setup(t, "", answers...).serve(gateway.ServeOptions{})
	for range rounds {
		_, first := s.chat("house", `{"model":"goclaw","messages":[{"role":"user","content":"look"}],"tools":[`+look+`]}`)
		result := fmt.Sprintf(`{"model":"goclaw","messages":[{"role":"tool","tool_call_id":%q,"content":"open"}],"tools":[`+look+`]}`, id(t, first, 0))
		got := make([]string, senders)
		var all sync.WaitGroup
		for i := range got {
			all.Go(func() {
				status, body := s.chat("house", result)
				got[i] = fmt.Sprint(status)
				if status == 400 && !strings.Contains(body, `"param":"messages`) {
					got[i] += body
				}
			})
		}
		all.Wait()
		slices.Sort(got)
		if want := []string{"200", "400", "400", "400", "400", "400"}; !slices.Equal(got, want) {
			t.Errorf("the answers were %v", got)
		}
	}
}
