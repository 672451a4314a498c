package spill

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/blob"
	"github.com/goclaw/goclaw/internal/lib/visible"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// desk is a spiller and the tool that reads back, on one store.
type desk struct {
	store   blob.Store
	keeper  *blob.Keeper
	spiller *Spiller
	read    tool.Tool
	scope   tool.Scope
}

var spillLimits = map[blob.Kind]blob.Limits{blob.Spill: {TTL: time.Hour, Entries: 200, Bytes: 256 << 20}}

func newDesk(opts Options) *desk {
	opts.Log = slog.New(slog.DiscardHandler)
	d := &desk{store: blob.NewMemory(), scope: tool.NewScope(tool.Facts{Agent: "main", Session: "s1"})}
	d.keeper = blob.NewKeeper(d.store, blob.Options{Limits: spillLimits})
	d.spiller = New(d.keeper, opts)
	d.read = Tools(d.keeper, opts)[0]
	return d
}

func outcome(name, text string) *tool.Outcome {
	return &tool.Outcome{Tool: name, Args: json.RawMessage(`{"path":"a"}`), Status: tool.OK, Content: []llm.Part{llm.Text(text)}}
}

// show shows one result and returns what the model sees.
func (d *desk) show(name, text string, keep bool) (string, *tool.Outcome) {
	o := outcome(name, text)
	d.spiller.Show(context.Background(), d.scope, o, How{Keep: keep})
	return llm.JoinText(o.Content), o
}

// call calls read_output, shows the answer as the engine would, and returns it.
func (d *desk) call(t *testing.T, scope tool.Scope, args string) (string, error) {
	t.Helper()
	res, err := d.read.Execute(t.Context(), tool.Call{Args: json.RawMessage(args), Scope: scope})
	if err != nil {
		return "", err
	}
	o := &tool.Outcome{Tool: ReadOutput, Content: res.Content}
	d.spiller.Show(t.Context(), scope, o, How{})
	if o.Ref != "" {
		t.Errorf("an answer of read_output was spilled")
	}
	return llm.JoinText(o.Content), nil
}

// casePiece is a part of a case's text: text, or bytes in hexadecimal, so many
// times; with numbers, once for each of them in place of %, joined by between.
type casePiece struct {
	Text    string
	Bytes   string
	Times   int
	Numbers *struct {
		From, To int
		Between  string
	}
}

func (p casePiece) expand() (string, error) {
	text := p.Text
	if p.Bytes != "" {
		raw, err := hex.DecodeString(p.Bytes)
		if err != nil {
			return "", err
		}
		text = string(raw)
	}
	if p.Numbers == nil {
		return strings.Repeat(text, max(p.Times, 1)), nil
	}
	var each []string
	for i := p.Numbers.From; i < p.Numbers.To; i++ {
		each = append(each, strings.ReplaceAll(text, "%", fmt.Sprint(i)))
	}
	return strings.Join(each, p.Numbers.Between), nil
}

// TestCases has the cases of testdata/cases.json: what a tool returned, and
// what must be true of what the model sees.
func TestCases(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []shownCase
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

// shownCase is one case of testdata/cases.json.
type shownCase struct {
	Name    string
	Parts   []casePiece
	Spilled bool
	Whole   bool // the model sees exactly the text
	Type    string
	Shows   []string
	Hides   []string
	Reads   []struct {
		Args  string
		Shows []string
	}
}

func (c shownCase) run(t *testing.T) {
	var b strings.Builder
	for _, p := range c.Parts {
		text, err := p.expand()
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(text)
	}
	text := b.String()
	d := newDesk(Options{})
	got, o := d.show("gitlab", text, false)
	checkShown(t, got)
	switch n := utf8.RuneCountInString(got); {
	case (o.Ref != "") != c.Spilled:
		t.Errorf("spilled: %v, want %v", o.Ref != "", c.Spilled)
	case c.Spilled && n > 4000:
		t.Errorf("the model gets %d characters", n)
	case c.Whole && got != text:
		t.Errorf("not returned as it is: %.200q", got)
	case c.Type != "" && !strings.Contains(got, "type:"+c.Type+" |"):
		t.Errorf("the type is not %s: %.100s", c.Type, got)
	}
	for _, want := range c.Shows {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not shown:\n%s", want, got)
		}
	}
	for _, bad := range c.Hides {
		if strings.Contains(got, bad) {
			t.Errorf("%q is shown:\n%s", bad, got)
		}
	}
	if c.Spilled {
		c.readBack(t, d, o)
	}
}

