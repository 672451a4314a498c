package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/cli/markdown"
	"github.com/goclaw/goclaw/internal/cli/term"
	"github.com/goclaw/goclaw/internal/cli/term/termtest"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// told is a transcript on a small terminal.
type told struct {
	*transcript
	terminal *termtest.Screen
	screen   *term.Screen
	width    int
	height   int
	now      time.Time
}

func newTold(width, height int) *told {
	terminal := termtest.New(width, height)
	return &told{
		transcript: &transcript{style: markdown.Options{Width: width, Color: true}}, terminal: terminal,
		screen: term.NewScreen(terminal, width, height, true), width: width, height: height, now: noon,
	}
}

// event shows an event a second after the one before, and paints.
func (o *told) event(e agent.Event) {
	o.now = o.now.Add(time.Second)
	e.Time = o.now
	o.show(e)
	o.paint()
}

func (o *told) paint() {
	rows := append(o.live(o.width, o.height-2, o.now), "", "❯ ")
	if err := o.screen.Paint(o.take(), term.View{Rows: rows, X: 2, Y: len(rows) - 1}); err != nil {
		panic(err)
	}
}

// end is what stands on the terminal when the line is gone.
func (o *told) final() string {
	if err := o.screen.End(o.take()); err != nil {
		panic(err)
	}
	return o.terminal.Text()
}

func chunk(text string) agent.Event   { return agent.Event{Type: agent.TokenChunk, Text: text} }
func thinkof(text string) agent.Event { return agent.Event{Type: agent.ReasoningChunk, Text: text} }
func asked() agent.Event {
	return agent.Event{Type: agent.ModelStarted, Target: &llm.Target{Provider: "openai", Model: "m"}}
}

func calls(id, name, args string) agent.Event {
	return agent.Event{Type: agent.ToolStarted, Tool: &agent.ToolEvent{ID: id, Name: name, Args: json.RawMessage(args)}}
}

func ended(id, name, args string, o tool.Outcome) agent.Event {
	o.Tool, o.Started, o.Ended = name, noon, noon.Add(12*time.Millisecond)
	if o.Status == "" {
		o.Status = tool.OK
	}
	return agent.Event{Type: agent.ToolFinished, Tool: &agent.ToolEvent{ID: id, Name: name, Args: json.RawMessage(args), Outcome: &o}}
}

func finished(e agent.RunEnd) agent.Event { return agent.Event{Type: agent.RunFinished, End: &e} }

func TestTranscript(t *testing.T) {
	t.Parallel()
	usd := 0.0123
	began := agent.Event{Type: agent.RunStarted}
	tests := []struct {
		name   string
		events []agent.Event
		live   string // while it goes on; empty to look at the end only
		want   string
	}{
		{
			name:   "an answer",
			events: []agent.Event{began, asked(), chunk("Hello **the"), chunk("re**."), finished(agent.RunEnd{Status: agent.Done, Rounds: 1, Usage: llm.Usage{Input: 1200, Cached: 600, Output: 5}, USD: &usd})},
			want:   "Hello there.\n\nopenai/m · 1,200 in (50% cached) · 5 out · $0.0123 · 4s\n",
		},
		{
			name:   "while it is written",
			events: []agent.Event{began, asked(), chunk("Hello **the")},
			live:   "Hello the\n\n⠋ answering · 2s · Esc stops\n\n❯\n",
		},
		{
			name:   "thoughts",
			events: []agent.Event{began, asked(), thinkof("What could\nit be?")},
			live:   "∴ What could it be?\n\n⠋ thinking · 2s · Esc stops\n\n❯\n",
		},
		{
			name:   "a thought that ends",
			events: []agent.Event{began, asked(), thinkof("Hm."), thinkof("Well."), chunk("42")},
			live:   "· thought for 2s\n\n42\n\n⠋ answering · 4s · Esc stops\n\n❯\n",
		},
		{
			name: "tools side by side",
			events: []agent.Event{
				began, asked(), chunk("I look."), calls("1", "file_read", `{"path":"a.txt"}`), calls("2", "calc", `{"expression":"1+1"}`), calls("3", "shell", `{}`),
				{Type: agent.ToolProgress, Text: "half", Tool: &agent.ToolEvent{ID: "2", Name: "calc"}},
				ended("3", "shell", `{}`, tool.Outcome{}),
				ended("1", "file_read", `{"path":"a.txt"}`, tool.Outcome{Ref: "0123456789abcdef", Chars: 48211}),
			},
			live: "I look.\n\n✓ file_read path=a.txt · 12ms · 48,211 characters kept under 0123456789abcdef\n⠋ calc expression=1+1 · 4s · half\n✓ shell · 12ms\n\n⠋ 2 of 3 tools have ended · 8s · Esc stops\n\n❯\n",
		},
		{
			name: "tools that end badly",
			events: []agent.Event{
				began, asked(),
				ended("1", "file_read", `{"path":"/etc/passwd"}`, tool.Outcome{Status: tool.Refused, Step: "run", Refusal: &tool.Refusal{Guard: "workspace", Rule: "escape", Reason: "It leads out of the workspace."}}),
				ended("2", "shell", `{"command":"sleep 9"}`, tool.Outcome{Status: tool.TimedOut, Content: []llm.Part{llm.Text("Error: it took too long")}}),
				ended("3", "calc", `{`, tool.Outcome{Status: tool.Failed, Content: []llm.Part{llm.Text("Error: no\nnumber \x1b[31m")}}),
				ended("4", "calc", `{}`, tool.Outcome{Status: tool.Cancelled, Content: []llm.Part{llm.Text("stopped")}}),
				finished(agent.RunEnd{Status: agent.Stopped}),
			},
			want: "⊘ file_read path=/etc/passwd refused by run (guard workspace, rule escape): It\n  leads out of the workspace.\n" +
				"✗ shell command=\"sleep 9\" · 12ms timeout: it took too long\n✗ calc · 12ms failed: no number ␛[31m\n– calc · 12ms · stopped\n– stopped\n",
		},
		{
			name:   "two rounds",
			events: []agent.Event{began, asked(), chunk("One."), ended("1", "calc", `{}`, tool.Outcome{}), asked(), chunk("Two."), asked(), chunk("\n\n"), chunk("Three."), finished(agent.RunEnd{})},
			want:   "One.\n\n✓ calc · 12ms\n\nTwo.\n\nThree.\n",
		},
		{
			name:   "it begins anew",
			events: []agent.Event{began, asked(), chunk("The ans"), {Type: agent.Notice, Kind: "provider", Text: "openai failed; asking demo"}, {Type: agent.Retracted}, chunk("Better."), finished(agent.RunEnd{})},
			want:   "· openai failed; asking demo\n\nThe ans\n\n· the answer begins anew\n\nBetter.\n",
		},
		{
			name:   "it fails",
			events: []agent.Event{began, asked(), chunk("Half"), {Type: agent.RunFailed, Text: "no connection.\nCheck it.", End: &agent.RunEnd{Status: agent.Failed}}},
			want:   "Half\n\n✗ no connection.\n  Check it.\n",
		},
		{
			name:   "it waits",
			events: []agent.Event{{Type: agent.Notice, Kind: "queued", Text: "waiting for another process that is at work in this session"}},
			live:   "· waiting for another process that is at work in this session\n\n⠋ waiting for another process that is at work in this session · Esc stops\n\n❯\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := newTold(80, 30)
			for _, e := range tt.events {
				o.event(e)
			}
			got, want := "", tt.want
			if tt.live != "" {
				got, want = o.terminal.Text(), tt.live
			} else {
				got = o.final()
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if f := o.terminal.Faults(); len(f) > 0 {
				t.Error(f)
			}
		})
	}
}

