package text

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// calendar reads moments relative to now, in a zone.
type calendar struct {
	now   time.Time // in zone
	zone  *time.Location
	local *time.Location
	notes []string // what the reader of the result must know
}

func (c *calendar) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

var (
	// amount is one part of an offset, such as "2 weeks" or "1.5h".
	amount       = `\d{1,9}(?:\.\d{1,9})?\s*[a-zA-Z]+`
	amounts      = amount + `(?:\s*(?:,|and)?\s*` + amount + `)*`
	offsetEnd    = pattern(`(?:^|\s)\s*([+-])\s*(` + amounts + `)$`)
	offsetIn     = pattern(`(?i)^in\s+(` + amounts + `)$`)
	offsetAgo    = pattern(`(?i)^(` + amounts + `)\s+(ago|from now)$`)
	offsetBeside = pattern(`(?i)^(` + amounts + `)\s+(before|after)\s+(.+)$`)
	amountParts  = pattern(`(\d+(?:\.\d+)?)\s*([a-zA-Z]+)`)
	glued        = pattern(`(?i)^(now|today|tomorrow|yesterday)([+-])`)
)

// parse reads a moment: a base and offsets to it.
func (c *calendar) parse(when string) (time.Time, error) {
	return c.moment(glued().ReplaceAllString(strings.TrimSpace(when), "$1 $2"), 0)
}

func (c *calendar) moment(when string, depth int) (time.Time, error) {
	const maxOffsets = 20
	if depth > maxOffsets {
		return time.Time{}, fmt.Errorf("more than %d offsets", maxOffsets)
	}
	if m := offsetIn().FindStringSubmatch(when); m != nil {
		return c.offset(c.now, "+", m[1])
	}
	if m := offsetAgo().FindStringSubmatch(when); m != nil {
		sign := "+"
		if strings.EqualFold(m[2], "ago") {
			sign = "-"
		}
		return c.offset(c.now, sign, m[1])
	}
	base, sign, by := "", "", ""
	if m := offsetBeside().FindStringSubmatch(when); m != nil {
		base, sign, by = m[3], "+", m[1]
		if strings.EqualFold(m[2], "before") {
			sign = "-"
		}
	} else if m := offsetEnd().FindStringSubmatchIndex(when); m != nil {
		base, sign, by = strings.TrimSpace(when[:m[0]]), when[m[2]:m[3]], when[m[4]:m[5]]
	} else {
		return c.base(when)
	}
	from := c.now
	if base != "" {
		var err error
		if from, err = c.moment(base, depth+1); err != nil {
			return time.Time{}, err
		}
	}
	return c.offset(from, sign, by)
}

// offset moves t by amounts: months, weeks and days by the calendar, so that
// the clock stays, smaller units by the clock.
func (c *calendar) offset(t time.Time, sign, by string) (time.Time, error) {
	for _, m := range amountParts().FindAllStringSubmatch(by, -1) {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("%q is no amount", clip(m[1], 20))
		}
		if sign == "-" {
			n = -n
		}
		years, months, days := 0, 0, 0
		var clock time.Duration
		switch unit := strings.ToLower(m[2]); {
		case unit == "y" || unit == "yr" || isUnit(unit, "year"):
			years = int(n)
		case unit == "mo" || unit == "mon" || isUnit(unit, "month"):
			months = int(n)
		case unit == "w" || unit == "wk" || isUnit(unit, "week"):
			days = 7 * int(n)
		case unit == "d" || isUnit(unit, "day"):
			days = int(n)
		case unit == "h" || unit == "hr" || unit == "hrs" || isUnit(unit, "hour"):
			clock = time.Hour
		case unit == "m" || unit == "min" || unit == "mins" || isUnit(unit, "minute"):
			clock = time.Minute
		case unit == "s" || unit == "sec" || unit == "secs" || isUnit(unit, "second"):
			clock = time.Second
		default:
			return time.Time{}, fmt.Errorf("unknown unit %q; units are s, min, h, d, w, month and year", clip(unit, 20))
		}
		if clock == 0 && n != float64(int(n)) {
			return time.Time{}, fmt.Errorf("%s %s: a fraction of this unit has no fixed length; use hours", m[1], m[2])
		}
		const most = 4_000_000 // days in 10,000 years, and more than the months
		if clock == 0 && (n > most || n < -most) || n*float64(clock) > 9e18 || n*float64(clock) < -9e18 {
			return time.Time{}, errYears
		}
		if clock > 0 {
			t = t.Add(time.Duration(n * float64(clock)))
		} else {
			t = c.shift(t, years, months, days)
		}
		if t.Year() < 1 || t.Year() > 9999 {
			return time.Time{}, errYears
		}
	}
	return t, nil
}

