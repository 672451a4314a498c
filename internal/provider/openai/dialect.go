package openai

import (
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// dialect is how a server and one of its models differ from what OpenAI
// documents: known by the address or the type, or learned from a refusal.
type dialect struct {
	official bool // OpenAI's own servers
	deepseek bool
	learned  refusals
}

// refusals are the things that a server said it doesn't take.
type refusals uint16

const (
	refusedUsage       refusals = 1 << iota // stream_options
	refusedTemperature                      // temperature
	refusedEffort                           // reasoning_effort
	refusedThinking                         // tools beside any effort but "none"
	refusedTokens                           // the name of the output limit that was sent
	refusedChoice                           // tool_choice
	wantsReasoning                          // a reply with calls has to bring its reasoning back
)

func (d dialect) refuses(r refusals) bool { return d.learned&r != 0 }

// newDialect decides by the provider's type and address.
func newDialect(s provider.Settings) dialect {
	u, err := url.Parse(s.BaseURL)
	if err != nil {
		return dialect{}
	}
	host := strings.ToLower(u.Hostname())
	return dialect{
		official: host == "api.openai.com" || strings.HasSuffix(host, ".openai.com") || strings.HasSuffix(host, ".openai.azure.com"),
		deepseek: s.Type == "deepseek" || host == "api.deepseek.com",
	}
}

// completionTokens says which of the two names the output limit goes by.
func (d dialect) completionTokens() bool { return d.official != d.refuses(refusedTokens) }

// echoes says whether a reply with calls is sent back with its reasoning.
func (d dialect) echoes() bool { return d.deepseek || d.refuses(wantsReasoning) }

// effort is the value of reasoning_effort, "" to send none. A model of the
// table gets the nearest value that it takes; a model that is not in it gets
// what was asked for.
func (d dialect) effort(req *llm.Request, known provider.Model) string {
	if d.refuses(refusedThinking) && len(req.Tools) > 0 || d.official && known.Direct && len(req.Tools) > 0 {
		return "none"
	}
	if req.Reasoning == "" || d.refuses(refusedEffort) {
		return ""
	}
	want := req.Reasoning
	if want == "off" {
		if d.deepseek {
			return "" // it has a switch of its own
		}
		want = "none"
	}
	if known.Name == "" {
		return want
	}
	return nearest(known.Effort, want)
}

// scale orders the values of reasoning_effort.
var scale = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// nearest is the value among those a model takes that is closest to want, the
// smaller of two equally close ones; "" when it takes none.
func nearest(takes []string, want string) string {
	best, distance := "", len(scale)
	at := slices.Index(scale, want)
	for _, v := range takes {
		away := slices.Index(scale, v) - at
		if away < 0 {
			away = -away
		}
		if away < distance {
			best, distance = v, away
		}
	}
	return best
}

// lessons keeps what was learned of each model of a server, so that a refused
// setting costs one request and not one per call. The zero value is ready.
type lessons struct {
	mu      sync.RWMutex
	byModel map[string]refusals
}

func (l *lessons) of(model string) refusals {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.byModel[model]
}

// learn notes what f says of a request that was sent with d and reports
// whether it was anything new: then the same request in other clothes may be
// taken. Nothing was done with the refused one, so that is no retry.
func (l *lessons) learn(model string, d dialect, f *fault) bool {
	if f.status != 400 && f.status != 422 {
		return false
	}
	r := lesson(f)
	l.mu.Lock()
	defer l.mu.Unlock()
	if r == 0 || d.learned&r == r {
		return false
	}
	if l.byModel == nil {
		l.byModel = map[string]refusals{}
	}
	l.byModel[model] |= r
	return true
}

// lesson is what a refusal teaches, 0 when it is about something else.
func lesson(f *fault) refusals {
	about := func(name string) bool { return f.param == name || f.param == "" && f.says(name) }
	refused := f.says("unsupported", "not supported", "does not support", "unrecognized", "unknown", "unexpected",
		"not permitted", "not allowed", "extra", "invalid field", "only the default")
	switch {
	case f.says("reasoning_content") && f.says("passed back", "missing", "must be provided"):
		return wantsReasoning
	case !refused:
		return 0
	case f.param == "reasoning_effort" && f.says("tools"):
		return refusedThinking
	case about("reasoning_effort"):
		return refusedEffort
	case about("stream_options"):
		return refusedUsage
	case about("temperature"):
		return refusedTemperature
	case about("max_tokens"), about("max_completion_tokens"):
		return refusedTokens
	case about("tool_choice"):
		return refusedChoice
	}
	return 0
}
