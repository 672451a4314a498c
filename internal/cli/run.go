package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// scopeFlags narrow or place a run as a schedule, a step or a subagent would.
type scopeFlags struct {
	declare, cap, allow, deny, client []string
	origin                            string
	delivery                          tool.Delivery
	sandbox, flush                    bool
	depth                             int
	model                             string
}

func (s *scopeFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&s.declare, "declare", nil, "declare these tools, as a SOP step would: they and the internal ones are offered")
	f.StringSliceVar(&s.cap, "cap", nil, "cap the run to these tools, as a subagent's start would")
	f.StringSliceVar(&s.allow, "tools-allow", nil, "allow the run these tools, patterns or groups only, as a request would; \"\" allows none")
	f.StringSliceVar(&s.deny, "tools-deny", nil, "deny the run these tools, patterns or groups, as a request would")
	f.BoolVar(&s.sandbox, "sandbox", false, "hold the run to tools.sandbox, as one that is confined to a sandbox")
	f.BoolVar(&s.flush, "flush", false, "offer memory tools only, as before a conversation is shortened")
	f.IntVar(&s.depth, "depth", 0, "how many runs stand above it, as for a subagent")
	f.StringSliceVar(&s.client, "client", nil, "what the front end can do beyond showing text")
	f.StringVar(&s.delivery.Channel, "channel", "", "channel that the answer goes to")
	f.StringVar(&s.delivery.Account, "account", "", "account of the channel")
	f.StringVar(&s.delivery.Group, "group", "", "group of the channel")
	f.StringVar(&s.delivery.Thread, "thread", "", "thread in the group")
	f.StringVar(&s.origin, "origin", string(tool.FromChat), "origin of the run: chat, api, channel, cron, sop, webhook or subagent")
	f.StringVar(&s.model, "model", "", "provider or provider/model for this command")
}

// request makes the request of a local command.
func (a *app) request(cmd *cobra.Command, s *scopeFlags) (run.Request, error) {
	caller, err := a.caller()
	if err != nil {
		return run.Request{}, err
	}
	req := run.Request{Agent: a.agent, Session: a.session, Caller: caller, Origin: tool.Origin(s.origin), Model: s.model}
	if !slices.Contains(tool.Origins, req.Origin) {
		return req, usage("--origin is one of %s, not %q", join(tool.Origins), s.origin)
	}
	if a.user == "" {
		req.Caller = run.ActsFor(req.Origin, req.Caller)
	}
	if cmd.Flags().Changed("declare") {
		req.Declared = tool.Only(s.declare...)
	}
	if cmd.Flags().Changed("cap") {
		req.Cap = tool.Only(s.cap...)
	}
	if cmd.Flags().Changed("tools-allow") {
		req.Allow = tool.Only(s.allow...)
	}
	if s.depth < 0 {
		return req, usage("--depth is 0 or more, not %d", s.depth)
	}
	req.Deny, req.Client, req.Sandbox, req.Flush, req.Depth, req.Delivery = s.deny, s.client, s.sandbox, s.flush, s.depth, s.delivery
	return req, nil
}

func (a *app) runCommand() *cobra.Command {
	var s scopeFlags
	var demo, fresh, plan bool
	cmd := &cobra.Command{
		Use:   "run [TEXT]",
		Short: "Run one turn: the answer streams to standard output",
		Long: "Run one turn. TEXT is the message; without it, or with -, the message is read from standard input (and only then).\n" +
			"The answer streams to standard output; tools and notices are told on standard error.\n" +
			"With --session NAME the conversation goes on from turn to turn. With --json every event is a line of JSON.\n" +
			"Exit status: 0 answered, 1 failed, 2 used wrongly, 130 stopped by Ctrl-C; what was done until then is kept.",
		Example: "  goclaw run \"Which files are in the workspace?\"\n" +
			"  goclaw run --session report \"And the largest of them?\"\n" +
			"  git diff | goclaw run - --quiet",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := a.request(cmd, &s)
			if err != nil {
				return err
			}
			text, err := a.message(cmd.Context(), args)
			if err != nil {
				return err
			}
			req.Message, req.Fresh, req.Plan = llm.UserMessage(text), fresh, plan
			return a.turn(cmd, req, demo)
		},
	}
	s.add(cmd)
	cmd.Flags().BoolVar(&fresh, "fresh", false, "ask the model, not the cache of answers")
	cmd.Flags().BoolVar(&plan, "plan", false, "begin in plan mode: what changes something is refused until the plan is agreed to")
	cmd.Flags().BoolVar(&demo, "allow-demo", false, "use the demo model (a script, no AI) when no provider is set up")
	return cmd
}

