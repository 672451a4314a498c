package spill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/lib/visible"
)

const testRoom = 7600

func readFrom(ctx context.Context, text string, room int, args ReadArgs) (string, error) {
	args.Ref = testRef
	r := reader{doc: describe("gitlab", text), args: args, room: room}
	return r.read(ctx)
}

func mustRead(t *testing.T, text string, args ReadArgs) string {
	t.Helper()
	got, err := readFrom(t.Context(), text, testRoom, args)
	if err != nil {
		t.Fatalf("%+v: %v", args, err)
	}
	checkAnswer(t, got, testRoom)
	return got
}

func checkAnswer(t interface{ Errorf(string, ...any) }, got string, room int) {
	if n := visible.Count(got); n > room {
		t.Errorf("the answer has %d characters, the limit is %d", n, room)
	}
	if !strings.HasPrefix(got, "[ref "+testRef) {
		t.Errorf("the answer has no first line: %.100q", got)
	}
}

var (
	characters = regexp.MustCompile(`^\[ref \w+ \| characters (\d+)-(\d+) of \d+ \| lines (\d+)-(\d+) of \d+\]\n`)
	nextCall   = regexp.MustCompile(`\n?\[(?:more|before): read_output\(ref: "(\w+)", mode: "(\w+)"(?:, from: (\d+))?(?:, to: (\d+))?\)\]\n$`)
)

// passageOf takes an answer of head, tail or lines apart: the text in it, and
// the call that reads on.
func passageOf(t interface{ Fatalf(string, ...any) }, got string) (text string, next *ReadArgs) {
	head := characters.FindStringSubmatch(got)
	if head == nil {
		t.Fatalf("the first line doesn't say which characters: %.200q", got)
	}
	from, _ := strconv.Atoi(head[1])
	to, _ := strconv.Atoi(head[2])
	body := got[len(head[0]):]
	text = body
	if i := strings.LastIndex(body, "[more: "); i >= 0 {
		text = body[:i]
	} else if i := strings.LastIndex(body, "[before: "); i >= 0 {
		text = body[:i]
	}
	n := runes(text) - (to - from + 1)
	if n == 1 && strings.HasSuffix(text, "\n") { // the one before the last line
		text = text[:len(text)-1]
	} else if n != 0 {
		t.Fatalf("characters %d-%d are %d, but %d are shown", from, to, to-from+1, runes(text))
	}
	if call := nextCall.FindStringSubmatch(got); call != nil {
		next = &ReadArgs{Ref: call[1], Mode: call[2]}
		next.From, _ = strconv.Atoi(call[3])
		next.To, _ = strconv.Atoi(call[4])
	}
	return text, next
}

// TestReadingOn follows the calls that answers name: together they must give
// the whole text.
func TestReadingOn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Map(anyText(), func(s string) string { return strings.Repeat(s, 3) }).
			Filter(func(s string) bool { return s != "" && typeOf(s) != Binary && !strings.Contains(s, "[more:") }).Draw(t, "text")
		room := rapid.IntRange(700, 3000).Draw(t, "room")
		mode := rapid.SampledFrom([]string{"head", "lines", "tail", ""}).Draw(t, "mode")
		var got strings.Builder
		back := ""
		args := &ReadArgs{Mode: mode}
		for steps := 0; args != nil; steps++ {
			if steps > 2*len(text)+10 {
				t.Fatalf("reading on does not end")
			}
			answer, err := readFrom(context.Background(), text, room, *args)
			if err != nil {
				t.Fatalf("%+v: %v", args, err)
			}
			checkAnswer(t, answer, room)
			var part string
			part, args = passageOf(t, answer)
			if part == "" {
				t.Fatalf("an answer shows nothing: %q", answer)
			}
			got.WriteString(part)
			back = part + back
		}
		whole := got.String()
		if mode == "tail" {
			whole = back
		}
		if whole != text {
			t.Fatalf("read %d characters in mode %q that are not the text", runes(whole), mode)
		}
	})
}

