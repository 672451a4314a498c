package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/cache"
	"github.com/goclaw/goclaw/internal/tool"
)

func newCache() *cache.Cache { return cache.New(cache.Options{Entries: 1000, TTL: time.Hour}) }

func caching(c *cache.Cache) option { return func(o *engine.Options) { o.Cache = c } }

// remembering makes a cacheable tool that reads the thing which path names.
func remembering(name string, f func(context.Context, tool.Call, path) (string, error)) tool.Tool {
	t := tool.New(tool.Definition{Name: name, Traits: tool.Traits{ReadOnly: true, Cacheable: true}}, f)
	return tool.WithTouches(t, func(_ tool.Call, in path) []tool.Touch { return []tool.Touch{{Name: "thing:" + in.Path}} })
}

// one runs a call in the agent's session.
func (b *bench) one(name, args string) tool.Outcome {
	b.t.Helper()
	o := b.run(b.t.Context(), call(name, args))[0]
	b.state = b.state.Apply(o.Effects...)
	return o
}

// put writes a file from outside, with the time that the one before had.
func put(t testing.TB, name, content string, at time.Time) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestReadsOfFilesAreCachedAndNeverStale(t *testing.T) {
	t.Parallel()
	shared := newCache()
	ann, bob := shipped(t, caching(shared)), shipped(t, caching(shared))
	bob.scope.Agent, bob.scope.Workspace = "other", ann.scope.Workspace
	file := filepath.Join(ann.scope.Workspace, "a.txt")
	old := time.Now().Add(-time.Hour)
	put(t, file, "alpha", old)

	reads := []struct{ tool, args string }{
		{"file_read", `{"path":"a.txt"}`}, {"file_search", `{"query":"alp"}`}, {"file_list", `{}`}, {"file_search", `{"query":"alp","path":"a.txt"}`},
	}
	// look asks everything and tells which of it was cached.
	look := func(b *bench) (cached string, said string) {
		t.Helper()
		var c, s strings.Builder
		for _, r := range reads {
			o := b.one(r.tool, r.args)
			if o.Status != tool.OK && o.Status != tool.Failed {
				t.Fatalf("%s: %s", r.tool, text(o))
			}
			fmt.Fprintf(&c, "%v ", o.Cached)
			s.WriteString(text(o))
		}
		return c.String(), s.String()
	}
	const none, all = "false false false false ", "true true true true "
	expect := func(what string, b *bench, cached, said string) {
		t.Helper()
		if c, s := look(b); c != cached || !strings.Contains(s, said) {
			t.Errorf("%s: cached %s, said %s", what, c, s)
		}
	}
	expect("first", ann, none, "alpha")
	expect("again", ann, all, "alpha")
	expect("another agent", bob, none, "alpha")
	expect("another agent again", bob, all, "alpha")
	// What a hit read the session has seen, so that a write knows what it replaces.
	if _, seen := bob.state.Digest("a.txt"); !seen {
		t.Error("a cached read is not noted as seen")
	}
	if o := ann.one("file_write", `{"path":"a.txt","content":"alpin"}`); o.Status != tool.OK {
		t.Fatal(text(o))
	}
	expect("after a write of another agent", bob, none, "alpin")
	expect("after one's own write", ann, none, "alpin")
	expect("just written and read", ann, all, "alpin")

	put(t, file, "alpen", time.Now()) // right behind a read, of the same size
	expect("a change from outside", ann, none, "alpen")
	put(t, file, "alpaa", old)
	expect("a change with an old time", ann, none, "alpaa")
	put(t, file, "alpbb", old)
	expect("a change with the same time", ann, none, "alpbb")
	if err := os.Rename(file, file+".bak"); err != nil {
		t.Fatal(err)
	}
	if c, s := look(ann); strings.Contains(c, "true") || !strings.Contains(s, "a.txt.bak") {
		t.Errorf("after a file went: cached %s, said %s", c, s)
	}
	if o := ann.one("file_read", `{"path":"a.txt"}`); o.Cached || o.Status != tool.Failed {
		t.Errorf("a failure is cached: %+v", o)
	}
}

