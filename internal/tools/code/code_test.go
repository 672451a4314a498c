package code_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/pool"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
	"github.com/goclaw/goclaw/internal/tools/code"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == code.Command {
		os.Exit(code.Child(os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}

// rig is an engine with tool_code and some tools to call.
type rig struct {
	t      *testing.T
	engine *engine.Engine
	runner *code.Runner
	facts  tool.Facts
	state  tool.State
	stayed chan struct{} // gets something for each call of stay

	mu    sync.Mutex
	calls []string // in the order in which they began
	meet  sync.WaitGroup
}

type word struct {
	Word string `json:"word"`
}

func (r *rig) note(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, s)
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigWithin(t, 20*time.Second)
}

// newRigWithin makes a rig whose scripts may work for so long.
func newRigWithin(t *testing.T, work time.Duration) *rig {
	t.Helper()
	r := &rig{t: t, facts: tool.Facts{Agent: "main", Session: "s", Caller: auth.Principal{ID: "ann", Role: auth.Admin, Human: true}, Origin: tool.FromChat}}
	r.stayed = make(chan struct{})
	reads := tool.Traits{ReadOnly: true}
	runner := code.NewRunner(code.Self())
	runner.Tighten(work, 64<<20)
	families, err := code.Family(runner).Build(func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	tools := append(families,
		tool.New(tool.Definition{Name: "shout", Description: "Writes a word in capitals.", Traits: reads}, func(_ context.Context, _ tool.Call, in word) (map[string]any, error) {
			r.note("shout " + in.Word)
			return map[string]any{"loud": strings.ToUpper(in.Word), "n": len(in.Word)}, nil
		}),
		tool.New(tool.Definition{Name: "plain", Description: "Says a word.", Traits: reads}, func(_ context.Context, _ tool.Call, in word) (string, error) { return in.Word, nil }),
		tool.New(tool.Definition{Name: "change", Description: "Changes something."}, func(_ context.Context, _ tool.Call, in word) (string, error) {
			r.note("change " + in.Word)
			return "changed", nil
		}),
		seen("peek", tool.Traits{ReadOnly: true}),
		seen("save", tool.Traits{}),
		tool.New(tool.Definition{Name: "meet", Description: "Waits for another call of it.", Traits: reads}, func(context.Context, tool.Call, struct{}) (string, error) {
			r.meet.Done()
			r.meet.Wait()
			return "met", nil
		}),
		tool.New(tool.Definition{Name: "fail", Traits: reads}, func(context.Context, tool.Call, struct{}) (string, error) { return "", errors.New("it is broken") }),
		tool.New(tool.Definition{Name: "large", Traits: reads}, func(context.Context, tool.Call, struct{}) (map[string]any, error) {
			return map[string]any{"rows": make([]int, 20_000)}, nil
		}),
		tool.New(tool.Definition{Name: "direct", Traits: tool.Traits{ReadOnly: true, DirectOnly: true}}, func(context.Context, tool.Call, struct{}) (string, error) { return "direct", nil }),
		tool.New(tool.Definition{Name: "promises", Traits: reads, Output: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)},
			func(_ context.Context, _ tool.Call, in word) (tool.Result, error) {
				res := tool.TextResult("x")
				if in.Word != "" {
					res.Details = map[string]any{"n": in.Word}
				} else {
					res.Details = map[string]any{"n": 1}
				}
				return res, nil
			}),
		tool.New(tool.Definition{Name: "guarded", Description: "Guards treasure.", Traits: tool.Traits{ReadOnly: true, AdminOnly: true}}, func(context.Context, tool.Call, struct{}) (string, error) { return "treasure", nil }),
		tool.New(tool.Definition{Name: "stay", Traits: tool.Traits{ReadOnly: true, Waits: true}}, func(ctx context.Context, _ tool.Call, _ struct{}) (string, error) {
			r.stayed <- struct{}{}
			<-ctx.Done()
			return "", ctx.Err()
		}),
		tool.New(tool.Definition{Name: "stuck", Traits: reads}, func(ctx context.Context, _ tool.Call, _ struct{}) (string, error) {
			r.note("stuck")
			<-ctx.Done()
			return "", ctx.Err()
		}),
	)
	tools = append(tools, engine.Tools()...)
	reg := tool.NewRegistry()
	if notes := reg.Add(tool.Owner{Kind: tool.FamilyOwner, ID: "test"}, tools...); len(notes) > 0 {
		t.Fatal(notes)
	}
	p := pool.New(pool.Options{Workers: 4})
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	r.runner = runner
	r.engine = engine.New(engine.Options{Registry: reg, Pool: p})
	return r
}

func (r *rig) run(ctx context.Context, script string) tool.Outcome {
	r.t.Helper()
	return r.runAs(ctx, r.facts, script)
}

func (r *rig) runAs(ctx context.Context, who tool.Facts, script string) tool.Outcome {
	args, err := json.Marshal(map[string]string{"script": script})
	if err != nil {
		r.t.Error(err)
	}
	return r.engine.Invoke(ctx, tool.NewScope(who), llm.Target{}, r.state, "tool_code", args, nil)
}

// seen makes a tool that says as what the session knows a file and makes it
// known as the tool's own.
func seen(name string, traits tool.Traits) tool.Tool {
	return tool.WithTouches(tool.New(tool.Definition{Name: name, Traits: traits}, func(_ context.Context, c tool.Call, in word) (tool.Result, error) {
		known, _ := c.State.Digest(in.Word)
		r := tool.TextResult("known as " + known)
		r.Effects = []tool.Effect{{Kind: tool.FileSeen, Key: in.Word, Value: name}}
		return r, nil
	}), func(_ tool.Call, in word) []tool.Touch {
		return []tool.Touch{{Name: "file:" + in.Word, Write: !traits.ReadOnly}}
	})
}

func text(o tool.Outcome) string { return llm.JoinText(o.Content) }

func TestScriptsSayWhatTheyReturnAndPrint(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range []struct{ name, script, want string }{
		{"a value", `return {a: [1, "x", null]}`, `{"a":[1,"x",null]}`},
		{"a text as it is", `return "a\nb"`, "a\nb"},
		{"the last statement without return", "const x = 20;\nx + 22", "42"},
		{"the last statement is a promise", `(async () => { return 7 })()`, "7"},
		{"a comment at the end", "return 1 // one", "1"},
		{"await", `const r = await tools.call("shout", {word: "hi"}); return r.data.loud`, "HI"},
		{"a forgotten await", `const r = tools.call("shout", {word: "hi"}); return r.data.loud + r.text.length + JSON.stringify(r.data)`, `HI19{"loud":"HI","n":2}`},
		{"then", `return tools.call("plain", {word: "x"}).then(r => r.text + "!")`, "x!"},
		{"a result as text", "return `<${await tools.call('plain', {word: 'x'})}> <${tools.call('plain', {word: 'y'})}>`", "<x> <y>"},
		{"text that is JSON", `return (await tools.call("plain", {word: '{"a":[1]}'})).data.a[0]`, "1"},
		{"many in order", `const all = await Promise.all(["a","b","c"].map(w => tools.call("plain", {word: w}))); return all.map(r => r.text)`, `["a","b","c"]`},
		{"side by side", `await Promise.all([tools.call("meet"), tools.call("meet", {})]); return "both"`, "both"},
		{"a failure is caught", `try { await tools.call("fail") } catch (e) { return "caught " + e.message }`, "caught fail: it is broken"},
		{"a failure is caught without await", `try { tools.call("fail").text } catch (e) { return "caught" }`, "caught"},
		{"allSettled", `return (await Promise.allSettled([tools.call("fail"), tools.call("plain", {word: "x"})])).map(r => r.status)`, `["rejected","fulfilled"]`},
		{"wrong arguments", `try { await tools.call("plain", {word: 1, more: 2}) } catch (e) { return e.message.includes("don't fit") }`, "true"},
		{"a large result is whole", `return (await tools.call("large")).data.rows.length`, "20000"},
		{"console", `console.log("a", 1, {b: 2}, [3]); console.error("bad"); return "v"`, "v\n\nConsole:\na 1 {\"b\":2} [3]\nbad"},
		{"only console", `console.log("a")`, "a"},
		{"nothing", `const x = 1`, "The script returned and printed nothing; return what you want to know."},
		{"search", `return tools.search("capitals").map(t => t.name)`, `["shout"]`},
		{"search, awaited", `return (await tools.search("write a word")).length > 0`, "true"},
		{"describe", `const d = tools.describe("shout"); return [d.name, d.read_only, d.parameters.properties.word.type]`, `["shout",true,"string"]`},
		{"what keeps out is not found", `return tools.search("").map(t => t.name).filter(n => n == "direct" || n == "tool_code")`, "[]"},
		{"names as models write them", `const d = tools.describe("functions.Shout"); const r = await tools.call("functions.SHOUT", {word: "x"}); return [d.name, r.tool, r.data.loud]`, `["shout","shout","X"]`},
		{"a kept promise", `return (await tools.call("promises", {word: ""})).data.n`, "1"},
		{"a block at the end is worth nothing", `const a = {}; for (const i of [1]) { a.a = a; i }`, "The script returned and printed nothing; return what you want to know."},
		{"an object at the end", "let a;\na = {b: 1}; // said", `{"b":1}`},
		{"a function at the end", "let n = 1\nn++\n", "1"},
		{"return and await", "for (const w of 'ab') { const r = await tools.call('plain', {word: w}); if (r.text == 'b') return w + '!' }", "b!"},
		{"for await", "let s = ''; for await (const r of ['a', 'b'].map(w => tools.call('plain', {word: w}))) s += r.text; s", "ab"},
		{"a symbol", "return Symbol('x')", "The script returned and printed nothing; return what you want to know."},
		{"null", "return null", "null"},
		{"null at the end", "const r = null; r", "null"},
		{"an empty text", "return ''", `""`},
		{"undefined", "return undefined", "The script returned and printed nothing; return what you want to know."},
		{"no number", "return [0 / 0, 1 / 0, -1 / 0, 2n ** 64n]", `["NaN","Infinity","-Infinity","18446744073709551616"]`},
		{"a large whole number", "return 2n ** 64n", "18446744073709551616"},
		{"an error", "const e = new TypeError('no'); e.code = 7; return {e}", `{"e":{"name":"TypeError","message":"no","code":7}}`},
		{"errors of calls", `return (await Promise.allSettled([tools.call("fail"), tools.call("plain", {word: "x"})])).map(r => r.reason ?? r.value.text)`, `[{"name":"Error","message":"fail: it is broken"},"x"]`},
		{"errors of many calls", `try { await Promise.any([tools.call("fail")]) } catch (e) { return e.errors }`, `[{"name":"Error","message":"fail: it is broken"}]`},
		{"maps and sets", "return [new Map([['a', 1], ['__proto__', 2]]), new Map([[1, 'x']]), new Set([1, 'b']), new Uint8Array([7, 8])]", `[{"a":1,"__proto__":2},[[1,"x"]],[1,"b"],[7,8]]`},
		{"a map as arguments", "return (await tools.call('plain', new Map([['word', 'x']]))).text", "x"},
		{"by the tool's name", `const {data: {loud}} = await tools.shout({word: "x"}); return [loud, tools.shout({word: "y"}).data.loud, typeof tools.then]`, `["X","Y","undefined"]`},
		{"by a name that there is not", `try { await tools.shuot({word: "x"}) } catch (e) { return e.message.includes('No tool "shuot"') }`, "true"},
		{"other ways to print", "console.table([{a: 1}]); console.group('g'); console.dir(new Map([['k', 1]])); console.groupEnd()", "[{\"a\":1}]\ng\n{\"k\":1}"},
		{"in a fence", "```js\nreturn 1\n```\n", "1"},
		{"large whole numbers", "return String(2n ** 64n)", "18446744073709551616"},
		{"a zero character", `const r = await tools.call('plain', {word: 'a\0b'}); console.log('c\0d'); return r.text + '|' + r.text.length`, "a␀b|3\n\nConsole:\nc␀d"},
		{"half a character", `console.log('\udc00'); return '\ud83d' + '|' + '\ud83d\ude00'`, "\ufffd|\U0001f600\n\nConsole:\n\ufffd"},
		{"what prints badly", `console.log({toJSON() { throw 1 }}, null, undefined, Symbol('s'), 1n, new Error('e'), () => 1)`, "[object Object] null undefined Symbol(s) 1 Error: e () => 1"},
		{"the language is changed", `JSON.stringify = JSON.parse = Promise.prototype.then = Map.prototype.get = null; Object.prototype.value = 1; Array.prototype[Symbol.iterator] = null
const r = await tools.call("plain", {word: "x"}); return r.text`, "x"},
		{"tools are taken away", `const t = tools; tools = console = null; return (await t.call("plain", {word: "x"})).text`, "x"},
		{"more memory than there is, caught", `const a = []; try { for (;;) a.push(new Uint8Array(16e6)) } catch (e) { a.length = 0; await null; return e.message }`, "out of memory"},
		{"too deep, caught", `const f = () => f() + 1; try { f() } catch (e) { return e.message }`, "stack overflow"},
		{"deep values", `let a = []; for (let i = 0; i < 5e4; i++) a = [a]; let s = ''; for (let i = 0; i < 5e4; i++) s = 'x' + s; a = null; return s.length`, "50000"},
		{"nothing to reach", `return [typeof require, typeof process, typeof fetch, typeof setTimeout, typeof XMLHttpRequest, typeof std, typeof os, typeof host]`, `["undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined"]`},
	} {
		r.meet.Add(2)
		o := r.run(t.Context(), c.script)
		if got := text(o); o.Status != tool.OK || got != c.want && !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: %s: %s\nwant %s", c.name, o.Status, got, c.want)
		}
		r.meet = sync.WaitGroup{}
	}
}

func TestScriptsThatFailSayWhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range []struct{ name, script, want string }{
		{"a syntax error", "const a = 1;\nconst b = ;\n", "SyntaxError: unexpected token in expression: ';' (line 2, column 11)"},
		{"on the first line", "const = 1", "(line 1, column 7)"},
		{"a missing name", "const a = 1;\n\n  nothing.at.all", "ReferenceError: 'nothing' is not defined (line 3, column 3)"},
		{"a missing name after await", "await tools.call('plain', {word: 'x'});\nnothing()", "ReferenceError: 'nothing' is not defined (line 2, column 1)"},
		{"thrown", "function f() {\n  throw new Error('no')\n}\nf()", "Error: no (line 2, column 18)"},
		{"thrown text", "throw 'just text'", "Error: just text"},
		{"a failed call", "const a = 1;\nawait tools.call('fail')", "fail: it is broken (line 2, column 17)"},
		{"which calls were made", "await tools.call('change', {word: 'x'});\nnothing()", "These calls had been made, and what they did stands: change (ok)."},
		{"no such tool", "await tools.call('shuot', {})", `shuot: Refused: No tool "shuot" was offered in this request, so nothing ran. Nearest that were: shout`},
		{"no such tool to describe", "tools.describe('shuot')", `No tool "shuot" was offered in this request, so nothing ran. Nearest that were: shout`},
		{"no such tool is a call", "await tools.call('shuot', {})", "These calls had been made, and what they did stands: shuot (refused)."},
		{"what keeps out", "await tools.call('direct')", "direct can't be called from a script; call it directly"},
		{"what keeps out under another name", "await tools.call('functions.Direct')", "direct can't be called from a script; call it directly"},
		{"itself", "await tools.call('tool_code', {script: '1'})", "tool_code can't be called from a script"},
		{"a promise that is not kept", "await tools.call('promises', {word: 'x'})", "promises answered in another form than it promises"},
		{"waits for nothing", "await new Promise(() => {})", "the script waits for something that never comes"},
		{"not a name", "tools.call({})", "tools.call takes the name of a tool"},
		{"a cycle", "const a = {}; a.a = a; return a", "TypeError: circular reference"},
		{"endless recursion", "function f() { return f() + 1 }\nf()", "RangeError: functions call each other, or things are in each other, too deep (line 1, column 2"},
		{"closes its function", "})(); (() => {", "Error: "},
		{"closes its function and returns", "return 1 })(); (() => {", "the script is no function"},
		{"a syntax error beside a return", "if (1) return 2;\nconst b = ;", "(line 2, column 11)"},
		{"on the first line beside a return", "nothing(); return 1", "(line 1, column 1)"},
		{"thrown nothing", "throw undefined", "Error: undefined"},
		{"a thrown symbol", "throw Symbol('x')", "Error: Symbol(x)"},
		{"a thrown object", "throw {code: 7}", `Error: {"code":7}`},
		{"a thrown object that throws", "throw {toString() { throw 1 }, toJSON() { throw 2 }}", "can't be written"},
		{"a thrown trap", "throw new Proxy({}, {get() { throw new Error('trap') }, getPrototypeOf() { throw 1 }})", "can't be written"},
		{"a returned trap", "return new Proxy({}, {ownKeys() { throw new Error('trap') }})", "Error: trap (line 1, column "},
		{"what other places have", "await new Promise(r => setTimeout(r, 100))", "ReferenceError: 'setTimeout' is not defined; a script has no timers, network, files or modules, only tools (line 1, column"},
		{"a promise that fails after it", "return Promise.reject(new TypeError('late'))", "TypeError: late (line 1, column "},
		{"modules", "await import('std')", "Error: "},
		{"half a character in arguments", "await tools.call('plain', {word: '\\ud83d'})", "half of a character"},
		{"arguments that are no object", "await tools.call('plain', () => 1)", "the arguments of a tool are an object"},
	} {
		o := r.run(t.Context(), c.script)
		if got := text(o); o.Status != tool.Failed || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s: %s\nwant %s", c.name, o.Status, got, c.want)
		}
	}
	if o := r.run(t.Context(), "[1, 2].forEach(async () => { await tools.call('fail') }); return 1"); o.Status != tool.OK || strings.Count(text(o), "[A failure that the script did not look at: fail: it is broken (line 1, column ") != 2 {
		t.Errorf("unheard failures of functions: %s: %s", o.Status, text(o))
	}
	if o := r.run(t.Context(), "tools.call('fail'); return 1"); o.Status != tool.OK || !strings.Contains(text(o), "[A failure that the script did not look at: fail: it is broken") {
		t.Errorf("an unheard failure: %s: %s", o.Status, text(o))
	}
}

