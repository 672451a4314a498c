package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/fakellm"
)

// piece is a part of a stream: calls as deltas, by index.
func piece(calls ...string) json.RawMessage {
	return json.RawMessage(`{"delta":{"tool_calls":[` + strings.Join(calls, ",") + `]}}`)
}

func finish(reason string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"delta":{},"finish":%q}`, reason))
}

// part is one delta of a call: id and name may be empty, index -1 leaves it out.
func part(index int, id, name, arguments string) string {
	m := map[string]any{}
	if index >= 0 {
		m["index"] = index
	}
	if id != "" {
		m["id"], m["type"] = id, "function"
	}
	f := map[string]any{}
	if name != "" {
		f["name"] = name
	}
	if arguments != "-" {
		f["arguments"] = arguments
	}
	m["function"] = f
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// What models really send, and what has to become of it: the calls that ran,
// the results that went back in order, and a session that goes on.
func TestToolCallsAsModelsSendThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		stream  []json.RawMessage
		results []string // a text in each result, in order
		ran     int      // calls whose tool was entered
		absent  string   // a file that must not exist
	}{
		{"an empty arguments string", []json.RawMessage{piece(part(0, "c1", "datetime", "")), finish("tool_calls")}, []string{"20"}, 1, ""},
		{"arguments null", []json.RawMessage{piece(`{"index":0,"id":"c1","function":{"name":"datetime","arguments":null}}`), finish("tool_calls")}, []string{"20"}, 1, ""},
		{"cut JSON although the answer ended well", []json.RawMessage{piece(part(0, "c1", "file_read", `{"path": "a.txt"`)), finish("tool_calls")}, []string{"complete"}, 0, ""},
		{"cut by the output limit", []json.RawMessage{piece(part(0, "c1", "file_write", `{"path":"half.txt","content":"half`)), finish("length")}, []string{"complete"}, 0, "half.txt"},
		{
			"one whole call before the cut",
			[]json.RawMessage{
				piece(part(0, "c1", "calc", `{"expression":"1+1"}`)), piece(part(1, "c2", "file_write", `{"path":"half.txt","con`)), finish("length"),
			},
			[]string{"2", "complete"},
			1, "half.txt",
		},
		{"single quotes", []json.RawMessage{piece(part(0, "c1", "file_read", `{'path': 'a.txt'}`)), finish("tool_calls")}, []string{"JSON"}, 0, ""},
		{"encoded twice", []json.RawMessage{piece(part(0, "c1", "file_read", `"{\"path\":\"a.txt\"}"`)), finish("tool_calls")}, []string{"hello"}, 1, ""},
		{"an unknown argument", []json.RawMessage{piece(part(0, "c1", "calc", `{"expression":"1+1","expresion":true}`)), finish("tool_calls")}, []string{"expresion"}, 0, ""},
		{"a required argument missing", []json.RawMessage{piece(part(0, "c1", "file_read", `{}`)), finish("tool_calls")}, []string{"path"}, 0, ""},
		{"arguments that are no object", []json.RawMessage{piece(part(0, "c1", "file_read", `["a.txt"]`)), finish("tool_calls")}, []string{"object"}, 0, ""},
		{"a name in the wrong case", []json.RawMessage{piece(part(0, "c1", "File_Read", `{"path":"a.txt"}`)), finish("tool_calls")}, []string{"hello"}, 1, ""},
		{"a prefixed name", []json.RawMessage{piece(part(0, "c1", "functions.file_read", `{"path":"a.txt"}`)), finish("tool_calls")}, []string{"hello"}, 1, ""},
		{"a tool that doesn't exist", []json.RawMessage{piece(part(0, "c1", "read_file", `{"path":"a.txt"}`)), finish("tool_calls")}, []string{"file_read"}, 0, ""},
		{"no name at all", []json.RawMessage{piece(part(0, "c1", "", `{"path":"a.txt"}`)), finish("tool_calls")}, []string{""}, 0, ""},
		{"the same id twice", []json.RawMessage{piece(part(0, "c1", "calc", `{"expression":"1+1"}`), part(1, "c1", "calc", `{"expression":"2+2"}`)), finish("tool_calls")}, []string{"2", "4"}, 2, ""},
		{"no id", []json.RawMessage{piece(part(0, "", "datetime", `{}`)), finish("tool_calls")}, []string{"20"}, 1, ""},
		{"no ids and no indexes", []json.RawMessage{piece(part(-1, "", "calc", `{"expression":"1+1"}`)), piece(part(-1, "", "calc", `{"expression":"2+2"}`)), finish("tool_calls")}, []string{"2", "4"}, 2, ""},
		{"one of two fails", []json.RawMessage{piece(part(0, "c1", "file_read", `{"path":"none.txt"}`), part(1, "c2", "calc", `{"expression":"1+1"}`)), finish("tool_calls")}, []string{"none.txt", "2"}, 2, ""},
		{"arguments in pieces", []json.RawMessage{piece(part(0, "c1", "file_read", `{"pa`)), piece(part(0, "", "", `th":"a.t`)), piece(part(0, "", "", `xt"}`)), finish("tool_calls")}, []string{"hello"}, 1, ""},
		{
			"two calls interleaved",
			[]json.RawMessage{
				piece(part(0, "c1", "calc", `{"expression":`)), piece(part(1, "c2", "calc", `{"expression":`)),
				piece(part(0, "", "", `"1+1"}`)), piece(part(1, "", "", `"2+2"}`)), finish("tool_calls"),
			},
			[]string{"2", "4"},
			2, "",
		},
		{"content null beside a call", []json.RawMessage{json.RawMessage(`{"delta":{"content":null,"tool_calls":[` + part(0, "c1", "calc", `{"expression":"1+1"}`) + `]}}`), finish("tool_calls")}, []string{"2"}, 1, ""},
		{"finish stop with calls", []json.RawMessage{piece(part(0, "c1", "calc", `{"expression":"1+1"}`)), finish("stop")}, []string{"2"}, 1, ""},
		{"numbers and booleans as strings", []json.RawMessage{piece(part(0, "c1", "file_read", `{"path":"a.txt","from":"1","to":"1","line_numbers":"false"}`)), finish("tool_calls")}, []string{"hello"}, 1, ""},
		{"a trailing comma", []json.RawMessage{piece(part(0, "c1", "file_read", `{"path":"a.txt",}`)), finish("tool_calls")}, []string{"hello"}, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, "", fakellm.Answer{Deltas: c.stream}, fakellm.Text("done"), fakellm.Text("still here"))
			r.write("a.txt", "hello\n")
			got := r.say("s", "go")
			if got.end.Type != agent.RunFinished || got.text != "done" {
				t.Fatalf("the turn ended with %s %q, text %q", got.end.Type, got.end.Text, got.text)
			}
			results := r.results(2)
			if len(results) != len(c.results) {
				t.Fatalf("%d results went back, want %d: %+v", len(results), len(c.results), results)
			}
			for i, want := range c.results {
				if results[i].text() == "" {
					t.Errorf("result %d is empty", i)
				}
				mustContain(t, fmt.Sprintf("result %d", i), results[i].text(), want)
			}
			ran := 0
			for _, o := range got.outcomes() {
				if o.Ran() {
					ran++
				}
			}
			if ran != c.ran {
				t.Errorf("%d calls ran, want %d", ran, c.ran)
			}
			if c.absent != "" {
				if text, there := r.file(c.absent); there {
					t.Errorf("%s holds %q", c.absent, text)
				}
			}
			if next := r.say("s", "and now?"); next.text != "still here" {
				t.Errorf("the next turn says %q (%s)", next.text, next.end.Text)
			}
		})
	}
}