// TestReadingRanges holds ranges of lines against strings.Split.
func TestReadingRanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := anyText().Filter(func(s string) bool { return s != "" && typeOf(s) != Binary && !strings.Contains(s, "[more:") }).Draw(t, "text")
		lines := strings.SplitAfter(text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		from := rapid.IntRange(1, len(lines)).Draw(t, "from")
		to := rapid.IntRange(from, len(lines)).Draw(t, "to")
		want := strings.Join(lines[from-1:to], "")
		var got strings.Builder
		args := &ReadArgs{Mode: "lines", From: from, To: to}
		for args != nil {
			answer, err := readFrom(context.Background(), text, 900, *args)
			if err != nil {
				t.Fatalf("%+v: %v", args, err)
			}
			var part string
			part, args = passageOf(t, answer)
			got.WriteString(part)
		}
		if got.String() != want {
			t.Fatalf("lines %d to %d are %.200q, want %.200q", from, to, got.String(), want)
		}
	})
}

func TestReadRanges(t *testing.T) {
	t.Parallel()
	text := "one\ntwo\nthree\nfour\nfive"
	tests := []struct {
		args ReadArgs
		want string // after the first line
	}{
		{ReadArgs{Mode: "lines", From: 2, To: 3}, "two\nthree\n"},
		{ReadArgs{Mode: "lines", From: -2}, "four\nfive"},
		{ReadArgs{Mode: "lines", From: 4, To: 100}, "four\nfive"},
		{ReadArgs{Mode: "lines", To: -4}, "one\ntwo\n"},
		{ReadArgs{Mode: "lines"}, text},
		{ReadArgs{}, text},
		{ReadArgs{Mode: "head", From: 5, To: 7}, "two"},
		{ReadArgs{Mode: "head", From: -4}, "five"},
		{ReadArgs{Mode: "tail", To: 7}, "one\ntwo"},
		{ReadArgs{Mode: "tail"}, text},
	}
	for _, tt := range tests {
		_, got, _ := strings.Cut(mustRead(t, text, tt.args), "\n")
		if got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.args, got, tt.want)
		}
	}
	for _, args := range []ReadArgs{{Mode: "lines", From: 6}, {Mode: "lines", From: 3, To: 2}, {Mode: "head", From: 100}, {Mode: "lines", To: -9}} {
		if got, err := readFrom(t.Context(), text, testRoom, args); err == nil || !strings.Contains(err.Error(), "there are ") {
			t.Errorf("%+v: %q, %v, want an error that says how much there is", args, got, err)
		}
	}
}

func TestUnfitModes(t *testing.T) {
	t.Parallel()
	all := previews()
	tests := []struct {
		name, mode string
		want       []string
	}{
		{"text_log", "path", []string{"type text", "search, lines"}},
		{"json_array", "rows", []string{"type json", "path", ".[0:10]"}},
		{"csv", "path", []string{"type csv", "rows"}},
		{"binary", "lines", []string{"type binary", "head, tail, search"}},
		{"json_array", "grep", []string{`"grep"`, "search, path"}},
	}
	for _, tt := range tests {
		_, err := readFrom(t.Context(), all[tt.name], testRoom, ReadArgs{Mode: tt.mode, Query: "x"})
		for _, want := range tt.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %s: %v, want it to say %q", tt.mode, tt.name, err, want)
			}
		}
	}
}

