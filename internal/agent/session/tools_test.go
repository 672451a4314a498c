package session_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// shelf is a store of two sessions, which is only read.
type shelf struct{ session.Store }

var kept = session.Session{
	Key: session.Key{Agent: "main", ID: "one"}, Title: "Invoices", Caller: auth.Principal{ID: "ann", Name: "Ann", Role: auth.User},
	Updated: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Turns: 3, Status: agent.Done,
}

func (shelf) Sessions(_ context.Context, f session.Filter) ([]session.Session, string, error) {
	if f.Agent != "main" || f.Limit != 20 {
		return nil, "", session.ErrCursor
	}
	return []session.Session{kept}, "more", nil
}

func (shelf) Session(_ context.Context, k session.Key) (session.Session, error) {
	if k != kept.Key {
		return session.Session{}, session.ErrNotFound
	}
	return kept, nil
}

func (shelf) Turns(_ context.Context, _ session.Key, first, _ int, _ session.Depth) ([]session.Turn, error) {
	all := []session.Turn{}
	for n := first; n <= 3; n++ {
		all = append(all, session.Turn{Number: n, Message: llm.UserMessage("word " + string(rune('0'+n))), Status: agent.Done})
	}
	return all, nil
}

func TestTools(t *testing.T) {
	t.Parallel()
	tools := map[string]tool.Tool{}
	for _, x := range session.Tools(shelf{}) {
		d := x.Definition()
		tools[d.Name] = x
		if !d.OwnerOnly || !d.ReadOnly || d.Category != "sessions" {
			t.Errorf("%s: %+v", d.Name, d.Traits)
		}
	}
	call := func(name, args string) (string, error) {
		s := tool.NewScope(tool.Facts{Agent: "main"})
		r, err := tools[name].Execute(t.Context(), tool.Call{Args: json.RawMessage(args), Scope: s})
		return llm.JoinText(r.Content), err
	}
	if got, err := call("sessions_list", `{}`); err != nil || !strings.Contains(got, `"id":"one","agent":"main","title":"Invoices","begun_by":"Ann"`) || !strings.Contains(got, `"more":true`) {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := call("sessions_history", `{"session":"one","turns":2}`); err != nil || strings.Contains(got, "word 1") || !strings.Contains(got, "word 2") || !strings.Contains(got, "word 3") {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := call("sessions_history", `{"session":"two"}`); err == nil || !strings.Contains(err.Error(), `agent main has no session "two"`) {
		t.Errorf("got %v", err)
	}
}
