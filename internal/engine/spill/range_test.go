package spill

import (
	"strings"
	"testing"
)

// In tables that commas don't part, one can stand for the decimal point. What
// is no number where numbers are compared is told, not passed over in silence.
func TestNumbersOfTables(t *testing.T) {
	t.Parallel()
	text := "name;amount\na;1,5\nb;2,5\nc;1.234,50\nd;-0,25\ne;n/a\nf;\n" + strings.Repeat("g;0\n", 5)
	for filter, want := range map[string]string{
		"amount > 2":        "2 match, shown are 2 of records 2-3]\nname;amount\nb;2,5\nc;1.234,50\n[numbers were compared, and 2 records had none there, for example \"n/a\"]\n",
		"amount >= 1234,5":  "1 match, shown are 1 of records 3-3]\nname;amount\nc;1.234,50\n[numbers were compared, and 2 records had none there, for example \"n/a\"]\n",
		"amount = 2,5":      "1 match, shown are 1 of records 2-2]\nname;amount\nb;2,5\n",
		"name > 5":          "]\nname;amount\n[no record matches the filter; the columns are: name, amount. numbers were compared, and 11 records had none there, for example \"a\"]\n",
		"amount < 0":        "1 match, shown are 1 of records 4-4]\nname;amount\nd;-0,25\n[numbers were compared, and 2 records had none there, for example \"n/a\"]\n",
		"amount contains n": "1 match, shown are 1 of records 5-5]\nname;amount\ne;n/a\n",
	} {
		if got := mustRead(t, text, ReadArgs{Mode: "rows", Filter: filter}); !strings.HasSuffix(got, want) {
			t.Errorf("%s:\n%s\nwant at its end\n%s", filter, got, want)
		}
	}
	for _, s := range []string{"1,2,3", "1.23,5", "1,", ",5", "12.3456,7", "a,5"} {
		if n, ok := (table{comma: ';'}).number(s); ok {
			t.Errorf("%q is the number %v", s, n)
		}
	}
	if got := mustRead(t, text, ReadArgs{Mode: "stats"}); !strings.Contains(got, "- amount: text (9 numbers)") {
		t.Error(got)
	}
}

// From and to mean the same in every mode, and what they leave out is not
// counted as if it were all.
func TestRanges(t *testing.T) {
	t.Parallel()
	doc := "[0,1,2,3,4,5,6,7,8,9]"
	lines := strings.Repeat("a match\n", 10)
	html := "<!doctype html><ul>" + strings.Repeat("<li>x</li>", 10) + "</ul>"
	for _, c := range []struct {
		text string
		args ReadArgs
		want string
	}{
		{doc, ReadArgs{Mode: "path", Query: ".[]", From: -3}, "| results 8-10 of 10]\n7\n8\n9\n"},
		{doc, ReadArgs{Mode: "path", Query: ".[]", From: 3, To: -7}, "| results 3-4, more were not asked for]\n2\n3\n"},
		{doc, ReadArgs{Mode: "path", Query: ".[]", From: 3, To: 4}, "| results 3-4, more were not asked for]\n2\n3\n"},
		{doc, ReadArgs{Mode: "path", Query: ".[]", From: 9, To: 10}, "| results 9-10 of 10]\n8\n9\n"},
		{doc, ReadArgs{Mode: "path", Query: "empty", From: -3}, "[no result. Fitting modes to look around: search, path, head, tail, lines, stats]\n"},
		{html, ReadArgs{Mode: "path", Query: "li", From: -1}, "| results 10-10 of 10]\n<li>x</li>\n"},
		{lines, ReadArgs{Mode: "search", Query: "match", From: -2}, "| 10 matches in 10 of 10 lines | matches 9-10]\n9: a match\n10: a match\n"},
		{lines, ReadArgs{Mode: "search", Query: "match", To: -9}, "| 10 matches in 10 of 10 lines | matches 1-2]\n1: a match\n2: a match\n"},
		{lines, ReadArgs{Mode: "search", Query: "MATCH", From: -1}, "matches 10-10]\n10: a match\n[nothing matches exactly; these matches differ in upper and lower case]\n"},
		{lines, ReadArgs{Mode: "search", Query: "nope", From: -1}, "[no match. Other ways to look: search, lines, head, tail, stats]\n"},
	} {
		if got := mustRead(t, c.text, c.args); !strings.HasSuffix(got, c.want) {
			t.Errorf("%+v:\n%s\nwant at its end\n%s", c.args, got, c.want)
		}
	}
	for _, c := range []struct {
		text string
		args ReadArgs
		want string
	}{
		{doc, ReadArgs{Mode: "path", Query: ".[]", From: 5, To: 2}, "from 5 to 2 is no range"},
		{doc, ReadArgs{Mode: "path", Query: ".[]", From: 11}, "from 11 is beyond the end: there are 10 results"},
		{doc, ReadArgs{Mode: "path", Query: ".[]", From: 8, To: -8}, "from 8 to -8 is no range: there are 10 results"},
		{lines, ReadArgs{Mode: "search", Query: "match", From: 5, To: 2}, "from 5 to 2 is no range"},
		{lines, ReadArgs{Mode: "search", Query: "match", From: 11}, "from 11 is beyond the end: there are 10 matches"},
		{"one line", ReadArgs{Mode: "lines", From: 2}, "from 2 is beyond the end: there is 1 line"},
	} {
		if got, err := readFrom(t.Context(), c.text, testRoom, c.args); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %s, %v, want the error %s", c.args, got, err, c.want)
		}
	}
}
