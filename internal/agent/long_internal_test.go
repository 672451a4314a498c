package agent

import "testing"

func TestRoomAfter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words     string
		estimated int
		want      int
	}{
		{"prompt is too long", 9_000, 6_000},
		{"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.", 173_000, 161_821},
		{"prompt is too long: 1200000 tokens > 1000000 maximum", 1_200_000, 950_000},
		{"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_000_000, 830_122},
		{"This model's maximum context length is 8192 tokens. However, you requested 9,000 tokens (5000 in the messages, 4000 in the completion).", 6_000, 5_188},
		{"the request exceeds the available context size (4096 tokens), try increasing it", 9_000, 4_096},
		{"the request exceeds the available context size (32768 tokens)", 9_000, 6_000},
		{"too long (request 20261201)", 9_000, 6_000},
		{"20000000 bytes is more than 1000", 9_000, 6_000},
		{"", 1, 1},
	} {
		if got := roomAfter(c.words, c.estimated); got != c.want {
			t.Errorf("%q of %d: %d, want %d", c.words, c.estimated, got, c.want)
		}
	}
}
