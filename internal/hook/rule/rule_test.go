package rule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// callOf is a call of db_write by a user of the agent writer.
func callOf(args string) *hook.Call {
	return &hook.Call{
		ID: "c1", Tool: "db_write", Owner: tool.Owner{Kind: tool.FamilyOwner, ID: "data"}, Args: json.RawMessage(args),
		Def:     tool.Definition{Name: "db_write", Traits: tool.Traits{Category: "data"}},
		Touches: []tool.Touch{{Name: "db:prod", Write: true}},
		Scope: tool.NewScope(tool.Facts{
			Agent: "writer", Session: "s1", Run: "r1", Origin: tool.FromChannel, Delivery: tool.Delivery{Channel: "telegram"},
			Caller: auth.Principal{ID: "anna", Role: auth.User, Human: true},
		}),
	}
}

func outcomeOf(status tool.Status, text string) *tool.Outcome {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return &tool.Outcome{Status: status, Content: []llm.Part{llm.Text(text)}, Started: start, Ended: start.Add(1500 * time.Millisecond)}
}

var quiet = slog.New(slog.DiscardHandler)

func TestTry(t *testing.T) {
	t.Parallel()
	agents := Agents{Default: "writer", IDs: []string{"writer", "coder"}}
	tests := []struct {
		name            string
		tools, agents   []string
		match           string
		after           bool
		args            string
		matches, unsure bool
		action          Action
	}{
		{name: "everything", matches: true},
		{name: "by name", tools: []string{"db_write"}, matches: true},
		{name: "in any case", tools: []string{"DB_Write"}, matches: true},
		{name: "by pattern", tools: []string{"gitlab_*", "db_*"}, matches: true},
		{name: "by group", tools: []string{"group:data"}, matches: true},
		{name: "another tool", tools: []string{"db_query", "group:fs"}},
		{name: "no such tool", tools: []string{""}},
		{name: "its agent", agents: []string{"WRITER"}, matches: true},
		{name: "another agent", agents: []string{"coder"}},
		{name: "the default agent", agents: []string{"Main"}, matches: true},
		{name: "the default agent by its other name", agents: []string{"DEFAULT"}, matches: true},
		{name: "an agent that is not there", agents: []string{"nobody"}},
		{name: "arguments", match: `args.datasource == "prod" && caller.role != "admin"`, args: `{"datasource":"prod"}`, matches: true},
		{name: "other arguments", match: `args.datasource == "prod"`, args: `{"datasource":"test"}`},
		{name: "a missing argument", match: `args.datasource == "prod"`, args: `{}`, matches: true, unsure: true},
		{name: "a missing argument of a notice", match: `args.datasource == "prod"`, args: `{}`, unsure: true, action: Notify},
		{name: "has", match: `has(args.datasource) && args.datasource == "prod"`, args: `{}`},
		{name: "another type", match: `args.rows > 10`, args: `{"rows":"many"}`, matches: true, unsure: true},
		{name: "no truth value", match: `args.flag`, args: `{"flag":"yes"}`, matches: true, unsure: true},
		{name: "a truth value", match: `args.flag`, args: `{"flag":false}`},
		{name: "int and double", match: `args.rows > 10`, args: `{"rows":10.5}`, matches: true},
		{name: "a whole double", match: `args.rows == 10`, args: `{"rows":1e1}`, matches: true},
		{name: "a large number", match: `args.id == 18446744073709551615u`, args: `{"id":18446744073709551615}`, matches: true},
		{name: "beyond all numbers", match: `args.rows > 10`, args: `{"rows":1e999}`, matches: true},
		{name: "nested", match: `args.a[0].b == 1`, args: `{"a":[{"b":1}]}`, matches: true},
		{name: "touches", match: `touches.exists(t, t.write && t.name.startsWith("db:prod"))`, matches: true},
		{name: "where from", match: `origin == "channel" && channel == "telegram" && session == "s1" && agent == "writer" && caller.id == "anna" && caller.human`, matches: true},
		{name: "the tool", match: `tool == "db_write" && owner == "family:data" && !read_only`, matches: true},
		{name: "does not compile", match: `args.`, matches: true, unsure: true},
		{name: "does not compile, of a notice", match: `args.`, unsure: true, action: Notify},
		{name: "result before the call", match: `result == ""`, matches: true, unsure: true},
		{name: "costs too much", match: `args.l.all(a, args.l.all(b, args.l.all(c, a == b || b <= c || a > c)))`, args: `{"l":[` + strings.Repeat("1,", 200) + `1]}`, matches: true, unsure: true},
		{name: "a sum too large", match: `args.n + 1 > 0`, args: `{"n":9223372036854775807}`, matches: true, unsure: true},
		{name: "a division by zero", match: `10 / args.n > 0`, args: `{"n":0}`, matches: true, unsure: true},
		{name: "beyond a list", match: `args.l[3] == 1`, args: `{"l":[1]}`, matches: true, unsure: true},
		{name: "a missing argument within", match: `args.a.b.c == 1`, args: `{"a":{"b":{}}}`, matches: true, unsure: true},
		{name: "no list", match: `args.l.exists(x, x == 1)`, args: `{"l":7}`, matches: true, unsure: true},
		{name: "nothing", match: `args.a.startsWith("x")`, args: `{"a":null}`, matches: true, unsure: true},
		{name: "no expression", match: `args.s.matches(args.re)`, args: `{"s":"aaa","re":"(a"}`, matches: true, unsure: true},
		{name: "an expression that explodes", match: `args.s.matches(args.re)`, args: `{"s":"aaa","re":"((((a{1,100}){1,100}){1,100}){1,100})"}`, matches: true, unsure: true},
		{name: "an expression that would be slow elsewhere", match: `args.s.matches("(a*)*b")`, args: `{"s":"` + strings.Repeat("a", 50_000) + `"}`},
		{name: "a large text", match: `args.s.matches("(x+x+)+y")`, args: `{"s":"` + strings.Repeat("x", 12<<20) + `"}`, matches: true, unsure: true},
		{name: "a large list", match: `args.l.all(x, args.l.exists(y, x == y))`, args: `{"l":[` + strings.Repeat("1,2,", 50_000) + `1]}`, matches: true, unsure: true},
		{name: "no time", match: `timestamp(args.t) > timestamp("2026-01-01T00:00:00Z")`, args: `{"t":"tomorrow"}`, matches: true, unsure: true},
		{name: "doubt that does not matter", match: `caller.role == "user" || args.x == 1`, args: `{}`, matches: true},
		{name: "after", after: true, match: `status == "ok" && result.contains("3 rows") && error == "" && duration_ms == 1500 && !cached`, matches: true, action: Notify},
		{name: "no arguments", match: `size(args) == 0`, matches: true},
		{name: "no object", match: `size(args) == 0`, args: `[1]`, matches: true, unsure: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := Rule{Name: "r", Tools: test.tools, Agents: test.agents, Match: test.match, Action: test.action}
			if r.Action == "" {
				r.Action = Block
			}
			var o *tool.Outcome
			if test.after {
				r.When, o = After, outcomeOf(tool.OK, "changed 3 rows")
			}
			list := New([]Rule{r}, Options{Agents: agents, Log: quiet}).Try(t.Context(), callOf(test.args), o)
			if len(list) != 1 || list[0].Matches != test.matches || list[0].Unsure != test.unsure {
				t.Errorf("%+v", list)
			}
		})
	}
	// An agent that is called main is meant by its name.
	s := New([]Rule{{Name: "r", Agents: []string{"main"}, Action: Block}}, Options{Agents: Agents{Default: "writer", IDs: []string{"writer", "main"}}, Log: quiet})
	if s.Try(t.Context(), callOf(""), nil)[0].Matches {
		t.Error("main is another agent than the default one here")
	}
}