func TestACachedAnswerIsShownAsItsSessionNeedsIt(t *testing.T) {
	t.Parallel()
	b := shipped(t, caching(newCache()))
	long := strings.Repeat("a line that is not short\n", 2000)
	old := time.Now().Add(-time.Hour)
	put(t, filepath.Join(b.scope.Workspace, "long.txt"), long, old)
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(b.scope.Workspace, "p.png"), picture.String(), old)

	first := b.one("file_read", `{"path":"long.txt"}`)
	b.one("file_read", `{"path":"p.png"}`)
	b.scope.Session, b.state = "t", tool.State{}
	second := b.one("file_read", `{"path":"long.txt"}`)
	if !second.Cached || second.Ref == "" || second.Ref == first.Ref || second.Digest != first.Digest || second.Chars != first.Chars {
		t.Errorf("first ref %q, second %q, cached %v", first.Ref, second.Ref, second.Cached)
	}
	if o := b.one("read_output", fmt.Sprintf(`{"ref":%q,"mode":"stats"}`, second.Ref)); o.Status != tool.OK {
		t.Errorf("the ref of a cached answer: %s", text(o))
	}
	shown := b.one("file_read", `{"path":"p.png"}`)
	if !shown.Cached || len(shown.Content) != 2 || !bytes.Equal(shown.Content[1].Media.Data, picture.Bytes()) {
		t.Errorf("a cached picture: %+v", shown)
	}
	var note string
	for _, s := range shown.Steps {
		if s.Step == "cache" {
			note = s.Note
		}
	}
	if note == "" || shown.Ran() {
		t.Errorf("the hit is not told: %+v", shown.Steps)
	}
}

// What a cached and an uncached engine say of the same files is the same,
// whatever happens to them in between, by tools and from outside.
func TestCachedFilesSayWhatFilesSay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		scripts := func(o *engine.Options) {
			o.Registry.Add(tool.Owner{Kind: tool.FamilyOwner, ID: "test"}, caller("script", tool.Traits{Waits: true, ReadOnly: true}))
		}
		cached, plain := shipped(t, caching(newCache()), scripts), shipped(t, scripts)
		plain.scope.Workspace = cached.scope.Workspace
		dir := cached.scope.Workspace
		names := rapid.SampledFrom([]string{"a.txt", "b.txt", "d/a.txt", "d/e/c.txt"})
		words := rapid.SampledFrom([]string{"one", "two", "six", "seven"})
		ages := rapid.SampledFrom([]time.Duration{0, time.Hour, time.Hour + time.Nanosecond})
		if err := os.Symlink("d", filepath.Join(dir, "folder")); err != nil && !errors.Is(err, os.ErrExist) {
			rt.Fatal(err)
		}
		base := time.Now()
		rt.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				b := rapid.SampledFrom([]*bench{cached, cached, plain}).Draw(t, "by")
				b.one("file_write", fmt.Sprintf(`{"path":%q,"content":%q}`, names.Draw(t, "file"), words.Draw(t, "word")))
			},
			"move": func(t *rapid.T) {
				cached.one("file_move", fmt.Sprintf(`{"from":%q,"to":%q}`, names.Draw(t, "from"), names.Draw(t, "to")))
			},
			"edit": func(t *rapid.T) {
				cached.one("file_edit", fmt.Sprintf(`{"path":%q,"old":"e","new":"o","all":true}`, names.Draw(t, "file")))
			},
			"patch": func(t *rapid.T) {
				cached.one("apply_patch", fmt.Sprintf(`{"patch":"*** Begin Patch\n*** Add File: %s\n+%s\n*** End Patch\n"}`, names.Draw(t, "file"), words.Draw(t, "word")))
			},
			"replace": func(t *rapid.T) { // as editors do, with size and times of the file before
				name := filepath.Join(dir, names.Draw(t, "file"))
				if info, err := os.Stat(name); err == nil && info.Size() > 0 {
					put(cached.t, name+".new", strings.Repeat(rapid.SampledFrom([]string{"s", "e", "o"}).Draw(t, "letter"), int(info.Size())), info.ModTime())
					if err := os.Rename(name+".new", name); err != nil {
						t.Fatal(err)
					}
				}
			},
			"script": func(t *rapid.T) {
				cached.one("script", fmt.Sprintf(`{"calls":[{"tool":"file_read","args":{"path":"a.txt"}},{"tool":"file_write","args":{"path":%q,"content":%q}},{"tool":"file_list"}]}`,
					names.Draw(t, "file"), words.Draw(t, "word")))
			},
			"plan": func(t *rapid.T) {
				cached.state.Plan = rapid.Bool().Draw(t, "plan mode")
				plain.state.Plan = cached.state.Plan
			},
			"delete": func(t *rapid.T) { cached.one("file_delete", fmt.Sprintf(`{"path":%q}`, names.Draw(t, "file"))) },
			"outside": func(t *rapid.T) {
				name := filepath.Join(dir, names.Draw(t, "file"))
				if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
					t.Fatal(err)
				}
				put(cached.t, name, words.Draw(t, "word"), base.Add(-ages.Draw(t, "age")))
			},
			"link": func(t *rapid.T) {
				link := filepath.Join(dir, "link")
				if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
				if err := os.Symlink(names.Draw(t, "to"), link); err != nil {
					t.Fatal(err)
				}
			},
			"read": func(t *rapid.T) {
				c := rapid.SampledFrom([][2]string{
					{"file_read", `{"path":"link"}`},
					{"file_read", `{"path":"a.txt"}`},
					{"file_read", `{"path":"d/e/c.txt"}`},
					{"file_list", `{}`},
					{"file_list", `{"path":"d","depth":2}`},
					{"file_list", `{"glob":"**/*.txt"}`},
					{"file_search", `{"query":"s"}`},
					{"file_search", `{"query":"e","path":"d"}`},
					{"file_search", `{"query":"o","path":"link"}`},
					{"file_search", `{"query":"e","glob":"d/**"}`},
					{"file_read", `{"path":"a.txt","from":1,"to":1}`},
					{"file_list", `{"path":"folder"}`},
					{"file_search", `{"query":"o","path":"folder"}`},
					{"script", `{"calls":[{"tool":"file_read","args":{"path":"a.txt"}},{"tool":"file_list"},{"tool":"file_search","args":{"query":"e"}}]}`},
				}).Draw(t, "call")
				got, want := cached.one(c[0], c[1]), plain.one(c[0], c[1])
				if got.Status != want.Status || text(got) != text(want) || string(got.Details) != string(want.Details) {
					t.Fatalf("%s %s (cached %v):\n%s\nwant\n%s", c[0], c[1], got.Cached, text(got), text(want))
				}
			},
		})
	})
}

