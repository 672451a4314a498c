package config

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// writeFile replaces a file in one step, so that whoever reads it sees the
// old content or the new one. Its mode stays as it is; a new file is for its
// owner alone, and so are the folders that are made for it. A link is
// followed: what it leads to is replaced, not the link.
func writeFile(file string, data []byte) (err error) {
	mode := fs.FileMode(0o600)
	if target, e := filepath.EvalSymlinks(file); e == nil {
		file = target
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		mode = info.Mode().Perm()
	} else if !errors.Is(e, fs.ErrNotExist) {
		return e
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreClosed(tmp.Close()), os.Remove(tmp.Name()))
		}
	}()
	if err := tmp.Chmod(mode); err != nil {
		return err
	}
	if _, err := tmp.Write(data); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// lastGoodFile is where the last content stands that worked.
func lastGoodFile(home string) string {
	return filepath.Join(home, "state", "config.last-good.yaml")
}

// KeepLastGood keeps the content of the file that this configuration was read
// from, for [LoadOrLastGood]; nothing, when there was no file. Call it when the
// program works with it. A configuration that is itself the last good one is
// not kept again.
func (c *Config) KeepLastGood() error {
	if c.Notice != "" {
		return nil
	}
	file := lastGoodFile(c.Home)
	old, _, err := readFile(file)
	if err == nil && old != nil && bytes.Equal(old, c.raw) {
		return nil
	}
	if err := writeFile(file, c.raw); err != nil {
		return fmt.Errorf("keep last good configuration: %w", err)
	}
	return nil
}

// LoadLastGood reads what [Config.KeepLastGood] kept. The error wraps
// [fs.ErrNotExist] when nothing was.
func LoadLastGood(o Options) (*Config, error) {
	last := o
	last.File = lastGoodFile(o.Home)
	if _, err := os.Stat(last.File); err != nil {
		return nil, fmt.Errorf("read last good configuration: %w", err)
	}
	return Load(last)
}

// LoadOrLastGood is [Load], and when that fails the last good configuration
// with a Notice that says so and why. It is for what has to keep running, and
// for what needs only the database; a command that runs something calls Load
// and shows the error. When there is no last good one the error is that of Load.
func LoadOrLastGood(o Options) (*Config, error) {
	c, err := Load(o)
	if err == nil {
		return c, nil
	}
	last, lastErr := LoadLastGood(o)
	if lastErr != nil {
		return nil, err
	}
	if data, _, err := readFile(o.file()); err == nil {
		last.digest = digest(data) // what can't be used is what changes from now on
	}
	last.Notice = fmt.Sprintf("%s can't be used, the last good configuration (%s) is: %v", o.file(), last.File, err)
	return last, nil
}

// Digest names the content of the file when the configuration was read, also
// where the last good one took its place. Whoever runs for long tells it to
// others, who ask [Changed].
func (c *Config) Digest() string { return c.digest }

func digest(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// Changed reports whether the file is another one than when a configuration
// with this digest was read. The error says why it can't be used now.
func Changed(o Options, was string) (bool, error) {
	data, _, err := readFile(o.file())
	if err != nil {
		return true, fmt.Errorf("read configuration: %w", err)
	}
	if digest(data) == was {
		return false, nil
	}
	_, err = Parse(o, data)
	return true, err
}
