package anthropic

import (
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	half, two := 0.5, 2.0
	const (
		adaptive = `"thinking":{"display":"summarized","type":"adaptive"}`
		limit    = `"max_tokens":32000,`
	)
	target := func(model string) llm.Target {
		known, ok := provider.Lookup(model)
		if !ok {
			return llm.Target{Model: model}
		}
		return llm.Target{Model: model, MaxOutput: known.MaxOutput, ContextWindow: known.ContextWindow}
	}
	for _, test := range []struct {
		name    string
		model   string
		req     llm.Request
		learned refusals
		want    string
	}{
		{"a new model's own way", "claude-sonnet-5-5", llm.Request{}, 0, limit + `"model":"claude-sonnet-5-5",` + adaptive},
		{"one that thinks when told", "claude-opus-4-8", llm.Request{}, 0, limit + `"model":"claude-opus-4-8"`},
		{"an unknown one", "glm-5", llm.Request{}, 0, `"max_tokens":8192,"model":"glm-5"`},
		{"a limit", "claude-sonnet-5-5", llm.Request{MaxOutput: 500}, 0, `"max_tokens":500,"model":"claude-sonnet-5-5",` + adaptive},
		{"a small window", "glm-5", llm.Request{Target: llm.Target{Model: "glm-5", ContextWindow: 8_000}}, 0, `"max_tokens":4000,"model":"glm-5"`},

		{"off by another word", "claude-sonnet-5-5", llm.Request{Reasoning: "off"}, 0, limit + `"model":"claude-sonnet-5-5","thinking":{"type":"between_tools"}`},
		{"off", "claude-haiku-5-5", llm.Request{Reasoning: "off"}, 0, limit + `"model":"claude-haiku-5-5","thinking":{"type":"disabled"}`},
		{"off by itself", "claude-opus-4-8", llm.Request{Reasoning: "off"}, 0, limit + `"model":"claude-opus-4-8"`},
		{"never off", "claude-opus-5-5", llm.Request{Reasoning: "off"}, 0, limit + `"model":"claude-opus-5-5","output_config":{"effort":"low"}`},
		{"off for an unknown one", "glm-5", llm.Request{Reasoning: "off"}, 0, `"max_tokens":8192,"model":"glm-5","thinking":{"type":"disabled"}`},
		{"off refused", "glm-5", llm.Request{Reasoning: "off"}, refusedOff, `"max_tokens":8192,"model":"glm-5"`},
		{"off by a word that was learned", "claude-next", llm.Request{Reasoning: "off"}, wantsBetween, `"max_tokens":8192,"model":"claude-next","thinking":{"type":"between_tools"}`},

		{"effort", "claude-opus-4-6", llm.Request{Reasoning: "medium"}, 0, limit + `"model":"claude-opus-4-6","output_config":{"effort":"medium"},` + adaptive},
		{"effort refused", "claude-opus-4-6", llm.Request{Reasoning: "medium"}, refusedEffort, limit + `"model":"claude-opus-4-6",` + adaptive},
		{"thinking refused", "claude-opus-4-6", llm.Request{Reasoning: "medium"}, refusedThinking, limit + `"model":"claude-opus-4-6","output_config":{"effort":"medium"}`},
		{"effort of an unknown one", "claude-next", llm.Request{Reasoning: "high"}, 0, `"max_tokens":8192,"model":"claude-next","output_config":{"effort":"high"},` + adaptive},
		{"a budget", "claude-haiku-4-5", llm.Request{Reasoning: "medium"}, 0, limit + `"model":"claude-haiku-4-5","thinking":{"budget_tokens":8192,"type":"enabled"}`},
		{"a budget and an effort", "claude-opus-4-5", llm.Request{Reasoning: "low"}, 0, limit + `"model":"claude-opus-4-5","output_config":{"effort":"low"},"thinking":{"budget_tokens":2048,"type":"enabled"}`},
		{"half of the limit", "claude-haiku-4-5", llm.Request{Reasoning: "high", MaxOutput: 3000}, 0, `"max_tokens":3000,"model":"claude-haiku-4-5","thinking":{"budget_tokens":1500,"type":"enabled"}`},
		{"no room for a budget", "claude-haiku-4-5", llm.Request{Reasoning: "high", MaxOutput: 2000}, 0, `"max_tokens":2000,"model":"claude-haiku-4-5"`},
		{"a budget refused", "claude-haiku-4-5", llm.Request{Reasoning: "high"}, refusedBudget, limit + `"model":"claude-haiku-4-5",` + adaptive},
		{"a budget in place of it", "claude-next", llm.Request{Reasoning: "low"}, refusedAdaptive | refusedEffort, `"max_tokens":8192,"model":"claude-next","thinking":{"budget_tokens":2048,"type":"enabled"}`},
		{"neither", "claude-next", llm.Request{Reasoning: "low"}, refusedAdaptive | refusedBudget | refusedEffort, `"max_tokens":8192,"model":"claude-next"`},

		{"temperature", "claude-haiku-4-5", llm.Request{Temperature: &half}, 0, limit + `"model":"claude-haiku-4-5","temperature":0.5`},
		{"temperature beyond the scale", "glm-5", llm.Request{Temperature: &two}, 0, `"max_tokens":8192,"model":"glm-5","temperature":1`},
		{"temperature beside thinking", "claude-haiku-4-5", llm.Request{Temperature: &half, Reasoning: "low"}, 0, limit + `"model":"claude-haiku-4-5","thinking":{"budget_tokens":2048,"type":"enabled"}`},
		{"temperature of a new model", "claude-sonnet-5-5", llm.Request{Temperature: &half, Reasoning: "off"}, 0, limit + `"model":"claude-sonnet-5-5","thinking":{"type":"between_tools"}`},
		{"temperature refused", "glm-5", llm.Request{Temperature: &half}, refusedTemperature, `"max_tokens":8192,"model":"glm-5"`},

		{
			"thinking of other conversations dropped", "claude-sonnet-5-5",
			llm.Request{},
			wantsDrops,
			limit + `"model":"claude-sonnet-5-5","thinking":{"display":"summarized","type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`,
		},
		{
			"the same by a budget", "claude-haiku-4-5",
			llm.Request{Reasoning: "low"},
			wantsDrops,
			limit + `"model":"claude-haiku-4-5","thinking":{"budget_tokens":2048,"type":"enabled","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`,
		},
		{
			"dropping where a model can't but think", "claude-opus-5-5",
			llm.Request{Reasoning: "off"},
			wantsDrops,
			limit + `"model":"claude-opus-5-5","output_config":{"effort":"low"},"thinking":{"display":"summarized","type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`,
		},
		{"dropping where nothing is thought", "claude-sonnet-5-5", llm.Request{Reasoning: "off"}, wantsDrops, limit + `"model":"claude-sonnet-5-5","thinking":{"type":"between_tools"}`},
		{"dropping refused", "claude-sonnet-5-5", llm.Request{}, wantsDrops | refusedDrops, limit + `"model":"claude-sonnet-5-5",` + adaptive},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.req.Target.Model == "" {
				test.req.Target = target(test.model)
			}
			got, err := formOf(&test.req, test.learned, false).encode()
			if err != nil || string(got) != "{"+test.want+"}" {
				t.Errorf("%s, %v; want {%s}", got, err, test.want)
			}
		})
	}
}

