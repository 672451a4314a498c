// Package cache keeps what tools that only read have answered, so that an equal
// call is answered without running again. It answers only what running again
// would: an entry goes when a call writes what it was read from, whichever tool
// and agent made that call; it isn't used when its tool finds that what it read
// has changed from outside; and what was read while a call wrote is not kept.
//
// One [Cache] is shared by all agents of the process. It lives in memory, has no
// goroutine and nothing to close: entries that are too old go when they are
// found or when others need their place. Two processes don't know of each
// other's writes; what [tool.Stamper] and the age limit don't catch between
// them is up to a minute old.
//
// Start reading at [Cache.Begin] for calls that read and at [Cache.Write] for
// calls that change something.
package cache

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/goclaw/goclaw/internal/tool"
)

const (
	defaultBytes = 64 << 20
	maxArgs      = 64 << 10 // bytes of arguments of a call that is kept
	maxSeen      = 100      // writes that a call may overlap with and still be looked at one by one
)

// Options bound a cache.
type Options struct {
	Entries int           // results that are kept; none at 0
	TTL     time.Duration // how old one may get; none are kept at 0
	Bytes   int64         // of all results together; 64 MB at 0. One may have an eighth of it
	Now     func() time.Time
}

// Cache keeps results. It is safe for concurrent use, and a nil Cache keeps
// nothing.
type Cache struct {
	ttl time.Duration
	max int64
	now func() time.Time

	mu     sync.Mutex
	lru    *simplelru.LRU[key, *entry]
	held   int64
	writes map[*Write]struct{} // that have begun and not ended
	reads  map[*Read]struct{}  // whose results may be kept
	stats  Stats
}

// New makes a cache. It is nil when the options keep nothing.
func New(o Options) *Cache {
	if o.Entries <= 0 || o.TTL <= 0 {
		return nil
	}
	c := &Cache{ttl: o.TTL, max: o.Bytes, now: o.Now, writes: map[*Write]struct{}{}, reads: map[*Read]struct{}{}}
	if c.max <= 0 {
		c.max = defaultBytes
	}
	if c.now == nil {
		c.now = time.Now
	}
	lru, err := simplelru.NewLRU(o.Entries, func(_ key, e *entry) { c.held -= e.size })
	if err != nil {
		panic("cache: " + err.Error()) // only a size that is not positive is an error
	}
	c.lru = lru
	return c
}

// Query is a call that only reads, and all that its answer depends on.
type Query struct {
	Tool      string
	Owner     string // of the tool: another owner's tool of the same name is another tool
	Args      json.RawMessage
	Agent     string
	Workspace string
	Caller    string       // empty when the answer is the same for everybody
	Touches   []tool.Touch // as far as they are known before the call runs
	// Stamp tells in what condition the things are that the call reads; see
	// [tool.Stamper]. Nil: only calls change them.
	Stamp func(at time.Time) (string, bool)
}

// key tells calls apart.
type key struct{ tool, owner, agent, workspace, caller, args string }

// entry is a kept result.
type entry struct {
	result  tool.Result
	touches []tool.Touch // with names that mean the same for all agents
	kept    time.Time
	at      time.Time // when stamp was taken
	stamp   string
	size    int64
}

// Begin looks for the answer of an equal call. Without one (ok is false) the
// caller runs the call and hands in what came of it through [Read.Keep]; read
// may be nil, which keeps nothing.
func (c *Cache) Begin(q Query) (result tool.Result, read *Read, ok bool) {
	if c == nil || len(q.Args) > maxArgs || slices.ContainsFunc(q.Touches, func(t tool.Touch) bool { return t.Write }) {
		return tool.Result{}, nil, false
	}
	args, usable := meaning(q.Args)
	if !usable {
		return tool.Result{}, nil, false
	}
	k := key{q.Tool, q.Owner, q.Agent, q.Workspace, q.Caller, args}
	if e := c.get(k); e != nil && c.counted(k, e, e.fresh(q.Stamp)) {
		return copied(e.result), nil, true
	}
	read = c.begin(k, q)
	if q.Stamp == nil {
		return tool.Result{}, read, false
	}
	// Taken after the call is known to read: a change that comes before is in
	// what it reads, one that comes later changes the stamp or is seen as a
	// write.
	read.at = c.now()
	if read.stamp, ok = q.Stamp(read.at); !ok {
		read.End()
		return tool.Result{}, nil, false
	}
	return tool.Result{}, read, false
}

// get returns the entry of k unless it is too old.
func (c *Cache) get(k key) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.lru.Get(k)
	if ok && c.now().Sub(e.kept) >= c.ttl {
		c.lru.Remove(k)
		ok = false
	}
	if !ok {
		c.stats.Misses++
		return nil
	}
	return e
}

// fresh reports whether nothing has changed e's things from outside.
func (e *entry) fresh(stamp func(time.Time) (string, bool)) bool {
	if stamp == nil {
		return true
	}
	now, ok := stamp(e.at)
	return ok && now == e.stamp
}

// counted reports whether e serves, which was found fresh or not: it does if it is
// still in its place. It counts the hit, or the miss.
func (c *Cache) counted(k key, e *entry, fresh bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, ok := c.lru.Peek(k); fresh && ok && now == e {
		c.stats.Hits++
		return true
	}
	c.stats.Misses++
	return false
}

