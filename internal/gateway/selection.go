package gateway

import (
	"context"

	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/engine/selection"
)

// selectorOf picks for the runs of an agent, to which prior tells its most used
// tools.
func (g *Gateway) selectorOf(c config.Agent, m *agentModels, prior func(context.Context) []string) *selection.Selector {
	rag, own := c.Tools.RAG, "agents.list["+c.ID+"].tools."
	return selection.New(selection.Options{
		Enabled: rag.Enabled, TopK: rag.TopK, UsagePrior: rag.UsagePrior, Core: c.Tools.Core,
		CoreAt: g.Config.Where(own + "core"), TopKAt: g.Config.Where(own + "rag.top_k"),
		Prior:    prior,
		Semantic: g.semantic(c, m),
	})
}
