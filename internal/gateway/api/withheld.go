package api

import (
	"context"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine/selection"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// sight is what somebody may be told of runs that others made in a conversation
// of theirs: of calls of the tools that they are told of themselves. It decides
// for turns, exports, events and media alike. What people and models said stays
// as it is. A nil sight tells everything.
type sight struct {
	known  map[string]bool // tools that they are told of
	denied map[string]bool // tools that are denied to them
}

// sightOf is c's sight of a run of who with an agent. Admins are told
// everything, and so is everybody of their own runs: what these were offered
// was theirs to know.
func (s *Server) sightOf(ctx context.Context, c Caller, agentID string, who auth.Principal) (*sight, error) {
	if !c.discreet() || who.ID == c.ID && who.Role == c.Role {
		return nil, nil
	}
	v := &sight{known: map[string]bool{}, denied: map[string]bool{}}
	req := run.Request{Agent: agentID, Origin: c.origin(), Caller: c.Principal}
	if _, _, err := s.opts.Runner.Scope(req); err != nil {
		return v, nil // the agent can't be used any more: there is nothing that they are told of
	}
	surface, err := s.opts.Backend.Surface(ctx, req)
	if err != nil {
		return nil, err
	}
	for _, name := range surface.known() {
		v.known[name] = true
	}
	for _, r := range surface.Removed {
		if r.Secret {
			v.denied[r.Tool] = true
		}
	}
	return v, nil
}

// sees reports whether they are told of the tool.
func (v *sight) sees(name string) bool { return v == nil || v.known[name] }

// shows reports whether they are shown calls of the tool: its arguments and what
// it said. One whose business it is to tell of tools may speak of any, in words
// that nobody can look through, as a script that puts a name together.
func (v *sight) shows(name string) bool {
	return v.sees(name) && (v == nil || len(v.denied) == 0 || !slices.Contains(tellers, name))
}

// betrays reports whether a text names a tool that is denied to them.
func (v *sight) betrays(text string) bool {
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	}) {
		if v.denied[word] {
			return true
		}
	}
	return false
}

// tellers are the tools whose business it is to tell of tools.
var tellers = []string{selection.SearchTools, "tool_code"}

// notShown stands for what is left out of a call.
const notShown = "This is not shown: it tells of tools that you are not told of."

// outcome is o as they are told it.
func (v *sight) outcome(o tool.Outcome) tool.Outcome {
	switch {
	case v == nil:
		return o
	case !v.shows(o.Tool):
		return o.Withhold()
	case o.Status == tool.Refused && v.betrays(llm.JoinText(o.Content)):
		o.Content, o.Details, o.Refusal, o.Ref = []llm.Part{llm.Text(notShown)}, nil, nil, ""
	}
	o.Nested = slices.DeleteFunc(slices.Clone(o.Nested), func(a tool.Approval) bool { return !v.shows(a.Tool) })
	o.Effects = slices.DeleteFunc(slices.Clone(o.Effects), func(e tool.Effect) bool { return e.Kind == tool.ToolAdded && !v.sees(e.Key) })
	o.Notices = v.texts(o.Notices)
	return o
}

// texts are those of list that betray nothing.
func (v *sight) texts(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), v.betrays)
}

// failure is why a run failed, as they are told it.
func (v *sight) failure(text string) string {
	if v != nil && v.betrays(text) {
		return "the run failed: " + askAdmin
	}
	return text
}

// names are those of list that they are told of.
func (v *sight) names(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(name string) bool { return !v.sees(name) })
}

// facts is what they are told of a request.
func (v *sight) facts(f agent.RequestFacts) agent.RequestFacts {
	f.Tools, f.Notices = v.names(f.Tools), v.texts(f.Notices)
	f.Picks = slices.DeleteFunc(slices.Clone(f.Picks), func(p tool.Pick) bool { return !v.sees(p.Tool) })
	for i := range f.Picks {
		f.Picks[i].Reasons = v.texts(f.Picks[i].Reasons)
	}
	return f
}

// message is m with the calls whose outcomes are not withheld, and with results
// of tools that they are told of. What a vendor keeps with a part may repeat the
// rest.
func (v *sight) message(m llm.Message, outcomes []tool.Outcome) llm.Message {
	m.Parts = slices.Clone(m.Parts)
	n := 0 // calls so far
	for i := range m.Parts {
		p := &m.Parts[i]
		p.Opaque = nil
		if p.Call != nil {
			if n < len(outcomes) && outcomes[n].Withheld || n >= len(outcomes) && !v.shows(p.Call.Name) {
				p.Call = &llm.ToolCall{ID: p.Call.ID}
			}
			n++
		}
		if p.Result != nil && !v.shows(p.Result.Name) {
			p.Result = &llm.ToolResult{CallID: p.Result.CallID, Content: []llm.Part{llm.Text(notShown)}, IsError: p.Result.IsError}
		}
	}
	return m
}

