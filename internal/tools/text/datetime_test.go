package text

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The clock of the fixture stands at Friday 27 March 2026, 15:04:05 in Berlin,
// two days before summer time begins there.
func TestDatetime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tests := []struct{ when, want string }{
		{"", "2026-03-27T15:04:05+01:00"},
		{"now", "2026-03-27T15:04:05+01:00"},
		{"today", "2026-03-27T00:00:00+01:00"},
		{"tomorrow", "2026-03-28T00:00:00+01:00"},
		{"yesterday at noon", "2026-03-26T12:00:00+01:00"},
		{"tomorrow 09:00", "2026-03-28T09:00:00+01:00"},
		{"Tomorrow at 9am", "2026-03-28T09:00:00+01:00"},
		{"9:30 pm", "2026-03-27T21:30:00+01:00"},
		{"12 am", "2026-03-27T00:00:00+01:00"},
		{"12pm", "2026-03-27T12:00:00+01:00"},
		{"24:00", "2026-03-28T00:00:00+01:00"},
		{"monday", "2026-03-30T00:00:00+02:00"},
		{"friday", "2026-03-27T00:00:00+01:00"},
		{"next friday", "2026-04-03T00:00:00+02:00"},
		{"last friday", "2026-03-20T00:00:00+01:00"},
		{"this monday", "2026-03-23T00:00:00+01:00"},
		{"next week", "2026-04-03T00:00:00+02:00"},
		{"last month", "2026-02-27T00:00:00+01:00"},
		{"next year", "2027-03-27T00:00:00+01:00"},
		{"next monday 8:15", "2026-03-30T08:15:00+02:00"},

		{"2026-03-29", "2026-03-29T00:00:00+01:00"},
		{"2026/3/9", "2026-03-09T00:00:00+01:00"},
		{"20260329", "2026-03-29T00:00:00+01:00"},
		{"2026-07-01 12:30", "2026-07-01T12:30:00+02:00"},
		{"2026-07-01T12:30:15.5", "2026-07-01T12:30:15.5+02:00"},
		{"2026-07-01T12:30:00Z", "2026-07-01T14:30:00+02:00"},
		{"2026-07-01T12:30:00-05:00", "2026-07-01T19:30:00+02:00"},
		{"Wed, 01 Jul 2026 12:30:00 GMT", "2026-07-01T14:30:00+02:00"},
		{"Wed, 01 Jul 2026 12:30:00 +0200", "2026-07-01T12:30:00+02:00"},
		{"29 March 2026", "2026-03-29T00:00:00+01:00"},
		{"March 29, 2026 10:00", "2026-03-29T10:00:00+02:00"},
		{"Friday, 3rd April 2026", "2026-04-03T00:00:00+02:00"},
		{"2026-W13", "2026-03-23T00:00:00+01:00"},
		{"2026-W53-7", "2027-01-03T00:00:00+01:00"},
		{"2026-07-01 12:30 America/New_York", "2026-07-01T12:30:00-04:00"},
		{"2026-07-01 12:30 UTC", "2026-07-01T12:30:00Z"},
		{"12:00 +05:30", "2026-03-27T12:00:00+05:30"},

		{"1700000000", "2023-11-14T23:13:20+01:00"},
		{"1700000000000", "2023-11-14T23:13:20+01:00"},
		{"1700000000.25", "2023-11-14T23:13:20.25+01:00"},
		{"@0", "1970-01-01T01:00:00+01:00"},
		{"unix -1", "1970-01-01T00:59:59+01:00"},

		{"+3d", "2026-03-30T15:04:05+02:00"},
		{"+72h", "2026-03-30T16:04:05+02:00"},
		{"-2 weeks", "2026-03-13T15:04:05+01:00"},
		{"now+90min", "2026-03-27T16:34:05+01:00"},
		{"in 3 days", "2026-03-30T15:04:05+02:00"},
		{"2 hours ago", "2026-03-27T13:04:05+01:00"},
		{"1 week and 2 days from now", "2026-04-05T15:04:05+02:00"},
		{"+1.5h", "2026-03-27T16:34:05+01:00"},
		{"tomorrow 9am - 90min", "2026-03-28T07:30:00+01:00"},
		{"2026-01-15 + 1 month - 1 d", "2026-02-14T00:00:00+01:00"},
		{"3 days before 2026-03-01", "2026-02-26T00:00:00+01:00"},
		{"2 h after noon", "2026-03-27T14:00:00+01:00"},
	}
	for _, tt := range tests {
		got := f.text(t, "datetime", map[string]any{"when": tt.when})
		if first, _, _ := strings.Cut(got, "\n"); first != tt.want {
			t.Errorf("%s: got %s, want %s", tt.when, got, tt.want)
		}
		if strings.Contains(got, "note:") {
			t.Errorf("%s: got %s", tt.when, got)
		}
	}
}

