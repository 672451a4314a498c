// Package rule makes hooks of the rules on tool calls that an admin writes in
// the configuration: which calls a rule is for ([Rule]), its condition in CEL,
// and what a match does ([Action]). It knows nothing of the configuration's
// file; whoever reads that gives it the rules as values.
//
// A [Set] is made of rules and never changes but for its counts; changed rules
// are a new one. It starts nothing and has nothing to close but idle
// connections of its webhooks, which close by themselves. Deciding about a call
// is a pure function of the call, so that a rule can be tried on calls of the
// past ([Set.Try]); doing what a match asks for is apart from it.
//
// Rules fail closed: a condition that can't be compiled or evaluated counts as
// a match for what blocks or asks, and a webhook that decides lets a call
// through by one answer only.
//
// Start reading at [New], then set.go; webhook.go says what is sent.
package rule

import (
	"slices"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

// When says on which side of the call a rule acts.
type When string

const (
	Before When = "before"
	After  When = "after"
)

// Action is what a match does.
type Action string

const (
	Block   Action = "block"   // refuse the call; only before
	Notify  Action = "notify"  // tell admins; never decides
	Webhook Action = "webhook" // before: ask an address, after: tell it
	Approve Action = "approve" // have a person asked; only before
)

// Decides reports whether the action decides about calls before they run, so
// that doubt counts against them.
func (a Action) Decides() bool { return a != Notify }

// Rule is a rule as it was written.
type Rule struct {
	Name    string
	When    When     // Before when empty
	Tools   []string // entries as policies have them; empty is all
	Agents  []string // ids; empty is all
	Match   string   // condition in CEL; empty is always
	Action  Action
	Message string // what the model and people are told
	// Priority is its place among all hooks: higher goes first.
	Priority int
	Timeout  time.Duration // of a webhook; hook.DefaultTimeout when 0
	URL      string        // of a webhook
	Secret   string        // signs the webhook; unsigned when empty
	Where    source.Pos    // where it is written
}

// Agents resolve what a rule's list of agents names.
type Agents struct {
	Default string   // id of the default agent
	IDs     []string // of all agents
}

// resolve is the id of the agent that a list names, "" when there is none. main
// and default name the default agent unless an agent has that id.
func (a Agents) resolve(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	for _, id := range a.IDs {
		if strings.ToLower(id) == name {
			return id
		}
	}
	if name == "main" || name == "default" {
		return a.Default
	}
	return ""
}

// within says whether a call of the scope is one of the agents of the list.
func (a Agents) within(list []string, s tool.Scope) bool {
	if len(list) == 0 {
		return true
	}
	return slices.ContainsFunc(list, func(name string) bool {
		id := a.resolve(name)
		return id != "" && id == s.Agent()
	})
}
