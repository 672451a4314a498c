package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

func (a *app) tracesCommand() *cobra.Command {
	var limit int
	var after string
	cmd := &cobra.Command{
		Use: "traces [RUN]", Short: "List runs, or show what happened in one: prompts, model calls, tool calls with their steps",
		ValidArgsFunction: offer(a.runs).first,
		Args:              cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStored(cmd.Context(), func(g *gateway.Gateway) error {
				if len(args) == 1 {
					return a.trace(cmd, g, args[0])
				}
				agent, err := a.keptAgent(cmd.Context(), g)
				if err != nil {
					return err
				}
				f := session.RunFilter{Agent: agent, ID: a.session, Limit: limit, After: after, Depth: session.Traced}
				if f.Caller, err = a.owner(cmd, g); err != nil {
					return err
				}
				if f.Caller != "" && f.ID != "" {
					// All that was said in a session of one's own.
					key, err := a.find(cmd, g, f.ID)
					if err != nil {
						return err
					}
					f.Agent, f.Caller = key.Agent, ""
				}
				runs, next, err := g.Sessions.Runs(cmd.Context(), f)
				if err != nil {
					return err
				}
				return a.printRuns(cmd, f.Agent, runs, next)
			})
		},
	}
	limitFlag(cmd, &limit)
	cmd.Flags().StringVar(&after, "after", "", "continue a list where it ended")
	return cmd
}

// trace is a run as it is printed.
type trace struct {
	session.Run
	Rounds []roundTrace `json:"rounds"`
}

type roundTrace struct {
	Number  int                `json:"number"`
	Request agent.RequestFacts `json:"request"`
	Finish  llm.Finish         `json:"finish"`
	Usage   llm.Usage          `json:"usage"`
	USD     *float64           `json:"usd,omitempty"`    // what all model calls for it cost
	Cached  bool               `json:"cached,omitempty"` // no model was asked
	Text    string             `json:"text,omitempty"`
	// Attempts are the model calls for it that failed; Retracted counts how
	// often text that had been shown was taken back.
	Attempts  []llm.Attempt `json:"attempts,omitempty"`
	Retracted int           `json:"retracted,omitempty"`

	Started time.Time      `json:"started"`
	First   time.Time      `json:"first_token,omitzero"`
	Replied time.Time      `json:"replied"`
	Ended   time.Time      `json:"ended,omitzero"`
	Calls   []tool.Outcome `json:"calls,omitempty"`
}

func traceOf(r session.Run) trace {
	t := trace{Run: r, Rounds: []roundTrace{}}
	for _, x := range r.Rounds {
		t.Rounds = append(t.Rounds, roundTrace{
			Number: x.Number, Request: x.Request, Finish: x.Reply.Finish, Usage: x.Reply.Usage, USD: x.USD, Cached: x.Reply.Cached, Text: x.Reply.Message.Text(),
			Attempts: x.Attempts, Retracted: x.Retracted,
			Started: x.Started, First: x.FirstToken, Replied: x.Replied, Ended: x.Ended, Calls: x.Outcomes,
		})
	}
	return t
}

func (a *app) printRuns(cmd *cobra.Command, agent string, runs []session.Run, next string) error {
	v := struct {
		Runs []trace `json:"runs"`
		Next string  `json:"next,omitempty"`
	}{[]trace{}, next}
	for _, r := range runs {
		v.Runs = append(v.Runs, traceOf(r))
	}
	return a.print(v, func(w io.Writer) error {
		if len(runs) == 0 {
			_, err := fmt.Fprintln(w, none("runs", agent, a.session))
			return err
		}
		t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
		fmt.Fprintln(t, "RUN\tSESSION\tAGENT\tSTATUS\tMODEL\tROUNDS\tCALLS\tTOKENS IN/CACHED/OUT\tUSD\tTOOK\tSTARTED\tMESSAGE")
		for _, r := range v.Runs {
			calls := 0
			for _, x := range r.Rounds {
				calls += len(x.Calls)
			}
			took := "-"
			if !r.Ended.IsZero() {
				took = r.Ended.Sub(r.Started).Round(time.Millisecond).String()
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d/%d/%d\t%s\t%s\t%s\t%s\n", r.Run.Run, r.Session.ID, r.Session.Agent, r.Status, printable(r.Model), len(r.Rounds), calls,
				r.Usage.Input, r.Usage.Cached, r.Usage.Output, dollars(r.USD), took, day(r.Started), printable(short(r.Message.Text(), 40)))
		}
		if err := t.Flush(); err != nil || next == "" {
			return err
		}
		_, err := fmt.Fprintln(w, more(cmd, next))
		return err
	})
}

// dollars is a cost for people.
func dollars(usd *float64) string {
	if usd == nil {
		return "-"
	}
	return fmt.Sprintf("%.4f", *usd)
}

