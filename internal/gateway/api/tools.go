package api

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// userOrigins are those as which a user may look at tools. The others act for
// nobody in particular, or from what an admin wrote.
var userOrigins = []tool.Origin{tool.FromChat, tool.FromAPI, tool.FromChannel, tool.FromSubagent}

// look is the request of a run that is only looked at: as the query says, with
// at most the caller's authority.
func (s *Server) look(r *http.Request, c Caller) (run.Request, error) {
	q := r.URL.Query()
	req := run.Request{Origin: c.origin(), Caller: c.Principal, Model: q.Get("model")}
	if err := s.as(&req, c, q); err != nil {
		return req, err
	}
	var err error
	if req.Agent, err = s.agentOf(r.Context(), q.Get("agent")); err != nil {
		return req, err
	}
	if err := s.opts.Runner.CheckModel(req.Model); err != nil {
		return req, badRequest("%v", err)
	}
	if id := q.Get("session"); id != "" {
		p, err := s.find(r.Context(), c, req.Agent, id)
		if err != nil {
			return req, err
		}
		req.Session = p.ID
	}
	if text := q.Get("message"); text != "" {
		req.Message = llm.UserMessage(text)
	}
	if text := q.Get("client_tools"); text != "" {
		if req.Brought, err = ReadTools([]byte(text)); err != nil {
			return req, badRequest("client_tools: %v", err)
		}
	}
	return req, narrow(&req, q)
}

// narrow sets what of a query narrows and places a run that is looked at.
func narrow(req *run.Request, q url.Values) error {
	for name, to := range map[string]*tool.List{"cap": &req.Cap, "declare": &req.Declared, "tools_allow": &req.Allow} {
		if q.Has(name) {
			*to = tool.Only(commas(q.Get(name))...)
		}
	}
	req.Deny, req.Client = commas(q.Get("tools_deny")), commas(q.Get("client"))
	if err := checkLists(req); err != nil {
		return err
	}
	req.Delivery = tool.Delivery{Channel: q.Get("channel"), Account: q.Get("account"), Group: q.Get("group"), Thread: q.Get("thread")}
	for name, to := range map[string]*bool{"sandbox": &req.Sandbox, "flush": &req.Flush} {
		switch v := q.Get(name); v {
		case "", "false":
		case "true":
			*to = true
		default:
			return badRequest("%s is %q: it can be true or false", name, v)
		}
	}
	if v := q.Get("depth"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			return badRequest("depth is %q: it is a number from 0 on", v)
		}
		req.Depth = n
	}
	return nil
}

// Bounds of the lists that a request brings, each of which is held against all
// tools.
const (
	maxEntries = 256
	maxEntry   = 128 // bytes; names of tools have at most 64
)

// checkLists reports lists that nobody means.
func checkLists(req *run.Request) error {
	for _, l := range []struct {
		name    string
		entries []string
	}{
		{"cap", req.Cap.Names()},
		{"declare", req.Declared.Names()},
		{"tools_allow", req.Allow.Names()},
		{"tools_deny", req.Deny},
		{"client", req.Client},
	} {
		if len(l.entries) > maxEntries {
			return badRequest("%s has %d entries, and may have %d", l.name, len(l.entries), maxEntries)
		}
		for _, e := range l.entries {
			if len(e) > maxEntry || strings.ContainsFunc(e, unicode.IsControl) {
				return badRequest("%s holds %.60q: an entry has at most %d bytes and no control characters", l.name, e, maxEntry)
			}
		}
	}
	return nil
}

// commas are the parts of a list that is written with commas.
func commas(s string) []string {
	var parts []string
	for p := range strings.SplitSeq(s, ",") {
		if p = strings.TrimSpace(p); p != "" {
			parts = append(parts, p)
		}
	}
	return parts
}

// as sets in whose role and from where a look is to be, if the query says so.
func (s *Server) as(req *run.Request, c Caller, q url.Values) error {
	return actAs(req, c, auth.Role(q.Get("role")), tool.Origin(q.Get("origin")))
}

// actAs sets in whose role and from where a call is to be, if they are given.
func actAs(req *run.Request, c Caller, role auth.Role, origin tool.Origin) error {
	if role != "" {
		if !role.Valid() {
			return badRequest("role is %q: it can be admin, user or system", role)
		}
		if role != c.Role && c.Role != auth.Admin {
			return problem(http.StatusForbidden, "forbidden", "you act as %s, and not as %s", c.Role, role)
		}
		req.Caller.Role = role
		req.Caller.Human = req.Caller.Human && role != auth.System
	}
	if origin != "" {
		if !slices.Contains(tool.Origins, origin) {
			return badRequest("origin is %q: it can be %s", origin, oneOf(tool.Origins))
		}
		if c.Role != auth.Admin && !slices.Contains(userOrigins, origin) {
			return problem(http.StatusForbidden, "forbidden", "only an admin can act as a run of origin %s", origin)
		}
		req.Origin = origin
	}
	req.Caller = run.ActsFor(req.Origin, req.Caller)
	return nil
}

