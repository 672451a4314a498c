package demo

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/llm"
)

func offer(names ...string) (specs []llm.ToolSpec) {
	for _, n := range names {
		specs = append(specs, llm.ToolSpec{Name: n})
	}
	return specs
}

var all = offer("datetime", "file_list", "file_read", "file_write", "file_search", "file_delete", "calc", "read_output")

// ask streams one answer and checks what holds for each.
func ask(t *testing.T, req llm.Request) *llm.Reply {
	t.Helper()
	var streamed strings.Builder
	var reply *llm.Reply
	pieces := 0
	for e, err := range (Model{}).Stream(t.Context(), req) {
		if err != nil || reply != nil {
			t.Fatalf("%+v, %v", e, err)
		}
		switch e.Type {
		case llm.EventText:
			pieces++
			streamed.WriteString(e.Text)
		case llm.EventDone:
			reply = e.Reply
		}
	}
	if reply == nil || streamed.String() != reply.Message.Text() || !strings.HasPrefix(streamed.String(), Mark) || pieces < 3 {
		t.Fatalf("streamed %q in %d pieces, reply %+v", streamed.String(), pieces, reply)
	}
	if (len(reply.Message.Calls()) > 0) != (reply.Finish == llm.FinishCalls) || reply.Usage.Output == 0 {
		t.Fatalf("%+v", reply)
	}
	return reply
}

func TestWishes(t *testing.T) {
	t.Parallel()
	for said, want := range map[string][]llm.ToolCall{
		"calculate 2+2":                          {{Name: "calc", Arguments: `{"expression":"2+2"}`}},
		"What is (1 + 2) * 3?":                   {{Name: "calc", Arguments: `{"expression":"(1 + 2) * 3"}`}},
		"2^10 =":                                 {{Name: "calc", Arguments: `{"expression":"2^10"}`}},
		"please read notes.txt":                  {{Name: "file_read", Arguments: `{"path":"notes.txt"}`}},
		"show the file `docs/a b.md`":            {{Name: "file_read", Arguments: `{"path":"docs/a"}`}},
		"write notes.txt with \"hello there\"":   {{Name: "file_write", Arguments: `{"content":"hello there\n","path":"notes.txt"}`}},
		"Write a file a/b.md containing x\ny":    {{Name: "file_write", Arguments: `{"content":"x\ny\n","path":"a/b.md"}`}},
		"write hello to notes.txt":               {{Name: "file_write", Arguments: `{"content":"hello\n","path":"notes.txt"}`}},
		"search for hello world":                 {{Name: "file_search", Arguments: `{"query":"hello world"}`}},
		"delete the file a.md":                   {{Name: "file_delete", Arguments: `{"path":"a.md"}`}},
		"In a.csv, which rows are for Lima?":     {{Name: "file_read", Arguments: `{"path":"a.csv"}`}},
		"list the files":                         {{Name: "file_list", Arguments: `{}`}},
		"What time is it?":                       {{Name: "datetime", Arguments: `{}`}},
		"Hello! What can you do here?":           {{Name: "datetime", Arguments: `{}`}, {Name: "file_list", Arguments: `{}`}},
		"2026":                                   {{Name: "datetime", Arguments: `{}`}, {Name: "file_list", Arguments: `{}`}},
		"Write me a poem about rivers and tools": {{Name: "datetime", Arguments: `{}`}, {Name: "file_list", Arguments: `{}`}},
	} {
		got := ask(t, llm.Request{Tools: all, Messages: []llm.Message{llm.UserMessage(said)}})
		if diff := cmp.Diff(want, got.Message.Calls()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", said, diff)
		}
	}
}

// done appends the results of reply's calls, which get the ids 1, 2, ….
func done(messages []llm.Message, reply *llm.Reply, texts ...string) []llm.Message {
	results := llm.Message{Role: llm.Results}
	n := 0
	for _, p := range reply.Message.Parts {
		if p.Call == nil {
			continue
		}
		p.Call.ID = string(rune('1' + len(messages) + n))
		text, failed := strings.CutPrefix(texts[n], "!")
		results.Parts = append(results.Parts, llm.Part{Kind: llm.KindResult, Result: &llm.ToolResult{CallID: p.Call.ID, Name: p.Call.Name, Content: []llm.Part{llm.Text(text)}, IsError: failed}})
		n++
	}
	return append(messages, reply.Message, results)
}

