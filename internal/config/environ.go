package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Environ is a set of environment variables. The zero value has none.
type Environ struct {
	vars []string // NAME=value, the last one of a name counts
}

// FromEnviron takes the variables of the process. It is the only place of the
// program that reads them.
func FromEnviron() Environ { return Environ{os.Environ()} }

// EnvironOf is a set of variables written as NAME=value.
func EnvironOf(vars ...string) Environ { return Environ{vars} }

// Lookup gives the value of a variable and whether it is set at all.
func (e Environ) Lookup(name string) (string, bool) {
	for i := len(e.vars) - 1; i >= 0; i-- {
		if v := e.vars[i]; len(v) > len(name) && v[len(name)] == '=' && v[:len(name)] == name {
			return v[len(name)+1:], true
		}
	}
	return "", false
}

// Get gives the value of a variable, "" when it is not set.
func (e Environ) Get(name string) string {
	v, _ := e.Lookup(name)
	return v
}

const (
	homeVar  = "GOCLAW_HOME"
	tokenVar = "GOCLAW_TOKEN"
)

// MinTokenChars is how long GOCLAW_TOKEN has to be at least.
const MinTokenChars = 24

// AdminToken is the value of GOCLAW_TOKEN, which a gateway accepts as an
// admin's API token; "" when it is not set. A short one is an error, because
// it could be guessed.
func (e Environ) AdminToken() (string, error) {
	token := e.Get(tokenVar)
	if n := utf8.RuneCountInString(token); token != "" && n < MinTokenChars {
		return "", fmt.Errorf("read %s: it has %d characters and needs at least %d", tokenVar, n, MinTokenChars)
	}
	return token, nil
}

// HomeDir is the absolute path of the home folder: flag when it is not empty,
// else GOCLAW_HOME, else ~/.goclaw. A leading ~ is expanded. Nothing is
// created.
func HomeDir(flag string, env Environ) (string, error) {
	dir := flag
	if dir == "" {
		dir = env.Get(homeVar)
	}
	if dir == "" {
		dir = filepath.Join("~", ".goclaw")
	}
	dir, err := expandTilde(dir, env)
	if err != nil {
		return "", fmt.Errorf("find home folder: %w", err)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find home folder: %w", err)
	}
	return dir, nil
}

var errNoUserHome = errors.New("~ is not known because HOME is not set; set GOCLAW_HOME to a folder")

// expandTilde replaces a leading ~ with the user's own folder.
func expandTilde(p string, env Environ) (string, error) {
	if p != "~" && !strings.HasPrefix(p, "~/") && !strings.HasPrefix(p, `~\`) {
		return p, nil
	}
	home := env.Get("HOME")
	if home == "" {
		home = env.Get("USERPROFILE")
	}
	if home == "" {
		return "", errNoUserHome
	}
	return filepath.Join(home, p[1:]), nil
}
