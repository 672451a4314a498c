package spill

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/lib/visible"
)

var update = flag.Bool("update", false, "write the golden files anew")

const testRef = "a3f8c2d10123abcd"

func describe(name, text string) Doc {
	d := Describe(context.Background(), name, text)
	d.Ref = testRef
	return d
}

// preview is what [Doc.Preview] gives who waits for it.
func preview(d Doc, limit int) string { return d.Preview(context.Background(), limit) }

func jsonItems(n int) string {
	var b strings.Builder
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `{"id": %d, "t": "%s"}`, i, strings.Repeat("x", 40))
	}
	return b.String() + "]"
}

// previews are the golden files' inputs.
func previews() map[string]string {
	keys := make([]string, 3000)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"k%d": %d`, i, i)
	}
	var lines, log, rows strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&lines, "{\"i\": %d}\n", i)
		fmt.Fprintf(&log, "12:00:%02d request %d took %d ms\n", i%60, i, i*7%100)
		fmt.Fprintf(&rows, "%d,name %d,\"a, b\"\n", i, i)
	}
	var items strings.Builder
	for i := range 300 {
		fmt.Fprintf(&items, "  <item id=\"%d\">\n    <name>Item &amp; %d</name>\n  </item>\n", i, i)
	}
	return map[string]string{
		"json_array":  jsonItems(800),
		"json_object": "{" + strings.Join(keys, ", ") + "}",
		"json_mixed":  `[1, "two", [3], {"four": 4}, null, true, ` + strings.Repeat(`1, "x", {"key": "`+strings.Repeat("v", 50)+`"}, `, 200) + `null]`,
		"json_long": `{"title": "T", "body": "` + strings.Repeat(`a \"quoted\" word \ud83d\ude00 `, 600) + `", "list": [` + strings.Repeat("1, ", 2000) +
			`2], "deep": {"a": {"b": {"c": {"d": {"e": {"f": {"g": 1}}}}}}}, "n": ` + strings.Repeat("9", 700) + `}`,
		"json_pretty":     "[\n" + strings.Repeat("                                        1,\n", 300) + "2\n]",
		"json_blanks":     `{"a": 1,` + strings.Repeat(" ", 9000) + `"b": "x"}`,
		"jsonl":           lines.String(),
		"html":            "\n  <!-- c --><!DOCTYPE html><html><head><title>The\n title</title><style>p{}</style></head><body><h1>One &amp; two</h1><script>x()</script>" + strings.Repeat("<h2>Part</h2><p>Some <b>bold</b> text&nbsp;here.</p>\n", 200),
		"xml":             bom + `<?xml version="1.0" encoding="UTF-8"?>` + "\n<catalog xmlns=\"urn:x\" version=\"2\">\n" + items.String() + "<note/></catalog>",
		"csv":             "id,name,tags\n" + rows.String(),
		"csv_quoted":      "a,b\n" + strings.Repeat("1,\"line one\nline two\"\n", 900),
		"csv_numbers":     strings.Repeat("1\t2\t3.5\n", 3000),
		"text_log":        log.String(),
		"text_letters":    strings.Repeat("界", 9000),
		"text_line":       strings.Repeat("0123456789", 1000),
		"text_long_lines": strings.Repeat("short\n"+strings.Repeat("long ", 1000)+"\n", 12),
		"text_colours":    "\x1b[31m" + strings.Repeat("x", 9000) + "\x1b[0m\x1b]0;title\x07",
		"text_hidden":     strings.Repeat("a\u202eb\U000e0041\n", 2000),
		"text_deep":       strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
		"data_uri":        "data:image/png;base64," + strings.Repeat("iVBORw0KGgo", 10_000),
		"binary":          everyByte(50),
		"png":             "\x89PNG\r\n\x1a\n" + everyByte(40),
	}
}

func TestPreviewGolden(t *testing.T) {
	t.Parallel()
	for name, text := range previews() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := preview(describe("gitlab", text), 4000)
			checkPreview(t, text, got, 4000)
			golden(t, filepath.Join("testdata", "preview", name+".golden"), got)
			for _, limit := range []int{minPreview, 700, 1500} {
				checkPreview(t, text, preview(describe("gitlab", text), limit), limit)
			}
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (run the test with -update to write it)", err)
	}
	if diff := cmp.Diff(string(want), got+"\n"); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

var (
	headerLine    = regexp.MustCompile(`^\[LARGE OUTPUT: \S+ \| type:[a-z]+ \| lines:(\d+) \| chars:(\d+)( \| ref:[0-9a-f]+)?\]$`)
	truncatedLine = regexp.MustCompile(`^🛑 TRUNCATED: (\d+) of (\d+) characters are shown below; (\d+) are NOT\.$`)
)

// checkPreview holds what is true of every preview.
func checkPreview(t interface {
	Helper()
	Errorf(string, ...any)
}, text, got string, limit int,
) {
	t.Helper()
	if n := utf8.RuneCountInString(got); n > limit {
		t.Errorf("the preview has %d characters, the limit is %d:\n%s", n, limit, got)
	}
	if !utf8.ValidString(got) {
		t.Errorf("the preview is no valid UTF-8: %q", got)
	}
	for _, r := range got {
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f || visible.Hidden(r) {
			t.Errorf("the preview holds %U", r)
			break
		}
	}
	lines := strings.SplitN(got, "\n", 4)
	header := headerLine.FindStringSubmatch(lines[0])
	if len(lines) < 4 || header == nil {
		t.Errorf("the preview has no header: %q", got)
		return
	}
	if header[1] != strconv.Itoa(lineCount(text)) || header[2] != strconv.Itoa(utf8.RuneCountInString(text)) {
		t.Errorf("header %q, but there are %d lines, %d characters", lines[0], lineCount(text), utf8.RuneCountInString(text))
	}
	if strings.HasPrefix(lines[1], "✅ COMPLETE") {
		if lines[2] != "Result:" {
			t.Errorf("line 3 is %q, want Result:", lines[2])
		}
		return
	}
	numbers := truncatedLine.FindStringSubmatch(lines[1])
	if numbers == nil || lines[2] != "Preview:" {
		t.Errorf("lines 2 and 3 are %q and %q", lines[1], lines[2])
		return
	}
	shown, _ := strconv.Atoi(numbers[1])
	all, _ := strconv.Atoi(numbers[2])
	hidden, _ := strconv.Atoi(numbers[3])
	if shown+hidden != all || numbers[2] != header[2] || shown <= 0 {
		t.Errorf("the numbers don't add up: %q", lines[1])
	}
	if !strings.Contains(got, `read_output(ref: "`+testRef+`", mode: `) && header[3] != "" {
		t.Errorf("the preview doesn't tell how to see the rest: %q", got)
	}
}

// anyText draws texts of every type, and of none.
func anyText() *rapid.Generator[string] {
	words := []string{
		"a", "word ", "\n", "\r\n", "\t", ",", ";", "|", "\"", "{", "}", "[", "]", ":", "1", "<p>", "</p>", "<a b='c'>", "<!--", "-->", "<?xml?>", "&amp;",
		"界", "é", "e\u0301", "👩\u200d👧", "🇩🇪", "🇫", "\x00", "\x1b[1m", "\xff", "\xe7\x95", "\u202e", "\U000e0041", "␛", "⟦U+", "⟧", bom, "\\", "\\u00e9", "\u0600",
	}
	noise := rapid.Map(rapid.SliceOf(rapid.SampledFrom(words)), func(p []string) string { return strings.Join(p, "") })
	long := rapid.Custom(func(t *rapid.T) string {
		piece := noise.Draw(t, "piece")
		if piece == "" {
			piece = "x"
		}
		return strings.Repeat(piece, rapid.IntRange(1, 20_000/len(piece)+1).Draw(t, "times"))
	})
	objects := rapid.Map(rapid.SliceOfN(rapid.MapOfN(rapid.StringN(0, 8, -1), jsonValue(2), 0, 5), 2, 60), func(v []map[string]any) string {
		var b strings.Builder
		for _, o := range v {
			b.WriteString(strings.ReplaceAll(encode(o), "\n", "") + "\n")
		}
		return b.String()
	})
	rows := rapid.Custom(func(t *rapid.T) string {
		cols, comma := rapid.IntRange(2, 5).Draw(t, "columns"), rapid.SampledFrom([]byte(",;\t|")).Draw(t, "delimiter")
		var b strings.Builder
		for range rapid.IntRange(3, 100).Draw(t, "rows") {
			row := rapid.SliceOfN(noise, cols, cols).Draw(t, "row")
			b.WriteString(joinRow(row, comma) + "\n")
		}
		return b.String()
	})
	doc := rapid.Map(rapid.SliceOfN(noise, 0, 40), func(p []string) string {
		return "<root at='1'>" + strings.Join(p, "<child/><kid>text</kid>") + "</root>"
	})
	page := rapid.Map(rapid.SliceOfN(noise, 0, 40), func(p []string) string {
		return "<!doctype html><title>" + strings.Join(p, "</title><h1>x</h1><p>") + "</html>"
	})
	return rapid.OneOf(noise, long, rapid.Map(jsonValue(4), encode), objects, rows, doc, page)
}

func TestPreviewHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := anyText().Draw(t, "text")
		limit := rapid.IntRange(minPreview, 4000).Draw(t, "limit")
		d := describe("shell", text)
		if rapid.Bool().Draw(t, "lost") {
			d.Ref = ""
		}
		checkPreview(t, text, preview(d, limit), limit)
	})
}

var leftOut = regexp.MustCompile(`\n?\.\.\. (\d+) characters (?:in \d+ lines )?are left out here \.\.\.\n`)

// TestTextPreviewIsTrue takes a text preview apart: it must be the beginning
// and the end of the text, and the numbers must be theirs.
func TestTextPreviewIsTrue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		line := rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat(rapid.SampledFrom([]string{"a", "é", "界", "👩\u200d👧"}).Draw(t, "word"), rapid.IntRange(0, 90).Draw(t, "words"))
		})
		for _, l := range rapid.SliceOfN(line, 8, 30).Draw(t, "lines") {
			b.WriteString(l + "\n")
		}
		text := b.String() + strings.Repeat("the middle of it\n", 300) + b.String()
		got := preview(describe("shell", text), 3000)
		_, body, _ := strings.Cut(got, "Preview:\n")
		body = body[:strings.Index(body, "To explore the full data")]
		cut := leftOut.FindStringSubmatchIndex(body)
		if cut == nil {
			t.Fatalf("nothing says what is left out:\n%s", got)
		}
		head, tail := body[:cut[0]], body[cut[1]:]
		if strings.HasPrefix(body[cut[0]:], "\n") && strings.HasPrefix(text, head+"\n") {
			head += "\n"
		}
		if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) {
			t.Fatalf("the preview is not the beginning and the end:\n%s", got)
		}
		shown := runes(head) + runes(tail)
		if !strings.Contains(got, fmt.Sprintf("TRUNCATED: %d of %d", shown, runes(text))) {
			t.Fatalf("%d characters are shown of %d:\n%s", shown, runes(text), got)
		}
		if left := body[cut[2]:cut[3]]; left != strconv.Itoa(runes(text)-shown) {
			t.Fatalf("%s left out, want %d", left, runes(text)-shown)
		}
	})
}

func TestPreviewOfMany(t *testing.T) { // what a preview must say, by type
	t.Parallel()
	all := previews()
	tests := []struct{ name, want string }{
		{"json_array", "type:json"},
		{"json_array", `[4] {"id":4,"t":"xxxx`},
		{"json_array", "... 795 more items (795 objects); keys: id, t"},
		{"json_object", `"k4": 4` + "\n... 2995 more keys (2995 numbers): k5, k6"},
		{"json_blanks", "COMPLETE"},
		{"json_blanks", `"a": 1` + "\n" + `"b": "x"`},
		{"jsonl", "type:jsonl"},
		{"jsonl", `[4] {"i":4}` + "\n... 1995 more objects; keys: i"},
		{"html", "type:html"},
		{"html", "Title: The title\n"},
		{"html", "# One & two\n"},
		{"html", "Some bold text\u00a0here.\n"},
		{"xml", "type:xml"},
		{"xml", `<catalog xmlns="urn:x" version="2">`},
		{"xml", "[4] <item id=\"4\">"},
		{"xml", "... 296 more children (295 item, 1 note)"},
		{"csv_quoted", "type:csv"},
		{"csv_quoted", "900 records"},
		{"csv_numbers", "3 columns, 3000 records, no header, delimiter tab"},
		{"text_letters", "chars:9000"},
		{"text_deep", "type:text"},
		{"data_uri", "image/png"},
		{"png", "PNG image, 10248 bytes"},
		{"binary", "12800 bytes"},
	}
	for _, tt := range tests {
		if got := preview(describe("t", all[tt.name]), 4000); !strings.Contains(got, tt.want) {
			t.Errorf("the preview of %s doesn't say %q:\n%s", tt.name, tt.want, got)
		}
	}
}

func FuzzPreview(f *testing.F) {
	for _, text := range previews() {
		f.Add(text[:min(len(text), 3000)], 600)
	}
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = minPreview + max(limit, -limit, 0)%4000
		checkPreview(t, text, preview(describe("shell", text), limit), limit)
	})
}

func BenchmarkPreview(b *testing.B) {
	for _, size := range []int{8_000, 100_000, 5_000_000} {
		for name, text := range benchmarkTexts(size) {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				d := describe("tool", text)
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					preview(d, 4000)
				}
			})
		}
	}
}
