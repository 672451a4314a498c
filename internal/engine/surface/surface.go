// Package surface decides which tools a run may use, and why not the others.
// The decision is a list of layers ([Layers]), each a pure function that looks
// at the [Facts] of the run and at one tool and lets it pass or removes it.
// A layer has no way to add a tool, and what it removes it must explain, so
// that explaining is a by-product of deciding and can't drift from it. What is
// permitted is shown as the provider of the request takes it.
//
// A [Decider] belongs to one agent and lives as long as it. It compiles the
// agent's policies for the catalog it meets and remembers its decisions; both
// are forgotten when the catalog or the dialects change. It blocks only while it
// computes and while factories are asked, within a limit for each of their owners;
// it starts nothing and has nothing to close. Its decisions are shared
// and must not be changed.
//
// Start reading at [Layers], then [Decider.Decide].
package surface

import (
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine/owner"
	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Layer is one named reason to remove tools.
type Layer struct {
	Name string
	// Judge returns why e is removed, nil when it passes. It looks at nothing
	// but its arguments. Tool and Layer of the removal are filled in by the
	// caller.
	Judge func(f *Facts, e *tool.Entry) *tool.Removal
	// Secret says that what it removes is what an admin decided about the agent,
	// except by the rule of the lists that a request brings.
	Secret bool
}

// Facts are all that layers may know of a run. Equal keys mean equal facts, so
// a decision is remembered by its key: a field that is added here is added to
// [Facts.key] as well.
type Facts struct {
	Cap      tool.List
	Declared tool.List
	Origin   tool.Origin
	Channel  string // that the answers go to
	Role     auth.Role
	Human    bool       // the caller is a person
	Model    llm.Target // zero when the tools are for no model
	Declined []Declined // by factories, ordered by tool

	// What the request brings, and what its run is for.
	Allow  tool.List // entries as in a policy
	Deny   []string
	Skills tool.List
	Client []string // what the front end can do
	Flush  bool
	Depth  int

	Narrowed tool.Narrowed // what hooks left

	rules    []*rule         // the policies that apply to this run, in their order
	fits     *fits           // how tools are shown to the model's provider; nil as they are
	agent    *Policies       // what the agent has; not to be asked for lists
	required map[string]bool // tools that the listed skills need
}

// facts are those of a run, without the rules for it. What skills require is asked
// each time: it changes while the configuration stays.
func (g *generation) facts(s tool.Scope, t llm.Target, declined []Declined) Facts {
	c := s.Caller()
	return Facts{
		Cap: s.Cap(), Declared: s.Declared(), Origin: s.Origin(), Channel: s.Delivery().Channel,
		Role: c.Role, Human: c.Human, Model: t, Declined: declined,
		Allow: s.Allow(), Deny: s.Deny(), Skills: s.Skills(), Client: s.Client(), Flush: s.Flush(), Depth: s.Depth(), Narrowed: s.Narrowed(),
		agent: &g.policies, required: g.policies.Skills.requiredBy(s.Skills()),
	}
}

// Declined is a tool that its factory did not make for this run.
type Declined struct{ Tool, Reason string }

// Decision is what the layers left of a catalog, and what they removed.
type Decision struct {
	Permitted []*tool.Entry  // ordered by name
	Removed   []tool.Removal // ordered by name; the first layer that removed each
	// Lists are the explicit lists in force: runtime lists and allow lists, as
	// people know them. When they leave nothing, the run is pointless. Plain are
	// the same for those who may not know the configuration.
	Lists, Plain []string
}

// Secret reports whether the tool of that name is denied to the agent, so that
// only who may know the configuration is told of it.
func (dec *Decision) Secret(name string) bool {
	r, removed := dec.Removal(name)
	return removed && r.Secret
}

// Removal is why the tool of that name is not permitted.
func (dec *Decision) Removal(name string) (tool.Removal, bool) {
	i, ok := slices.BinarySearchFunc(dec.Removed, name, func(r tool.Removal, n string) int { return cmp.Compare(r.Tool, n) })
	if !ok {
		return tool.Removal{}, false
	}
	return dec.Removed[i], true
}

// Decider decides for the runs of one agent. It is safe for concurrent use.
type Decider struct {
	owners *owner.Asker

	mu       sync.Mutex
	lent     map[string][]*tool.Entry // by run
	brought  map[string]*brought      // by run
	dialects Dialects
	policies Policies
	revision int         // of the dialects
	now      *generation // nil until the first decision under these dialects
}

// maxRemembered bounds the decisions kept; when it is reached they are all
// forgotten, which costs less than finding out which one to forget.
const maxRemembered = 64

// generation is what holds as long as catalog and policies stay the same.
type generation struct {
	catalog   *tool.Catalog
	policies  Policies
	revision  int // of the decider
	factories []*tool.Entry
	rules     []*rule
	decisions map[key]*Decision
	fits      map[*jsonschema.Dialect]*fits
}

// New makes a decider. owners asks factories; nil is for who has no pool.
func New(p Policies, owners *owner.Asker) *Decider {
	if owners == nil {
		owners = owner.New(nil, nil)
	}
	return &Decider{policies: p, owners: owners}
}

// Dialects tells what the provider of a target takes of JSON Schema, nil when it
// takes anything.
type Dialects func(llm.Target) *jsonschema.Dialect

// SetDialects has tools shown as each target's provider takes them. Without, they
// are shown as they are. Decisions made before stay as they are.
func (d *Decider) SetDialects(of Dialects) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dialects, d.now = of, nil
	d.revision++
}

