package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/agent"
)

// encoded is an event as the standard library writes it.
func encoded(t interface{ Fatal(...any) }, e *agent.Event) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func TestChunksAreWrittenAsJSONWritesThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.String(),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }), // not UTF-8
			rapid.SampledFrom([]string{"", "<b>&\u2028\u2029\x7f\x00\b\f\n\r\t\"\\", "a\xe2\x80"}),
		)
		e := agent.Event{
			Type:    rapid.SampledFrom([]agent.EventType{agent.TokenChunk, agent.ReasoningChunk}).Draw(t, "type"),
			Run:     text.Draw(t, "run"),
			Session: text.Draw(t, "session"),
			Agent:   text.Draw(t, "agent"),
			Seq:     rapid.Int().Draw(t, "seq"),
			Time:    time.Unix(rapid.Int64Range(-1<<33, 1<<36).Draw(t, "s"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns")).In(time.FixedZone("", rapid.IntRange(-12, 12).Draw(t, "zone")*1800)),
			Text:    text.Draw(t, "text"),
		}
		if !isChunk(&e) {
			t.Fatal("it is no chunk")
		}
		if got, want := string(appendChunk(nil, &e)), encoded(t, &e); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// Every field of an event that a chunk doesn't write makes it none.
func TestAChunkHasNothingElse(t *testing.T) {
	t.Parallel()
	for _, e := range []agent.Event{
		{Type: agent.TokenChunk, Kind: "k"},
		{Type: agent.TokenChunk, Ref: "r"},
		{Type: agent.TokenChunk, Target: &target},
		{Type: agent.TokenChunk, Request: &agent.RequestFacts{}},
		{Type: agent.TokenChunk, Tool: &agent.ToolEvent{}},
		{Type: agent.TokenChunk, End: &agent.RunEnd{}},
		{Type: agent.Notice},
	} {
		if isChunk(&e) {
			t.Errorf("%+v is taken for a chunk", e)
		}
	}
}

// sink is a client that reads everything at once.
type sink struct {
	io.Writer
	h       http.Header
	flushes int
}

func (w *sink) Header() http.Header              { return w.h }
func (w *sink) WriteHeader(int)                  {}
func (w *sink) FlushError() error                { w.flushes++; return nil }
func (w *sink) SetWriteDeadline(time.Time) error { return nil }

func TestWhatWaitsGoesOutInOnePiece(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := &sink{Writer: &b, h: http.Header{}}
	st, err := newEventStream(w)
	if err != nil {
		t.Fatal(err)
	}
	w.flushes = 0
	items := make([]item, 100)
	for i := range items {
		items[i].event = agent.Event{Type: agent.TokenChunk, Seq: i + 1, Text: "word "}
	}
	if err := st.sendAll(items); err != nil {
		t.Fatal(err)
	}
	if w.flushes != 1 {
		t.Errorf("%d flushes for 100 events that waited", w.flushes)
	}
	n := 0
	for range newSSE(&b).events() {
		n++
	}
	if n != 100 {
		t.Errorf("%d events came", n)
	}
}

func BenchmarkStreamChunks(b *testing.B) {
	st, err := newEventStream(&sink{Writer: io.Discard, h: http.Header{}})
	if err != nil {
		b.Fatal(err)
	}
	items := []item{{event: agent.Event{
		Type: agent.TokenChunk, Run: "abcdefghij234567", Session: "abcdefghij234567", Agent: "main", Seq: 1234,
		Time: time.Now(), Text: "a \"word\" or two",
	}}}
	b.ReportAllocs()
	for b.Loop() {
		if err := st.sendAll(items); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncodeChunk is what the standard library takes for the same.
func BenchmarkEncodeChunk(b *testing.B) {
	st, err := newEventStream(&sink{Writer: io.Discard, h: http.Header{}})
	if err != nil {
		b.Fatal(err)
	}
	e := &agent.Event{
		Type: agent.TokenChunk, Run: "abcdefghij234567", Session: "abcdefghij234567", Agent: "main", Seq: 1234,
		Time: time.Now(), Text: "a \"word\" or two",
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := st.send("1234", "token_chunk", e); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFollow is one chunk on its whole way: from who brings it through
// the feed to the wire.
func BenchmarkFollow(b *testing.B) {
	w := &sink{Writer: io.Discard, h: http.Header{}}
	st, err := newEventStream(w)
	if err != nil {
		b.Fatal(err)
	}
	chunk := item{event: agent.Event{
		Type: agent.TokenChunk, Run: "abcdefghij234567", Session: "abcdefghij234567", Agent: "main", Seq: 1234,
		Time: time.Now(), Text: "a \"word\" or two",
	}}
	b.ReportAllocs()
	err = follow(b.Context(), st, func(context.Context) iter.Seq[item] {
		return func(yield func(item) bool) {
			for b.Loop() {
				if !yield(chunk) {
					return
				}
			}
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(w.flushes)/float64(b.N), "flushes/op")
}
