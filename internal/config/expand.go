package config

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// SecretName gives the name in a reference secret:NAME, and whether s is one.
// References are kept as they are written; whoever needs the secret looks it
// up by this name.
func SecretName(s string) (string, bool) {
	name, ok := strings.CutPrefix(s, "secret:")
	return name, ok && name != ""
}

// text gives the value of a scalar with ${NAME} replaced from the environment
// and $$ by $, and the tag of the result. A variable that is not set is
// replaced by nothing, with a warning.
func (d *decoder) text(n *yaml.Node) (text, tag string) {
	tag = n.ShortTag()
	if tag != "!!str" || !strings.Contains(n.Value, "$") || d.env[n] != "" {
		return n.Value, tag
	}
	text, unset := expand(n.Value, d.environ.Lookup)
	for _, name := range unset {
		d.warn(n, "the environment variable %s is not set, so that it stands for nothing", name)
	}
	if n.Style == 0 && text != n.Value {
		tag = plainTag(text) // a plain ${PORT} may mean a number or a boolean
	}
	return text, tag
}

// plainTag is the tag that a text has where it stands without quotes.
func plainTag(text string) string {
	if tag := (&yaml.Node{Kind: yaml.ScalarNode, Value: text}).ShortTag(); tag != "!!null" {
		return tag
	}
	return "!!str"
}

// expand replaces ${NAME} and $$. A $ that begins neither stays.
func expand(s string, lookup func(string) (string, bool)) (out string, unset []string) {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, "$")
		b.WriteString(before)
		if !ok {
			return b.String(), unset
		}
		if strings.HasPrefix(after, "$") {
			b.WriteByte('$')
			s = after[1:]
			continue
		}
		name, rest, ok := strings.Cut(after, "}")
		if !ok || !strings.HasPrefix(name, "{") || !isVarName(name[1:]) {
			b.WriteByte('$')
			s = after
			continue
		}
		value, set := lookup(name[1:])
		if !set {
			unset = append(unset, name[1:])
		}
		b.WriteString(value)
		s = rest
	}
}

func isVarName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

// holdsReference reports whether the text as written refers to something that
// stands elsewhere: a variable or a secret.
func holdsReference(s string) bool {
	if _, ok := SecretName(s); ok {
		return true
	}
	found := false
	expand(s, func(string) (string, bool) {
		found = true
		return "", true
	})
	return found
}

// isLiteralSecret reports whether the text as written of a key that is a
// secret would give it away: it is neither empty nor a reference, nor the path
// of a database file.
func isLiteralSecret(s string) bool {
	return s != "" && !holdsReference(s) && !strings.HasPrefix(s, "/") && !strings.HasPrefix(s, ".")
}

// isReference reports whether the text as written is nothing but a reference,
// so that showing it gives nothing away.
func isReference(s string) bool {
	if _, ok := SecretName(s); ok {
		return true
	}
	name, ok := strings.CutPrefix(s, "${")
	return ok && strings.HasSuffix(name, "}") && isVarName(name[:len(name)-1])
}
