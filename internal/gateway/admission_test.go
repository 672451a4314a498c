package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/gateway/api"
	"github.com/goclaw/goclaw/plugin"
)

func admissions(x engine.Explanation) string {
	var list []string
	for _, m := range x.Remarks {
		if m.Topic == engine.Admission {
			list = append(list, m.Detail)
		}
	}
	return strings.Join(list, "\n")
}

// A plugin that decides about calls and could not be loaded is named before the
// first call that it blocks, to admins with the reason.
func TestAGuardThatCouldNotBeLoadedIsSeenBefore(t *testing.T) {
	t.Parallel()
	r := hooked(t, func(a plugin.API) error {
		if err := plugin.On(a, plugin.BeforeToolCall, func(context.Context, *plugin.HookCall) (plugin.Verdict, error) { return plugin.Verdict{}, nil }, plugin.HookOptions{}); err != nil {
			return err
		}
		return errors.New("no licence: token sk-secret")
	})
	x := r.explain(admin("s", "what time is it"), "datetime")
	if got := admissions(x); !strings.Contains(got, "every call is blocked by the handler hooks (plugin hooks), since it could not be loaded: no licence") {
		t.Errorf("explaining says %q", got)
	}
	if !strings.HasPrefix(x.Fix, "correct what plugin hooks says") {
		t.Errorf("the fix is %q", x.Fix)
	}
	v, err := r.TestHooks(t.Context(), admin("s", ""), api.HookTest{Tool: "datetime", Args: json.RawMessage("{}")})
	if err != nil || !strings.HasPrefix(v.Decision, "blocked by the handler hooks (plugin hooks)") || !strings.Contains(v.Decision, "fix: ") {
		t.Errorf("testing says %q (%v)", v.Decision, err)
	}
	if all := r.Rules().Handlers; len(all) != 1 || !strings.Contains(all[0].Broken, "no licence") {
		t.Errorf("the list says %+v", all)
	}
}

// That arguments were too long to be kept is said.
func TestArgumentsTooLongToKeepAreSaid(t *testing.T) {
	t.Parallel()
	r := alice(t, `hooks:
  - {name: look, tools: [file_write], action: block}
`)
	req := admin("s", "write a file")
	if _, err := r.Invoke(t.Context(), req, "file_write", []byte(`{"path":"a.txt","content":"`+strings.Repeat("x", 3000)+`"}`)); err != nil {
		t.Fatal(err)
	}
	if got := admissions(r.explain(req, "file_write")); !strings.Contains(got, "a call without arguments (those of the last one were too long to keep) would be blocked by the rule look") {
		t.Errorf("explaining says %q", got)
	}
}
