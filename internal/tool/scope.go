package tool

import (
	"slices"

	"github.com/goclaw/goclaw/internal/auth"
)

// Origin says what started a run.
type Origin string

const (
	FromChat     Origin = "chat"
	FromAPI      Origin = "api"
	FromChannel  Origin = "channel"
	FromCron     Origin = "cron"
	FromSOP      Origin = "sop"
	FromWebhook  Origin = "webhook"
	FromSubagent Origin = "subagent"
)

// Origins lists all origins in the order in which people read them.
var Origins = []Origin{FromChat, FromAPI, FromChannel, FromCron, FromSOP, FromWebhook, FromSubagent}

// Unattended reports whether a run of that origin acts for no one in particular
// unless somebody is named.
func (o Origin) Unattended() bool { return o == FromCron || o == FromSOP || o == FromWebhook }

// List is a runtime list of names. Its zero value sets no limit; a limited
// list that is empty allows nothing. It is a type of its own because a policy
// list reads the other way: there an empty allow restricts nothing.
type List struct {
	limited bool
	names   []string // sorted, unique
}

// Only makes a list that allows exactly names.
func Only(names ...string) List {
	own := slices.Clone(names)
	slices.Sort(own)
	return List{limited: true, names: slices.Compact(own)}
}

// Limited reports whether l sets a limit at all.
func (l List) Limited() bool { return l.limited }

// Allows reports whether name is within l.
func (l List) Allows(name string) bool {
	if !l.limited {
		return true
	}
	_, found := slices.BinarySearch(l.names, name)
	return found
}

// Names is what a limited list allows, sorted; nil without a limit.
func (l List) Names() []string { return slices.Clone(l.names) }

// Equal reports whether l and m allow the same.
func (l List) Equal(m List) bool { return l.limited == m.limited && slices.Equal(l.names, m.names) }

// Intersect allows what both lists allow.
func (l List) Intersect(m List) List {
	if !l.limited {
		return m
	}
	if !m.limited {
		return l
	}
	var both []string
	for _, n := range l.names {
		if m.Allows(n) {
			both = append(both, n)
		}
	}
	return List{limited: true, names: both}
}

// Delivery is where the answers of a run go.
type Delivery struct {
	Channel string `json:"channel,omitempty"`
	Account string `json:"account,omitempty"`
	Group   string `json:"group,omitempty"`
	Thread  string `json:"thread,omitempty"`
}

// Facts are what a scope is minted from.
type Facts struct {
	Agent     string
	Session   string
	Run       string
	Origin    Origin
	Caller    auth.Principal
	Workspace string // directory, absolute
	Delivery  Delivery
	CanAsk    bool // somebody can be asked for approval while the run goes

	Cap      List // the tools the run was started with
	Declared List // the tools a step or a profile declares; no selection runs then
	Skills   List // skills allowed

	// Allow and Deny are the lists that a request brings, of entries as in a
	// policy: names, patterns, groups, owners.
	Allow List
	Deny  []string

	Sandbox bool     // its work is confined to a sandbox
	Flush   bool     // it keeps what is worth keeping before a conversation is shortened
	Depth   int      // how many runs stand above it: 0 for one that a person began
	Client  []string // what the front end can do beyond showing text

	Narrowed Narrowed // what hooks left of the tools
}

// Narrowed is what handlers of before_prompt_build left of a run's tools.
type Narrowed struct {
	Allow  List   // what all of them allow
	By     string // who set that limit, for people
	Failed string // who failed, so that only tools which read are left; empty for nobody
}

// Scope is the closed authority of a run: who acts, where, with which tools at
// most. It travels as a parameter and has no operation that widens it. Only
// agent/run mints one (the architecture test holds that).
type Scope struct{ f Facts }

// NewScope mints a scope. Only agent/run may call it.
func NewScope(f Facts) Scope {
	f.Deny, f.Client = slices.Clone(f.Deny), slices.Clone(f.Client)
	return Scope{f: f}
}

func (s Scope) Agent() string          { return s.f.Agent }
func (s Scope) Session() string        { return s.f.Session }
func (s Scope) Run() string            { return s.f.Run }
func (s Scope) Origin() Origin         { return s.f.Origin }
func (s Scope) Caller() auth.Principal { return s.f.Caller }
func (s Scope) Workspace() string      { return s.f.Workspace }
func (s Scope) Delivery() Delivery     { return s.f.Delivery }
func (s Scope) CanAsk() bool           { return s.f.CanAsk }
func (s Scope) Cap() List              { return s.f.Cap }
func (s Scope) Declared() List         { return s.f.Declared }
func (s Scope) Skills() List           { return s.f.Skills }
func (s Scope) Allow() List            { return s.f.Allow }
func (s Scope) Deny() []string         { return slices.Clone(s.f.Deny) }
func (s Scope) Sandbox() bool          { return s.f.Sandbox }
func (s Scope) Flush() bool            { return s.f.Flush }
func (s Scope) Depth() int             { return s.f.Depth }
func (s Scope) Client() []string       { return slices.Clone(s.f.Client) }
func (s Scope) Narrowed() Narrowed     { return s.f.Narrowed }

// SessionKey names the session among those of all agents: sessions of two
// agents may have the same name. It is empty without a session.
func (s Scope) SessionKey() string {
	if s.f.Session == "" {
		return ""
	}
	return s.f.Agent + "/" + s.f.Session
}

// WithinCap is s with its cap narrowed by l.
func (s Scope) WithinCap(l List) Scope {
	s.f.Cap = s.f.Cap.Intersect(l)
	return s
}

// WithDeclared is s with its declared set narrowed by l.
func (s Scope) WithDeclared(l List) Scope {
	s.f.Declared = s.f.Declared.Intersect(l)
	return s
}

// Narrow is s with what hooks left of its tools narrowed by n.
func (s Scope) Narrow(n Narrowed) Scope {
	now := &s.f.Narrowed
	now.Allow = now.Allow.Intersect(n.Allow)
	now.By, now.Failed = list(now.By, n.By), list(now.Failed, n.Failed)
	return s
}

// list adds to names, which commas part.
func list(names, more string) string {
	if names == "" || more == "" {
		return names + more
	}
	return names + ", " + more
}