// Whatever a script does, it costs its own process and a bounded time.
func TestScriptsAreBounded(t *testing.T) {
	t.Parallel()
	r, hasty := newRig(t), newRigWithin(t, time.Second)
	for _, c := range []struct{ name, script, want string }{
		{"a growing text", "let s = 'x';\nfor (;;) s += s", ""},
		{"a long text at once", "return 'x'.repeat(2**30).length", ""},
		{"a longer text at once", "return 'x'.repeat(2**33).length", ""},
		{"a growing list", "const a = [];\nfor (;;) a.push({n: 'x' + a.length})", ""},
		{"a long list at once", "return new Array(2**28).fill(1).length", ""},
		{"bytes at once", "return new Uint8Array(2**31 - 1).length", ""},
		{"a long number", "return String(2n ** 100000000n).length", ""},
		{"nested text", "return JSON.parse('['.repeat(5e6) + ']'.repeat(5e6)).length", ""},
		{"nested source", strings.Repeat("(", 30_000) + strings.Repeat(")", 30_000), "Error"},
		{"memory, whatever is caught", "const a = []; for (;;) try { for (;;) a.push(new Uint8Array(1e5)) } catch {}", ""},
		{"memory in promises", "const a = []; const f = async () => { a.push(new Uint8Array(1e6)); await f() }; await f()", ""},
		{"numbers without an end", "let n = 3n; for (;;) n *= n", ""},
		{"a deep value returned", "let a = []; for (let i = 0; i < 3e3; i++) a = [a]; return a", "too deep"},
		{"a deep trap", "let p = {}; for (let i = 0; i < 1e4; i++) p = new Proxy(p, {}); return p.x", "too deep"},
		{"recursion by conversion", "const o = {toString() { return '' + o }}; return '' + o", "too deep"},
		{"a nested expression", "return new RegExp('('.repeat(1e5) + ')'.repeat(1e5)).test('')", ""},
		{"too much returned", "return 'x'.repeat(2e6)", "return less"},
		{"too many calls", "for (let i = 0; i < 101; i++) tools.search('x')", "at most 100 times"},
		{"too long arguments", "await tools.call('plain', {word: 'x'.repeat(2e6)})", "the arguments have"},
	} {
		begun := time.Now()
		r := r
		if c.want == "" { // whichever bound it meets first
			r = hasty
		}
		o := r.run(t.Context(), c.script)
		if o.Status != tool.Failed || !strings.Contains(text(o), c.want) {
			t.Errorf("%s: %s: %.300s", c.name, o.Status, text(o))
		}
		t.Logf("%s: %s: %.100s", c.name, time.Since(begun).Round(time.Millisecond), text(o))
	}
	if o := r.run(t.Context(), "for (let i = 0; i < 4000; i++) console.log('a line of some length')"); o.Status != tool.OK || len(text(o)) > 70_000 || !strings.Contains(text(o), "more lines were printed") {
		t.Errorf("much printed: %s: %d bytes", o.Status, len(text(o)))
	}
}

