package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/blob"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/spill"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// returning makes a tool that returns r.
func returning(name string, r tool.Result, err error) tool.Tool {
	return tool.New(tool.Definition{Name: name, Traits: tool.Traits{ReadOnly: true}},
		func(context.Context, tool.Call, none) (tool.Result, error) { return r, err })
}

func TestResults(t *testing.T) {
	t.Parallel()
	image := llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png", Data: []byte{1}}}
	refusal := tool.Refusef("workspace", "outside", "Use a path inside the workspace.", "%s is outside the workspace.", "/etc")
	for _, c := range []struct {
		name    string
		r       tool.Result
		err     error
		status  tool.Status
		content []llm.Part
	}{
		{"text", tool.TextResult("hello"), nil, tool.OK, []llm.Part{llm.Text("hello")}},
		{"nothing", tool.Result{}, nil, tool.OK, []llm.Part{llm.Text("(no output)")}},
		{"an empty text", tool.TextResult(""), nil, tool.OK, []llm.Part{llm.Text("(no output)")}},
		{"white space", tool.TextResult("\n\t"), nil, tool.OK, []llm.Part{llm.Text(`(no output but white space: "\n\t")`)}},
		{"an image", tool.Result{Content: []llm.Part{image}}, nil, tool.OK, []llm.Part{image}},
		{"hidden characters", tool.TextResult("a\x1b[1m\u202eb"), nil, tool.OK, []llm.Part{llm.Text("a␛[1m⟦U+202E⟧b")}},
		{"a failure with words of its own", tool.Result{Content: []llm.Part{llm.Text("exit status 1")}, IsError: true}, nil, tool.Failed, []llm.Part{llm.Text("exit status 1")}},
		{"an error", tool.Result{}, errors.New("no such file"), tool.Failed, []llm.Part{llm.Text("Error: no such file")}},
		{"an error and a result", tool.TextResult("ignored"), errors.New("no such file"), tool.Failed, []llm.Part{llm.Text("Error: no such file")}},
		{
			"a guard's refusal",
			tool.Result{},
			fmt.Errorf("read: %w", refusal), tool.Refused,
			[]llm.Part{llm.Text("Refused: /etc is outside the workspace. Use a path inside the workspace.")},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := set(t, []tool.Tool{returning("show", c.r, c.err)})
			o := b.run(t.Context(), call("show", "{}"))[0]
			if got, want := fmt.Sprintf("%s %+v", o.Status, o.Content), fmt.Sprintf("%s %+v", c.status, c.content); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if (c.status == tool.Refused) == o.Ran() {
				t.Errorf("a call that ended as %s ran: %v", o.Status, o.Ran())
			}
			if r := o.Refusal; r != nil && (r.Step != "run" || r.Guard != "workspace" || refusal.Step != "") {
				t.Errorf("refusal %+v", r)
			}
		})
	}
}

// loud is details that can't be encoded, or break while they are.
type loud struct{ panics bool }

func (l loud) MarshalJSON() ([]byte, error) {
	if l.panics {
		panic("broken details")
	}
	return nil, errors.New("no")
}

