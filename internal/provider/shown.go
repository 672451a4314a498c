package provider

import (
	"strings"

	"github.com/goclaw/goclaw/internal/llm"
)

// shown is what whoever watches has seen of a reply. While another attempt
// repeats it, nothing is said again; as soon as it differs, all is taken back
// and said anew. A model thinks in other words each time: where some of the answer
// was shown, what it thinks for the next attempt is held back and decides
// nothing.
type shown struct {
	yield     func(llm.Event, error) bool
	text      strings.Builder
	reasoning strings.Builder

	again       bool // an attempt repeats what was shown
	textAt      int  // how much of it came again
	reasoningAt int
	held        strings.Builder // what this attempt thinks, where text was shown
	left        bool            // whoever watched is gone
}

func (s *shown) emit(e llm.Event) bool {
	if !s.left && !s.yield(e, nil) {
		s.left = true
	}
	return !s.left
}

// begin says that an attempt starts.
func (s *shown) begin() {
	s.again = s.text.Len()+s.reasoning.Len() > 0
	s.textAt, s.reasoningAt = 0, 0
	s.held.Reset()
}

// take passes on a piece of text or reasoning and reports whether anybody
// still watches.
func (s *shown) take(e llm.Event) bool {
	if e.Text == "" {
		return !s.left
	}
	mine, at, other, otherAt := &s.text, &s.textAt, &s.reasoning, &s.reasoningAt
	if e.Type == llm.EventReasoning {
		mine, at, other, otherAt = other, otherAt, mine, at
	}
	if !s.again {
		mine.WriteString(e.Text)
		return s.emit(e)
	}
	answered := s.text.Len() > 0
	if answered && e.Type == llm.EventReasoning {
		s.held.WriteString(e.Text)
		return !s.left
	}
	known := mine.String()[*at:]
	n := min(len(known), len(e.Text))
	if known[:n] != e.Text[:n] || len(e.Text) > n && *otherAt < other.Len() && !answered {
		return s.anew(e)
	}
	*at += n
	if s.textAt == s.text.Len() && (answered || s.reasoningAt == s.reasoning.Len()) {
		s.again = false
	}
	if len(e.Text) == n {
		return !s.left
	}
	e.Text = e.Text[n:]
	mine.WriteString(e.Text)
	*at = mine.Len()
	return s.emit(e)
}

// end says that an attempt has answered: what it did not repeat is taken back.
func (s *shown) end() bool {
	if s.again {
		return s.anew(llm.Event{})
	}
	return !s.left
}

// anew takes all back and says what this attempt brought so far, e included.
func (s *shown) anew(e llm.Event) bool {
	text, reasoning := s.text.String()[:s.textAt], s.reasoning.String()[:s.reasoningAt]
	if s.text.Len() > 0 {
		reasoning = s.held.String()
	}
	switch e.Type {
	case llm.EventText:
		text += e.Text
	case llm.EventReasoning:
		reasoning += e.Text
	}
	s.again = false
	s.text.Reset()
	s.reasoning.Reset()
	s.text.WriteString(text)
	s.reasoning.WriteString(reasoning)
	if !s.emit(llm.Event{Type: llm.EventRetracted}) {
		return false
	}
	if reasoning != "" && !s.emit(llm.Event{Type: llm.EventReasoning, Text: reasoning}) {
		return false
	}
	return text == "" || s.emit(llm.Event{Type: llm.EventText, Text: text})
}