// What the reader must know is said in a note.
func TestDatetimeNotes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tests := []struct{ when, zone, want, note string }{
		{"2026-03-29 02:30", "", "2026-03-29T03:30:00+02:00", "2026-03-29 02:30:00 does not exist in Europe/Berlin: clocks go from 02:00 to 03:00 then"},
		{"2026-10-25 02:30", "", "2026-10-25T02:30:00+02:00", "occurs twice in Europe/Berlin; this is the first (CEST), the second is 2026-10-25T02:30:00+01:00 (CET)"},
		{"2026-03-08 02:15", "America/New_York", "2026-03-08T03:15:00-04:00", "clocks go from 02:00 to 03:00"},
		{"2026-11-01 01:15", "America/New_York", "2026-11-01T01:15:00-04:00", "occurs twice"},
		{"2026-04-05 01:45", "Australia/Lord_Howe", "2026-04-05T01:45:00+11:00", "occurs twice"}, // clocks go back by half an hour
		{"2011-12-30 12:00", "Pacific/Apia", "2011-12-31T12:00:00+14:00", "does not exist"},      // a day that was skipped
		{"2026-03-28 02:30 + 1 d", "", "2026-03-29T03:30:00+02:00", "does not exist"},
		{"2026-01-31 + 1 month", "", "2026-02-28T00:00:00+01:00", "February 2026 has 28 days"},
		{"2024-02-29 + 1 year", "", "2025-02-28T00:00:00+01:00", "February 2025 has 28 days"},
		{"2026-05", "", "2026-05-01T00:00:00+02:00", "is a month"},
		{"3 April", "", "2026-04-03T00:00:00+02:00", "no year was given; this is in 2026"},
	}
	for _, tt := range tests {
		args := map[string]any{"when": tt.when}
		if tt.zone != "" {
			args["zone"] = tt.zone
		}
		got := f.text(t, "datetime", args)
		if !strings.HasPrefix(got, tt.want+"\n") || strings.Count(got, "\nnote: ") != 1 || !strings.Contains(got, tt.note) {
			t.Errorf("%s: got %s, want %s, note %s", tt.when, got, tt.want, tt.note)
		}
	}
}

func TestDatetimeZonesAndFormats(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tests := []struct{ when, zone, format, want string }{
		{"now", "UTC", "", "2026-03-27T14:04:05Z\nFriday 27 March 2026, 14:04:05 UTC; week 2026-W13, day 86; unix 1774620245"},
		{"2026-03-27 20:04:06", "", "", "2026-03-27T20:04:06+01:00\nFriday 27 March 2026, 20:04:06 CET, Europe/Berlin; week 2026-W13, day 86; unix 1774638246; in 5 h 1 s"},
		{"yesterday", "", "", "2026-03-26T00:00:00+01:00\nThursday 26 March 2026, 00:00:00 CET, Europe/Berlin; week 2026-W13, day 85; unix 1774479600; 1 d 15 h 4 min 5 s ago"},
		{"2026-07-01 09:00 Europe/Berlin", "America/New_York", "rfc3339", "2026-07-01T03:00:00-04:00"},
		{"noon", "asia/tokyo", "rfc3339", "2026-03-27T12:00:00+09:00"},
		{"noon", "+05:30", "rfc3339", "2026-03-27T12:00:00+05:30"},
		{"noon", "UTC-3", "rfc3339", "2026-03-27T12:00:00-03:00"},
		{"noon", "local", "rfc3339", "2026-03-27T12:00:00+01:00"},
		{"now", "", "unix", "1774620245"},
		{"now", "", "unix_ms", "1774620245347"},
		{"now", "", "date", "2026-03-27"},
		{"now", "", "TIME", "15:04:05"},
		{"now", "", "weekday", "Friday"},
		{"now", "", "week", "2026-W13"},
		{"now", "", "%d.%m.%Y %H:%M", "27.03.2026 15:04"},
		{"now", "", "2 Jan 2006", "27 Mar 2026"},
	}
	for _, tt := range tests {
		args := map[string]any{"when": tt.when}
		if tt.zone != "" {
			args["zone"] = tt.zone
		}
		if tt.format != "" {
			args["format"] = tt.format
		}
		if got := f.text(t, "datetime", args); got != tt.want {
			t.Errorf("%s %s %s: got %s, want %s", tt.when, tt.zone, tt.format, got, tt.want)
		}
	}
}

