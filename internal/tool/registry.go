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
	i, ok := slices.BinarySearchFunc(c.Entries, name, func(e *Entry, n string) int { return cmp.Compare(e.Def.Name, n) })
	if !ok {
		return nil, false
	}
	return c.Entries[i], true
}

// Registry keeps an agent's tools. Readers take a [Catalog] and never block.
type Registry struct {
	mu  sync.Mutex // held by writers
	cat atomic.Pointer[Catalog]
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
	next, notes := r.copy(), []Note(nil)
	for _, t := range tools {
		if n, bad := next.add(owner, t); bad {
			notes = append(notes, n)
		}
	}
	next.Notes = append(next.Notes, notes...)
	slices.SortFunc(next.Entries, func(a, b *Entry) int { return cmp.Compare(a.Def.Name, b.Def.Name) })
	r.cat.Store(next)
	return notes
}

func (c *Catalog) add(owner Owner, t Tool) (Note, bool) {
	def := t.Definition()
	reject := func(reason, fix string) (Note, bool) {
		return Note{Tool: def.Name, Owner: owner, State: "registered", Reason: reason, Fix: fix}, true
	}
	if !ValidName(def.Name) {
		return reject(fmt.Sprintf("the name %q is not canonical (%s)", def.Name, namePattern), "give the tool a canonical name")
	}
	for i, e := range c.Entries {
		if e.Def.Name != def.Name {
			continue
		}
		if owner.Kind >= e.Owner.Kind {
			return reject(fmt.Sprintf("the name is taken by %s", e.Owner), "rename the tool, or remove "+e.Owner.String())
		}
		// A tool of ours takes its name back from whoever came first.
		c.Notes = append(c.Notes, Note{
			Tool: def.Name, Owner: e.Owner, State: "registered",
			Reason: fmt.Sprintf("the name belongs to %s", owner), Fix: "rename the tool",
		})
		c.Entries = slices.Delete(c.Entries, i, i+1)
		break
	}
	params, schema, err := parameters(def.Parameters)
	if err != nil {
		return reject(fmt.Sprintf("its parameter schema is not usable: %v", err), "correct the schema")
	}
	def.Parameters = params
	if def.Paths == nil && owner.Kind <= PluginOwner {
		def.Paths = pathsOf(params)
	}
	c.Entries = append(c.Entries, &Entry{
		Tool: t, Def: def, Owner: owner,
		Spec:   llm.ToolSpec{Name: def.Name, Description: def.Description, Parameters: params},
		Schema: schema,
	})
	return Note{}, false
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
	next := r.copy()
	next.Notes = append(next.Notes, n)
	r.cat.Store(next)
}

// Withdraw removes all tools and notes of owner.
func (r *Registry) Withdraw(kind OwnerKind, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.copy()
	next.Entries = slices.DeleteFunc(next.Entries, func(e *Entry) bool { return e.Owner.Kind == kind && e.Owner.ID == id })
	next.Notes = slices.DeleteFunc(next.Notes, func(n Note) bool { return n.Owner.Kind == kind && n.Owner.ID == id })
	r.cat.Store(next)
}

func (r *Registry) copy() *Catalog {
	now := r.cat.Load()
	return &Catalog{Revision: now.Revision + 1, Entries: slices.Clone(now.Entries), Notes: slices.Clone(now.Notes)}
}
