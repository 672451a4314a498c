package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

func register(t *testing.T, b *hook.Bus, point, name string, priority int, f any) {
	t.Helper()
	if err := b.On(weather, point, f, hook.Options{Name: name, Priority: priority}); err != nil {
		t.Fatal(err)
	}
}

func TestBuildPrompt(t *testing.T) {
	t.Parallel()
	b := bus()
	build := func(name string, priority int, v hook.PromptVerdict, err error) {
		register(t, b, "before_prompt_build", name, priority, func(_ context.Context, p *hook.Prompt) (hook.PromptVerdict, error) {
			if p.Message.Text() != "hello" {
				t.Errorf("it saw %q", p.Message.Text())
			}
			return v, err
		})
	}
	build("one", 3, hook.PromptVerdict{Context: " It rains.\n", ToolsAllow: tool.Only("a", "b")}, nil)
	build("two", 2, hook.PromptVerdict{ToolsAllow: tool.Only("b", "c", "invented")}, nil)
	build("three", 1, hook.PromptVerdict{Context: strings.Repeat("é", 10<<10)}, nil)
	p := hook.Prompt{Message: llm.UserMessage("hello")}
	d, err := b.BuildPrompt(t.Context(), p)
	if err != nil || len(d.Failures) > 0 {
		t.Fatal(err, d.Failures)
	}
	if n := d.Narrowed; !slices.Equal(n.Allow.Names(), []string{"b"}) || n.By != "one (plugin weather), two (plugin weather)" || n.Failed != "" {
		t.Errorf("narrowed to %+v", n)
	}
	if len(d.Context) != 2 || d.Context[0] != (hook.Addition{By: "one (plugin weather)", Text: "It rains."}) || len(d.Context[1].Text) != 16<<10 {
		t.Errorf("added %+v", d.Context[:1])
	}

	// One that fails leaves what was narrowed, and only what reads.
	build("broken", 9, hook.PromptVerdict{ToolsAllow: tool.Only("z")}, errors.New("no network"))
	d, err = b.BuildPrompt(t.Context(), p)
	if n := d.Narrowed; err != nil || !slices.Equal(n.Allow.Names(), []string{"b"}) || n.Failed != "broken (plugin weather)" {
		t.Errorf("narrowed to %+v, %v", n, err)
	}
	if !slices.Equal(d.Failures, []string{"the hook broken (plugin weather) failed: no network: this turn has only tools that read"}) {
		t.Errorf("told %q", d.Failures)
	}
	// An empty list allows nothing.
	build("none", 0, hook.PromptVerdict{ToolsAllow: tool.Only()}, nil)
	d, _ = b.BuildPrompt(t.Context(), p)
	if l := d.Narrowed.Allow; !l.Limited() || len(l.Names()) != 0 {
		t.Errorf("narrowed to %v", l.Names())
	}
}

func TestPersist(t *testing.T) {
	t.Parallel()
	b := bus()
	persist := func(name string, priority int, f func(tool.Result) (tool.Result, error)) {
		register(t, b, "tool_result_persist", name, priority, func(_ context.Context, _ *hook.Call, r tool.Result) (tool.Result, error) { return f(r) })
	}
	var kept *llm.Part
	persist("masks", 9, func(r tool.Result) (tool.Result, error) {
		r.Content[0].Text = strings.ReplaceAll(r.Content[0].Text, "hunter2", "***")
		kept = &r.Content[0]
		return r, nil
	})
	persist("broken", 8, func(r tool.Result) (tool.Result, error) {
		r.Content[0].Text = "half"
		return r, errors.New("no")
	})
	persist("spoils", 7, func(r tool.Result) (tool.Result, error) {
		copy(r.Details.(json.RawMessage), "[0]")
		r.Content[0].Text = "spoiled"
		return tool.Result{}, errors.New("or not")
	})
	persist("nonsense", 6, func(r tool.Result) (tool.Result, error) {
		r.Details = func() {}
		return r, nil
	})
	persist("ringed", 5, func(r tool.Result) (tool.Result, error) {
		type ring struct{ Next *ring }
		one := &ring{}
		one.Next = one
		r.Details = one
		return r, nil
	})
	persist("counts", 1, func(r tool.Result) (tool.Result, error) {
		kept.Text = "later"
		r.Details = map[string]any{"chars": len(r.Content[0].Text), "was": r.Details}
		r.Effects, r.IsError = nil, true
		return r, nil
	})
	persist("looks", 0, func(r tool.Result) (tool.Result, error) { return r, nil })
	given := tool.Result{
		Content: []llm.Part{llm.Text("the password is hunter2")}, Details: json.RawMessage(`"d"`), Effects: []tool.Effect{{Kind: tool.FileSeen, Key: "a"}},
	}
	r, note := b.Persist(t.Context(), &hook.Call{}, given)
	if r.Content[0].Text != "the password is ***" || string(r.Details.(json.RawMessage)) != `{"chars":19,"was":"d"}` || len(r.Effects) != 1 || r.IsError {
		t.Errorf("got %+v with %s", r, r.Details)
	}
	if given.Content[0].Text != "the password is hunter2" || string(given.Details.(json.RawMessage)) != `"d"` {
		t.Error("what was given changed, which the cache holds")
	}
	parts := strings.Split(note, "; ")
	for i, want := range []string{
		"masks (plugin weather) changed it in ", "broken (plugin weather) failed: no", "spoils (plugin weather) failed: or not",
		"nonsense (plugin weather) failed: gave details that can't be written as JSON",
		"ringed (plugin weather) failed: gave details that can't be written as JSON", "counts (plugin weather) changed it in ",
	} {
		if len(parts) != 6 || !strings.HasPrefix(parts[i], want) {
			t.Fatalf("the trace says %q", note)
		}
	}
}

