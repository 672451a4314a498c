package cache_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/engine/cache"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

func r(name string) tool.Touch { return tool.Touch{Name: name} }
func w(name string) tool.Touch { return tool.Touch{Name: name, Write: true} }

func query(args string, touches ...tool.Touch) cache.Query {
	return cache.Query{Tool: "look", Args: json.RawMessage(args), Agent: "a", Workspace: "/ws", Touches: touches}
}

// run is a call that runs when the cache has no answer, and returns what it is
// answered.
func run(c *cache.Cache, q cache.Query, text string) string {
	result, read, hit := c.Begin(q)
	if hit {
		return result.Content[0].Text
	}
	read.Keep(tool.TextResult(text), q.Touches)
	return text
}

func TestEqualCallsAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	first := query(`{"n": 10, "s": "a<b", "l": [1, {"x": 0.50, "y": null}]}`)
	for _, c := range []struct {
		name string
		q    func(q *cache.Query)
		hit  bool
	}{
		{"itself", func(*cache.Query) {}, true},
		{"another order and other numerals", func(q *cache.Query) {
			q.Args = json.RawMessage(`{"l":[1.0,{"y":null,"x":5e-1}],"s":"a\u003cb","n":1E1}`)
		}, true},
		{"another number", func(q *cache.Query) { q.Args = json.RawMessage(strings.Replace(string(q.Args), "10", "100", 1)) }, false},
		{"a string for a number", func(q *cache.Query) { q.Args = json.RawMessage(strings.Replace(string(q.Args), "10", `"10"`, 1)) }, false},
		{"a name that comes twice", func(q *cache.Query) { q.Args = json.RawMessage(`{"n":1,` + string(q.Args)[1:]) }, false},
		{"another tool", func(q *cache.Query) { q.Tool = "see" }, false},
		{"another owner", func(q *cache.Query) { q.Owner = "plugin x" }, false},
		{"another agent", func(q *cache.Query) { q.Agent = "b" }, false},
		{"another workspace", func(q *cache.Query) { q.Workspace = "/other" }, false},
		{"another caller", func(q *cache.Query) { q.Caller = "user:bob" }, false},
		{"a call that writes", func(q *cache.Query) { q.Touches = []tool.Touch{w("file:")} }, false},
	} {
		k := cache.New(cache.Options{Entries: 10, TTL: time.Minute})
		run(k, first, "first")
		q := first
		c.q(&q)
		if got := run(k, q, "second"); (got == "first") != c.hit {
			t.Errorf("%s: answered %q", c.name, got)
		}
	}
}

func TestNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	k := cache.New(cache.Options{Entries: 100, TTL: time.Minute})
	for _, n := range []string{"9007199254740993", "9007199254740992", "0.1", "0.10000000000000001", "-1", "1", "0", "1e400", "1e401", "1e99999999999999999999"} {
		if got := run(k, query(`{"n":`+n+`}`), n); got != n {
			t.Errorf("%s is taken for %s", n, got)
		}
	}
}

func TestWritesTakeAwayWhatTheyCover(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		read      tool.Touch
		workspace string // of who writes
		write     tool.Touch
		gone      bool
	}{
		{r("file:a/b"), "/ws", w("file:a/b"), true},
		{r("file:a"), "/ws", w("file:a/b"), true},
		{r("file:"), "/ws", w("file:a/b"), true},
		{r("file:a/b"), "/ws", w("file:a"), true},
		{r("file:a/b"), "/ws", w("file:"), true},
		{r("file:a/b"), "/ws", tool.Everything, true},
		{r("file:a/b"), "/elsewhere", tool.Everything, true},
		{r("file:a"), "/ws", w("file:ab"), false},
		{r("file:a"), "/ws", r("file:a"), false},
		{r("file:a"), "/elsewhere", w("file:a"), false},
		{r("file:a"), "/wsx", w("file:"), false},
		{r("file:sub/a"), "/ws/sub", w("file:a"), true}, // a workspace within the workspace
		{r("file:sub/a"), "/ws/sub", w("file:b"), false},
		{r("file:a"), "/", w("file:"), true},
		{r("db:sales"), "/elsewhere", w("db:sales/orders"), true},
		{r("db:sales"), "/ws", w("db:hr"), false},
		{r("db:sales"), "/ws", w("file:"), false},
	} {
		k := cache.New(cache.Options{Entries: 10, TTL: time.Minute})
		run(k, query(`{}`, c.read), "old")
		k.Write(c.workspace, []tool.Touch{c.write}).End()
		if got := run(k, query(`{}`, c.read), "new"); (got == "new") != c.gone {
			t.Errorf("%s is %s after a write of %s in %s", c.read.Name, got, c.write.Name, c.workspace)
		}
		k.Write(c.workspace, nil).End(c.write) // only running found it out
		if got := run(k, query(`{}`, c.read), "newer"); (got == "newer") != c.gone {
			t.Errorf("%s is %s after %s turned out to be written in %s", c.read.Name, got, c.write.Name, c.workspace)
		}
	}
}