func TestAWriteThatWasLeftBehindHidesWhatItMayChange(t *testing.T) {
	t.Parallel()
	release, ended := make(chan struct{}), make(chan struct{})
	var value sync.Map
	value.Store("x", "old")
	stubborn := tool.WithTouches(tool.New(tool.Definition{Name: "stubborn", Traits: tool.Traits{Timeout: time.Millisecond}},
		func(context.Context, tool.Call, path) (string, error) {
			defer close(ended)
			<-release // it does not heed its context
			value.Store("x", "new")
			return "done", nil
		}), func(_ tool.Call, in path) []tool.Touch { return []tool.Touch{{Name: "thing:" + in.Path, Write: true}} })
	runs := 0
	b := set(t, []tool.Tool{stubborn, remembering("look", func(_ context.Context, _ tool.Call, in path) (string, error) {
		runs++
		v, _ := value.Load(in.Path)
		return fmt.Sprint(v), nil
	})}, caching(newCache()))
	ask := func() tool.Outcome { return b.one("look", `{"path":"x"}`) }
	ask()
	if o := ask(); !o.Cached || runs != 1 {
		t.Fatalf("an equal call ran %d times", runs)
	}
	if o := b.one("stubborn", `{"path":"x"}`); o.Status != tool.TimedOut {
		t.Fatalf("%s: %s", o.Status, text(o))
	}
	for range 2 {
		if o := ask(); o.Cached || text(o) != "old" {
			t.Fatalf("while the write still runs: cached %v, %s", o.Cached, text(o))
		}
	}
	close(release)
	<-ended
	for o := ask(); text(o) != "new"; o = ask() {
		if o.Cached {
			t.Fatal("what was read while a write was left behind is kept")
		}
	}
}

