package wire

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// divided is text that came in pieces, divided.
func divided(pieces ...string) (thoughts, answer string) {
	var t Thoughts
	var a, b Text
	for _, p := range pieces {
		t.Add([]byte(p), &a, &b)
	}
	t.Flush(&a, &b)
	a.Flush()
	b.Flush()
	return a.String(), b.String()
}

func TestThoughts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, thoughts, answer string }{
		{"", "", ""},
		{"Hello", "", "Hello"},
		{"  Hello ", "", "  Hello "},
		{"<think>Hm.</think>Hello", "Hm.", "Hello"},
		{"\n<think>\nHm.\n</think>\n\nHello\n", "Hm.\n", "Hello\n"},
		{"<think>\n\n</think>\n\nHello", "", "Hello"},
		{"<think></think>", "", ""},
		{"<think>Hm.", "Hm.", ""},
		{"<think>Hm.</thin", "Hm.</thin", ""},
		{"<think>a < b</ think></think>Hello", "a < b</ think>", "Hello"},
		{"<think>a</think>b<think>c</think>", "a", "b<think>c</think>"},
		{"Hello <think>Hm.</think>", "", "Hello <think>Hm.</think>"},
		{"<thinking>Hm.</thinking>", "", "<thinking>Hm.</thinking>"},
		{"<thi", "", "<thi"},
		{" ", "", " "},
		{"</think>Hello", "", "</think>Hello"},
	} {
		for size := 1; size <= max(1, len(test.text)); size++ {
			var pieces []string
			for rest := test.text; rest != ""; {
				n := min(size, len(rest))
				pieces, rest = append(pieces, rest[:n]), rest[n:]
			}
			if thoughts, answer := divided(pieces...); thoughts != test.thoughts || answer != test.answer {
				t.Errorf("%q in pieces of %d: %q and %q", test.text, size, thoughts, answer)
			}
		}
	}
}

// Who has thought otherwise writes a tag because it belongs into the answer.
func TestThoughtsTwice(t *testing.T) {
	t.Parallel()
	var th Thoughts
	var thoughts, answer Text
	thoughts.Add([]byte("Hm."))
	th.Add([]byte("<think> is a tag."), &thoughts, &answer)
	if answer.String() != "<think> is a tag." || thoughts.String() != "Hm." {
		t.Errorf("%q and %q", thoughts.String(), answer.String())
	}
}

// However the text is cut, the same comes of it, and nothing but the tags and
// the white space around them is lost.
func TestThoughtsLoseNothing(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom([]string{"<think>", "</think>", "<", "</thi", "nk>", " ", "\n", "a", "界", "think"})
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(word, 0, 12).Draw(t, "words")
		text := strings.Join(words, "")
		thoughts, answer := divided(text)
		var pieces []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if a, b := divided(pieces...); a != thoughts || b != answer {
			t.Fatalf("%q is %q and %q, whole %q and %q", pieces, a, b, thoughts, answer)
		}
		rest := text
		if strings.HasPrefix(strings.TrimLeft(text, space), "<think>") {
			rest = strings.Replace(strings.Replace(text, "<think>", "", 1), "</think>", "", 1)
		}
		bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if bare(thoughts+answer) != bare(rest) {
			t.Fatalf("%q is %q and %q", text, thoughts, answer)
		}
	})
}

func BenchmarkThoughts(b *testing.B) {
	b.ReportAllocs()
	piece := []byte(" word")
	for b.Loop() {
		var t Thoughts
		var thoughts, answer Text
		for range 500 {
			t.Add(piece, &thoughts, &answer)
		}
	}
}
