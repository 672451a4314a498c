package text

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/itchyny/timefmt-go"

	"github.com/goclaw/goclaw/internal/lib/nearest"
	"github.com/goclaw/goclaw/internal/tool"
)

//go:embed datetime.md
var datetimeDoc string

type datetimeIn struct {
	When   string `json:"when" default:"now" max:"200"`
	Zone   string `json:"zone,omitempty" jsonschema:"IANA name, UTC, or +02:00; default: local" max:"64"`
	Format string `json:"format,omitempty" jsonschema:"rfc3339, date, time, weekday, week, unix, or strftime" max:"200"`
}

// datetimeDetails is what datetime tells beside its text.
type datetimeDetails struct {
	Time    string   `json:"time"`              // RFC 3339; of a difference: its end
	Unix    int64    `json:"unix"`              // seconds
	Zone    string   `json:"zone"`              // as it was asked for
	From    string   `json:"from,omitempty"`    // of a difference: its start
	Seconds float64  `json:"seconds,omitempty"` // of a difference: its length
	Notes   []string `json:"notes,omitempty"`
}

func datetime(now func() time.Time) tool.Tool {
	return tool.New(definition("datetime", datetimeDoc), func(_ context.Context, _ tool.Call, in datetimeIn) (tool.Result, error) {
		moment := now()
		if in.Format == "" {
			moment = moment.Truncate(time.Second) // fractions of now are noise unless asked for
		}
		zone := moment.Location()
		if in.Zone != "" {
			var err error
			if zone, err = zoneNamed(in.Zone, moment.Location()); err != nil {
				return tool.Result{}, err
			}
		}
		c := calendar{now: moment.In(zone), zone: zone, local: moment.Location()}
		if from, to, ok := span(in.When); ok {
			return c.difference(from, to)
		}
		t, err := c.parse(in.When)
		if err != nil {
			return tool.Result{}, err
		}
		// A zone inside "when" says how to read it, the argument how to show it.
		if in.Zone != "" {
			t = t.In(zone)
		}
		text := c.describe(t)
		if in.Format != "" {
			if text, err = format(t, in.Format); err != nil {
				return tool.Result{}, err
			}
		}
		r := tool.TextResult(withNotes(text, c.notes))
		r.Details = datetimeDetails{
			Time: t.Format(time.RFC3339Nano), Unix: t.Unix(), Zone: t.Location().String(), Notes: c.notes,
		}
		return r, nil
	})
}

func withNotes(text string, notes []string) string {
	for _, n := range notes {
		text += "\nnote: " + n
	}
	return text
}

// zoneNamed finds a time zone by its IANA name in any case, as UTC or local, or
// as an offset.
func zoneNamed(name string, local *time.Location) (*time.Location, error) {
	name = strings.TrimSpace(name)
	switch strings.ToLower(name) {
	case "utc", "gmt", "z":
		return time.UTC, nil
	case "local", "":
		return local, nil
	}
	if offset, ok := zoneOffset(name); ok {
		return time.FixedZone(name, offset), nil
	}
	if loc, err := time.LoadLocation(name); err == nil {
		return loc, nil
	}
	if loc, err := time.LoadLocation(titled(name)); err == nil {
		return loc, nil
	}
	hint := "an IANA name such as Europe/Berlin"
	for _, region := range [...]string{"Europe", "America", "Asia", "Africa", "Australia", "Pacific", "Atlantic", "Indian"} {
		full := region + "/" + titled(strings.ReplaceAll(name, " ", "_"))
		if _, err := time.LoadLocation(full); err == nil {
			hint = full
			break
		}
	}
	return nil, fmt.Errorf("unknown time zone %q; use %s, UTC, local, or an offset such as +02:00", clip(name, 40), hint)
}

// titled writes america/new_york as America/New_York.
func titled(name string) string {
	start := true
	return strings.Map(func(r rune) rune {
		was := start
		start = r == '/' || r == '_' || r == '-'
		if was {
			return []rune(strings.ToUpper(string(r)))[0]
		}
		return []rune(strings.ToLower(string(r)))[0]
	}, name)
}

var offsetPattern = pattern(`^(?:UTC|GMT|utc|gmt)?([+-])(\d{1,2})(?::?([0-5]\d))?$`)

// zoneOffset reads +02:00, -0530 or UTC+2 as seconds.
func zoneOffset(text string) (int, bool) {
	m := offsetPattern().FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	// The pattern allows digits only, and few of them.
	hours, _ := strconv.Atoi(m[2])
	minutes, _ := strconv.Atoi(cmp.Or(m[3], "0"))
	offset := hours*3600 + minutes*60
	if m[1] == "-" {
		offset = -offset
	}
	return offset, hours <= 14
}

// describe tells everything about a moment that is commonly asked.
func (c *calendar) describe(t time.Time) string {
	year, week := t.ISOWeek()
	clock := "15:04:05"
	if t.Nanosecond() != 0 {
		clock = "15:04:05.999999999"
	}
	zone := t.Format("MST")
	switch name := t.Location().String(); name {
	case "Local":
		zone += ", local time"
	case zone, "":
	default:
		zone += ", " + name
	}
	text := fmt.Sprintf("%s\n%s %s; week %d-W%02d, day %d; unix %d",
		t.Format(time.RFC3339Nano), t.Format("Monday 2 January 2006, "+clock), zone, year, week, t.YearDay(), t.Unix())
	switch d := t.Sub(c.now); {
	case d >= time.Second:
		text += "; in " + length(d)
	case d <= -time.Second:
		text += "; " + length(-d) + " ago"
	}
	return text
}