func TestReadGolden(t *testing.T) {
	t.Parallel()
	all := previews()
	tests := []struct {
		name, text string
		args       ReadArgs
	}{
		{"stats_json", "json_array", ReadArgs{Mode: "stats"}},
		{"stats_jsonl", "jsonl", ReadArgs{Mode: "stats"}},
		{"stats_csv", "csv", ReadArgs{Mode: "stats"}},
		{"stats_html", "html", ReadArgs{Mode: "stats"}},
		{"stats_xml", "xml", ReadArgs{Mode: "stats"}},
		{"stats_text", "text_hidden", ReadArgs{Mode: "stats"}},
		{"stats_binary", "png", ReadArgs{Mode: "stats"}},
		{"stats_keys", "json_long", ReadArgs{Mode: "stats"}},
		{"search_line", "json_array", ReadArgs{Mode: "search", Query: `"id": 799`}},
		{"search_context", "text_log", ReadArgs{Mode: "search", Query: "request 10 ", Context: 2}},
		{"search_regex", "text_log", ReadArgs{Mode: "search", Query: `request \d00 took 0 ms$`, Regex: true, Context: 1}},
		{"search_many", "text_log", ReadArgs{Mode: "search", Query: "took 7 ms", From: 3, To: 5}},
		{"search_case", "text_log", ReadArgs{Mode: "search", Query: "REQUEST 1999"}},
		{"search_none", "text_log", ReadArgs{Mode: "search", Query: "nowhere"}},
		{"search_binary", "png", ReadArgs{Mode: "search", Query: "PNG"}},
		{"search_hidden", "text_colours", ReadArgs{Mode: "search", Query: "␛]0;"}},
		{"path_jq", "json_array", ReadArgs{Mode: "path", Query: ".[] | select(.id > 796) | .id"}},
		{"path_jq_one", "json_long", ReadArgs{Mode: "path", Query: ".deep.a.b"}},
		{"path_jq_cut", "json_array", ReadArgs{Mode: "path", Query: "map(.t)"}},
		{"path_jsonl", "jsonl", ReadArgs{Mode: "path", Query: "select(.i % 500 == 0)"}},
		{"path_jsonl_all", "jsonl", ReadArgs{Mode: "path", Query: "$all | map(.i) | add"}},
		{"path_css", "html", ReadArgs{Mode: "path", Query: "p:nth-of-type(2) b, h1"}},
		{"path_css_text", "html", ReadArgs{Mode: "path", Query: "h1::text"}},
		{"path_xpath", "xml", ReadArgs{Mode: "path", Query: "//item[@id=7]/name"}},
		{"path_xpath_attr", "xml", ReadArgs{Mode: "path", Query: "/catalog/@version"}},
		{"path_xpath_count", "xml", ReadArgs{Mode: "path", Query: "count(//item)"}},
		{"rows", "csv", ReadArgs{Mode: "rows", From: 6, To: 8}},
		{"rows_filter", "csv", ReadArgs{Mode: "rows", Filter: "id >= 1998 or name = 'name 7'", Columns: []any{"name", "id"}}},
		{"rows_numbers", "csv_numbers", ReadArgs{Mode: "rows", To: 2, Columns: []any{json.Number("3"), "1"}}},
		{"rows_none", "csv", ReadArgs{Mode: "rows", Filter: "id > 9999"}},
		{"head_binary", "binary", ReadArgs{Mode: "head", From: 17, To: 40}},
		{"tail_binary", "binary", ReadArgs{Mode: "tail"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := mustRead(t, all[tt.text], tt.args)
			golden(t, filepath.Join("testdata", "read", tt.name+".golden"), visible.Text(got))
		})
	}
}

func TestSearchNeverShowsAHugeLine(t *testing.T) {
	t.Parallel()
	text := jsonItems(60_000) // over 3 MB in one line
	got := mustRead(t, text, ReadArgs{Mode: "search", Query: `"id": 59999`})
	if !strings.Contains(got, "1 match in 1 of 1 line") || !strings.Contains(got, `{"id": 59999, "t": "xxx`) {
		t.Errorf("the match is not shown:\n%s", got)
	}
	if len(got) > 700 {
		t.Errorf("%d bytes for one match", len(got))
	}
	at := regexp.MustCompile(`1@(\d+):`).FindStringSubmatch(got)
	from, _ := strconv.Atoi(at[1])
	if body := mustRead(t, text, ReadArgs{Mode: "head", From: from, To: from + 300}); !strings.Contains(body, `"id": 59999`) {
		t.Errorf("the place that search names is not the match's:\n%s", body)
	}
	got = mustRead(t, text, ReadArgs{Mode: "search", Query: `"id": (\d)\d*7777,`, Regex: true})
	if !strings.Contains(got, "5 matches in 1 of 1 line") {
		t.Errorf("a regular expression over pieces:\n%.300s", got)
	}
}

