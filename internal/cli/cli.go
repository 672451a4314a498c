// Package cli is the command line: one file per command. A command parses its
// flags, opens the gateway when it needs one, asks it, and prints. It decides
// nothing else.
//
// What a command is asked for goes to standard output, as text for people or,
// with --json, as one JSON value (JSONL where it streams); everything said on
// the side goes to standard error. The exit status is 0 when it went well, 1
// when it failed, 2 when the command was used wrongly, 130 when Ctrl-C ended
// it, 141 when nobody read on; "tools invoke" tells more.
//
// The chat is several files: chat.go is what it does wherever it runs,
// chat_command.go its slash commands, chat_screen.go the terminal, with
// chat_turn.go for what happens in a run and cli/term and cli/markdown below.
//
// Start reading at [Main]; each command is a function that returns a
// *cobra.Command.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/gateway/builtin"
	"github.com/goclaw/goclaw/plugin"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Self runs the scripts of tool_code in processes of its own. Its main calls
	// [Main] for those as well. Empty: no scripts are run.
	Self builtin.Program
}

// Self is the program of this process, for [Streams].
func Self() builtin.Program { return builtin.Self() }

// Exit statuses.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitRefused     = 3 // tools invoke: a step or a guard refused the call
	exitToolFailed  = 4 // tools invoke: the tool itself failed
	exitInterrupted = 130
	exitUnread      = 141 // as of a program that SIGPIPE ends
)

// exitError carries an exit status. Without err nothing more is printed.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// app is one invocation of the program.
type app struct {
	Streams
	env     config.Environ
	plugins []plugin.Plugin

	home, agent, session string
	role, user, logLevel string
	json, quiet          bool

	// patience is how long the gateway that runs may take to say how it does.
	patience time.Duration
}

// Main runs the command line and returns the exit status.
func Main(args []string, s Streams, plugins ...plugin.Plugin) int {
	if len(args) == 1 && args[0] == builtin.ScriptCommand {
		return builtin.Script(s.In, s.Out)
	}
	ctx, stop := untilEnding()
	defer stop()
	ctx, s.Out = piped(ctx, s.Out)
	a := &app{Streams: s, env: config.FromEnviron(), plugins: plugins, patience: 5 * time.Second}
	return a.execute(ctx, args)
}

// untilEnding is a context that ends with the first signal that ends a command.
// From then on such a signal ends the process, whatever it hangs in: it is set
// free before the context ends, so that who sees the end can count on it. stop
// has to be called.
func untilEnding() (ctx context.Context, stop func()) {
	ctx, end := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, endings()...)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			end(fmt.Errorf("%s signal received", s))
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		end(nil)
	}
}

// endings are the signals that end a command politely: Ctrl-C, a request to
// end, and a terminal that closes, unless that is ignored, as under nohup.
func endings() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// execute runs the command line; the end of ctx is Ctrl-C.
func (a *app) execute(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	err := root.ExecuteContext(ctx)
	if errors.Is(context.Cause(ctx), errUnread) {
		return exitUnread // there is nobody who wants to hear more
	}
	if err == nil {
		return 0
	}
	status := exitFailed
	var exit *exitError
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		// Nothing was begun that could tell more.
		status, err = exitInterrupted, errors.New("stopped")
	case errors.As(err, &exit):
		status = exit.status
		if exit.err == nil {
			return status
		}
	case errors.As(err, new(*gateway.NoAgentError)):
		status = exitUsage // --agent is where a command has the name of one
	}
	fmt.Fprintln(a.Err, "goclaw: "+printable(err.Error()))
	return status
}

