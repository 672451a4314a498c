package surface

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

// policy removes what the configured lists don't let pass. The rules were
// matched against the catalog when they were compiled.
func policy(f *Facts, e *tool.Entry) *tool.Removal {
	var first *tool.Removal
	fixes := []string(nil) // where more than the first rule removes it
	for _, r := range f.rules {
		switch out := r.removed[e]; {
		case out == nil:
		case first == nil:
			first = out
		default:
			fixes = append(fixes, out.Fix)
		}
	}
	if len(fixes) == 0 {
		return first
	}
	all := *first
	all.Fix += "; then " + strings.Join(fixes, "; then ")
	return &all
}

// compile matches the policies against the tools of a catalog.
func (p *Policies) compile(cat *tool.Catalog) []*rule {
	rules := p.order()
	for _, r := range rules {
		r.compile(cat)
	}
	return rules
}

func (r *rule) compile(cat *tool.Catalog) {
	r.removed, r.named = map[*tool.Entry]*tool.Removal{}, map[*tool.Entry]bool{}
	allow, also, deny := parseAll(r.policy.Allow), parseAll(r.policy.AlsoAllow), parseAll(r.policy.Deny)
	if r.kind == lists && len(allow) > 0 {
		r.allow = r.key(r.policy.Allow[0].Pos, "allow")
	}
	for _, e := range cat.Entries {
		if e.Def.Optional && (names(allow, e) || names(also, e)) {
			r.named[e] = true
		}
		var out *tool.Removal
		if r.kind == profiles {
			out = r.byProfile(e, also)
		} else {
			out = r.byLists(e, allow, deny)
		}
		if out != nil {
			r.removed[e] = out
		}
	}
}

func (r *rule) byProfile(e *tool.Entry, also []tool.Selector) *tool.Removal {
	profile := r.policy.Profile
	if inProfile(profile.Value, e) || first(also, e) >= 0 {
		return nil
	}
	key := r.key(profile.Pos, "profile")
	return &tool.Removal{
		Rule:   r.name,
		Reason: fmt.Sprintf("not in the profile %q, which %s sets", profile.Value, key),
		Where:  profile.Pos,
		Fix:    fmt.Sprintf("add %q to %s, or choose a larger profile", e.Def.Name, sibling(key, "also_allow")),
	}
}

func (r *rule) byLists(e *tool.Entry, allow, deny []tool.Selector) *tool.Removal {
	if i := first(deny, e); i >= 0 {
		entry := r.policy.Deny[i]
		key := r.key(entry.Pos, "deny")
		fix := "remove " + denials(r.policy.Deny, deny, e) + " from " + written(key, entry.Pos)
		if r.agent {
			fix += ", or use another agent"
		}
		return &tool.Removal{
			Rule:   r.name,
			Reason: fmt.Sprintf("denied by %s %q", key, entry.Value),
			Where:  entry.Pos,
			Fix:    fix,
		}
	}
	if len(allow) == 0 || first(allow, e) >= 0 {
		return nil
	}
	pos := r.policy.Allow[0].Pos
	key := r.key(pos, "allow")
	return &tool.Removal{
		Rule:   r.name,
		Reason: fmt.Sprintf("not among what %s allows", key),
		Where:  pos,
		Fix:    fmt.Sprintf("add %q to %s", e.Def.Name, written(key, pos)),
	}
}

// denials are the entries of a list that select e, all of which have to go
// before it passes.
func denials(entries []source.Text, list []tool.Selector, e *tool.Entry) string {
	var all []string
	for i, s := range list {
		if quoted := strconv.Quote(entries[i].Value); s.Selects(&e.Def, e.Owner) && !slices.Contains(all, quoted) {
			all = append(all, quoted)
		}
	}
	return strings.Join(all, " and ")
}

// written is where a person changes the list key: the configuration, or the
// variable that is in force in its place.
func written(key string, pos source.Pos) string {
	if pos.Env != "" {
		return "the variable " + pos.Env + " of the environment, which is in force for " + key
	}
	return key
}

// key is how people know the list at pos. A list that was written nowhere is
// known by the rule.
func (r *rule) key(pos source.Pos, list string) string {
	if pos.Key == "" {
		return fmt.Sprintf("the %s list of the %s policy", list, r.name)
	}
	if i := strings.LastIndexByte(pos.Key, '['); i > 0 && strings.HasSuffix(pos.Key, "]") {
		return pos.Key[:i] // the entry's place in the list
	}
	return pos.Key
}

// sibling is the key beside key.
func sibling(key, name string) string {
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		return key[:i+1] + name
	}
	return name
}

func parseAll(list []source.Text) []tool.Selector {
	out := make([]tool.Selector, len(list))
	for i, t := range list {
		out[i] = tool.ParseSelector(t.Value)
	}
	return out
}

// first is the index of the first selector that selects e, or -1.
func first(list []tool.Selector, e *tool.Entry) int {
	for i, s := range list {
		if s.Selects(&e.Def, e.Owner) {
			return i
		}
	}
	return -1
}

// names reports whether list names e otherwise than by wildcard or group.
func names(list []tool.Selector, e *tool.Entry) bool {
	for _, s := range list {
		if s.Names() && s.Selects(&e.Def, e.Owner) {
			return true
		}
	}
	return false
}