func TestOnlyWhatSaysSoIsCached(t *testing.T) {
	t.Parallel()
	n := 0
	count := func(context.Context, tool.Call, path) (string, error) { n++; return fmt.Sprint(n), nil }
	made := func(name string, traits tool.Traits) tool.Tool {
		return tool.New(tool.Definition{Name: name, Traits: traits}, count)
	}
	b := set(t, []tool.Tool{
		made("plain", tool.Traits{ReadOnly: true}), made("writes", tool.Traits{Cacheable: true}),
		made("kept", tool.Traits{ReadOnly: true, Cacheable: true}), made("personal", tool.Traits{ReadOnly: true, Cacheable: true, CallerCached: true}),
		tool.New(tool.Definition{Name: "passing", Traits: tool.Traits{ReadOnly: true, Cacheable: true}}, func(context.Context, tool.Call, path) (tool.Result, error) {
			r := tool.TextResult("in part")
			r.Passing = true
			return r, nil
		}),
		tool.New(tool.Definition{Name: "fails", Traits: tool.Traits{ReadOnly: true, Cacheable: true}}, func(context.Context, tool.Call, path) (tool.Result, error) {
			r := tool.TextResult("no")
			r.IsError = true
			return r, nil
		}),
	}, caching(newCache()))
	for name, want := range map[string]bool{"plain": false, "writes": false, "kept": true, "personal": true, "passing": false, "fails": false} {
		b.one(name, `{"path":"x"}`)
		if o := b.one(name, `{"path":"x"}`); o.Cached != want {
			t.Errorf("%s is cached: %v", name, o.Cached)
		}
	}
	b.scope.Caller = user
	// They had been dropped by what "writes" may have written.
	for name, want := range map[string]bool{"kept": true, "personal": false} {
		b.scope.Caller = admin
		b.one(name, `{"path":"y"}`)
		b.scope.Caller = user
		if o := b.one(name, `{"path":"y"}`); o.Cached != want {
			t.Errorf("for somebody else %s is cached: %v", name, o.Cached)
		}
	}
}

// Agents that read and write one workspace side by side see no value that was
// replaced before they asked.
func TestCachedReadsSideBySide(t *testing.T) {
	t.Parallel()
	shared := newCache()
	dir := t.TempDir()
	var mu sync.Mutex
	floor := 0 // the last value whose write has ended
	var wg sync.WaitGroup
	for i := range 4 {
		b := shipped(t, caching(shared))
		b.scope.Agent, b.scope.Workspace = fmt.Sprint("agent", i), dir
		wg.Go(func() {
			for n := range 50 {
				if i == 0 {
					b.one("file_write", fmt.Sprintf(`{"path":"n.txt","content":"%d"}`, 1000+n))
					mu.Lock()
					floor = 1000 + n
					mu.Unlock()
					continue
				}
				mu.Lock()
				least := floor
				mu.Unlock()
				o := b.one("file_read", `{"path":"n.txt"}`)
				var got int
				if o.Status == tool.OK {
					if _, err := fmt.Sscan(text(o), &got); err != nil || got < least {
						t.Errorf("read %q (cached %v) after %d was written", text(o), o.Cached, least)
					}
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkCached(b *testing.B) {
	for _, c := range []struct{ name, args string }{
		{"file_read", `{"path":"d0/f0.txt"}`}, {"file_list", `{"depth":3}`}, {"file_search", `{"query":"nowhere"}`},
	} {
		for _, on := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/cache=%v", c.name, on), func(b *testing.B) {
				e := shipped(b)
				if on {
					e = shipped(b, caching(newCache()))
				}
				for d := range 20 {
					for f := range 50 {
						name := filepath.Join(e.scope.Workspace, fmt.Sprint("d", d), fmt.Sprintf("f%d.txt", f))
						if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
							b.Fatal(err)
						}
						put(b, name, strings.Repeat("some words of a file\n", 200), time.Now().Add(-time.Hour))
					}
				}
				sf := e.offer()
				time.Sleep(2100 * time.Millisecond) // until the files are at rest
				for b.Loop() {
					e.Execute(b.Context(), sf, repeat(1, call(c.name, c.args)), nil)
				}
			})
		}
	}
}
