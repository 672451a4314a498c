package code

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/guard/process"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// echoing is a host whose one tool says what it was called with.
type echoing struct{ tool.Host }

var echo = tool.Definition{Name: "echo", Description: "Says what it is called with.", Traits: tool.Traits{ReadOnly: true}}

func (echoing) Progress(string)              {}
func (echoing) Permitted() []tool.Definition { return []tool.Definition{echo} }

func (echoing) Search(string, int) tool.Found {
	return tool.Found{Tools: []tool.Match{{Name: "echo"}}, Withheld: []tool.Removal{{Tool: "x", Reason: "x needs an administrator"}}}
}

func (echoing) Resolve(name string) (tool.Definition, error) {
	if name != "echo" {
		return tool.Definition{}, errors.New("there is no such tool")
	}
	return echo, nil
}

func (echoing) Call(_ context.Context, name string, args json.RawMessage) tool.Outcome {
	if name != "echo" {
		return tool.Outcome{Tool: name, Status: tool.Refused, Content: []llm.Part{llm.Text("Refused: there is no such tool")}}
	}
	return tool.Outcome{Tool: name, Status: tool.OK, Content: []llm.Part{llm.Text(string(args))}}
}

// written is where a process reads.
type written struct{ bytes.Buffer }

func (*written) Close() error { return nil }

// Whatever a process says, it is told off or gets one whole line for its
// request, under the number that it gave, and what the model reads is text.
func FuzzWire(f *testing.F) {
	for _, seed := range []string{
		`{"op":"search","id":1,"name":"echo"}`, `{"op":"describe","id":2,"name":"echo"}`, `{"op":"describe","id":-3,"name":"x\u0000"}`,
		`{"op":"call","id":4,"name":"echo","args":{"a":[1,"\n"]}}`, `{"op":"call","id":5,"name":"echo"}`, `{"op":"call","name":"tool_code"}`,
		`{"op":"end","end":{"value":"v","console":["a","b\nc"],"dropped":2,"unheard":["e"]}}`, `{"op":"end","end":{"error":"Error: x"}}`,
		`{"op":"end"}`, `{"op":"wait"}`, `{"op":"wait","heard":1}`, `{"op":"call","args":[`, `null`, `[]`, ``,
		`{"op":"end","end":{"value":""}}`, "{\"op\":\"end\",\"end\":{\"value\":{\"a\":\"\xff\"}}}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var in written
		s := newSession(t.Context(), &process.Child{In: &in}, echoing{}, usual)
		s.rest = func() {}
		s.writing.Go(s.writeReplies)
		e, err := s.hear(line)
		s.finish()
		if e != nil || err != nil {
			if in.Len() > 0 {
				t.Errorf("it is told %q as well", in.String())
			}
			if e != nil {
				if text := llm.JoinText(s.result(*e).Content); !utf8.ValidString(text) {
					t.Errorf("the model reads %q", text)
				}
			}
			return
		}
		var asked request
		if err := json.Unmarshal(line, &asked); err != nil {
			t.Fatal(err)
		}
		if asked.Op == "wait" {
			if in.Len() > 0 || (s.rest == nil) != (asked.Heard == 0) {
				t.Errorf("it is told %q and may work: %v", in.String(), s.rest != nil)
			}
			return
		}
		var got reply
		if err := json.Unmarshal(in.Bytes(), &got); err != nil || strings.Count(in.String(), "\n") != 1 || got.ID != asked.ID || (got.Error == "") == (got.Value == nil) {
			t.Errorf("it gets %q: %v", in.String(), err)
		}
	})
}

// breaking is a host whose calls panic.
type breaking struct{ echoing }

func (breaking) Call(context.Context, string, json.RawMessage) tool.Outcome { panic("broken") }

// A call that breaks is answered like one that failed, and the script goes on.
func TestACallThatBreaksCostsItselfOnly(t *testing.T) {
	t.Parallel()
	r := NewRunner(Self())
	res, err := r.run(t.Context(), tool.Call{Host: breaking{}}, scriptIn{Script: `try { await tools.call("echo") } catch (e) { return e.message }`})
	if err != nil {
		t.Fatal(err)
	}
	d := res.Details.(scriptDetails)
	if got := llm.JoinText(res.Content); !strings.Contains(got, "broke while it worked on this call (broken)") || len(d.Calls) != 1 || d.Calls[0].Status != tool.Panicked {
		t.Errorf("got %q, calls %+v", got, d.Calls)
	}
}

// stalled is where a process reads that takes a line in only when it may go on.
type stalled struct {
	written
	begun chan struct{} // gets something for each line that is on its way
	goOn  chan struct{}
}

func (w *stalled) Write(p []byte) (int, error) {
	w.begun <- struct{}{}
	<-w.goOn
	return w.written.Write(p)
}

// What a process says is heard also while it doesn't read what it is told: it may
// be writing itself.
func TestAProcessIsHeardWhileItDoesNotRead(t *testing.T) {
	t.Parallel()
	in := &stalled{begun: make(chan struct{}, 3), goOn: make(chan struct{})}
	s := newSession(t.Context(), &process.Child{In: in}, echoing{}, usual)
	s.rest = func() {}
	s.writing.Go(s.writeReplies)
	hear := func(line string) {
		t.Helper()
		if e, err := s.hear([]byte(line)); e != nil || err != nil {
			t.Fatal(e, err)
		}
	}
	hear(`{"op":"call","id":1,"name":"echo","args":{}}`)
	<-in.begun
	s.calls.Wait()
	hear(`{"op":"wait"}`)
	hear(`{"op":"search","id":2,"name":"echo"}`)
	s.mu.Lock()
	if s.rest == nil {
		t.Error("its turn was taken away while a reply was on its way")
	}
	s.mu.Unlock()
	if s.waits() {
		t.Error("it counts as waiting although no call runs")
	}
	close(in.goOn)
	s.finish()
	if got := in.String(); strings.Count(got, "\n") != 2 || !strings.HasPrefix(got, `{"id":1,`) || !strings.Contains(got, `{"id":2,`) {
		t.Errorf("it is told %q", got)
	}
}
