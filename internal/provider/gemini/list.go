package gemini

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/provider"
)

const (
	// pageSize is the most that the API gives at once, maxPages bounds how often
	// more is asked for, and maxPage how many bytes one page has.
	pageSize = "1000"
	maxPages = 20
	maxPage  = 8 << 20
)

// listed is a model as the list has it.
type listed struct {
	Name    string   `json:"name"` // models/NAME
	Input   int      `json:"inputTokenLimit"`
	Output  int      `json:"outputTokenLimit"`
	Thinks  bool     `json:"thinking"`
	Methods []string `json:"supportedGenerationMethods"`
}

// List implements [provider.Lister]. It leaves out what can't be talked to.
func (m *Model) List(ctx context.Context) ([]string, error) {
	var names []string
	query := "/models?pageSize=" + pageSize
	next := ""
	for range maxPages {
		var page struct {
			Models []listed `json:"models"`
			Next   string   `json:"nextPageToken"`
		}
		if err := m.get(ctx, query+next, &page); err != nil {
			return nil, err
		}
		for _, l := range page.Models {
			if len(l.Methods) == 0 || slices.Contains(l.Methods, "generateContent") {
				names = append(names, strings.TrimPrefix(l.Name, "models/"))
			}
		}
		if page.Next == "" {
			break
		}
		next = "&pageToken=" + url.QueryEscape(page.Next)
	}
	return names, nil
}

// Probe implements [provider.Prober]. Of a model that is in the table, that is
// taken; of a newer one the server tells the limits, and that it takes images,
// files and tools is what all that are called Gemini have in common.
func (m *Model) Probe(ctx context.Context, model string) (provider.Abilities, error) {
	if _, known := provider.Lookup(model); known {
		return provider.Abilities{}, nil
	}
	var l listed
	if err := m.get(ctx, path(model), &l); err != nil {
		return provider.Abilities{}, err
	}
	return provider.Abilities{
		ContextWindow: l.Input, MaxOutput: l.Output,
		Known: strings.HasPrefix(l.Name, "models/gemini-"), Images: true, Files: true, Tools: true, Reasoning: l.Thinks,
	}, nil
}

// get reads a document into v.
func (m *Model) get(ctx context.Context, path string, v any) error {
	resp, err := m.do(ctx, http.MethodGet, path, nil)
	return m.server.Document(ctx, resp, err, whose, v)
}
