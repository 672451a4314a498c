package provider

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/llm"
)

// Whatever attempts bring in whatever pieces, in the end the screen shows the
// last one, and what stood there was never said twice in between.
func TestTheScreenShowsTheLastAttempt(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom([]string{"a", "b", "ab", "", "界"})
	rapid.Check(t, func(t *rapid.T) {
		var screen, thought string
		s := &shown{yield: func(e llm.Event, _ error) bool {
			switch e.Type {
			case llm.EventText:
				screen += e.Text
			case llm.EventReasoning:
				thought += e.Text
			case llm.EventRetracted:
				screen, thought = "", ""
			}
			return true
		}}
		for range rapid.IntRange(1, 4).Draw(t, "attempts") {
			s.begin()
			var text, reasoning string
			for range rapid.IntRange(0, 6).Draw(t, "pieces") {
				e := llm.Event{Type: llm.EventText, Text: word.Draw(t, "word")}
				if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
					e.Type = llm.EventReasoning
					reasoning += e.Text
				} else {
					text += e.Text
				}
				s.take(e)
				if !strings.HasPrefix(screen, text) || !strings.HasPrefix(thought, reasoning) {
					t.Fatalf("the screen shows %q and %q while %q and %q were said", screen, thought, text, reasoning)
				}
			}
			s.end()
			if screen != text || thought != reasoning {
				t.Fatalf("the screen shows %q and %q, the attempt said %q and %q", screen, thought, text, reasoning)
			}
		}
	})
}