// readBack reads in every mode that fits, and as the case says.
func (c shownCase) readBack(t *testing.T, d *desk, o *tool.Outcome) {
	for _, mode := range fitting(Type(o.Type)) {
		answer, err := d.call(t, d.scope, fmt.Sprintf(`{"ref":%q,"mode":%q,"query":"nowhere"}`, o.Ref, mode))
		switch {
		case err == nil:
			checkShown(t, answer)
		case mode != "path": // the query fits no language
			t.Errorf("mode %s: %v", mode, err)
		}
	}
	for _, read := range c.Reads {
		answer, err := d.call(t, d.scope, strings.ReplaceAll(read.Args, "REF", o.Ref))
		if err != nil {
			t.Errorf("%s: %v", read.Args, err)
			continue
		}
		checkShown(t, answer)
		for _, want := range read.Shows {
			if !strings.Contains(answer, want) {
				t.Errorf("%s doesn't show %q: %.500s", read.Args, want, answer)
			}
		}
	}
}

// checkShown holds what is true of everything that the model sees.
func checkShown(t interface {
	Helper()
	Errorf(string, ...any)
}, got string,
) {
	t.Helper()
	if strings.TrimSpace(got) == "" {
		t.Errorf("the model sees nothing: %q", got)
	}
	if !utf8.ValidString(got) {
		t.Errorf("no valid UTF-8: %.200q", got)
	}
	for _, r := range got {
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f || visible.Hidden(r) {
			t.Errorf("%U reaches the model", r)
			return
		}
	}
	if n := utf8.RuneCountInString(got); n > 8000 {
		t.Errorf("the model sees %d characters", n)
	}
}

func TestShowAtTheLimit(t *testing.T) {
	t.Parallel()
	for _, letter := range []string{"x", "界", "🎉"} {
		d := newDesk(Options{})
		if got, o := d.show("t", strings.Repeat(letter, 8000), false); o.Ref != "" || got != strings.Repeat(letter, 8000) {
			t.Errorf("8,000 of %q are not returned whole", letter)
		}
		got, o := d.show("t", strings.Repeat(letter, 8001), false)
		if o.Ref == "" || !strings.Contains(got, "chars:8001") || o.Chars != 8001 || o.Type != "text" {
			t.Errorf("8,001 of %q: %+v, %.100q", letter, o, got)
		}
	}
	d := newDesk(Options{MaxResult: 1000})
	if got, _ := d.show("t", strings.Repeat("x", 1001), false); utf8.RuneCountInString(got) > 1000 {
		t.Errorf("the preview of 1,001 characters is longer than the limit: %d", utf8.RuneCountInString(got))
	}
}

func TestShowEmpty(t *testing.T) {
	t.Parallel()
	d := newDesk(Options{})
	image := llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png", Data: []byte("x")}}
	tests := []struct {
		content []llm.Part
		want    string
		parts   int
	}{
		{nil, "(no output)", 1},
		{[]llm.Part{llm.Text("")}, "(no output)", 1},
		{[]llm.Part{llm.Text(" \n\n")}, "(3 blank characters and nothing else)", 1},
		{[]llm.Part{llm.Text(""), image}, "", 1},
		{[]llm.Part{image}, "", 1},
	}
	for _, tt := range tests {
		for _, keep := range []bool{false, true} {
			o := &tool.Outcome{Tool: "t", Content: tt.content}
			d.spiller.Show(t.Context(), d.scope, o, How{Keep: keep})
			if got := llm.JoinText(o.Content); got != tt.want || len(o.Content) != tt.parts {
				t.Errorf("%v: %q in %d parts, want %q in %d", tt.content, got, len(o.Content), tt.want, tt.parts)
			}
		}
	}
}

