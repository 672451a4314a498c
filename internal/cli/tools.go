package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/gateway/api"
	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

func (a *app) toolsCommand() *cobra.Command {
	return group("tools", "What an agent may use, why not, and calls by hand", a.toolsList(), a.toolsSelect(), a.toolsInvoke(), a.toolsExplain(), a.toolsPresets())
}

// shownSurface is what "tools list" prints.
type shownSurface struct{ api.Surface }

func (a *app) toolsList() *cobra.Command {
	var s scopeFlags
	var b broughtFlag
	var all bool
	var message string
	cmd := &cobra.Command{
		Use: "list", Short: "List the tools that a run is offered, for an agent, role, session and origin",
		Example: "  goclaw tools list --role user\n  goclaw tools list --declare file_read --all",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req, err := a.request(cmd, &s)
			if err == nil {
				req.Brought, err = b.read()
			}
			if err != nil {
				return err
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
				v := shownSurface{sf}
				return a.print(v, func(w io.Writer) error { return v.write(w, all) })
			})
		},
	}
	s.add(cmd)
	b.add(cmd)
	cmd.Flags().StringVar(&message, "message", "", "the message that the request is for; without one nothing is picked and all is shown")
	cmd.Flags().BoolVar(&all, "all", false, "also list what is not offered, and why")
	return cmd
}

