package workspace

import (
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Limits of names in bytes, as file systems have them.
const (
	maxName = 255
	maxPath = 4096
)

const insideOnly = "Give a path relative to the workspace; list a folder to see what is there."

// Clean gives the one spelling by which name is known: relative to the
// workspace, with slashes, "." for the workspace itself. It looks at the
// spelling only, not at the disk; "..", "//" and "." are taken out the way
// people read them. Nothing is decoded or expanded: "%2e%2e", "~" and "file:"
// are ordinary letters.
//
// It refuses what no workspace can hold: an empty name, a NUL, a name that is
// too long, a path that leads outside.
func (w *Workspace) Clean(name string) (string, error) {
	switch {
	case name == "":
		return "", refuse("empty", insideOnly, "The path is empty.")
	case strings.ContainsRune(name, 0):
		return "", refuse("nul", insideOnly, "The path contains a NUL byte.")
	case len(name) > maxPath:
		return "", refuse("too_long", insideOnly, "The path has %d bytes, at most %d are possible.", len(name), maxPath)
	}
	slashed := filepath.ToSlash(name)
	if path.IsAbs(slashed) || filepath.IsAbs(name) || filepath.VolumeName(name) != "" {
		rel, ok := w.within(path.Clean(slashed))
		if !ok {
			return "", refuse("outside", insideOnly, "%s is outside the workspace.", quote(name))
		}
		slashed = rel
	}
	clean := path.Clean(slashed)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", refuse("escape", insideOnly, "%s leads out of the workspace.", quote(name))
	}
	for seg := range strings.SplitSeq(clean, "/") {
		if len(seg) > maxName {
			return "", refuse("too_long", "Choose a shorter name.",
				"A part of the path has %d bytes, at most %d are possible.", len(seg), maxName)
		}
	}
	return clean, nil
}

// within makes an absolute path relative to the workspace, if it lies there.
// The rest is not cleaned.
func (w *Workspace) within(abs string) (string, bool) {
	for _, base := range w.bases {
		if abs == base {
			return ".", true
		}
		if rest, ok := strings.CutPrefix(abs, strings.TrimSuffix(base, "/")+"/"); ok {
			return "./" + rest, true
		}
	}
	return "", false
}

// quote shows a name in a message, on one line and cut when it is very long.
// Bytes that are no text stay, for whoever shows the message to spell out.
func quote(name string) string {
	const most = 200
	if len(name) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(name[cut]) {
			cut--
		}
		name = name[:cut] + "…"
	}
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range name {
		switch {
		case r < ' ' || r == 0x7f:
			b.WriteRune(utf8.RuneError)
		case r == utf8.RuneError:
			_, n := utf8.DecodeRuneInString(name[i:])
			b.WriteString(name[i : i+n])
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
