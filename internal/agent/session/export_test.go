package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/store/sqlite/sqlitetest"
	"github.com/goclaw/goclaw/internal/tool"
)

var update = flag.Bool("update", false, "write the golden files")

// stored stores turns through a real store and returns it with their session.
func stored(t *testing.T, turns ...session.Turn) (session.Store, session.Key) {
	t.Helper()
	s, key := sqlitetest.Open(t, filepath.Join(t.TempDir(), "state.db")).Sessions(), session.Key{Agent: "main", ID: "demo"}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	number := 0
	for _, turn := range turns {
		_, err := s.Begin(t.Context(), key, turn, session.Title(turn.Message))
		check(err)
		for _, r := range turn.Rounds {
			number++
			r.Number = number
			check(s.Called(t.Context(), turn.Run, &r))
			if len(r.Outcomes) > 0 && r.Outcomes[0].Status == "" {
				continue // it was never answered
			}
			check(s.Settled(t.Context(), turn.Run, &r))
		}
		check(s.End(t.Context(), turn.Run, agent.End{Status: turn.Status, Error: turn.Error, Time: turn.Started.Add(time.Minute)}))
	}
	return s, key
}

func TestExportMarkdown(t *testing.T) {
	t.Parallel()
	at := time.Date(2025, 11, 30, 21, 15, 0, 0, time.UTC)
	ada := auth.Principal{ID: "ada", Name: "Ada *L.*", Role: auth.User, Human: true}
	looked := done(done(reply(llm.FinishCalls, llm.Text("Let me look."), call("a"), call("b")), 0, tool.OK, "one\n```\ntwo\n````\n"), 1, tool.Failed, "no such file: \x1b[31mb")
	looked.Outcomes[0].Args = json.RawMessage(`{"path":"a"}`)
	looked.Outcomes[0].Started, looked.Outcomes[0].Ended = at, at.Add(1234567*time.Nanosecond)
	open := reply(llm.FinishCalls, call("c"))
	s, key := stored(t,
		session.Turn{
			Run: "1", Caller: ada, Started: at, Status: agent.Done,
			Message: llm.Message{Role: llm.User, Parts: []llm.Part{
				llm.Text("Read `a` & b\n\n## please\n```go\nfunc main() {"),
				{Kind: llm.KindContext, Text: "Now: noon"},
				{Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png", Name: "cat.png"}},
			}},
			Rounds: []agent.Round{looked, reply(llm.FinishStop, llm.Text("Done:\n\n- one\n  ```sh\n  ls\n  ```\n"))},
		},
		session.Turn{
			Run: "2", Caller: auth.Principal{ID: "bob", Role: auth.User}, Started: at.Add(time.Hour), Status: agent.Stopped, Message: llm.UserMessage("go on"),
			Rounds: []agent.Round{open},
		},
		session.Turn{
			Run: "3", Caller: auth.Principal{ID: "bob", Role: auth.User}, Started: at.Add(2 * time.Hour), Status: agent.Failed, Error: "openai: *overloaded* <now>", Message: llm.UserMessage("and now?"),
			Rounds: []agent.Round{
				{Before: []llm.Message{llm.UserMessage("quick!")}, Reply: llm.Reply{Message: llm.AssistantMessage("It is <!-- a comment that\n\n```never ends")}},
			},
		},
	)
	var b strings.Builder
	if err := session.ExportMarkdown(t.Context(), &b, s, key); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "export.md")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzExportMarkdown: whatever is said, each turn's heading is a heading of
// the document, and there are no others at its level but those of answers.
func FuzzExportMarkdown(f *testing.F) {
	for _, s := range []string{"plain", "```", "~~~~\n", "<!--", "<script>", "<pre>", "- a\n  ```", "> ```", "\\", "[a]: <", "\x1b]0;x\a", "\r\n\r", "\t```"} {
		f.Add(s, s, s)
	}
	f.Fuzz(func(t *testing.T, ask, answer, result string) {
		r := done(reply(llm.FinishCalls, llm.Text(answer), call("a")), 0, tool.OK, result)
		turn := session.Turn{Run: "1", Message: llm.UserMessage(ask), Status: agent.Done, Rounds: []agent.Round{r, reply(llm.FinishStop, llm.Text(answer))}}
		last := session.Turn{Number: 2, Run: "2", Message: llm.UserMessage("end"), Status: agent.Done}
		turn.Number = 1
		var b strings.Builder
		if err := session.ExportMarkdown(t.Context(), &b, two{turns: []session.Turn{turn, last}}, session.Key{}); err != nil {
			t.Fatal(err)
		}
		src := []byte(b.String())
		doc := goldmark.DefaultParser().Parse(text.NewReader(src))
		var headings []string
		for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
			if h, ok := n.(*ast.Heading); ok && h.Level == 2 {
				headings = append(headings, string(h.Lines().Value(src)))
			}
		}
		if len(headings) < 2 || !strings.HasPrefix(headings[0], "1. ") || !strings.HasPrefix(headings[len(headings)-1], "2. ") {
			t.Errorf("headings %q of\n%s", headings, src)
		}
		if i := strings.IndexFunc(b.String(), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }); i >= 0 {
			t.Errorf("a control character at %d", i)
		}
	})
}

// two is a store of two turns, as an export reads it: a real one for each
// fuzzed input would take the time.
type two struct {
	session.Store
	turns []session.Turn
}

func (s two) Session(context.Context, session.Key) (session.Session, error) {
	return session.Session{Title: s.turns[0].Message.Text()}, nil
}

func (s two) Turns(context.Context, session.Key, int, int, session.Depth) ([]session.Turn, error) {
	return s.turns, nil
}

func TestExportFails(t *testing.T) {
	t.Parallel()
	s, key := stored(t, session.Turn{Run: "1", Message: llm.UserMessage("hi"), Started: time.Now(), Status: agent.Done})
	full := errors.New("disk full")
	if err := session.ExportJSONL(t.Context(), failing{full}, s, key); !errors.Is(err, full) {
		t.Errorf("JSONL: %v", err)
	}
	if err := session.ExportMarkdown(t.Context(), failing{full}, s, key); !errors.Is(err, full) {
		t.Errorf("Markdown: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// What was tried for an answer is exported with it.
func TestExportHasWhatWasTried(t *testing.T) {
	t.Parallel()
	s, key := stored(t, session.Turn{Run: "run1", Message: llm.UserMessage("hi"), Status: agent.Done, Started: time.Unix(1, 0), Caller: auth.Principal{ID: "ada", Role: auth.User}, Rounds: []agent.Round{{
		Reply: llm.Reply{Message: llm.AssistantMessage("hello"), Finish: llm.FinishStop}, Retracted: 1,
		Attempts: []llm.Attempt{{Class: llm.ClassOverloaded, Message: "too many requests"}},
	}}})
	var b strings.Builder
	if err := session.ExportJSONL(t.Context(), &b, s, key); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"class":"overloaded"`, `"message":"too many requests"`, `"retracted":1`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %s in\n%s", want, b.String())
		}
	}
}
