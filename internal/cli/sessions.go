package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/gateway"
)

func (a *app) sessionsCommand() *cobra.Command {
	return group("sessions", "Conversations", a.sessionsList(), a.sessionsShow(), a.sessionsExport(), a.sessionsSearch(), a.sessionsDelete())
}

func (a *app) sessionsList() *cobra.Command {
	var limit int
	var after string
	cmd := &cobra.Command{
		Use: "list", Short: "List sessions, the last used first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(g *gateway.Gateway) error {
				agent, err := a.keptAgent(cmd.Context(), g)
				if err != nil {
					return err
				}
				list, next, err := g.Sessions.Sessions(cmd.Context(), session.Filter{Agent: agent, Limit: limit, After: after})
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
					t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
					fmt.Fprintln(t, "SESSION\tAGENT\tTURNS\tTOKENS\tUPDATED\tTITLE")
					for _, s := range list {
						fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%s\n", s.ID, s.Agent, s.Turns, s.Usage.Input+s.Usage.Output, day(s.Updated), printable(s.Title))
					}
					if err := t.Flush(); err != nil || next == "" {
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

func (a *app) sessionsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show SESSION", Short: "Print a session as a readable transcript", Args: cobra.ExactArgs(1),
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
		RunE: func(cmd *cobra.Command, args []string) error { return a.export(cmd, args[0], format) },
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
	return a.with(cmd.Context(), func(g *gateway.Gateway) error {
		key, err := a.key(cmd.Context(), g, id)
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
			return a.with(cmd.Context(), func(g *gateway.Gateway) error {
				agent, err := a.keptAgent(cmd.Context(), g)
				if err != nil {
					return err
				}
				hits, err := g.Sessions.Search(cmd.Context(), session.Query{Text: strings.Join(args, " "), Agent: agent, ID: a.session, Limit: limit})
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

func (a *app) sessionsDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete SESSION", Short: "Remove a session with all that is kept of it", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), func(g *gateway.Gateway) error {
				key, err := a.key(cmd.Context(), g, args[0])
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
