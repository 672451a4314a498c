package command

import (
	"testing"

	"github.com/goclaw/goclaw/internal/tool"
)

func TestApprove(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]struct {
		answer tool.Answer
		id     string
	}{
		"":             {tool.AllowOnce, ""},
		"always":       {tool.AllowAlways, ""},
		"allow-always": {tool.AllowAlways, ""},
		"NO":           {tool.Deny, ""},
		"deny":         {tool.Deny, ""},
		"yes":          {tool.AllowOnce, ""},
		"k3x":          {tool.AllowOnce, "k3x"},
		"always k3x":   {tool.AllowAlways, "k3x"},
		" k3x  deny ":  {tool.Deny, "k3x"},
		"no no":        {tool.Deny, "no"}, // there is no such request, which is told
	} {
		answer, id, err := Approve(arg)
		if err != nil || answer != want.answer || id != want.id {
			t.Errorf("/approve %s is %s, %q (%v), want %+v", arg, answer, id, err, want)
		}
	}
	for _, bad := range []string{"k3x please", "always k3x soon"} {
		if answer, id, err := Approve(bad); err == nil {
			t.Errorf("/approve %s is %s, %q", bad, answer, id)
		}
	}
}
