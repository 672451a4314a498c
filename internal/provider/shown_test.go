package provider

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/llm"
)

// Whatever attempts bring in whatever pieces, in the end the screen shows the
// last one, and what stood there was never said twice in between. What the last
// one thought is shown as well, unless it only repeats an answer.
func TestTheScreenShowsTheLastAttempt(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom([]string{"a", "b", "ab", "", "界"})
	rapid.Check(t, func(t *rapid.T) {
		var screen, thought string
		repeats := false // an answer that was begun
		s := &shown{yield: func(e llm.Event, _ error) bool {
			switch e.Type {
			case llm.EventText:
				screen += e.Text
			case llm.EventReasoning:
				thought += e.Text
			case llm.EventRetracted:
				screen, thought, repeats = "", "", false
			}
			return true
		}}
		for range rapid.IntRange(1, 4).Draw(t, "attempts") {
			s.begin()
			repeats = screen != ""
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
				if !strings.HasPrefix(screen, text) || !repeats && !strings.HasPrefix(thought, reasoning) {
					t.Fatalf("the screen shows %q and %q while %q and %q were said", screen, thought, text, reasoning)
				}
			}
			s.end()
			if screen != text || !repeats && thought != reasoning {
				t.Fatalf("the screen shows %q and %q, the attempt said %q and %q", screen, thought, text, reasoning)
			}
		}
	})
}

// A model thinks in other words each time, which takes no answer back.
func TestAnotherThoughtTakesNothingBack(t *testing.T) {
	t.Parallel()
	var told []string
	s := &shown{yield: func(e llm.Event, _ error) bool {
		told = append(told, map[llm.EventType]string{llm.EventText: "text ", llm.EventReasoning: "reasoning ", llm.EventRetracted: "retracted "}[e.Type]+e.Text)
		return true
	}}
	say := func(kind llm.EventType, text string) { s.take(llm.Event{Type: kind, Text: text}) }
	s.begin()
	say(llm.EventReasoning, "A")
	say(llm.EventText, "Hel")
	s.begin()
	say(llm.EventReasoning, "Other")
	say(llm.EventText, "Hello")
	s.end()
	s.begin()
	say(llm.EventReasoning, "Third")
	say(llm.EventText, "Hi")
	s.end()
	want := []string{"reasoning A", "text Hel", "text lo", "retracted ", "reasoning Third", "text Hi"}
	if !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
}