func TestCheckCondition(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        "",
		"  ":                      "",
		"true":                    "",
		"args.x == 1":             "",
		"args.x":                  "",
		"agrs.x == 1":             "undeclared reference to 'agrs' (in container '') (character 1)",
		"args.x ==":               "it ends too early (character 10)",
		"1 + 1":                   "it is no condition: it gives an int, not true or false",
		"tool == 1":               "found no matching overload for '_==_'",
		"true &&\n  nope":         "(line 2 of it, character 3)",
		"result == 'x'":           "undeclared reference to 'result'",
		"args.x = 1":              "unexpected '=' (character 8)",
		"args.x == 1)":            "unexpected ')' (character 12)",
		"(args.x == 1":            "it ends too early: missing ')' (character 13)",
		"args.x == 'a":            "a text has no end (character 11)",
		strings.Repeat(" x", 6e3): "it has 12000 bytes",

		// What caller and touches hold is known, what arguments hold is not.
		`caller.rle == "x"`:                                "caller has no field rle: did you mean role? (character 7)",
		`caller["rle"] == "x"`:                             "caller has no field rle",
		`has(caller.mail)`:                                 "caller has no field mail; it has human, id, role",
		`caller["role"] == args.role`:                      "",
		`touches.exists(t, t.nam == "x")`:                  "an entry of touches has no field nam: did you mean name?",
		`touches[0].path == "x"`:                           "an entry of touches has no field path; it has name, write",
		`touches.all(t, !t.write)`:                         "",
		`args.list.exists(caller, caller.rle == "x")`:      "",
		`args.caller.rle == "x"`:                           "",
		`args.touches.exists(t, t.nam == "x")`:             "",
		`args.l.exists(t, t.x) && touches.all(t, t.wirte)`: "did you mean write?",

		// A literal that can't be used is a fault of the condition, wherever it stands.
		`args.path.matches("[")`:                                  "the regular expression [ can't be used: missing closing ]: [ (character 19)",
		`matches(args.path, "(?=x)")`:                             "the regular expression (?=x) can't be used: invalid or unsupported Perl syntax: (?= (it is RE2, which has no look-around) (character 20)",
		"true ||\n  args.path.matches('(')":                       "missing closing ): ( (line 2 of it, character 21)",
		`args.list.exists(x, x.matches("a{2000}"))`:               "invalid repeat count: {2000}",
		`args.a ? args.b : args.c.matches("a" + "(" + "b")`:       "the regular expression a(b can't be used",
		`args.path.matches("` + strings.Repeat("(a", 1100) + `")`: "missing closing )",
		`args.path.matches(args.pattern + "(")`:                   "",
		`args.path.matches(args.long ? "(" : "x")`:                "",
		`duration(args.d) > duration("soon")`:                     "invalid duration argument",
		`timestamp("today") > timestamp(args.at)`:                 "invalid timestamp argument",
	} {
		err := CheckCondition(Before, text)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := CheckCondition(After, "result == 'x' && duration_ms > 5 && cached"); err != nil {
		t.Error(err)
	}
}