func (v shownSurface) write(w io.Writer, all bool) error {
	if len(v.Offered)+len(v.Others) == 0 {
		if _, err := fmt.Fprintln(w, "no tool is offered"); err != nil {
			return err
		}
		if err := v.writeRemoved(w, all); err != nil {
			return err
		}
		return writeDoubts(w, v.Doubts)
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "TOOL\tOWNER\tGROUP\tKIND\tWHAT FOR")
	row := func(x api.Tool, mark string) {
		kind := "write"
		if x.ReadOnly || x.Internal {
			kind = "read"
		}
		group := "-"
		if x.Category != "" {
			group = "group:" + x.Category
		}
		what, _, _ := strings.Cut(x.Description, "\n")
		fmt.Fprintf(t, "%s%s\t%s\t%s\t%s\t%s\n", x.Name, mark, printable(x.Owner), group, kind, printable(short(what, 70)))
	}
	for _, x := range v.Offered {
		row(x, "")
	}
	for _, x := range v.Others {
		row(x, " (not selected)")
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := v.writeRemoved(w, all); err != nil {
		return err
	}
	return writeDoubts(w, v.Doubts)
}

// writeDoubts tells what of the command's flags means nothing.
func writeDoubts(w io.Writer, doubts []string) error {
	for _, d := range doubts {
		if _, err := fmt.Fprintln(w, "notice: "+printable(d)); err != nil {
			return err
		}
	}
	return nil
}

// writeRemoved tells what is not permitted and why, or how to find that out.
func (v shownSurface) writeRemoved(w io.Writer, all bool) error {
	if !all {
		if n := len(v.Removed); n > 0 {
			_, err := fmt.Fprintf(w, "\n%d more are not permitted; see --all, or goclaw tools explain NAME\n", n)
			return err
		}
		return nil
	}
	for i, r := range v.Removed {
		if i == 0 {
			if _, err := fmt.Fprintln(w, "\nnot permitted:"); err != nil {
				return err
			}
		}
		where := ""
		if !r.Where.IsZero() {
			where = " (" + r.Where.Place() + ")"
		}
		if _, err := fmt.Fprintf(w, "  %s  layer %s: %s%s\n", r.Tool, r.Layer, printable(r.Reason), where); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) toolsInvoke() *cobra.Command {
	var s scopeFlags
	var args string
	cmd := &cobra.Command{
		Use: "invoke TOOL", Short: "Run one call through the whole pipeline and print the result",
		ValidArgsFunction: offer(a.tools).first,
		Long: "Run one call through every step that a model's call goes through, and print the result.\n" +
			"Exit status: 0 the result, 2 the arguments are no JSON, 3 refused (by which step or guard stands in the message), 4 the tool failed.",
		Example: "  goclaw tools invoke file_read --args '{\"path\":\"notes.md\"}'\n" +
			"  goclaw tools invoke calc --args @args.json",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := named(names[0]); err != nil {
				return err
			}
			req, err := a.request(cmd, &s)
			if err != nil {
				return err
			}
			raw, err := a.arguments(cmd.Context(), args)
			if err != nil {
				return err
			}
			return a.with(cmd.Context(), func(g *gateway.Gateway) error {
				if err := a.inRoleOf(cmd, g, &req.Caller); err != nil {
					return err
				}
				o, err := a.invoke(cmd.Context(), g, req, names[0], raw)
				if err != nil {
					return err
				}
				why, err := a.unoffered(cmd.Context(), g, req, names[0], o)
				if err != nil {
					return err
				}
				return a.printOutcome(o, why)
			})
		},
	}
	s.add(cmd)
	cmd.Flags().StringVar(&args, "args", "{}", "the arguments as a JSON object; @FILE reads a file, - standard input")
	return cmd
}

// named refuses the name of a tool that is empty.
func named(tool string) error {
	if strings.TrimSpace(tool) == "" {
		return usage("the name of the tool is empty: goclaw tools list names them")
	}
	return nil
}

// invoke runs one call, about which the person at the terminal is asked where
// a rule wants that.
func (a *app) invoke(ctx context.Context, g *gateway.Gateway, req run.Request, name string, args []byte) (o tool.Outcome, err error) {
	q := a.asks(g, req.Caller)
	if q == nil {
		return g.Invoke(ctx, req, name, args)
	}
	req.CanAsk = true
	told := make(chan *tool.Approval)
	go func() {
		defer close(told)
		o, err = g.InvokeTold(ctx, req, name, args, func(e tool.Event) {
			if e.Approval != nil {
				told <- e.Approval
			}
		})
	}()
	for {
		select {
		case x, ok := <-told:
			if !ok {
				return o, err
			}
			q.take(x)
		case h := <-q.lines():
			q.in.came(h)
			q.heard(ctx, h)
		}
	}
}

// maxArguments bounds what is read of standard input, in bytes; what is longer
// is no JSON any more.
const maxArguments = 64 << 20

// arguments reads --args.
func (a *app) arguments(ctx context.Context, args string) (json.RawMessage, error) {
	raw := []byte(args)
	var err error
	switch {
	case args == "-":
		raw, err = a.readAll(ctx, maxArguments)
	case strings.HasPrefix(args, "@"):
		raw, err = os.ReadFile(args[1:])
	}
	if err != nil {
		return nil, usage("--args: %w", err)
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return json.RawMessage("{}"), nil
	}
	if raw[0] == '{' && json.Valid(raw) {
		return raw, nil
	}
	// What a model's call may get wrong, a person may too.
	mended, ok := jsonschema.Object(raw)
	if !ok {
		return nil, usage("--args is not a JSON object: %s", short(string(raw), 80))
	}
	return mended, nil
}

// unoffered explains a call that was refused since its tool was not offered. The
// outcome has what a model is told, which says nothing of what is denied to it;
// who works on the command line may know. It is nil for any other call.
func (a *app) unoffered(ctx context.Context, g *gateway.Gateway, req run.Request, name string, o tool.Outcome) (*api.Explanation, error) {
	if o.Status != tool.Refused || o.Step != "offered" {
		return nil, nil
	}
	x, err := g.Explain(ctx, req, name)
	if err != nil || x.Exposed() {
		return nil, err
	}
	return &x, nil
}

// calledByHand is what "tools invoke --json" prints.
type calledByHand struct {
	tool.Outcome
	Explanation *api.Explanation `json:"explanation,omitempty"` // of a call whose tool is not offered
}

// printOutcome prints the outcome of a call; why is that of a tool that was not
// offered, nil for any other.
func (a *app) printOutcome(o tool.Outcome, why *api.Explanation) error {
	if a.json {
		if err := a.printJSON(calledByHand{o, why}); err != nil {
			return err
		}
	} else if o.Status == tool.OK {
		if err := a.printContent(o.Content); err != nil {
			return err
		}
	}
	if !a.json {
		for _, n := range o.Notices {
			fmt.Fprintln(a.Err, "notice: "+printable(n))
		}
	}
	status, err := 0, error(nil)
	switch o.Status {
	case tool.OK:
		return nil
	case tool.Refused, tool.Invalid:
		status = exitRefused
		if why != nil {
			err = fmt.Errorf("refused by %s: %s", refuser(o), why.Verdict())
			break
		}
		err = fmt.Errorf("refused by %s: %s", refuser(o), llm.JoinText(o.Content))
	case tool.Cancelled, tool.Interrupted:
		status, err = exitInterrupted, fmt.Errorf("%s: %s", o.Tool, llm.JoinText(o.Content))
	default:
		status, err = exitToolFailed, fmt.Errorf("%s: %s", o.Tool, llm.JoinText(o.Content))
	}
	if a.json {
		err = nil
	}
	return &exitError{status, err}
}

// refuser is the step that refused a call, with the guard if it was one.
func refuser(o tool.Outcome) string {
	r := o.Refusal
	switch {
	case r == nil:
		return o.Step
	case r.Guard != "":
		return fmt.Sprintf("%s (guard %s, rule %s)", o.Step, r.Guard, r.Rule)
	case o.Step == "before" && r.Where.IsZero():
		return fmt.Sprintf("%s (rule %s)", o.Step, r.Rule)
	case o.Step == "before":
		return fmt.Sprintf("%s (rule %s, %s)", o.Step, r.Rule, r.Where.Place())
	}
	return o.Step
}

func (a *app) printContent(parts []llm.Part) error {
	for _, p := range parts {
		text := p.Text
		if p.Media != nil {
			text = fmt.Sprintf("[%s %s, %d bytes]", p.Media.MIME, p.Media.Name, len(p.Media.Data))
		}
		if isTerminal(a.Out) {
			text = printable(text)
		}
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if _, err := io.WriteString(a.Out, text); err != nil {
			return err
		}
	}
	return nil
}

// broughtFlag names a file with tools that an API client would bring.
type broughtFlag string

func (f *broughtFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(f), "client-tools", "", "a file with tools of an API client, as /v1/chat/completions takes them: judge them too, as its request would have it")
}