// Read is a call that runs and whose result may be kept.
type Read struct {
	c     *Cache
	key   key
	query Query
	at    time.Time
	stamp string
	over  bool         // guarded by the cache's lock
	seen  []tool.Touch // what calls wrote meanwhile; guarded by the cache's lock
}

func (c *Cache) begin(k key, q Query) *Read {
	r := &Read{c: c, key: k, query: q}
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.writes {
		r.see(w.touches)
	}
	c.reads[r] = struct{}{}
	return r
}

// see notes that touches are written while r reads.
func (r *Read) see(touches []tool.Touch) {
	if len(r.seen)+len(touches) > maxSeen {
		r.seen, touches = nil, []tool.Touch{tool.Everything}
	}
	r.seen = append(r.seen, touches...)
}

// Keep keeps the result for equal calls, unless what it was read from was
// written meanwhile. touches are all that the call read, as far as running it
// found out.
func (r *Read) Keep(result tool.Result, touches []tool.Touch) {
	if r == nil {
		return
	}
	defer r.End()
	result, size, ok := settled(result)
	if size += r.key.size(); !ok || size > r.c.max/8 {
		return
	}
	e := &entry{result: result, touches: everywhere(r.query.Workspace, touches), at: r.at, stamp: r.stamp, size: size}
	if slices.ContainsFunc(e.touches, func(t tool.Touch) bool { return t.Write }) {
		return
	}
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if !r.over && !tool.Conflict(e.touches, r.seen) {
		r.c.put(r.key, e)
	}
}

func (c *Cache) put(k key, e *entry) {
	e.kept = c.now()
	c.lru.Remove(k)
	c.lru.Add(k, e)
	c.held += e.size
	for c.held > c.max {
		c.lru.RemoveOldest()
	}
}

// End ends the call without keeping anything of it. It may be called after
// Keep, and again.
func (r *Read) End() {
	if r == nil {
		return
	}
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.over = true
	delete(r.c.reads, r)
}

// Write is a call that changes something.
type Write struct {
	c         *Cache
	workspace string
	touches   []tool.Touch
}

// Write takes in that a call begins to write what touches say. It hides what is
// kept of that until [Write.End], which is due when the call's code has really
// returned, however late.
func (c *Cache) Write(workspace string, touches []tool.Touch) *Write {
	if c == nil {
		return nil
	}
	w := &Write{c: c, workspace: workspace, touches: everywhere(workspace, written(touches))}
	if len(w.touches) == 0 {
		return w
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes[w] = struct{}{}
	c.spoil(w.touches)
	return w
}

// End takes in that the call has ended, and what more it turned out to have
// touched.
func (w *Write) End(more ...tool.Touch) {
	if w == nil {
		return
	}
	found := everywhere(w.workspace, written(more))
	if len(w.touches)+len(found) == 0 {
		return
	}
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	delete(w.c.writes, w)
	w.c.spoil(w.touches)
	w.c.spoil(found)
}

// spoil drops what was read from what is written, and notes it for those that
// read now.
func (c *Cache) spoil(writes []tool.Touch) {
	if len(writes) == 0 {
		return
	}
	for _, k := range c.lru.Keys() {
		if e, ok := c.lru.Peek(k); ok && tool.Conflict(e.touches, writes) {
			c.lru.Remove(k)
			c.stats.Spoiled++
		}
	}
	for r := range c.reads {
		r.see(writes)
	}
}

// written are those of touches that write.
func written(touches []tool.Touch) []tool.Touch {
	return slices.DeleteFunc(slices.Clone(touches), func(t tool.Touch) bool { return !t.Write })
}

// Stats counts what a cache did.
type Stats struct {
	Hits, Misses uint64
	Spoiled      uint64 // results dropped because a call wrote what they were read from
	Entries      int
	Bytes        int64
}

// Stats tells what the cache did since it was made, and what it holds.
func (c *Cache) Stats() Stats {
	if c == nil {
		return Stats{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Entries, s.Bytes = c.lru.Len(), c.held
	return s
}

// settled is a result in the form in which it is kept: nothing in it changes any
// more when whoever made it goes on. size is about what it takes in memory.
func settled(r tool.Result) (own tool.Result, size int64, ok bool) {
	own = copied(r)
	size = 512
	if r.Details != nil {
		details, err := json.Marshal(r.Details)
		if err != nil {
			return own, 0, false // told by the step that stores details
		}
		own.Details = json.RawMessage(details)
		size += int64(len(details))
	}
	for _, p := range r.Content {
		size += int64(len(p.Text)) + 200
		if p.Media != nil {
			size += int64(len(p.Media.Data))
		}
	}
	for _, e := range r.Effects {
		size += int64(len(e.Key)+len(e.Value)+len(e.Args)) + 100
	}
	return own, size, true
}

// copied is r with slices of its own, so that what becomes of one answer is not
// seen in the next.
func copied(r tool.Result) tool.Result {
	r.Content, r.Effects, r.Touched = slices.Clone(r.Content), slices.Clone(r.Effects), slices.Clone(r.Touched)
	for i := range r.Content {
		if m := r.Content[i].Media; m != nil {
			own := *m
			r.Content[i].Media = &own
		}
	}
	return r
}

func (k key) size() int64 {
	return int64(len(k.tool) + len(k.owner) + len(k.agent) + len(k.workspace) + len(k.caller) + len(k.args))
}