func TestScriptsThatNeverEndAreStopped(t *testing.T) {
	t.Parallel()
	r := newRigWithin(t, time.Second)
	const late, large = "worked for more than 1s", "MB of memory"
	for name, c := range map[string]struct{ script, want, or string }{
		"a loop": {"let n = 0;\nfor (;;) n++", late, late},
		// Each promise keeps the one before it, so either bound may be met first.
		"a loop of promises":         {"const f = () => Promise.resolve().then(f); await f()", late, large},
		"nothing catches it":         {"try { for (;;); } catch { for (;;); } finally { for (;;); }", late, late},
		"a loop after await":         {"await null; for (;;);", late, late},
		"a loop in what is returned": {"return {toJSON() { for (;;); }}", late, late},
		"a loop in what is thrown":   {"throw {toJSON() { for (;;); }}", late, late},
		"a loop in a trap":           {"return new Proxy({}, {ownKeys() { for (;;); }})", late, late},
		"a loop in a sort":           {"[1, 2].sort(() => { for (;;); })", late, late},
		"a step without an end":      {"const a = new Array(2 ** 32 - 1); a.fill(1); return a.indexOf(2)", late, large},
		"an expression of the devil": {`return /^(a+)+(?=b)$/.test('a'.repeat(40) + '!')`, late, late},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := r.run(t.Context(), c.script)
			if got := text(o); o.Status != tool.Failed || !strings.Contains(got, c.want) && !strings.Contains(got, c.or) {
				t.Errorf("%s: %s", o.Status, got)
			}
		})
	}
	t.Run("stopped from outside", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan tool.Outcome)
		go func() { done <- r.run(ctx, "await tools.call('stuck'); for (;;);") }()
		for begun := false; !begun; {
			r.mu.Lock()
			begun = slices.Contains(r.calls, "stuck")
			r.mu.Unlock()
		}
		cancel()
		if o := <-done; o.Status != tool.Cancelled {
			t.Errorf("%s: %s", o.Status, text(o))
		}
	})
}