func TestShowKeepsOtherParts(t *testing.T) {
	t.Parallel()
	d := newDesk(Options{})
	image := llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png", Data: []byte("\x1b")}}
	o := &tool.Outcome{Tool: "t", Content: []llm.Part{
		image, {Kind: llm.KindText, Text: strings.Repeat("a", 5000), Origin: "web"}, image, llm.Text(strings.Repeat("b", 5000)),
	}}
	d.spiller.Show(t.Context(), d.scope, o, How{})
	if len(o.Content) != 3 || o.Content[0].Media == nil || o.Content[2].Media == nil || o.Content[1].Origin != "web" {
		t.Errorf("the parts are %+v", o.Content)
	}
	if data, err := d.keeper.Read(t.Context(), d.scope, o.Ref); err != nil || string(data) != strings.Repeat("a", 5000)+strings.Repeat("b", 5000) {
		t.Errorf("kept are %d bytes, %v", len(data), err)
	}
	content := []llm.Part{llm.Text("plain"), llm.Text("\x1b")}
	o = &tool.Outcome{Tool: "t", Content: content}
	d.spiller.Show(t.Context(), d.scope, o, How{})
	if o.Content[1].Text != "␛" || content[1].Text != "\x1b" {
		t.Errorf("shown %q, and the caller's own parts are %q", o.Content[1].Text, content[1].Text)
	}
}

func TestKeepSmall(t *testing.T) {
	t.Parallel()
	d := newDesk(Options{})
	text := "id,name\n1,Ann\n2,Bob\n"
	got, o := d.show("db_query", text, true)
	want := fmt.Sprintf("[LARGE OUTPUT: db_query | type:csv | lines:3 | chars:20 | ref:%s]\n✅ COMPLETE: the complete result is shown below.\nResult:\n%s", o.Ref, text)
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if data, err := d.keeper.Read(t.Context(), d.scope, o.Ref); err != nil || string(data) != text {
		t.Errorf("kept: %q, %v", data, err)
	}
}

// broken is a store that can't store.
type broken struct{ blob.Store }

func (broken) Add(context.Context, blob.Entry, []byte, blob.Limits) error {
	return errors.New("disk full")
}

func TestShowWhenNothingCanBeKept(t *testing.T) {
	t.Parallel()
	d := newDesk(Options{})
	d.spiller.keeper = blob.NewKeeper(broken{d.store}, blob.Options{})
	got, o := d.show("shell", strings.Repeat("line\n", 3000), false)
	checkShown(t, got)
	if o.Ref != "" || !strings.Contains(got, "could not be kept") || strings.Contains(got, "read_output") || strings.Contains(got, "disk") {
		t.Errorf("shown: %s", got)
	}
	if got, o := d.show("db_query", "1,2\n", true); got != "1,2\n" || o.Ref != "" {
		t.Errorf("a small result: %q, ref %q", got, o.Ref)
	}
}

// TestShowToNobody shows a result whose run was stopped: it is kept whole, and
// what it is is found out when somebody reads it.
func TestShowToNobody(t *testing.T) {
	t.Parallel()
	d := newDesk(Options{})
	stopped, stop := context.WithCancel(t.Context())
	stop()
	o := outcome("gitlab", jsonItems(5000))
	sh := d.spiller.Show(stopped, d.scope, o, How{})
	if got := llm.JoinText(o.Content); o.Type != string(Text) || !strings.Contains(got, "Only its beginning") {
		t.Errorf("of type %s is shown:\n%s", o.Type, got)
	}
	d.spiller.Fit(stopped, d.scope, []Shown{sh}, 40_000)
	got, err := d.call(t, d.scope, `{"ref":"`+o.Ref+`","mode":"path","query":".[4999].id"}`)
	if err != nil || !strings.Contains(got, "4999") {
		t.Errorf("%v, and is read as:\n%s", err, got)
	}
}

func TestSameContentIsKeptOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(Options{})
	text := "data:image/png;base64," + strings.Repeat("iVBORw0KGgo", 100_000)
	_, a := d.show("t", text, false)
	_, b := d.show("t", text, false)
	one, err := d.store.Entry(t.Context(), a.Ref)
	if err != nil {
		t.Fatal(err)
	}
	two, err := d.store.Entry(t.Context(), b.Ref)
	if err != nil {
		t.Fatal(err)
	}
	if one.Sum != two.Sum || one.Ref == two.Ref {
		t.Errorf("two results, same content: %+v and %+v", one, two)
	}
}