// TestSearchFindsAll follows the calls that answers name: every match must be
// shown once.
func TestSearchFindsAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		long := rapid.Bool().Draw(t, "in long lines")
		var b strings.Builder
		n := rapid.IntRange(1, 80).Draw(t, "matches")
		for i := range n {
			fmt.Fprintf(&b, "needle<%d>", i)
			b.WriteString(strings.Repeat(rapid.SampledFrom([]string{" ", "é", "\x1b", "x"}).Draw(t, "filler"), rapid.IntRange(0, 300).Draw(t, "gap")))
			if !long {
				b.WriteByte('\n')
			}
		}
		text := b.String()
		args := ReadArgs{Mode: "search", Query: "needle<", Context: rapid.IntRange(0, 3).Draw(t, "context")}
		if args.Query = "needle<"; rapid.Bool().Draw(t, "regex") {
			args.Query, args.Regex = `needle<\d`, true
		}
		seen := make([]bool, n)
		for steps := 0; ; steps++ {
			got, err := readFrom(context.Background(), text, 1200, args)
			if err != nil || steps > n {
				t.Fatalf("step %d: %v", steps, err)
			}
			checkAnswer(t, got, 1200)
			if !strings.Contains(got, counted(n, "match", "es")+" in ") {
				t.Fatalf("the answer doesn't count %d matches: %.200s", n, got)
			}
			for i := range n {
				seen[i] = seen[i] || strings.Contains(got, fmt.Sprintf("needle<%d>", i))
			}
			more := regexp.MustCompile(`from: (\d+)\)\]\n$`).FindStringSubmatch(got)
			if more == nil {
				break
			}
			from, _ := strconv.Atoi(more[1])
			if from <= args.From {
				t.Fatalf("from %d leads back to %d", args.From, from)
			}
			args.From = from
		}
		if i := slices.Index(seen, false); i >= 0 {
			t.Fatalf("match %d is never shown", i)
		}
	})
}

func TestSearchErrors(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a line\n", 2000)
	for _, tt := range []struct {
		args ReadArgs
		want string
	}{
		{ReadArgs{}, "needs a query"},
		{ReadArgs{Query: "(", Regex: true}, "no regular expression"},
		{ReadArgs{Query: "((a{30}){30}b{100}){1}", Regex: true}, ""},
		{ReadArgs{Query: strings.Repeat("x{1000}", 10), Regex: true}, "too large"},
		{ReadArgs{Query: strings.Repeat("x", 3000)}, "at most"},
		{ReadArgs{Query: "line", From: 5000}, "there are 2000 matches"},
	} {
		tt.args.Mode = "search"
		_, err := readFrom(t.Context(), text, testRoom, tt.args)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%.60q: error = %v, want %q", tt.args.Query, err, tt.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, regex := range []bool{false, true} {
		if _, err := readFrom(ctx, text, testRoom, ReadArgs{Mode: "search", Query: "line", Regex: regex}); !errors.Is(err, context.Canceled) {
			t.Errorf("regex %v: error = %v after the run was stopped", regex, err)
		}
	}
}

func TestPathErrors(t *testing.T) {
	t.Parallel()
	all := previews()
	deep := strings.Repeat("<n>", 2000) + strings.Repeat("</n>", 2000)
	wide := "<r>" + strings.Repeat("<i>x</i>", 20_000) + "</r>"
	all["deep_xml"], all["wide_xml"] = deep, wide
	all["deep_html"] = "<!doctype html>" + strings.Repeat("<div>", 5000)
	for _, tt := range []struct{ name, query, want string }{
		{"json_array", "", "needs a query"},
		{"json_array", ".[", "jq: the query ends too early, at position 3"},
		{"json_array", ".a", "expected an object"},
		{"json_array", "[range(1e9)]", "the query"},
		{"json_array", `"x" * 1e9`, "too large"},
		{"json_array", "env.HOME, debug(1)", "not defined: debug/1"},
		{"jsonl", ".[0]", "$all"},
		{"html", "p[", "no CSS selector"},
		{"html", "p:has(a:has(b))", "once"},
		{"html", strings.Repeat("p ", 1000), "at most"},
		{"deep_html", "div", "can't be parsed"},
		{"xml", "//item[", "XPath"},
		{"xml", "//item[nosuch()]", "XPath"},
		{"deep_xml", "//n", "deeper"},
		// On a slow machine time runs out before the steps do; both end it.
		{"wide_xml", "//i[count(//i) < 1]", "too many steps|takes longer"},
		{"wide_xml", "//i[preceding::j]", "too many steps|takes longer"},
	} {
		got, err := readFrom(t.Context(), all[tt.name], testRoom, ReadArgs{Mode: "path", Query: tt.query})
		said := func(want string) bool { return err != nil && strings.Contains(err.Error(), want) }
		if !slices.ContainsFunc(strings.Split(tt.want, "|"), said) {
			t.Errorf("%s %.40q: %.100q, %v, want %q", tt.name, tt.query, got, err, tt.want)
		}
	}
}

