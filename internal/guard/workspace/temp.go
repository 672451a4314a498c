package workspace

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"time"
)

// tempPrefix begins the names of unfinished writes. They stand in the folder
// of the file that they become, since a rename within a folder is one step.
const tempPrefix = ".goclaw-tmp-"

func newTemp() string { return tempPrefix + strings.ToLower(rand.Text()) }

func isTemp(name string) bool { return strings.HasPrefix(name, tempPrefix) }

const (
	sweepSteps = 2_000            // entries looked at and folders entered, the outermost first
	sweepAge   = 10 * time.Minute // far longer than any write takes
)

// sweep removes, once, what writes left behind when a process died. It runs
// before the first change, takes a bounded number of steps, and gives up
// on whatever it can't read: leftovers are hidden from the tools anyway.
func (w *Workspace) sweep() {
	if w.swept {
		return
	}
	w.swept = true
	oldest := time.Now().Add(-sweepAge)
	left, queue := sweepSteps, []string{"."}
	for len(queue) > 0 && left > 0 {
		dir := queue[0]
		queue = queue[1:]
		entries := w.sweepDir(dir, left, oldest)
		left -= len(entries) + strings.Count(dir, "/") + 1 // each folder is walked to from the workspace
		for _, e := range entries {
			if e.IsDir() && fold(e.Name()) != ".git" {
				queue = append(queue, path.Join(dir, e.Name()))
			}
		}
	}
}

// sweepDir removes the leftovers of one folder and returns its entries.
func (w *Workspace) sweepDir(dir string, limit int, oldest time.Time) []os.DirEntry {
	p, err := w.locate(dir, false)
	if err != nil {
		return nil
	}
	defer p.close()
	if p.into() != nil {
		return nil
	}
	f, err := p.in().root.Open(".")
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, err := f.ReadDir(limit)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	for _, e := range entries {
		if !isTemp(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		if info, err := p.in().root.Lstat(e.Name()); err == nil && info.ModTime().Before(oldest) {
			_ = p.in().root.Remove(e.Name())
		}
	}
	return entries
}
