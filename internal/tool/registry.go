package tool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/llm"
)

// OwnerKind sorts the owners of tools by how far they are trusted to name
// them: an owner of a later kind never replaces a tool of an earlier one.
type OwnerKind uint8

const (
	CoreOwner   OwnerKind = iota // GoClaw's own nouns: memory, sessions, spill, …
	FamilyOwner                  // built-in families
	ChannelOwner
	PluginOwner
	MCPOwner
	SubprocessOwner
	NodeOwner
	ClientOwner // an API client brings it with its request
)

var ownerKinds = [...]string{"core", "family", "channel", "plugin", "mcp", "subprocess", "node", "client"}

func (k OwnerKind) String() string { return ownerKinds[k] }

// Owner is who brought a tool.
type Owner struct {
	Kind    OwnerKind
	ID      string // of the family, plugin, server, node
	Version string
	Path    string // where it is installed, for people
}

func (o Owner) String() string {
	s := o.Kind.String()
	if o.ID != "" {
		s += " " + o.ID
	}
	if o.Version != "" {
		s += " " + o.Version
	}
	return s
}

// Entry is a registered tool.
type Entry struct {
	Tool   Tool
	Def    Definition
	Owner  Owner
	Spec   llm.ToolSpec       // what a model sees; on a surface, as its provider takes it
	Schema *jsonschema.Schema // of the parameters as the tool has them: what calls are held against
	// Changes tells, on a surface, what was changed of Spec for the provider, a
	// line each.
	Changes []string
}

// Note tells of something that never became a tool, or did so in part. Whoever
// saw it writes it; explaining reads it.
type Note struct {
	Tool   string // canonical name, as far as one is known
	Owner  Owner
	State  string // the first state that it did not reach: installed, discovered, registered
	Reason string
	Fix    string
}

// Catalog is the registry at one moment. It is immutable.
type Catalog struct {
	Revision uint64
	Entries  []*Entry // ordered by name
	Notes    []Note
}

// Find returns the entry of the canonical name.
func (c *Catalog) Find(name string) (*Entry, bool) {
	i, ok := c.At(name)
	if !ok {
		return nil, false
	}
	return c.Entries[i], true
}

// At is where among Entries the canonical name stands.
func (c *Catalog) At(name string) (int, bool) {
	return slices.BinarySearchFunc(c.Entries, name, func(e *Entry, n string) int { return cmp.Compare(e.Def.Name, n) })
}

// Registry keeps an agent's tools. Readers take a [Catalog] and never block.
//
// Of tools with one name that whose owner is trusted most has it, and of those
// the one that came first; the others are noted, and the next of them has the
// name when it is withdrawn.
type Registry struct {
	mu    sync.Mutex // held by writers
	all   []*Entry   // every usable tool, in the order in which they came
	notes []Note     // of what never became one
	cat   atomic.Pointer[Catalog]
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	r := &Registry{}
	r.cat.Store(&Catalog{})
	return r
}

// Catalog is what the registry holds now.
func (r *Registry) Catalog() *Catalog { return r.cat.Load() }

// Add registers tools of owner. A tool that can't be registered (a bad name or
// schema, a name that is taken) is noted and skipped; the others are added.
// The returned notes are those of this call.
func (r *Registry) Add(owner Owner, tools ...Tool) []Note {
	r.mu.Lock()
	defer r.mu.Unlock()
	var notes []Note
	mine := map[*Entry]bool{}
	for _, t := range tools {
		e, note := newEntry(owner, t)
		if e == nil {
			notes = append(notes, note)
			continue
		}
		r.all, mine[e] = append(r.all, e), true
	}
	r.notes = append(r.notes, notes...)
	for e, n := range r.settle() {
		if mine[e] {
			notes = append(notes, n)
		}
	}
	slices.SortStableFunc(notes, func(a, b Note) int { return cmp.Compare(a.Tool, b.Tool) })
	return notes
}