func TestAReadThatOverlapsAWriteIsNotKept(t *testing.T) {
	t.Parallel()
	q, writes := query(`{}`, r("file:a")), []tool.Touch{w("file:a")}
	k := cache.New(cache.Options{Entries: 10, TTL: time.Minute})
	for name, overlap := range map[string]func(keep func()){
		"the write begins and ends within": func(keep func()) {
			k.Write("/ws", writes).End()
			keep()
		},
		"the write goes on": func(keep func()) {
			late := k.Write("/ws", writes)
			keep()
			if got := run(k, q, "meanwhile"); got != "meanwhile" {
				t.Errorf("while a write runs the answer is %q", got)
			}
			if got := run(k, q, "later"); got != "later" {
				t.Errorf("what was read while a write ran is kept: %q", got)
			}
			late.End()
		},
		"many writes": func(keep func()) {
			for range 200 {
				k.Write("/ws", []tool.Touch{w("file:b")}).End()
			}
			k.Write("/ws", writes).End()
			keep()
		},
	} {
		_, read, _ := k.Begin(q)
		overlap(func() { read.Keep(tool.TextResult("old"), q.Touches) })
		if got := run(k, q, "new"); got != "new" {
			t.Errorf("%s: answered %q", name, got)
		}
		k.Write("/ws", writes).End()
	}
	// Ended without a result, as after a failure.
	_, read, _ := k.Begin(q)
	read.End()
	read.Keep(tool.TextResult("failed"), q.Touches)
	if got := run(k, q, "new"); got != "new" {
		t.Errorf("after an end without a result: %q", got)
	}
}

func TestOldAndLargeResultsGo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	k := cache.New(cache.Options{Entries: 3, TTL: time.Minute, Bytes: 80_000, Now: func() time.Time { return now }})
	ask := func(n int, text string) string { return run(k, query(fmt.Sprintf(`{"n":%d}`, n)), text) }
	ask(1, "one")
	now = now.Add(59 * time.Second)
	if got := ask(1, "again"); got != "one" {
		t.Errorf("after 59 s: %q", got)
	}
	now = now.Add(time.Second) // using it made it no younger
	if got := ask(1, "again"); got != "again" {
		t.Errorf("after a minute: %q", got)
	}
	ask(2, "two")
	ask(3, "three")
	ask(1, "")
	ask(4, "four")
	if got := ask(2, "new"); got != "new" {
		t.Errorf("the least recently used of four is still there: %q", got)
	}
	ask(5, strings.Repeat("x", 20_000))
	if got := ask(5, "new"); got != "new" {
		t.Error("a result of more than an eighth of all bytes is kept")
	}
	big := cache.New(cache.Options{Entries: 1000, TTL: time.Minute, Bytes: 80_000})
	for i := range 100 {
		run(big, query(fmt.Sprintf(`{"n":%d}`, i)), strings.Repeat("x", 9000))
		if s := big.Stats(); s.Bytes > 80_000 {
			t.Fatalf("%d bytes are held", s.Bytes)
		}
	}
	if s := big.Stats(); s.Entries < 5 || s.Misses != 100 {
		t.Errorf("stats %+v", s)
	}
	if cache.New(cache.Options{TTL: time.Minute}) != nil || cache.New(cache.Options{Entries: 1}) != nil {
		t.Error("a cache that keeps nothing is made")
	}
	var none *cache.Cache
	if got := run(none, query(`{}`), "run"); got != "run" {
		t.Errorf("no cache answers %q", got)
	}
	none.Write("/ws", []tool.Touch{tool.Everything}).End()
}