func TestATurn(t *testing.T) {
	t.Parallel()
	messages := []llm.Message{llm.UserMessage("hi")}
	reply := ask(t, llm.Request{Tools: all, Messages: messages})
	messages = done(messages, reply, "Monday", "a.txt\nb.txt")
	reply = ask(t, llm.Request{Tools: all, Messages: messages})
	if text := reply.Message.Text(); len(reply.Message.Calls()) > 0 || !strings.Contains(text, "datetime says: Monday") || !strings.Contains(text, "file_list says:\n\n```\na.txt\nb.txt\n```") {
		t.Errorf("%q", text)
	}

	messages = append(messages, reply.Message, llm.UserMessage("write n.txt with hello"))
	reply = ask(t, llm.Request{Tools: all, Messages: messages})
	messages = done(messages, reply, "Wrote 6 bytes.")
	reply = ask(t, llm.Request{Tools: all, Messages: messages})
	if diff := cmp.Diff([]llm.ToolCall{{Name: "file_read", Arguments: `{"path":"n.txt"}`}}, reply.Message.Calls()); diff != "" {
		t.Fatalf("after writing (-want +got):\n%s", diff)
	}
	messages = done(messages, reply, "hello")
	reply = ask(t, llm.Request{Tools: all, Messages: messages})
	if text := reply.Message.Text(); !strings.Contains(text, "file_write n.txt says: Wrote") || !strings.Contains(text, "file_read n.txt says: hello") || strings.Contains(text, "Monday") {
		t.Errorf("%q", text)
	}

	messages = append(messages, reply.Message, llm.UserMessage("read none.txt"))
	reply = ask(t, llm.Request{Tools: all, Messages: messages})
	reply = ask(t, llm.Request{Tools: all, Messages: done(messages, reply, "!no such file")})
	if text := reply.Message.Text(); !strings.Contains(text, "file_read none.txt failed: no such file") {
		t.Errorf("%q", text)
	}

	reply = ask(t, llm.Request{Tools: all, Messages: append(messages, llm.UserMessage("tell me a joke"))})
	if text := reply.Message.Text(); len(reply.Message.Calls()) > 0 || !strings.Contains(text, "not in it") {
		t.Errorf("%q", text)
	}
}

func TestOnlyOfferedToolsAreCalled(t *testing.T) {
	t.Parallel()
	for _, req := range []llm.Request{
		{Tools: offer("datetime"), Messages: []llm.Message{llm.UserMessage("read a.txt")}},
		{Tools: all, Choice: llm.ChoiceNone, Messages: []llm.Message{llm.UserMessage("read a.txt")}},
		{},
	} {
		if reply := ask(t, req); len(reply.Message.Calls()) > 0 {
			t.Errorf("%+v", reply.Message)
		}
	}
	reply := ask(t, llm.Request{Tools: offer("datetime"), Messages: []llm.Message{llm.UserMessage("hi")}})
	if calls := reply.Message.Calls(); len(calls) != 1 || calls[0].Name != "datetime" {
		t.Errorf("%+v", calls)
	}
	// A file that was written can't be read back where nothing reads.
	messages := []llm.Message{llm.UserMessage("write n.txt with hello")}
	reply = ask(t, llm.Request{Tools: offer("file_write"), Messages: messages})
	reply = ask(t, llm.Request{Tools: offer("file_write"), Messages: done(messages, reply, "ok")})
	if len(reply.Message.Calls()) > 0 {
		t.Errorf("%+v", reply.Message)
	}
}

func TestSlowlyAndStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		req := llm.Request{Messages: []llm.Message{llm.UserMessage("tell me slowly")}}
		begin := time.Now()
		ask(t, req)
		if time.Since(begin) < 10*pace {
			t.Errorf("it took %s", time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*pace+pace/2)
		defer cancel()
		words := 0
		for e, err := range (Model{}).Stream(ctx, req) {
			if err != nil {
				if !errors.Is(err, context.DeadlineExceeded) || words != 3 {
					t.Errorf("%v after %d words", err, words)
				}
				return
			}
			words++
			_ = e
		}
		t.Error("it was not stopped")
	})
}

func TestLongResultsAreClipped(t *testing.T) {
	t.Parallel()
	messages := []llm.Message{llm.UserMessage("read a.txt")}
	reply := ask(t, llm.Request{Tools: all, Messages: messages})
	reply = ask(t, llm.Request{Tools: all, Messages: done(messages, reply, strings.Repeat("界", 5000))})
	if text := reply.Message.Text(); len(text) > 2*maxShown || !strings.Contains(text, "…") || strings.Contains(text, "\uFFFD") {
		t.Errorf("%q", text)
	}
}

func TestALargeTableIsSearched(t *testing.T) {
	t.Parallel()
	asked := []llm.Message{llm.UserMessage("in a.csv, rows with Lima")}
	first := ask(t, llm.Request{Tools: all, Messages: asked})
	kept := done(asked, first, "[LARGE OUTPUT: file_read | type:csv | ref:0123456789abcdef]")
	second := ask(t, llm.Request{Tools: all, Messages: kept})
	want := []llm.ToolCall{
		{Name: "read_output", Arguments: `{"mode":"stats","ref":"0123456789abcdef"}`},
		{Name: "read_output", Arguments: `{"mode":"search","query":"Lima","ref":"0123456789abcdef"}`},
	}
	if diff := cmp.Diff(want, second.Message.Calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	last := ask(t, llm.Request{Tools: all, Messages: done(kept, second, "2 records", "1: Lima")})
	if text := last.Message.Text(); !strings.Contains(text, "1: Lima") || strings.Contains(text, "2 records") {
		t.Errorf("answer: %s", text)
	}
	// A small table is shown as it is.
	small := ask(t, llm.Request{Tools: all, Messages: done(asked, first, "city\nLima")})
	if len(small.Message.Calls()) > 0 || !strings.Contains(small.Message.Text(), "Lima") {
		t.Errorf("answer: %+v", small.Message)
	}
}