// However an answer is cut into pieces, and however tall its blocks and small
// the terminal, what stands there at the end is the same, and nothing of what
// was painted on the way is left.
func TestTranscriptEndsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		fragment := rapid.SampledFrom([]string{
			"word ", "a longer sentence that goes on. ", "\n", "\n\n", "# Title\n", "- item\n", "  - inner\n", "1. first\n", "> quoted\n", "```\ncode\n", "```\n",
			"**bold** ", "`code` ", "| a | b |\n|---|---|\n| c | d |\n", "日本語", "👩‍👩‍👧", "\x1b[2J", "[link](http://x.org) ", "a_very_long_word_that_has_no_place_to_be_broken_at_all ",
		})
		text := strings.Join(rapid.SliceOfN(fragment, 1, 40).Draw(t, "text"), "")
		width, height := rapid.IntRange(16, 60).Draw(t, "width"), rapid.IntRange(6, 20).Draw(t, "height")
		whole, pieces := newTold(width, height), newTold(width, height)
		begin := []agent.Event{{Type: agent.RunStarted}, asked()}
		end := finished(agent.RunEnd{Status: agent.Done, Rounds: 1})
		for _, e := range begin {
			whole.event(e)
			pieces.event(e)
		}
		whole.event(chunk(text))
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 20)).Draw(t, "piece")
			for n < len(rest) && rest[n]&0xc0 == 0x80 {
				n++
			}
			pieces.event(chunk(rest[:n]))
			rest = rest[n:]
		}
		pieces.now = whole.now
		whole.event(end)
		pieces.event(end)
		got, want := pieces.final(), whole.final()
		if got != want {
			t.Fatalf("%q in pieces:\n%s\nwhole:\n%s", text, got, want)
		}
		if f := append(pieces.terminal.Faults(), whole.terminal.Faults()...); len(f) > 0 {
			t.Fatalf("%q: %v", text, f)
		}
	})
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"path":"a.txt","from":3}`:     `path=a.txt from=3`,
		`{"text":"two words","x":{}}`:   `text="two words" x…`,
		`{"empty":"","n":null}`:         `empty="" n=null`,
		`{}`:                            ``,
		``:                              ``,
		`no json`:                       `no json`,
		`{"a":`:                         ``,
		"{\"a\":\"\\u001b[31m\"}":       `a=␛[31m`,
		`["list"]`:                      `["list"]`,
		`{"text":"0123456789 0123456"}`: `text="0123456789 0…`,
	} {
		if got := arguments(json.RawMessage(in), 18); got != want {
			t.Errorf("arguments(%s) = %q, want %q", in, got, want)
		}
	}
}