var errYears = errors.New("the result is outside of the years 1 to 9999")

func isUnit(text, unit string) bool {
	text = strings.ToLower(text)
	return text == unit || text == unit+"s"
}

// shift moves t by the calendar. Where the month is shorter it is its last day.
func (c *calendar) shift(t time.Time, years, months, days int) time.Time {
	if years != 0 || months != 0 {
		first := time.Date(t.Year()+years, t.Month()+time.Month(months), 1, 0, 0, 0, 0, time.UTC)
		last := first.AddDate(0, 1, -1).Day()
		day := t.Day()
		if day > last {
			day = last
			c.note("%s has %d days, so it is the last of them", first.Format("January 2006"), last)
		}
		t = c.wall(first.Year(), first.Month(), day, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
	}
	if days != 0 {
		t = c.wall(t.Year(), t.Month(), t.Day()+days, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
	}
	return t
}

// wall gives the moment when clocks in a zone show a time. A time that clocks
// skip becomes as much later as they skip, one that they show twice is the
// first; either is noted.
func (c *calendar) wall(year int, month time.Month, day, hour, minute, second, nano int, zone *time.Location) time.Time {
	want := time.Date(year, month, day, hour, minute, second, nano, time.UTC)
	guess := time.Date(year, month, day, hour, minute, second, nano, zone)
	start, end := guess.ZoneBounds()
	offsets := []time.Time{guess}
	if !start.IsZero() {
		offsets = append(offsets, start.Add(-1))
	}
	if !end.IsZero() {
		offsets = append(offsets, end)
	}
	var shown []time.Time // the moments at which clocks show want
	for _, at := range offsets {
		_, offset := at.Zone()
		t := want.Add(-time.Duration(offset) * time.Second).In(zone)
		_, got := t.Zone()
		if got == offset && !slices.ContainsFunc(shown, t.Equal) {
			shown = append(shown, t)
		}
	}
	switch len(shown) {
	case 1:
		return shown[0]
	case 2:
		first, second := shown[0], shown[1]
		if second.Before(first) {
			first, second = second, first
		}
		c.note("%s occurs twice in %s; this is the first (%s), the second is %s (%s)",
			want.Format("2006-01-02 15:04:05"), zone, first.Format("MST"), second.Format(time.RFC3339), second.Format("MST"))
		return first
	}
	change := end
	if end.IsZero() || !start.IsZero() && guess.Sub(start).Abs() < end.Sub(guess).Abs() {
		change = start
	}
	before := change.Add(-1)
	_, offset := before.Zone()
	t := want.Add(-time.Duration(offset) * time.Second).In(zone)
	c.note("%s does not exist in %s: clocks go from %s to %s then; this is as much later",
		want.Format("2006-01-02 15:04:05"), zone,
		change.In(time.FixedZone("", offset)).Format("15:04"), change.In(zone).Format("15:04"))
	return t
}

var unixPattern = pattern(`^(@|unix\s+)?(-?\d{1,19})(\.\d{1,9})?$`)

// layouts with an offset need no zone.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02T15:04Z07:00", "2006-01-02 15:04Z07:00",
	"2006-01-02T15:04:05-0700", time.RFC1123Z, "Mon, 2 Jan 2006 15:04:05 GMT", "Mon, 2 Jan 2006 15:04:05 -0700",
}

// base reads a moment without offsets.
func (c *calendar) base(when string) (time.Time, error) {
	if when == "" || strings.EqualFold(when, "now") {
		return c.now, nil
	}
	if m := unixPattern().FindStringSubmatch(when); m != nil {
		return c.unix(m[1] != "", m[2], m[3])
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, when); err == nil {
			return t.In(c.zone), nil
		}
	}
	return c.words(when)
}

