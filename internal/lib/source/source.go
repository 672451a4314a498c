// Package source remembers where a value was written.
//
// A value that a person wrote (in a configuration file, in the environment, in
// the head of a Markdown file) travels with its [Pos], so that whoever acts on
// the value can say which key, file and line decided, without knowing how
// configuration is read. The package also splits Markdown files with YAML
// frontmatter, keeping the line numbers that such a Pos needs.
//
// Everything here is plain data: values may be copied, compared and shared
// between goroutines. Start reading at [Pos] and [Text].
package source

import (
	"path/filepath"
	"strconv"
)

// Pos says where a value was written. The zero Pos means that nothing is known.
// Either Env or File is set, or neither when the value is a built-in default.
type Pos struct {
	// Key is the dotted path as people are shown it. Entries of a list are
	// named by their id where they have one, else by their index:
	// agents.list[writer].tools.deny, cron[0].message.
	Key string `json:"key,omitempty"`
	// File is the path of the file.
	File string `json:"file,omitempty"`
	// Line and Column count from 1, columns in characters; 0 is unknown.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Env is the name of the environment variable that set the value.
	Env string `json:"env,omitempty"`
}

// IsZero reports whether nothing is known about the place.
func (p Pos) IsZero() bool { return p == Pos{} }

// IsDefault reports whether the value was written nowhere.
func (p Pos) IsDefault() bool { return p.File == "" && p.Env == "" }

// String gives the key and, in parentheses, the place:
//
//	agents.list[writer].tools.deny (config.yaml:41)
//	gateway.listen (environment GOCLAW_GATEWAY_LISTEN)
//	tools.profile (default)
//
// Only the base name of the file is shown. Without a key it is the place
// alone, and a zero Pos is "unknown".
func (p Pos) String() string {
	if p.Key == "" {
		if p.IsDefault() {
			return "unknown"
		}
		return p.Place()
	}
	return p.Key + " (" + p.Place() + ")"
}

// Place is the part of [Pos.String] in parentheses: config.yaml:41,
// environment GOCLAW_X, or default.
func (p Pos) Place() string {
	switch {
	case p.Env != "":
		return "environment " + p.Env
	case p.File == "":
		return "default"
	case p.Line <= 0:
		return filepath.Base(p.File)
	default:
		return filepath.Base(p.File) + ":" + strconv.Itoa(p.Line)
	}
}

// Text is a string that remembers where it was written. It is marshalled to
// and from JSON and YAML as a plain string; reading one back leaves its Pos
// untouched.
type Text struct {
	Value string
	Pos   Pos
}

// String is the text alone.
func (t Text) String() string { return t.Value }

// IsZero reports whether there is neither text nor place.
func (t Text) IsZero() bool { return t == Text{} }

// MarshalText makes Text a plain string in JSON and YAML.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.Value), nil }

// UnmarshalText reads a plain string.
func (t *Text) UnmarshalText(b []byte) error {
	t.Value = string(b)
	return nil
}

// Values are the strings of a list, without their places. A nil list stays
// nil, because an absent list and an empty one can differ in meaning.
func Values(list []Text) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = t.Value
	}
	return out
}
