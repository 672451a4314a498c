package code

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// counting is a host that counts its calls.
type counting struct {
	echoing
	calls *atomic.Int64
}

func (c counting) Call(ctx context.Context, name string, args json.RawMessage) tool.Outcome {
	c.calls.Add(1)
	return c.echoing.Call(ctx, name, args)
}

// Whatever a script is, it ends with a result that keeps to its bounds and
// tells each of its calls.
func FuzzScript(f *testing.F) {
	for _, seed := range []string{
		"1 + 1", "return [1, {a: 'x'}]", "const r = await tools.call('echo', {a: 1}); r.data.a", "for (;;);", "throw {toString() { for (;;); }}",
		"await Promise.all([1, 2, 3].map(i => tools.call('echo', {i})))", "tools.call('nope')", "tools.call('echo').text", "let s = 'x'; for (;;) s += s",
		"const a = []; for (;;) a.push(new Uint8Array(1e6))", "const f = () => f() + 1; f()", "await new Promise(() => {})", "const f = () => Promise.resolve().then(f); await f()",
		"console.log('\\0\\ud800', 1n, Symbol('x'))", "return new Proxy({}, {ownKeys() { throw 1 }})", "})(); (() => {", "return 2n ** 64n", "tools.search('') + tools.describe('echo').name",
		"Object.prototype.toJSON = Promise.prototype.then = null; await tools.call('echo')", "JSON.stringify = () => '{}'; return 1; // }", "/(a+)+$/.test('a'.repeat(30) + 'b')", "\x00\xff",
		"for (let i = 0; i < 200; i++) tools.call('echo', {i}).then(() => {}, () => {})", "await import('os')", "new Function('return this')().tools = null; console = null",
		"const a = {}; a.a = a; return a", "`${tools.call('echo')}`", "[...'ab'].sort(() => { throw 1 })", "async function* g() { yield tools.call('echo') } for await (const x of g()) console.log(x)",
	} {
		f.Add(seed)
	}
	self := Self()
	f.Fuzz(func(t *testing.T, source string) {
		r := NewRunner(self)
		r.Tighten(500*time.Millisecond, 16<<20)
		r.limits.Calls, r.limits.Output, r.limits.Console = 20, 4<<10, 1<<10
		var calls atomic.Int64
		res, err := r.run(t.Context(), tool.Call{Host: counting{calls: &calls}}, scriptIn{Script: source})
		if err != nil {
			if strings.TrimSpace(source) != "" && len(source) <= maxScript {
				t.Error(err)
			}
			return
		}
		d := res.Details.(scriptDetails)
		if int64(len(d.Calls)) != calls.Load() || len(d.Calls) > r.limits.Calls {
			t.Errorf("%d calls are told, and %d were made", len(d.Calls), calls.Load())
		}
		text := llm.JoinText(res.Content)
		if !utf8.ValidString(text) || res.IsError != (d.Error != "") || strings.Contains(d.Error, "process broke") {
			t.Errorf("the result is %q, %q", text, d.Error)
		}
		if most := r.limits.Output + 2*r.limits.Console + 64<<10; len(text) > most {
			t.Errorf("the result has %d bytes", len(text))
		}
	})
}
