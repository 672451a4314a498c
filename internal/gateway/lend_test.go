package gateway_test

import (
	"context"
	"testing"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
	"github.com/goclaw/goclaw/plugin"
)

// A tool that the host binds to one run is the run's whatever policies say, and
// refuses when the run is over, also to a plugin that kept it.
func TestAToolOfOneRunEndsWithIt(t *testing.T) {
	t.Parallel()
	var kept tool.Host // as a plugin would keep it
	setup := plugin.NewTool(plugin.Definition{Name: "setup_step", Description: "Sets up."}, func(_ context.Context, call plugin.Call, _ struct{}) (string, error) {
		kept = call.Host
		return "step done", nil
	})
	r := alice(t, "tools: {deny: [\"*\"]}\n", fakellm.Calls(fakellm.Use("setup_step", `{}`)), fakellm.Text("Done."),
		fakellm.Calls(fakellm.Use("setup_step", `{}`)), fakellm.Text("Gone."))
	req := admin("s", "set up")
	req.Bound = []tool.Tool{setup}
	out := r.watch(r.start(req)).outcomes()
	if len(out) != 1 || out[0].Status != tool.OK || llm.JoinText(out[0].Content) != "step done" {
		t.Fatalf("got %+v", out)
	}
	if o := kept.Call(t.Context(), "setup_step", []byte(`{}`)); o.Status == tool.OK {
		t.Error("a kept host still calls it")
	}
	out = r.say("s", "set up once more").outcomes()
	if len(out) != 1 || out[0].Status != tool.Refused {
		t.Errorf("the next run got %+v", out)
	}
	req = admin("s", "set up")
	req.Bound = []tool.Tool{plugin.NewTool(plugin.Definition{Name: "calc"}, func(context.Context, plugin.Call, struct{}) (string, error) { return "", nil })}
	if got := r.watch(r.start(req)); got.end.Text == "" || got.end.End.Err == nil {
		t.Errorf("a taken name: %+v", got.end)
	}
}
