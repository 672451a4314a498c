package cli

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine/preset"
	"github.com/goclaw/goclaw/internal/gateway"
)

func (a *app) toolsPresets() *cobra.Command {
	return group("presets", "Calls that were written down: saved queries, presets of tools", a.presetsList(), a.presetsAdd(), a.presetsApprove(), a.presetsRemove())
}

func (a *app) presetsList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List them, and who approved them", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStored(cmd.Context(), func(g *gateway.Gateway) error {
				list, err := g.Presets.Presets(cmd.Context())
				if err != nil {
					return err
				}
				list = append([]preset.Preset{}, list...)
				return a.print(list, func(w io.Writer) error {
					if len(list) == 0 {
						_, err := fmt.Fprintln(w, "none yet; write one down with: goclaw tools presets add TOOL NAME --args JSON")
						return err
					}
					t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
					fmt.Fprintln(t, "TOOL\tNAME\tBY\tAPPROVED\tARGUMENTS")
					for _, p := range list {
						approved := "-"
						if p.ApprovedBy != "" {
							approved = p.ApprovedBy + ", " + day(p.Approved)
						}
						fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", p.Tool, printable(p.Name), p.Author, approved, printable(short(string(p.Args), 70)))
					}
					return t.Flush()
				})
			})
		},
	}
}

func (a *app) presetsAdd() *cobra.Command {
	var args, description string
	cmd := &cobra.Command{
		Use: "add TOOL NAME", Short: "Write a call down; models see it when an admin has approved it", Args: cobra.ExactArgs(2),
		ValidArgsFunction: offer(a.tools).first,
		Example: `  goclaw tools presets add db_query "monthly revenue" --description "Revenue by month." \` + "\n" +
			`      --args '{"datasource": "sales", "sql": "SELECT month, sum(total) FROM orders GROUP BY month"}'`,
		RunE: func(cmd *cobra.Command, names []string) error {
			raw, err := a.arguments(cmd.Context(), args)
			if err != nil {
				return err
			}
			return a.withStored(cmd.Context(), func(g *gateway.Gateway) error {
				who, err := a.who(cmd, g)
				if err != nil {
					return err
				}
				p := preset.Preset{Tool: names[0], Name: names[1], Description: description, Args: raw, Author: who.ID, Created: time.Now().UTC()}
				if err := p.Check(); err != nil {
					return usage("%w", err)
				}
				err = g.Presets.Add(cmd.Context(), p)
				if unfit := (*preset.UnfitError)(nil); errors.As(err, &unfit) {
					return usage("%w", err)
				}
				if err != nil {
					return err
				}
				return a.print(p, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "added; an admin approves it with: goclaw tools presets approve %s %q\n", p.Tool, p.Name)
					return err
				})
			})
		},
	}
	cmd.Flags().StringVar(&args, "args", "{}", "the arguments as a JSON object; @FILE reads a file, - standard input")
	cmd.Flags().StringVar(&description, "description", "", "what it is for, in a sentence")
	return cmd
}

var errAdminsApprove = &exitError{exitRefused, errors.New("approving and removing presets is for admins")}

func (a *app) presetsApprove() *cobra.Command {
	return a.presetChange("approve TOOL NAME", "Show one to models, from the next request on", "approved",
		func(cmd *cobra.Command, g *gateway.Gateway, by, tool, name string) error {
			return g.Presets.Approve(cmd.Context(), tool, name, by, time.Now().UTC())
		})
}

func (a *app) presetsRemove() *cobra.Command {
	return a.presetChange("remove TOOL NAME", "Forget one", "removed", func(cmd *cobra.Command, g *gateway.Gateway, _, tool, name string) error {
		return g.Presets.Remove(cmd.Context(), tool, name)
	})
}

// presetChange is a command of an admin about one preset.
func (a *app) presetChange(use, what, done string, change func(cmd *cobra.Command, g *gateway.Gateway, by, tool, name string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: what, Args: cobra.ExactArgs(2), ValidArgsFunction: offer(a.tools).first,
		RunE: func(cmd *cobra.Command, names []string) error {
			return a.withStored(cmd.Context(), func(g *gateway.Gateway) error {
				who, err := a.who(cmd, g)
				if err != nil {
					return err
				}
				if who.Role != auth.Admin {
					return errAdminsApprove
				}
				if err := change(cmd, g, who.ID, names[0], names[1]); err != nil {
					return err
				}
				return a.print(map[string]string{"tool": names[0], "name": names[1], "status": done}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "%s of %s is %s\n", printable(names[1]), printable(names[0]), done)
					return err
				})
			})
		},
	}
}
