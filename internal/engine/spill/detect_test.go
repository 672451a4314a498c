package spill

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// detections are texts and what they are.
var detections = []struct {
	name, in string
	want     Type
}{
	{"empty", "", Text},
	{"blank", " \n\t", Text},
	{"word", "hello", Text},
	{"scalar", "12", Text},
	{"quoted scalar", `"a string"`, Text},

	{"object", `{"a":1}`, JSON},
	{"array over lines", "[\n  1,\n  2\n]\n", JSON},
	{"empty object", "{}", JSON},
	{"blanks before", " \r\n\t[1]", JSON},
	{"byte-order mark", bom + "[1,2]", JSON},
	{"byte-order mark after a blank", "\n" + bom + "[1,2]", JSON},
	{"one object to a line and one line", `{"a":1}` + "\n", JSON},
	{"cut off", `[{"a":1},{"a"`, Text},
	{"trailing comma", `{"a":1,}`, Text},
	{"comment", "{\n// c\n\"a\":1}", Text},
	{"single quotes", `{'a':1}`, Text},
	{"text behind", `{"a":1} done`, Text},
	{"deepest that is read", strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth), JSON},
	{"a level deeper", strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1), Text},
	{"very deep", strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), Text},
	{"very deep and open", strings.Repeat("[", 5_000_000), Text},
	{"very deep objects", strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000), Text},

	{"lines of objects", `{"a":1}` + "\n" + `{"a":2}`, JSONL},
	{"blank lines between", bom + "{\"a\":1}\r\n\r\n{\"b\":2}\r\n\n", JSONL},
	{"two objects on a line", `{"a":1} {"a":2}` + "\n" + `{"a":3}`, Text},
	{"objects over lines", "{\n\"a\":1}\n{\n\"a\":2}", Text},
	{"lines of arrays", "[1]\n[2]\n", Text},
	{"the last line cut off", "{\"a\":1}\n{\"a\":2}\n{\"a", Text},
	{"log lines in braces", strings.Repeat("{starting job}\n", 1500), Text},
	{"log lines in brackets", strings.Repeat("[12:00:01] a, b\n", 10), Text},

	{"doctype", "<!DOCTYPE html><html></html>", HTML},
	{"doctype in capitals", "<!doctype HTML PUBLIC \"-//W3C\">\n<HTML>", HTML},
	{"comment before the doctype", "\n  <!-- c --><!DOCTYPE html><html><title>T</title>", HTML},
	{"fragment", "<p>one <b>two</b></p>\n<p>three", HTML},
	{"fragment with attributes", `<div class="a > b" data-x='>'>x</div>`, HTML},
	{"page without doctype", bom + "<html lang=en><body>", HTML},
	{"XHTML", `<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"/>`, HTML},
	{"XHTML without doctype", `<?xml version="1.0"?>` + "\n<html xmlns='http://www.w3.org/1999/xhtml'></html>", HTML},
	{"drawing in a page", `<div><svg><path d="M0"/><path d="M1"/></svg></div>`, HTML},

	{"declared", `<?xml version="1.0"?><note/>`, XML},
	{"declared and cut off", `<?xml version="1.0"?><a><b>`, XML},
	{"byte-order mark before the declaration", bom + `<?xml version="1.0" encoding="UTF-8"?><a/>`, XML},
	{"root that closes", "<note id='1'>\n <to>A</to>\n</note>\n", XML},
	{"namespaces", `<x:root xmlns:x="urn:a"><x:item>1</x:item></x:root>`, XML},
	{"comments around the root", "<!-- a --><root/><!-- b -->\n", XML},
	{"empty root", "<root/>", XML},
	{"CDATA", "<root><![CDATA[ </root> ]]></root>", XML},
	{"document type of its own", `<!DOCTYPE note [<!ELEMENT note (#PCDATA)> ]><note>x</note>`, XML},
	{"root with a name of HTML", "<table><row><cell>1</cell></row><row><cell>2</cell></row></table>", XML},
	{"declared with a name of HTML", `<?xml version="1.0"?><data><p>1</p></data>`, XML},
	{"feed", `<rss version="2.0"><channel><title>T</title><item/></channel></rss>`, XML},
	{"root that stays open", "<note><to>A</to>", Text},
	{"two roots", "<a1>1</a1>\n<a1>2</a1>", Text},
	{"text behind the root", "<note>1</note> and more", Text},
	{"address", "<someone@example.org> wrote:", Text},
	{"less than", "< 5 lines", Text},
	{"merge conflict", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> b\n", Text},
	{"tag that never ends", "<p class=", Text},
	{"heredoc", "<<EOF\na\nEOF", Text},

	{"csv", "a,b\n1,2\n3,4\n", CSV},
	{"csv without header", "1,2\n3,4\n5,6", CSV},
	{"csv with a byte-order mark", bom + "id,name\r\n1,Ann\r\n2,Bob\r\n", CSV},
	{"quoted line breaks", "a,b\n" + strings.Repeat("1,\"line one\nline two\"\n", 900), CSV},
	{"quotes in quotes", "a,b\n\"x \"\"y\"\", z\",2\n3,4\n", CSV},
	{"semicolons and decimal commas", "name;price\nx;1,50\ny;2,00\n", CSV},
	{"tabs", "a\tb\tc\n1\t2\t3\n4\t\t6\n", CSV},
	{"tabs with an empty first name", "\ta\tb\nx\t1\t2\ny\t3\t4\n", CSV},
	{"pipes", "a|b\n1|2\n3|4\n", CSV},
	{"blank after the comma", "name, age\nBob Smith, 42\nAnn, 37\n", CSV},
	{"comment lines first", "# made today\n# by hand\na,b\n1,2\n3,4\n", CSV},
	{"text columns", "id,comment\n1,This is a long sentence.\n2,And one more of them.\n3,Third.\n", CSV},
	{"two rows", "a,b\n1,2\n", Text},
	{"one column", "a\nb\nc\nd\n", Text},
	{"uneven", "a,b\n1,2\n3,4,5\n", Text},
	{"Markdown table", "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n", Text},
	{"Markdown table without outer bars", "a | b\n--|--\n1 | 2\n3 | 4\n", Text},
	{"database shell", " id | name \n----+------\n  1 | Ann\n  2 | Bob\n", Text},
	{"prose with commas", "Dear John, I hope\nyou are well, my friend\nand happy, too\n", Text},
	{"sentences", "First we go, then we come back.\nThen we eat, then we sleep.\nAnd so on, and so on.\n", Text},
	{"poem", "Tyger Tyger, burning bright,\nIn the forests of the night,\nWhat immortal hand or eye,\n", Text},
	{"logging with a comma in the time", "2024-05-06 07:08:09,123 INFO start\n2024-05-06 07:08:09,456 INFO go\n2024-05-06 07:08:10,001 WARN end\n", Text},
	{"code", "x = 1;\ny = 2;\nz = 3;\n", Text},
	{"calls", "foo(a, b)\nbar(c, d)\nbaz(e, f)\n", Text},
	{"trailing commas", "  \"a\",\n  \"b\",\n  \"c\",\n", Text},
	{"indented", "\ta\n\tb\n\tc\n", Text},
	{"search results", "a.go:1: f(a, b)\nb.go:2: f(c, d)\nc.go:3: f(e, f)\n", Text},
	{"an open quote", "a,\"b\n1,2\n3,4\n5,6\n", CSV},

	{"every byte", everyByte(50), Binary},
	{"PNG", "\x89PNG\r\n\x1a\n" + strings.Repeat("text ", 1000), Binary},
	{"UTF-16", "\xff\xfe" + strings.Repeat("a\x00", 100), Binary},
	{"zeros", strings.Repeat("\x00", 100), Binary},
	{"Latin-1 text", strings.Repeat("Le caf\xe9 est tr\xe8s bon aujourd'hui. ", 20), Text},
	{"names ended by NUL", strings.Repeat("./some/file/name.txt\x00", 50), Text},
	{"colours", strings.Repeat("\x1b[31mred\x1b[0m\n", 50), Text},
	{"letters of three bytes", strings.Repeat("界", 9000), Text},
	{"cut within a letter at the sample's end", strings.Repeat("a", sniffBinary-1) + strings.Repeat("界", 10), Text},
	{"says PDF", "%PDF- is how such files begin", Text},
}