func (a *app) trace(cmd *cobra.Command, g *gateway.Gateway, id string) error {
	runs, _, err := g.Sessions.Runs(cmd.Context(), session.RunFilter{Run: id, Depth: session.Told})
	if err != nil {
		return err
	}
	p, err := a.who(cmd, g)
	if err != nil {
		return err
	}
	if len(runs) > 0 && !p.Privileged() {
		s, err := g.Sessions.Session(cmd.Context(), runs[0].Session)
		switch {
		case errors.Is(err, session.ErrNotFound), err == nil && !s.MayUse(p):
			runs = nil
		case err != nil:
			return err
		}
	}
	if len(runs) == 0 {
		return fmt.Errorf("there is no run %s; see goclaw traces", id)
	}
	t := traceOf(runs[0])
	return a.print(t, func(w io.Writer) error {
		var b strings.Builder
		writeTrace(&b, t)
		_, err := io.WriteString(w, printable(b.String()))
		return err
	})
}

func writeTrace(b *strings.Builder, t trace) {
	fmt.Fprintf(b, "run %s  session %s  agent %s  %s\n", t.Run.Run, t.Session.ID, t.Session.Agent, t.Status)
	fmt.Fprintf(b, "  by %s (%s, %s) at %s\n", t.Caller.ID, t.Caller.Role, t.Origin, day(t.Started))
	fmt.Fprintf(b, "  message: %s\n", short(t.Message.Text(), 200))
	if t.USD != nil {
		fmt.Fprintf(b, "  cost: %s USD\n", dollars(t.USD))
	}
	if t.Error != "" {
		fmt.Fprintf(b, "  failed: %s\n", t.Error)
	}
	for _, r := range t.Rounds {
		u, ended := r.Usage, string(r.Finish)
		if r.Finish == llm.FinishStopped {
			ended = "broke off"
		}
		fmt.Fprintf(b, "\nround %d  %s  %s after %s", r.Number, r.Request.Target, ended, r.Replied.Sub(r.Started).Round(time.Microsecond))
		if !r.First.IsZero() {
			fmt.Fprintf(b, " (first token %s)", r.First.Sub(r.Started).Round(time.Microsecond))
		}
		if r.Cached {
			b.WriteString("\n  from the cache of answers: no model was asked")
		}
		fmt.Fprintf(b, "\n  tokens: %d in (%d cached), %d out", u.Input, u.Cached, u.Output)
		if u.Reasoning > 0 {
			fmt.Fprintf(b, " (%d reasoning)", u.Reasoning)
		}
		if r.USD != nil {
			fmt.Fprintf(b, "; cost: %s USD", dollars(r.USD))
		}
		fmt.Fprintf(b, "\n  request: %d bytes, %d messages, %d tools\n", r.Request.Bytes, r.Request.Messages, len(r.Request.Tools))
		for _, x := range r.Attempts {
			fmt.Fprintf(b, "  attempt: %s\n", attempted(x))
		}
		if r.Retracted > 0 {
			fmt.Fprintf(b, "  taken back: what had been shown of the answer, %s\n", times(r.Retracted))
		}
		if r.Request.Dropped > 0 {
			fmt.Fprintf(b, "  %d older messages were left out to fit the model's window\n", r.Request.Dropped)
		}
		for _, s := range r.Request.Sections {
			fmt.Fprintf(b, "    %-8s %-12s %6d bytes  %s\n", s.Place, s.Name, s.Bytes, s.Digest)
		}
		if r.Text != "" {
			fmt.Fprintf(b, "  said: %s\n", short(r.Text, 400))
		}
		for _, o := range r.Calls {
			writeCall(b, o)
		}
	}
}

// askedLess stands in the notice of an attempt before what the next one leaves
// out.
const askedLess = "; asking again without "

// attempted is a model call that failed, and what was done about it.
func attempted(x llm.Attempt) string {
	text := fmt.Sprintf("%s failed after %s: %s: %s", x.Target, taken(x.Ended.Sub(x.Started)), x.Class, x.Message)
	if x.Skipped {
		text = fmt.Sprintf("%s could not be asked: %s", x.Target, x.Message)
	}
	if x.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", x.Status)
	}
	switch {
	case strings.Contains(x.Told, askedLess):
		text += ", asked again without " + strings.TrimRight(x.Told[strings.Index(x.Told, askedLess)+len(askedLess):], ".")
	case x.Next == llm.Retry && x.Wait > 0:
		text += ", asked again after " + taken(x.Wait)
	case x.Next == llm.Retry:
		text += ", asked again at once"
	case x.To != nil:
		text += ", moved to " + x.To.String()
	}
	return text
}

// times says how often.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func writeCall(b *strings.Builder, o tool.Outcome) {
	fmt.Fprintf(b, "  call %s %s\n    %s", o.Tool, short(string(o.Args), 200), o.Status)
	if o.Step != "" {
		fmt.Fprintf(b, " at %s", o.Step)
	}
	fmt.Fprintf(b, " after %s", o.Ended.Sub(o.Started).Round(time.Microsecond))
	if o.Ref != "" {
		fmt.Fprintf(b, ", %s of %d characters kept as %s", o.Type, o.Chars, o.Ref)
	}
	b.WriteString("\n    steps:")
	for _, s := range o.Steps {
		fmt.Fprintf(b, " %s %s", s.Step, s.Duration.Round(time.Microsecond))
		if s.Note != "" {
			fmt.Fprintf(b, " (%s)", s.Note)
		}
	}
	fmt.Fprintf(b, "\n    model saw: %s\n", short(llm.JoinText(o.Content), 300))
}
