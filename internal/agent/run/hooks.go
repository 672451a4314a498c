package run

import (
	"context"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Consult asks the handlers of before_prompt_build about a turn and returns it
// with what they add to the session context and with the tools that they
// leave. failures tells of those that failed, a sentence each; the turn has
// only tools that read then. preview says that nothing is going to run. The
// only error is that of ctx.
func (r *Runner) Consult(ctx context.Context, t agent.Turn, preview bool) (turn agent.Turn, failures []string, err error) {
	if !r.opts.Hooks.Builds() {
		return t, nil, nil
	}
	d, err := r.opts.Hooks.BuildPrompt(ctx, hook.Prompt{Scope: t.Scope, Message: t.Message, Model: t.Model, Preview: preview})
	if err != nil {
		return t, nil, err
	}
	for _, a := range d.Context {
		t.Added = append(t.Added, agent.Addition{By: a.By, Text: a.Text})
	}
	t.Scope = t.Scope.Narrow(d.Narrowed)
	return t, d.Failures, nil
}

// received tells of a message that was accepted.
func (r *Runner) received(run *Run) {
	m := run.request.Message
	r.opts.Hooks.Received(&hook.Message{Scope: run.scope(), Message: m, Text: m.Text()})
}

// sent tells of the answer of a run that ended.
func (r *Runner) sent(run *Run) {
	if _, text, ok := run.End(); ok && text != "" && run.hasBegun() {
		r.opts.Hooks.Sent(&hook.Message{Scope: run.scope(), Message: llm.AssistantMessage(text), Text: text})
	}
}

// sessionBegins tells of a session whose first message was stored.
func (r *Runner) sessionBegins(t agent.Turn, thread *agent.Thread) {
	if thread.Rounds > 0 || len(thread.Messages) > 1+len(t.Seed) {
		return
	}
	s := t.Scope
	r.opts.Hooks.SessionStart(hook.Session{Agent: s.Agent(), ID: s.Session(), Caller: s.Caller(), Origin: s.Origin()})
}

// replied tells of a model's answer, whole or in part.
func (r *Runner) replied(run *Run, round *agent.Round) {
	reply := &round.Reply
	if reply.Finish == llm.FinishHost {
		return // no model said it
	}
	r.opts.Hooks.ModelOutput(&hook.ModelOutput{
		Scope: run.scope(), Target: reply.Target, Message: reply.Message, Finish: reply.Finish, Usage: reply.Usage,
		Took: round.Replied.Sub(round.Started), Cached: reply.Cached,
	})
}

func (run *Run) scope() tool.Scope { return run.runner.scope(run.profile, run.request, run.ID) }

// requests tells of each request that is built for a run.
type requests struct {
	agent.Prompts
	hooks *hook.Bus
}

func (p *requests) Build(ctx context.Context, t agent.Turn, sf tool.Surface, messages []llm.Message) (llm.Request, agent.RequestFacts, error) {
	req, facts, err := p.Prompts.Build(ctx, t, sf, messages)
	if err == nil {
		in := &hook.ModelInput{Scope: t.Scope, Target: req.Target, Messages: req.Messages, Tools: facts.Tools}
		for _, s := range []string{req.Static, req.Session} {
			if s != "" {
				in.System = append(in.System, s)
			}
		}
		p.hooks.ModelInput(in)
	}
	return req, facts, err
}
