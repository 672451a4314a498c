package ollama

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ollama/ollama/api"

	"github.com/goclaw/goclaw/internal/provider"
)

// facts is what a server said of one of its models; the zero value is nothing.
type facts struct {
	told   bool // what the model takes is known
	tools  bool
	sees   bool
	thinks bool
	levels bool // it is told how much to think, not whether

	length int  // of the context that it was trained for, in tokens; 0 when unknown
	chosen int  // the context that whoever made the model wants for it; 0 for none
	remote bool // it runs in the maker's cloud
}

func (m *Model) factsOf(model string) facts {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.known[model]
}

// maxModels bounds of how many models the facts are kept: names can come from
// outside.
const maxModels = 1000

func (m *Model) keep(model string, f facts) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= maxModels {
		m.known = map[string]facts{}
	}
	m.known[model] = f
}

// Probe implements [provider.Prober]. What it learns also decides how later
// requests are put to the model.
func (m *Model) Probe(ctx context.Context, model string) (provider.Abilities, error) {
	body, err := json.Marshal(api.ShowRequest{Model: model})
	if err != nil {
		return provider.Abilities{}, err
	}
	var s shown
	if err := m.fetch(ctx, http.MethodPost, "/api/show", body, &s); err != nil {
		return provider.Abilities{}, err
	}
	f := s.facts()
	m.keep(model, f)
	return provider.Abilities{
		ContextWindow: m.windowOf(f), Known: f.told, Images: f.sees, Tools: f.tools, Reasoning: f.thinks,
	}, nil
}

// shown is what we use of the answer to /api/show. The official type also reads
// times, which some servers that speak the wire write in ways of their own.
type shown struct {
	Parameters   string   `json:"parameters"`
	Capabilities []string `json:"capabilities"` // missing in servers before 0.6.4
	RemoteModel  string   `json:"remote_model"`
	Details      struct {
		Family string `json:"family"`
	} `json:"details"`
	Info map[string]json.RawMessage `json:"model_info"`
}

func (s shown) facts() facts {
	has := func(capability string) bool { return slices.Contains(s.Capabilities, capability) }
	var architecture string
	if json.Unmarshal(s.Info["general.architecture"], &architecture) != nil {
		architecture = s.Details.Family
	}
	return facts{
		told: s.Capabilities != nil, tools: has("tools"), sees: has("vision"), thinks: has("thinking"),
		levels: slices.Contains([]string{"gptoss", "gpt-oss"}, architecture),
		length: tokens(s.Info[architecture+".context_length"]), chosen: s.parameter("num_ctx"), remote: s.RemoteModel != "",
	}
}

// parameter is a number of the model's own settings, which come as lines of a
// name and a value; 0 when it isn't set.
func (s shown) parameter(name string) int {
	for line := range strings.Lines(s.Parameters) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == name {
			return tokens([]byte(words[1]))
		}
	}
	return 0
}

// tokens is a number of tokens, 0 when it is none.
func tokens(raw []byte) int {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !(n > 0 && n < 1<<31) {
		return 0
	}
	return int(n)
}
