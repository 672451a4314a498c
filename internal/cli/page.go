package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/gateway"
)

// limitFlag bounds a list.
func limitFlag(cmd *cobra.Command, limit *int) {
	cmd.Flags().IntVar(limit, "limit", 50, "at most so many")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if *limit < 1 {
			return usage("--limit is a number above zero, not %d", *limit)
		}
		return nil
	}
}

// more is the command line that continues a list: the one that was given, from
// where its answer ended.
func more(cmd *cobra.Command, next string) string {
	return "more: " + strings.Join(append(same(cmd, "home", "agent", "session", "role", "user", "limit"), "--after", next), " ")
}

// same is a command with those of its flags, as far as they were given.
func same(cmd *cobra.Command, flags ...string) []string {
	words := []string{cmd.CommandPath()}
	for _, name := range flags {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			words = append(words, "--"+name, quoted(f.Value.String()))
		}
	}
	return words
}

// goOn is the command line that goes on with a session, as the same caller.
func goOn(cmd *cobra.Command, g *gateway.Gateway, key session.Key) string {
	words := same(cmd, "home", "role", "user")
	if cmd.Parent() == nil {
		words[0] += " chat" // what goclaw alone is
	}
	if key.Agent != g.Config.DefaultAgent().ID {
		words = append(words, "--agent", quoted(key.Agent))
	}
	return strings.Join(append(words, "--session", quoted(key.ID)), " ")
}

// quoted is a word as a shell takes it.
func quoted(s string) string {
	special := func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("_./:@%+,=-", r)
	}
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// keptAgent is the agent that --agent means where it is about what was kept;
// empty without it. That is also one that is configured no more.
func (a *app) keptAgent(ctx context.Context, g *gateway.Gateway) (string, error) {
	if a.agent == "" {
		return "", nil
	}
	kept, _, err := g.Sessions.Sessions(ctx, session.Filter{Agent: a.agent, Limit: 1})
	if err != nil || len(kept) > 0 {
		return a.agent, err
	}
	p, err := g.Profile(a.agent)
	return p.ID, err
}

// none says that a list is empty, and of what.
func none(what, agent, session string) string {
	of := ""
	if agent != "" {
		of += " of agent " + agent
	}
	if session != "" {
		of += " of session " + session
	}
	return fmt.Sprintf("no %s%s yet; begin one with: goclaw run \"TEXT\"", what, of)
}

// key is the session that a person means by a name: of the agent that --agent
// names, else of the default agent.
func (a *app) key(ctx context.Context, g *gateway.Gateway, id string) (session.Key, error) {
	agent, err := a.keptAgent(ctx, g)
	if err == nil && agent == "" {
		p, perr := g.Profile("")
		agent, err = p.ID, perr
	}
	if err != nil {
		return session.Key{}, err
	}
	key := session.Key{Agent: agent, ID: id}
	if err := key.Check(); err != nil {
		return key, usage("%w", err)
	}
	return key, nil
}

// find is the session that a person means by a name, as [app.key], which they
// may see. To others it is not there.
func (a *app) find(cmd *cobra.Command, g *gateway.Gateway, id string) (session.Key, error) {
	key, err := a.key(cmd.Context(), g, id)
	if err != nil {
		return key, err
	}
	p, err := a.who(cmd, g)
	if err != nil || p.Privileged() {
		return key, err
	}
	s, err := g.Sessions.Session(cmd.Context(), key)
	if err == nil && !s.MayUse(p) {
		err = session.ErrNotFound
	}
	return key, noSession(err, key)
}

// owner is the id that lists are narrowed to, empty for all: a user sees what
// they began.
func (a *app) owner(cmd *cobra.Command, g *gateway.Gateway) (string, error) {
	p, err := a.who(cmd, g)
	if err != nil || p.Privileged() {
		return "", err
	}
	return p.ID, nil
}

func noSession(err error, key session.Key) error {
	if errors.Is(err, session.ErrNotFound) {
		return fmt.Errorf("there is no session %s of agent %s; see goclaw sessions list, and --agent for another one's", key.ID, key.Agent)
	}
	return err
}
