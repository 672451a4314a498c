package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// What models send, and what becomes of it. The offered tools are those of the
// first cases, which are drawn from what real models sent.
func TestWhatModelsSend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why    string
		call   llm.ToolCall
		status tool.Status
		args   string   // that the tool got; only when it ran
		says   []string // parts of the content
	}{
		{"empty arguments of a tool without parameters", call("datetime", ""), tool.OK, `{}`, nil},
		{"white space for arguments", call("datetime", " \n"), tool.OK, `{}`, nil},
		{"null for arguments", call("datetime", "null"), tool.OK, `{}`, nil},
		{"cut JSON although the reply says it is whole", call("file_read", `{"path": "a.txt"`), tool.Invalid, "", []string{"nothing ran", "ends too early"}},
		{
			"cut by the output limit",
			llm.ToolCall{ID: "1", Name: "file_write", Arguments: `{"path":"a.txt","content":"half`, Cut: true},
			tool.Invalid, "",
			[]string{"cut off before its arguments were complete", "complete call again, in smaller pieces"},
		},
		{
			"cut by the output limit where the JSON happens to be whole",
			llm.ToolCall{ID: "1", Name: "datetime", Arguments: `{}`, Cut: true},
			tool.Invalid, "",
			[]string{"cut off"},
		},
		{"single quotes", call("file_read", `{'path': 'a.txt'}`), tool.Invalid, "", []string{"nothing ran"}},
		{"arguments encoded twice", call("file_read", `"{\"path\":\"a.txt\"}"`), tool.OK, `{"path":"a.txt"}`, nil},
		{"a trailing comma", call("file_read", `{"path":"a.txt",}`), tool.OK, `{"path":"a.txt"}`, nil},
		{"a number as a string", call("calc", `{"expression":"1+1","digits":"3"}`), tool.OK, `{"digits":3,"expression":"1+1"}`, nil},
		{"an unknown parameter", call("calc", `{"expresion":"1+1","expression":"1+1"}`), tool.Invalid, "", []string{`unknown field "expresion"`, "expression"}},
		{"a missing parameter", call("file_read", `{}`), tool.Invalid, "", []string{"path"}},
		{"several faults, one line each", call("file_write", `{"path":7,"contents":"x"}`), tool.Invalid, "", []string{"\n- path: ", "\n- missing required field \"content\"", "\n- unknown field \"contents\""}},
		{"an array for arguments", call("file_read", `["a.txt"]`), tool.Invalid, "", []string{"array"}},
		{"wrong case", call("File_Read", `{"path":"a.txt"}`), tool.OK, `{"path":"a.txt"}`, nil},
		{"camel case", call("fileRead", `{"path":"a.txt"}`), tool.OK, `{"path":"a.txt"}`, nil},
		{"dashes and dots", call("file-read", `{"path":"a.txt"}`), tool.OK, `{"path":"a.txt"}`, nil},
		{"a name space", call("functions.file_read", `{"path":"a.txt"}`), tool.OK, `{"path":"a.txt"}`, nil},
		{"the number of a call", call("functions.file_read:0", `{"path":"a.txt"}`), tool.OK, `{"path":"a.txt"}`, nil},
		{"the number of a call alone", call("File-Read:12", `{"path":"a.txt"}`), tool.OK, `{"path":"a.txt"}`, nil},
		{"a model's own mark", call("functions.file_read<|channel|>commentary", `{"path":"a.txt"}`), tool.OK, `{"path":"a.txt"}`, nil},
		{"a mark alone", call("<|channel|>", `{"path":"a.txt"}`), tool.Refused, "", []string{"nothing ran"}},
		{"another name space, in wrong case", call(" default_api.File-Read\n", `{"path":"a.txt"}`), tool.OK, `{"path":"a.txt"}`, nil},
		{"a server that isn't there", call("mcp__goclaw__file_read", `{"path":"a.txt"}`), tool.OK, `{"path":"a.txt"}`, nil},
		{"a server's own spelling", call("mcp__docs__find", `{}`), tool.OK, `{}`, nil},
		{"a dotted name from outside", call("mcp.docs.find", `{}`), tool.OK, `{}`, nil},
		{"a tool that does not exist", call("shell_exec", `{"command":"id"}`), tool.Refused, "", []string{`"shell_exec"`, "calc", "file_read"}},
		{"a near miss", call("read_file", `{"path":"a.txt"}`), tool.Refused, "", []string{"Nearest that were: file_read"}},
		{"a name like no other", call("zzz", `{}`), tool.Refused, "", []string{"Those that were: calc, datetime, file_read, file_write, mcp_docs_find."}},
		{"no name", call("", `{}`), tool.Refused, "", []string{"nothing ran"}},
		{"only punctuation", call("...", `{}`), tool.Refused, "", []string{"nothing ran"}},
		{"a name as long as a novel", call(strings.Repeat("file_read", 10000), `{}`), tool.Refused, "", []string{"nothing ran"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			var ran atomic.Int32
			echo := func(_ context.Context, call tool.Call, _ json.RawMessage) (string, error) {
				ran.Add(1)
				return string(call.Args), nil
			}
			mk := func(name, schema string) tool.Tool {
				return &raw{tool.Definition{Name: name, Parameters: json.RawMessage(schema), Traits: tool.Traits{ReadOnly: true}}, echo}
			}
			b := set(t, []tool.Tool{
				mk("file_read", `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`),
				mk("file_write", `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"],"additionalProperties":false}`),
				mk("datetime", `{"type":"object","properties":{},"additionalProperties":false}`),
				mk("calc", `{"type":"object","properties":{"expression":{"type":"string"},"digits":{"type":"integer"}},"required":["expression"],"additionalProperties":false}`),
				mk("mcp_docs_find", `{"type":"object"}`),
			})
			// It runs beside another one, which must not notice.
			out := b.run(t.Context(), c.call, call("datetime", "{}"))
			o := out[0]
			if o.Status != c.status || string(o.Args) != c.args {
				t.Errorf("got %s with arguments %s: %s", o.Status, o.Args, text(o))
			}
			want := int32(1)
			if c.status == tool.OK {
				want++
			}
			if ran.Load() != want {
				t.Errorf("%d calls ran, want %d", ran.Load(), want)
			}
			if c.status == tool.OK && text(o) != c.args {
				t.Errorf("the tool got %s", text(o))
			}
			for _, part := range c.says {
				if !strings.Contains(text(o), part) {
					t.Errorf("the content lacks %q:\n%s", part, text(o))
				}
			}
			if len(text(o)) > 600 {
				t.Errorf("the content has %d bytes", len(text(o)))
			}
			if out[1].Status != tool.OK {
				t.Errorf("the call beside it: %s: %s", out[1].Status, text(out[1]))
			}
		})
	}
}

