package term

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// History is what a person has written before, kept in a file: one JSON string
// a line, the oldest first. It holds an entry once, at the place where it was
// written last, and at most [MaxHistory] of them. Several processes may write
// the file at once; each sees what the others wrote when it begins.
//
// A History is used by one goroutine. The zero value remembers nothing beyond
// the process.
type History struct {
	file    string
	entries []string
	lines   int // of the file
}

const (
	// MaxHistory is how many entries are kept.
	MaxHistory = 1000
	// maxEntry is the size of the largest entry that is kept, in bytes.
	maxEntry = 32 << 10
)

// ReadHistory reads a history. A file that isn't there is an empty one; lines
// that can't be read are left out.
func ReadHistory(file string) (*History, error) {
	h := &History{file: file}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return h, fmt.Errorf("read the history: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 8*maxEntry)
	for lines.Scan() {
		h.lines++
		var s string
		if err := json.Unmarshal(lines.Bytes(), &s); err == nil {
			h.add(s)
		}
	}
	return h, nil
}

// Len is the number of entries.
func (h *History) Len() int { return len(h.entries) }

// At is the entry at i; 0 is the oldest.
func (h *History) At(i int) string { return h.entries[i] }

func (h *History) add(s string) {
	if i := slices.Index(h.entries, s); i >= 0 {
		h.entries = slices.Delete(h.entries, i, i+1)
	}
	h.entries = append(h.entries, s)
	if n := len(h.entries) - MaxHistory; n > 0 {
		h.entries = slices.Delete(h.entries, 0, n)
	}
}

// Add remembers an entry, the same one as before only once.
func (h *History) Add(s string) error {
	if s == "" || len(s) > maxEntry || len(h.entries) > 0 && h.entries[len(h.entries)-1] == s {
		return nil
	}
	h.add(s)
	if h.file == "" {
		return nil
	}
	if err := h.append(s); err != nil {
		return fmt.Errorf("keep the history: %w", err)
	}
	if h.lines > 2*MaxHistory {
		if err := h.rewrite(); err != nil {
			return fmt.Errorf("shorten the history: %w", err)
		}
	}
	return nil
}

// append writes one entry. A line this short is written whole or not at all, so
// that processes don't mix theirs.
func (h *History) append(s string) error {
	if err := os.MkdirAll(filepath.Dir(h.file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(h.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(entry(s))
	h.lines++
	return errors.Join(err, f.Close())
}

func entry(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil { // a string always has a form
		return nil
	}
	return append(b, '\n')
}

// rewrite writes what is remembered in place of the file, with what other
// processes have added.
func (h *History) rewrite() error {
	now, err := ReadHistory(h.file)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(h.file), ".chat_history-*") // readable by its owner alone
	if err != nil {
		return err
	}
	for _, s := range now.entries {
		if err == nil {
			_, err = f.Write(entry(s))
		}
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), h.file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	h.lines = len(now.entries)
	return nil
}