// awaited is what a read of standard input returns, or the error of ctx when
// that ends first: nobody can call off the read of a terminal, so it is left
// behind and ends with the process, which has nothing else to do then.
func awaited[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := read()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// readAll reads at most limit bytes of standard input, until ctx ends.
func (a *app) readAll(ctx context.Context, limit int64) ([]byte, error) {
	return awaited(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(a.In, limit)) })
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "goclaw",
		Short: "A self-hosted gateway for AI agents",
		Long: "GoClaw runs AI agents on your own machine: each with a workspace, a model, tools and rules.\n" +
			"Begin with:  goclaw demo, a tour without a key; goclaw chat; or goclaw start, for the web page and the API",
		SilenceUsage:      true,
		SilenceErrors:     true,
		Args:              noWord,
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.checkFlags() },
	}
	// A template of cobra's for this would make the linker keep every exported
	// method there is, a tenth of the program.
	version := root.Flags().BoolP("version", "v", false, "print the version")
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *version {
			_, err := fmt.Fprintln(a.Out, versionLine())
			return err
		}
		return a.firstStart(cmd, args)
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		hint := ""
		if cmd.Name() == "set" && strings.Contains(err.Error(), "shorthand") {
			hint = "; write -- before a value that begins with -"
		}
		return usage("%w%s; see %s --help", err, hint, cmd.CommandPath())
	})
	f := root.PersistentFlags()
	f.StringVar(&a.home, "home", "", "home folder (default ~/.goclaw, or GOCLAW_HOME)")
	f.StringVar(&a.agent, "agent", "", "id of the agent (default the one marked default, else the first)")
	f.StringVar(&a.session, "session", "", "name of the conversation")
	f.StringVar(&a.role, "role", "admin", "act as admin or as user")
	f.StringVar(&a.user, "user", "", "act as this person, in their role unless --role is given")
	f.StringVar(&a.logLevel, "log-level", "", "what is logged on standard error: debug, info, warn or error (default warn, of start log.level)")
	f.BoolVar(&a.json, "json", false, "print JSON, for programs")
	f.BoolVar(&a.quiet, "quiet", false, "say nothing on the side: no tools, notices or warnings")
	root.AddCommand(
		a.startCommand(), a.statusCommand(), a.runCommand(), a.chatCommand(), a.toolsCommand(), a.hooksCommand(), a.sessionsCommand(), a.tracesCommand(), a.usageCommand(),
		a.promptCommand(), a.ragCommand(), a.modelsCommand(), a.approvalsCommand(),
		a.demoCommand(), a.configCommand(), a.usersCommand(), a.doctorCommand(), a.versionCommand(),
	)
	root.SetHelpCommand(helpCommand())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range commands(root) {
		if c.HasSubCommands() {
			c.Args, c.RunE = noWord, help
		}
		c.Args = usageArgs(c.Args)
	}
	a.completeFlags(root)
	showEffective(root)
	return root
}

// checkFlags holds what every command takes to what it may be.
func (a *app) checkFlags() error {
	if _, err := a.caller(); err != nil {
		return err
	}
	if a.session != "" {
		if err := (session.Key{Agent: config.MainAgent, ID: a.session}).Check(); err != nil {
			return usage("%w; see --session", err)
		}
	}
	_, err := a.level()
	return err
}

// helpCommand is "help": cobra's own takes any word.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]...", Short: "Print what a command does",
		RunE: func(cmd *cobra.Command, words []string) error {
			c, rest, err := cmd.Root().Find(words)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownCommand(c, rest[0])
			}
			return c.Help()
		},
	}
}

// commands lists all commands below c.
func commands(c *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, sub := range c.Commands() {
		all = append(all, sub)
		all = append(all, commands(sub)...)
	}
	return all
}

// usageArgs makes an error about arguments one of usage.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	if check == nil {
		return nil
	}
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			var exit *exitError
			if errors.As(err, &exit) {
				return err
			}
			return usage("%w; write: %s; see %s --help", err, strings.TrimSuffix(cmd.UseLine(), " [flags]"), cmd.CommandPath())
		}
		return nil
	}
}

// group is a command that only holds others.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short}
	c.AddCommand(subs...)
	return c
}

// noWord are the arguments of a command that only holds others: a word that is
// no command is a mistake.
func noWord(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return nil
}

func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

func unknownCommand(cmd *cobra.Command, word string) error {
	cmd.SuggestionsMinimumDistance = 2
	msg := fmt.Sprintf("unknown command %q for %s", word, cmd.CommandPath())
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		msg += ": did you mean " + strings.Join(near, " or ") + "?"
	}
	return usage("%s; see %s --help", msg, cmd.CommandPath())
}

// caller is whom a local command acts for: the admin of this machine, unless
// --role user says otherwise.
func (a *app) caller() (auth.Principal, error) {
	p := auth.Principal{ID: a.user, Name: a.user, Role: auth.Role(a.role), Human: true}
	if p.Role != auth.Admin && p.Role != auth.User {
		return p, usage("--role is admin or user, not %q", a.role)
	}
	if p.ID == "" {
		p.ID = p.Role.LocalID()
	}
	return p, nil
}

// inRole gives a caller who is named the role of the account, unless --role
// was given too. Nobody acts as a person who doesn't exist: a slip would make
// an admin of a user.
func (a *app) inRole(cmd *cobra.Command, g *gateway.Gateway, p *auth.Principal) error {
	if a.user == "" {
		return nil
	}
	account, err := g.Users.Get(cmd.Context(), a.user)
	if errors.Is(err, auth.ErrUnknown) {
		return &exitError{exitUsage, noPerson(cmd.Context(), g, err, a.user)}
	}
	if err != nil {
		return err
	}
	if !cmd.Flags().Changed("role") {
		p.Role = account.Role
	}
	return nil
}

// inRoleOf is inRole of commands about tools. A sender of a channel needs no
// account, so with a role that was named the person may be anybody.
func (a *app) inRoleOf(cmd *cobra.Command, g *gateway.Gateway, p *auth.Principal) error {
	if cmd.Flags().Changed("role") {
		return nil
	}
	return a.inRole(cmd, g, p)
}