// raw is a tool that takes its arguments as they come.
type raw struct {
	def tool.Definition
	f   func(context.Context, tool.Call, json.RawMessage) (string, error)
}

func (r *raw) Definition() tool.Definition { return r.def }
func (r *raw) Execute(ctx context.Context, c tool.Call) (tool.Result, error) {
	s, err := r.f(ctx, c, c.Args)
	return tool.TextResult(s), err
}

func TestNotesSayWhatWasUnderstood(t *testing.T) {
	t.Parallel()
	b := set(t, []tool.Tool{reading("file_read", func(_ context.Context, _ tool.Call, in path) (string, error) { return in.Path, nil })})
	o := b.run(t.Context(), call("functions.File_Read", `{"path":"a",}`))[0]
	notes := map[string]string{}
	for _, s := range o.Steps {
		notes[s.Step] = s.Note
	}
	if notes["resolve"] != `"functions.File_Read" means file_read` || !strings.Contains(notes["arguments"], "comma") {
		t.Errorf("got %+v", o.Steps)
	}
	if o.Tool != "file_read" || o.Call.Name != "functions.File_Read" {
		t.Errorf("called %s as %s", o.Tool, o.Call.Name)
	}
}

func TestAmbiguousNames(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, tool.Call, none) (string, error) { return "ran", nil }
	b := set(t, []tool.Tool{reading("ab_c", nothing), reading("a_bc", nothing), reading("abc_d", nothing)})
	o := b.run(t.Context(), call("abC", "{}"))[0]
	if o.Status != tool.Refused || o.Refusal.Rule != "ambiguous" || !strings.Contains(text(o), "a_bc, ab_c.") {
		t.Errorf("got %s: %s", o.Status, text(o))
	}
	// An exact name is never ambiguous.
	if o := b.run(t.Context(), call("ab_c", "{}"))[0]; o.Status != tool.OK {
		t.Errorf("got %s: %s", o.Status, text(o))
	}
}

func TestWithheldByRole(t *testing.T) {
	t.Parallel()
	write := tool.New(tool.Definition{Name: "db_write", Traits: tool.Traits{AdminOnly: true}},
		func(context.Context, tool.Call, none) (string, error) { return "wrote", nil })
	secret := writing("secret_weapon", func(context.Context, tool.Call, none) (string, error) { return "fired", nil })
	b := set(t, []tool.Tool{write, secret, reading("db_query", func(context.Context, tool.Call, none) (string, error) { return "", nil })},
		func(o *engine.Options) { o.Policies = deny("secret_weapon") })
	if o := b.run(t.Context(), call("db_write", "{}"))[0]; o.Status != tool.OK {
		t.Errorf("an admin got %s: %s", o.Status, text(o))
	}
	b.scope.Caller = user
	for _, name := range []string{"db_write", "functions.DB-Write"} {
		o := b.run(t.Context(), call(name, "{}"))[0]
		if o.Status != tool.Refused || o.Tool != "db_write" || text(o) != `Refused: db_write needs an administrator; it is withheld from the role "user".` {
			t.Errorf("%s: got %s: %s", name, o.Status, text(o))
		}
	}
	// What policy denies is like what isn't there.
	denied := text(b.run(t.Context(), call("secret_weapon", "{}"))[0])
	unknown := text(b.run(t.Context(), call("secret_weapom", "{}"))[0])
	if strings.ReplaceAll(denied, "weapon", "x") != strings.ReplaceAll(unknown, "weapom", "x") {
		t.Errorf("told apart:\n%s\n%s", denied, unknown)
	}
}

