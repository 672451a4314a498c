package ollama

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// The parts of a reply: what was thought, marked as ours, what was said, what
// is called.
func TestParts(t *testing.T) {
	t.Parallel()
	s := fakellm.Start(t, lines(`{"model":"qwen3:latest","message":{"role":"assistant","content":"","thinking":"So"}}`, lnHel, lnCall, lnDone))
	got := ask(t.Context(), open(t, provider.Settings{BaseURL: s.URL}), hello())
	if got.err != nil {
		t.Fatal(got.err)
	}
	want := []llm.Part{thought("So"), llm.Text("Hel"), use("call_a", "file_read", `{"path":"a.txt"}`)}
	if diff := cmp.Diff(want, got.reply.Message.Parts); diff != "" || got.reply.Model != "qwen3:latest" {
		t.Errorf("%s (-want +got):\n%s", got.reply.Model, diff)
	}
}

// A stream that ends early is dead: no byte is one at which a part of an answer
// passes for all of it.
func TestNoPartOfAnAnswerPassesForAllOfIt(t *testing.T) {
	t.Parallel()
	whole := strings.Join([]string{lnHel, strings.Replace(lnLo, "lo", "lo 界", 1), lnCall, lnDone, ""}, "\n")
	for i := range len(whole) + 1 {
		var got *llm.Reply
		err := readAll(t, whole[:i], func(e llm.Event, _ error) bool {
			if e.Type == llm.EventDone {
				got = e.Reply
			}
			return true
		})
		if i < len(whole)-1 {
			if err == nil || got != nil {
				t.Errorf("%d bytes: %+v, %v", i, got, err)
			}
			continue
		}
		if err != nil || got.Message.Text() != "Hello 界" || len(got.Message.Calls()) != 1 {
			t.Errorf("%d bytes: %+v, %v", i, got, err)
		}
	}
}

func TestTooMuch(t *testing.T) {
	t.Parallel()
	r := &reply{size: provider.MaxReply}
	if err := r.line([]byte(lnHel)); !errors.Is(err, provider.ErrHuge) {
		t.Error(err)
	}
	many := `{"message":{"tool_calls":[` + strings.Repeat(`{"function":{}},`, 100_000) + `{}]},"done":true}`
	if err := (&reply{}).line([]byte(many)); !errors.Is(err, provider.ErrHuge) {
		t.Error(err)
	}
}

// Whatever comes, nothing panics, text stays UTF-8, what was told as it came is
// what the reply holds, and the reply goes back in a valid request. It is no
// fuzz target, for which the compiler would instrument the SDK.
func TestAnyReply(t *testing.T) {
	t.Parallel()
	words := rapid.SampledFrom([]string{"", "a", "{\\\"a\\\":", "1}", "\xe7\x95", "\x8c", "\\ud83d", "\\ude00", "\\n", "\\q", " "})
	args := rapid.SampledFrom([]string{`{}`, `{"b":1,"a":"\ud83d"}`, `"{}"`, `"{\"a\":"`, `null`, `[1]`, `"\xe7"`, `3`, `{"a":`})
	line := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) string {
			return `{"message":{"content":"` + words.Draw(t, "content") + `","thinking":"` + words.Draw(t, "thinking") + `"},"done":false}`
		}),
		rapid.Custom(func(t *rapid.T) string {
			return `{"message":{"content":"` + words.Draw(t, "content") + `","tool_calls":[{"id":"` + words.Draw(t, "id") + `","function":{"name":"` +
				words.Draw(t, "name") + `","arguments":` + args.Draw(t, "args") + `}}]}}`
		}),
		rapid.SampledFrom([]string{lnHel, lnLo, lnCall, ended("length"), `{"error":"x"}`, `{"error":{"message":1}}`, `{"done":"true"}`, `{"message":[]}`, "{", "x"}),
		rapid.StringMatching(`[{}\[\]",:a-z0-9\\]*`),
	)
	rapid.Check(t, func(t *rapid.T) {
		var stream strings.Builder
		for range rapid.IntRange(0, 8).Draw(t, "lines") {
			stream.WriteString(line.Draw(t, "line") + rapid.SampledFrom([]string{"\n", "\r\n", "\n\n"}).Draw(t, "end"))
		}
		if rapid.IntRange(0, 5).Draw(t, "ends") > 0 {
			stream.WriteString(lnDone)
		}
		var told, thoughts string
		var got *llm.Reply
		_, watch := provider.Limits{}.Watch(t.Context())
		defer watch.Stop()
		err := read(answering(stream.String()), watch, llm.Target{}, func(e llm.Event, _ error) bool {
			switch e.Type {
			case llm.EventText:
				told += e.Text
			case llm.EventReasoning:
				thoughts += e.Text
			case llm.EventDone:
				got = e.Reply
			}
			return true
		})
		if err != nil {
			if e := provider.Failure(err); e.Class == "" || e.Message == "" || got != nil {
				t.Fatalf("%v became %+v", err, e)
			}
			return
		}
		reasoned := ""
		for _, p := range got.Message.Parts {
			if p.Kind == llm.KindReasoning {
				reasoned += p.Text
			}
		}
		if got.Message.Text() != told || reasoned != thoughts {
			t.Fatalf("told %q and %q, holds %+v", told, thoughts, got.Message)
		}
		stored, err := json.Marshal(got.Message)
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(stored) {
			t.Fatalf("stored as %s", stored)
		}
		req := hello()
		if err := json.Unmarshal(stored, &got.Message); err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, got.Message)
		body, err := encode(&req, (&Model{}).formOf(&req, 0))
		if err != nil {
			t.Fatal(err)
		}
		if err := fakellm.CheckOllama(body); err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
	})
}
