package gemini

import (
	"math"
	"strings"

	"google.golang.org/genai"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// form is how a request is put to a model, which differs from model to model
// and by what a server refused.
type form struct {
	thoughts bool                // what the model thinks is shown
	level    genai.ThinkingLevel // how much it thinks; "" leaves it to the model
	budget   int                 // the same in tokens, for older models
	budgeted bool

	maxOutput   int // 0 leaves it to the model
	temperature *float64

	// marks has calls without a signature marked as another's.
	marks bool
	// pictures lets results hold their images; else they follow behind.
	pictures bool
	// spoken has the system's text go before the first message.
	spoken bool
	// bare has no signature sent back.
	bare bool
}

// budgets is how many tokens an older model may think.
var budgets = map[string]int{"low": 2_048, "medium": 8_192, "high": 24_576}

// formOf decides. learned is what the server refused.
func formOf(req *llm.Request, learned refusals, bare bool) form {
	known, _ := provider.Lookup(req.Target.Model)
	older := older(req.Target.Model)
	f := form{
		maxOutput: req.MaxOutput, bare: bare,
		spoken:   learned&refusedSystem != 0,
		marks:    !older || learned&wantsSignatures != 0,
		pictures: !older && learned&refusedPictures == 0,
	}
	if !known.OwnTemperature && learned&refusedTemperature == 0 {
		f.temperature = req.Temperature
	}
	if learned&refusedThinking == 0 {
		f.think(req.Reasoning, known, learned)
	}
	return f
}

// older reports whether a model is of the time before Gemini 3: it wants no
// signatures, and takes no images within results.
func older(model string) bool {
	model = model[strings.LastIndexByte(model, '/')+1:]
	return strings.HasPrefix(model, "gemini-1") || strings.HasPrefix(model, "gemini-2") || strings.HasPrefix(model, "gemma")
}

// think sets how much a model thinks, for what is wanted of it. Of one that is
// not in the table nothing is said unless something is wanted; then it is taken
// for a new one.
func (f *form) think(want string, known provider.Model, learned refusals) {
	t := known.Thinking
	if t == nil {
		t = &provider.Thinking{Default: true, Off: "budget"}
	}
	isKnown := known.Name != ""
	reasons := len(known.Effort) > 0 || known.Thinking != nil
	switch {
	case isKnown && !reasons, want == "" && (!isKnown || !t.Default):
		return
	case want == "":
		f.thoughts = true
		return
	}
	f.thoughts = want != "off"
	byLevel := len(known.Effort) > 0 || !isKnown
	switch {
	case byLevel && learned&refusedLevel == 0:
		f.level = levelOf(want, known)
	case (t.Budget || byLevel) && learned&refusedBudget == 0:
		f.budget, f.budgeted = budgetOf(want, t, f.maxOutput), true
	}
}

func levelOf(want string, known provider.Model) genai.ThinkingLevel {
	if want == "off" {
		want = "none"
	}
	switch {
	case known.Name != "":
		want = known.NearestEffort(want)
	case want == "none":
		want = "minimal"
	}
	return genai.ThinkingLevel(strings.ToUpper(want))
}

// budgetOf is how many tokens a model may think. The output limit counts them,
// so at least half of that is left for the answer.
func budgetOf(want string, t *provider.Thinking, maxOutput int) int {
	if want == "off" && t.Off != "" {
		return 0
	}
	n := budgets[want]
	if maxOutput > 0 {
		n = min(n, maxOutput/2)
	}
	if t.Most > 0 {
		n = min(n, t.Most)
	}
	return max(n, t.Least)
}

// settings are the form's, as the API has them; nil when there are none.
func (f form) settings() *genai.GenerationConfig {
	var c genai.GenerationConfig
	if f.temperature != nil {
		c.Temperature = new(float32(*f.temperature))
	}
	c.MaxOutputTokens = int32(min(max(f.maxOutput, 0), math.MaxInt32))
	if f.thoughts || f.level != "" || f.budgeted {
		c.ThinkingConfig = &genai.ThinkingConfig{IncludeThoughts: f.thoughts, ThinkingLevel: f.level}
		if f.budgeted {
			c.ThinkingConfig.ThinkingBudget = new(int32(min(f.budget, math.MaxInt32)))
		}
	}
	if c.Temperature == nil && c.MaxOutputTokens == 0 && c.ThinkingConfig == nil {
		return nil
	}
	return &c
}
