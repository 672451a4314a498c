package surface_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/engine/surface"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

// place is where a configuration can hold a policy.
type place struct {
	key   string
	rules [2]string // by which its profile and its lists are called
	put   func(*surface.Policies, surface.Policy)
	// for nobody: it never holds for the runs that drawFacts makes.
	idle bool
	// when says for which of them it holds; nil is all.
	when func(tool.Facts) bool
}

func provider(key string) func(*surface.Block, surface.Policy) {
	return func(b *surface.Block, p surface.Policy) { set(&b.ByProvider, key, p) }
}

func sender(key string) func(*surface.Block, surface.Policy) {
	return func(b *surface.Block, p surface.Policy) { set(&b.BySender, key, p) }
}

func set(m *map[string]surface.Policy, key string, p surface.Policy) {
	if *m == nil {
		*m = map[string]surface.Policy{}
	}
	(*m)[key] = p
}

func group(channel, key string) func(*surface.Policies, surface.Policy) {
	return func(all *surface.Policies, p surface.Policy) {
		if all.Groups == nil {
			all.Groups = map[string]map[string]surface.Policy{}
		}
		of := all.Groups[channel]
		set(&of, key, p)
		all.Groups[channel] = of
	}
}

// allPlaces are all of them, in the order in which profiles and, behind them,
// lists are asked.
var allPlaces = func() (list []place) {
	both := func(key string, rules [2]string, put func(*surface.Block, surface.Policy), more place) {
		for _, of := range []string{"", "agents.list[a]."} {
			p := more
			p.key, p.rules = of+"tools"+key, rules
			p.put = func(all *surface.Policies, q surface.Policy) {
				if of == "" {
					put(&all.Global, q)
				} else {
					put(&all.Agent, q)
				}
			}
			if of != "" && p.rules[1] == "global" {
				p.rules[1] = "agent"
			} else if of != "" && p.rules[1] == "provider" {
				p.rules[1] = "agent provider"
			}
			list = append(list, p)
		}
	}
	subagent := func(f tool.Facts) bool { return f.Origin == tool.FromSubagent }
	both("", [2]string{"profile", "global"}, func(b *surface.Block, p surface.Policy) { b.Policy = p }, place{})
	for _, key := range []string{"ollama", "openai", "openai/gpt-x", "openai/gpt-y"} {
		both(".by_provider."+key, [2]string{"provider profile", "provider"}, provider(key), place{idle: key == "ollama" || key == "openai/gpt-y"})
	}
	for _, key := range []string{"*", "7", "8"} {
		list = append(list, place{
			key: "channels.slack.groups." + key, rules: [2]string{"channel group", "channel group"}, put: group("slack", key), idle: key == "8",
			when: func(f tool.Facts) bool { return f.Delivery.Group != "" },
		})
	}
	list = append(list, place{key: "channels.telegram.groups.*", put: group("telegram", "*"), idle: true})
	for _, key := range []string{"*", "42", "43", "slack:42", "telegram:42"} {
		both(".by_sender."+key, [2]string{"sender", "sender"}, sender(key), place{
			idle: key == "43" || key == "telegram:42",
			when: func(f tool.Facts) bool { return f.Caller.ID != "" },
		})
	}
	both(".sandbox", [2]string{"sandbox", "sandbox"}, func(b *surface.Block, p surface.Policy) { b.Sandbox = p }, place{
		when: func(f tool.Facts) bool { return f.Sandbox },
	})
	both(".subagents", [2]string{"subagent", "subagent"}, func(b *surface.Block, p surface.Policy) { b.Subagents = p }, place{when: subagent})
	return list
}()

// holds reports whether a policy in that place holds for a run.
func (p *place) holds(f tool.Facts) bool { return !p.idle && (p.when == nil || p.when(f)) }

// places are the policies of one configuration, by their place in allPlaces.
type places []surface.Policy

func drawPlaces(t *rapid.T) places {
	p := make(places, len(allPlaces))
	for range rapid.IntRange(0, 6).Draw(t, "used") {
		i := rapid.IntRange(0, len(p)-1).Draw(t, "place")
		p[i] = drawPolicy(t, allPlaces[i].key)
	}
	return p
}

func (p places) policies() (all surface.Policies) {
	for i, q := range p {
		if len(q.Allow)+len(q.AlsoAllow)+len(q.Deny) > 0 || q.Profile.Value != "" {
			allPlaces[i].put(&all, q)
		}
	}
	return all
}

// only is p without all but one of its policies.
func (p places) only(i int) places {
	one := make(places, len(p))
	one[i] = p[i]
	return one
}

