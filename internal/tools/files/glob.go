package files

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// glob matches paths. A pattern without a slash is matched with the last
// element, one with a slash with the path. * and ? stay within an element, **
// goes across; [a-z], [!a-z] and {a,b} are known. A zero glob matches all.
type glob struct {
	re   *regexp.Regexp
	path bool
}

func newGlob(pattern string) (glob, error) {
	if pattern == "" {
		return glob{}, nil
	}
	const most = 500
	if len(pattern) > most {
		return glob{}, fmt.Errorf("the glob has more than %d characters", most)
	}
	pattern = strings.TrimPrefix(pattern, "./")
	expr, err := globExpr(pattern)
	if err != nil {
		return glob{}, fmt.Errorf("the glob %q is not usable: %w", pattern, err)
	}
	re, err := regexp.Compile(`\A(?s:` + expr + `)\z`)
	if err != nil {
		return glob{}, fmt.Errorf("the glob %q is not usable: %w", pattern, err)
	}
	return glob{re: re, path: strings.Contains(pattern, "/")}, nil
}

// all reports whether everything matches.
func (g glob) all() bool { return g.re == nil }

// match reports whether the path matches; base is the folder that was asked
// for, since the pattern may be relative to it.
func (g glob) match(base, path string) bool {
	switch {
	case g.re == nil:
		return true
	case !g.path:
		return g.re.MatchString(path[strings.LastIndexByte(path, '/')+1:])
	case g.re.MatchString(path):
		return true
	}
	rel, ok := strings.CutPrefix(path, base+"/")
	return ok && g.re.MatchString(rel)
}

// globExpr translates a pattern into the syntax of regexp.
func globExpr(pattern string) (string, error) {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(pattern); {
		rest := pattern[i:]
		switch c := rest[0]; {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString(`(?:[^/]*/)*`)
			i += 3
			continue
		case strings.HasPrefix(rest, "**"):
			b.WriteString(`.*`)
			i += 2
			continue
		case c == '*':
			b.WriteString(`[^/]*`)
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '[':
			end := strings.IndexByte(rest[1:], ']')
			if end <= 0 {
				return "", fmt.Errorf("[ has no ]")
			}
			class := rest[1 : end+1]
			b.WriteByte('[')
			if class[0] == '!' || class[0] == '^' {
				b.WriteByte('^')
				class = class[1:]
			}
			b.WriteString(strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`).Replace(class))
			b.WriteByte(']')
			i += end + 2
			continue
		case c == '{':
			depth++
			b.WriteString(`(?:`)
		case c == '}' && depth > 0:
			depth--
			b.WriteByte(')')
		case c == ',' && depth > 0:
			b.WriteByte('|')
		default:
			_, n := utf8.DecodeRuneInString(rest)
			b.WriteString(regexp.QuoteMeta(rest[:n]))
			i += n
			continue
		}
		i++
	}
	if depth > 0 {
		return "", fmt.Errorf("{ has no }")
	}
	return b.String(), nil
}