func TestDetect(t *testing.T) {
	t.Parallel()
	for _, tt := range detections {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := typeOf(tt.in); got != tt.want {
				t.Errorf("type of (%.60q) = %s, want %s", tt.in, got, tt.want)
			}
		})
	}
}

func everyByte(times int) string {
	var b [256]byte
	for i := range b {
		b[i] = byte(i)
	}
	return strings.Repeat(string(b[:]), times)
}

// jsonText draws text that is often JSON.
func jsonText() *rapid.Generator[string] {
	pieces := []string{`{`, `}`, `[`, `]`, `,`, `:`, `"`, `"a"`, `"\u00e9"`, `"\ud83d\ude00"`, `\`, `1`, `-0.5e+10`, `01`, `.`, `-`, `e`, `true`, `null`, ` `, "\n", "\x01", "é", `{"a":1}`, `[1,2]`}
	noise := rapid.Map(rapid.SliceOf(rapid.SampledFrom(pieces)), func(p []string) string { return strings.Join(p, "") })
	return rapid.OneOf(noise, rapid.Map(jsonValue(3), encode))
}

func jsonValue(depth int) *rapid.Generator[any] {
	scalars := rapid.OneOf(
		rapid.Map(rapid.StringN(0, 12, -1), func(s string) any { return s }), rapid.Map(rapid.Int(), func(n int) any { return n }),
		rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { return f }), rapid.SampledFrom([]any{true, false, nil}),
	)
	if depth == 0 {
		return scalars
	}
	return rapid.OneOf(scalars,
		rapid.Map(rapid.SliceOfN(jsonValue(depth-1), 0, 6), func(v []any) any { return v }),
		rapid.Map(rapid.MapOfN(rapid.StringN(0, 8, -1), jsonValue(depth-1), 0, 6), func(v map[string]any) any { return v }))
}

func encode(v any) string {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		panic(err)
	}
	return string(text)
}

func typeOf(s string) Type { return Describe(context.Background(), "", s).Type }

func checkJSON(t interface{ Fatalf(string, ...any) }, s string) {
	if got, want := validJSON(looking(context.Background(), s), s), json.Valid([]byte(s)); got != want {
		t.Fatalf("validJSON(%q) = %v, the standard library says %v", s, got, want)
	}
}

func TestValidJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { checkJSON(t, jsonText().Draw(t, "text")) })
}

func FuzzValidJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e3,"\u00e9",true,null]}`, `[`, `""`, ` {} `, `01`, `[1,]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkJSON(t, s) })
}

func FuzzDetect(f *testing.F) {
	for _, s := range []string{`{"a":1}`, "{\"a\":1}\n{}", "<p>x", "<?xml?><a/>", "a,b\n1,\"2\n\"\n3,4", "text", everyByte(1), "<!DOCTYPE x [<!>]><x/>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		typ := typeOf(s)
		if typ == JSON && !json.Valid([]byte(trimFront(s))) {
			t.Errorf("type of (%q) = json, which it is not", s)
		}
	})
}

func benchmarkTexts(size int) map[string]string {
	texts := map[string]string{}
	fill := func(name, begin, piece, end string) {
		var b strings.Builder
		b.WriteString(begin)
		for i := 0; b.Len() < size-len(end); i++ {
			b.WriteString(strings.ReplaceAll(piece, "#", fmt.Sprint(i)))
		}
		b.WriteString(end)
		texts[name] = b.String()
	}
	fill("json", `[{"id":0}`, `,{"id":#,"title":"Fix login","state":"merged","labels":["a","b"]}`, "]")
	fill("jsonl", "", `{"id":#,"title":"Fix login","state":"merged"}`+"\n", "")
	fill("html", "<!DOCTYPE html><html><title>T</title>", "<p class=a>paragraph # with <b>text</b></p>\n", "</html>")
	fill("xml", "<root>", "<item id=\"#\"><name>n</name></item>\n", "</root>")
	fill("csv", "id,name,comment\n", "#,name of #,\"a comment, quoted\"\n", "")
	fill("text", "", "line # of a log, as long as lines are\n", "")
	fill("line", "", "x", "")
	fill("kanji", "", "界", "")
	return texts
}

func BenchmarkDetect(b *testing.B) {
	for _, size := range []int{8_000, 100_000, 5_000_000} {
		for name, text := range benchmarkTexts(size) {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					typeOf(text)
				}
			})
		}
	}
}
