package surface

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/lib/nearest"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

// Diagnosis tells of something in a policy that does not do what its author
// must have meant. It is never an error: what an entry selects can come and go
// while the program runs.
type Diagnosis struct {
	Entry   string     `json:"entry"`             // as it was written
	Problem string     `json:"problem"`           // one sentence
	Nearest []string   `json:"nearest,omitempty"` // what may have been meant
	Where   source.Pos `json:"where,omitzero"`
}

func (d Diagnosis) String() string {
	s := d.Problem
	if len(d.Nearest) > 0 {
		s += "; nearest: " + strings.Join(d.Nearest, ", ")
	}
	if !d.Where.IsZero() {
		s = d.Where.String() + ": " + s
	}
	return s
}

// Diagnose checks the entries of all lists against the tools of cat, in the
// order of the rules.
func (d *Decider) Diagnose(cat *tool.Catalog) []Diagnosis {
	d.mu.Lock()
	p := d.policies
	d.mu.Unlock()
	c := checker{cat: cat}
	for _, of := range []map[string]Policy{p.Global.ByProvider, p.Agent.ByProvider} {
		c.providers(of, p.Providers)
	}
	for _, r := range p.order() {
		if r.kind == profiles {
			c.profile(r.policy.Profile)
			continue
		}
		c.list(r.policy.Allow)
		c.list(r.policy.AlsoAllow)
		c.list(r.policy.Deny)
		c.also(r.policy)
	}
	c.skills(p.Skills)
	c.list(p.Core)
	return c.found
}

// Naming is where the lists name a tool by its own name, in the order of the
// rules.
func (d *Decider) Naming(name string) []source.Pos {
	d.mu.Lock()
	p := d.policies
	d.mu.Unlock()
	want := tool.ParseSelector(name)
	var at []source.Pos
	look := func(lists ...[]source.Text) {
		for _, entry := range slices.Concat(lists...) {
			if tool.ParseSelector(entry.Value) == want && !slices.Contains(at, entry.Pos) {
				at = append(at, entry.Pos)
			}
		}
	}
	for _, r := range p.order() {
		look(r.policy.Allow, r.policy.AlsoAllow, r.policy.Deny)
	}
	look(p.Skills.Allow, p.Core)
	return at
}

// maxNearest is how many names a diagnosis proposes.
const maxNearest = 3

type checker struct {
	cat   *tool.Catalog
	found []Diagnosis
}

func (c *checker) add(entry source.Text, near []string, format string, args ...any) {
	c.found = append(c.found, Diagnosis{
		Entry: entry.Value, Problem: fmt.Sprintf(format, args...), Nearest: near, Where: entry.Pos,
	})
}

func (c *checker) profile(p source.Text) {
	if _, ok := Profiles[p.Value]; ok {
		return
	}
	names := slices.Sorted(maps.Keys(Profiles))
	near := nearest.Names(p.Value, names, maxNearest)
	if len(near) == 0 {
		near = names
	}
	c.add(p, near, "there is no profile %q, so only core and internal tools pass", p.Value)
}

// DiagnoseList checks the entries of one list of tools against cat.
func DiagnoseList(cat *tool.Catalog, entries []source.Text) []Diagnosis {
	c := checker{cat: cat}
	c.list(entries)
	return c.found
}

// list checks the entries of a list. Who names the group of clients' tools beside
// a name that nothing has means one of them.
func (c *checker) list(entries []source.Text) {
	clients := slices.ContainsFunc(entries, func(e source.Text) bool {
		s := tool.ParseSelector(e.Value)
		return s.Kind == tool.ByGroup && s.Text == "client"
	})
	for _, entry := range entries {
		s := tool.ParseSelector(entry.Value)
		if slices.ContainsFunc(c.cat.Entries, func(e *tool.Entry) bool { return s.Selects(&e.Def, e.Owner) }) {
			continue
		}
		switch s.Kind {
		case tool.ByName:
			c.name(entry, s.Text, clients)
		case tool.ByPattern:
			if !clients {
				c.add(entry, nil, "the pattern %q matches no tool, unless an API client brings one", entry.Value)
			}
		case tool.ByGroup:
			c.group(entry, s.Text)
		case tool.ByPlugin:
			c.add(entry, c.owners("plugin:", s.Text), "no plugin of that name has a tool")
		case tool.ByServer:
			c.add(entry, c.owners("mcp:", s.Text), "no MCP server of that name has a tool")
		}
	}
}

func (c *checker) name(entry source.Text, name string, clients bool) {
	if name == "" {
		c.add(entry, nil, "an empty entry selects nothing")
		return
	}
	for _, n := range c.cat.Notes {
		if n.Tool == name {
			c.add(entry, nil, "the tool %s never came to be: %s", name, n.Reason)
			return
		}
	}
	if family := tool.Later(name); family != "" {
		c.add(entry, nil, "this version has no tool %q yet: the family %s is still to come", name, family)
		return
	}
	if !clients {
		c.add(entry, nearest.Names(name, tool.Names(c.cat.Entries), maxNearest), "there is no tool %q, unless an API client brings it", name)
	}
}

func (c *checker) group(entry source.Text, name string) {
	if slices.Contains(tool.Groups, name) {
		return
	}
	near := nearest.Names(name, tool.Groups, maxNearest)
	if len(near) == 0 {
		near = slices.Clone(tool.Groups)
	}
	c.add(entry, prefixed("group:", near), "there is no group %q", entry.Value)
}

// providers tells of policies for providers that don't exist: they never hold.
func (c *checker) providers(of map[string]Policy, known []string) {
	if len(known) == 0 {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		name, _, _ := strings.Cut(key, "/")
		if slices.Contains(known, name) {
			continue
		}
		p := of[key]
		first := p.Profile
		for _, list := range [][]source.Text{p.Allow, p.AlsoAllow, p.Deny} {
			if len(list) > 0 {
				first = list[0]
			}
		}
		if first.Pos.Key == "" && first.Value == "" {
			continue // it says nothing
		}
		near := nearest.Names(name, known, maxNearest)
		if len(near) == 0 {
			near = slices.Clone(known)
		}
		c.add(source.Text{Value: key, Pos: first.Pos}, near, "there is no provider %q, so this never holds", name)
	}
}

// also tells of entries of an also_allow list that have nothing to add to.
func (c *checker) also(p Policy) {
	allow := parseAll(p.Allow)
	for _, entry := range p.AlsoAllow {
		s := tool.ParseSelector(entry.Value)
		adds := p.Profile.Value != "" && p.Profile.Value != "full"
		some, kept := false, ""
		for _, e := range c.cat.Entries {
			switch {
			case !s.Selects(&e.Def, e.Owner):
				continue
			case len(allow) > 0 && first(allow, e) < 0:
				kept = e.Def.Name
			case e.Def.Optional && s.Names():
				adds = true
			}
			some = true
		}
		switch {
		case kept != "":
			c.add(entry, nil, "it adds to the profile only: the allow list beside it doesn't let %s pass, add it there", kept)
		case some && !adds:
			c.add(entry, nil, "it adds nothing: beside it stands no profile, and it names no optional tool")
		}
	}
}

func (c *checker) owners(prefix, id string) []string {
	var ids []string
	for _, e := range c.cat.Entries {
		if rest, ok := strings.CutPrefix(e.Owner.Selector(), prefix); ok {
			ids = append(ids, rest)
		}
	}
	slices.Sort(ids)
	return prefixed(prefix, nearest.Names(id, slices.Compact(ids), maxNearest))
}

func prefixed(prefix string, names []string) []string {
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names
}