// who is the caller of a command that starts nothing.
func (a *app) who(cmd *cobra.Command, g *gateway.Gateway) (auth.Principal, error) {
	p, err := a.caller()
	if err != nil {
		return p, err
	}
	return p, a.inRole(cmd, g, &p)
}

// open builds the gateway on the home folder, in this process. The caller sets
// what of o its command is free to choose.
func (a *app) open(ctx context.Context, o gateway.Options) (_ *gateway.Gateway, err error) {
	if o.Home, err = config.HomeDir(a.home, a.env); err != nil {
		return nil, err
	}
	o.Version, o.Environ, o.Plugins, o.Log, o.Program = buildVersion(), a.env, a.plugins, a.logger, a.Self
	return gateway.Open(ctx, o)
}

// warn tells what is odd in the configuration.
func (a *app) warn(g *gateway.Gateway) {
	if a.quiet {
		return
	}
	if g.Config.Notice != "" {
		fmt.Fprintln(a.Err, "goclaw: warning: "+printable(g.Config.Notice))
	}
	for _, w := range g.Config.Warnings {
		fmt.Fprintln(a.Err, "goclaw: warning: "+printable(w.String()))
	}
}

// with opens the gateway for f and closes it. A configuration that is broken is
// an error, since what runs agents or looks at what they would do must not go
// by a guess.
func (a *app) with(ctx context.Context, f func(*gateway.Gateway) error) error {
	return a.within(ctx, gateway.Options{}, f)
}

// withStored is [app.with] for commands about what is stored: people, sessions,
// runs. They need little of the configuration, and a token that leaked can be
// revoked also while the file is broken.
func (a *app) withStored(ctx context.Context, f func(*gateway.Gateway) error) error {
	return a.within(ctx, gateway.Options{LastGood: true}, f)
}

func (a *app) within(ctx context.Context, o gateway.Options, f func(*gateway.Gateway) error) (err error) {
	g, err := a.open(ctx, o)
	if err != nil {
		return err
	}
	a.warn(g)
	defer func() { err = errors.Join(err, closeSoon(ctx, g)) }()
	return f(g)
}

// How long a command waits, when it has said all it has to say, for observers of
// hooks that are still being told of it, and how long when it was stopped.
const (
	observersWithin = 2 * time.Second
	stoppedWithin   = 200 * time.Millisecond
)

// closeSoon closes the gateway of a command; the end of ctx is Ctrl-C, also when
// it comes meanwhile.
func closeSoon(ctx context.Context, g *gateway.Gateway) error {
	within := observersWithin
	if ctx.Err() != nil {
		ctx, within = context.WithoutCancel(ctx), stoppedWithin
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return g.Close(ctx)
}

// level is the least that is logged.
func (a *app) level() (slog.Level, error) {
	switch a.logLevel {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "", "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, usage("--log-level is debug, info, warn or error, not %q", a.logLevel)
}

// logger makes the log of a one-shot command, in the form that the
// configuration wants. Its level is that of the flag, not log.level: it is
// quiet unless asked, so that the answer stands alone.
func (a *app) logger(c config.Log) (*slog.Logger, error) {
	level, err := a.level()
	if err != nil {
		return nil, err
	}
	return a.logAt(level, c, time.StampMilli), nil
}

// logAt makes a log on standard error, in the form that the configuration wants.
// stamp is the form of times in text.
func (a *app) logAt(level slog.Level, c config.Log, stamp string) *slog.Logger {
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(a.Err, &slog.HandlerOptions{Level: level, ReplaceAttr: readable}))
	}
	return slog.New(tint.NewTextHandler(a.Err, &tint.Options{
		Level: level, TimeFormat: stamp, NoColor: !isTerminal(a.Err) || a.env.Get("NO_COLOR") != "",
	}))
}

// readable makes a duration text: as a number it would not say its unit.
func readable(_ []string, at slog.Attr) slog.Attr {
	if at.Value.Kind() == slog.KindDuration {
		at.Value = slog.StringValue(at.Value.Duration().String())
	}
	return at
}

// print writes v as one JSON value, or text as it is.
func (a *app) print(v any, text func(w io.Writer) error) error {
	if a.json {
		return a.printJSON(v)
	}
	return text(a.Out)
}

func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.Out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// say tells the person something on the side.
func (a *app) say(format string, args ...any) {
	if !a.quiet && !a.json {
		fmt.Fprintln(a.Err, printable(fmt.Sprintf(format, args...)))
	}
}

// sameFile reports whether a and b are one file, as after 2>&1, or one writer.
func sameFile(a, b any) bool {
	if a == b {
		return true
	}
	f, ok := a.(*os.File)
	g, ok2 := b.(*os.File)
	if !ok || !ok2 {
		return false
	}
	x, err := f.Stat()
	y, err2 := g.Stat()
	return err == nil && err2 == nil && os.SameFile(x, y)
}
