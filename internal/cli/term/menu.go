package term

import "strings"

// menu is the candidates that Tab goes through.
type menu struct {
	Completion
	chosen int    // -1 before the first
	rest   string // what stands behind the word
	word   string // as it was written
}

// tab completes the word before the cursor as far as that is certain, then goes
// through what it may become.
func (e *Editor) tab(back bool) {
	if e.menu != nil {
		e.menu.step(back)
		e.choose()
		return
	}
	if e.Complete == nil {
		return
	}
	c := e.Complete(e.text[:e.at])
	if len(c.List) == 0 {
		return
	}
	m := &menu{Completion: c, chosen: -1, rest: e.text[e.at:], word: e.text[c.From:e.at]}
	if len(c.List) == 1 {
		word := c.List[0].Text
		// What ends with a slash goes on.
		if !strings.HasPrefix(m.rest, " ") && !strings.HasSuffix(word, "/") {
			word += " "
		}
		e.set(e.text[:c.From]+word+m.rest, c.From+len(word))
		return
	}
	e.menu = m
	if p := common(c.List); len(p) > len(m.word) && strings.HasPrefix(strings.ToLower(p), strings.ToLower(m.word)) {
		m.word = p
		e.set(e.text[:c.From]+p+m.rest, c.From+len(p))
	}
}

func (m *menu) step(back bool) {
	n := len(m.List)
	switch {
	case back && m.chosen < 0:
		m.chosen = n - 1
	case back:
		m.chosen = (m.chosen + n - 1) % n
	default:
		m.chosen = (m.chosen + 1) % n
	}
}

// choose writes the chosen candidate.
func (e *Editor) choose() {
	m := e.menu
	word := m.List[m.chosen].Text
	e.set(e.text[:m.From]+word+m.rest, m.From+len(word))
}

// common is what all candidates begin with.
func common(list []Candidate) string {
	p := list[0].Text
	for _, c := range list[1:] {
		n := 0
		for n < len(p) && n < len(c.Text) && p[n] == c.Text[n] {
			n++
		}
		p = p[:n]
	}
	return p
}

// shown is the candidates to show below the line, and which of them is chosen.
func (e *Editor) shown() ([]Candidate, int) {
	if e.menu != nil {
		return e.menu.List, e.menu.chosen
	}
	if e.Complete == nil || e.search != nil || e.at != len(e.text) || !strings.HasPrefix(e.text, "/") {
		return nil, -1
	}
	if c := e.Complete(e.text); c.Live {
		return c.List, -1
	}
	return nil, -1
}
