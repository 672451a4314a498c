package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// examineEmbeddings checks what embeds where tools are looked for by meaning,
// each model once.
func examineEmbeddings(ctx context.Context, g *gateway.Gateway, offline bool) []finding {
	var out []finding
	asked := map[string]bool{}
	for _, c := range g.Config.Agents() {
		rag := c.Tools.RAG
		if !rag.Semantic {
			continue
		}
		check := "embeddings " + c.ID
		if !rag.Enabled {
			out = append(out, finding{check, isWarning, "tools.rag.semantic is on, but tools.rag.enabled is off: all tools are shown anyway", "goclaw config unset tools.rag.semantic"})
			continue
		}
		e, err := g.Embedder(ctx, c.ID)
		switch {
		case err != nil:
			out = append(out, embeddingFinding(check, "", err))
		case asked[e.Model()]:
		case offline:
			out = append(out, finding{check, isOK, e.Model() + ", not asked", ""})
			asked[e.Model()] = true
		default:
			out = append(out, tryEmbedding(ctx, g, check, c.ID))
			asked[e.Model()] = true
		}
	}
	return out
}

// tryEmbedding asks for a vector, for which a server may have to load the model
// first.
func tryEmbedding(ctx context.Context, g *gateway.Gateway, check, agentID string) finding {
	ctx, cancel := context.WithTimeout(ctx, tryWithin)
	defer cancel()
	model, dimensions, err := g.TryEmbedding(ctx, agentID)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("it gave no answer within %s", tryWithin)
	}
	if err != nil {
		return embeddingFinding(check, model, err)
	}
	return finding{check, isOK, fmt.Sprintf("%s answers with vectors of %d numbers", model, dimensions), ""}
}

// embeddingFinding is what it means that nothing embeds: less than for a model
// that talks, since tools are found by words as well.
func embeddingFinding(check, model string, err error) finding {
	f := finding{check, isWarning, err.Error() + ": tools are looked for by words alone", "try again later, or name another model in tools.rag.embeddings"}
	if model != "" {
		f.Detail = model + ": " + f.Detail
	}
	var e *llm.Error
	if !errors.As(err, &e) {
		if errors.Is(err, config.ErrNoProvider) || errors.Is(err, config.ErrNoKey) {
			f.Fix = "set the key of a provider that has embeddings, and write it as tools.rag.embeddings.provider"
		}
		return f
	}
	name := e.Target.Provider
	b, known := provider.Known(name)
	switch {
	case provider.Unembeddable(err) && e.Class == llm.ClassAuth && known:
		f.Fix = fmt.Sprintf("set %s, or write ai.providers.%s.api_key", b.KeyVar, name)
	case provider.Unembeddable(err) && strings.Contains(e.Message, "has no embeddings"):
		f.Fix = "goclaw config set tools.rag.embeddings.provider openai, or gemini or ollama"
	case provider.Unembeddable(err):
		f.Fix = "write tools.rag.embeddings.provider and .model"
	case e.Class == llm.ClassNoModel && e.Target.Vendor == "ollama":
		f.Fix = "ollama pull " + e.Target.Model
	case e.Class == llm.ClassNoModel:
		f.Fix = "correct tools.rag.embeddings.model: it has to be a model that embeds"
	case e.Class == llm.ClassAuth:
		f.Fix = fmt.Sprintf("put a key that is valid there into ai.providers.%s.api_key", name)
	}
	return f
}
