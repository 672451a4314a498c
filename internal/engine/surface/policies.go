package surface

import (
	"maps"
	"slices"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Policy is one set of lists as a person wrote them. An entry is the name of a
// tool, a pattern with * and ?, a group (group:fs), or the tools of one owner
// (plugin:id, mcp:server). An absent or empty Allow restricts nothing; a Deny
// always stands. AlsoAllow adds to what Profile of the same policy lets pass,
// names optional tools, and restricts nothing; it doesn't add to Allow, which
// is the list to add to.
type Policy struct {
	Profile   source.Text
	Allow     []source.Text
	AlsoAllow []source.Text
	Deny      []source.Text
}

// Block is what one tools: block of the configuration holds of policies.
type Block struct {
	Policy
	ByProvider map[string]Policy // by provider or provider/model; both apply
	BySender   map[string]Policy // by caller, channel:caller or *, which is everybody; all that fit apply
	Sandbox    Policy            // for runs that are confined to a sandbox
	Subagents  Policy            // for runs that another run started
}

// Policies are all that the runs of one agent are held to. They intersect:
// none can bring back what another one took.
type Policies struct {
	Global, Agent Block
	// Groups are policies of chat groups, by channel and then by group; those of
	// the group * hold in every group, beside its own.
	Groups map[string]map[string]Policy

	Skills Skills

	// Core are the entries of tools.core, which pins and takes nothing away. They
	// are here to be checked like those of the lists.
	Core []source.Text

	// Providers are the names that a key of ByProvider can begin with; empty
	// leaves the keys unchecked.
	Providers []string

	// What the agent has that some tools make no sense without.
	Writable  Setting // a data source that may be written
	Delegates Setting // agents that its runs may start
	MaxDepth  int     // how deep runs that runs start may nest; 0 is no limit
	// Whole says that a request is shown the whole permitted surface, so that
	// nothing is left to be found.
	Whole Setting
}

// Setting is whether something is set in the configuration, and where that was
// or would be decided.
type Setting struct {
	On    bool
	Where source.Pos
}

// kind says which lists of its policy a rule applies.
type kind uint8

const (
	profiles kind = iota // Profile
	lists                // Allow and Deny
)

// rule is a policy in its place of the order, with what it does to a catalog.
type rule struct {
	name   string
	kind   kind
	agent  bool // it is the agent's own, so another agent may not have it
	policy Policy
	when   func(s tool.Scope, t llm.Target) bool // nil is always

	removed map[*tool.Entry]*tool.Removal
	named   map[*tool.Entry]bool // by AlsoAllow or Allow, for optional tools
	allow   string               // the explicit allow list, as people know it
}

func (r *rule) applies(s tool.Scope, t llm.Target) bool { return r.when == nil || r.when(s, t) }

// order lists the policies as rules in the order in which they are asked, each
// under the name by which explanations call it. What a request brings follows
// them, as the rule runtime.
func (p *Policies) order() []*rule {
	var rules []*rule
	add := func(name string, k kind, agent bool, p Policy, when func(tool.Scope, llm.Target) bool) {
		if k == profiles && p.Profile.Value != "" || k == lists && len(p.Allow)+len(p.AlsoAllow)+len(p.Deny) > 0 {
			rules = append(rules, &rule{name: name, kind: k, agent: agent, policy: p, when: when})
		}
	}
	providers := func(name string, k kind, agent bool, of map[string]Policy) {
		for _, key := range slices.Sorted(maps.Keys(of)) {
			add(name, k, agent, of[key], toProvider(key))
		}
	}
	global, agent := p.Global, p.Agent
	add("profile", profiles, false, global.Policy, nil)
	add("profile", profiles, true, agent.Policy, nil)
	providers("provider profile", profiles, false, global.ByProvider)
	providers("provider profile", profiles, true, agent.ByProvider)
	add("global", lists, false, global.Policy, nil)
	providers("provider", lists, false, global.ByProvider)
	add("agent", lists, true, agent.Policy, nil)
	providers("agent provider", lists, true, agent.ByProvider)
	for _, channel := range slices.Sorted(maps.Keys(p.Groups)) {
		of := p.Groups[channel]
		for _, group := range slices.Sorted(maps.Keys(of)) {
			when := inGroup(channel, group)
			add("channel group", profiles, false, of[group], when)
			add("channel group", lists, false, of[group], when)
		}
	}
	for _, block := range [...]struct {
		agent bool
		of    map[string]Policy
	}{{false, global.BySender}, {true, agent.BySender}} {
		for _, sender := range slices.Sorted(maps.Keys(block.of)) {
			when := fromSender(sender)
			add("sender", profiles, block.agent, block.of[sender], when)
			add("sender", lists, block.agent, block.of[sender], when)
		}
	}
	for _, block := range [...]struct {
		name  string
		agent bool
		p     Policy
		when  func(tool.Scope, llm.Target) bool
	}{
		{"sandbox", false, global.Sandbox, sandboxed},
		{"sandbox", true, agent.Sandbox, sandboxed},
		{"subagent", false, global.Subagents, subagent},
		{"subagent", true, agent.Subagents, subagent},
	} {
		add(block.name, profiles, block.agent, block.p, block.when)
		add(block.name, lists, block.agent, block.p, block.when)
	}
	return rules
}

func toProvider(key string) func(tool.Scope, llm.Target) bool {
	return func(_ tool.Scope, t llm.Target) bool {
		return t.Provider != "" && (key == t.Provider || len(key) == len(t.Provider)+1+len(t.Model) && key == t.Provider+"/"+t.Model)
	}
}

// everyone is the key under which a policy holds for all groups or senders.
// It is no fallback: an entry of one's own would bring back what it took.
const everyone = "*"

func inGroup(channel, group string) func(tool.Scope, llm.Target) bool {
	return func(s tool.Scope, _ llm.Target) bool {
		d := s.Delivery()
		return d.Channel == channel && d.Group != "" && (group == everyone || group == d.Group)
	}
}

func fromSender(sender string) func(tool.Scope, llm.Target) bool {
	return func(s tool.Scope, _ llm.Target) bool {
		c := s.Caller()
		if c.ID == "" || c.Role == auth.System {
			return false // it acts for no one in particular
		}
		return sender == everyone || sender == c.ID || sender == s.Delivery().Channel+":"+c.ID
	}
}

func sandboxed(s tool.Scope, _ llm.Target) bool { return s.Sandbox() }

func subagent(s tool.Scope, _ llm.Target) bool { return s.Origin() == tool.FromSubagent }
