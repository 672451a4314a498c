package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// Counts may come at the beginning, at the end, or in both, where they have
// grown or are left out.
func TestUsage(t *testing.T) {
	t.Parallel()
	r := &reply{}
	for _, e := range []string{
		`{"type":"message_start","message":{"usage":{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":70,"output_tokens":1,"cache_creation":{"ephemeral_5m_input_tokens":20}}}}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":0,"cache_read_input_tokens":null,"output_tokens":9,"output_tokens_details":{"thinking_tokens":4},"server_tool_use":null}}`,
	} {
		if err := r.event([]byte(e)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := r.done(llm.Target{}).Usage, (llm.Usage{Input: 100, Cached: 70, CacheWrite: 20, Output: 9, Reasoning: 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestMalformedPieces(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{`{`, `{"type":"ping"`, `{"type":"ping"} x`, `{"type":}`, `{"type" "ping"}`} {
		if err := (&reply{}).event([]byte(piece)); !errors.Is(err, provider.ErrMalformed) {
			t.Errorf("%s: %v", piece, err)
		}
	}
	r := &reply{}
	for _, piece := range []string{
		``, `ping`, `[1]`, `null`, `{}`, `{"type":5}`, `{"type":"message_start"}`, `{"type":"message_start","message":[]}`, `{"type":"message_start","message":{"content":{},"usage":7,"id":1}}`,
		`{"type":"content_block_start"}`, `{"type":"content_block_start","index":"x","content_block":"y"}`, `{"type":"content_block_delta","index":3,"delta":null}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{}"}}`, `{"type":"content_block_delta","index":3,"delta":{"text":7}}`,
		`{"type":"content_block_stop","index":9}`, `{"type":"message_delta"}`, `{"type":"message_delta","delta":{"stop_reason":null},"usage":[]}`, `{"type":"error","error":null}`,
	} {
		if err := r.event([]byte(piece)); err != nil {
			t.Errorf("%s: %v", piece, err)
		}
	}
	if got := r.done(llm.Target{}); len(got.Message.Parts) != 0 || r.stop != "" || r.ended {
		t.Errorf("%+v", got)
	}
}

// A reply is bounded whatever its pieces are.
func TestHugeReplies(t *testing.T) {
	t.Parallel()
	r := &reply{size: provider.MaxReply - provider.PartSize - 2}
	if err := r.event([]byte(`{"type":"content_block_delta","delta":{"text":"ab"}}`)); err != nil {
		t.Error(err)
	}
	if err := r.event([]byte(`{"type":"content_block_delta","delta":{"text":"c"}}`)); !errors.Is(err, provider.ErrHuge) {
		t.Error(err)
	}
	many := `{"type":"message","content":[` + strings.Repeat(`{"type":"text","text":"a"},`, 100_000) + `{}],"stop_reason":"end_turn"}`
	if err := (&reply{}).event([]byte(many)); !errors.Is(err, provider.ErrHuge) {
		t.Error(err)
	}
	if e := provider.Failure(provider.ErrHuge); e.Class != llm.ClassUnknown {
		t.Errorf("%+v", e)
	}
}

// Whatever comes, nothing panics, text stays UTF-8, what was told as it came is
// what the reply holds, and the reply goes back in a valid request. It is no
// fuzz target, for which the compiler would instrument the SDK, for minutes.
func TestAnyReply(t *testing.T) {
	t.Parallel()
	kinds := rapid.SampledFrom([]string{"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", ""})
	words := rapid.SampledFrom([]string{"", "a", "{\"a\":", "1}", "{}", "\xe7\x95", "\x8c", "\\ud83d", "\\ude00", "\\n", "\\q", " "})
	event := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"%s","id":"%s","name":"%s","text":"%s","signature":"%s","data":"%s","input":{}}}`,
				rapid.IntRange(0, 2).Draw(t, "index"), kinds.Draw(t, "kind"), words.Draw(t, "id"), words.Draw(t, "name"), words.Draw(t, "text"), words.Draw(t, "signature"), words.Draw(t, "data"))
		}),
		rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"%s":"%s"}}`,
				rapid.IntRange(0, 2).Draw(t, "index"), rapid.SampledFrom([]string{"text", "thinking", "signature", "partial_json", "citation"}).Draw(t, "member"), words.Draw(t, "piece"))
		}),
		rapid.SampledFrom([]string{
			evStart, evText, evHel, evLo, evClose, evStop, evEnd, evPing, stopped("max_tokens"), stopped("tool_use"), stopped("refusal"), "ping", "",
			`{"type":"message","content":[{"type":"text","text":"a"},{"type":"tool_use","name":"x","input":{"a":1}}],"stop_reason":"tool_use"}`,
			`{"type":"error","error":{"message":{"a":1},"type":"x"}}`, `{"error":"x"}`,
		}),
		rapid.StringMatching(`[{}\[\]",:a-z0-9\\]*`),
	)
	rapid.Check(t, func(t *rapid.T) {
		r := &reply{}
		var told, thought int
		var got *llm.Reply
		keep := func(e llm.Event, _ error) bool {
			switch e.Type {
			case llm.EventText:
				told += len(e.Text)
			case llm.EventReasoning:
				thought += len(e.Text)
			case llm.EventDone:
				got = e.Reply
			}
			return true
		}
		for range rapid.IntRange(0, 12).Draw(t, "events") {
			data := []byte(event.Draw(t, "event"))
			if rapid.IntRange(0, 20).Draw(t, "whole") == 0 && len(data) > 0 {
				data = data[:rapid.IntRange(0, len(data)-1).Draw(t, "cut")]
			}
			if err := r.event(data); err != nil {
				if e := provider.Failure(err); e.Class == "" || e.Message == "" {
					t.Fatalf("%v became %+v", err, e)
				}
				return
			}
			r.tell(keep)
		}
		r.end(llm.Target{}, keep)
		reasoned := 0
		for _, p := range got.Message.Parts {
			if p.Kind == llm.KindReasoning {
				reasoned += len(p.Text)
			}
		}
		// Blocks may come interleaved, so letters are only counted.
		if text := got.Message.Text(); len(text) != told || reasoned != thought {
			t.Fatalf("told %d and %d bytes, holds %+v", told, thought, got.Message)
		}
		stored, err := json.Marshal(got.Message)
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(stored) || strings.Contains(string(stored), `\ufffd`) {
			t.Fatalf("stored as %s", stored)
		}
		var msg llm.Message
		if err := json.Unmarshal(stored, &msg); err != nil {
			t.Fatal(err)
		}
		req := hello()
		req.Messages = append(req.Messages, msg)
		body, err := encode(&req, formOf(&req, 0, false))
		if err != nil {
			t.Fatal(err)
		}
		if err := fakellm.CheckMessages(body); err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
	})
}