// A temperature goes with the version of the API that takes one, and what
// belongs to a part that is not settled yet with its name.
func TestVersions(t *testing.T) {
	t.Parallel()
	half := 0.5
	bound := `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid ` + "`signature` in `thinking`" + ` block. The block is bound to a different conversation."}}`
	s := fakellm.Start(t, fakellm.Text("a"), fakellm.Fail(400, bound), fakellm.Text("b"))
	m := open(t, provider.Settings{BaseURL: s.URL})
	warm := hello()
	warm.Target.Model, warm.Temperature = "claude-haiku-4-5", &half
	for _, req := range []llm.Request{warm, hello()} {
		if got := ask(t.Context(), m, req); got.err != nil {
			t.Fatal(got.err)
		}
	}
	for i, want := range []struct{ version, beta string }{{"2023-06-01", ""}, {"2026-10-21", ""}, {"2026-10-21", dropBeta}} {
		h := s.Requests()[i].Header
		if h.Get("Anthropic-Version") != want.version || h.Get("Anthropic-Beta") != want.beta {
			t.Errorf("request %d: %v", i, h)
		}
	}
}

// A server that refuses a setting is asked again without it, once and for all.
func TestLessons(t *testing.T) {
	t.Parallel()
	half := 0.5
	refusal := func(message string) fakellm.Answer {
		return fakellm.Fail(400, `{"type":"error","error":{"type":"invalid_request_error","message":"`+message+`"}}`)
	}
	for _, test := range []struct {
		name, model, reasoning string
		refusal                string
		gone, there            string
	}{
		{"temperature", "glm-5", "", "`temperature` is deprecated for this model.", `"temperature"`, `"max_tokens"`},
		{"temperature, unknown", "glm-5", "", "temperature: Extra inputs are not permitted", `"temperature"`, `"max_tokens"`},
		{"effort", "claude-opus-4-6", "low", "This model does not support the effort parameter.", `"effort"`, `"adaptive"`},
		{"another word for off", "claude-next", "off", `To turn thinking off on this model, send \"thinking\": {\"type\": \"between_tools\"} instead of {\"type\": \"disabled\"}.`, `"disabled"`, `"between_tools"`},
		{"no off", "claude-next", "off", `\"thinking.type.disabled\" is not supported for this model.`, `"thinking"`, `"max_tokens"`},
		{"no budget", "claude-haiku-4-5", "low", `\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.`, `"budget_tokens"`, `"adaptive"`},
		{"a budget", "claude-next", "low", "adaptive thinking is not supported on this model", `"adaptive"`, `"budget_tokens":2048`},
		{"a budget, by the reader", "claude-next", "low", "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'disabled', 'enabled'", `"adaptive"`, `"budget_tokens":2048`},
		{"no thinking", "claude-opus-4-6", "low", "thinking.display: Extra inputs are not permitted", `"thinking"`, `"effort"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.Start(t, refusal(test.refusal), fakellm.Text("a"), fakellm.Text("b"))
			m := open(t, provider.Settings{BaseURL: s.URL})
			req := hello()
			req.Target.Model, req.Reasoning, req.Temperature = test.model, test.reasoning, &half
			for range 2 {
				if got := ask(t.Context(), m, req); got.err != nil {
					t.Fatal(got.err)
				}
			}
			sent := s.Requests()
			if !strings.Contains(string(sent[0].Body), test.gone) {
				t.Errorf("%s was not there: %s", test.gone, sent[0].Body)
			}
			for _, r := range sent[1:] {
				if strings.Contains(string(r.Body), test.gone) || !strings.Contains(string(r.Body), test.there) {
					t.Errorf("%s", r.Body)
				}
			}
		})
	}
	t.Run("in vain", func(t *testing.T) {
		t.Parallel()
		s := fakellm.Start(t, refusal("temperature: Extra inputs are not permitted"), refusal("temperature: Extra inputs are not permitted"))
		req := hello()
		req.Target.Model, req.Temperature = "glm-5", &half
		if got := ask(t.Context(), open(t, provider.Settings{BaseURL: s.URL}), req); got.err == nil || len(s.Requests()) != 2 {
			t.Errorf("%v", got.err)
		}
	})
}

// Thinking that the server doesn't take back doesn't end a session: it is
// dropped by the server, where that can be asked for, and else not sent.
func TestThinkingThatIsRefused(t *testing.T) {
	t.Parallel()
	refusal := func(message string) fakellm.Answer {
		return fakellm.Fail(400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: `+message+`"}}`)
	}
	bound := refusal("Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \\\"drop_block\\\". That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header.")
	foreign := refusal("Invalid `signature` in `thinking` block")
	const drops, thought = `"drop_block"`, `"signature":"c2ln"`
	for _, test := range []struct {
		name             string
		model, reasoning string
		answers          []fakellm.Answer
		has              [][]string // what each request has
		lacks            [][]string
	}{
		{
			"dropped from then on", "claude-sonnet-5-5", "low",
			[]fakellm.Answer{bound, fakellm.Text("a"), fakellm.Text("b")},
			[][]string{{thought}, {thought, drops}, {thought, drops}},
			[][]string{{drops}, nil, nil},
		},
		{
			"dropping is not known", "claude-sonnet-5-5", "low",
			[]fakellm.Answer{bound, refusal("thinking.adaptive.block_binding: Extra inputs are not permitted"), bound, fakellm.Text("a"), bound, fakellm.Text("b")},
			[][]string{{thought}, {thought, drops}, {thought}, nil, {thought}, nil},
			[][]string{{drops}, nil, {drops}, {drops, thought}, {drops}, {drops, thought}},
		},
		{
			"dropping can't be set", "claude-sonnet-5-5", "off",
			[]fakellm.Answer{bound, bound, fakellm.Text("a"), bound, fakellm.Text("b")},
			[][]string{{thought}, {thought}, nil, {thought}, nil},
			[][]string{nil, {drops}, {thought}, nil, {thought}},
		},
		{
			"another account's", "claude-sonnet-5-5", "low",
			[]fakellm.Answer{foreign, fakellm.Text("a"), fakellm.Text("b")},
			[][]string{{thought}, nil, {thought}},
			[][]string{nil, {thought}, nil},
		},
		{
			"missing where it must be", "claude-haiku-4-5", "low",
			[]fakellm.Answer{refusal("Expected `thinking` or `redacted_thinking`, but found `tool_use`."), fakellm.Text("a"), fakellm.Text("b")},
			[][]string{{thought, `"budget_tokens"`}, nil, {thought, `"budget_tokens"`}},
			[][]string{nil, {thought, `"budget_tokens"`}, nil},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.Start(t, test.answers...)
			m := open(t, provider.Settings{BaseURL: s.URL})
			req := sample()
			req.Target.Model, req.MaxOutput, req.Reasoning = test.model, 0, test.reasoning
			for range 2 {
				if got := ask(t.Context(), m, req); got.err != nil {
					t.Fatal(got.err)
				}
			}
			for i, r := range s.Requests() {
				for _, part := range test.has[i] {
					if !strings.Contains(string(r.Body), part) {
						t.Errorf("request %d lacks %s: %s", i, part, r.Body)
					}
				}
				for _, part := range test.lacks[i] {
					if strings.Contains(string(r.Body), part) {
						t.Errorf("request %d has %s: %s", i, part, r.Body)
					}
				}
			}
		})
	}
}
