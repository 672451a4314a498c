package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/tool"
)

// origin is that of what the caller starts: a browser is somebody who chats.
func (c Caller) origin() tool.Origin {
	if c.Cookie {
		return tool.FromChat
	}
	return tool.FromAPI
}

// sees reports whether the caller may see what owner began: their own, and
// admins all.
func (c Caller) sees(owner auth.Principal) bool {
	return session.Session{Caller: owner}.MayUse(c.Principal)
}

// owner is the id that lists are narrowed to, empty for all.
func (c Caller) owner() string {
	if c.Role == auth.Admin {
		return ""
	}
	return c.ID
}

// agentOf resolves the name of an agent to the id of one that can be used; "",
// main and default name the default agent unless one has that id.
func (s *Server) agentOf(ctx context.Context, name string) (string, error) {
	_, profile, err := s.opts.Runner.Scope(run.Request{Agent: name})
	if err == nil {
		return profile.ID, nil
	}
	var ids []string
	for _, a := range s.opts.Backend.Agents(ctx) {
		if a.ID == name || isAlias(name) && a.Default {
			s.opts.Log.Error("an agent can't be used", "agent", a.ID, "err", err)
			return "", problem(http.StatusServiceUnavailable, "unavailable", "agent %s can't be used: %s", a.ID, cmp.Or(a.Problem, "the gateway's log says why"))
		}
		ids = append(ids, a.ID)
	}
	return "", notFound("there is no agent %q: known are %s", name, strings.Join(ids, ", "))
}

// isAlias reports whether a name can mean the default agent.
func isAlias(name string) bool {
	return name == "" || strings.EqualFold(name, "main") || strings.EqualFold(name, "default")
}

// keyOf names a session as a request does. Sessions of agents that are not
// configured any more can still be looked at.
func (s *Server) keyOf(ctx context.Context, agentName, id string) (session.Key, error) {
	key := session.Key{Agent: agentName, ID: id}
	if isAlias(agentName) {
		var err error
		if key.Agent, err = s.agentOf(ctx, agentName); err != nil {
			return key, err
		}
	}
	if err := key.Check(); err != nil {
		return key, badRequest("%v", err)
	}
	return key, nil
}

// foundSession is a session as it is at the moment.
type foundSession struct {
	session.Session // without its state
	stored          bool
	going           *run.Run // nil when none is
	waiting         []*run.Run
}

// lookUp finds a session. A session whose first run has its place but has
// not begun yet is there too, though nothing is stored of it. Else the error is
// session.ErrNotFound.
func (s *Server) lookUp(ctx context.Context, key session.Key) (foundSession, error) {
	var p foundSession
	p.going, p.waiting = s.opts.Runner.Session(key)
	list, _, err := s.opts.Sessions.Sessions(ctx, session.Filter{Agent: key.Agent, ID: key.ID, Limit: 1})
	switch {
	case err != nil:
		return p, err
	case len(list) > 0:
		p.Session, p.stored = list[0], true
	case p.going != nil:
		p.Session = unbegun(key, p.going)
	default:
		return p, fmt.Errorf("session %s: %w", key, session.ErrNotFound)
	}
	return p, nil
}

// unbegun is a session of which nothing is stored yet.
func unbegun(key session.Key, first *run.Run) session.Session {
	q, at := first.Request(), first.Times().Queued.UTC()
	return session.Session{
		Key: key, Title: session.Title(q.Message), Origin: q.Origin, Caller: q.Caller,
		Created: at, Updated: at, Status: agent.Running, Plan: q.Plan,
	}
}

// find looks up a session that the caller asks for. To those who may not see
// it it is not there.
func (s *Server) find(ctx context.Context, c Caller, agentName, id string) (foundSession, error) {
	key, err := s.keyOf(ctx, agentName, id)
	if err != nil {
		return foundSession{}, err
	}
	p, err := s.lookUp(ctx, key)
	if errors.Is(err, session.ErrNotFound) && agentName != "" && agentName != key.Agent {
		// An agent that really had that name left it behind.
		p, err = s.lookUp(ctx, session.Key{Agent: agentName, ID: id})
	}
	if errors.Is(err, session.ErrNotFound) || err == nil && !c.sees(p.Caller) {
		return foundSession{}, noSession(key)
	}
	return p, err
}

func noSession(key session.Key) error {
	return notFound("there is no session %s that you can see", key)
}

// sessionOf is p as it is told.
func sessionOf(p foundSession) Session {
	out := Session{
		Agent: p.Key.Agent, ID: p.Key.ID, Title: p.Title, Origin: p.Origin, Caller: p.Caller,
		Created: p.Created, Updated: p.Updated, Turns: p.Turns, Usage: p.Usage, USD: p.USD, Status: p.Status, ForkOf: p.ForkOf, Queued: len(p.waiting), Plan: p.Plan,
	}
	if p.going != nil {
		out.Running = p.going.ID
	}
	return out
}

// Names of sessions that routes of their own begin, each for its caller.
const (
	byHand    = "invoke-" // of single tool calls
	byProgram = "api:"    // of OpenAI's interface
)

// HandSession is the session of a user's tool calls outside of any other.
func HandSession(user string) string {
	id := byHand + user
	if (session.Key{Agent: "a", ID: id}).Check() == nil {
		return id
	}
	// An id of a user may hold what a session's must not.
	return byHand + fmt.Sprintf("%x", auth.SumOf(user))[:16]
}

// mayBegin reports whether the caller may begin a session of this name: nobody
// may take what is another's before they come to use it.
func mayBegin(c Caller, id string) bool {
	switch {
	case strings.HasPrefix(id, byHand):
		return id == HandSession(c.ID)
	case strings.HasPrefix(id, byProgram):
		return isOwn(c, id)
	}
	return true
}

// isOwn reports whether a session's name is one of those that OpenAI's
// interface gives the caller's sessions.
func isOwn(c Caller, id string) bool { return strings.HasPrefix(id, byProgram+c.ID+":") }

// graves remembers the sessions that were deleted not long ago, so that those
// who could see them can be told. It is safe for concurrent use.
type graves struct {
	mu    sync.Mutex
	order []session.Key // the oldest first
	last  map[session.Key]session.Session
}

// manyGraves is how many are remembered: more than are deleted while a change
// is on its way to those who watch.
const manyGraves = 256

func (g *graves) add(was session.Session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last == nil {
		g.last = map[session.Key]session.Session{}
	}
	if _, ok := g.last[was.Key]; !ok {
		g.order = append(g.order, was.Key)
	}
	g.last[was.Key] = was
	if len(g.order) > manyGraves {
		delete(g.last, g.order[0])
		g.order = slices.Delete(g.order, 0, 1)
	}
}

func (g *graves) get(key session.Key) (session.Session, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	was, ok := g.last[key]
	return was, ok
}
