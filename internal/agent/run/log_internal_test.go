package run

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/agent"
)

// as leaves an event as it is.
func as(e agent.Event) agent.Event { return e }

// told is what a viewer was told, flat, so that it is the same however chunks
// were merged: a type with its text, neighbours of one text joined.
type told struct{ kinds, texts []string }

func (v *told) hear(e agent.Event) {
	chunk := e.Type == agent.TokenChunk || e.Type == agent.ReasoningChunk
	if n := len(v.kinds); chunk && n > 0 && v.kinds[n-1] == string(e.Type) {
		v.texts[n-1] += e.Text
		return
	}
	v.kinds, v.texts = append(v.kinds, string(e.Type)), append(v.texts, e.Text)
}

func (v told) String() string { return fmt.Sprintf("%q %q", v.kinds, v.texts) }

// viewer reads a log event by event and remembers what it had been told at
// each number that it saw.
type viewer struct {
	log  *eventLog
	at   int
	told told
	seen map[int]told
}

func (v *viewer) read(t *rapid.T) bool {
	e, ok, _ := v.log.after(v.at)
	if !ok {
		return false
	}
	if e.Seq <= v.at {
		t.Fatalf("event %d came behind %d", e.Seq, v.at)
	}
	v.at = e.Seq
	v.told.hear(e)
	v.seen[v.at] = told{append([]string(nil), v.told.kinds...), append([]string(nil), v.told.texts...)}
	return true
}

// However appending, reading, leaving and coming back behind any number that
// was seen follow each other, each viewer is told everything once.
func TestViewersAreToldEverythingOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		log := newEventLog(as)
		var all told
		var viewers []*viewer
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				kind := rapid.SampledFrom([]agent.EventType{agent.TokenChunk, agent.TokenChunk, agent.TokenChunk, agent.ReasoningChunk, agent.Retracted}).Draw(t, "type")
				e := agent.Event{Type: kind, Text: rapid.SampledFrom([]string{"", "a", "bc", "ü€"}).Draw(t, "text")}
				for range rapid.IntRange(1, 5).Draw(t, "times") {
					log.append(e)
					all.hear(e)
				}
			},
			"come": func(*rapid.T) {
				viewers = append(viewers, &viewer{log: log, seen: map[int]told{0: {}}})
			},
			"read": func(t *rapid.T) {
				for _, v := range viewers {
					if rapid.Bool().Draw(t, "reads") {
						v.read(t)
					}
				}
			},
			"resume": func(t *rapid.T) {
				for _, v := range viewers {
					var seen []int
					for at := range v.seen {
						seen = append(seen, at)
					}
					at := rapid.SampledFrom(seen).Draw(t, "behind")
					was := v.seen[at]
					v.at, v.told = at, told{append([]string(nil), was.kinds...), append([]string(nil), was.texts...)}
				}
			},
			"": func(t *rapid.T) {
				for _, v := range viewers {
					end := *v
					end.seen = map[int]told{}
					end.told = told{append([]string(nil), v.told.kinds...), append([]string(nil), v.told.texts...)}
					for end.read(t) {
					}
					if end.told.String() != all.String() {
						t.Fatalf("a viewer at %d was told\n%v\nof\n%v", v.at, end.told, all)
					}
				}
			},
		})
	})
}

// A number in the middle of chunks that are kept as one is a place, too.
func TestALogIsReadBehindAnyNumber(t *testing.T) {
	t.Parallel()
	log := newEventLog(as)
	words := strings.SplitAfter("one two three four", " ")
	log.append(agent.Event{Type: agent.RunStarted})
	for _, w := range words {
		log.append(agent.Event{Type: agent.TokenChunk, Text: w})
	}
	for after := 1; after <= len(words); after++ {
		e, ok, _ := log.after(after)
		if want := strings.Join(words[after-1:], ""); !ok || e.Text != want || e.Seq != len(words)+1 {
			t.Errorf("behind %d stands %q numbered %d, want %q", after, e.Text, e.Seq, want)
		}
	}
	if _, ok, more := log.after(len(words) + 1); ok || more == nil {
		t.Error("something stands behind the last event")
	}
}

// An answer takes about its own length, however many pieces it came in.
func TestALongAnswerStaysSmall(t *testing.T) {
	t.Parallel()
	const n = 1_000_000
	log := newEventLog(as)
	for range n {
		log.append(agent.Event{Type: agent.TokenChunk, Text: "word "})
	}
	if len(log.parts) != 1 || log.size() > 10*n {
		t.Errorf("%d chunks are %d parts of %d bytes", n, len(log.parts), log.size())
	}
	if c := log.parts[0].chunks; c.text.Cap() > 2*5*n || cap(c.ends) > 2*n {
		t.Errorf("room for %d bytes and %d places", c.text.Cap(), cap(c.ends))
	}
	if e, _, _ := log.after(n - 2); e.Text != "word word " || e.Seq != n {
		t.Errorf("the end is %q numbered %d", e.Text, e.Seq)
	}
}

// A tool that talks on and on doesn't fill the memory either.
func TestProgressIsForgotten(t *testing.T) {
	t.Parallel()
	log := newEventLog(as)
	for i := range 10 * maxProgress {
		log.append(agent.Event{Type: agent.ToolProgress, Text: fmt.Sprint(i), Tool: &agent.ToolEvent{ID: "a"}})
		if i == 7 {
			log.append(agent.Event{Type: agent.TokenChunk, Text: "kept"})
		}
	}
	var texts []string
	size := 0
	for at := 0; ; {
		e, ok, _ := log.after(at)
		if !ok {
			break
		}
		at = e.Seq
		texts = append(texts, e.Text)
		size += eventBytes(&e)
	}
	if n := len(texts); n < maxProgress+1 || n > 2*maxProgress || texts[0] != "kept" || texts[n-1] != fmt.Sprint(10*maxProgress-1) {
		t.Errorf("%d events from %q to %q", n, texts[0], texts[n-1])
	}
	if size != log.size() {
		t.Errorf("the log takes itself for %d bytes, it holds %d", log.size(), size)
	}
}

// BenchmarkLog is a chunk that is appended and read by a viewer that keeps up.
func BenchmarkLog(b *testing.B) {
	log := newEventLog(as)
	at := 0
	b.ReportAllocs()
	for b.Loop() {
		log.append(agent.Event{Type: agent.TokenChunk, Text: "word "})
		e, _, _ := log.after(at)
		at = e.Seq
	}
}