// unix reads seconds, or with that many digits milli-, micro- or nanoseconds.
func (c *calendar) unix(marked bool, whole, fraction string) (time.Time, error) {
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}, errYears
	}
	var t time.Time
	switch digits := len(strings.TrimPrefix(whole, "-")); {
	case digits == 8 && !marked && fraction == "":
		day, err := time.Parse("20060102", whole)
		if err != nil {
			return time.Time{}, fmt.Errorf("%q is no date; write @%s for unix seconds", whole, whole)
		}
		return c.wall(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, c.zone), nil
	case digits < 9 && !marked:
		return time.Time{}, fmt.Errorf("%q is no date; write @%s for unix seconds", whole, whole)
	case digits >= 18:
		t = time.Unix(0, n)
	case digits >= 15:
		t = time.UnixMicro(n)
	case digits >= 12:
		t = time.UnixMilli(n)
	default:
		t = time.Unix(n, 0)
		if fraction != "" {
			nanos, err := strconv.ParseInt((fraction[1:] + "000000000")[:9], 10, 64)
			if err != nil {
				return time.Time{}, fmt.Errorf("%q is no fraction", fraction)
			}
			t = t.Add(time.Duration(nanos))
		}
	}
	if t = t.In(c.zone); t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, errYears
	}
	return t, nil
}

// A reading is a date, a time of day and a zone as they were found in words.
type reading struct {
	year      int
	month     time.Month
	day       int
	hasDate   bool
	hour      int
	minute    int
	second    int
	nano      int
	hasTime   bool
	zone      *time.Location
	weekdayIs string // a weekday that was named beside a date
	tentative bool   // the date follows from a weekday; one that is named replaces it
}

var (
	isoDate    = pattern(`^(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?$`)
	isoWeek    = pattern(`(?i)^(\d{4})-?W(\d{2})(?:-?([1-7]))?$`)
	otherDate  = pattern(`^(\d{1,2})[./-](\d{1,2})[./-](\d{2,4})$`)
	clockTime  = pattern(`(?i)^(\d{1,2})(?::(\d{2}))?(?::(\d{2})(\.\d{1,9})?)?(am|pm|h)?$`)
	dateAndT   = pattern(`^(\d{4}-\d{1,2}-\d{1,2})[Tt](\d{1,2}:.*)$`)
	dayOfMonth = pattern(`(?i)^(\d{1,2})(?:st|nd|rd|th|\.)?$`)
)

// words reads what is left: a date, a time of day and a zone in any order.
func (c *calendar) words(when string) (time.Time, error) {
	fields := strings.Fields(strings.ReplaceAll(when, ",", " "))
	r := reading{zone: c.zone}
	for i := 0; i < len(fields); {
		n, err := c.word(&r, fields[i:])
		if err != nil {
			return time.Time{}, err
		}
		if n == 0 {
			return time.Time{}, fmt.Errorf("can't read %q in %q; write for example 2026-03-29 02:30, tomorrow 9am, next monday, +3d or now",
				clip(fields[i], 30), clip(when, 60))
		}
		i += n
	}
	now := c.now.In(r.zone)
	if !r.hasDate {
		r.year, r.month, r.day = now.Date()
	}
	t := c.wall(r.year, r.month, r.day, r.hour, r.minute, r.second, r.nano, r.zone)
	if r.weekdayIs != "" && !strings.EqualFold(t.Weekday().String(), r.weekdayIs) {
		return time.Time{}, fmt.Errorf("%s is a %s, not a %s", t.Format(time.DateOnly), t.Weekday(), r.weekdayIs)
	}
	return t, nil
}

