package agent

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goclaw/goclaw/internal/llm"
)

// bytesPerToken turns the size of a request into the tokens that it is taken
// to have; a token has more bytes of most text, and not fewer of any.
const bytesPerToken = 3

// tooLong reports whether the request of r failed for its length. Then the
// session remembers how much its target takes, so that this turn's next request
// and those of later turns leave out what is oldest; the room stays, so that
// they go on repeating each other.
func (l *loop) tooLong(r *Round, err error) bool {
	var e *llm.Error
	if !errors.As(err, &e) || e.Class != llm.ClassTooLong {
		return false
	}
	target := r.Request.Target.String()
	l.thread.State = l.thread.State.WithRoom(target, roomAfter(e.Message, max(r.Request.Bytes/bytesPerToken, 1)))
	l.model = target
	return true
}

// tellDropped says what is left out of the thread when that is more than in the
// request before, or when a request is made again without.
func (l *loop) tellDropped(t llm.Target, dropped int, again bool) {
	switch {
	case again:
		l.notice(Told{Kind: "compaction", Text: fmt.Sprintf(
			"the conversation is too long for %s; asking again without its oldest %d messages", t, dropped)}, l.gaveUp)
	case dropped > l.thread.State.Dropped:
		l.notice(Told{Kind: "compaction", Text: fmt.Sprintf(
			"the conversation has become too long for %s, which no longer sees its oldest %d messages", t, dropped)}, nil)
	}
}

var tokenCounts = regexp.MustCompile(`\d{1,3}(?:,\d{3})+|\d{4,}`)

// roomAfter is how many tokens a request may have, as we estimate them, when one
// of so many was too long by the server's words. These mostly name what the
// request had and what it may have, by which the estimate is put right. When
// they don't, it is taken to be too long by half: it is made again only once.
func roomAfter(words string, estimated int) int {
	var counts []int
	for _, text := range tokenCounts.FindAllString(words, -1) {
		if n, err := strconv.Atoi(strings.ReplaceAll(text, ",", "")); err == nil {
			counts = append(counts, n)
		}
	}
	slices.SortFunc(counts, func(a, b int) int { return cmp.Compare(b, a) })
	counts = slices.Compact(counts)
	room := estimated * 2 / 3
	switch {
	case len(counts) >= 2 && counts[1] > counts[0]/20:
		room = int(float64(estimated) * float64(counts[1]) / float64(counts[0]) * 0.95)
	case len(counts) == 1 && counts[0] < room:
		room = counts[0]
	}
	return max(room, 1)
}
