package gateway_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/fakellm"
)

var refPattern = regexp.MustCompile(`ref:([0-9a-f]{16})`)

func reads(path string) fakellm.Answer {
	return fakellm.Calls(fakellm.Use("file_read", fmt.Sprintf(`{"path":%q}`, path)))
}

func TestLargeResultsAreKeptAside(t *testing.T) {
	t.Parallel()
	items := make([]map[string]any, 800)
	for i := range items {
		items[i] = map[string]any{"id": i, "t": strings.Repeat("x", 40)}
	}
	oneLine, err := json.Marshal(items)
	if err != nil {
		t.Fatal(err)
	}
	var jsonl, keys strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&jsonl, "{\"i\":%d}\n", i)
	}
	keys.WriteString(`{"k0":0`)
	for i := 1; i < 3000; i++ {
		fmt.Fprintf(&keys, `,"k%d":%d`, i, i)
	}
	keys.WriteString("}")
	noise := make([]byte, 3<<20)
	rnd := rand.NewChaCha8([32]byte{1})
	rnd.Read(noise)
	for _, c := range []struct {
		name, text string
		want       []string
		whole      bool
	}{
		{"at the limit", strings.Repeat("x", 8000), nil, true},
		{"over the limit", strings.Repeat("x", 8001), []string{"type:text", "chars:8001"}, false},
		{"three-byte letters", strings.Repeat("界", 9000), []string{"chars:9000"}, false},
		{"three-byte letters at the limit", strings.Repeat("界", 8000), nil, true},
		{"JSON on one line", string(oneLine), []string{"type:json", `"id":4`}, false},
		{"an object with many keys", keys.String(), []string{"type:json", "k4"}, false},
		{"JSON lines", jsonl.String(), []string{"type:jsonl", `{"i":4}`}, false},
		{"log lines in braces", strings.Repeat("{starting job}\n", 1500), []string{"type:text"}, false},
		{"deep nesting", strings.Repeat("[", 100000) + strings.Repeat("]", 100000), []string{"type:"}, false},
		{"HTML behind blanks and a comment", "\n  <!-- c --><!DOCTYPE html><html><title>T</title>" + strings.Repeat("<p>x</p>", 2000), []string{"type:html", "T"}, false},
		{"CSV with quoted line breaks", "a,b\n" + strings.Repeat("1,\"line one\nline two\"\n", 900), []string{"type:csv", "900"}, false},
		{"XML", `<?xml version="1.0"?><root a="1">` + strings.Repeat("<item>x</item>", 1000) + "</root>", []string{"type:xml", "item"}, false},
		{"a base64 image", "data:image/png;base64," + base64.StdEncoding.EncodeToString(noise), []string{"type:text"}, false},
		{"escape sequences", "\x1b[31m" + strings.Repeat("x", 9000) + "\x1b[0m\x1b]0;title\x07", []string{"type:text"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, "", reads("f"), fakellm.Text("ok"))
			r.write("f", c.text)
			r.say("s", "read it")
			got := r.results(2)[0].text()
			if c.whole {
				if got != c.text {
					t.Errorf("%d characters came whole as %d: %.120s", utf8.RuneCountInString(c.text), utf8.RuneCountInString(got), got)
				}
				return
			}
			if n := utf8.RuneCountInString(got); n > 4000+600 || !refPattern.MatchString(got) {
				t.Errorf("the model got %d characters: %.300s", n, got)
			}
			if strings.ContainsAny(got, "\x1b\x00\x07") || !utf8.ValidString(got) || strings.Contains(got, "\uFFFD") {
				t.Errorf("the model got raw bytes: %q", got[:200])
			}
			mustContain(t, "the preview", got, c.want...)
		})
	}
}

func TestBinaryAndEmptyFilesAreDescribed(t *testing.T) {
	t.Parallel()
	all := make([]byte, 0, 256*50)
	for range 50 {
		for b := range 256 {
			all = append(all, byte(b))
		}
	}
	r := setup(t, "", reads("b"), reads("e"), fakellm.Text("ok"), fakellm.Text("fine"))
	r.write("b", string(all))
	r.write("e", "")
	r.say("s", "read them")
	binary, empty := r.results(2)[0].text(), r.results(3)[0].text()
	if strings.ContainsRune(binary, 0) || !utf8.ValidString(binary) || binary == "" {
		t.Errorf("the binary file came as %q", binary)
	}
	mustContain(t, "the binary file", binary, "12.8 KB")
	if strings.TrimSpace(empty) == "" {
		t.Error("an empty file came as nothing")
	}
	if got := r.say("s", "go on"); got.text != "fine" {
		t.Errorf("the session goes on with %q", got.text)
	}
}

