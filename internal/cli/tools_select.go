package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/gateway/api"
	"github.com/goclaw/goclaw/internal/llm"
)

func (a *app) toolsSelect() *cobra.Command {
	var s scopeFlags
	var message string
	cmd := &cobra.Command{
		Use: "select --message TEXT", Short: "List the tools that a message picks, each with its score and reason",
		Example: "  goclaw tools select --message \"write the figures into a table\"", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req, err := a.request(cmd, &s)
			if err != nil {
				return err
			}
			if strings.TrimSpace(message) == "" {
				return usage("say what the request is for: --message TEXT")
			}
			req.Message = llm.UserMessage(message)
			return a.with(cmd.Context(), func(g *gateway.Gateway) error {
				if err := a.inRoleOf(cmd, g, &req.Caller); err != nil {
					return err
				}
				sf, err := g.Surface(cmd.Context(), req)
				if err != nil {
					return err
				}
				return a.print(sf, func(w io.Writer) error { return writePicks(w, sf) })
			})
		},
	}
	s.add(cmd)
	cmd.Flags().StringVar(&message, "message", "", "the message that the request is for")
	return cmd
}

// writePicks prints what is offered in its order, with why it is.
func writePicks(w io.Writer, sf api.Surface) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "TOOL\tWHY\tSCORE\tREASONS")
	for _, p := range sf.Picks {
		score := "-"
		if p.Score > 0 {
			score = fmt.Sprintf("%.2f", p.Score)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", p.Tool, p.Why, score, printable(strings.Join(p.Reasons, "; ")))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, n := range sf.Notices {
		if _, err := fmt.Fprintln(w, printable(n)); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(w, "\n%d of %d permitted tools are shown\n", len(sf.Offered), len(sf.Offered)+len(sf.Others)); err != nil {
		return err
	}
	return writeDoubts(w, sf.Doubts)
}
