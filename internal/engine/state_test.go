package engine_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// A call that comes to touch what a later one changed already knows of that.
func TestARewrittenCallKnowsWhatRanBeforeIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		changed := make(chan struct{})
		b := set(t, []tool.Tool{tool.WithTouches(tool.New(tool.Definition{Name: "write"}, func(_ context.Context, c tool.Call, in path) (tool.Result, error) {
			digest, _ := c.State.Digest(in.Path)
			r := tool.TextResult("knew " + digest)
			r.Effects = []tool.Effect{{Kind: tool.FileSeen, Key: in.Path, Value: "written"}}
			return r, nil
		}), func(_ tool.Call, in path) []tool.Touch { return []tool.Touch{{Name: "file:" + in.Path, Write: true}} })},
			hooked(t, decides("elsewhere", 0, func(ctx context.Context, c *hook.Call) (hook.Verdict, error) {
				if c.ID != "first" {
					return hook.Verdict{}, nil
				}
				<-changed
				return hook.Verdict{Args: json.RawMessage(`{"path":"b"}`)}, nil
			})))
		out := b.Execute(t.Context(), b.offer(), []llm.ToolCall{{ID: "first", Name: "write", Arguments: `{"path":"a"}`}, {ID: "second", Name: "write", Arguments: `{"path":"b"}`}}, func(e tool.Event) {
			if e.Type == tool.Finished && e.Index == 1 {
				close(changed)
			}
		})
		if got := text(out[0]); got != "knew written" {
			t.Errorf("got %q", got)
		}
	})
}
