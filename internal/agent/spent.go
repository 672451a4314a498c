package agent

import (
	"time"

	"github.com/goclaw/goclaw/internal/llm"
)

// Spent is a model call that was made and what it used, whatever became of its
// answer.
type Spent struct {
	Target llm.Target
	Time   time.Time // when it ended
	// Usage is what the provider counted; zero when it didn't say.
	Usage llm.Usage
	// USD is what that cost at the prices of the time, nil when it is unknown.
	USD *float64
	// Guess is about what the call used besides, where the provider didn't say or
	// counted the beginning alone, and GuessUSD what all of it cost then. They
	// count for budgets alone.
	Guess    llm.Usage
	GuessUSD *float64
}

// Counted reports whether the provider said what the call used.
func (s *Spent) Counted() bool { return s.Usage != llm.Usage{} }

// Sum adds up what calls used, and what they cost unless that is unknown of one.
func Sum(calls []Spent) (u llm.Usage, usd *float64) {
	total := 0.0
	usd = &total
	for i := range calls {
		u = u.Add(calls[i].Usage)
		if calls[i].USD == nil {
			usd = nil
		} else {
			total += *calls[i].USD
		}
	}
	return u, usd
}

// OverBudget says that a request doesn't fit into what may be spent.
type OverBudget struct {
	Reason string // for the person
	Notice string // for whoever watches
}

func (e *OverBudget) Error() string { return e.Reason }

// reserve has the brake set aside what req may use. From then on the call is
// open, until count says what it used.
func (l *loop) reserve(req *llm.Request, bytes int) error {
	notice, err := l.watch.Request(l.ctx, req, bytes)
	if notice != "" {
		l.emit(Event{Type: Notice, Kind: "budget", Text: notice})
	}
	l.open = l.open || err == nil
	return err
}

// longToken is more bytes than tokens of an answer have on average.
const longToken = 8

// count ends the open call: it has used what the provider says, nil when that
// said nothing. said is how many bytes of an answer came, which is whole or
// broke off; a call that brought none and was not counted is none.
func (l *loop) count(r *Round, used *llm.Usage, said int, whole bool) {
	if !l.open {
		return
	}
	l.open = false
	if used == nil && said == 0 {
		l.watch.Spent(nil)
		return
	}
	s := Spent{Target: r.Request.Target, Time: l.Now()}
	if used != nil {
		s.Usage = *used
	}
	switch {
	case !s.Counted():
		s.Guess = llm.Usage{Input: tokens(r.Request.Bytes), Output: tokens(said)}
	case !whole && s.Usage.Output < int64(said/longToken):
		// Claude's count comes before the first word, then with the last one.
		s.Guess.Output = tokens(said) - s.Usage.Output
	}
	if s.Guess == (llm.Usage{}) {
		s.USD = l.cost(s.Usage, s.Target)
	} else if s.GuessUSD = l.cost(s.Usage.Add(s.Guess), s.Target); s.GuessUSD != nil && *s.GuessUSD == 0 {
		s.USD = s.GuessUSD // the target is free
	}
	l.spent = append(l.spent, s)
	l.watch.Spent(&s)
}

// bill notes in r what was spent since the round before it was stored.
func (l *loop) bill(r *Round) {
	r.Spent = l.spent[l.stored:]
	_, r.USD = Sum(r.Spent)
}

func (l *loop) cost(u llm.Usage, t llm.Target) *float64 {
	if l.Cost == nil {
		return nil
	}
	return l.Cost(u, t)
}

// tokens is about how many tokens so many bytes are, and hardly ever fewer than
// they are.
func tokens(bytes int) int64 { return int64(bytes+bytesPerToken-1) / bytesPerToken }