func TestDetails(t *testing.T) {
	t.Parallel()
	with := func(details any) *bench {
		r := tool.TextResult("fine")
		r.Details = details
		return set(t, []tool.Tool{returning("show", r, nil)})
	}
	large := map[string]string{"beta": strings.Repeat("x", 9000), "alpha": "y"}
	for _, c := range []struct {
		name    string
		details any
		want    string
	}{
		{"none", nil, ""},
		{"small", map[string]int{"n": 1}, `{"n":1}`},
		{"as large as may be", strings.Repeat("x", 8190), `"` + strings.Repeat("x", 8190) + `"`},
		{"too large", large, `{"omitted":"the details were too large to keep","bytes":9023,"keys":["alpha","beta"]}`},
		{"a large list", slices.Repeat([]int{1000}, 2000), `{"omitted":"the details were too large to keep","bytes":10001,"items":2000}`},
		{"a large text", strings.Repeat("x", 8191), `{"omitted":"the details were too large to keep","bytes":8193}`},
		{"not to be encoded", loud{}, ""},
	} {
		o := with(c.details).run(t.Context(), call("show", "{}"))[0]
		if string(o.Details) != c.want || o.Status != tool.OK {
			t.Errorf("%s: %s with %.100s", c.name, o.Status, o.Details)
		}
	}
	keys := map[string]int{}
	for i := range 5000 {
		keys[fmt.Sprint("key", i)] = i
	}
	if o := with(keys).run(t.Context(), call("show", "{}"))[0]; len(o.Details) > 8192 || !json.Valid(o.Details) {
		t.Errorf("the summary has %d bytes", len(o.Details))
	}
	// A step that breaks costs its call, and only that.
	b := with(loud{panics: true})
	o := b.run(t.Context(), call("show", "{}"))[0]
	if o.Status != tool.Panicked || o.Step != "persist" || !strings.Contains(b.log.String(), "broken details") {
		t.Errorf("got %s at %s: %s", o.Status, o.Step, text(o))
	}
}

func TestDigests(t *testing.T) {
	t.Parallel()
	digest := func(traits tool.Traits, r tool.Result, calls ...string) (out []string) {
		tl := tool.New(tool.Definition{Name: "show", Traits: traits}, func(context.Context, tool.Call, none) (tool.Result, error) { return r, nil })
		for _, c := range calls {
			out = append(out, set(t, []tool.Tool{tl}).run(t.Context(), call(c, "{}"))[0].Digest)
		}
		return out
	}
	same := digest(tool.Traits{}, tool.TextResult("a"), "show", "show")
	other := digest(tool.Traits{}, tool.TextResult("b"), "show", "nope", "nope")
	if same[0] != same[1] || same[0] == "" || other[0] == same[0] || other[1] == other[0] || other[1] != other[2] || other[1] == "" {
		t.Errorf("got %v and %v", same, other)
	}
	if got := digest(tool.Traits{Repeats: true}, tool.TextResult("a"), "show"); got[0] != "" {
		t.Errorf("a tool that is meant to be repeated has the digest %s", got[0])
	}
	failed := tool.TextResult("a")
	failed.IsError = true
	if got := digest(tool.Traits{}, failed, "show"); got[0] == same[0] {
		t.Error("a failure has the digest of a success")
	}
}

// A tool that breaks while it says what it touches costs its call.
func TestBrokenTouches(t *testing.T) {
	t.Parallel()
	b := set(t, []tool.Tool{
		tool.WithTouches(writing("odd", func(context.Context, tool.Call, none) (string, error) { return "ran", nil }),
			func(tool.Call, none) []tool.Touch { panic("no idea") }),
		reading("fine", func(context.Context, tool.Call, none) (string, error) { return "fine", nil }),
	})
	out := b.run(t.Context(), call("odd", "{}"), call("fine", "{}"))
	if out[0].Status != tool.Panicked || out[0].Step != "touches" || out[1].Status != tool.OK {
		t.Errorf("got %s at %s, %s", out[0].Status, out[0].Step, out[1].Status)
	}
}

// kept makes a spiller over store.
func kept(store blob.Store) option {
	return func(o *engine.Options) {
		o.Spiller = spill.New(blob.NewKeeper(store, blob.Options{}), spill.Options{Log: o.Log})
	}
}

// full is a store that keeps nothing.
type full struct{ blob.Store }

func (full) Add(context.Context, blob.Entry, []byte, blob.Limits) error {
	return errors.New("disk full")
}

// broken is a store that breaks.
type broken struct{ blob.Store }

func (broken) Add(context.Context, blob.Entry, []byte, blob.Limits) error { panic("broken store") }

