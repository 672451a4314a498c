package prompt

import (
	"bytes"
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
		if err := writeFile(root, s.name, want); err != nil {
			return fmt.Errorf("seed the workspace: %w", err)
		}
	}
	return nil
}

// writeFile replaces name in one step, so that a crash leaves the old file or
// the new one.
func writeFile(root *os.Root, name string, data []byte) error {
	tmp := "." + name + ".seed"
	if err := root.WriteFile(tmp, data, 0o644); err != nil {
		return err
	}
	if err := root.Rename(tmp, name); err != nil {
		return errors.Join(err, root.Remove(tmp))
	}
	return nil
}
