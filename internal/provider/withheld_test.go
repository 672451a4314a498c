package provider

import "testing"

func TestWithheld(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]bool{
		"": false, "stop": false, "tool_calls": false, "end_turn": false, "eos_token": false, "unload": false,
		"content_filter": true, "guardrail_intervened": true, "IMAGE_SAFETY_2": true, "refusal": true, "blocked_by_policy": true,
	} {
		if got := Withheld(reason); got != want {
			t.Errorf("%q: %v", reason, got)
		}
	}
}
