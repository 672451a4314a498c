package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/engine/selection"
	"github.com/goclaw/goclaw/internal/gateway"
)

func (a *app) ragCommand() *cobra.Command {
	return group("rag", "How well the tools of a request are chosen", a.ragEval())
}

// ragFlags are those of "rag eval".
type ragFlags struct {
	catalog, queries string
	topK             int
	semantic         bool
	traces           bool
	limit            int
	missed           bool
}

func (a *app) ragEval() *cobra.Command {
	var f ragFlags
	cmd := &cobra.Command{
		Use: "eval", Short: "Measure how often a request is offered the tools that it needs",
		Long: "Measure how often a request is offered the tools that it needs.\n\n" +
			"The requests come from a file, one JSON object a line: {\"query\": TEXT, \"tools\": [NAMES]}, or an array of\n" +
			"them, and the tools from another: [{\"name\": …, \"description\": …, \"parameters\": …}]. With --from-traces they are the agent's own tools and\n" +
			"what people wrote to it, with the tools that the model then used.\n\n" +
			"Recall at k is the share of the needed tools that are among the first k, averaged over the requests; MRR is the\n" +
			"mean of 1 / the place of the first needed tool.",
		Example: "  goclaw rag eval --catalog tools.json --queries queries.jsonl\n  goclaw rag eval --from-traces --agent main",
		Args:    cobra.NoArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return f.check(cmd) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			var v shownEval
			var err error
			if f.traces {
				v, err = a.evalTraces(cmd, f)
			} else {
				v, err = a.evalFiles(cmd.Context(), f)
			}
			if err != nil {
				return err
			}
			return a.print(v, func(w io.Writer) error { return v.write(w, f.missed || f.traces) })
		},
	}
	cmd.Flags().StringVar(&f.catalog, "catalog", "", "file of the tools; - is standard input")
	cmd.Flags().StringVar(&f.queries, "queries", "", "file of the requests; - is standard input")
	cmd.Flags().IntVar(&f.topK, "top-k", 12, "how many tools a request is offered; of --from-traces, tools.rag.top_k")
	cmd.Flags().BoolVar(&f.semantic, "semantic", false, "look by meaning as well, as tools.rag of the agent says, whether or not it is on there")
	cmd.Flags().BoolVar(&f.traces, "from-traces", false, "take tools and requests from what the agent did")
	cmd.Flags().IntVar(&f.limit, "limit", 500, "of --from-traces, at most so many requests, the latest")
	cmd.Flags().BoolVar(&f.missed, "missed", false, "list the requests that were not offered a tool that they need")
	return cmd
}

// check refuses flags that don't go together.
func (f *ragFlags) check(cmd *cobra.Command) error {
	switch given := cmd.Flags().Changed; {
	case f.traces && (f.catalog != "" || f.queries != ""):
		return usage("--from-traces takes tools and requests from the agent: leave --catalog and --queries away")
	case f.traces && (given("top-k") || given("semantic")):
		return usage("with --from-traces the agent's settings decide: change tools.rag, and leave --top-k and --semantic away")
	case !f.traces && (f.catalog == "" || f.queries == ""):
		return usage("give --catalog and --queries, or --from-traces; see %s --help", cmd.CommandPath())
	case f.catalog == stdin && f.queries == stdin:
		return usage("standard input holds either the tools or the requests: give a file for the other")
	case f.topK < 1:
		return usage("--top-k is a number above zero, not %d", f.topK)
	case f.limit < 1:
		return usage("--limit is a number above zero, not %d", f.limit)
	}
	return nil
}

// shownEval is what "rag eval" prints.
type shownEval struct {
	Agent    string `json:"agent,omitempty"` // whose traces they are
	Tools    int    `json:"tools"`
	TopK     int    `json:"top_k"`
	Semantic bool   `json:"semantic"`
	selection.Report

	// Of traces: the tools that are offered whatever the message says, which no
	// request can miss, and how many calls were of tools that are not there, or
	// not permitted, any more.
	Pinned []string `json:"pinned,omitempty"`
	Gone   int      `json:"gone,omitempty"`
	All    bool     `json:"all,omitempty"` // no selection runs
}

// maxEval is how large a file of tools or requests may be, in bytes.
const maxEval = 256 << 20

// readInput reads a file or standard input, or as much as somebody writes into a pipe, until ctx
// ends.
func (a *app) readInput(ctx context.Context, name string) ([]byte, error) {
	raw, err := awaited(ctx, func() ([]byte, error) {
		if name == stdin {
			return io.ReadAll(io.LimitReader(a.In, maxEval+1))
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, maxEval+1))
	})
	if err == nil && len(raw) > maxEval {
		err = fmt.Errorf("%s is larger than %d MB", inputName(name), maxEval>>20)
	}
	return raw, err
}