func TestACallWrittenAsTextIsNotRun(t *testing.T) {
	t.Parallel()
	words := `<tool_call>{"name":"calc","arguments":{"expression":"1+1"}}</tool_call>`
	r := setup(t, "", fakellm.Text(words))
	got := r.say("s", "go")
	if len(got.outcomes()) != 0 || got.text != words {
		t.Errorf("the person sees %q after %d calls", got.text, len(got.outcomes()))
	}
}

func TestAnEmptyAnswerIsAskedForOnceMore(t *testing.T) {
	t.Parallel()
	r := setup(t, "", fakellm.Answer{}, fakellm.Text("now"), fakellm.Answer{}, fakellm.Answer{}, fakellm.Text("fine"))
	if got := r.say("s", "go"); got.text != "now" {
		t.Errorf("the person sees %q (%s)", got.text, got.end.Text)
	}
	got := r.say("s", "again")
	if got.end.Type != agent.RunFailed {
		t.Errorf("two empty answers end as %s %q", got.end.Type, got.end.Text)
	}
	mustContain(t, "the message", got.end.Text, "the answer is empty", "go on")
	if got := r.say("s", "once more"); got.text != "fine" {
		t.Errorf("afterwards the person sees %q", got.text)
	}
}

func TestLettersAreNeverCut(t *testing.T) {
	t.Parallel()
	args := `{"path":"w.txt","content":"a界b"}`
	call := `data: {"choices":[{"index":0,"delta":{"content":"say 界!","tool_calls":[` + part(0, "c1", "file_write", args) + `]}}]}` + "\n\n"
	end := `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
	var bytes [][]byte
	for _, b := range []byte(call + end) {
		bytes = append(bytes, []byte{b})
	}
	r := setup(t, "", fakellm.Answer{RawBytes: bytes}, fakellm.Text(" done"))
	got := r.say("s", "go")
	if got.text != "say 界! done" {
		t.Errorf("the person sees %q", got.text)
	}
	if text, _ := r.file("w.txt"); text != "a界b" {
		t.Errorf("the file holds %q", text)
	}
}
