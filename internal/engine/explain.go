package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/lib/nearest"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Verdict says whether a tool reached a state.
type Verdict string

const (
	Yes     Verdict = "yes"
	No      Verdict = "NO"
	Unknown Verdict = "-" // it did not come to that
)

// StateLine is one of the six states of a tool.
type StateLine struct {
	State   string     `json:"state"` // installed, discovered, registered, exposed, called, executed
	Verdict Verdict    `json:"verdict"`
	Layer   string     `json:"layer,omitempty"` // that removed it, and its rule; of exposed
	Rule    string     `json:"rule,omitempty"`
	Detail  string     `json:"detail,omitempty"`
	Where   source.Pos `json:"where,omitzero"` // the configuration that decided, if any did
	// Secret is that of the [tool.Removal] which stopped it.
	Secret bool `json:"-"`
	// alone is the detail without the others that have the name, if there are any.
	alone string
}

// Explanation says how far a tool gets for a run, and why no further.
type Explanation struct {
	Tool    string      `json:"tool"`
	Agent   string      `json:"agent,omitempty"`
	States  []StateLine `json:"states"` // six, in order
	Fix     string      `json:"fix,omitempty"`
	Nearest []string    `json:"nearest,omitempty"` // for a name that nothing has, or that can mean several tools
	// Doubts tell what is odd about what was asked, a line each.
	Doubts []string `json:"doubts,omitempty"`
	// Changes tells what was changed of its schema for the provider, a line each.
	Changes []string `json:"changes,omitempty"`
	// Remarks tell what would become of a call now, and what the model is told
	// to do; of a tool that is exposed.
	Remarks []Remark `json:"remarks,omitempty"`

	strange bool   // nothing has the name
	own     string // the fix before any remark
}

// Remark is a word beside the six states.
type Remark struct {
	Topic  Topic      `json:"topic"`
	Detail string     `json:"detail"`
	Where  source.Pos `json:"where,omitzero"` // the configuration that decided, if any did
	// Fix is what to do about it; see [Explanation.Add].
	Fix string `json:"-"`
	// Stops says that a call would not run as long as this holds, whoever answers
	// what.
	Stops bool `json:"-"`
	// Plain is what those are told who may not know the configuration; nil where
	// that is the same.
	Plain *Plain `json:"-"`
}

// Plain is a [Remark] without words of the configuration. One without Detail is
// not for those at all.
type Plain struct{ Detail, Fix string }

// Topic is what a [Remark] is about.
type Topic string

const (
	// Admission is whether a call would be let through.
	Admission Topic = "admission"
	// Guidance is what of the prompt tells the model how to work.
	Guidance Topic = "guidance"
)

// Add appends remarks. What stands in the way of a call, one after the other, is
// put into the fix, what stops it for certain first; of the rest only the first,
// and where nothing else has a fix.
func (x *Explanation) Add(remarks ...Remark) {
	if len(x.Remarks) == 0 {
		x.own = x.Fix
	}
	x.Remarks = append(x.Remarks, remarks...)
	x.Fix = chained(x.own, x.Remarks)
}

// chained is the fix of an explanation that has one of its own, or "", and
// remarks.
func chained(own string, remarks []Remark) string {
	var stops, waits []string
	other := ""
	for _, r := range remarks {
		switch {
		case r.Fix == "" || slices.Contains(stops, r.Fix) || slices.Contains(waits, r.Fix):
		case r.Stops:
			stops = append(stops, r.Fix)
		case r.Topic == Admission:
			waits = append(waits, r.Fix)
		default:
			other = cmp.Or(other, r.Fix)
		}
	}
	if own != "" {
		waits = slices.DeleteFunc([]string{own}, func(fix string) bool { return slices.Contains(stops, fix) })
	}
	return cmp.Or(strings.Join(append(stops, waits...), "; then "), other)
}

// Verdict says in one line where the tool stopped, why, and what to do; "" of
// one that didn't.
func (x *Explanation) Verdict() string {
	for _, s := range x.States {
		if s.Verdict != No {
			continue
		}
		line := x.Tool + " is not " + s.State + ": " + s.placed()
		if len(x.Nearest) > 0 {
			line += "; nearest: " + strings.Join(x.Nearest, ", ")
		}
		if x.Fix != "" {
			line += "; fix: " + x.Fix
		}
		return line
	}
	return ""
}

// placed is the detail with the place of the configuration behind it.
func (s *StateLine) placed() string {
	if place := "(" + s.Where.Place() + ")"; !s.Where.IsZero() && !strings.Contains(s.Detail, place) {
		return strings.TrimLeft(s.Detail+" "+place, " ")
	}
	return s.Detail
}

// Exposed reports whether a request would show the tool.
func (x *Explanation) Exposed() bool { return x.States[exposed].Verdict == Yes }

