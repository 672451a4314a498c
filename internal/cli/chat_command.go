package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/goclaw/goclaw/internal/agent/budget"
	"github.com/goclaw/goclaw/internal/agent/command"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/approval"
)

// errQuit says that the person wants to leave.
var errQuit = errors.New("quit")

// do carries out a command and prints what it says. Commands that change the
// conversation wait until nothing is going on in it.
func (c *chat) do(ctx context.Context, call command.Call) error {
	switch call.Name {
	case "new", "resume", "fork", "agent":
		if call.Arg == "" && call.Name == "agent" {
			return c.listAgents()
		}
		if c.going() != nil {
			return fmt.Errorf("a run is going on: wait for its end, or /stop it, then write /%s again", call.Name)
		}
	}
	switch call.Name {
	case "new":
		c.renew(call.Arg)
		c.tell("a new conversation: %s", c.req.Session)
	case "resume":
		return c.resume(ctx, call.Arg)
	case "fork":
		return c.fork(ctx, call.Arg)
	case "agent":
		return c.changeAgent(ctx, call.Arg)
	case "model":
		return c.changeModel(ctx, call.Arg)
	case "sessions":
		return c.listSessions(ctx)
	case "stop":
		return c.stop()
	case "steer":
		if c.going() == nil {
			return errors.New("nothing is going on that could be steered: write it as a message")
		}
		return c.steer(call.Arg)
	case "approve":
		return c.approve(ctx, call.Arg)
	case "plan":
		return c.plan(ctx, call.Arg)
	case "tools":
		return c.tools(ctx, call.Arg)
	case "context":
		return c.context(ctx)
	case "usage":
		return c.usage(ctx)
	case "export":
		return c.exportTo(ctx, call.Arg)
	case "help":
		return c.help(call.Arg)
	case "quit":
		return errQuit
	}
	return nil
}

// tell says what a command did. It is what was asked for, so it isn't said on
// the side; for programs it is left out.
func (c *chat) tell(format string, args ...any) {
	if !c.json {
		fmt.Fprintln(c.Out, printable(fmt.Sprintf(format, args...)))
	}
}

// approve answers a call of the conversation that waits.
func (c *chat) approve(ctx context.Context, arg string) error {
	answer, id, err := command.Approve(arg)
	if err != nil {
		return usage("%w", err)
	}
	x, err := answerOpen(ctx, c.g, c.req.Caller, approval.Filter{Agent: c.req.Agent, Session: c.req.Session}, answer, id)
	if err != nil {
		return err
	}
	c.tell("%s", answered(x))
	return nil
}