func TestCallsOfScriptsAreHeldToTheRules(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.state.Plan = true
	if o := r.run(t.Context(), "await tools.call('change', {word: 'x'})"); o.Status != tool.Failed || !strings.Contains(text(o), "Plan mode is on") {
		t.Errorf("in plan mode: %s: %s", o.Status, text(o))
	}
	if o := r.run(t.Context(), "return (await tools.call('plain', {word: 'x'})).text"); o.Status != tool.OK {
		t.Errorf("reading in plan mode: %s: %s", o.Status, text(o))
	}
	r.state.Plan = false
	r.facts.Cap = tool.Only("tool_code", "plain")
	if o := r.run(t.Context(), "return [tools.search('').map(t => t.name), await tools.call('shout', {word: 'x'})]"); o.Status != tool.Failed || !strings.Contains(text(o), `No tool "shout" was offered`) {
		t.Errorf("outside the cap: %s: %s", o.Status, text(o))
	}
}

// A script is told of what a role keeps away as the model is.
func TestScriptsLearnWhatTheirRoleWithholds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.facts.Caller.Role = auth.User
	words := `guarded needs an administrator; it is withheld from the role "user".`
	if o := r.run(t.Context(), "await tools.call('Guarded')"); o.Status != tool.Failed || !strings.Contains(text(o), words) {
		t.Errorf("called: %s: %s", o.Status, text(o))
	}
	if o := r.run(t.Context(), "tools.describe('guarded')"); o.Status != tool.Failed || !strings.Contains(text(o), words) {
		t.Errorf("described: %s: %s", o.Status, text(o))
	}
	if o := r.run(t.Context(), "tools.search('guards treasure').find(t => t.withheld).withheld"); text(o) != words {
		t.Errorf("searched: %s: %s", o.Status, text(o))
	}
}