// The six states, in order.
const (
	installed = iota
	discovered
	registered
	exposed
	called
	executed
)

var stateNames = [...]string{"installed", "discovered", "registered", "exposed", "called", "executed"}

// Explain walks the six states of the tool that name means, for a run of scope
// s, with state st, that asks target t about ask. It joins what the registry noted, what
// the layers decide, by deciding, and the last stored call, of which a caller
// without privileges is told when it was in a session of their own. The only
// error is that of reading the stored call.
func (e *Engine) Explain(ctx context.Context, s tool.Scope, t llm.Target, st tool.State, ask tool.Ask, name string) (Explanation, error) {
	cat := e.Known(s)
	x := newExplainer(strings.TrimSpace(name), s)
	entry, several := find(cat.Entries, name)
	if len(several) > 0 {
		x.ambiguous(several)
		return x.Explanation, nil
	}
	if entry == nil {
		x.missing(cat, name)
		x.Written(e.decider.Naming(x.Tool))
		return x.Explanation, nil
	}
	x.Tool = entry.Def.Name
	x.present(entry, cat.Notes)
	sf, _, why := e.chosen(ctx, s, t, st, ask)
	shown := x.exposure(entry, &sf, why)
	if len(ask.Message.Parts) == 0 && shown {
		x.unlisted(st)
	}
	last, ok, err := e.LastCall(ctx, s, x.Tool)
	if err != nil {
		return x.Explanation, fmt.Errorf("explain %s: %w", x.Tool, err)
	}
	if ok {
		x.last(&last)
	}
	for _, n := range cat.Notes {
		if n.Tool == x.Tool && n.Owner.Kind == tool.ClientOwner && x.Fix == "" {
			x.Fix = n.Fix
		}
	}
	if shown && planned(st, entry) {
		x.Add(Remark{Topic: Admission, Detail: "plan mode is on in this session, so a call would be refused now", Fix: leavePlan, Stops: true})
		if !ok {
			x.States[executed] = StateLine{State: stateNames[executed], Verdict: No, Detail: "plan mode is on, so a call would be refused"}
		}
	}
	return x.Explanation, nil
}

// LastCall is the last stored call of a tool that the caller of s may hear of.
func (e *Engine) LastCall(ctx context.Context, s tool.Scope, name string) (c StoredCall, ok bool, err error) {
	q, ok := e.query(s, name)
	if !ok {
		return c, false, nil
	}
	return e.calls.LastCall(ctx, q)
}

// explainer fills in an explanation.
type explainer struct{ Explanation }

func newExplainer(name string, s tool.Scope) *explainer {
	return &explainer{begun(name, s.Agent())}
}

// begun is the explanation of a tool of which nothing is known yet.
func begun(name, agent string) Explanation {
	x := Explanation{Tool: name, Agent: agent}
	for _, n := range stateNames {
		x.States = append(x.States, StateLine{State: n, Verdict: Unknown})
	}
	return x
}

func (x *explainer) yes(state int, format string, args ...any) {
	x.States[state].Verdict, x.States[state].Detail = Yes, fmt.Sprintf(format, args...)
}

// no says where the tool stopped. The fix is that of the first stop.
func (x *explainer) no(state int, detail string, where source.Pos, fix string) {
	x.States[state] = StateLine{State: stateNames[state], Verdict: No, Detail: detail, Where: where}
	if x.Fix == "" {
		x.Fix = fix
	}
}

// Secret reports whether x is of a tool that is denied to the agent, of which
// only those are told who may know the configuration.
func (x *Explanation) Secret() bool {
	return slices.ContainsFunc(x.States, func(s StateLine) bool { return s.Secret })
}

// ambiguous explains a name that several tools can be meant by.
func (x *explainer) ambiguous(names []string) {
	x.no(installed, "the name can mean several tools: "+strings.Join(names, ", "), source.Pos{}, "name one of them exactly")
	x.Nearest = names
}

// missing explains a tool that is not registered.
func (x *explainer) missing(cat *tool.Catalog, name string) {
	for _, n := range cat.Notes {
		if n.Tool != name && (n.Tool == "" || folded(n.Tool) != folded(name)) {
			continue
		}
		x.Tool = n.Tool
		for state := range registered {
			if stateNames[state] == n.State {
				x.no(state, n.Reason, source.Pos{}, n.Fix)
				return
			}
			x.yes(state, "%s", origin(n.Owner))
		}
		x.no(registered, n.Reason, source.Pos{}, n.Fix)
		return
	}
	x.unknown(tool.Names(cat.Entries))
}

// Strange explains a name that nothing has, to somebody who knows of the tools
// of those names.
func Strange(name, agent string, known []string) Explanation {
	x := &explainer{begun(name, agent)}
	x.unknown(known)
	return x.Explanation
}