// Observers of results are told what the tool gave, also where nobody
// transforms it.
func TestObserversOfResults(t *testing.T) {
	t.Parallel()
	b := bus()
	told := ""
	if _, err := b.Watch(weather, "tool_result_persist", func(_ context.Context, e hook.Event) error {
		r := e.Data.(*hook.Returned)
		told = r.Call.ID + " " + r.Result.Content[0].Text + string(r.Result.Details.(json.RawMessage))
		r.Result.Content[0].Text = "changed"
		return nil
	}, hook.Options{}); err != nil {
		t.Fatal(err)
	}
	r, note := b.Persist(t.Context(), &hook.Call{ID: "c1"}, tool.Result{Content: []llm.Part{llm.Text("hello")}, Details: json.RawMessage(`[1]`)})
	closed(t, b)
	if told != "c1 hello[1]" || r.Content[0].Text != "hello" || note != "" {
		t.Errorf("told %q; got %+v, %q", told, r, note)
	}
}

func TestSend(t *testing.T) {
	t.Parallel()
	b := bus()
	send := func(name string, priority int, f func(*hook.Message) (hook.SendVerdict, error)) {
		register(t, b, "message_sending", name, priority, func(_ context.Context, m *hook.Message) (hook.SendVerdict, error) { return f(m) })
	}
	send("shouts", 2, func(m *hook.Message) (hook.SendVerdict, error) {
		return hook.SendVerdict{Text: strings.ToUpper(m.Text)}, nil
	})
	send("broken", 1, func(*hook.Message) (hook.SendVerdict, error) { return hook.SendVerdict{Text: "half"}, errors.New("no") })
	send("signs", 0, func(m *hook.Message) (hook.SendVerdict, error) { return hook.SendVerdict{Text: m.Text + "!"}, nil })
	m := hook.Message{Text: "hello"}
	if text, off, err := b.Send(t.Context(), m); text != "HELLO!" || off != "" || err != nil {
		t.Errorf("got %q, %q, %v", text, off, err)
	}
	send("stops", -1, func(m *hook.Message) (hook.SendVerdict, error) {
		if m.Text != "HELLO!" {
			t.Errorf("it saw %q", m.Text)
		}
		return hook.SendVerdict{Cancel: true, Reason: "too loud"}, nil
	})
	if text, off, err := b.Send(t.Context(), m); text != "" || off != "stops (plugin weather) (too loud)" || err != nil {
		t.Errorf("got %q, %q, %v", text, off, err)
	}
}

func TestInstall(t *testing.T) {
	t.Parallel()
	b := bus()
	in := hook.Install{Kind: "plugin", Name: "good"}
	register(t, b, "before_install", "scan", 1, func(_ context.Context, in *hook.Install) (hook.InstallVerdict, error) {
		switch in.Name {
		case "bad":
			return hook.InstallVerdict{Block: "it phones home."}, nil
		case "odd":
			panic("odd")
		}
		return hook.InstallVerdict{}, nil
	})
	if err := b.Install(t.Context(), in); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{
		"bad": "The hook scan (plugin weather) doesn't allow it: it phones home.",
		"odd": "The hook scan (plugin weather), which has to let installs through, broke (an administrator finds the reason in the log of GoClaw); nothing was installed. Mend the hook, or disable what brought it.",
	} {
		in.Name = name
		err := b.Install(t.Context(), in)
		var refusal *tool.Refusal
		if !errors.As(err, &refusal) || err.Error() != want || refusal.Rule != "scan" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
