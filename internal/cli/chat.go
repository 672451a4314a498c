package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/command"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/cli/term"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// chatFlags are what "chat" takes beyond what every command does.
type chatFlags struct {
	model string
	last  bool // go on with the last conversation
	demo  bool
}

func (a *app) chatCommand() *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Talk to an agent in the terminal",
		Long: "Talk to an agent. Answers stream as Markdown, tools are told as they run, and a line that begins with a slash is\n" +
			"a command (/help lists them). A new conversation begins unless --session or --continue names one.\n" +
			"Without a terminal each line of standard input is a message, and answers go to standard output as they are.",
		Example: "  goclaw chat\n  goclaw chat --continue\n  printf 'List the files.\\nAnd the largest?\\n' | goclaw chat --quiet",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.chat(cmd, f) },
	}
	cmd.Flags().StringVar(&f.model, "model", "", "provider or provider/model for this conversation")
	cmd.Flags().BoolVarP(&f.last, "continue", "c", false, "go on with the last conversation")
	cmd.Flags().BoolVar(&f.demo, "allow-demo", false, "use the demo model (a script, no AI) when no provider is set up")
	return cmd
}

// firstStart is goclaw without a command: a chat where a person sits or
// something is piped in, help elsewhere. A script gets no answers of the demo
// model unasked.
func (a *app) firstStart(cmd *cobra.Command, args []string) error {
	switch {
	case a.interactive() && !a.json:
		return a.chat(cmd, chatFlags{demo: true})
	case isTerminal(a.In):
		return help(cmd, args)
	}
	first, err := awaited(cmd.Context(), func() ([]byte, error) {
		b := make([]byte, 1)
		_, err := io.ReadFull(a.In, b)
		return b, err
	})
	if errors.Is(err, io.EOF) {
		return help(cmd, args) // nothing was piped in
	}
	if err != nil {
		return err
	}
	a.In = io.MultiReader(bytes.NewReader(first), a.In)
	return a.chat(cmd, chatFlags{})
}

// interactive reports whether a person sits at both ends.
func (a *app) interactive() bool { return isTerminal(a.In) && isTerminal(a.Out) }

// isTerminal reports whether a stream is one. The null device is none.
func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.Is(f)
}

// chat is one conversation after the other, with whatever is at the other end.
type chat struct {
	*app
	cmd      *cobra.Command // that began it
	g        *gateway.Gateway
	req      run.Request // what each message is sent with; its session has a name
	commands command.Set
	begun    bool   // the session exists
	title    string // that the session gets when it begins
	planning bool   // plan mode is on, as far as is known here
	// going is the run that is going on, nil when none is; steer gives it a
	// message.
	going func() *run.Run
	asker *asker // asks line by line; nil on a screen
	steer func(text string) error
}

func (a *app) chat(cmd *cobra.Command, f chatFlags) (err error) {
	if f.last && a.session != "" {
		return usage("--continue and --session exclude each other")
	}
	req, err := a.request(cmd, &scopeFlags{origin: string(tool.FromChat), model: f.model})
	if err != nil {
		return err
	}
	full := a.interactive() && !a.json && a.env.Get("TERM") != "dumb"
	var errs *term.Aside
	if full {
		// What is logged while a screen is painted must not be written over it.
		errs = term.NewAside(a.Err)
		own := *a
		own.Err = errs
		a = &own
	}
	ctx := cmd.Context()
	g, err := a.open(ctx, gateway.Options{AllowDemo: f.demo})
	if err != nil {
		return err
	}
	a.warn(g)
	defer func() { err = errors.Join(err, closeSoon(ctx, g)) }()
	if err := a.inRole(cmd, g, &req.Caller); err != nil {
		return err
	}
	req.CanAsk = true
	c := &chat{app: a, cmd: cmd, g: g, req: req, commands: chatCommands(), going: func() *run.Run { return nil }}
	if err := c.begin(ctx, f.last); err != nil {
		return err
	}
	if err := a.sayChoice(ctx, g, c.req); err != nil {
		return err
	}
	if full {
		return screenChat(ctx, c, errs)
	}
	return c.lines(ctx)
}

// chatCommands are those of every front end and the ones of a terminal.
func chatCommands() command.Set {
	return append(command.Common(), command.Spec{Name: "quit", Use: "leave"})
}

// begin finds the session that the conversation goes on with, or names a new
// one.
func (c *chat) begin(ctx context.Context, last bool) error {
	p, err := c.g.Profile(c.req.Agent)
	if err != nil {
		return err
	}
	c.req.Agent = p.ID
	if last {
		kept, _, err := c.g.Sessions.Sessions(ctx, session.Filter{Agent: p.ID, Origin: tool.FromChat, Caller: c.req.Caller.ID, Limit: 1})
		if err != nil {
			return err
		}
		if len(kept) == 0 {
			return fmt.Errorf("there is no conversation with agent %s to go on with; begin one with: goclaw chat", p.ID)
		}
		c.req.Session = kept[0].ID
	}
	if c.req.Session == "" {
		c.renew("")
		return nil
	}
	s, err := c.g.Sessions.Session(ctx, c.key())
	switch {
	case errors.Is(err, session.ErrNotFound):
		return nil
	case err != nil:
		return err
	case !s.MayUse(c.req.Caller):
		return run.ErrNotYours
	}
	c.begun, c.planning = true, s.Plan
	return nil
}

