package spill

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// nasty are texts whose pieces invite to look at what follows again and again:
// a beginning, what is repeated, an end.
var nasty = [][3]string{
	{"", `"a,`, ""},
	{"a;b\n", `"b;`, ""},
	{"", `x,"""a,`, ""},
	{"", "#,\"a\n#\n", ""},
	{"", "#a,b\n", "1,2\n3,4\n"},
	{"", "a,\"b\n", ""},
	{"", "\"a\n", "\"\n"},
	{"a,b\n1,2\n3,4\n", `"",`, ""},
	{"a\tb\n1\t2\n3\t4\n", "\"x\t", "\n"},
	{"a,b\n", "\"x\"y,\"\n", ""},
	{"a,b\n1,2\n", "\"1\",\"2\"\"\"\n", ""},
	{"id,name\n", "1,\"a\nb\"\n", ""},
	{"", "\"", ""},
	{"", "\"\",\n", ""},
	{"", "a|", "\n"},
	{"{\"a\":", "[", ""},
	{"[", "[{\"a\":[", "]"},
	{strings.Repeat("[", 5000) + "1", ",1", strings.Repeat("]", 5000)},
	{"[1", ",[[[[1]]]]", "]"},
	{`{"a":{"b":{"c":{"d":1`, `,"e":2`, "}}}}"},
	{"", "{\"a\":1}\n", "x"},
	{"", "{\"a\":\"", ""},
	{"", "{}\n", ""},
	{`{"`, `\"`, `":1}`},
	{"[", "  \n", "]"},
	{"<a>", "<", ""},
	{"<a>", "<b", "</a>"},
	{"<a>", "<b ", ""},
	{"<a>", "<b c='", ""},
	{"<a>", "<!--", ""},
	{"<a>", "<![CDATA[", "</a>"},
	{"", "<!x[>", ""},
	{"", "<!doctype x>", "<html>"},
	{"<?xml?>", "<a>", ""},
	{"<x>", "<a></a>", "</x>"},
	{"<html>", "<h1>", ""},
	{"<p>", "<title>&amp;", ""},
	{"<html><script>", "</scrip", ""},
	{"", "2024-05-06 07:08:09,123 INFO x\n", ""},
	{"", "\r", "\n"},
	{"", "\n", ""},
	{"", "🇦", ""},
	{"a", "\u0301", "b"},
	{"data:text/plain,", "x", ""},
	{"", "⟦U+", ""},
}

// repeated is a text of some 64 KiB.
func repeated(begin, piece, end string) string {
	const size = 1 << 16
	if piece == "" {
		return begin + end
	}
	return begin + strings.Repeat(piece, size/len(piece)+1) + end
}

// TestStepsGrowWithTheText holds what looks through a text to a number of steps
// for each of its bytes, far below what would end it.
func TestStepsGrowWithTheText(t *testing.T) {
	t.Parallel()
	for _, n := range nasty {
		checkSteps(t, n[0], n[1], n[2])
	}
}

func FuzzSteps(f *testing.F) {
	for _, n := range nasty {
		f.Add(n[0], n[1], n[2])
	}
	f.Fuzz(checkSteps)
}

func checkSteps(t *testing.T, begin, piece, end string) {
	if len(begin)+len(piece)+len(end) > 1<<16 {
		return
	}
	const each, more = 32, 1 << 16
	text := repeated(begin, piece, end)
	work := &meter{ctx: context.Background(), left: math.MaxInt}
	d := Doc{Name: "t", Ref: testRef, Text: text, Type: detect(work, text), Lines: lineCount(text), Chars: runes(text)}
	detected := math.MaxInt - work.left
	d.framed(newPage(work, 4000), d.example(work), d.body)
	if n := math.MaxInt - work.left; n > more+each*len(text) {
		t.Errorf("%d bytes, %.20q and then %.20q repeated and %.20q: %d steps to see that it is %s, %d in all", len(text), begin, piece, end, detected, d.Type, n)
	}
	for _, mode := range fitting(d.Type) {
		if mode == "search" || mode == "path" {
			continue // they have limits of their own
		}
		r := reader{doc: d, args: ReadArgs{Ref: testRef, Mode: mode}, room: testRoom}
		if mode == "rows" {
			r.args.Filter = "1 contains zzz or 1 = 7 and 2 > 3"
		}
		if _, err := r.read(t.Context()); errors.Is(err, errSteps) {
			t.Errorf("%d bytes of type %s, %.20q and then %.20q repeated and %.20q: mode %s: %v", len(text), d.Type, begin, piece, end, mode, err)
		}
	}
}

// TestMeterEnds shows that what takes too much ends with a plain preview, and
// what nobody waits for any more as well.
func TestMeterEnds(t *testing.T) {
	t.Parallel()
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errors.New("it was stopped"))
	for name, text := range benchmarkTexts(200_000) {
		d := Describe(stopped, "shell", text)
		d.Ref = testRef
		if d.Type != Text {
			t.Errorf("%s: the type is %s, found out for nobody", name, d.Type)
		}
		known := describe("shell", text)
		for _, got := range []string{d.Preview(stopped, 4000), known.Preview(stopped, 4000)} {
			checkPreview(t, text, got, 4000)
			if !strings.Contains(got, "it was stopped") || !strings.Contains(got, text[:1000]) {
				t.Errorf("%s: no plain beginning:\n%s", name, got)
			}
		}
	}
	work := &meter{ctx: t.Context(), left: 10, over: errSteps}
	after := false
	if err := work.run(func() { work.spend(10); work.spend(1); after = true }); !errors.Is(err, errSteps) || after {
		t.Errorf("ten steps and one: %v, went on %v", err, after)
	}
	defer func() {
		if p := recover(); fmt.Sprint(p) != "a fault" {
			t.Errorf("a fault of ours came out as %v", p)
		}
	}()
	_ = work.run(func() { panic("a fault") })
}