// word reads one part from the front of the fields and tells how many it took.
func (c *calendar) word(r *reading, fields []string) (int, error) {
	word := strings.ToLower(fields[0])
	next := ""
	if len(fields) > 1 {
		next = strings.ToLower(fields[1])
	}
	if m := dateAndT().FindStringSubmatch(fields[0]); m != nil {
		n, err := c.word(r, []string{m[1]})
		if err != nil || n == 0 {
			return n, err
		}
		return c.word(r, []string{m[2]})
	}
	switch word {
	case "at", "on", "the", "o'clock":
		return 1, nil
	case "today", "tomorrow", "yesterday":
		day := c.now.In(r.zone)
		return 1, r.date(day.Year(), day.Month(), day.Day()+map[string]int{"tomorrow": 1, "yesterday": -1}[word])
	case "noon", "midday":
		return 1, r.clock(12, 0, 0, 0)
	case "midnight":
		return 1, r.clock(0, 0, 0, 0)
	}
	if day, ok := weekday(word); ok {
		return 1, c.onWeekday(r, day, "")
	}
	if word == "next" || word == "last" || word == "this" || word == "previous" {
		if day, ok := weekday(next); ok {
			return 2, c.onWeekday(r, day, word)
		}
		return c.neighbour(r, word, next)
	}
	if n, err := c.dateWord(r, fields, word, next); n > 0 || err != nil {
		return n, err
	}
	if n, err := timeWord(r, word, next); n > 0 || err != nil {
		return n, err
	}
	if strings.Contains(word, "/") || word == "utc" || word == "gmt" || word == "z" || word == "local" || offsetPattern().MatchString(fields[0]) {
		zone, err := zoneNamed(fields[0], c.local)
		r.zone = zone
		return 1, err
	}
	return 0, nil
}

func (r *reading) date(year int, month time.Month, day int) error {
	if r.hasDate {
		return errors.New("two dates; write X to Y for the difference between them")
	}
	r.hasDate = true
	t := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	r.year, r.month, r.day = t.Date()
	return nil
}

func (r *reading) clock(hour, minute, second, nano int) error {
	if r.hasTime {
		return errors.New("two times of day; write X to Y for the difference between them")
	}
	if hour > 24 || minute > 59 || second > 59 || hour == 24 && minute+second+nano > 0 {
		return fmt.Errorf("%02d:%02d:%02d is no time of day", hour, minute, second)
	}
	r.hasTime, r.hour, r.minute, r.second, r.nano = true, hour, minute, second, nano
	return nil
}

// onWeekday finds a weekday: alone it is the next one, today included; "next"
// is the first after today, "last" the first before, "this" that of this week,
// which begins on Monday. Beside a date it is checked against it.
func (c *calendar) onWeekday(r *reading, day time.Weekday, which string) error {
	if which == "" {
		r.weekdayIs = day.String()
		if r.hasDate {
			return nil
		}
	}
	now := c.now.In(r.zone)
	ahead := (int(day) - int(now.Weekday()) + 7) % 7
	switch which {
	case "next":
		ahead = cmp.Or(ahead, 7)
	case "last", "previous":
		ahead -= 7
	case "this":
		ahead = (int(day)+6)%7 - (int(now.Weekday())+6)%7
	}
	if which == "" {
		// A date may still follow ("Friday, 3 April 2026"): it decides then.
		r.year, r.month, r.day = now.AddDate(0, 0, ahead).Date()
		if !r.hasDate {
			r.hasDate = true
			r.tentative = true
		}
		return nil
	}
	return r.date(now.Year(), now.Month(), now.Day()+ahead)
}

// neighbour reads next week, last month and so on: the same day there.
func (c *calendar) neighbour(r *reading, which, unit string) (int, error) {
	n := map[string]int{"next": 1, "last": -1, "previous": -1, "this": 0}[which]
	now := c.now.In(r.zone)
	switch unit {
	case "day":
		now = c.shift(now, 0, 0, n)
	case "week":
		now = c.shift(now, 0, 0, 7*n)
	case "month":
		now = c.shift(now, 0, n, 0)
	case "year":
		now = c.shift(now, n, 0, 0)
	default:
		return 0, nil
	}
	return 2, r.date(now.Date())
}