// stdin stands for standard input where a file is named.
const stdin = "-"

// inputName is a file as messages call it.
func inputName(name string) string {
	if name == stdin {
		return "standard input"
	}
	return name
}

func (a *app) evalFiles(ctx context.Context, f ragFlags) (shownEval, error) {
	raw, err := a.readInput(ctx, f.catalog)
	if err != nil {
		return shownEval{}, err
	}
	docs, odd, err := selection.ReadCatalog(inputName(f.catalog), raw)
	if err != nil {
		return shownEval{}, err
	}
	a.tellOdd(odd)
	if raw, err = a.readInput(ctx, f.queries); err != nil {
		return shownEval{}, err
	}
	queries, odd, err := selection.ReadQueries(inputName(f.queries), raw, docs)
	if err != nil {
		return shownEval{}, err
	}
	a.tellOdd(odd)
	v := shownEval{Tools: len(docs), TopK: f.topK, Semantic: f.semantic}
	measure := func(semantic *selection.Semantic) error {
		m, err := selection.NewMeter(ctx, docs, f.topK, semantic)
		if err != nil {
			return err
		}
		v.Report, err = selection.Measure(ctx, queries, m.Rank)
		return err
	}
	if f.semantic {
		err = a.with(ctx, func(g *gateway.Gateway) error {
			semantic, err := g.Semantic(a.agent)
			if err != nil {
				return err
			}
			return measure(semantic)
		})
	} else {
		err = measure(nil)
	}
	return v, err
}

// tellOdd warns of what in a file is passed over.
func (a *app) tellOdd(odd []error) {
	if a.quiet {
		return
	}
	for _, o := range odd {
		fmt.Fprintln(a.Err, "goclaw: warning: "+printable(o.Error()))
	}
}

func (v shownEval) write(w io.Writer, missed bool) error {
	if v.Queries+v.None.Queries == 0 {
		_, err := fmt.Fprintln(w, none("requests", v.Agent, ""))
		return err
	}
	var b strings.Builder
	how := "by words"
	if v.Semantic {
		how = "by words and by meaning"
	}
	if v.Agent != "" {
		fmt.Fprintf(&b, "agent %s: ", v.Agent)
	}
	fmt.Fprintf(&b, "%s, %s, the best %d %s\n\n", count(v.Tools, "tool"), count(v.Queries+v.None.Queries, "request"), v.TopK, how)
	t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "NEEDED\tREQUESTS\t")
	for _, k := range selection.Depths {
		fmt.Fprintf(t, "RECALL@%d\t", k)
	}
	fmt.Fprintln(t, "OFFERED\tMRR\t")
	for _, row := range []struct {
		name string
		of   selection.Figures
	}{{"one tool", v.Single}, {"several", v.Several}, {"all", v.Figures}} {
		if row.of.Queries == 0 {
			continue
		}
		fmt.Fprintf(t, "%s\t%d\t", row.name, row.of.Queries)
		for _, k := range selection.Depths {
			fmt.Fprintf(t, "%.3f\t", row.of.Recall[k])
		}
		fmt.Fprintf(t, "%.3f\t%.3f\t\n", row.of.Offered, row.of.MRR)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if v.None.Queries > 0 {
		fmt.Fprintf(&b, "\nrequests that need no tool: %d, offered %.1f on average\n", v.None.Queries, v.None.Offered)
	}
	v.writeTraces(&b)
	fmt.Fprintf(&b, "\n%s a request\n", cmp.Or(time.Duration(v.Time).Round(time.Microsecond), time.Microsecond))
	v.writeMissed(&b, missed)
	_, err := io.WriteString(w, printable(b.String()))
	return err
}

// writeTraces tells what is particular to requests from traces.
func (v shownEval) writeTraces(b *strings.Builder) {
	if v.All {
		fmt.Fprintln(b, "\nno selection runs (tools.rag.enabled is false): every request is offered all tools")
	}
	if len(v.Pinned) > 0 {
		fmt.Fprintf(b, "\nalways offered, and not counted: %s\n", strings.Join(v.Pinned, ", "))
	}
	if v.Gone > 0 {
		fmt.Fprintf(b, "\ncalls of tools that the agent doesn't have any more, not counted: %d\n", v.Gone)
	}
}

func (v shownEval) writeMissed(b *strings.Builder, list bool) {
	if len(v.Missed) == 0 {
		return
	}
	fmt.Fprintf(b, "\nrequests that were not offered a tool that they need: %d", len(v.Missed))
	if !list {
		fmt.Fprintln(b, " (--missed lists them)")
		return
	}
	fmt.Fprintln(b)
	for _, m := range v.Missed {
		fmt.Fprintf(b, "  %s  %s\n", strings.Join(m.Missed, ", "), short(m.Query, 100))
	}
}