// turn is t as they are told it.
func (v *sight) turn(t session.Turn) session.Turn {
	if v == nil {
		return t
	}
	t.Message, t.Error, t.Rounds = v.message(t.Message, nil), v.failure(t.Error), slices.Clone(t.Rounds)
	for i := range t.Rounds {
		r := &t.Rounds[i]
		r.Before, r.Outcomes = slices.Clone(r.Before), slices.Clone(r.Outcomes)
		for j := range r.Before {
			r.Before[j] = v.message(r.Before[j], nil)
		}
		for j := range r.Outcomes {
			r.Outcomes[j] = v.outcome(r.Outcomes[j])
		}
		r.Reply.Message, r.Request, r.Calls = v.message(r.Reply.Message, r.Outcomes), v.facts(r.Request), nil
		r.Attempts = slices.Clone(r.Attempts)
		for j := range r.Attempts {
			a := &r.Attempts[j]
			a.Message = v.failure(a.Message)
			if v.betrays(a.Told) {
				a.Told = ""
			}
		}
		r.Notices = slices.DeleteFunc(slices.Clone(r.Notices), func(n agent.Told) bool { return v.betrays(n.Text) })
	}
	return t
}

// event is e as they are told it. ok is false when they are told nothing: that a
// call was made which is withheld, its end alone tells.
func (v *sight) event(e agent.Event) (_ agent.Event, ok bool) {
	if v == nil {
		return e, true
	}
	if t := e.Tool; t != nil {
		shown := *t
		if t.Outcome != nil {
			o := v.outcome(*t.Outcome)
			if shown.Outcome = &o; o.Withheld {
				shown.Name, shown.Args = "", nil
			}
		} else if !v.shows(t.Name) {
			return e, false
		}
		e.Tool = &shown
	}
	if e.Approval != nil && !v.shows(e.Approval.Tool) || e.Type == agent.Notice && v.betrays(e.Text) {
		return e, false
	}
	if e.Request != nil {
		f := v.facts(*e.Request)
		e.Request = &f
	}
	if e.Type == agent.RunFailed {
		e.Text = v.failure(e.Text)
	}
	if e.End != nil && len(e.End.Calls) > 0 {
		end := *e.End
		end.Calls = slices.DeleteFunc(slices.Clone(end.Calls), func(t agent.ToolEvent) bool { return !v.shows(t.Name) })
		e.End = &end
	}
	return e, true
}

// sights are those that one caller has of the runs of a session, each looked up once.
type sights struct {
	s      *Server
	c      Caller
	key    session.Key
	others *sight // of runs of others; nil until one is met
}

func (n *sights) of(ctx context.Context, who auth.Principal) (*sight, error) {
	if n.others != nil && !(who.ID == n.c.ID && who.Role == n.c.Role) {
		return n.others, nil
	}
	v, err := n.s.sightOf(ctx, n.c, n.key.Agent, who)
	if v != nil {
		n.others = v
	}
	return v, err
}

// discreetStore is what a session holds as somebody is told it.
type discreetStore struct {
	session.Store
	seen *sights
}

func (d discreetStore) Session(ctx context.Context, key session.Key) (session.Session, error) {
	p, err := d.Store.Session(ctx, key)
	if err != nil || p.State == nil {
		return p, err
	}
	v, err := d.seen.of(ctx, auth.Principal{}) // the state is everybody's who spoke
	if err != nil || v == nil {
		return p, err
	}
	st := *p.State
	st.Tools, st.Added, st.Used, st.Own, st.Meant = v.names(st.Tools), v.names(st.Added), v.names(st.Used), v.names(st.Own), v.names(st.Meant)
	st.Presets = slices.DeleteFunc(slices.Clone(st.Presets), func(c tool.PresetChoice) bool { return !v.sees(c.Tool) })
	p.State = &st
	return p, nil
}

func (d discreetStore) Turns(ctx context.Context, key session.Key, first, last int, depth session.Depth) ([]session.Turn, error) {
	turns, err := d.Store.Turns(ctx, key, first, last, depth)
	for i := range turns {
		if err != nil {
			break
		}
		var v *sight
		if v, err = d.seen.of(ctx, turns[i].Caller); err == nil {
			turns[i] = v.turn(turns[i])
		}
	}
	return turns, err
}