// dateWord reads a date in numbers or with the name of a month.
func (c *calendar) dateWord(r *reading, fields []string, word, next string) (int, error) {
	if m := isoDate().FindStringSubmatch(word); m != nil {
		year, month, day := atoi(m[1]), atoi(m[2]), atoi(cmp.Or(m[3], "1"))
		if m[3] == "" {
			c.note("%s is a month; this is its first day", word)
		}
		return 1, r.checked(year, month, day, word)
	}
	if m := isoWeek().FindStringSubmatch(word); m != nil {
		week, day := atoi(m[2]), atoi(cmp.Or(m[3], "1"))
		// 4 January is always in the first week.
		fourth := time.Date(atoi(m[1]), 1, 4, 0, 0, 0, 0, time.UTC)
		monday := fourth.AddDate(0, 0, -(int(fourth.Weekday())+6)%7+7*(week-1))
		if year, got := monday.ISOWeek(); got != week || year != atoi(m[1]) {
			return 0, fmt.Errorf("the year %s has no week %d", m[1], week)
		}
		return 1, r.date(monday.Year(), monday.Month(), monday.Day()+day-1)
	}
	if m := otherDate().FindStringSubmatch(word); m != nil {
		return 0, fmt.Errorf("%q could be read in several ways; write it as year-month-day, like 2026-03-29", word)
	}
	number, ok := month(word)
	dayText := next
	if !ok {
		if number, ok = month(next); !ok {
			return 0, nil
		}
		dayText = word
	}
	m := dayOfMonth().FindStringSubmatch(dayText)
	if m == nil {
		return 0, fmt.Errorf("a day is missing beside %s; write for example 29 March 2026", number)
	}
	year, taken := c.now.In(r.zone).Year(), 2
	if len(fields) > 2 && len(fields[2]) == 4 && atoi(fields[2]) > 0 {
		year, taken = atoi(fields[2]), 3
	} else {
		c.note("no year was given; this is in %d", year)
	}
	return taken, r.checked(year, int(number), atoi(m[1]), strings.Join(fields[:taken], " "))
}

// checked takes a date that must exist.
func (r *reading) checked(year, month, day int, text string) error {
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if year < 1 || t.Day() != day || int(t.Month()) != month {
		return fmt.Errorf("%q is no date of the calendar", text)
	}
	if r.tentative {
		r.hasDate, r.tentative = false, false
	}
	return r.date(year, time.Month(month), day)
}

// timeWord reads a time of day: 9:30, 9:30 pm, 9am.
func timeWord(r *reading, word, next string) (int, error) {
	m := clockTime().FindStringSubmatch(word)
	if m == nil {
		return 0, nil
	}
	taken, half := 1, m[5]
	if half == "" && (next == "am" || next == "pm") {
		taken, half = 2, next
	}
	if m[2] == "" && half == "" {
		return 0, nil // a bare number is no time
	}
	hour := atoi(m[1])
	if half == "am" || half == "pm" {
		if hour < 1 || hour > 12 {
			return 0, fmt.Errorf("%q is no time of day", word)
		}
		hour %= 12
		if half == "pm" {
			hour += 12
		}
	}
	nano := 0
	if m[4] != "" {
		nano = atoi((m[4][1:] + "000000000")[:9])
	}
	return taken, r.clock(hour, atoi(cmp.Or(m[2], "0")), atoi(cmp.Or(m[3], "0")), nano)
}

// atoi reads digits that a pattern has matched, few enough to fit; anything
// else is 0.
func atoi(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// weekday reads a day's name, in full or its first three letters.
func weekday(text string) (time.Weekday, bool) {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if name := strings.ToLower(day.String()); text == name || text == name[:3] || len(text) > 3 && strings.HasPrefix(name, text) {
			return day, true
		}
	}
	return 0, false
}

// month reads a month's name, in full or its first three letters.
func month(text string) (time.Month, bool) {
	text = strings.TrimSuffix(text, ".")
	for m := time.January; m <= time.December; m++ {
		if name := strings.ToLower(m.String()); text == name || len(text) >= 3 && strings.HasPrefix(name, text) {
			return m, true
		}
	}
	return 0, false
}
