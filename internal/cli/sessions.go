package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/tool"
)

func (a *app) sessionsCommand() *cobra.Command {
	return group("sessions", "Conversations", a.sessionsList(), a.sessionsShow(), a.sessionsExport(), a.sessionsSearch(), a.sessionsFork(), a.sessionsDelete())
}

func (a *app) sessionsList() *cobra.Command {
	var limit int
	var after string
	cmd := &cobra.Command{
		Use: "list", Short: "List sessions, the last used first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStored(cmd.Context(), func(g *gateway.Gateway) error {
				agent, err := a.keptAgent(cmd.Context(), g)
				if err != nil {
					return err
				}
				owner, err := a.owner(cmd, g)
				if err != nil {
					return err
				}
				list, next, err := g.Sessions.Sessions(cmd.Context(), session.Filter{Agent: agent, Caller: owner, Limit: limit, After: after})
				if err != nil {
					return err
				}
				v := struct {
					Sessions []session.Session `json:"sessions"`
					Next     string            `json:"next,omitempty"`
				}{append([]session.Session{}, list...), next}
				return a.print(v, func(w io.Writer) error {
					if len(list) == 0 {
						_, err := fmt.Fprintln(w, none("sessions", agent, ""))
						return err
					}
					if err := writeSessions(w, list); err != nil || next == "" {
						return err
					}
					_, err := fmt.Fprintln(w, more(cmd, next))
					return err
				})
			})
		},
	}
	limitFlag(cmd, &limit)
	cmd.Flags().StringVar(&after, "after", "", "continue a list where it ended")
	return cmd
}

// writeSessions prints a table of sessions.
func writeSessions(w io.Writer, list []session.Session) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "SESSION\tAGENT\tTURNS\tTOKENS\tUPDATED\tTITLE")
	for _, s := range list {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%s\n", s.ID, s.Agent, s.Turns, s.Usage.Input+s.Usage.Output, day(s.Updated), printable(s.Title))
	}
	return t.Flush()
}

func (a *app) sessionsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show SESSION", Short: "Print a session as a readable transcript", Args: cobra.ExactArgs(1),
		ValidArgsFunction: offer(a.sessions).first,
		RunE: func(cmd *cobra.Command, args []string) error {
			format := "markdown"
			if a.json {
				format = "jsonl"
			}
			return a.export(cmd, args[0], format)
		},
	}
}

func (a *app) sessionsExport() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "export SESSION", Short: "Print all of a session as JSONL or Markdown", Args: cobra.ExactArgs(1),
		ValidArgsFunction: offer(a.sessions).first,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.export(cmd, args[0], format) },
	}
	cmd.Flags().StringVar(&format, "format", "jsonl", "jsonl or markdown")
	return cmd
}

func (a *app) export(cmd *cobra.Command, id, format string) error {
	if format != "jsonl" && format != "markdown" && format != "md" {
		return usage("--format is jsonl or markdown, not %q", format)
	}
	if a.json && format != "jsonl" {
		return usage("--json and --format %s exclude each other", format)
	}
	return a.withStored(cmd.Context(), func(g *gateway.Gateway) error {
		key, err := a.find(cmd, g, id)
		if err != nil {
			return err
		}
		if format == "jsonl" {
			err = session.ExportJSONL(cmd.Context(), a.Out, g.Sessions, key)
		} else {
			err = session.ExportMarkdown(cmd.Context(), a.Out, g.Sessions, key)
		}
		return noSession(err, key)
	})
}

func (a *app) sessionsSearch() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "search WORDS", Short: "Find messages and answers that hold all words", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStored(cmd.Context(), func(g *gateway.Gateway) error {
				agent, err := a.keptAgent(cmd.Context(), g)
				if err != nil {
					return err
				}
				owner, err := a.owner(cmd, g)
				if err != nil {
					return err
				}
				hits, err := g.Sessions.Search(cmd.Context(), session.Query{
					Text: strings.Join(args, " "), Agent: agent, ID: a.session, Caller: owner, Limit: limit,
				})
				if err != nil {
					return err
				}
				return a.print(append([]session.Hit{}, hits...), func(w io.Writer) error {
					if len(hits) == 0 {
						_, err := fmt.Fprintln(w, "nothing found")
						return err
					}
					for _, h := range hits {
						if _, err := fmt.Fprintf(w, "%s turn %d (%s, %s): %s\n", h.Session.ID, h.Turn, h.Role, day(h.Time), printable(h.Snippet)); err != nil {
							return err
						}
					}
					return nil
				})
			})
		},
	}
	limitFlag(cmd, &limit)
	return cmd
}

func (a *app) sessionsFork() *cobra.Command {
	var turn int
	cmd := &cobra.Command{
		Use: "fork SESSION", Short: "Begin a session with a copy of the first turns of another", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !cmd.Flags().Changed("turn"):
				turn = session.AllEnded
			case turn < 0:
				return usage("--turn is the number of a turn, or 0 for none, not %d", turn)
			}
			caller, err := a.caller()
			if err != nil {
				return err
			}
			return a.with(cmd.Context(), func(g *gateway.Gateway) error {
				if err := a.inRole(cmd, g, &caller); err != nil {
					return err
				}
				key, err := a.key(cmd.Context(), g, args[0])
				if err != nil {
					return err
				}
				f, err := fork(cmd.Context(), g, session.ForkOptions{From: key, Turn: turn, Origin: tool.FromChat, By: caller})
				if err != nil {
					return err
				}
				return a.print(f, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "%s: %s, with %s of %s\n", f.ID, printable(f.Title), count(f.Turns, "turn"), key.ID)
					return err
				})
			})
		},
	}
	cmd.Flags().IntVar(&turn, "turn", 0, "the last turn to begin with, 0 for none; without it all that have ended")
	return cmd
}

// fork forks a session now.
func fork(ctx context.Context, g *gateway.Gateway, o session.ForkOptions) (session.Session, error) {
	o.Time = time.Now()
	f, err := session.Fork(ctx, g.Sessions, o)
	switch {
	case errors.Is(err, session.ErrUnended):
		return f, fmt.Errorf("turn %d of session %s has not ended: fork behind an earlier one", o.Turn, o.From.ID)
	case errors.Is(err, session.ErrNotFound) && o.Turn > 0:
		return f, fmt.Errorf("there is no turn %d of a session %s of agent %s; see goclaw sessions show %s", o.Turn, o.From.ID, o.From.Agent, o.From.ID)
	}
	return f, noSession(err, o.From)
}

func (a *app) sessionsDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete SESSION", Short: "Remove a session with all that is kept of it", Args: cobra.ExactArgs(1),
		ValidArgsFunction: offer(a.sessions).first,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStored(cmd.Context(), func(g *gateway.Gateway) error {
				key, err := a.find(cmd, g, args[0])
				if err != nil {
					return err
				}
				if err := g.DeleteSession(cmd.Context(), key); err != nil {
					return noSession(err, key)
				}
				a.say("session %s is deleted", args[0])
				if !a.json {
					return nil
				}
				return a.printJSON(struct {
					Session session.Key `json:"session"`
					Deleted bool        `json:"deleted"`
				}{key, true})
			})
		},
	}
}
