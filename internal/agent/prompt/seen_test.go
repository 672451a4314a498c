package prompt_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/agent/prompt"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/tool"
)

// counted counts how often files are opened.
type counted struct {
	fs.FS
	opened map[string]int
}

func (c counted) Open(name string) (fs.File, error) {
	c.opened[name]++
	return c.FS.Open(name)
}

// Stat keeps fs.Stat from opening the file.
func (c counted) Stat(name string) (fs.FileInfo, error) { return fs.Stat(c.FS, name) }

// TestFilesAreReadAgainWhenTheyChange changes a file in every way that leaves
// its size as it is.
func TestFilesAreReadAgainWhenTheyChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "SOUL.md")
	hour := time.Now().Add(-time.Hour)
	write := func(name, text string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	ws := counted{os.DirFS(dir), map[string]int{}}
	p := prompt.New(prompt.Options{Files: from(ws), Snapshots: kept{}})
	read := func(step, want string, opened int) {
		t.Helper()
		before := ws.opened["SOUL.md"]
		s, err := p.Sections(t.Context(), scope("s", auth.User), tool.Surface{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if s[0].Name == "soul" {
			got = s[0].Text
		}
		if n := ws.opened["SOUL.md"] - before; got != want || n != opened {
			t.Errorf("%s: %q, opened %d times; want %q, %d times", step, got, n, want, opened)
		}
	}
	write(name, "one", hour)
	read("first", "one", 1)
	read("unchanged", "one", 0)
	write(name, "two", hour.Add(time.Second))
	read("written in place", "two", 1)
	read("unchanged", "two", 0)
	write(filepath.Join(dir, "new"), "six", hour.Add(time.Second))
	if err := os.Rename(filepath.Join(dir, "new"), name); err != nil {
		t.Fatal(err)
	}
	read("replaced by one of the same time", "six", 1)
	write(name, "ten", time.Now())
	read("changed just now", "ten", 1)
	read("changed just now, so its time can't be trusted", "ten", 1)
	write(name, "won", time.Now().Add(time.Hour))
	read("from the future", "won", 1)
	read("from the future still", "won", 1)
	write(name, "now", hour)
	read("old again", "now", 1)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	read("removed", "", 0)
	write(name, "new", hour)
	read("made anew", "new", 1)
}

// TestSessionsShareTheFiles builds prompts of several sessions at once while a
// file changes: each sees one of its states whole.
func TestSessionsShareTheFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "SOUL.md")
	states := map[string]bool{}
	put := func(n int) {
		text := strings.Repeat(string(rune('a'+n)), 100)
		states[text] = true
		at := time.Now().Add(-time.Hour + time.Duration(n)*time.Second)
		if err := os.WriteFile(name+".new", []byte(text), 0o600); err != nil {
			t.Error(err)
		}
		if err := os.Chtimes(name+".new", at, at); err != nil {
			t.Error(err)
		}
		if err := os.Rename(name+".new", name); err != nil {
			t.Error(err)
		}
	}
	put(0)
	p := prompt.New(prompt.Options{Files: from(os.DirFS(dir)), Snapshots: same{}})
	var wg sync.WaitGroup
	seen := make([][]string, 4)
	for i := range seen {
		wg.Go(func() {
			for range 20 {
				s, err := p.Sections(t.Context(), scope("s", auth.User), tool.Surface{})
				if err != nil {
					t.Error(err)
					return
				}
				seen[i] = append(seen[i], s[0].Text)
			}
		})
	}
	for n := range 10 {
		put(n)
	}
	wg.Wait()
	for _, texts := range seen {
		for _, text := range texts {
			if !states[text] {
				t.Errorf("read %q", text)
			}
		}
	}
}

// same is a Snapshots that keeps nothing.
type same struct{}

func (same) Snapshot(context.Context, string, string, string, func() (string, error)) (string, error) {
	return "", nil
}