// A rule that decides and one that only tells see the same call in opposite
// doubt, and agree where there is none.
func TestDoubt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		match := rapid.SampledFrom([]string{"args.a == 1", "args.a > args.b", "args.a.startsWith('x')", "has(args.a)", "args.l.exists(x, x == 1)", "args.a"}).Draw(t, "match")
		args := rapid.SampledFrom([]string{`{}`, `{"a":1}`, `{"a":"x","b":2}`, `{"a":true}`, `{"a":null,"l":[1]}`, `{"l":"x"}`, `nope`}).Draw(t, "args")
		s := New([]Rule{{Name: "b", Match: match, Action: Block}, {Name: "n", Match: match, Action: Notify}}, Options{Log: quiet})
		list := s.Try(context.Background(), callOf(args), nil)
		b, n := list[0], list[1]
		if b.Unsure != n.Unsure || b.Unsure && (!b.Matches || n.Matches) || !b.Unsure && b.Matches != n.Matches {
			t.Fatalf("%s of %s: %+v %+v", match, args, b, n)
		}
	})
}

// decide asks the one rule of a set.
func decide(ctx context.Context, r Rule, o Options, args string) (hook.Verdict, *Set) {
	o.Log = quiet
	s := New([]Rule{r}, o)
	before, _ := s.Hooks()
	v, err := before[0].Decide(ctx, callOf(args))
	if err != nil {
		v.Block = &tool.Refusal{Reason: "error: " + err.Error()}
	}
	return v, s
}

func TestDecide(t *testing.T) {
	t.Parallel()
	pos := source.Pos{Key: "hooks[guard]", File: "/h/config.yaml", Line: 7}
	v, s := decide(t.Context(), Rule{Name: "guard", Action: Block, Message: "Ask an admin", Where: pos}, Options{}, "")
	want := tool.Refusal{Rule: "guard", Reason: "The rule guard blocks db_write: Ask an admin.", Allowed: "An admin can change the rule.", Where: pos}
	if v.Block == nil || *v.Block != want || v.Ask != nil {
		t.Errorf("%+v", v.Block)
	}
	if r := s.Report()[0]; r.Matched != 1 || r.Blocked != 1 || r.Last.IsZero() {
		t.Errorf("%+v", r)
	}
	v, _ = decide(t.Context(), Rule{Name: "guard", Action: Block, Match: "args.x == 1"}, Options{}, "{}")
	if v.Block == nil || !strings.Contains(v.Block.Reason, "can't be evaluated for this call, which counts as a match") {
		t.Errorf("%+v", v.Block)
	}
	v, _ = decide(t.Context(), Rule{Name: "guard", Action: Approve, Message: "Money moves here."}, Options{}, "")
	if v.Block != nil || v.Ask == nil || v.Ask.Admins || v.Ask.Reason != "The rule guard wants a person to allow db_write: Money moves here." {
		t.Errorf("%+v", v.Ask)
	}
	v, s = decide(t.Context(), Rule{Name: "guard", Action: Block, Match: "args.x == 1"}, Options{}, `{"x":2}`)
	if v.Block != nil || s.Report()[0].Matched != 0 {
		t.Errorf("%+v", v)
	}
}

