package tool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxName is the length of a canonical name at most.
const maxName = 64

// Canonical makes canonical names of names from outside, those of one MCP
// server, node or API client: in lower case, with underscores for all other characters, cut
// at 64, prefix before them, and t_ before what then begins with no letter. Names
// that become the same are numbered from 2 on: first the one that needed no
// change, then the others in the order of bytes. So a server's list gives the
// same names in whatever order it comes. prefix is itself made canonical.
func Canonical(prefix string, names []string) map[string]string {
	order := slices.Compact(slices.Sorted(slices.Values(names)))
	slices.SortStableFunc(order, func(a, b string) int {
		return cmp.Compare(changed(prefix, a), changed(prefix, b))
	})
	out, taken := make(map[string]string, len(order)), make(map[string]bool, len(order))
	for _, name := range order {
		base := canonical(prefix + name)
		own := base
		for n := 2; taken[own]; n++ {
			suffix := fmt.Sprintf("_%d", n)
			own = base[:min(len(base), maxName-len(suffix))] + suffix
		}
		taken[own] = true
		out[name] = own
	}
	return out
}

// changed is 1 when making a name canonical changes it.
func changed(prefix, name string) int {
	if full := prefix + name; canonical(full) == full {
		return 0
	}
	return 1
}

func canonical(name string) string {
	var b strings.Builder
	if name == "" || (name[0]|0x20) < 'a' || (name[0]|0x20) > 'z' {
		b.WriteString("t_")
	}
	for _, r := range name {
		switch {
		case 'A' <= r && r <= 'Z':
			r += 'a' - 'A'
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
		default:
			r = '_'
		}
		b.WriteRune(r)
	}
	s := b.String()
	return s[:min(len(s), maxName)]
}