func (c *chat) listAgents() error {
	t := tabwriter.NewWriter(c.Out, 0, 8, 2, ' ', 0)
	for _, a := range c.g.Config.Agents() {
		mark := ""
		if a.ID == c.req.Agent {
			mark = "talking now"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", a.ID, printable(a.Name), mark)
	}
	return t.Flush()
}

func (c *chat) changeAgent(ctx context.Context, id string) error {
	p, err := c.g.Profile(id)
	if err != nil {
		return err
	}
	if _, err := c.g.Choose(ctx, p.ID, c.req.Model); err != nil {
		return err
	}
	c.req.Agent = p.ID
	c.renew("")
	c.tell("agent %s, a new conversation: %s", p.ID, c.req.Session)
	return nil
}

// changeModel sets the model of the messages to come; "default" is the one that
// is configured.
func (c *chat) changeModel(ctx context.Context, name string) error {
	model := c.req.Model
	switch name {
	case "":
	case "default":
		model = ""
	default:
		model = name
	}
	choice, err := c.g.Choose(ctx, c.req.Agent, model)
	if err != nil {
		return err
	}
	c.req.Model = model
	why := choice.Why
	if model != "" {
		why = "chosen for this conversation; /model default takes it back"
	}
	c.tell("%s/%s answers: %s", choice.Provider, choice.Model, why)
	return nil
}

// shownSessions is how many conversations /sessions lists.
const shownSessions = 20

// own are the last conversations with the agent that the caller may read.
func (c *chat) own(ctx context.Context, limit int) ([]session.Session, error) {
	f := session.Filter{Agent: c.req.Agent, Limit: limit}
	if !c.req.Caller.Privileged() {
		f.Caller = c.req.Caller.ID
	}
	list, _, err := c.g.Sessions.Sessions(ctx, f)
	return list, err
}

func (c *chat) listSessions(ctx context.Context) error {
	list, err := c.own(ctx, shownSessions)
	if err != nil {
		return err
	}
	return c.print(append([]session.Session{}, list...), func(w io.Writer) error {
		if len(list) == 0 {
			_, err := fmt.Fprintf(w, "no conversations with agent %s yet\n", c.req.Agent)
			return err
		}
		return writeSessions(w, list)
	})
}

// resume goes on with a session, which may be named by the beginning of its
// name when no other one begins so.
func (c *chat) resume(ctx context.Context, name string) error {
	list, err := c.own(ctx, 1000)
	if err != nil {
		return err
	}
	var found []session.Session
	for _, s := range list {
		if s.ID == name {
			found = []session.Session{s}
			break
		}
		if strings.HasPrefix(s.ID, name) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return fmt.Errorf("there is no session %s of agent %s; /sessions lists them", name, c.req.Agent)
	case 1:
		c.req.Session, c.title, c.begun, c.req.Plan, c.planning = found[0].ID, "", true, false, found[0].Plan
		c.tell("conversation %s: %s", found[0].ID, found[0].Title)
		return nil
	}
	return fmt.Errorf("%d sessions begin with %s: write more of the name", len(found), name)
}

// fork goes on in a fork of the conversation.
func (c *chat) fork(ctx context.Context, turn string) error {
	if !c.begun {
		return errors.New("there is nothing to fork yet")
	}
	o := session.ForkOptions{From: c.key(), Turn: session.AllEnded, Origin: c.req.Origin, By: c.req.Caller}
	if turn != "" {
		n, err := strconv.Atoi(turn)
		if err != nil || n < 1 {
			return usage("/fork takes the number of a turn, not %q", turn)
		}
		o.Turn = n
	}
	f, err := fork(ctx, c.g, o)
	if err != nil {
		return err
	}
	c.req.Session, c.title = f.ID, ""
	c.tell("conversation %s: %s, with %s", f.ID, f.Title, count(f.Turns, "turn"))
	return nil
}

func (c *chat) stop() error {
	r := c.going()
	if r == nil {
		return errors.New("nothing is going on that could be stopped")
	}
	r.Stop()
	return nil
}

// tools lists what is on offer, or explains one.
func (c *chat) tools(ctx context.Context, name string) error {
	req := c.message("")
	if name == "" {
		sf, err := c.g.Surface(ctx, req)
		if err != nil {
			return err
		}
		v := shownSurface{sf}
		return c.print(v, func(w io.Writer) error { return v.write(w, true) })
	}
	x, err := c.g.Explain(ctx, req, name)
	if err != nil {
		return err
	}
	return c.print(x, func(w io.Writer) error {
		_, err := io.WriteString(w, printable(x.Text()))
		return err
	})
}

func (c *chat) context(ctx context.Context) error {
	p, err := c.g.PreviewPrompt(ctx, c.message("Hello"))
	if err != nil {
		return err
	}
	v := shown(p)
	return c.print(v, func(w io.Writer) error { return v.write(w, false) })
}

// used is what a conversation has used.
type used struct {
	Session session.Key `json:"session"`
	Turns   int         `json:"turns"`
	Rounds  int         `json:"rounds"`
	Calls   int         `json:"calls"`            // of tools
	Copied  int         `json:"copied,omitempty"` // turns that the fork began with: they count where they ran

	Models  []budget.Row      `json:"models"`
	Total   budget.Row        `json:"total"`         // of model calls
	USD     *float64          `json:"usd,omitempty"` // nil when some cost is unknown
	Budgets []budget.Standing `json:"budgets,omitempty"`
}

// usage tells the tokens and the cost of the conversation, by model, and what is
// left of its budgets.
func (c *chat) usage(ctx context.Context) error {
	u := used{Session: c.key()}
	if c.begun {
		turns, err := c.g.Sessions.Turns(ctx, c.key(), 1, 0, session.Traced)
		if err != nil {
			return noSession(err, c.key())
		}
		u.add(turns)
	}
	key := c.key()
	r, err := c.g.Usage(ctx, budget.Query{By: []budget.By{budget.ByModel}, Agent: key.Agent, Session: cmp.Or(key.ID, "-")}, true)
	if err != nil {
		return err
	}
	if !c.req.Caller.Privileged() {
		r.HideShared()
	}
	u.Models, u.Total, u.USD, u.Budgets = r.Rows, r.Total, r.Total.USD, r.Budgets
	return c.print(u, u.write)
}

func (u *used) add(turns []session.Turn) {
	for _, t := range turns {
		if t.Copied {
			u.Copied++
			continue
		}
		u.Turns++
		u.Rounds += len(t.Rounds)
		for _, r := range t.Rounds {
			u.Calls += len(r.Outcomes)
		}
	}
}

func (u *used) write(w io.Writer) error {
	if u.Rounds == 0 {
		if _, err := fmt.Fprintln(w, "nothing has been used yet"); err != nil {
			return err
		}
		return writeBudgets(w, u.Budgets)
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "MODEL\tCALLS\tTOKENS IN\tCACHED\tOUT\tUSD")
	for _, m := range u.Models {
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\n", printable(m.Model), m.Calls, budget.Grouped(m.Usage.Input), budget.Grouped(m.Usage.Cached), budget.Grouped(m.Usage.Output), cost(m))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	price := "of unknown price"
	if u.USD != nil {
		price = dollars(u.USD) + " USD"
	} else if u.Total.Known > 0 {
		price = "more than " + dollars(&u.Total.Known) + " USD"
	}
	if u.Copied > 0 {
		price += fmt.Sprintf("; what the %s before the fork used counts where they ran", count(u.Copied, "turn"))
	}
	_, err := fmt.Fprintf(w, "%s, %s, %s; %s\n", count(u.Turns, "turn"), count(u.Total.Calls, "model call"), count(u.Calls, "tool call"), price)
	if err != nil {
		return err
	}
	return writeBudgets(w, u.Budgets)
}

// exportTo writes the conversation to a new file, whose name says the format.
func (c *chat) exportTo(ctx context.Context, name string) (err error) {
	if !c.begun {
		return errors.New("there is nothing to export yet")
	}
	if name == "" {
		name = strings.NewReplacer(":", "-", "/", "-").Replace(c.req.Session) + ".md"
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("export the conversation: %w", err)
	}
	write := session.ExportMarkdown
	if strings.HasSuffix(strings.ToLower(name), ".jsonl") {
		write = session.ExportJSONL
	}
	if err := errors.Join(write(ctx, f, c.g.Sessions, c.key()), f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	c.tell("written to %s", name)
	return nil
}

func (c *chat) help(name string) error {
	list := c.commands
	if name != "" {
		spec, ok := c.commands.Find(strings.TrimPrefix(name, "/"))
		if !ok {
			_, err := c.commands.Parse("/" + strings.TrimPrefix(name, "/"))
			if err == nil {
				err = fmt.Errorf("there is no command %s", name)
			}
			return err
		}
		list = command.Set{spec}
	}
	return c.print(list, func(w io.Writer) error {
		t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
		for _, s := range list {
			fmt.Fprintf(t, "%s\t%s\n", s.Usage(), s.Use)
		}
		if name == "" {
			fmt.Fprintln(t, "//TEXT\tsend a message that begins with a slash")
		}
		return t.Flush()
	})
}

// complete says what the end of a line may become.
func (c *chat) complete(ctx context.Context, before string) (from int, list [][2]string, live bool) {
	if from, list, ok := c.completeFile(ctx, before); ok {
		return from, list, false
	}
	if !strings.HasPrefix(before, "/") || strings.HasPrefix(before, "//") || strings.Contains(before, "\n") {
		return 0, nil, false
	}
	name, arg, spaced := strings.Cut(before[1:], " ")
	if !spaced {
		for _, s := range c.commands {
			if strings.HasPrefix(s.Name, strings.ToLower(name)) {
				list = append(list, [2]string{"/" + s.Name, s.Use})
			}
		}
		return 0, list, true
	}
	spec, ok := c.commands.Find(name)
	if !ok || strings.Contains(arg, " ") {
		return 0, nil, false
	}
	for _, v := range c.values(ctx, spec.Kind) {
		if strings.HasPrefix(v[0], arg) {
			list = append(list, v)
		}
	}
	return len(before) - len(arg), list, false
}

// values lists what an argument may be, each with what it is. What can't be
// found out now is not offered.
func (c *chat) values(ctx context.Context, kind command.Kind) (list [][2]string) {
	switch kind {
	case command.Agent:
		for _, a := range c.g.Config.Agents() {
			list = append(list, [2]string{a.ID, a.Name})
		}
	case command.Session:
		sessions, err := c.own(ctx, 100)
		if err != nil {
			return nil
		}
		for _, s := range sessions {
			list = append(list, [2]string{s.ID, s.Title})
		}
	case command.Tool:
		v, err := c.g.Surface(ctx, c.message(""))
		if err != nil {
			return nil
		}
		for _, t := range append(v.Offered, v.Others...) {
			what, _, _ := strings.Cut(t.Description, "\n")
			list = append(list, [2]string{t.Name, short(what, 60)})
		}
		for _, r := range v.Removed {
			list = append(list, [2]string{r.Tool, "not permitted: " + short(r.Reason, 50)})
		}
		slices.SortFunc(list, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	case command.Model:
		for name := range c.g.Config.AI.Providers {
			list = append(list, [2]string{name, ""})
		}
		slices.SortFunc(list, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
		list = append(list, [2]string{"default", "the one that is configured"})
	case command.Answer:
		list = append(list, [2]string{"once", "let the call run"}, [2]string{"always", "and the same call from now on"}, [2]string{"no", "don't run it"})
	case command.Command:
		for _, s := range c.commands {
			list = append(list, [2]string{s.Name, s.Use})
		}
	}
	return list
}