// A rule that an admin's call would pass guards what others do: only an admin
// answers. One that would have an admin asked as well is answered by whoever
// makes the call.
func TestWhoAnswers(t *testing.T) {
	t.Parallel()
	for match, admins := range map[string]bool{
		"":                                     false,
		`args.n > 1`:                           false,
		`caller.role == "user" || true`:        false,
		`caller.id != "eve"`:                   false,
		`caller.human`:                         false,
		`caller.role != "admin"`:               true,
		`caller.role == "user"`:                true,
		`caller.id == "anna"`:                  true,
		`!(caller.role in ["admin"])`:          true,
		`args.missing == 1`:                    true, // nobody knows what it is for
		`caller.role == "user" || args.y == 1`: true,
	} {
		v, s := decide(t.Context(), Rule{Name: "guard", Action: Approve, Match: match}, Options{}, `{"n":2}`)
		if v.Block != nil || v.Ask == nil || v.Ask.Admins != admins {
			t.Errorf("%q has %+v asked, want only admins: %v", match, v.Ask, admins)
		}
		if r := s.Try(t.Context(), callOf(`{"n":2}`), nil); r[0].Admins != admins {
			t.Errorf("%q is read as %+v", match, r[0])
		}
	}
}

// A notice never decides, whatever becomes of it.
func TestNotify(t *testing.T) {
	t.Parallel()
	var got Notice
	for name, notify := range map[string]func(context.Context, Notice) error{
		"told":   func(_ context.Context, n Notice) error { got = n; return nil },
		"fails":  func(context.Context, Notice) error { return errors.New("disk full") },
		"panics": func(context.Context, Notice) error { panic("oh") },
		"absent": nil,
	} {
		v, s := decide(t.Context(), Rule{Name: "watch", Action: Notify, Message: "look"}, Options{Notify: notify}, "")
		if v.Block != nil || v.Ask != nil || v.Note == "" {
			t.Errorf("%s: %+v", name, v)
		}
		if failed := s.Report()[0].Failed; (failed == 1) != (name == "fails" || name == "panics") {
			t.Errorf("%s: %d failed", name, failed)
		}
	}
	if got.Rule != "watch" || got.Message != "look" || got.Tool != "db_write" || got.Caller != "anna" || got.Agent != "writer" || got.Call != "c1" {
		t.Errorf("%+v", got)
	}
}

// Rules are asked by priority, then as they were written; those that decide
// look again at what others rewrote.
func TestHooks(t *testing.T) {
	t.Parallel()
	before, after := New([]Rule{
		{Name: "low", Action: Block, Priority: -1},
		{Name: "first", Action: Notify},
		{Name: "second", Action: Approve},
		{Name: "high", Action: Webhook, Priority: 5, Timeout: time.Minute},
		{Name: "after", When: After, Action: Notify},
	}, Options{}).Hooks()
	var order []string
	for _, b := range before {
		order = append(order, b.Name)
		if b.Guards == (b.Name == "first") {
			t.Errorf("%s guards: %v", b.Name, b.Guards)
		}
	}
	if fmt.Sprint(order) != "[high first second low]" || len(after) != 1 || after[0].Name != "after" {
		t.Errorf("%v %v", order, after)
	}
	if before[0].Timeout <= time.Minute || before[1].Timeout <= hook.DefaultTimeout {
		t.Error("the rule must be able to say itself that time was up")
	}
}

func FuzzCondition(f *testing.F) {
	for _, s := range []string{`args.a == 1`, `args.l.map(x, x + 1).size() > 2`, `caller.role in ["admin"]`, `args.s.matches("(a*)*b")`, `timestamp(args.s) > timestamp("2020-01-01T00:00:00Z")`, `args.a ? 1 : true`} {
		f.Add(s, `{"a":1,"l":[1,2,3],"s":"aaaa"}`)
	}
	f.Fuzz(func(t *testing.T, match, args string) {
		start := time.Now()
		s := New([]Rule{{Name: "r", Match: match, Action: Block}}, Options{Log: quiet})
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		r := s.Try(ctx, callOf(args), nil)[0]
		if err := CheckCondition(Before, match); err != nil && !r.Matches {
			t.Errorf("%q does not compile (%v) and lets a call through", match, err)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%q of %q took %s", match, args, took)
		}
	})
}