// Strange reports whether x explains a name that nothing has.
func (x *Explanation) Strange() bool { return x.strange && x.States[installed].Verdict == No }

// Written says of a name that nothing has where in the configuration a tool of
// that name stands.
func (x *Explanation) Written(at []source.Pos) {
	if len(at) == 0 || !x.Strange() {
		return
	}
	x.installedAt("it stands in", at)
	if tool.Later(folded(x.Tool)) == "" {
		x.Fix += "; or correct the name in " + at[0].String()
	}
}

// Await says of a name that nothing has which keys of the configuration would
// bring tools, and are not acted on yet.
func (x *Explanation) Await(keys []source.Pos) {
	if len(keys) == 0 || !x.Strange() || tool.Later(folded(x.Tool)) != "" {
		return
	}
	x.installedAt("what these keys would bring this version does not have yet:", keys)
	x.Fix += "; " + keys[0].String() + " is kept for a version that acts on it"
}

// installedAt adds keys of the configuration to what is said of the first state.
func (x *Explanation) installedAt(words string, at []source.Pos) {
	line := &x.States[installed]
	list := make([]string, len(at))
	for i, p := range at {
		list[i] = p.String()
	}
	line.Where = cmp.Or(line.Where, at[0])
	line.Detail += "; " + words + " " + strings.Join(list, ", ")
}

// unknown says that nothing has the tool, to somebody who knows of the tools of
// those names.
func (x *explainer) unknown(known []string) {
	x.strange = true
	if family := tool.Later(folded(x.Tool)); family != "" {
		x.Tool = folded(x.Tool)
		x.no(installed, fmt.Sprintf("this version of GoClaw has no tool %s yet: it belongs to the family %s, which is still to come", x.Tool, family), source.Pos{},
			"take a later version of GoClaw that has the tool "+x.Tool+" (goclaw version says which this is); nothing that is installed or written brings it to this one")
		return
	}
	x.no(installed, "nothing that is compiled in, installed or connected has a tool of that name", source.Pos{}, "")
	x.Nearest = nearest.Names(unindexed(unprefixed(x.Tool)), known, maxNearest)
	x.Fix = "build goclaw with a plugin that brings " + x.Tool + " (docs/adding-a-tool.md)"
	if len(x.Nearest) > 0 {
		x.Fix = "use " + x.Nearest[0] + ", or " + x.Fix
	}
}

// present explains the first three states of a registered tool.
func (x *explainer) present(e *tool.Entry, notes []tool.Note) {
	o := e.Owner
	x.yes(installed, "%s", origin(o))
	switch o.Kind {
	case tool.PluginOwner, tool.SubprocessOwner:
		x.yes(discovered, "by its manifest")
		x.yes(registered, "its manifest names it")
	case tool.ClientOwner:
		x.yes(discovered, "with the request")
		x.yes(registered, "as %s", e.Def.Name)
	case tool.MCPOwner, tool.NodeOwner:
		x.yes(discovered, "listed by %s", o)
		x.yes(registered, "as %s", e.Def.Name)
	default:
		x.yes(discovered, "compiled in")
		x.yes(registered, "as %s", e.Def.Name)
	}
	for _, n := range notes {
		if n.Tool == e.Def.Name {
			line := &x.States[registered]
			line.alone = cmp.Or(line.alone, line.Detail)
			line.Detail += fmt.Sprintf("; %s also has one: %s", n.Owner, n.Reason)
		}
	}
}

// origin is who brought a tool, and where from.
func origin(o tool.Owner) string {
	s := o.String()
	if o.Path != "" {
		s += ", " + o.Path
	}
	return s
}

// exposure explains the fourth state from the decision itself.
func (x *explainer) exposure(e *tool.Entry, sf *tool.Surface, why missed) (shown bool) {
	for _, r := range sf.Removed {
		if r.Tool == e.Def.Name {
			x.no(exposed, "layer "+r.Layer+": "+r.Reason, r.Where, r.Fix)
			x.States[exposed].Layer, x.States[exposed].Rule, x.States[exposed].Secret = r.Layer, r.Rule, r.Secret
			return false
		}
	}
	for i, o := range sf.Offered {
		if o.Def.Name == e.Def.Name {
			x.yes(exposed, "number %d of %d", i+1, len(sf.Offered))
			if sf.Target != (llm.Target{}) {
				x.States[exposed].Detail += ", to " + sf.Target.String()
			}
			x.Changes = o.Changes
			return true
		}
	}
	m := why(e)
	x.no(exposed, "layer selection: "+m.Detail, m.Where, m.Fix)
	x.States[exposed].Layer = "selection"
	return false
}