func TestAnswersAreTheirOwn(t *testing.T) {
	t.Parallel()
	k := cache.New(cache.Options{Entries: 3, TTL: time.Minute})
	details := map[string]int{"n": 1}
	given := tool.Result{
		Content: []llm.Part{llm.Text("x"), {Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png", Name: "a.png", Data: []byte("png")}}},
		Details: details, Effects: []tool.Effect{{Kind: tool.FileSeen, Key: "a", Value: "1"}},
	}
	_, read, _ := k.Begin(query(`{}`))
	read.Keep(given, nil)
	change := func(r tool.Result) {
		r.Content[0].Text, r.Content[1].Media.Name, r.Effects[0].Value = "changed", "changed", "changed"
	}
	change(given)
	details["n"] = 2
	for range 2 {
		got, _, hit := k.Begin(query(`{}`))
		d, err := json.Marshal(got.Details)
		if err != nil || !hit || got.Content[0].Text != "x" || got.Content[1].Media.Name != "a.png" || string(d) != `{"n":1}` || got.Effects[0].Value != "1" {
			t.Fatalf("answered %+v %s, %v", got, d, err)
		}
		change(got)
	}
}

func TestAStampThatChangesOrCantBeTold(t *testing.T) {
	t.Parallel()
	k := cache.New(cache.Options{Entries: 3, TTL: time.Minute})
	stamp, ok := "1", true
	var asked []time.Time
	q := query(`{}`)
	q.Stamp = func(at time.Time) (string, bool) {
		asked = append(asked, at)
		return stamp, ok
	}
	run(k, q, "one")
	if got := run(k, q, "two"); got != "one" || len(asked) != 2 || !asked[0].Equal(asked[1]) {
		t.Errorf("answered %q, asked at %v", got, asked)
	}
	stamp = "2"
	if got := run(k, q, "two"); got != "two" {
		t.Errorf("after a change: %q", got)
	}
	ok = false
	if got := run(k, q, "three"); got != "three" {
		t.Errorf("without a stamp: %q", got)
	}
	if _, read, hit := k.Begin(q); read != nil || hit {
		t.Error("a call without a stamp is going to be kept")
	}
	// Each of the five questions was a hit or a miss.
	if c := k.Stats(); c.Hits != 1 || c.Misses != 4 {
		t.Errorf("counted %d hits and %d misses", c.Hits, c.Misses)
	}
}

// world is what calls read and write, with a cache before it.
type world struct {
	k      *cache.Cache
	values map[string]int // by touch name
	reads  []open
	writes []changing
	next   int
}

type open struct {
	q    cache.Query
	read *cache.Read
	text string // what it saw, at some moment while it ran; empty before
}

type changing struct {
	w     *cache.Write
	names []string
}

// value is what reading name finds: all that is below or above it.
func (wd *world) value(name string) string {
	var b strings.Builder
	for _, n := range slices.Sorted(maps.Keys(wd.values)) {
		if tool.Covers(name, n) || tool.Covers(n, name) {
			fmt.Fprintf(&b, "%s=%d ", n, wd.values[n])
		}
	}
	return b.String() + "."
}

// A cache in front of calls that read and write in any order, side by side,
// never answers other than running the call would at that moment.
func TestNeverAnswersOtherThanRunning(t *testing.T) {
	t.Parallel()
	names := []string{"file:", "file:a", "file:a/b", "file:a/c", "file:b", "db:x", "db:x/t", "db:y"}
	rapid.Check(t, func(t *rapid.T) {
		wd := &world{k: cache.New(cache.Options{Entries: 4, TTL: time.Hour}), values: map[string]int{}}
		name := rapid.SampledFrom(names)
		t.Repeat(map[string]func(*rapid.T){
			"begin to read": func(t *rapid.T) {
				n := name.Draw(t, "name")
				q := query(fmt.Sprintf(`{"n":%q}`, n), r(n))
				result, read, hit := wd.k.Begin(q)
				if hit {
					if got, want := result.Content[0].Text, wd.value(n); got != want {
						t.Fatalf("%s is answered with %s and holds %s", n, got, want)
					}
					return
				}
				wd.reads = append(wd.reads, open{q: q, read: read})
			},
			"see": func(t *rapid.T) {
				if len(wd.reads) > 0 {
					o := &wd.reads[rapid.IntRange(0, len(wd.reads)-1).Draw(t, "read")]
					o.text = wd.value(o.q.Touches[0].Name)
				}
			},
			"end a read": func(t *rapid.T) {
				if len(wd.reads) == 0 {
					return
				}
				i := rapid.IntRange(0, len(wd.reads)-1).Draw(t, "read")
				o := wd.reads[i]
				if o.text != "" {
					o.read.Keep(tool.TextResult(o.text), o.q.Touches)
				}
				o.read.End()
				wd.reads = slices.Delete(wd.reads, i, i+1)
			},
			"begin to write": func(t *rapid.T) {
				ns := rapid.SliceOfN(name, 1, 2).Draw(t, "names")
				c := changing{names: ns}
				var said []tool.Touch
				for _, n := range ns {
					said = append(said, w(n))
				}
				c.w = wd.k.Write("/ws", said)
				wd.writes = append(wd.writes, c)
			},
			"change": func(t *rapid.T) {
				if len(wd.writes) > 0 {
					c := wd.writes[rapid.IntRange(0, len(wd.writes)-1).Draw(t, "write")]
					wd.next++
					wd.values[rapid.SampledFrom(c.names).Draw(t, "name")] = wd.next
				}
			},
			"end a write": func(t *rapid.T) {
				if len(wd.writes) > 0 {
					i := rapid.IntRange(0, len(wd.writes)-1).Draw(t, "write")
					wd.writes[i].w.End()
					wd.writes = slices.Delete(wd.writes, i, i+1)
				}
			},
			"find out at the end what was written": func(t *rapid.T) {
				n := name.Draw(t, "name")
				c := wd.k.Write("/ws", nil)
				wd.next++
				wd.values[n] = wd.next
				c.End(w(n))
			},
		})
	})
}
