package prompt

import (
	"bytes"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

//go:embed seed/*.md
var seeds embed.FS

// Seed is how a workspace gets its bootstrap files.
type Seed uint8

const (
	// SeedMissing writes the files that are not there.
	SeedMissing Seed = iota
	// SeedRefresh also writes AGENTS.md and TOOLS.md again when their bytes
	// differ from the defaults. It is for the default agent's own workspace at
	// the start of a gateway, where edits to those two are documented not to
	// last.
	SeedRefresh
)

// seeded lists the bootstrap files and whether SeedRefresh writes them again.
var seeded = []struct {
	name    string
	refresh bool
}{{"SOUL.md", false}, {"AGENTS.md", true}, {"TOOLS.md", true}, {"Memory.md", false}}

// SeedWorkspace makes dir, if need be, for its owner alone, and writes its
// bootstrap files. A link that stands where a bootstrap file belongs is left
// alone.
func SeedWorkspace(dir string, how Seed) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("seed the workspace: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("seed the workspace: %w", err)
	}
	defer root.Close()
	for _, s := range seeded {
		want, err := seeds.ReadFile("seed/" + s.name)
		if err != nil {
			return fmt.Errorf("seed the workspace: %w", err)
		}
		info, err := root.Lstat(s.name)
		there := err == nil
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("seed the workspace: %w", err)
		case how != SeedRefresh || !s.refresh || !info.Mode().IsRegular():
			continue
		default:
			if have, err := root.ReadFile(s.name); err == nil && bytes.Equal(have, want) {
				continue
			}
		}
		if err := writeFile(root, s.name, want, there); err != nil {
			return fmt.Errorf("seed the workspace: %w", err)
		}
	}
	return nil
}

// writeFile writes name in one step, so that a crash, and a process that does
// the same at this moment, finds the old file or the new one. Without replace a
// file that is there by then stays.
func writeFile(root *os.Root, name string, data []byte, replace bool) error {
	tmp := "." + name + "." + rand.Text() + ".seed"
	if err := root.WriteFile(tmp, data, 0o644); err != nil {
		return errors.Join(err, gone(root.Remove(tmp)))
	}
	if replace {
		if err := root.Rename(tmp, name); err != nil {
			return errors.Join(err, root.Remove(tmp))
		}
		return nil
	}
	err := root.Link(tmp, name)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		// Not every file system has links; then only the step is lost.
		err = create(root, name, data)
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return errors.Join(err, root.Remove(tmp))
}

// create writes a file that must not be there yet.
func create(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// gone is err, unless it says that there was nothing to remove.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