// unlisted says of a tool, which a message may bring, that the session's last
// request did not have it.
func (x *explainer) unlisted(st tool.State) {
	if len(st.Tools) == 0 || slices.Contains(st.Tools, x.Tool) {
		return
	}
	x.States[exposed].Detail += " before selection; the session's last request did not have it (give a message to see why)"
}

// last explains the last two states from the last stored call.
func (x *explainer) last(c *StoredCall) {
	o := &c.Outcome
	if o.Started.IsZero() { // of a call that runs the beginning is not stored
		x.yes(called, "now%s", c.made())
	} else {
		x.yes(called, "last at %s%s", o.Started.Format("2006-01-02 15:04:05"), c.made())
	}
	switch {
	case o.Status == "":
		x.States[executed].Detail = "it runs and has not ended yet"
	case o.Cached:
		x.yes(executed, "answered by the result cache")
	case o.Status == tool.OK:
		x.yes(executed, "ok, in %s", took(o.Ended.Sub(o.Started)))
	case o.Status == tool.Handed:
		x.yes(executed, "handed to the API client, which runs it")
	case o.Ran():
		x.yes(executed, "%s: %s", o.Status, gist(llm.JoinText(o.Content)))
	case o.Refusal != nil:
		who := "step " + o.Refusal.Step
		if o.Refusal.Guard != "" {
			who = "guard " + o.Refusal.Guard
		}
		x.no(executed, fmt.Sprintf("%s, rule %s: %s", who, o.Refusal.Rule, o.Refusal.Reason), o.Refusal.Where, remedy(o))
	default:
		how := string(o.Status)
		if o.Step != "" {
			how += ", step " + o.Step
		}
		x.no(executed, how+": "+gist(llm.JoinText(o.Content)), source.Pos{}, "")
	}
}

const leavePlan = "leave plan mode: /plan off in the chat, or let the agent call exit_plan_mode when the plan is agreed to"

// remedy is what a person can do about a refusal of long ago; what it allows is
// said to the model. Whether plan mode is on and which rules hold is told of
// now, by remarks that bring their own.
func remedy(o *tool.Outcome) string {
	r := o.Refusal
	switch {
	case r.Guard != "":
		return r.Allowed
	case o.Approval != nil:
		fix := answering(o.Approval)
		if where := o.Approval.Where; where.Key != "" {
			fix += fmt.Sprintf(", or change %s (%s)", where.Key, where.Place())
		}
		return fix
	case r.Step == "plan", r.Step == "before" && !r.Where.IsZero():
		return ""
	case r.Step == "before":
		return cmp.Or(r.Allowed, "change the hook "+r.Rule)
	case r.Step == "offered" && r.Rule == "role":
		return "let an administrator do it"
	case r.Step == "offered":
		return "the line exposed says whether it would be offered now"
	}
	return r.Allowed
}

// answering is what a person can do who was asked about a call, or was not.
func answering(a *tool.Approval) string {
	switch {
	case a.Status == tool.ApprovalExpired:
		return "have it called again, and answer in time (goclaw approvals list, or the page), or raise tools.approval_timeout"
	case a.Status == tool.ApprovalDenied && a.By != "":
		return "have it called again, and let " + a.By + " allow it"
	case a.Status == tool.ApprovalDenied:
		return "call it where a person can be asked: in goclaw chat, on the page, or with a gateway running"
	}
	return "have it called again, and answer while the run goes on"
}

// took is a duration as people read it.
func took(d time.Duration) time.Duration {
	if d < time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}

// gist is what a failed call said, on one line: the first fault where it lists
// some, else its first line.
func gist(s string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if fault, ok := strings.CutPrefix(rest, "- "); ok {
		line, _, _ = strings.Cut(fault, "\n")
	}
	return shortened(strings.TrimPrefix(line, "Error: "))
}

// Text is the explanation as a terminal shows it: a line for each state, then
// what to do.
func (x Explanation) Text() string {
	var b strings.Builder
	for _, s := range x.States {
		line := fmt.Sprintf("%-11s %-4s %s", s.State, s.Verdict, s.placed())
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	for _, c := range x.Changes {
		b.WriteString("changed for " + c + "\n")
	}
	for _, r := range x.Remarks {
		line := fmt.Sprintf("%-11s %s", r.Topic, r.Detail)
		if !r.Where.IsZero() {
			line += " (" + r.Where.Place() + ")"
		}
		b.WriteString(line + "\n")
	}
	for _, d := range x.Doubts {
		b.WriteString("notice: " + d + "\n")
	}
	if len(x.Nearest) > 0 {
		b.WriteString("nearest: " + strings.Join(x.Nearest, ", ") + "\n")
	}
	if x.Fix != "" {
		b.WriteString("fix: " + x.Fix + "\n")
	}
	return b.String()
}
