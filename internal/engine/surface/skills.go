package surface

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goclaw/goclaw/internal/lib/nearest"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

// Skills is an agent's list of skills, which also narrows its tools. Whether
// there is such a list, and what it holds, a run's scope says.
type Skills struct {
	// Allow is the list as it was written.
	Allow []source.Text
	// Where is the list itself, also when it is empty.
	Where source.Pos
	// Requires returns the tools that a skill of that name needs; ok is false
	// when there is no such skill. Nil is no skill at all.
	Requires func(skill string) (tools []string, ok bool)
}

// skills leaves an agent that lists its skills the tools that the list names or
// that a listed skill requires, with the core and the internal ones.
func skills(f *Facts, e *tool.Entry) *tool.Removal {
	if !f.Skills.Limited() || e.Def.Core || e.Def.Internal || f.Skills.Allows(e.Def.Name) || f.required[e.Def.Name] {
		return nil
	}
	key := cmp.Or(f.agent.Skills.Where.Key, "skills.allow")
	return &tool.Removal{
		Rule:   "skills.allow",
		Reason: fmt.Sprintf("%s neither lists it nor a skill that requires it", key),
		Where:  f.agent.Skills.Where,
		Fix:    fmt.Sprintf("add %q to %s", e.Def.Name, key),
	}
}

// requiredBy are the tools that the listed skills need.
func (s Skills) requiredBy(listed tool.List) map[string]bool {
	if s.Requires == nil || !listed.Limited() {
		return nil
	}
	required := map[string]bool{}
	for _, name := range listed.Names() {
		tools, _ := s.Requires(name)
		for _, t := range tools {
			required[t] = true
		}
	}
	return required
}

// skills tells of entries of skills.allow that are neither a skill nor a tool.
func (c *checker) skills(s Skills) {
	for _, entry := range s.Allow {
		if _, ok := c.cat.Find(entry.Value); ok {
			continue
		}
		if s.Requires != nil {
			if _, ok := s.Requires(entry.Value); ok {
				continue
			}
		}
		if i := slices.IndexFunc(c.cat.Notes, func(n tool.Note) bool { return n.Tool == entry.Value }); i >= 0 {
			c.add(entry, nil, "the tool %s never came to be: %s", entry.Value, c.cat.Notes[i].Reason)
			continue
		}
		c.add(entry, nearest.Names(entry.Value, tool.Names(c.cat.Entries), maxNearest), "there is no skill and no tool %q", entry.Value)
	}
}