// Calls that change something run alone and in their order, though a script
// asks for all at once.
func TestChangesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	script := `await Promise.all([..."abcdefgh"].flatMap((w, i) => [tools.call(i % 2 ? "change" : "shout", {word: w}), tools.call("change", {word: w + w})]))`
	if o := r.run(t.Context(), script+"; return 'done'"); o.Status != tool.OK {
		t.Fatal(text(o))
	}
	var changes []string
	for _, c := range r.calls {
		if w, ok := strings.CutPrefix(c, "change "); ok {
			changes = append(changes, w)
		}
	}
	if want := []string{"aa", "b", "bb", "cc", "d", "dd", "ee", "f", "ff", "gg", "h", "hh"}; !slices.Equal(changes, want) {
		t.Errorf("changed in the order %v", changes)
	}
}

// What a script changed holds for the calls of the same response behind it. What
// it only read does not, since the model did not know it when it wrote them.
func TestWhatAScriptDidHoldsForTheCallsBehindIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, script, then, args, want string }{
		{"plan mode", `await tools.call("enter_plan_mode")`, "change", "x", "Refused: Plan mode is on"},
		{"a file that it wrote", `await tools.call("save", {word: "a"})`, "save", "a", "known as save"},
		{"a file that it read", `await tools.call("peek", {word: "a"})`, "save", "a", "known as "},
		{"a file that it wrote and read", `await tools.call("save", {word: "a"}); await tools.call("peek", {word: "a"})`, "save", "a", "known as save"},
		{"a file that it read, and another one that it wrote", `await tools.call("peek", {word: "a"}); await tools.call("save", {word: "b"})`, "save", "a", "known as "},
		{"a failure behind it", `await tools.call("save", {word: "a"}); throw new Error("no")`, "save", "a", "known as save"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			sf, err := r.engine.Offer(t.Context(), tool.NewScope(r.facts), llm.Target{}, r.state, tool.Ask{})
			if err != nil {
				t.Fatal(err)
			}
			script, err := json.Marshal(map[string]string{"script": c.script})
			if err != nil {
				t.Fatal(err)
			}
			out := r.engine.Execute(t.Context(), sf, []llm.ToolCall{
				{ID: "1", Name: "tool_code", Arguments: string(script)},
				{ID: "2", Name: c.then, Arguments: fmt.Sprintf(`{"word":%q}`, c.args)},
			}, nil)
			if got := text(out[1]); got != c.want && (strings.HasPrefix(c.want, "known") || !strings.HasPrefix(got, c.want)) {
				t.Errorf("behind %s: got %q, want %q", text(out[0]), got, c.want)
			}
		})
	}
}

