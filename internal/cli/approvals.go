package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/agent/command"
	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/gateway/builtin"
	"github.com/goclaw/goclaw/internal/tool"
)

func (a *app) approvalsCommand() *cobra.Command {
	return group("approvals", "Answer tool calls that wait for a person, and see what is always allowed",
		a.approvalsList(), a.approvalsAnswer(), a.approvalsGrants(), a.approvalsRevoke())
}

// shownApprovals is what "approvals list" prints.
type shownApprovals struct {
	Approvals []tool.Approval `json:"approvals"`
}

func (a *app) approvalsList() *cobra.Command {
	var all bool
	var limit int
	cmd := &cobra.Command{
		Use: "list [ID]", Short: "List what waits for an answer, with exactly what would run", Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: offer(a.openApprovals).first,
		Example:           "  goclaw approvals list\n  goclaw approvals list --all --limit 10",
		RunE: func(cmd *cobra.Command, args []string) error {
			f := approval.Filter{Session: a.session, Status: tool.ApprovalOpen, Limit: limit}
			if len(args) > 0 {
				f.ID = args[0]
			}
			if all || f.ID != "" {
				f.Status = ""
			}
			return a.withStored(cmd.Context(), func(g *gateway.Gateway) error {
				who, err := a.who(cmd, g)
				if err != nil {
					return err
				}
				if a.agent != "" || a.session != "" {
					p, err := g.Profile(a.agent)
					if err != nil {
						return err
					}
					f.Agent = p.ID
				}
				list, _, err := g.Approvals.List(cmd.Context(), who, f)
				switch {
				case err != nil:
					return err
				case f.ID != "" && len(list) == 0:
					return fmt.Errorf("approval %s: %w", f.ID, approval.ErrUnknown)
				}
				return a.print(shownApprovals{append([]tool.Approval{}, list...)}, func(w io.Writer) error { return writeApprovals(w, list, time.Now()) })
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also those that were answered or came to their end without")
	cmd.Flags().IntVar(&limit, "limit", approval.DefaultLimit, "at most so many, the latest first")
	return cmd
}

func writeApprovals(w io.Writer, list []tool.Approval, now time.Time) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "nothing waits for approval")
		return err
	}
	for i, x := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s  %s\n", x.ID, howFar(x, now))
		for _, line := range question(x) {
			if _, err := fmt.Fprintln(w, "  "+line); err != nil {
				return err
			}
		}
	}
	return nil
}

// howFar says how far a request is.
func howFar(x tool.Approval, now time.Time) string {
	switch {
	case x.Status == tool.ApprovalOpen:
		return fmt.Sprintf("open, %s left", seconds(x.Expires.Sub(now)))
	case x.By != "":
		return printable(fmt.Sprintf("%s (%s) by %s at %s", x.Status, x.Answer, x.By, day(x.Ended)))
	}
	return fmt.Sprintf("%s at %s", x.Status, day(x.Ended))
}

// maxQuestion is how many lines of arguments a question shows at most.
const maxQuestion = 200

// question is what a person is asked, as lines: exactly what would run, for
// whom, and why it is asked.
func question(x tool.Approval) []string {
	where := x.Agent
	if x.Session != "" {
		where += "/" + x.Session
	}
	lines := []string{printable(fmt.Sprintf("%s would run for %s (%s) in %s:", x.Tool, x.Caller.ID, x.Caller.Role, where))}
	lines = append(lines, shownArgs(x.Args)...)
	why := "asked by rule " + x.Rule
	if !x.Where.IsZero() {
		why += " (" + x.Where.Place() + ")"
	}
	if x.Reason != "" {
		why += ": " + x.Reason
	}
	lines = append(lines, printable(why))
	if x.Admins {
		lines = append(lines, "only an admin may answer")
	}
	return lines
}

// shownArgs are arguments as lines, each string as it is.
func shownArgs(raw json.RawMessage) []string {
	var values map[string]json.RawMessage
	if json.Unmarshal(raw, &values) != nil {
		return []string{"    " + printable(string(raw))}
	}
	if len(values) == 0 {
		return []string{"    (no arguments)"}
	}
	var lines []string
	for _, name := range inOrder(raw) {
		v := values[name]
		var text string
		if json.Unmarshal(v, &text) != nil {
			var b bytes.Buffer
			if json.Indent(&b, v, "", "  ") != nil {
				b.Reset()
				b.Write(v)
			}
			text = b.String()
		} else if text == "" || strings.TrimSpace(text) != text {
			text = fmt.Sprintf("%q", text)
		}
		first, rest, more := strings.Cut(printable(text), "\n")
		if !more {
			lines = append(lines, "    "+printable(name)+": "+first)
			continue
		}
		lines = append(lines, "    "+printable(name)+":")
		for _, l := range append([]string{first}, strings.Split(rest, "\n")...) {
			lines = append(lines, "      "+l)
		}
	}
	if n := len(lines) - maxQuestion; n > 0 {
		lines = append(lines[:maxQuestion], fmt.Sprintf("    … %d more lines; goclaw approvals list --json shows all", n))
	}
	return lines
}

// inOrder are the names of an object in the order in which they were written.
func inOrder(raw json.RawMessage) (names []string) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil
	}
	for dec.More() {
		name, err := dec.Token()
		var v json.RawMessage
		if err == nil {
			err = dec.Decode(&v)
		}
		if err != nil {
			return names
		}
		names = append(names, fmt.Sprint(name))
	}
	return names
}

