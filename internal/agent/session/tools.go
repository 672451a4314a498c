package session

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/tool"
)

//go:embed sessions_list.md
var sessionsListText string

//go:embed sessions_history.md
var sessionsHistoryText string

// Tools returns the tools of this room, sessions_list and sessions_history.
// They show conversations of everybody, so only an administrator in person is
// offered them.
func Tools(store Store) []tool.Tool {
	traits := func(tags ...string) tool.Traits {
		return tool.Traits{Category: "sessions", ReadOnly: true, OwnerOnly: true, Tags: append(tags, "session", "conversation", "chat")}
	}
	return []tool.Tool{
		tool.New(tool.Definition{
			Name: "sessions_list", Description: strings.TrimSpace(sessionsListText), Traits: traits("list"),
		}, func(ctx context.Context, call tool.Call, in listIn) (listOut, error) {
			return listed(ctx, store, call.Scope, in)
		}),
		tool.New(tool.Definition{
			Name: "sessions_history", Description: strings.TrimSpace(sessionsHistoryText), Traits: traits("history", "transcript"),
		}, func(ctx context.Context, call tool.Call, in historyIn) (string, error) {
			return history(ctx, store, call.Scope, in)
		}),
	}
}

type listIn struct {
	Query string `json:"query,omitempty" jsonschema:"words of the title"`
	Agent string `json:"agent,omitempty" jsonschema:"default: this agent"`
	Limit int    `json:"limit,omitempty" jsonschema:"default 20" min:"1" max:"100"`
}

type listOut struct {
	Sessions []listedSession `json:"sessions"`
	More     bool            `json:"more,omitempty"`
}

type listedSession struct {
	ID      string    `json:"id"`
	Agent   string    `json:"agent"`
	Title   string    `json:"title"`
	Begun   string    `json:"begun_by"`
	Origin  string    `json:"origin"`
	Updated time.Time `json:"updated"`
	Turns   int       `json:"turns"`
}

func listed(ctx context.Context, store Store, s tool.Scope, in listIn) (listOut, error) {
	list, next, err := store.Sessions(ctx, Filter{Agent: cmp.Or(in.Agent, s.Agent()), Title: in.Query, Limit: cmp.Or(in.Limit, 20)})
	if err != nil {
		return listOut{}, err
	}
	out := listOut{Sessions: []listedSession{}, More: next != ""}
	for _, x := range list {
		out.Sessions = append(out.Sessions, listedSession{
			ID: x.ID, Agent: x.Agent, Title: x.Title, Begun: cmp.Or(x.Caller.Name, x.Caller.ID, string(x.Caller.Role)),
			Origin: string(x.Origin), Updated: x.Updated.UTC().Truncate(time.Second), Turns: x.Turns,
		})
	}
	return out, nil
}

type historyIn struct {
	Session string `json:"session" jsonschema:"id of the conversation"`
	Agent   string `json:"agent,omitempty" jsonschema:"default: this agent"`
	Turns   int    `json:"turns,omitempty" jsonschema:"last turns; default 5" min:"1" max:"50"`
}

func history(ctx context.Context, store Store, scope tool.Scope, in historyIn) (string, error) {
	key := Key{Agent: cmp.Or(in.Agent, scope.Agent()), ID: in.Session}
	s, err := store.Session(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return "", fmt.Errorf("agent %s has no session %q: take its id of the conversation", key.Agent, key.ID)
	}
	if err != nil {
		return "", err
	}
	turns, err := store.Turns(ctx, key, max(s.Turns-cmp.Or(in.Turns, 5)+1, 1), 0, Told)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(heading(s))
	for _, t := range turns {
		b.WriteString(turnText(t))
	}
	return b.String(), nil
}
