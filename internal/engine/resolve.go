package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/tool"
)

// resolve finds the tool that a model means by the name it wrote, among those
// it may call. What nothing fits is left to the next step, which knows what to
// say.
func resolve(_ context.Context, inv *invocation) bool {
	written := inv.out.Call.Name
	e, several := find(inv.from, written)
	switch {
	case len(several) > 0:
		return inv.refuse(&tool.Refusal{
			Rule:    "ambiguous",
			Reason:  fmt.Sprintf("The name %s can mean several tools, so nothing ran.", quoted(written)),
			Allowed: "Call one of them by its exact name: " + strings.Join(several, ", ") + ".",
		})
	case e == nil:
		inv.out.Tool = shortened(strings.TrimSpace(written))
		return true
	}
	inv.entry, inv.out.Tool = e, e.Def.Name
	if written != e.Def.Name {
		inv.note = quoted(written) + " means " + e.Def.Name
	}
	return true
}

// find returns the entry that a name means, or the names of several that it
// can mean equally well. An exact name wins over everything; then case and
// punctuation are forgiven; then what models add to it; then missing
// underscores.
func find(entries []*tool.Entry, name string) (e *tool.Entry, several []string) {
	name = strings.TrimSpace(name)
	if e, ok := tool.Find(entries, name); ok {
		return e, nil
	}
	for _, guess := range guesses(name) {
		var hits []*tool.Entry
		for _, e := range entries {
			if guess.fits(e.Def.Name) {
				hits = append(hits, e)
			}
		}
		switch len(hits) {
		case 0:
			continue
		case 1:
			return hits[0], nil
		}
		return nil, tool.Names(hits)
	}
	return nil, nil
}

// guess is one way to read a name, or several that are equally close.
type guess struct {
	texts []string
	fold  func(string) string
}

func (g guess) fits(name string) bool { return slices.Contains(g.texts, g.fold(name)) }

// prefixes are put before a name by models that saw tools presented as members
// of something.
var prefixes = [...]string{"functions", "function", "tools", "tool", "default_api"}

// guesses lists the ways to read a name, the closest first.
func guesses(name string) []guess {
	var out []guess
	add := func(fold func(string) string, names ...string) {
		texts := make([]string, len(names))
		for i, n := range names {
			texts[i] = fold(n)
		}
		if !slices.Contains(texts, "") {
			out = append(out, guess{texts, fold})
		}
	}
	whole := unmarked(name)
	bare := unprefixed(whole)
	plain := unindexed(bare)
	switch {
	case plain == bare:
		add(folded, name)
		add(folded, bare)
	case bare != whole: // functions.NAME:0 is a form of its own
		add(folded, plain)
		add(folded, bare)
	default: // a:0 may be a, or a_0
		add(folded, bare, plain)
	}
	add(squeezed, plain)
	if plain != bare {
		add(squeezed, bare)
	}
	return out
}

// unindexed drops the number of the call that Kimi writes behind a name, as in
// "functions.file_read:0". No tool has a colon in its name.
func unindexed(name string) string {
	at := strings.LastIndexByte(name, ':')
	if at < 1 || at == len(name)-1 || strings.Trim(name[at+1:], "0123456789") != "" {
		return name
	}
	return name[:at]
}

// unmarked drops the marks by which a model orders what it writes, and what is
// behind them: gpt-oss lets them slip into names, as in
// "calc<|channel|>commentary".
func unmarked(name string) string {
	name, _, _ = strings.Cut(name, "<|")
	return name
}

// unprefixed drops "functions." and its like, and "mcp__server__" before a
// tool that isn't from a server of that name.
func unprefixed(name string) string {
	low := strings.ToLower(name)
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(low, p); ok && rest != "" && strings.ContainsRune(".:/", rune(rest[0])) {
			return name[len(p)+1:]
		}
	}
	if rest, ok := strings.CutPrefix(low, "mcp__"); ok {
		if _, tool, ok := strings.Cut(rest, "__"); ok {
			return tool
		}
	}
	return name
}

// folded writes a name in lower case with one underscore for whatever stands
// between its letters and digits.
func folded(name string) string {
	var b strings.Builder
	gap := false
	for i := range len(name) {
		c := name[i]
		switch {
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		default:
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte('_')
			gap = false
		}
		b.WriteByte(c)
	}
	return b.String()
}

// squeezed is folded without the underscores, so that fileRead is file_read.
func squeezed(name string) string { return strings.ReplaceAll(folded(name), "_", "") }