func TestPathReadsOn(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]string{"json_array": ".[] | {id, t}", "jsonl": ".", "html": "h2, b", "xml": "//item"} {
		text := previews()[name]
		args := ReadArgs{Mode: "path", Query: query}
		results := 0
		for steps := 0; steps < 1000; steps++ {
			got := mustRead(t, text, args)
			part := regexp.MustCompile(`results (\d+)-(\d+)`).FindStringSubmatch(got)
			if part == nil || part[1] != strconv.Itoa(results+1) {
				t.Fatalf("%s: after %d results: %.200s", name, results, got)
			}
			results, _ = strconv.Atoi(part[2])
			more := regexp.MustCompile(`from: (\d+)\)\]\n$`).FindStringSubmatch(got)
			if more == nil {
				break
			}
			args.From, _ = strconv.Atoi(more[1])
		}
		want := map[string]int{"json_array": 800, "jsonl": 2000, "html": 400, "xml": 300}[name]
		if results != want {
			t.Errorf("%s: %d results, want %d", name, results, want)
		}
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	names := []string{"id", "full name", "amount", "status"}
	row := []string{"7", "Ann Lee", " 120.50", "Open"}
	for filter, want := range map[string]bool{
		"": true, "id = 7": true, "id == 7.0": true, "id != 7": false, "id<8": true, "amount > 100": true, "amount >= 120.5": true, "amount < 100": false,
		"full name = 'Ann Lee'": true, `"full name" contains ann`: true, "full name startswith Ann": true, "full name endswith LEE": true,
		"full name not contains bob": true, "status = Open": true, "status = open": false, "STATUS contains open": true, "4 = Open": true,
		"id = 1 or id = 7": true, "id = 7 and amount > 200": false, "id = 7 and amount > 200 or status = Open": true, "id = 1 && id = 7 || id = 7": true,
		"status > 5": false, "status != 5": true, "status > A": true, "amount <> 120.5": false, "id = ''": false,
	} {
		keep, err := parseFilter(looking(t.Context(), ""), filter, names, parseNumber)
		if err != nil {
			t.Errorf("%q: %v", filter, err)
			continue
		}
		if got := keep == nil || keep.holds(row); got != want {
			t.Errorf("%q: %v, want %v", filter, got, want)
		}
	}
	for _, filter := range []string{"id", "id =", "= 7", "nosuch = 1", "id = 7 and", "id = 7 amount > 1", "full name = Ann Lee", "id = 'x", "and", "id 'x' = 1", "id = 7 'and' id = 7"} {
		if _, err := parseFilter(looking(t.Context(), ""), filter, names, parseNumber); err == nil {
			t.Errorf("%q: no error", filter)
		}
	}
}

func TestRowsReadOn(t *testing.T) {
	t.Parallel()
	text := previews()["csv"]
	for _, filter := range []string{"", "id >= 100", "name endswith 7"} {
		args := ReadArgs{Mode: "rows", Filter: filter}
		seen := map[string]int{}
		for steps := 0; steps < 200; steps++ {
			got := mustRead(t, text, args)
			for _, line := range strings.Split(got, "\n") {
				if id, _, ok := strings.Cut(line, ",name "); ok {
					seen[id]++
				}
			}
			more := regexp.MustCompile(`from: (\d+)\)\]\n$`).FindStringSubmatch(got)
			if more == nil {
				break
			}
			args.From, _ = strconv.Atoi(more[1])
		}
		want := map[string]int{"": 2000, "id >= 100": 1900, "name endswith 7": 200}[filter]
		if len(seen) != want {
			t.Errorf("%q: %d records, want %d", filter, len(seen), want)
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%q: record %s is shown %d times", filter, id, n)
			}
		}
	}
	if _, err := readFrom(t.Context(), text, testRoom, ReadArgs{Mode: "rows", Columns: []any{"nosuch"}}); err == nil || !strings.Contains(err.Error(), "id, name, tags") {
		t.Errorf("an unknown column: %v, want an error that lists the columns", err)
	}
	for _, odd := range []any{map[string]any{"name": "a"}, []any{"a"}, true, nil} {
		_, err := readFrom(t.Context(), "name;amount\na;5\nb;7\n", testRoom, ReadArgs{Mode: "rows", Columns: []any{odd}})
		if err == nil || !strings.Contains(err.Error(), "names or numbers from 1") {
			t.Errorf("a column that is %v: %v", odd, err)
		}
	}
	quoted := mustRead(t, previews()["csv_quoted"], ReadArgs{Mode: "rows", From: 900})
	if !strings.Contains(quoted, "900 records") || !strings.Contains(quoted, "1,\"line one\nline two\"") {
		t.Errorf("record 900 with a line break: %s", quoted)
	}
}

