package gateway_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/gateway"
)

// A policy whose key is nobody protects nobody, and says nothing by itself. What
// can't be known is not told.
func TestPoliciesForNobodyAreTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, config string
		unknown      bool // whether who has an account is
		want         []string
	}{
		{name: "people that there are", config: `tools: {by_sender: {ada: {deny: [calc]}, "*": {deny: [calc]}, local-user: {deny: [calc]}, admin: {deny: [calc]}}}`},
		{name: "nobody", config: `tools:
  by_sender:
    "bbo": {deny: [calc]}
    zoe: {deny: [calc]}
agents:
  list:
    - id: main
      tools:
        by_sender:
          "": {deny: [calc]}
`, want: []string{
			`tools.by_sender.bbo (config.yaml:3): there is no user "bbo" (goclaw users list), and no channel that people write from, so that this never holds; nearest: bob`,
			`tools.by_sender.zoe (config.yaml:4): there is no user "zoe" (goclaw users list), and no channel that people write from, so that this never holds`,
			`agents.list[main].tools.by_sender[""] (config.yaml:10): an empty key is nobody's, so that this never holds`,
		}},
		{name: "nobody knows who there is", config: `tools: {by_sender: {bbo: {deny: [calc]}}}`, unknown: true},
		{name: "whom a channel brings", config: `tools: {by_sender: {bbo: {deny: [calc]}, "telegram:42": {deny: [calc]}}}
channels: {telegram: {groups: {"-100": {tools: {deny: [calc]}}}}}`},
		{name: "a channel that there is not", config: `channels: {telegram: {token: x}}
tools:
  by_sender:
    telegramm:42: {deny: [calc]}
    "telegram:": {deny: [calc]}
`, want: []string{
			`tools.by_sender[telegram:] (config.yaml:5): the key "telegram:" names a channel and nobody in it, so that this never holds: write channel:id, or channels.NAME.groups for groups`,
			`tools.by_sender[telegramm:42] (config.yaml:4): no channel of that name is set up (channels), so that "telegramm:42" is nobody and this never holds; nearest: telegram`,
		}},
		{name: "a group of a channel that there is not", config: `channels:
  slak: {groups: {"7": {tools: {deny: [calc]}}}}
  matrix: {groups: {"7": {tools: {deny: [calc]}}}}
`, want: []string{`channels.slak (config.yaml:2): GoClaw has no channel "slak", so that what stands under it holds for nobody; nearest: slack`}},
		{name: "models", config: `ai:
  providers:
    openai: {api_key: k, model: gpt-own}
    house: {base_url: "http://127.0.0.1:9/v1", model: qwen3}
tools:
  by_provider:
    openai: {deny: [calc]}
    openai/gpt-own: {deny: [calc]}
    openai/gpt-4o: {deny: [calc]}
    openai/gpt-4oo: {deny: [calc]}
    house/anything-else: {deny: [calc]}
    house/qwen-3: {deny: [calc]}
    ollama/llama9: {deny: [calc]}
`, want: []string{
			`tools.by_provider[house/qwen-3] (config.yaml:12): no agent uses the model of "house/qwen-3", and the model table has none of that name, so that this holds only for a run that names it itself; nearest: qwen3`,
			`tools.by_provider[openai/gpt-4oo] (config.yaml:10): no agent uses the model of "openai/gpt-4oo", and the model table has none of that name, so that this holds only for a run that names it itself; nearest: gpt-4o, gpt-4.1`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			conf, err := config.Parse(config.Options{Home: home, File: filepath.Join(home, "config.yaml")}, []byte(c.config))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range gateway.DiagnoseKeys(conf, []string{"ada", "bob"}, !c.unknown) {
				got = append(got, d.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
