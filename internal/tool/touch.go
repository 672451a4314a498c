package tool

import "strings"

// Touch is a thing that a call reads or writes, by name: "file:a/b", "file:"
// for the whole workspace, "db:sales", "net:host". The empty name is
// everything.
type Touch struct {
	Name  string `json:"name"`
	Write bool   `json:"write,omitempty"`
}

// Everything is what a call touches that can't say what it touches.
var Everything = Touch{Write: true}

// Conflicts reports whether the order of two calls matters that make these
// touches: one of them writes, and one name covers the other.
func (t Touch) Conflicts(u Touch) bool {
	return (t.Write || u.Write) && (Covers(t.Name, u.Name) || Covers(u.Name, t.Name))
}

// Covers reports whether the touch name a is a prefix of b by whole segments:
// "file:a" covers "file:a" and "file:a/b", not "file:ab". Segments end at a
// slash or a colon.
func Covers(a, b string) bool {
	rest, ok := strings.CutPrefix(b, a)
	if !ok || a == "" || rest == "" {
		return ok
	}
	return isBreak(a[len(a)-1]) || isBreak(rest[0])
}

func isBreak(c byte) bool { return c == '/' || c == ':' }

// Conflict reports whether any touch of a call conflicts with one of another.
func Conflict(a, b []Touch) bool {
	for _, t := range a {
		for _, u := range b {
			if t.Conflicts(u) {
				return true
			}
		}
	}
	return false
}
