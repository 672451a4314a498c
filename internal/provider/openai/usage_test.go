package openai

import (
	"testing"

	"github.com/goclaw/goclaw/internal/llm"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	r := &reply{}
	for _, c := range []string{
		`{"id":"x1","model":"gpt-x","choices":[{"delta":{"content":"a"}}],"usage":null}`,
		`{"id":"x2","model":"other","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":64,"cache_write_tokens":20,"audio_tokens":null},"completion_tokens_details":{"reasoning_tokens":3}}}`,
	} {
		if err := r.chunk([]byte(c)); err != nil {
			t.Fatal(err)
		}
	}
	got := r.done(llm.Target{Provider: "p"})
	want := llm.Usage{Input: 100, Cached: 64, CacheWrite: 20, Output: 7, Reasoning: 3}
	if got.Usage != want || got.ID != "x1" || got.Model != "gpt-x" || got.Target.Provider != "p" {
		t.Errorf("%+v", got)
	}
}

func TestUsageOfOtherServers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		usages []string
		want   llm.Usage
	}{
		{"DeepSeek's", []string{`{"prompt_tokens":5,"completion_tokens":1,"prompt_cache_hit_tokens":4}`}, llm.Usage{Input: 5, Cached: 4, Output: 1}},
		{
			"xAI's, and nothing behind it",
			[]string{`{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":94}}`, `{}`},
			llm.Usage{Input: 32, Output: 103, Reasoning: 94},
		},
		{
			"xAI's, told again without details",
			[]string{
				`{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":94}}`,
				`{"prompt_tokens":32,"completion_tokens":10,"total_tokens":136}`,
			},
			llm.Usage{Input: 32, Output: 104, Reasoning: 94},
		},
		{
			"told again without details",
			[]string{
				`{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":64,"cache_write_tokens":20},"completion_tokens_details":{"reasoning_tokens":3}}`,
				`{"prompt_tokens":100,"completion_tokens":9,"prompt_tokens_details":null}`,
			},
			llm.Usage{Input: 100, Cached: 64, CacheWrite: 20, Output: 9, Reasoning: 3},
		},
		{
			"corrected",
			[]string{
				`{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":64}}`,
				`{"prompt_tokens":100,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":0}}`,
			},
			llm.Usage{Input: 100, Output: 9},
		},
	} {
		r := &reply{}
		for _, u := range test.usages {
			if err := r.chunk([]byte(`{"choices":[],"usage":` + u + `}`)); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.done(llm.Target{}); got.Usage != test.want {
			t.Errorf("%s: %+v", test.name, got.Usage)
		}
	}
}