func (c *chat) key() session.Key { return session.Key{Agent: c.req.Agent, ID: c.req.Session} }

// renew begins a new session, which exists when its first message is sent.
func (c *chat) renew(title string) {
	c.req.Session, c.title, c.begun, c.req.Plan, c.planning = session.NewID(), title, false, false, false
}

// message is the request of a message.
func (c *chat) message(text string) run.Request {
	req := c.req
	req.Message = llm.UserMessage(text)
	return req
}

// note takes an event of the session's own: its first turn makes it exist.
func (c *chat) note(ctx context.Context, e agent.Event) error {
	if e.Type != agent.PromptBuilt && e.End == nil || c.begun || e.Session != c.req.Session {
		return nil
	}
	_, err := c.g.Sessions.Session(ctx, c.key())
	if errors.Is(err, session.ErrNotFound) {
		return nil // it was stopped before it began
	}
	if err != nil {
		return err
	}
	c.begun, c.req.Plan = true, false // the session has it now
	if c.title == "" {
		return nil
	}
	title := session.Title(llm.UserMessage(c.title))
	c.title = ""
	return c.g.Sessions.Rename(ctx, c.key(), title)
}

// goOn is the command line that goes on with the conversation, empty when there
// is nothing to go on with.
func (c *chat) goOn() string {
	if !c.begun {
		return ""
	}
	return goOn(c.cmd, c.g, c.key())
}

// lines is a chat without a screen: each line that comes is a message or a
// command. What fails doesn't end it, but shows in the exit status.
func (c *chat) lines(ctx context.Context) error {
	var failed error
	in := readLines(c.In)
	c.asker = &asker{app: c.app, g: c.g, who: c.req.Caller, in: in}
	for {
		c.promptLine()
		line, err := in.line(ctx)
		switch {
		case errors.Is(err, io.EOF):
			c.sayGoOn()
			return failed
		case err != nil:
			return err
		case strings.TrimSpace(line) == "":
			continue
		}
		err = c.line(ctx, line)
		switch {
		case errors.Is(err, errQuit):
			c.sayGoOn()
			return failed
		case ctx.Err() != nil:
			c.sayGoOn()
			return err
		case err != nil:
			fmt.Fprintln(c.Err, "goclaw: "+printable(err.Error()))
			if failed == nil {
				failed = silent(err)
			}
		}
	}
}

// silent is an error that has been told already: only its status counts.
func silent(err error) error {
	var exit *exitError
	if errors.As(err, &exit) {
		return &exitError{status: exit.status}
	}
	return &exitError{status: exitFailed}
}

// mode is what stands before the line while the conversation is planned.
func (c *chat) mode() string {
	if c.planning {
		return "plan "
	}
	return ""
}

// learn takes in how a turn left plan mode: the model and others switch it, too.
func (c *chat) learn(ctx context.Context) error {
	s, err := c.g.Sessions.Session(ctx, c.key())
	if errors.Is(err, session.ErrNotFound) {
		return nil // it has not begun
	}
	if err == nil {
		c.planning = s.Plan
	}
	return err
}

// promptLine asks a person for a line.
func (c *chat) promptLine() {
	if c.interactive() && !c.json && !c.quiet {
		fmt.Fprint(c.Out, c.mode()+"> ")
	}
}

func (c *chat) sayGoOn() {
	if line := c.goOn(); line != "" {
		c.say("go on with: %s", line)
	}
}

// line does what one line asks for.
func (c *chat) line(ctx context.Context, line string) error {
	call, err := c.commands.Parse(line)
	if err != nil {
		return usage("%w", err)
	}
	if call.Name != "" {
		return c.do(ctx, call)
	}
	_, last, err := c.answer(ctx, c.g, c.message(call.Text), c.asker)
	if err != nil {
		return err
	}
	if err := errors.Join(c.note(context.WithoutCancel(ctx), last), c.learn(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	switch {
	case last.Type == agent.RunFailed:
		return errors.New(last.Text)
	case last.End != nil && last.End.Status == agent.Stopped:
		return &exitError{status: exitInterrupted, err: errors.New("stopped")}
	}
	return nil
}

// readLine reads one line of at most maxMessage bytes.
func readLine(in *bufio.Reader) (string, error) {
	var b strings.Builder
	for {
		part, err := in.ReadSlice('\n')
		b.Write(part)
		switch {
		case b.Len() > maxMessage+1:
			return "", usage("a line has more than %d bytes: put it into a file of the workspace and name that", maxMessage)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (b.Len() == 0 || !errors.Is(err, io.EOF)):
			return "", err
		}
		return strings.ToValidUTF8(strings.TrimRight(b.String(), "\r\n"), "\uFFFD"), nil
	}
}
