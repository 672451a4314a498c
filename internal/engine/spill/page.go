package spill

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/lib/visible"
)

// page collects a text for the model out of pieces of a source and words of
// ours, never longer than its room, and counts how much of the source is in it.
type page struct {
	b     strings.Builder
	room  int // code points that still fit
	shown int // code points of the source that are in it
	work  *meter
}

func newPage(work *meter, room int) *page { return &page{room: room, work: work} }

// say adds words of ours, or nothing when they don't fit.
func (p *page) say(format string, args ...any) bool {
	s := format
	if len(args) > 0 {
		s = fmt.Sprintf(format, args...)
	}
	n := utf8.RuneCountInString(s)
	if n > p.room {
		return false
	}
	p.b.WriteString(s)
	p.room -= n
	return true
}

// show adds a piece of the source in its visible form, or nothing when it
// doesn't fit.
func (p *page) show(s string) bool {
	if len(s) > p.room*utf8.UTFMax {
		return false
	}
	p.work.spend(len(s))
	form := visible.Text(s)
	n := utf8.RuneCountInString(form)
	if n > p.room {
		return false
	}
	p.b.WriteString(form)
	p.room -= n
	p.shown += runes(s)
	return true
}

// part shows as much of s as fits into limit code points, and into the room,
// and returns how many bytes of s that are.
func (p *page) part(s string, limit int) int {
	cut := prefix(s, min(limit, p.room))
	p.show(cut)
	return len(cut)
}

// add takes over what q holds. It must fit: q was made with part of p's room.
func (p *page) add(q *page) {
	n := utf8.RuneCountInString(q.b.String())
	p.b.WriteString(q.b.String())
	p.room -= n
	p.shown += q.shown
}

// brief shows s in at most limit code points, cut with an ellipsis.
func (p *page) brief(s string, limit int) {
	limit = min(limit, p.room)
	if visible.Fit(s, limit) == len(s) {
		p.show(s)
		return
	}
	p.part(s, limit-1)
	p.say("…")
}

func (p *page) String() string { return p.b.String() }