func (f broughtFlag) read() (tool.Brought, error) {
	if f == "" {
		return tool.Brought{}, nil
	}
	data, err := os.ReadFile(string(f))
	if err != nil {
		return tool.Brought{}, usage("--client-tools: %v", err)
	}
	b, err := api.ReadTools(data)
	if err != nil {
		return b, usage("--client-tools %s: %v", string(f), err)
	}
	return b, nil
}

func (a *app) toolsExplain() *cobra.Command {
	var s scopeFlags
	var b broughtFlag
	var message string
	cmd := &cobra.Command{
		Use: "explain TOOL", Short: "Say how far a tool gets, why no further, and what to do about it", Args: cobra.ExactArgs(1),
		ValidArgsFunction: offer(a.tools).first,
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := named(names[0]); err != nil {
				return err
			}
			req, err := a.request(cmd, &s)
			if err == nil {
				req.Brought, err = b.read()
			}
			if err != nil {
				return err
			}
			req.Message = llm.UserMessage(message)
			return a.with(cmd.Context(), func(g *gateway.Gateway) error {
				if err := a.inRoleOf(cmd, g, &req.Caller); err != nil {
					return err
				}
				x, err := g.Explain(cmd.Context(), req, names[0])
				if err != nil {
					return err
				}
				return a.print(x, func(w io.Writer) error {
					_, err := io.WriteString(w, printable(x.Text()))
					return err
				})
			})
		},
	}
	s.add(cmd)
	b.add(cmd)
	cmd.Flags().StringVar(&message, "message", "", "the message that the request is for")
	return cmd
}