// message is the person's message: the arguments, or standard input.
func (a *app) message(ctx context.Context, args []string) (string, error) {
	text := strings.Join(args, " ")
	if text == "" || text == "-" {
		if len(args) == 0 && isTerminal(a.In) {
			return "", usage("say something: goclaw run \"TEXT\", or pipe the message in")
		}
		b, err := a.readAll(ctx, maxMessage+1)
		if err != nil {
			return "", fmt.Errorf("read the message: %w", err)
		}
		text = string(b)
	}
	if len(text) > maxMessage {
		return "", usage("the message has more than %d bytes: put it into a file of the workspace and name that", maxMessage)
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.TrimSpace(text) == "" {
		return "", usage("the message is empty")
	}
	return text, nil
}

// maxMessage bounds a message, in bytes.
const maxMessage = 1 << 20

func (a *app) turn(cmd *cobra.Command, req run.Request, demo bool) (err error) {
	ctx := cmd.Context()
	g, err := a.open(ctx, gateway.Options{AllowDemo: demo})
	if err != nil {
		return err
	}
	a.warn(g)
	defer func() { err = errors.Join(err, closeSoon(ctx, g)) }()
	if err := a.inRole(cmd, g, &req.Caller); err != nil {
		return err
	}
	if err := a.sayChoice(ctx, g, req); err != nil {
		return err
	}
	q := a.asks(g, req.Caller)
	req.CanAsk = q != nil
	r, last, err := a.answer(ctx, g, req, q)
	switch {
	case err != nil:
		return err
	case last.Type == agent.RunFailed:
		if a.json {
			return &exitError{status: exitFailed}
		}
		return fmt.Errorf("%s Go on with: %s \"TEXT\"", sentence(last.Text), goOn(cmd, g, session.Key{Agent: r.Agent, ID: r.Session}))
	case last.End != nil && last.End.Status == agent.Stopped:
		return &exitError{status: exitInterrupted, err: fmt.Errorf("stopped; go on with: %s \"TEXT\"", goOn(cmd, g, session.Key{Agent: r.Agent, ID: r.Session}))}
	}
	return nil
}

// sentence is s with the end that a sentence has.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}

// answer starts a run, prints what happens in it, and returns its last event.
// The end of ctx stops the run. q asks the person for approvals; nil asks nobody.
func (a *app) answer(ctx context.Context, g *gateway.Gateway, req run.Request, q *asker) (*run.Run, agent.Event, error) {
	var last agent.Event
	r, err := g.Runner.Start(req)
	if err != nil {
		return nil, last, err
	}
	stopped := context.AfterFunc(ctx, r.Stop)
	defer stopped()
	view := newView(a)
	watching, leave := context.WithCancel(context.WithoutCancel(ctx))
	events := a.events(watching, r)
	defer func() {
		leave()
		for range events { // until who reads them has ended
		}
	}()
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return r, last, nil
			}
			if err := view.show(e); err != nil {
				r.Stop() // nobody reads any more
				return r, last, fmt.Errorf("write the answer: %w", err)
			}
			if e.Approval != nil && q != nil {
				q.take(e.Approval)
			}
			last = e
		case h := <-q.lines():
			q.in.came(h)
			q.heard(ctx, h)
		}
	}
}

// events hands on the events of a run until ctx ends or the run does.
func (a *app) events(ctx context.Context, r *run.Run) <-chan agent.Event {
	events := make(chan agent.Event)
	go func() {
		defer close(events)
		for e := range r.Events(ctx, 0) {
			select {
			case events <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events
}

// sayChoice says which model answers when nobody wrote it down.
func (a *app) sayChoice(ctx context.Context, g *gateway.Gateway, req run.Request) error {
	choice, err := g.Choose(ctx, req.Agent, req.Model)
	if err != nil {
		return err
	}
	if w := g.Config.Deprecated(req.Model); w != "" { // what is configured was warned of
		a.say("warning: %s", w)
	}
	if choice.Found {
		a.say("using %s/%s: %s", choice.Provider, choice.Model, choice.Why)
	}
	return nil
}

// join lists values for people.
func join[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = string(v)
	}
	return strings.Join(words, ", ")
}