func TestRefsServeTheirSessionAndSurviveARestart(t *testing.T) {
	t.Parallel()
	r := setup(t, "", reads("f"), fakellm.Text("kept"))
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	r.write("f", text.String())
	r.say("s", "read it")
	ref := refPattern.FindStringSubmatch(r.results(2)[0].text())[1]

	r.close()
	r.open()
	read := func(args string) fakellm.Answer {
		return fakellm.Calls(fakellm.Use("read_output", fmt.Sprintf(`{"ref":%q,%s}`, ref, args)))
	}
	for i, c := range []struct{ session, args, want string }{
		{"s", `"mode":"head"`, "line 0"},
		{"s", `"mode":"tail"`, "line 2999"},
		{"s", `"mode":"lines","from":1500,"to":1502`, "line 1500"},
		{"s", `"mode":"search","query":"line 2718"`, "line 2718"},
		{"s", `"mode":"search","query":"^line 27[0-9]8$","regex":true`, "line 2708"},
		{"s", `"mode":"stats"`, "3000"},
		{"s", `"mode":"rows"`, "csv"},
		{"other", `"mode":"head"`, "session"},
	} {
		r.model.Add(read(c.args), fakellm.Text("ok"))
		r.say(c.session, "look")
		n := len(r.model.Requests())
		got := r.results(n)[0].text()
		mustContain(t, fmt.Sprintf("answer %d (%s)", i, c.args), got, c.want)
		if c.session == "other" && strings.Contains(got, "line 0") {
			t.Errorf("another session reads %q", got)
		}
	}
	r.model.Add(fakellm.Calls(fakellm.Use("read_output", `{"ref":"a3f8c2d1a3f8c2d1","mode":"head"}`)), fakellm.Text("ok"))
	r.say("s", "look")
	mustContain(t, "an unknown ref", r.results(len(r.model.Requests()))[0].text(), "again")

	// Other tools that take a ref forgive and explain the same.
	r.model.Add(fakellm.Calls(
		fakellm.Use("regex", fmt.Sprintf(`{"pattern":"line 271[89]","ref":"ref:%s"}`, strings.ToUpper(ref))),
		fakellm.Use("regex", `{"pattern":"x","ref":"a3f8c2d1a3f8c2d1"}`),
	), fakellm.Text("ok"))
	r.say("s", "match")
	results := r.results(len(r.model.Requests()))
	mustContain(t, "a ref as models copy it", results[0].text(), "line 2718", "line 2719")
	mustContain(t, "an unknown ref", results[1].text(), "Make the call again")
}

// Tools that take a ref say as read_output does how to get lost data again.
func TestRefsOfOtherTools(t *testing.T) {
	t.Parallel()
	r := setup(t, "outputs: {max_entries: 1}\n", reads("f"), reads("g"), fakellm.Text("kept"))
	r.write("f", strings.Repeat("one\n", 3000))
	r.write("g", `["`+strings.Repeat("two", 3000)+`"]`)
	r.say("s", "read them")
	gone := refPattern.FindStringSubmatch(r.results(2)[0].text())[1]
	kept := refPattern.FindStringSubmatch(r.results(3)[0].text())[1]
	for _, c := range []struct{ session, tool, args, want string }{
		{"s", "json_transform", fmt.Sprintf(`{"ref":"ref:%s","filter":"length"}`, strings.ToUpper(kept)), "1"},
		{"s", "regex", fmt.Sprintf(`{"ref":%q,"pattern":"one"}`, gone), `It held the result of file_read({"path":"f"}): make that call again`},
		{"s", "json_transform", `{"ref":"0123456789abcdef","filter":"."}`, "Make the call again that produced the output"},
		{"other", "regex", fmt.Sprintf(`{"ref":%q,"pattern":"two"}`, kept), "belongs to another session"},
	} {
		r.model.Add(fakellm.Calls(fakellm.Use(c.tool, c.args)), fakellm.Text("ok"))
		r.say(c.session, "look")
		mustContain(t, c.tool+c.args, r.results(len(r.model.Requests()))[0].text(), c.want)
	}
}

// Limits that leave no room for a preview still leave room to read.
func TestTinyLimitsCanBeReadThrough(t *testing.T) {
	t.Parallel()
	r := setup(t, "tools: {max_result_chars: 10, max_step_chars: 50}\n", reads("f"), fakellm.Text("kept"))
	r.write("f", strings.Repeat("one\n", 100)+"the last line\n")
	r.say("s", "read it")
	ref := refPattern.FindStringSubmatch(r.results(2)[0].text())[1]
	r.model.Add(fakellm.Calls(fakellm.Use("read_output", fmt.Sprintf(`{"ref":%q,"mode":"search","query":"last"}`, ref))), fakellm.Text("ok"))
	r.say("s", "look")
	mustContain(t, "the answer", r.results(len(r.model.Requests()))[0].text(), "101: the last line")
}

func TestTheResultsOfOneStepFitTogether(t *testing.T) {
	t.Parallel()
	var calls []fakellm.Call
	for i := range 10 {
		calls = append(calls, fakellm.Use("file_read", fmt.Sprintf(`{"path":"f%d"}`, i)))
	}
	r := setup(t, "", fakellm.Calls(calls...), fakellm.Text("ok"))
	for i := range 10 {
		r.write(fmt.Sprintf("f%d", i), strings.Repeat(fmt.Sprintf("%d middle\n", i), 700))
	}
	r.say("s", "read them all")
	sum := 0
	for _, m := range r.results(2) {
		sum += utf8.RuneCountInString(m.text())
		if utf8.RuneCountInString(m.text()) < 500 {
			t.Errorf("a preview has %d characters", utf8.RuneCountInString(m.text()))
		}
	}
	if sum > 32000 {
		t.Errorf("the results of one step are %d characters together", sum)
	}
}

func TestAPreviewSendsNobodyWhereTheyMayNotGo(t *testing.T) {
	t.Parallel()
	r := setup(t, "tools: {deny: [read_output]}\n", reads("f"), fakellm.Text("ok"))
	r.write("f", strings.Repeat("long ", 3000))
	r.say("s", "read it")
	got := r.results(2)[0].text()
	if strings.Contains(got, "read_output") {
		t.Errorf("the model is told of a tool that it may not use: %s", got[len(got)-300:])
	}
	mustContain(t, "the preview", got, "can't be read here", "less at a time")
}