// settle makes the catalog of what there is, and returns why each of those has
// no name that are not in it. The caller holds the lock.
func (r *Registry) settle() map[*Entry]Note {
	next := &Catalog{Revision: r.cat.Load().Revision + 1, Notes: slices.Clone(r.notes)}
	place := make(map[string]int, len(r.all)) // in all, of who has the name
	for i, e := range r.all {
		if j, taken := place[e.Def.Name]; !taken || e.Owner.Kind < r.all[j].Owner.Kind {
			place[e.Def.Name] = i
		}
	}
	lost := map[*Entry]Note{}
	for i, e := range r.all {
		j := place[e.Def.Name]
		if i == j {
			next.Entries = append(next.Entries, e)
			continue
		}
		has := r.all[j].Owner
		n := Note{Tool: e.Def.Name, Owner: e.Owner, State: "registered", Reason: fmt.Sprintf("the name is taken by %s", has), Fix: "rename the tool"}
		if has.Kind > FamilyOwner { // what is compiled in can't be removed
			n.Fix += ", or remove " + has.String()
		}
		if i < j { // one of ours took its name back from whoever came first
			n.Reason, n.Fix = fmt.Sprintf("the name belongs to %s", has), "rename the tool"
		}
		lost[e] = n
		next.Notes = append(next.Notes, n)
	}
	slices.SortFunc(next.Entries, func(a, b *Entry) int { return cmp.Compare(a.Def.Name, b.Def.Name) })
	r.cat.Store(next)
	return lost
}

// newEntry makes the entry of a tool, or the note that says why there is none.
func newEntry(owner Owner, t Tool) (*Entry, Note) {
	def := t.Definition()
	reject := func(reason, fix string) (*Entry, Note) {
		return nil, Note{Tool: def.Name, Owner: owner, State: "registered", Reason: reason, Fix: fix}
	}
	if !ValidName(def.Name) {
		return reject(fmt.Sprintf("the name %q is not canonical (%s)", def.Name, namePattern), "give the tool a canonical name")
	}
	params, schema, err := parameters(def.Parameters)
	if err != nil {
		return reject(fmt.Sprintf("its parameter schema is not usable: %v", err), "correct the schema")
	}
	def.Parameters = params
	if def.Paths == nil && owner.Kind <= PluginOwner {
		def.Paths = pathsOf(params)
	}
	if owner.Kind > FamilyOwner {
		// They open profiles, skills.allow and declared sets, which is not for
		// whoever brings a tool to decide.
		def.Core, def.Internal = false, false
	}
	return &Entry{
		Tool: t, Def: def, Owner: owner,
		Spec:   llm.ToolSpec{Name: def.Name, Description: def.Description, Parameters: params},
		Schema: schema,
	}, Note{}
}

func parameters(raw json.RawMessage) (json.RawMessage, *jsonschema.Schema, error) {
	params, err := jsonschema.Canonical(raw)
	if err != nil {
		return nil, nil, err
	}
	schema, err := jsonschema.Compile(params)
	return params, schema, err
}

// pathsOf is "path" where the parameters have a text of that name. Files have
// it by convention; a tool from outside may mean a path elsewhere.
func pathsOf(params json.RawMessage) []string {
	var schema struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	if json.Unmarshal(params, &schema) == nil {
		switch t := schema.Properties["path"].Type.(type) {
		case string:
			if t == "string" {
				return []string{"path"}
			}
		case []any:
			if slices.Contains(t, any("string")) {
				return []string{"path"}
			}
		}
	}
	return []string{} // also where the schema has a form that this doesn't read
}

// Note records why something is not a tool.
func (r *Registry) Note(n Note) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, n)
	r.settle()
}

// Withdraw removes all tools and notes of owner. Names that they kept from
// others go to these.
func (r *Registry) Withdraw(kind OwnerKind, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = slices.DeleteFunc(r.all, func(e *Entry) bool { return e.Owner.Kind == kind && e.Owner.ID == id })
	r.notes = slices.DeleteFunc(r.notes, func(n Note) bool { return n.Owner.Kind == kind && n.Owner.ID == id })
	r.settle()
}