func (a *app) approvalsAnswer() *cobra.Command {
	return &cobra.Command{
		Use: "answer allow|always|deny [ID]", Short: "Answer a call that waits: allow it once, always, or not", Args: cobra.RangeArgs(1, 2),
		Long: "Answer a call that waits. ID may be the beginning of one, and be left out when one call waits.\n" +
			"always also lets the same call with the same arguments through from now on, for the same person and agent;\n" +
			"goclaw approvals grants lists that, and revoke takes it back.",
		Example: "  goclaw approvals answer allow\n  goclaw approvals answer deny k3xq",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			switch len(args) {
			case 0:
				return fixed("allow", "always", "deny").completion(cmd, args, word)
			case 1:
				return offer(a.openApprovals).completion(cmd, args, word)
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			word, id := args[0], ""
			if len(args) > 1 {
				id = args[1]
			}
			answer, ok := command.AnswerOf(word)
			if !ok && id != "" { // the other way round
				word, id = id, word
				answer, ok = command.AnswerOf(word)
			}
			if !ok {
				return usage("the answer is allow, always or deny, not %q", args[0])
			}
			return a.withStored(cmd.Context(), func(g *gateway.Gateway) error {
				who, err := a.who(cmd, g)
				if err != nil {
					return err
				}
				x, err := answerOpen(cmd.Context(), g, who, approval.Filter{}, answer, id)
				if err != nil {
					return err
				}
				return a.print(x, func(w io.Writer) error {
					_, err := fmt.Fprintln(w, printable(answered(x)))
					return err
				})
			})
		},
	}
}

// answerOpen answers the open request that a person means.
func answerOpen(ctx context.Context, g *gateway.Gateway, who auth.Principal, f approval.Filter, answer tool.Answer, id string) (tool.Approval, error) {
	x, err := g.Approvals.Find(ctx, who, f, id)
	if err != nil {
		return x, err
	}
	return give(ctx, g, who, x.ID, answer)
}

// give gives an answer, with an error in words.
func give(ctx context.Context, g *gateway.Gateway, who auth.Principal, id string, answer tool.Answer) (tool.Approval, error) {
	x, err := g.Approvals.Answer(ctx, who, id, answer)
	var closed *approval.ClosedError
	switch {
	case errors.As(err, &closed):
		return x, closed
	case errors.Is(err, approval.ErrAdmins):
		return x, approval.ErrAdmins
	}
	return x, err
}

// answered says what an answer did.
func answered(x tool.Approval) string {
	switch x.Answer {
	case tool.AllowAlways:
		return fmt.Sprintf("allowed, and always from now on: %s with exactly these arguments, for %s with agent %s (goclaw approvals revoke %s takes it back)", x.Tool, x.Caller.ID, x.Agent, x.Grant)
	case tool.AllowOnce:
		return fmt.Sprintf("allowed once: %s", x.Tool)
	}
	return fmt.Sprintf("denied: %s", x.Tool)
}

// shownGrants is what "approvals grants" prints.
type shownGrants struct {
	Grants []approval.Grant `json:"grants"`
}

func (a *app) approvalsGrants() *cobra.Command {
	return &cobra.Command{
		Use: "grants", Short: "List what is always allowed, with the exact arguments", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStored(cmd.Context(), func(g *gateway.Gateway) error {
				who, err := a.who(cmd, g)
				if err != nil {
					return err
				}
				list, err := g.Approvals.Grants(cmd.Context(), who)
				if err != nil {
					return err
				}
				return a.print(shownGrants{append([]approval.Grant{}, list...)}, func(w io.Writer) error { return writeGrants(w, list) })
			})
		},
	}
}

func writeGrants(w io.Writer, list []approval.Grant) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "nothing is always allowed")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tPERSON\tAGENT\tTOOL\tGIVEN\tBY\tUSED\tARGUMENTS")
	for _, x := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", x.ID, printable(x.Person), x.Agent, x.Tool, day(x.Created), printable(x.By), x.Uses, printable(short(string(x.Args), 80)))
	}
	return t.Flush()
}

func (a *app) approvalsRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "Ask about a call again that is always allowed", Args: cobra.ExactArgs(1),
		ValidArgsFunction: offer(a.grants).first,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStored(cmd.Context(), func(g *gateway.Gateway) error {
				who, err := a.who(cmd, g)
				if err != nil {
					return err
				}
				err = g.Approvals.Revoke(cmd.Context(), who, args[0])
				if errors.Is(err, approval.ErrUnknown) {
					return fmt.Errorf("there is no grant %q; goclaw approvals grants lists them", args[0])
				}
				if err == nil {
					a.say("revoked: it is asked about again from the next call on")
				}
				return err
			})
		},
	}
}

func (a *app) openApprovals(ctx context.Context, _ string) []cobra.Completion {
	return a.stored(func(db *builtin.Names) ([]builtin.Name, error) { return db.Approvals(ctx) })
}

func (a *app) grants(ctx context.Context, _ string) []cobra.Completion {
	return a.stored(func(db *builtin.Names) ([]builtin.Name, error) { return db.Grants(ctx) })
}
