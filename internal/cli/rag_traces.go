package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/selection"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// evalTraces measures an agent's selection by what its runs used.
func (a *app) evalTraces(cmd *cobra.Command, f ragFlags) (shownEval, error) {
	var v shownEval
	caller, err := a.caller()
	if err != nil {
		return v, err
	}
	req := run.Request{Agent: a.agent, Caller: caller, Origin: tool.FromChat}
	err = a.with(cmd.Context(), func(g *gateway.Gateway) error {
		if err := a.inRole(cmd, g, &req.Caller); err != nil {
			return err
		}
		look, err := g.Look(cmd.Context(), req)
		if err != nil {
			return err
		}
		owner, err := a.owner(cmd, g)
		if err != nil {
			return err
		}
		runs, err := lastRuns(cmd.Context(), g, session.RunFilter{Agent: look.Scope.Agent(), ID: a.session, Caller: owner, Depth: session.Traced}, f.limit)
		if err != nil {
			return err
		}
		var semantic *selection.Semantic
		if rag := look.Agent.Config.Tools.RAG; rag.Enabled && rag.Semantic {
			if semantic, err = g.Semantic(look.Scope.Agent()); err != nil {
				return err
			}
		}
		v, err = measureRuns(cmd.Context(), look, runs, semantic)
		return err
	})
	return v, err
}

// lastRuns are the latest runs that a person's message began, at most limit.
func lastRuns(ctx context.Context, g *gateway.Gateway, f session.RunFilter, limit int) ([]session.Run, error) {
	var all []session.Run
	for {
		page, next, err := g.Sessions.Runs(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, r := range page {
			asked := slices.Contains([]tool.Origin{tool.FromChat, tool.FromAPI, tool.FromChannel}, r.Origin)
			if asked && !r.Seeded && !r.Copied && strings.TrimSpace(r.Message.Text()) != "" {
				all = append(all, r)
			}
		}
		if next == "" || len(all) >= limit {
			return all[:min(len(all), limit)], nil
		}
		f.After = next
	}
}

// measureRuns asks anew what each message would be offered today, in a session
// of its own, and compares with what its run used. Semantic is nil where the agent
// finds nothing by meaning.
func measureRuns(ctx context.Context, look gateway.Look, runs []session.Run, semantic *selection.Semantic) (shownEval, error) {
	v := shownEval{Agent: look.Scope.Agent(), TopK: look.Agent.Config.Tools.RAG.TopK, Semantic: semantic != nil, All: !look.Agent.Config.Tools.RAG.Enabled}
	offer := func(m llm.Message) (tool.Surface, error) {
		sf, err := look.Agent.Engine.Offer(ctx, look.Scope, look.Target, tool.State{}, tool.Ask{Message: m})
		var none *engine.NoToolsError
		if errors.As(err, &none) {
			err = nil
		}
		return sf, err
	}
	first, err := offer(llm.UserMessage("?")) // which speaks of nothing; without any message there is no selection
	if err != nil {
		return v, err
	}
	v.Pinned = pinned(first)
	chosen := slices.DeleteFunc(slices.Clone(first.Permitted), func(e *tool.Entry) bool {
		return slices.Contains(v.Pinned, e.Def.Name) || selection.Hidden(e) != ""
	})
	v.Tools = len(chosen)
	meter, err := selection.NewMeter(ctx, selection.Docs(chosen), v.TopK, semantic)
	if err != nil {
		return v, err
	}
	messages := map[string]llm.Message{}
	queries := make([]selection.Query, 0, len(runs))
	for _, r := range runs {
		q, gone := queryOf(r, v.Pinned, chosen)
		v.Gone += gone
		queries = append(queries, q)
		messages[q.Text] = r.Message
	}
	v.Report, err = selection.Measure(ctx, queries, func(ctx context.Context, message string) (selection.Ranking, error) {
		got, err := meter.Rank(ctx, message)
		if err != nil {
			return got, err
		}
		sf, err := offer(messages[message])
		got.Offered = slices.DeleteFunc(tool.Names(sf.Offered), func(name string) bool { return slices.Contains(v.Pinned, name) })
		return got, err
	})
	return v, err
}

// pinned are the tools that are offered whatever a message says.
func pinned(sf tool.Surface) []string {
	var names []string
	for _, p := range sf.Picks {
		switch p.Why {
		case tool.ForCore, tool.ForInternal, tool.ForConfigured, tool.ForPinned, tool.ForClient:
			names = append(names, p.Tool)
		}
	}
	return names
}

// queryOf is a run as a request with the tools that it used, but for pinned ones;
// gone counts the calls of tools that are not there any more.
func queryOf(r session.Run, pinned []string, chosen []*tool.Entry) (q selection.Query, gone int) {
	q.Text = r.Message.Text()
	for _, round := range r.Rounds {
		for _, o := range round.Outcomes {
			if o.Status == tool.Refused || o.Status == tool.Invalid || o.Status == "" || slices.Contains(pinned, o.Tool) || slices.Contains(q.Tools, o.Tool) {
				continue
			}
			if _, ok := tool.Find(chosen, o.Tool); !ok {
				gone++
				continue
			}
			q.Tools = append(q.Tools, o.Tool)
		}
	}
	return q, gone
}