// Scripts that wait for their calls keep no others from working, also when those
// of one person are as many as may begin.
func TestScriptsThatWaitHoldUpNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	bob := r.facts
	bob.Caller.ID = "bob"
	var waiting sync.WaitGroup
	for range code.BegunEach {
		waiting.Go(func() {
			r.runAs(ctx, bob, `await tools.call("stay")`)
		})
	}
	for range code.BegunEach {
		<-r.stayed
	}
	if got := text(r.run(t.Context(), `return (await tools.call("plain", {word: "ran"})).text`)); got != "ran" {
		t.Errorf("another person's script said %q", got)
	}
	stop()
	waiting.Wait()
}

// A script works only while it has a turn, and goes on when its calls have ended.
func TestScriptsTakeTurns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.OneAtATime()
	r.meet.Add(2)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if got := text(r.run(t.Context(), `const a = await tools.call("meet"); tools.search(""); return a.text`)); got != "met" {
				t.Errorf("got %q", got)
			}
		})
	}
	both.Wait()
}

// A script may write much while many large results are on their way to it.
func TestScriptsWriteWhileResultsCome(t *testing.T) {
	t.Parallel()
	r := newRigWithin(t, 5*time.Minute) // results are read slowly where races are looked for
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			o := r.run(t.Context(), `const all = Array.from({length: 40}, () => tools.call("large"));
await all[0]; await all[1];
const r = await tools.call("plain", {word: "x".repeat(300_000)});
return (await Promise.all(all)).length + " " + r.text.length`)
			if got := text(o); got != "40 300000" {
				t.Errorf("got %q", got)
			}
		})
	}
	all.Wait()
}

func TestDetailsTellTheCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.run(t.Context(), "await tools.call('plain', {word: 'x'}); try { await tools.call('fail') } catch {}; return 5")
	var d struct {
		Calls []struct{ Tool, Status string }
		Value int
	}
	if err := json.Unmarshal(o.Details, &d); err != nil || fmt.Sprint(d) != "{[{plain ok} {fail error}] 5}" {
		t.Errorf("details %s, %v", o.Details, err)
	}
}

func TestWithoutAProgramNothingRuns(t *testing.T) {
	t.Parallel()
	tools, err := code.Family(nil).Build(func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tools[0].Execute(t.Context(), tool.Call{Args: json.RawMessage(`{"script":"1"}`)}); err == nil || !strings.Contains(err.Error(), "can't run scripts") {
		t.Errorf("the error is %v", err)
	}
}
