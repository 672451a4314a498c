package anthropic

import (
	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// form is how the settings of a request are put to a model, which differs from
// model to model and by what a server refused.
type form struct {
	model     string
	maxTokens int
	thinking  string // the type; "" leaves it to the model
	budget    int    // tokens, of the type enabled
	effort    string // "" leaves it to the model
	// drops has the server leave out thinking that belongs to another
	// conversation, in place of refusing the request.
	drops bool
	// bare has no thinking sent back.
	bare bool

	temperature float64
	tempered    bool
}

// The types of thinking.
const (
	thinkAdaptive = "adaptive"
	thinkEnabled  = "enabled"
	thinkDisabled = "disabled"
	thinkBetween  = "between_tools"
)

const (
	// maxAnswer is the output limit of models that can say more, where none was
	// configured: the limit is on thinking, too. unknownAnswer is that of
	// models that aren't known.
	maxAnswer     = 32_000
	unknownAnswer = 8_192
	// minBudget is the smallest budget that the API takes.
	minBudget = 1_024
)

// budgets is how much models think that are given a number of tokens.
var budgets = map[string]int{"low": 2_048, "medium": 8_192, "high": 16_384}

// formOf decides. learned is what the server refused; bare has no thinking sent
// back, and none asked for where that is only taken behind earlier thinking.
func formOf(req *llm.Request, learned refusals, bare bool) form {
	known, _ := provider.Lookup(req.Target.Model)
	f := form{model: req.Target.Model, maxTokens: maxTokens(req), bare: bare}
	f.thinking = thinkingOf(req.Reasoning, known, learned)
	if f.thinking == thinkEnabled {
		f.budget = min(budgets[req.Reasoning], f.maxTokens/2)
		if f.budget < minBudget || bare {
			f.thinking, f.budget = "", 0
		}
	}
	if learned&refusedEffort == 0 {
		f.effort = effortOf(req.Reasoning, known)
	}
	f.drops = !bare && learned&wantsDrops != 0 && learned&refusedDrops == 0
	if f.drops && f.thinking == "" && learned&refusedThinking == 0 && (known.Thinking == nil || known.Thinking.Default) {
		f.thinking = thinkAdaptive // the setting belongs to it, and such a model thinks anyway
	}
	f.drops = f.drops && (f.thinking == thinkAdaptive || f.thinking == thinkEnabled)
	f.tempered = req.Temperature != nil && !known.OwnTemperature && learned&refusedTemperature == 0 &&
		(f.thinking == "" || f.thinking == thinkDisabled)
	if f.tempered {
		f.temperature = min(*req.Temperature, 1)
	}
	return f
}

// maxTokens is the output limit, which the API wants to be told.
func maxTokens(req *llm.Request) int {
	n := req.MaxOutput
	if n > 0 {
		return n
	}
	if n = req.Target.MaxOutput; n <= 0 {
		n = unknownAnswer
	}
	if w := req.Target.ContextWindow; w > 0 {
		n = min(n, w/2)
	}
	return min(n, maxAnswer)
}

// thinkingOf is the type of thinking for what is wanted of a model. One that is
// not in the table is taken for a new one.
func thinkingOf(want string, known provider.Model, learned refusals) string {
	t := known.Thinking
	if t == nil {
		t = &provider.Thinking{Off: thinkDisabled}
	}
	adaptive := learned&refusedAdaptive == 0
	budget := learned&refusedBudget == 0
	switch {
	case learned&refusedThinking != 0, want == "" && !t.Default:
		return ""
	case want == "off":
		return thinkingOff(t, known, learned)
	case !adaptive && !budget:
		return "" // it is left to the model, which takes neither
	case budget && (t.Budget || !adaptive):
		return thinkEnabled
	}
	return thinkAdaptive
}

func thinkingOff(t *provider.Thinking, known provider.Model, learned refusals) string {
	switch {
	case learned&wantsBetween != 0:
		return thinkBetween
	case learned&refusedOff != 0, known.Name != "" && !t.Default:
		return ""
	}
	return t.Off
}

// effortOf is the effort for what is wanted of a model, "" to send none. One
// that can't be kept from thinking makes the least effort instead.
func effortOf(want string, known provider.Model) string {
	switch {
	case want == "":
		return ""
	case want == "off":
		if known.Thinking == nil || known.Thinking.Off != "" {
			return ""
		}
		return known.NearestEffort("none")
	case known.Name == "":
		return want
	}
	return known.NearestEffort(want)
}

const (
	// dropBeta is the version of the API's part that knows of form.drops.
	dropBeta = "thinking-binding-controls-2026-08-01"
	// samplingVersion is the last version of the API in which a temperature may
	// be set; newer ones refuse it.
	samplingVersion = "2023-06-01"
)

// headers are those of a request in this form.
func (f form) headers() []option.RequestOption {
	var list []option.RequestOption
	if f.tempered {
		list = append(list, option.WithHeader("anthropic-version", samplingVersion))
	}
	if f.drops {
		list = append(list, option.WithHeaderAdd("anthropic-beta", dropBeta))
	}
	return list
}

// encode writes the settings as the SDK's types do.
func (f form) encode() ([]byte, error) {
	p := anthropic.MessageNewParams{Model: f.model, MaxTokens: int64(f.maxTokens)}
	p.OutputConfig.Effort = anthropic.OutputConfigEffort(f.effort)
	if f.tempered {
		p.SetExtraFields(map[string]any{"temperature": f.temperature})
	}
	var drops map[string]any
	if f.drops {
		drops = map[string]any{"block_binding": map[string]string{"prefix_mismatch_behavior": "drop_block"}}
	}
	switch f.thinking {
	case thinkAdaptive:
		// Newer models show nothing of their thinking unless asked to.
		p.Thinking.OfAdaptive = &anthropic.ThinkingConfigAdaptiveParam{Display: anthropic.ThinkingConfigAdaptiveDisplaySummarized}
		p.Thinking.OfAdaptive.SetExtraFields(drops)
	case thinkEnabled:
		p.Thinking.OfEnabled = &anthropic.ThinkingConfigEnabledParam{BudgetTokens: int64(f.budget)}
		p.Thinking.OfEnabled.SetExtraFields(drops)
	case thinkDisabled:
		off := anthropic.NewThinkingConfigDisabledParam()
		p.Thinking.OfDisabled = &off
	case thinkBetween:
		between := anthropic.NewThinkingConfigBetweenToolsParam()
		p.Thinking.OfBetweenTools = &between
	}
	return p.MarshalJSON()
}
