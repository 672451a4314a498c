package wire

import "bytes"

// Thoughts tells what a model thinks from its answer where it writes both into
// one text: <think>…</think> at the very beginning, which servers that don't
// know the model's form pass on as it is. What comes later is the answer,
// whatever it holds; thoughts without an end are all that was said. Only the
// tags and the white space around them are left out. The zero value is ready.
type Thoughts struct {
	stage stage
	held  []byte // what may still become a tag, or stands before one
}

type stage uint8

const (
	beginning stage = iota // it isn't known whether there are thoughts
	opened                 // behind the tag, before the first thought
	thinking
	closed // behind the thoughts, before the answer
	answering
)

var thinkOpen, thinkClose = []byte("<think>"), []byte("</think>")

// Add takes in a piece of the text. Where the model has thought already, by
// whatever way the server has for that, there are no thoughts in the answer.
func (t *Thoughts) Add(piece []byte, thoughts, answer *Text) {
	if t.stage == answering {
		answer.Add(piece)
		return
	}
	t.held = append(t.held, piece...)
	for t.step(thoughts, answer) {
	}
}

// step decides as much as can be decided of what is held and reports whether
// there is more to decide.
func (t *Thoughts) step(thoughts, answer *Text) bool {
	rest := bytes.TrimLeft(t.held, space)
	switch t.stage {
	case beginning:
		switch {
		case !thoughts.Empty():
		case bytes.HasPrefix(rest, thinkOpen):
			t.stage, t.held = opened, rest[len(thinkOpen):]
			return true
		case bytes.HasPrefix(thinkOpen, rest):
			return false
		}
		t.stage = answering
		answer.Add(t.held)
		t.held = nil
	case opened, closed:
		if t.held = rest; len(rest) > 0 {
			t.stage++
			return true
		}
	case thinking:
		if i := bytes.Index(t.held, thinkClose); i >= 0 {
			thoughts.Add(t.held[:i])
			t.stage, t.held = closed, t.held[i+len(thinkClose):]
			return true
		}
		n := len(t.held) - begun(t.held, thinkClose)
		thoughts.Add(t.held[:n])
		t.held = append(t.held[:0], t.held[n:]...)
	case answering:
		answer.Add(t.held)
		t.held = nil
	}
	return false
}

// begun is how many bytes at the end of text are the beginning of tag.
func begun(text, tag []byte) int {
	for n := min(len(text), len(tag)-1); n > 0; n-- {
		if bytes.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}

// Flush ends the text: what is held won't become a tag any more.
func (t *Thoughts) Flush(thoughts, answer *Text) {
	switch t.stage {
	case beginning:
		answer.Add(t.held)
	case thinking:
		thoughts.Add(t.held)
	}
	t.held = nil
}

// Empty reports whether nothing has come.
func (t *Thoughts) Empty() bool { return t.stage == beginning && len(t.held) == 0 }
