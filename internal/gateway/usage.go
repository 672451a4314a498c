package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/agent/budget"
	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// limitsOf are the budgets of a configuration: those that hold for all agents,
// and those that each has besides.
func limitsOf(c *config.Config) []budget.Limit {
	list := limits("budget", "", c.Budget)
	for _, a := range c.Agents() {
		if a.Budget != nil {
			list = append(list, limits(fmt.Sprintf("agents.list[%s].budget", a.ID), a.ID, *a.Budget)...)
		}
	}
	return list
}

func limits(key, agent string, b config.Budget) (list []budget.Limit) {
	for _, one := range []struct {
		scope  budget.Scope
		amount *config.Amount
	}{{budget.PerRun, b.Run}, {budget.PerSession, b.Session}, {budget.PerDay, b.Day}} {
		if a := one.amount; a != nil && (a.Tokens > 0 || a.USD > 0) {
			list = append(list, budget.Limit{
				Key: key + "." + string(one.scope), Scope: one.scope, Agent: agent, Amount: budget.Amount{Tokens: a.Tokens, USD: a.USD},
			})
		}
	}
	return list
}

// Usage implements [api.Backend].
func (g *Gateway) Usage(ctx context.Context, q budget.Query, budgets bool) (budget.Report, error) {
	r, err := budget.Make(ctx, g.store.Ledger, q)
	if err != nil {
		return r, err
	}
	for i := range r.Unpriced {
		u := &r.Unpriced[i]
		provider, model, _ := strings.Cut(u.Model, "/")
		u.Priced = g.models.set.Cost(llm.Usage{Output: 1}, llm.Target{Provider: provider, Model: model}) != nil
	}
	if budgets {
		r.Budgets, err = g.budget.Standings(ctx, q.Agent, q.Session)
	}
	return r, err
}

// DiagnoseBudgets names the limits of a configuration that can't be held since
// the price of a model is unknown that agents use, as far as that is known
// without asking anybody.
func DiagnoseBudgets(ctx context.Context, c *config.Config, env config.Environ) []string {
	m := newModels(c, Options{Environ: env}, provider.Cache{})
	var list []string
	for _, l := range limitsOf(c) {
		for _, a := range c.Agents() {
			if l.USD <= 0 || l.Agent != "" && l.Agent != a.ID {
				continue
			}
			targets := []llm.Target{m.target(ctx, a, "")}
			fallback, _ := m.of(a).fallback()
			for _, name := range fallback {
				if t, err := m.set.For("", nil).Target(name); err == nil {
					targets = append(targets, t)
				}
			}
			for _, t := range targets {
				if t.Provider == "" || m.set.Cost(llm.Usage{Output: 1}, t) != nil {
					continue
				}
				if words := l.Uncountable(t); !slices.Contains(list, words) {
					list = append(list, words)
				}
			}
		}
	}
	return list
}
