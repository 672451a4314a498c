package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/engine/selection"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// enterWithin is how long entering what embedding used may hold up a request.
const enterWithin = 2 * time.Second

// semantic is the channel by which an agent finds tools by what they mean; nil
// when it is off.
func (g *Gateway) semantic(c config.Agent, m *agentModels) *selection.Semantic {
	if rag := c.Tools.RAG; !rag.Enabled || !rag.Semantic {
		return nil
	}
	return g.newSemantic(c, m)
}

func (g *Gateway) newSemantic(c config.Agent, m *agentModels) *selection.Semantic {
	return selection.NewSemantic(selection.SemanticOptions{
		TopK: c.Tools.RAG.SemanticTopK, MinSimilarity: c.Tools.RAG.SemanticMinSimilarity,
		Open: func(ctx context.Context) (selection.Embedder, error) { return g.embedder(ctx, c, m) },
	})
}

// Semantic is the channel that an agent has, or would have if it were on, for
// those who measure it. It shares nothing with the agent's own but what is kept
// of embeddings.
func (g *Gateway) Semantic(agentID string) (*selection.Semantic, error) {
	a, err := g.Agent(agentID)
	if err != nil {
		return nil, err
	}
	return g.newSemantic(a.Config, a.models), nil
}

// Embedder is what embeds the tools of an agent and what is said to it, whether
// or not that is on: by the provider that is written, else by the one that
// answers. The error says why there is none, and what to write. The error of a
// provider that can't embed is [provider.Unembeddable].
func (g *Gateway) Embedder(ctx context.Context, agentID string) (*provider.Embedder, error) {
	a, err := g.Agent(agentID)
	if err != nil {
		return nil, err
	}
	return g.embedder(ctx, a.Config, a.models)
}

func (g *Gateway) embedder(ctx context.Context, c config.Agent, m *agentModels) (*provider.Embedder, error) {
	by := c.Tools.RAG.Embeddings
	name := by.Provider
	if name == "" {
		model, err := m.lately(ctx)
		if err != nil {
			return nil, err
		}
		name, _ = config.SplitModel(model)
	}
	if err := g.models.keyed(name); err != nil {
		return nil, err
	}
	e, err := g.models.set.Embedder(name, by.Model, provider.EmbedOptions{
		Vectors: g.store.Vectors, Log: g.log,
		Used: func(ctx context.Context, t llm.Target, used, guess llm.Usage) {
			g.enterEmbedding(ctx, c.ID, t, used, guess)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, g.embeddingsKey(c.ID, by))
	}
	return e, nil
}

// embeddingsKey is where what embeds for an agent is written, or is to be.
func (g *Gateway) embeddingsKey(agentID string, by config.Embeddings) string {
	key := "tools.rag.embeddings"
	if own := "agents.list[" + agentID + "]." + key; !g.Config.Where(own).IsDefault() {
		key = own
	}
	for _, field := range []string{".model", ".provider"} {
		if pos := g.Config.Where(key + field); !pos.IsDefault() {
			return pos.String()
		}
	}
	if by.Provider == "" {
		return key + ".provider"
	}
	return key + ".model"
}

// enterEmbedding enters what embedding used for an agent into the ledger, where
// it counts for the budgets of days.
func (g *Gateway) enterEmbedding(ctx context.Context, agentID string, t llm.Target, used, guess llm.Usage) {
	s := agent.Spent{Target: t, Time: time.Now(), Usage: used}
	if s.Counted() {
		s.USD = g.models.set.Cost(used, t)
	} else {
		s.Guess, s.GuessUSD = guess, g.models.set.Cost(guess, t)
		if s.GuessUSD != nil && *s.GuessUSD == 0 {
			s.USD = s.GuessUSD // the target is free
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), enterWithin)
	defer cancel()
	if err := g.store.Ledger.Enter(ctx, agentID, run.System.ID, s); err != nil {
		g.log.Warn("what embedding used was not entered", "agent", agentID, "model", t.String(), "err", err)
	}
}

// TryEmbedding asks what embeds an agent's tools for one vector, and returns its
// model and how many numbers the vector has.
func (g *Gateway) TryEmbedding(ctx context.Context, agentID string) (model string, dimensions int, err error) {
	e, err := g.Embedder(ctx, agentID)
	if err != nil {
		return "", 0, err
	}
	v, err := e.Embed(ctx, []string{"Is anybody there at " + time.Now().UTC().Format(time.RFC3339Nano) + "?"}, true)
	if err == nil && len(v) == 0 {
		err = errors.New("it gave no vector")
	}
	if err != nil {
		return e.Model(), 0, err
	}
	return e.Model(), len(v[0]), nil
}