// TestRecords holds the reading of rows against the writing of them.
func TestRecords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		comma := rapid.SampledFrom([]byte(",;\t|")).Draw(t, "delimiter")
		field := rapid.StringOfN(rapid.SampledFrom([]rune("ab\",;\t| é\n")), 0, 6, -1)
		var want [][]string
		var b strings.Builder
		for range rapid.IntRange(1, 20).Draw(t, "rows") {
			row := rapid.SliceOfN(field, 2, 4).Draw(t, "row")
			want = append(want, row)
			b.WriteString(joinRow(row, comma) + rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "line end"))
		}
		r := records{s: b.String(), comma: comma, work: looking(t.Context(), b.String())}
		for i, row := range want {
			text, ok := r.next()
			if got := splitRow(looking(t.Context(), text), nil, text, comma); !ok || !slices.Equal(got, row) {
				t.Fatalf("row %d of %q is %q, want %q", i, b.String(), got, row)
			}
		}
		if text, ok := r.next(); ok {
			t.Fatalf("one row too many: %q", text)
		}
	})
}

func FuzzRead(f *testing.F) {
	for name, text := range previews() {
		f.Add(text[:min(len(text), 2000)], name[:1], "search", ".", 2, 5)
	}
	f.Add("a,b\n1,2\n3,4\n", "a > 1", "rows", "", 1, 0)
	f.Add("[1,2,3]", ".[]", "path", "", 1, 0)
	f.Add("<a><b c='d'/></a>", "//b/@c", "path", "", 1, 0)
	f.Add("<p>x<b>y</b></p>", "p b::text", "path", "", 1, 0)
	f.Fuzz(func(t *testing.T, text, query, mode, filter string, from, to int) {
		if len(query) > 100 {
			return
		}
		for _, regex := range []bool{false, true} {
			got, err := readFrom(t.Context(), text, 900, ReadArgs{Mode: mode, Query: query, Regex: regex, Filter: filter, From: from, To: to, Context: 1})
			if err == nil {
				checkAnswer(t, got, 900)
				if !utf8.ValidString(visible.Text(got)) {
					t.Errorf("no valid UTF-8: %q", got)
				}
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	texts := benchmarkTexts(5_000_000)
	for _, tt := range []struct {
		name, text string
		args       ReadArgs
	}{
		{"search", "json", ReadArgs{Mode: "search", Query: `"id":50000,`}},
		{"search_case", "text", ReadArgs{Mode: "search", Query: "LINE 77777 "}},
		{"search_regex", "text", ReadArgs{Mode: "search", Query: `line 7\d*7 of`, Regex: true}},
		{"lines", "text", ReadArgs{Mode: "lines", From: 100_000}},
		{"head", "kanji", ReadArgs{Mode: "head", From: 1_000_000}},
		{"jq", "json", ReadArgs{Mode: "path", Query: ".[] | select(.id == 60000)"}},
		{"css", "html", ReadArgs{Mode: "path", Query: "p.a b"}},
		{"xpath", "xml", ReadArgs{Mode: "path", Query: "/root/item[@id=60000]"}},
		{"rows", "csv", ReadArgs{Mode: "rows", Filter: "id = 60000"}},
		{"stats", "csv", ReadArgs{Mode: "stats"}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := readFrom(b.Context(), texts[tt.text], testRoom, tt.args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
