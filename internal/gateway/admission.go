package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/hook/rule"
)

// admission tells which rules and handlers decide about calls of a tool: the
// rules are read for the arguments of its last call, without doing anything,
// and which handlers there are is said, since only they know.
func (g *Gateway) admission(ctx context.Context, look Look, name string) ([]engine.Remark, error) {
	if _, ok := look.Agent.Engine.Known(look.Scope).Find(name); !ok {
		return nil, nil // it left meanwhile
	}
	last, called, err := look.Agent.Engine.LastCall(ctx, look.Scope, name)
	if err != nil {
		return nil, err
	}
	args, of := json.RawMessage("{}"), "without arguments"
	if called && last.Shortened() {
		of = "without arguments (those of the last one were too long to keep)"
	}
	if called = called && len(last.Args) > 0; called {
		args, of = last.Args, "with the arguments of the last one"
	}
	call, _ := look.Agent.Engine.Imagine(ctx, look.Scope, name, args)
	set, _ := g.inForce()
	readings := set.Try(ctx, call, nil)
	var grant approval.Grant
	granted, admins := false, false
	for _, r := range readings {
		granted = granted || called && r.Matches && r.Rule.Action == rule.Approve
		admins = admins || r.Matches && r.Admins
	}
	if granted { // if there is one: as a call asks, once for all rules
		if grant, granted, err = g.Approvals.Granted(ctx, look.Scope.Caller().ID, look.Scope.Agent(), name, args, admins); err != nil {
			return nil, err
		}
	}
	var out []engine.Remark
	asks, tests := -1, -1 // of the remarks: the first that asks a person, and the last that says what to do
	for _, r := range readings {
		if !r.Matches || r.Rule.Action == rule.Notify {
			continue
		}
		m := g.decides(r, of, called)
		if ended := last.Refusal; ended != nil && m.Fix != "" && last.Approval == nil && ended.Step == "before" && ended.Rule == r.Rule.Name {
			m.Stops = true
		}
		if r.Rule.Action == rule.Approve && granted {
			m.Detail = fmt.Sprintf("a call %s is always allowed by %s, so nobody is asked by the rule %s: grant %s", of, grant.By, r.Rule.Name, grant.ID)
			m.Fix = ""
			m.Plain = &engine.Plain{Detail: fmt.Sprintf("a call %s is always allowed by %s: nobody is asked", of, grant.By)}
		}
		switch {
		case m.Fix == "":
		case r.Rule.Action == rule.Approve && asks >= 0: // a person is asked once for all
			out[asks].Fix += ", and " + changing(r.Rule)
			m.Fix = ""
		default:
			if r.Rule.Action == rule.Approve {
				asks = len(out)
			}
			if tests < 0 || !m.Stops || out[tests].Stops {
				tests = len(out)
			}
		}
		out = append(out, m)
	}
	if tests >= 0 {
		out[tests].Fix += fmt.Sprintf("; goclaw hooks test --tool %s --args JSON tells what the rules do", name)
	}
	return append(out, g.handlers()...), nil
}

// handlers tells of those that decide about calls of every tool.
func (g *Gateway) handlers() (out []engine.Remark) {
	var names []string
	for _, h := range g.Hooks.Handlers() {
		switch {
		case h.Hook != "before_tool_call" || h.Source == rule.Source || h.Observes:
		case h.Broken == "":
			names = append(names, h.Name)
		default:
			out = append(out, engine.Remark{
				Topic: engine.Admission, Stops: true, Detail: "every call is " + blockedBy(h), Fix: mending(h),
				Plain: &engine.Plain{Detail: "every call is blocked by a hook that can't be asked", Fix: "ask an admin of this gateway"},
			})
		}
	}
	if len(names) > 0 {
		out = append(out, engine.Remark{Topic: engine.Admission, Detail: "handlers that decide about every call: " + strings.Join(names, ", "), Plain: &engine.Plain{}})
	}
	return out
}

// blockedBy says what a handler does that always fails, mending what to do.
func blockedBy(h hook.Info) string {
	return fmt.Sprintf("blocked by the handler %s (%s), since it could not be loaded: %s", h.Name, h.Source, h.Broken)
}

func mending(h hook.Info) string {
	return fmt.Sprintf("correct what %s says, or build GoClaw without it, and start it again", h.Source)
}

// decides tells what a rule that matches does with a call.
func (g *Gateway) decides(r rule.Reading, of string, called bool) engine.Remark {
	does := map[rule.Action]string{
		rule.Block: "would be blocked", rule.Approve: "would wait for a person's approval", rule.Webhook: "would be put to a webhook, which has to allow it",
	}[r.Rule.Action]
	somewhere := r.Unsure && !called
	m := engine.Remark{
		Topic: engine.Admission, Where: r.Rule.Where, Plain: plainly(r.Rule, of, does, somewhere),
		Detail: fmt.Sprintf("a call %s %s by the rule %s: %s", of, does, r.Rule.Name, r.Why),
	}
	if somewhere {
		m.Detail = fmt.Sprintf("a call %s by the rule %s where its condition holds: %s", does, r.Rule.Name, r.Rule.Match)
	} else {
		m.Fix, m.Stops = changing(r.Rule), r.Rule.Action == rule.Block
		if r.Rule.Action == rule.Approve {
			m.Fix = "answer when it asks (goclaw approvals list), or " + m.Fix
		}
	}
	if r.Rule.Action == rule.Webhook {
		if why, fix := g.unsent(r.Rule.URL); why != "" {
			m.Detail += fmt.Sprintf("; but the webhook can't be sent, which blocks the call: %s", why)
			m.Fix, m.Stops = fmt.Sprintf("%s, so that the webhook of %s (%s) can be sent", fix, r.Rule.Where.Key, r.Rule.Where.Place()), true
		}
	}
	return m
}

// changing names a rule as what is to be changed.
func changing(r rule.Rule) string {
	return fmt.Sprintf("change %s (%s)", r.Where.Key, r.Where.Place())
}

// plainly is what a user is told of a rule: what it says to them, and not how it
// reads. somewhere says that it holds for some arguments only.
func plainly(r rule.Rule, of, does string, somewhere bool) *engine.Plain {
	p := &engine.Plain{Detail: fmt.Sprintf("a call %s %s", of, does), Fix: "ask an admin of this gateway"}
	if somewhere {
		p = &engine.Plain{Detail: fmt.Sprintf("a call %s with some arguments", does)}
	}
	if message := strings.TrimSpace(r.Message); message != "" {
		p.Detail += ": " + message
	}
	if r.Action == rule.Approve && p.Fix != "" {
		p.Fix = "answer when it asks, or " + p.Fix
	}
	return p
}