// length writes a duration in days of 24 hours and smaller units.
func length(d time.Duration) string {
	var parts []string
	for _, u := range [...]struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if n := d / u.of; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, u.name))
			d -= n * u.of
		}
	}
	if len(parts) == 0 {
		return "0 s"
	}
	return strings.Join(parts, " ")
}

// formats are the outputs that have a name.
var formats = map[string]func(time.Time) string{
	"rfc3339": func(t time.Time) string { return t.Format(time.RFC3339Nano) },
	"iso":     func(t time.Time) string { return t.Format(time.RFC3339Nano) },
	"rfc1123": func(t time.Time) string { return t.Format(time.RFC1123Z) },
	"date":    func(t time.Time) string { return t.Format(time.DateOnly) },
	"time":    func(t time.Time) string { return t.Format(time.TimeOnly) },
	"weekday": func(t time.Time) string { return t.Weekday().String() },
	"unix":    func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) },
	"unix_ms": func(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) },
	"week": func(t time.Time) string {
		year, week := t.ISOWeek()
		return fmt.Sprintf("%d-W%02d", year, week)
	},
}

func format(t time.Time, how string) (string, error) {
	if f, ok := formats[strings.ToLower(how)]; ok {
		return f(t), nil
	}
	if strings.Contains(how, "%") {
		return timefmt.Format(t, how), nil
	}
	if strings.Contains(how, "2006") || strings.Contains(how, "15:04") {
		return t.Format(how), nil
	}
	var names []string
	for name := range formats {
		names = append(names, name)
	}
	slices.Sort(names)
	hint := ""
	if name, ok := nearest.Name(how, names); ok {
		hint = fmt.Sprintf("; did you mean %s?", name)
	}
	return "", fmt.Errorf("unknown format %q%s; use one of %s, or strftime such as %%Y-%%m-%%d %%H:%%M",
		clip(how, 40), hint, strings.Join(names, ", "))
}

// span takes "X to Y", "from X to Y", "until Y" and "since X" apart.
func span(when string) (from, to string, ok bool) {
	when = strings.TrimSpace(when)
	low := strings.ToLower(when)
	switch {
	case strings.HasPrefix(low, "until "):
		return "now", when[len("until "):], true
	case strings.HasPrefix(low, "since "):
		return when[len("since "):], "now", true
	case strings.HasPrefix(low, "from "):
		when, low = when[len("from "):], low[len("from "):]
	}
	if len(low) != len(when) { // lower case has other lengths in some scripts
		return "", "", false
	}
	for _, word := range [...]string{" to ", " until ", " till "} {
		if i := strings.Index(low, word); i >= 0 {
			return when[:i], when[i+len(word):], true
		}
	}
	return "", "", false
}

// difference tells how far apart two moments are.
func (c *calendar) difference(fromText, toText string) (tool.Result, error) {
	from, err := c.parse(fromText)
	if err != nil {
		return tool.Result{}, err
	}
	to, err := c.parse(toText)
	if err != nil {
		return tool.Result{}, err
	}
	to = to.In(from.Location())
	sign, a, b := "", from, to
	if b.Before(a) {
		sign, a, b = "-", b, a
	}
	d := b.Sub(a)
	text := sign + c.apart(a, b)
	if exact := length(d); exact != strings.TrimPrefix(text, sign) {
		text += " = " + sign + exact
	}
	text += fmt.Sprintf(" = %s%s s\nfrom %s to %s", sign, strconv.FormatFloat(d.Seconds(), 'f', -1, 64),
		from.Format(time.RFC3339Nano), to.Format(time.RFC3339Nano))
	r := tool.TextResult(withNotes(text, c.notes))
	r.Details = datetimeDetails{
		Time: to.Format(time.RFC3339Nano), Unix: to.Unix(), Zone: to.Location().String(),
		From: from.Format(time.RFC3339Nano), Seconds: to.Sub(from).Seconds(), Notes: c.notes,
	}
	return r, nil
}

// apart writes the time between a and b, which is not before a, by the
// calendar: whole years, months and days, then the rest by the clock.
func (c *calendar) apart(a, b time.Time) string {
	quiet := &calendar{now: c.now, zone: a.Location()}
	months := (b.Year()-a.Year())*12 + int(b.Month()) - int(a.Month())
	for months > 0 && quiet.shift(a, 0, months, 0).After(b) {
		months--
	}
	a = quiet.shift(a, 0, months, 0)
	days := int(b.Sub(a) / (23 * time.Hour)) // days have 23 hours at least
	for days > 0 && quiet.shift(a, 0, 0, days).After(b) {
		days--
	}
	rest := b.Sub(quiet.shift(a, 0, 0, days))
	var parts []string
	for _, p := range [...]struct {
		n    int
		name string
	}{{months / 12, "year"}, {months % 12, "month"}, {days, "day"}} {
		switch {
		case p.n == 1:
			parts = append(parts, "1 "+p.name)
		case p.n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", p.n, p.name))
		}
	}
	if rest >= time.Second || len(parts) == 0 {
		parts = append(parts, length(rest))
	}
	return strings.Join(parts, " ")
}