func TestDatetimeDifference(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tests := []struct{ when, want string }{
		{"2026-03-01 to 2026-04-01", "1 month = 30 d 23 h = 2674800 s\nfrom 2026-03-01T00:00:00+01:00 to 2026-04-01T00:00:00+02:00"},
		{"from 2026-04-01 to 2026-04-11", "10 days = 10 d = 864000 s"},
		{"2026-04-11 to 2026-04-01", "-10 days = -10 d = -864000 s"},
		{"2000-02-29 to 2026-03-27 15:00", "26 years 27 days 15 h = 9523 d 15 h"},
		{"until 2026-12-24", "8 months 26 days 8 h 55 min 55 s = 271 d 8 h 55 min 55 s"},
		{"since yesterday", "1 day 15 h 4 min 5 s = 1 d 15 h 4 min 5 s = 140645 s"},
		{"now until now", "0 s = 0 s"},
		{"9:00 to 17:30", "8 h 30 min = 30600 s"},
		{"2026-03-29 00:00 to 2026-03-30 00:00", "1 day = 23 h = 82800 s"},
	}
	for _, tt := range tests {
		if got := f.text(t, "datetime", map[string]any{"when": tt.when}); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: got %s, want %s", tt.when, got, tt.want)
		}
	}
}

func TestDatetimeRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tests := []struct{ when, zone, format, want string }{
		{"03/04/2026", "", "", "could be read in several ways"},
		{"2026-02-30", "", "", `"2026-02-30" is no date of the calendar`},
		{"31 April 2026", "", "", "is no date of the calendar"},
		{"25:00", "", "", "25:00:00 is no time of day"},
		{"13pm", "", "", "is no time of day"},
		{"2026-W60", "", "", "has no week 60"},
		{"Monday 3 April 2026", "", "", "2026-04-03 is a Friday, not a Monday"},
		{"whenever", "", "", `can't read "whenever"`},
		{"tomorrow 5", "", "", `can't read "5"`},
		{"12345", "", "", "write @12345 for unix seconds"},
		{"99999999", "", "", "is no date"},
		{"today tomorrow", "", "", "two dates"},
		{"9:00 10:00", "", "", "two times of day"},
		{"+3 fortnights", "", "", "unknown unit"},
		{"+1.5 months", "", "", "no fixed length"},
		{"+9000 years", "", "", "outside of the years 1 to 9999"},
		{"+999999999 years", "", "", "outside of the years 1 to 9999"},
		{"+999999999d", "", "", "outside of the years 1 to 9999"},
		{"+999999999 weeks", "", "", "outside of the years 1 to 9999"},
		{"9999999999999999999", "", "", "outside of the years 1 to 9999"},
		{"March", "", "", "a day is missing beside March"},
		{"now", "Berlin", "", "unknown time zone \"Berlin\"; use Europe/Berlin"},
		{"now", "new york", "", "use America/New_York"},
		{"now", "../../etc/passwd", "", "unknown time zone"},
		{"now", "PST", "", "use an IANA name such as Europe/Berlin"},
		{"noon Mars/Base", "", "", "unknown time zone"},
		{"now", "", "weekdy", "did you mean weekday?"},
		{"now", "", "x", "use one of date, iso,"},
		{"now " + strings.Repeat("+ 1d ", 30), "", "", "more than 20 offsets"},
	}
	for _, tt := range tests {
		args := map[string]any{"when": strings.TrimSpace(tt.when)}
		if tt.zone != "" {
			args["zone"] = tt.zone
		}
		if tt.format != "" {
			args["format"] = tt.format
		}
		if got := f.text(t, "datetime", args); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %s, want %s", tt.when, got, tt.want)
		}
	}
}

func FuzzDatetime(f *testing.F) {
	for _, seed := range []string{
		"next monday 9am", "2026-01-31 + 1 month", "2026-03-29 02:30 Europe/Berlin", "since 3 April", "1700000000.5", "in 2 weeks and 3 d", "2026-W53-7",
	} {
		f.Add(seed)
	}
	zone := time.FixedZone("X", 3600)
	f.Fuzz(func(t *testing.T, when string) {
		c := calendar{now: time.Date(2026, 3, 27, 15, 4, 5, 0, zone), zone: zone, local: zone}
		if from, to, ok := span(when); ok {
			if r, err := c.difference(from, to); err == nil && fmt.Sprint(r.Content) == "" {
				t.Fatal("nothing")
			}
			return
		}
		if at, err := c.parse(when); err == nil && (at.Year() < -1 || at.Year() > 10_000) {
			t.Fatalf("%q is %s", when, at)
		}
	})
}
