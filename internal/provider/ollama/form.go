package ollama

import (
	"encoding/json"

	"github.com/ollama/ollama/api"

	"github.com/goclaw/goclaw/internal/llm"
)

// form is how the settings of a request are put to a model, which differs by
// what the server said of the model and by what it refused.
type form struct {
	model       string
	window      int // tokens
	maxOutput   int // tokens; 0 leaves it to the model
	temperature float64
	tempered    bool
	// think is a bool or one of the words low, medium and high; nil leaves it to
	// the model.
	think any
}

// refusals are the settings that a server said a model doesn't take.
type refusals uint16

const (
	refusedThinking refusals = 1 << iota // to be told anything of thinking
	refusedLevels                        // to be told how much
)

// maxWindow is the context, in tokens, that a model on the server gets at most
// where nothing was configured. The server sets memory aside for all of it when
// it loads the model, some gigabytes for this much; models claim up to a
// million. Its own default of 4,096 would cut off the beginning of nearly every
// conversation without a word.
const maxWindow = 32_768

// windowOf is the context that requests ask for, in tokens.
func (m *Model) windowOf(f facts) int {
	switch {
	case m.window > 0:
		return m.window
	case f.chosen > 0: // by whoever made the model
		return capped(f.chosen, f.length)
	case f.remote && f.length > 0: // another's memory
		return f.length
	}
	return capped(maxWindow, f.length)
}

// capped is want, and no more than limit where there is one.
func capped(want, limit int) int {
	if limit > 0 {
		return min(want, limit)
	}
	return want
}

func (m *Model) formOf(req *llm.Request, learned refusals) form {
	known := m.factsOf(req.Target.Model)
	f := form{model: req.Target.Model, window: m.windowOf(known), maxOutput: req.MaxOutput, think: known.think(req.Reasoning, learned)}
	if req.Temperature != nil {
		f.temperature, f.tempered = *req.Temperature, true
	}
	return f
}

// think is how the model is told to think. Most can be told whether, some how
// much, and those can't be kept from it.
func (f facts) think(want string, learned refusals) any {
	levels := (f.levels || !f.told) && learned&refusedLevels == 0
	switch {
	case want == "", learned&refusedThinking != 0, f.told && !f.thinks:
		return nil
	case want == "off" && f.levels:
		return "low"
	case want == "off":
		return false
	case levels:
		return want
	}
	return true
}

// encode is the settings as the official package's types write them, without
// messages and tools.
//
// The server is told to refuse a conversation that is too long, rather than
// leave out its beginning, and to end an answer where the context is full: what
// the model sees is decided where it is known what matters.
func (f form) encode() ([]byte, error) {
	stream, no := true, false
	options := map[string]any{"num_ctx": f.window}
	if f.maxOutput > 0 {
		options["num_predict"] = f.maxOutput
	}
	if f.tempered {
		options["temperature"] = f.temperature
	}
	r := api.ChatRequest{Model: f.model, Stream: &stream, Options: options, Truncate: &no, Shift: &no}
	if f.think != nil {
		r.Think = &api.ThinkValue{Value: f.think}
	}
	return json.Marshal(struct {
		api.ChatRequest
		Messages []struct{} `json:"messages,omitempty"` // hides the type's own, which stand before the settings
	}{ChatRequest: r})
}