// TestFit holds the rules of a round.
func TestFit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := newDesk(Options{})
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(1, 600), rapid.IntRange(600, 8000), rapid.IntRange(8001, 20_000)), 1, 40).Draw(t, "sizes")
		var round []Shown
		var outcomes []*tool.Outcome
		before := make([]int, len(sizes))
		sum := 0
		for i, n := range sizes {
			name := rapid.SampledFrom([]string{"shell", "shell", "shell", ReadOutput}).Draw(t, "tool")
			if name == ReadOutput {
				n = min(n, 7600)
			}
			o := outcome(name, strings.Repeat("word ", n/5)+strings.Repeat("x", n%5))
			round = append(round, d.spiller.Show(context.Background(), d.scope, o, How{}))
			outcomes = append(outcomes, o)
			before[i] = runes(llm.JoinText(o.Content))
			sum += before[i]
		}
		d.spiller.Fit(context.Background(), d.scope, round, 0)
		after, smallest, longestWhole := 0, 1<<30, 0
		for i, o := range outcomes {
			got := llm.JoinText(o.Content)
			checkShown(t, got)
			n := runes(got)
			after += n
			if n > before[i] {
				t.Fatalf("result %d grew from %d to %d", i, before[i], n)
			}
			if n < before[i] {
				smallest = min(smallest, n)
			} else if before[i] != 4000 {
				longestWhole = max(longestWhole, n)
			}
			if strings.HasPrefix(got, "[LARGE OUTPUT") && o.Ref == "" {
				t.Fatalf("result %d has a preview and no ref", i)
			}
		}
		switch {
		case sum <= 32000 && after != sum:
			t.Fatalf("%d characters fit, but became %d", sum, after)
		case sum > 32000 && after > 32000 && longestWhole > minPreview:
			t.Fatalf("%d characters of %d are left, and a result of %d is whole", after, sum, longestWhole)
		}
		if smallest < 300 && sum > 32000 && after < 31000 {
			t.Fatalf("a preview has %d characters though %d are free", smallest, 32000-after)
		}
	})
}

// A preview that comes of fitting a round sends nobody to a tool they lack, either.
func TestFitKeepsSealed(t *testing.T) {
	t.Parallel()
	for _, sealed := range []bool{false, true} {
		d := newDesk(Options{})
		var round []Shown
		var last *tool.Outcome
		for range 9 {
			last = outcome("shell", strings.Repeat("word ", 1500))
			round = append(round, d.spiller.Show(t.Context(), d.scope, last, How{Sealed: sealed}))
		}
		d.spiller.Fit(t.Context(), d.scope, round, 0)
		if got := llm.JoinText(last.Content); !strings.Contains(got, "[LARGE OUTPUT") || strings.Contains(got, ReadOutput) == sealed {
			t.Errorf("sealed %v: %s", sealed, got)
		}
	}
}

func TestFitTakesTheLargestFirst(t *testing.T) {
	t.Parallel()
	d := newDesk(Options{})
	var round []Shown
	var outcomes []*tool.Outcome
	for _, n := range []int{7000, 7900, 7000, 7000, 7000} {
		o := outcome("shell", strings.Repeat("a line of it\n", n/13))
		round = append(round, d.spiller.Show(t.Context(), d.scope, o, How{}))
		outcomes = append(outcomes, o)
	}
	d.spiller.Fit(t.Context(), d.scope, round, 0)
	for i, o := range outcomes {
		if (o.Ref != "") != (i == 1) {
			t.Errorf("result %d: ref %q; only the largest should be spilled", i, o.Ref)
		}
	}
}

func TestReadOutputTool(t *testing.T) {
	t.Parallel()
	d := newDesk(Options{})
	def := d.read.Definition()
	if n := len(def.Description); n > 500 || n == 0 {
		t.Errorf("the description has %d bytes", n)
	}
	if notes := tool.NewRegistry().Add(tool.Owner{Kind: tool.CoreOwner}, d.read); len(notes) > 0 {
		t.Errorf("it can't be registered: %+v", notes)
	}
	if !def.Internal || !def.ReadOnly || def.Cacheable {
		t.Errorf("traits %+v", def.Traits)
	}
	_, o := d.show("gitlab", jsonItems(800), false)
	for _, ref := range []string{o.Ref, " " + o.Ref, "ref:" + o.Ref, strings.ToUpper(o.Ref)} {
		if _, err := d.call(t, d.scope, fmt.Sprintf(`{"ref":%q}`, ref)); err != nil {
			t.Errorf("ref %q: %v", ref, err)
		}
		if data, err := Refs(d.keeper).Read(t.Context(), d.scope, ref); err != nil || string(data) != jsonItems(800) {
			t.Errorf("ref %q read by another tool: %d bytes, %v", ref, len(data), err)
		}
	}
	got, err := d.call(t, d.scope, fmt.Sprintf(`{"ref":%q,"mode":"search","query":"\"id\": 799"}`, o.Ref))
	if err != nil || !strings.Contains(got, `"id": 799`) || len(got) > 1000 {
		t.Errorf("search: %q, %v", got, err)
	}
}

func TestReadOutputErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(Options{})
		_, o := d.show("shell", strings.Repeat("line\n", 3000), false)
		stranger := tool.NewScope(tool.Facts{Agent: "main", Session: "s2"})
		var refusal *tool.Refusal
		if got, err := d.call(t, stranger, fmt.Sprintf(`{"ref":%q}`, o.Ref)); !errors.As(err, &refusal) {
			t.Errorf("another session's ref: %q, %v, want a refusal", got, err)
		}
		for _, ref := range []string{"a3f8c2d1", "a3f8c2d1a3f8c2d1", "", "no ref at all"} {
			if _, err := d.call(t, d.scope, fmt.Sprintf(`{"ref":%q}`, ref)); err == nil || !strings.Contains(err.Error(), "call again") {
				t.Errorf("unknown ref %q: %v, want an error that says how to get the data", ref, err)
			}
		}
		time.Sleep(time.Hour)
		_, err := Refs(d.keeper).Read(t.Context(), d.scope, o.Ref)
		if err == nil || !strings.Contains(err.Error(), "make that call again") {
			t.Errorf("an expired ref read by another tool: %v", err)
		}
		_, err = d.call(t, d.scope, fmt.Sprintf(`{"ref":%q}`, o.Ref))
		if err == nil || !strings.Contains(err.Error(), "expired") || !strings.Contains(err.Error(), `shell({"path":"a"})`) || !strings.Contains(err.Error(), "call again") {
			t.Errorf("an expired ref: %v, want an error that names the call", err)
		}
	})
}

func TestCutsKeepGraphemes(t *testing.T) {
	t.Parallel()
	letters := []string{"a", " ", "\n", "\r\n", "é", "e\u0301", "界", "👩\u200d👧\u200d👦", "🇩🇪", "🇫🇷", "👍🏽", "한", "각", "नि", "❤\ufe0f"}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom(letters)).Draw(t, "letters")
		if rapid.Bool().Draw(t, "flags only") {
			for i := range parts {
				parts[i] = "🇩🇪"
			}
		}
		text := strings.Join(parts, "")
		ends := map[int]bool{0: true, len(text): true}
		for i, at := 0, 0; i < len(parts); i++ {
			// Letters may join with the ones before: only these never do.
			if c := parts[i][0]; c == 'a' || c == ' ' || strings.HasPrefix(parts[i], "🇩🇪") || strings.HasPrefix(parts[i], "🇫🇷") || strings.HasPrefix(parts[i], "界") {
				ends[at] = true
			}
			at += len(parts[i])
		}
		limit := rapid.IntRange(20, 60).Draw(t, "limit")
		head, tail := prefix(text, limit), suffix(text, limit)
		if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) || runes(head) > limit || runes(tail) > limit {
			t.Fatalf("prefix %q or suffix %q of %q at %d", head, tail, text, limit)
		}
		for _, n := range []int{len(head), len(text) - len(tail)} {
			if b := boundary(text, n); b != n {
				t.Fatalf("a cut at %d of %q falls into the grapheme that begins at %d", n, text, b)
			}
			at := 0
			for _, part := range parts {
				if n > at && n < at+len(part) {
					t.Fatalf("a cut at %d of %q splits %q", n, text, part)
				}
				at += len(part)
			}
		}
	})
}

func BenchmarkShow(b *testing.B) {
	texts := benchmarkTexts(8_000)
	texts["small"] = "ok"
	texts["spilled"] = benchmarkTexts(100_000)["json"]
	for _, name := range []string{"small", "text", "spilled"} {
		b.Run(name, func(b *testing.B) {
			d := newDesk(Options{})
			b.ReportAllocs()
			for b.Loop() {
				d.show("t", texts[name], false)
			}
		})
	}
}
