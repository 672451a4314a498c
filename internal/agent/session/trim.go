package session

import (
	"math/bits"
	"slices"

	"github.com/goclaw/goclaw/internal/llm"
)

// Trim returns what of messages fits budget, oldest out first, and how many it
// left out. size measures one message in the unit of budget.
//
// What it keeps is a valid thread: it begins with a person's message if
// messages do, a call and its results stay or go together, and the newest
// message of a person always stays. Whole turns go first. Only when the newest
// turn alone is too large do its oldest rounds go, never its last one; so the
// result can exceed budget when that round or the message does.
//
// The cut moves rarely and far, since each move costs the provider's cache all
// that lies behind it: when a message goes over the budget, what stays fills
// only 60 % of it. Where the cut lies follows from messages and budget alone,
// by going through them from the beginning, so a thread that grows is cut in
// the same place until it is full again. A budget that varies a little from
// call to call, as it does when other tools are offered, counts as the same:
// only its five leading bits do.
func Trim(messages []llm.Message, budget int, size func(llm.Message) int) ([]llm.Message, int) {
	t := trimmer{budget: round(budget)}
	for i, m := range messages {
		t.add(i, m, size(m))
	}
	count := 0
	for _, turn := range t.turns {
		for _, p := range turn {
			count += p.to - p.from
		}
	}
	if count == len(messages) {
		return messages, 0
	}
	kept := make([]llm.Message, 0, count)
	for _, turn := range t.turns {
		for _, p := range turn {
			kept = append(kept, messages[p.from:p.to]...)
		}
	}
	return kept, len(messages) - count
}

// round clears all but the five leading bits of n.
func round(n int) int {
	if n <= 0 {
		return 0
	}
	shift := max(bits.Len(uint(n))-5, 0)
	return n >> shift << shift
}

// piece is a run of messages that stay or go together.
type piece struct {
	from, to int
	size     int
	kind     llm.Role // of its last message
}

// trimmer keeps turns of pieces: the first piece of a turn is what a person
// said, each other one a round.
type trimmer struct {
	budget int
	total  int
	turns  [][]piece
}

func (t *trimmer) add(i int, m llm.Message, size int) {
	last := t.last()
	switch {
	case m.Role == llm.Results && (last == nil || last.kind != llm.Assistant):
		return // answers nothing that is kept
	case last == nil, spokenByPerson(m) && (last.kind != llm.User || len(t.newest()) > 1):
		t.turns = append(t.turns, []piece{{from: i, to: i + 1, size: size, kind: m.Role}})
	case m.Role == llm.User && last.kind == llm.User,
		m.Role == llm.Assistant && last.kind == llm.User && len(t.newest()) > 1,
		m.Role == llm.Results:
		last.to, last.size, last.kind = i+1, last.size+size, m.Role
	default:
		n := len(t.turns) - 1
		t.turns[n] = append(t.turns[n], piece{from: i, to: i + 1, size: size, kind: m.Role})
	}
	t.total += size
	if t.total > t.budget {
		t.cut()
	}
}

// cut drops what is oldest until 60 % of the budget are filled.
func (t *trimmer) cut() {
	goal := t.budget * 6 / 10
	for t.total > goal && len(t.turns) > 1 {
		for _, p := range t.turns[0] {
			t.total -= p.size
		}
		t.turns = t.turns[1:]
	}
	if t.total <= t.budget {
		return
	}
	rounds := t.newest()[1:]
	for t.total > goal && len(rounds) > 1 {
		t.total -= rounds[0].size
		rounds = rounds[1:]
	}
	t.turns[0] = append(slices.Clip(t.turns[0][:1]), rounds...)
}

func (t *trimmer) newest() []piece {
	if len(t.turns) == 0 {
		return nil
	}
	return t.turns[len(t.turns)-1]
}

func (t *trimmer) last() *piece {
	turn := t.newest()
	if len(turn) == 0 {
		return nil
	}
	return &turn[len(turn)-1]
}

// spokenByPerson reports whether m holds more than the host's own words.
func spokenByPerson(m llm.Message) bool {
	return m.Role == llm.User && slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Kind != llm.KindContext })
}
