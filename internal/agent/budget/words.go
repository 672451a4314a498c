package budget

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
)

// key is where the limit of a unit is written.
func (l Limit) key(unit string) string { return l.Key + "." + unit }

// of says what the limit is about.
func (l Limit) of() string {
	switch {
	case l.Scope == PerRun:
		return "for one run"
	case l.Scope == PerSession:
		return "for this conversation"
	case l.Agent != "":
		return "of agent " + l.Agent + " for today"
	}
	return "for today"
}

// said is an amount of a unit, for people.
func said(unit string, a Amount) string {
	if unit == USD {
		return fmt.Sprintf("%.4f USD", a.USD)
	}
	return Grouped(a.Tokens) + " tokens"
}

// Grouped is n with a comma between each three of its digits.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return sign + s
}

// stands is how it stands with the limit.
func (r room) stands(unit string) string {
	used, _, _ := strings.Cut(said(unit, r.used()), " ")
	return fmt.Sprintf("%s: %s of %s are used", r.key(unit), used, said(unit, r.Amount))
}

// used is what of the limit is used, without what is set aside.
func (r room) used() Amount { return r.minus(r.left).minus(r.aside) }

// reason is what a person is told whose run ends since n doesn't fit any more.
func (r room) reason(unit string, n need, now time.Time) string {
	wanted := Amount{Tokens: n.tokens}
	if n.usd != nil {
		wanted.USD = *n.usd
	}
	answer := "an answer"
	if r.used() != (Amount{}) {
		answer = "another answer"
	}
	text := fmt.Sprintf("The budget %s does not suffice for %s: %s allows %s, and %s are used", r.of(), answer, r.key(unit), said(unit, r.Amount), said(unit, r.used()))
	free := r.left.plus(r.aside)
	if r.aside != (Amount{}) && (unit == Tokens && wanted.Tokens <= free.Tokens || unit == USD && n.usd != nil && wanted.USD <= free.USD) {
		return text + fmt.Sprintf("; the rest, %s, is set aside for answers that are under way. Try again in a moment.", said(unit, r.aside))
	}
	if exceeds(unit, wanted, Amount{}) {
		again := ""
		if n.again {
			again = " again"
		}
		text += fmt.Sprintf("; to ask the model%s needs about %s", again, said(unit, wanted))
	}
	resets := today(now).Add(24 * time.Hour)
	anew := fmt.Sprintf("begins anew at 00:00 UTC, in %s", length(resets.Sub(now)))
	switch alone := exceeds(unit, wanted, r.Amount); {
	case exceeds(unit, n.base, r.Amount):
		return text + fmt.Sprintf(". No request of this agent fits into it: have %s raised in config.yaml.", r.key(unit))
	case alone && r.Scope == PerDay && exceeds(unit, n.base, free):
		text += ". That is more than the whole of it: begin a new conversation (/new) when it " + anew
	case alone && r.Scope != PerSession:
		text += ". That is more than the whole of it: begin a new conversation (/new)"
	case r.Scope == PerRun:
		text += ". What was done is kept: say \"go on\" to continue in another run"
	case r.Scope == PerSession:
		text += ". What was done is kept: begin a new conversation (/new)"
	case r.Scope == PerDay:
		text += ". It " + anew
	}
	return text + fmt.Sprintf(", or have %s raised in config.yaml.", r.key(unit))
}

// exceeds reports whether a is more than b of a unit.
func exceeds(unit string, a, b Amount) bool {
	if unit == USD {
		return a.USD > b.USD
	}
	return a.Tokens > b.Tokens
}

// toModel is what the model is told before its last call.
func (r room) toModel(unit string) string {
	return fmt.Sprintf("The budget %s is nearly used up (%s). Tools can't be called any more. "+
		"Answer now, briefly, with what you have, and say what is left to do.", r.of(), r.stands(unit))
}

// length is a time for people, in minutes.
func length(d time.Duration) string {
	d = max(d.Round(time.Minute), time.Minute)
	h, m := int(d/time.Hour), int(d%time.Hour/time.Minute)
	switch {
	case h == 0:
		return fmt.Sprintf("%d min", m)
	case m == 0:
		return fmt.Sprintf("%d h", h)
	}
	return fmt.Sprintf("%d h %d min", h, m)
}

// Uncountable says that l, of US dollars, can't be held with a target.
func (l Limit) Uncountable(t llm.Target) string {
	return fmt.Sprintf("%s can't be counted for %s, whose price is unknown: %s", l.key(USD), t, howToPrice(t))
}

// howToPrice says how the price of a target is made known.
func howToPrice(t llm.Target) string {
	return fmt.Sprintf("set ai.providers.%s.prices to {%q: {in: …, cached: …, out: …}}, in US dollars per million tokens", t.Provider, t.Model)
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return strings.Join([]string{a, b}, "; ")
}