func listTools(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	req, err := s.look(r, c)
	if err != nil {
		return err
	}
	surface, err := s.opts.Backend.Surface(r.Context(), req)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, surface)
}

// Holds reports whether the filter lets t pass, whatever state it stops at.
func (f ToolFilter) Holds(t KnownTool) bool {
	if f.Discreet && t.Secret {
		return false
	}
	text := strings.ToLower(t.Name + " " + t.Description + " " + t.Owner)
	for word := range strings.FieldsSeq(strings.ToLower(f.Query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return (f.Category == "" || f.Category == t.Category) && strings.Contains(strings.ToLower(t.Owner), strings.ToLower(f.Owner))
}

func listKnown(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	req, err := s.look(r, c)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	f := ToolFilter{Query: q.Get("q"), Category: q.Get("category"), Owner: q.Get("owner"), After: q.Get("after"), Discreet: c.discreet()}
	if f.Limit, err = limitOf(q); err != nil {
		return err
	}
	switch v := q.Get("state"); v {
	case "":
	case "offered":
		f.State = new(string)
	case "installed", "discovered", "registered", "exposed":
		f.State = &v
	default:
		return badRequest("state is %q: it can be installed, discovered, registered, exposed or offered", v)
	}
	page, err := s.opts.Backend.KnownTools(r.Context(), req, f)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, page)
}

func getTool(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	req, err := s.look(r, c)
	if err != nil {
		return err
	}
	name := r.PathValue("name")
	exact, instead, err := s.meant(r.Context(), c, req, name)
	if err != nil {
		return err
	}
	if instead != nil {
		return NoTool(name)
	}
	d, err := s.opts.Backend.Tool(r.Context(), req, exact)
	if err != nil {
		return err
	}
	if d.Explanation = c.kept(d.Explanation, exact); c.discreet() && d.Explanation.Strange() {
		return NoTool(name)
	}
	return answer(w, http.StatusOK, d)
}

func explainTool(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	req, err := s.look(r, c)
	if err != nil {
		return err
	}
	exact, instead, err := s.meant(r.Context(), c, req, r.PathValue("name"))
	if err != nil {
		return err
	}
	if instead != nil {
		return answer(w, http.StatusOK, instead)
	}
	x, err := s.opts.Backend.Explain(r.Context(), req, exact)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, c.kept(x, exact))
}

func promptOf(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	req, err := s.look(r, c)
	if err != nil {
		return err
	}
	p, err := s.opts.Backend.Prompt(r.Context(), req)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, p)
}

func invokeTool(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	var body Invoke
	if err := decode(r, &body); err != nil {
		return err
	}
	if body.Tool == "" {
		return badRequest("tool is empty: name the tool to call")
	}
	// What can mean one thing only is mended as for a model.
	if _, ok := jsonschema.Object(body.Args); !ok {
		return badRequest("args must be a JSON object")
	}
	id, err := s.agentOf(r.Context(), body.Agent)
	if err != nil {
		return err
	}
	req := run.Request{Agent: id, Session: body.Session, Origin: c.origin(), Caller: c.Principal}
	if err := actAs(&req, c, body.Role, body.Origin); err != nil {
		return err
	}
	if own := HandSession(c.ID); req.Session == "" || req.Session == own {
		req.Session = own
	} else if err := s.mayContinue(r.Context(), c, session.Key{Agent: id, ID: req.Session}); err != nil {
		return err
	}
	// The call ends when the client leaves.
	o, err := s.opts.Backend.Invoke(r.Context(), req, body.Tool, body.Args)
	switch {
	case errors.Is(err, run.ErrClosed):
		return stopping()
	case errors.Is(err, session.ErrHeld):
		return problem(http.StatusConflict, "busy", "%v", err)
	case err != nil:
		return err
	}
	if o.Status == tool.Refused || o.Status == tool.Invalid {
		p := problem(http.StatusForbidden, "refused", "%s", strings.TrimPrefix(llm.JoinText(o.Content), "Error: "))
		if o.Refusal != nil {
			p.Detail = o.Refusal.Error()
		}
		p.Outcome = o
		return p
	}
	return answer(w, http.StatusOK, o)
}