// selects is what an entry of a list means, said as plainly as can be.
func selects(entry string, e *tool.Entry) bool {
	entry = strings.ToLower(entry)
	of := ""
	switch e.Owner.Kind {
	case tool.PluginOwner:
		of = "plugin"
	case tool.MCPOwner:
		of = "mcp"
	}
	switch entry {
	case "group:plugins":
		return of == "plugin"
	case "group:mcp":
		return of == "mcp"
	case "plugin:p", "mcp:m":
		return of != "" && strings.HasPrefix(entry, of)
	}
	if category, ok := strings.CutPrefix(entry, "group:"); ok {
		return e.Def.Category == category
	}
	ok, err := path.Match(entry, e.Def.Name)
	return ok && err == nil
}

func anyOf(list []source.Text, e *tool.Entry) bool {
	return slices.ContainsFunc(list, func(t source.Text) bool { return selects(t.Value, e) })
}

func profiled(p surface.Policy, e *tool.Entry) bool {
	kept := map[string][]string{"coding": {"fs", "web"}}[p.Profile.Value]
	return p.Profile.Value == "" || p.Profile.Value == "full" || e.Def.Core || e.Def.Internal || slices.Contains(kept, e.Def.Category) || anyOf(p.AlsoAllow, e)
}

func listed(p surface.Policy, e *tool.Entry) bool {
	return (len(p.Allow) == 0 || anyOf(p.Allow, e)) && !anyOf(p.Deny, e)
}

// firstPolicy is the rule by which the policies remove a tool, "" when all let
// it pass: in the order of the specification, with nothing remembered, compiled
// or shared.
func (p places) firstPolicy(f tool.Facts, e *tool.Entry) string {
	order := []string{
		"profile", "provider profile", "global", "provider", "agent", "agent provider", "channel group", "sender", "sandbox", "subagent",
	}
	for _, rule := range order {
		for i := range allPlaces {
			at := &allPlaces[i]
			if at.holds(f) && (at.rules[0] == rule && !profiled(p[i], e) || at.rules[1] == rule && !listed(p[i], e)) {
				return rule
			}
		}
	}
	return ""
}

// What the policies take, and by which rule each tool is the first time, is
// what their lists say, read one by one.
func TestPoliciesMeanWhatTheySay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cat, p, f := drawCatalog(t), drawPlaces(t), drawFacts(t)
		f.Cap, f.Allow = tool.List{}, tool.List{} // which come before and after
		dec := decide(cat, p, f, model)
		for _, e := range cat.Entries {
			want, got := p.firstPolicy(f, e), ""
			if r, ok := dec.Removal(e.Def.Name); ok && r.Layer == "policy" {
				got = r.Rule
			}
			if got != want {
				t.Fatalf("%s is removed by the rule %q, not by %q", e.Def.Name, got, want)
			}
		}
	})
}

// The policies intersect: together they permit what each alone permits, so that
// their order, which decides who is named, decides nothing else. Optional tools
// are those that any of them names.
func TestPoliciesIntersect(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cat, p, f := drawCatalog(t), drawPlaces(t), drawFacts(t)
		passed := func(p places, e *tool.Entry) bool {
			r, ok := decide(cat, p, f, model).Removal(e.Def.Name)
			return !ok || r.Layer != "cap" && r.Layer != "policy"
		}
		for _, e := range cat.Entries {
			all := true
			for i := range p {
				all = all && passed(p.only(i), e)
			}
			if got := passed(p, e); got != all {
				t.Fatalf("%s passes all policies together: %v; each alone: %v", e.Def.Name, got, all)
			}
		}
	})
}

// An entry for one person, group or provider takes nobody out of the others.
func TestNoEntryReplacesAnother(t *testing.T) {
	t.Parallel()
	deny := surface.Policy{Deny: []source.Text{{Value: "a"}}}
	for i := range allPlaces {
		for j := range allPlaces {
			if i == j {
				continue
			}
			t.Run(fmt.Sprint(allPlaces[i].key, " beside ", allPlaces[j].key), func(t *testing.T) {
				t.Parallel()
				r := tool.NewRegistry()
				r.Add(family, plain("a", tool.Traits{}), plain("b", tool.Traits{}))
				f := tool.Facts{
					Origin: tool.FromSubagent, Caller: user, Sandbox: true, Delivery: tool.Delivery{Channel: "slack", Group: "7"},
				}
				p := make(places, len(allPlaces))
				p[i] = deny
				alone := tool.Names(decide(r.Catalog(), p, f, model).Permitted)
				p[j] = surface.Policy{Deny: []source.Text{{Value: "b"}}}
				for _, name := range tool.Names(decide(r.Catalog(), p, f, model).Permitted) {
					if !slices.Contains(alone, name) {
						t.Errorf("%s came in", name)
					}
				}
			})
		}
	}
}
