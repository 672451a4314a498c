package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/gateway/api"
)

func (a *app) hooksCommand() *cobra.Command {
	return group("hooks", "The rules on tool calls: which there are, and what they would do", a.hooksList(), a.hooksTest())
}

func (a *app) hooksList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List rules and handlers in the order in which they are consulted", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(g *gateway.Gateway) error {
				v := g.Rules()
				return a.print(v, func(w io.Writer) error { return writeHooks(w, v) })
			})
		},
	}
}

func writeHooks(w io.Writer, v api.Hooks) error {
	if len(v.Rules)+len(v.Handlers) == 0 {
		_, err := fmt.Fprintln(w, "there are no rules on tool calls: write some under hooks: in config.yaml")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tWHEN\tACTION\tPRIORITY\tTOOLS\tAGENTS\tCONDITION\tWHERE")
	all := func(list []string) string {
		if len(list) == 0 {
			return "all"
		}
		return short(printable(strings.Join(list, ", ")), 40)
	}
	for _, h := range v.Rules {
		match := "-"
		if h.Match != "" {
			match = short(printable(h.Match), 60)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", printable(h.Name), h.When, h.Action, h.Priority, all(h.Tools), all(h.Agents), match, h.Where.Place())
	}
	for _, h := range v.Handlers {
		fmt.Fprintf(t, "%s\t%s\thandler\t%d\t-\t-\t-\t%s\n", printable(h.Name), h.Hook, h.Priority, printable(h.Source))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, h := range v.Handlers {
		if h.Broken != "" {
			if _, err := fmt.Fprintf(w, "%s: what it has to let through is blocked, since it could not be loaded: %s\n", printable(h.Name), printable(h.Broken)); err != nil {
				return err
			}
		}
	}
	for _, h := range v.Rules {
		for _, what := range []string{h.Problem, h.Note} {
			if what == "" {
				continue
			}
			if _, err := fmt.Fprintf(w, "%s (%s): %s\n", printable(h.Name), h.Where.Place(), printable(what)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *app) hooksTest() *cobra.Command {
	var s scopeFlags
	var b broughtFlag
	var args string
	t := api.HookTest{}
	cmd := &cobra.Command{
		Use: "test --tool TOOL", Short: "Say which rules match a call and what they would do, without doing it",
		Long: "Say which rules match a call that you think of, in the order in which they are consulted, and what they would do.\n" +
			"Nothing runs and nobody is told. With --send the webhooks that decide are asked, as a call would ask them.\n" +
			"Exit status: 0, whatever the rules say; 2 the arguments are no JSON.",
		Example: "  goclaw hooks test --tool db_write --args '{\"datasource\":\"prod\"}' --role user\n" +
			"  goclaw hooks test --tool shell --args '{\"command\":\"git push\"}' --origin cron --json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req, err := a.request(cmd, &s)
			if err == nil {
				req.Brought, err = b.read()
			}
			if err != nil {
				return err
			}
			if t.Tool == "" {
				return usage("name the tool of the call: --tool TOOL")
			}
			if t.When != "" && !slices.Contains([]string{"before", "after"}, t.When) {
				return usage("--when is before or after, not %q", t.When)
			}
			if t.Args, err = a.arguments(cmd.Context(), args); err != nil {
				return err
			}
			return a.with(cmd.Context(), func(g *gateway.Gateway) error {
				if err := a.inRoleOf(cmd, g, &req.Caller); err != nil {
					return err
				}
				v, err := g.TestHooks(cmd.Context(), req, t)
				if err != nil {
					return err
				}
				return a.print(v, func(w io.Writer) error { return writeReadings(w, v) })
			})
		},
	}
	s.add(cmd)
	b.add(cmd)
	f := cmd.Flags()
	f.StringVar(&t.Tool, "tool", "", "the tool that is called")
	f.StringVar(&args, "args", "{}", "its arguments as a JSON object; @FILE reads a file, - standard input")
	f.StringVar(&t.When, "when", "", "which rules: before (default) or after calls")
	f.StringVar(&t.Result, "result", "", "what the call gave, for rules after calls")
	f.StringVar(&t.Error, "error", "", "how the call failed, for rules after calls")
	f.BoolVar(&t.Send, "send", false, "ask the webhooks that decide")
	return cmd
}

func writeReadings(w io.Writer, v api.HookReadings) error {
	var b strings.Builder
	for _, n := range v.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	for _, r := range v.Rules {
		mark := "no match "
		if r.Matches {
			mark = "MATCH    "
		}
		fmt.Fprintf(&b, "%s %s (%s, priority %d, %s): %s", mark, r.Name, r.Action, r.Priority, r.Where.Place(), r.Why)
		if r.Would != "" {
			fmt.Fprintf(&b, "; would %s", r.Would)
		}
		if r.Answer != "" {
			fmt.Fprintf(&b, "; its webhook says: %s", r.Answer)
		}
		b.WriteByte('\n')
	}
	if len(v.Rules) == 0 {
		b.WriteString("there are no rules for this side of the call\n")
	}
	fmt.Fprintf(&b, "decision: %s\n", v.Decision)
	_, err := io.WriteString(w, printable(b.String()))
	return err
}