// Decide runs the tools of cat through the layers, for a run of scope s that
// asks target t. A zero target means that no model is involved. Factories that are
// late when ctx ends have declined.
func (d *Decider) Decide(ctx context.Context, cat *tool.Catalog, s tool.Scope, t llm.Target) *Decision {
	g := d.generation(cat)
	bound, declined := d.bind(ctx, g, s, t)
	f := g.facts(s, t, declined)
	k := f.key()
	var in [32]byte
	active := in[:0]
	for i, r := range g.rules {
		if r.applies(s, t) {
			active = binary.AppendUvarint(active, uint64(i))
		}
	}
	k.rules = string(active)

	d.mu.Lock()
	defer d.mu.Unlock()
	dec, lent := g.decisions[k], len(d.lent[s.Run()]) > 0
	if dec == nil || lent {
		// The lists of a request are held against all tools, which takes long:
		// other runs needn't wait for that.
		d.mu.Unlock()
		f.complete(g, s, t)
		d.mu.Lock()
		f.fits = d.fitsFor(g, t)
		if dec = g.decisions[k]; dec == nil {
			dec = judge(cat, &f)
			if len(g.decisions) >= maxRemembered {
				clear(g.decisions)
			}
			g.decisions[k] = dec
		}
	}
	dec = dec.with(bound)
	if b := d.brought[s.Run()]; b != nil {
		dec = d.join(dec, cat, b, s, t)
	}
	if lent {
		dec = d.lend(dec, &f, s.Run())
	}
	return dec
}

// complete adds to f the rules for the run, and the lists of the request.
func (f *Facts) complete(g *generation, s tool.Scope, t llm.Target) {
	for _, r := range g.rules {
		if r.applies(s, t) {
			f.rules = append(f.rules, r)
		}
	}
	if r := runtime(f, g.catalog); r != nil {
		f.rules = append(f.rules, r)
	}
}

// generation returns what is compiled for cat under the present policies.
func (d *Decider) generation(cat *tool.Catalog) *generation {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.now == nil || d.now.catalog != cat {
		d.now = d.compile(cat)
	}
	return d.now
}

// compile makes what holds for cat under the present policies. The caller
// holds d.mu.
func (d *Decider) compile(cat *tool.Catalog) *generation {
	g := &generation{
		catalog: cat, policies: d.policies, revision: d.revision, rules: d.policies.compile(cat),
		decisions: map[key]*Decision{}, fits: map[*jsonschema.Dialect]*fits{},
	}
	for _, e := range cat.Entries {
		if owner.Binds(e) {
			g.factories = append(g.factories, e)
		}
	}
	return g
}