// A refusal names no tool that the run lacks.
func TestPlanModeWithoutTheToolThatLeavesIt(t *testing.T) {
	t.Parallel()
	b := set(t, []tool.Tool{writing("write", func(context.Context, tool.Call, none) (string, error) { return "wrote", nil })})
	b.state = b.state.Apply(tool.Effect{Kind: tool.PlanMode, Value: "on"})
	o := b.run(t.Context(), call("write", "{}"))[0]
	if o.Status != tool.Refused || strings.Contains(text(o), "exit_plan_mode") || !strings.Contains(text(o), "switches plan mode off") {
		t.Errorf("got %s: %s", o.Status, text(o))
	}
}

func TestPlanMode(t *testing.T) {
	t.Parallel()
	var wrote atomic.Int32
	toggle := func(name, value string, readOnly bool) tool.Tool {
		return tool.New(tool.Definition{Name: name, Traits: tool.Traits{ReadOnly: readOnly}},
			func(context.Context, tool.Call, none) (tool.Result, error) {
				r := tool.TextResult("plan mode is " + value)
				r.Effects = []tool.Effect{{Kind: tool.PlanMode, Value: value}}
				return r, nil
			})
	}
	b := set(t, []tool.Tool{
		toggle("enter_plan_mode", "on", false), toggle("exit_plan_mode", "off", true),
		writing("write", func(context.Context, tool.Call, none) (string, error) { wrote.Add(1); return "wrote", nil }),
		reading("read", func(context.Context, tool.Call, none) (string, error) { return "read", nil }),
		caller("script", tool.Traits{ReadOnly: true}),
	})
	// The write comes after the call that turns plan mode on.
	out := b.run(t.Context(), call("read", "{}"), call("enter_plan_mode", "{}"), call("write", "{}"), call("read", "{}"))
	if out[1].Status != tool.OK || out[2].Status != tool.Refused || out[2].Step != "plan" || out[3].Status != tool.OK || wrote.Load() != 0 {
		t.Errorf("got %s, %s at %s, %s; wrote %d", out[1].Status, out[2].Status, out[2].Step, out[3].Status, wrote.Load())
	}
	b.state = b.state.Apply(out[1].Effects...)
	out = b.run(t.Context(), call("write", "{}"), call("read", "{}"), call("exit_plan_mode", "{}"))
	if out[0].Status != tool.Refused || !strings.Contains(text(out[0]), "exit_plan_mode") || out[1].Status != tool.OK || out[2].Status != tool.OK {
		t.Errorf("got %s, %s, %s: %s", out[0].Status, out[1].Status, out[2].Status, text(out[0]))
	}
	// A script can't leave it.
	if o := b.run(t.Context(), call("script", `{"calls":[{"tool":"write"}]}`))[0]; !strings.Contains(text(o), "refused") || !strings.Contains(text(o), "let the script end, call exit_plan_mode outside of it") {
		t.Errorf("a script is told %s", text(o))
	}
	b.state = b.state.Apply(out[2].Effects...)
	if o := b.run(t.Context(), call("write", "{}"))[0]; o.Status != tool.OK {
		t.Errorf("got %s: %s", o.Status, text(o))
	}
}

// Whatever a model writes for a name, what runs is a tool that was offered.
func TestNamesNeverReachBeyondTheOffer(t *testing.T) {
	t.Parallel()
	ran := func(context.Context, tool.Call, none) (string, error) { return "ran", nil }
	b := set(t, []tool.Tool{reading("file_read", ran), reading("mcp_docs_find", ran), reading("a", ran), writing("denied", ran)},
		func(o *engine.Options) { o.Policies = deny("denied") })
	sf := b.offer()
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.OneOf(
			rapid.String(),
			rapid.StringMatching(`[ ]?(functions[.:]|mcp__[a-z]{0,4}__|tools/)?(file|File|denied|DENIED|mcp)[-_. ]?(read|Read|docs)?([-_.]find)?[ ]?`),
		).Draw(rt, "name")
		c := llm.ToolCall{ID: "1", Name: name, Arguments: "{}"}
		o := b.Execute(t.Context(), sf, []llm.ToolCall{c}, nil)[0]
		_, shown := tool.Find(sf.Offered, o.Tool)
		if o.Ran() != (o.Status == tool.OK) || o.Ran() && !shown || !o.Ran() && o.Status != tool.Refused {
			rt.Errorf("%q is %s as %s: %s", name, o.Status, o.Tool, text(o))
		}
	})
}

// With many tools a refusal names a few.
func TestRefusalsStayShort(t *testing.T) {
	t.Parallel()
	o := set(t, crowd(200)).run(t.Context(), call("zzz", "{}"))[0]
	want := `Refused: No tool "zzz" was offered in this request, so nothing ran. ` +
		"None of a similar name was; the nearest of the 200 that were are tool_0, tool_1, tool_10, tool_100, tool_101."
	if text(o) != want {
		t.Errorf("got %s", text(o))
	}
}