func TestSpill(t *testing.T) {
	t.Parallel()
	big, small := strings.Repeat("0123456789", 801), strings.Repeat("x", 8000)
	tools := []tool.Tool{
		returning("big", tool.TextResult(big), nil), returning("small", tool.TextResult(small), nil),
		tool.New(tool.Definition{Name: "keep", Traits: tool.Traits{ReadOnly: true, KeepResult: true}},
			func(context.Context, tool.Call, none) (string, error) { return "kept", nil }),
		caller("script", tool.Traits{Waits: true}),
	}
	b := set(t, tools, kept(blob.NewMemory()))
	out := b.run(t.Context(), call("big", "{}"), call("small", "{}"), call("keep", "{}"))
	if o := out[0]; !strings.HasPrefix(text(o), "[LARGE OUTPUT: big | type:text") || len(text(o)) > 4100 || o.Ref == "" || o.Chars != 8010 {
		t.Errorf("got %d characters, ref %q: %.200s", o.Chars, o.Ref, text(o))
	}
	if o := out[1]; text(o) != small || o.Ref != "" {
		t.Errorf("got %.100s, ref %q", text(o), o.Ref)
	}
	if o := out[2]; !strings.Contains(text(o), "kept") || o.Ref == "" {
		t.Errorf("got %.100s, ref %q", text(o), o.Ref)
	}
	// A tool sees the results of its calls whole.
	if o := b.run(t.Context(), call("script", `{"calls":[{"tool":"big"}]}`))[0]; o.Ref == "" || o.Chars != 8010+len("c_script/1 ok: ") {
		t.Errorf("got %d characters: %.200s", o.Chars, text(o))
	}
	// A whole round has a limit of its own.
	sum := 0
	for _, o := range b.run(t.Context(), repeat(20, call("small", "{}"))...) {
		sum += len(text(o))
	}
	if sum > 32000 {
		t.Errorf("a round shows %d characters", sum)
	}
}

// A result that can't be kept is shown in part, and costs nothing else.
func TestSpillThatFails(t *testing.T) {
	t.Parallel()
	big := returning("big", tool.TextResult(strings.Repeat("0123456789", 801)), nil)
	b := set(t, []tool.Tool{big}, kept(full{blob.NewMemory()}))
	if o := b.run(t.Context(), call("big", "{}"))[0]; o.Status != tool.OK || !strings.Contains(text(o), "could not be kept") || !strings.Contains(b.log.String(), "disk full") {
		t.Errorf("got %s: %.300s", o.Status, text(o))
	}
	b = set(t, []tool.Tool{big}, kept(broken{blob.NewMemory()}))
	if o := b.run(t.Context(), call("big", "{}"))[0]; o.Status != tool.Panicked || o.Step != "spill" {
		t.Errorf("got %s at %s: %s", o.Status, o.Step, text(o))
	}
	// It breaks only when the whole round is looked at: nothing is lost.
	b = set(t, []tool.Tool{returning("middling", tool.TextResult(strings.Repeat("x", 7000)), nil)}, kept(broken{blob.NewMemory()}))
	for _, o := range b.run(t.Context(), repeat(6, call("middling", "{}"))...) {
		if o.Status != tool.OK {
			t.Errorf("got %s at %s: %s", o.Status, o.Step, text(o))
		}
	}
	if !strings.Contains(b.log.String(), "fitting the results of a response panicked") {
		t.Errorf("the log has\n%s", b.log)
	}
}

// What was done before the run was stopped is kept.
func TestSpillOfAStoppedRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b := set(t, []tool.Tool{reading("late", func(context.Context, tool.Call, none) (string, error) {
		cancel()
		return strings.Repeat("0123456789", 801), nil
	})}, kept(heeding{blob.NewMemory()}))
	if o := b.run(ctx, call("late", "{}"))[0]; o.Status != tool.OK || o.Ref == "" {
		t.Errorf("got %s: %s", o.Status, text(o))
	}
}

// heeding is a store that does nothing for a context that has ended.
type heeding struct{ blob.Store }

func (h heeding) Add(ctx context.Context, e blob.Entry, packed []byte, keep blob.Limits) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return h.Store.Add(ctx, e, packed, keep)
}