// judge asks the layers about each tool.
func judge(cat *tool.Catalog, f *Facts) *Decision {
	dec := &Decision{Permitted: make([]*tool.Entry, 0, len(cat.Entries))}
	dec.Lists, dec.Plain = f.lists()
	for _, e := range cat.Entries {
		if r, removed := f.removal(e, Layers); removed {
			dec.Removed = append(dec.Removed, r)
		} else {
			dec.Permitted = append(dec.Permitted, f.shown(e))
		}
	}
	return dec
}

// removal is what the first of layers says that removes e.
func (f *Facts) removal(e *tool.Entry, layers []Layer) (r tool.Removal, removed bool) {
	for i := range layers {
		if first := layers[i].Judge(f, e); first != nil {
			r = *first
			r.Tool, r.Layer, r.Secret = e.Def.Name, layers[i].Name, f.secret(e, layers[i:], first)
			return r, true
		}
	}
	return r, false
}

// secret reports whether what an admin decided about the agent removes e. The
// first of layers did, with r; that another one came before it, which a request
// may have narrowed as it likes, must not tell of the tool.
func (f *Facts) secret(e *tool.Entry, layers []Layer, r *tool.Removal) bool {
	for i := range layers {
		if !layers[i].Secret {
			continue
		}
		if i > 0 {
			r = layers[i].Judge(f, e)
		}
		if r != nil && r.Rule != runtimeRule {
			return true
		}
	}
	return false
}

// ofAdmins is how lists of the configuration are called where nobody is told
// what stands in it.
const ofAdmins = "what the agent is permitted"

// lists are the explicit lists in force, and the same without words of the
// configuration.
func (f *Facts) lists() (lists, plain []string) {
	add := func(secret bool, list string) {
		lists = append(lists, list)
		if secret {
			list = ofAdmins
		}
		if !slices.Contains(plain, list) {
			plain = append(plain, list)
		}
	}
	if f.Cap.Limited() {
		add(false, "the run's cap")
	}
	for _, r := range f.rules {
		if r.allow != "" {
			add(r.name != runtimeRule, r.allow)
		}
	}
	if f.Skills.Limited() {
		add(true, cmp.Or(f.agent.Skills.Where.Key, "skills.allow"))
	}
	if f.Narrowed.Allow.Limited() {
		add(true, "the tools that hooks allow ("+f.Narrowed.By+")")
	}
	if f.Declared.Limited() {
		add(false, "the declared tools")
	}
	return lists, plain
}

// key is Facts in a form that can be compared.
type key struct {
	cap, declared, declined    string
	allow, deny, skills, needs string
	required                   string
	narrowed, by, failed       string
	origin                     tool.Origin
	channel                    string
	role                       auth.Role
	human, flush               bool
	depth                      int
	model                      llm.Target
	rules                      string
}

func (f *Facts) key() key {
	k := key{
		cap: joined(f.Cap), declared: joined(f.Declared),
		allow: joined(f.Allow), deny: packed(f.Deny), skills: joined(f.Skills), needs: packed(f.Client),
		origin: f.Origin, channel: f.Channel, role: f.Role, human: f.Human, flush: f.Flush, depth: f.Depth, model: f.Model,
	}
	if len(f.required) > 0 {
		k.required = packed(slices.Sorted(maps.Keys(f.required)))
	}
	k.narrowed, k.by, k.failed = joined(f.Narrowed.Allow), f.Narrowed.By, f.Narrowed.Failed
	if len(f.Declined) > 0 {
		all := make([]string, 0, 2*len(f.Declined))
		for _, d := range f.Declined {
			all = append(all, d.Tool, d.Reason)
		}
		k.declined = packed(all)
	}
	return k
}

// joined tells an unlimited list, "", from an empty one.
func joined(l tool.List) string {
	if !l.Limited() {
		return ""
	}
	return "=" + packed(l.Names())
}

// packed is a list as one text that no other list gives, whatever stands in its
// entries: some of them come with requests.
func packed(list []string) string {
	var b []byte
	for _, s := range list {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return string(b)
}
