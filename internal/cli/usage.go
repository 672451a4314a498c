package cli

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/agent/budget"
	"github.com/goclaw/goclaw/internal/gateway"
)

func (a *app) usageCommand() *cobra.Command {
	asked := map[string]*string{}
	limit := 0
	cmd := &cobra.Command{
		Use: "usage", Short: "Show what model calls used and cost, and what is left of budgets", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := budget.Parse(func(name string) string {
				if v := asked[name]; v != nil {
					return *v
				}
				return ""
			}, time.Now(), time.Local)
			if err != nil {
				return usage("--%w", err)
			}
			q.Limit = limit
			return a.withStored(cmd.Context(), func(g *gateway.Gateway) error {
				own, err := a.owner(cmd, g)
				if err != nil {
					return err
				}
				if own != "" && q.Person != "" && q.Person != own {
					return errors.New("only an admin sees what others used: leave out --person")
				}
				if own != "" {
					q.Person = own
				}
				if q.Agent, err = a.keptAgent(cmd.Context(), g); err != nil {
					return err
				}
				if a.session != "" {
					key, err := a.find(cmd, g, a.session)
					if err != nil {
						return err
					}
					q.Agent, q.Session = key.Agent, key.ID
				}
				r, err := g.Usage(cmd.Context(), q, own == "")
				if err != nil {
					return err
				}
				return a.print(r, func(w io.Writer) error { return writeReport(w, r) })
			})
		},
	}
	for _, f := range []struct{ name, value, about string }{
		{"by", "day,model", "what it is added up by, several with commas: day, agent, model, person, session, run"},
		{"since", "", "a date, a time, or how long ago, as 7d or 12h; the last 30 days without it"},
		{"until", "", "the same; a date includes its day"},
		{"person", "", "caused by this person, by their id"},
		{"model", "", "of this provider or provider/model"},
		{"zone", "", "the time zone whose days count, as Europe/Berlin; the local one without it"},
	} {
		asked[f.name] = cmd.Flags().String(f.name, f.value, f.about)
	}
	limitFlag(cmd, &limit)
	return cmd
}

// titles are the heads of columns, by what they are.
var titles = map[budget.By]string{
	budget.ByDay: "DAY", budget.ByAgent: "AGENT", budget.ByModel: "MODEL", budget.ByPerson: "PERSON", budget.BySession: "SESSION", budget.ByRun: "RUN",
}

// writeReport prints a report for people.
func writeReport(w io.Writer, r budget.Report) error {
	if r.Total.Calls == 0 {
		if _, err := fmt.Fprintln(w, "no model was called in this time; --since looks further back"); err != nil {
			return err
		}
		return writeBudgets(w, r.Budgets)
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, by := range r.By {
		fmt.Fprint(t, titles[by], "\t")
	}
	fmt.Fprintln(t, "CALLS\tINPUT\tCACHED\tOUTPUT\tREASONING\tUSD")
	for _, row := range r.Rows {
		for _, by := range r.By {
			fmt.Fprint(t, printable(field(row, by)), "\t")
		}
		fmt.Fprintln(t, figures(row))
	}
	fmt.Fprintln(t, "TOTAL"+strings.Repeat("\t", len(r.By))+figures(r.Total))
	if err := t.Flush(); err != nil {
		return err
	}
	if r.More > 0 {
		fmt.Fprintf(w, "%s left out, which cost least; --limit shows more\n", count(r.More, "row"))
	}
	for _, line := range remarks(r) {
		if _, err := fmt.Fprintln(w, printable(line)); err != nil {
			return err
		}
	}
	return writeBudgets(w, r.Budgets)
}

// field is what a row is of.
func field(r budget.Row, by budget.By) string {
	switch by {
	case budget.ByDay:
		return r.Day
	case budget.ByAgent:
		return r.Agent
	case budget.ByModel:
		return r.Model
	case budget.ByPerson:
		return r.Person
	case budget.ByRun:
		if r.Run == "" {
			return "(none)"
		}
		return r.Run
	case budget.BySession:
		if r.Session == "" {
			return r.Agent + "/(deleted or none)"
		}
		return r.Agent + "/" + r.Session
	}
	return ""
}

// figures are what a row says after what it is of.
func figures(r budget.Row) string {
	share := "-"
	if r.Usage.Input > 0 {
		share = strconv.FormatInt(100*r.Usage.Cached/r.Usage.Input, 10) + "%"
	}
	return fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t%s", r.Calls, budget.Grouped(r.Usage.Input), share, budget.Grouped(r.Usage.Output), budget.Grouped(r.Usage.Reasoning), cost(r))
}

// cost is what calls cost, with a question mark for what is unknown of it.
func cost(r budget.Row) string {
	switch {
	case r.USD != nil:
		return dollars(r.USD)
	case r.Known > 0:
		return dollars(&r.Known) + " + ?"
	}
	return "?"
}

// remarks say what the figures leave open.
func remarks(r budget.Report) []string {
	var lines []string
	for _, u := range r.Unpriced {
		lines = append(lines, fmt.Sprintf("? %s of %s: %s", count(u.Calls, "call"), u.Model, u.Advice()))
	}
	if n := r.Total.Uncounted; n > 0 {
		lines = append(lines, count(n, "call")+" without tokens: the answer broke off, or the provider doesn't count")
	}
	return lines
}

// writeBudgets prints how it stands with limits.
func writeBudgets(w io.Writer, list []budget.Standing) error {
	if len(list) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "\nBUDGET\tLIMIT\tUSED\tLEFT\tBEGINS ANEW")
	for _, s := range list {
		said := func(v float64) string {
			if s.Unit == budget.USD {
				return dollars(&v)
			}
			return budget.Grouped(int64(v))
		}
		resets := "-"
		if !s.Resets.IsZero() {
			resets = s.Resets.UTC().Format("2006-01-02 15:04 UTC")
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", printable(s.Key), said(s.Limit), said(s.Used), said(s.Left), resets)
	}
	return t.Flush()
}
