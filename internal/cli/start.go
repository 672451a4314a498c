package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/gateway"
)

// startFlags are those of "start".
type startFlags struct {
	listen      string
	noLink      bool
	demo        bool
	drain       time.Duration
	drainIsZero bool
}

func (a *app) startCommand() *cobra.Command {
	var f startFlags
	cmd := &cobra.Command{
		Use: "start", Short: "Start the gateway: web page and HTTP API", Args: cobra.NoArgs,
		Long: "Start the gateway and serve until Ctrl-C. When it is ready it prints who answers, its address, and a link by which\n" +
			"the admin signs in once. A configuration that is broken is replaced by the last one that worked.\n" +
			"At the end runs may finish for a while (--drain); then they are stopped, and what waits is kept for the next start.\n" +
			"A second Ctrl-C ends at once. The log goes to standard error, as log.level and log.format say.\n" +
			"With --quiet it prints the link alone, or without one the address, and logs only what goes wrong.",
		Example: "  goclaw start\n  goclaw start --listen 127.0.0.1:0 --json\n  GOCLAW_TOKEN=... goclaw start --listen 0.0.0.0:18800",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.drainIsZero = cmd.Flags().Changed("drain") && f.drain == 0
			return a.start(cmd.Context(), f)
		},
	}
	cmd.Flags().StringVar(&f.listen, "listen", "", "address and port in place of gateway.listen; port 0 takes a free one")
	cmd.Flags().BoolVar(&f.noLink, "no-link", false, "don't make and print a sign-in link")
	cmd.Flags().BoolVar(&f.demo, "allow-demo", false, "use the demo model (a script, no AI) when no provider is set up")
	cmd.Flags().DurationVar(&f.drain, "drain", 10*time.Second, "how long runs may take to finish at the end")
	return cmd
}

// started is what "start --json" prints.
type started struct {
	URL     string     `json:"url"`
	Address string     `json:"address"`
	Link    string     `json:"link,omitempty"`
	Expires *time.Time `json:"expires,omitempty"` // of the link
	Version string     `json:"version"`
	// Problems are what should be mended; the gateway runs all the same.
	Problems []string `json:"problems"`
}

func (a *app) start(ctx context.Context, f startFlags) (err error) {
	if f.drain < 0 {
		return usage("--drain is a time such as 30s, not %s", f.drain)
	}
	home, err := config.HomeDir(a.home, a.env)
	if err != nil {
		return err
	}
	g, err := gateway.Open(ctx, gateway.Options{
		Home: home, Version: buildVersion(), Environ: a.env, Plugins: a.plugins, Program: a.Self,
		AllowDemo: f.demo, LastGood: true, Log: a.serviceLog,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close(context.WithoutCancel(ctx))) }()
	o := gateway.ServeOptions{Listen: f.listen, Drain: f.drain}
	if f.drainIsZero {
		o.Drain = -1
	}
	var printErr error
	serving, stop := context.WithCancel(ctx)
	defer stop()
	o.Ready = func(i gateway.Instance) {
		// Said whole even when Ctrl-C comes right then.
		if printErr = a.sayStarted(context.WithoutCancel(ctx), g, i, !f.noLink); printErr != nil {
			stop() // nobody could learn where the gateway is
		}
	}
	o.Stopping = func(going, waiting int) { a.sayStopping(going, waiting, f.drain) }
	err = g.Serve(serving, o)
	if printErr != nil {
		err = errors.Join(fmt.Errorf("write where the gateway is: %w", printErr), err)
	}
	return err
}

// serviceLog makes the log of what runs for long: its level is that of the
// configuration unless the flag says otherwise. Whatever in the program has no
// log of its own writes to it, too.
func (a *app) serviceLog(c config.Log) (*slog.Logger, error) {
	name := c.Level
	if a.logLevel != "" {
		name = a.logLevel
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(name)); err != nil {
		return nil, fmt.Errorf("log.level: %w", err)
	}
	if a.quiet && a.logLevel == "" {
		level = max(level, slog.LevelWarn)
	}
	log := a.logAt(level, c, time.DateTime)
	slog.SetDefault(log)
	return log, nil
}

// sayStarted prints that the gateway is ready and how to get in.
func (a *app) sayStarted(ctx context.Context, g *gateway.Gateway, i gateway.Instance, link bool) error {
	g.Agents(ctx) // looks for a local Ollama, so that the status knows
	v := started{URL: i.URL, Address: i.Address, Version: i.Version, Problems: g.Status(ctx).Problems}
	user := ""
	if link {
		s, err := g.SignInLink(ctx, i.URL)
		if err != nil {
			v.Problems = append(v.Problems, err.Error())
		} else {
			at := s.Expires.UTC().Truncate(time.Second)
			v.Link, v.Expires, user = s.Link, &at, s.User
		}
	}
	return a.print(v, func(w io.Writer) error {
		if a.quiet {
			_, err := fmt.Fprintln(w, cmp.Or(v.Link, v.URL))
			return err
		}
		return writeStarted(ctx, w, g, v, user)
	})
}

func writeStarted(ctx context.Context, w io.Writer, g *gateway.Gateway, v started, user string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "GoClaw %s is ready at %s\n", v.Version, v.URL)
	b.WriteString(whoAnswers(ctx, g))
	for _, p := range v.Problems {
		fmt.Fprintf(&b, "problem: %s\n", p)
	}
	if v.Link != "" {
		fmt.Fprintf(&b, "\nSign in as %s with this link. It works once, until %s; goclaw users link %s makes another.\n\n%s\n\n",
			user, v.Expires.Local().Format("15:04"), user, v.Link)
	}
	b.WriteString("Ctrl-C stops the gateway.\n")
	_, err := io.WriteString(w, printable(b.String()))
	return err
}

// whoAnswers says which model the default agent has, and why. Why it has none
// stands among the problems.
func whoAnswers(ctx context.Context, g *gateway.Gateway) string {
	choice, err := g.Choose(ctx, "", "")
	if err != nil {
		return "No model answers yet; the page and the API work all the same.\n"
	}
	var b strings.Builder
	switch {
	case choice.Demo:
		fmt.Fprintf(&b, "The demo model answers: a script that drives real tools, no AI (%s).\n", choice.Why)
	default:
		fmt.Fprintf(&b, "%s/%s answers: %s.\n", choice.Provider, choice.Model, choice.Why)
	}
	return b.String()
}

// sayStopping tells what the end waits for, if anything; that it has come is in
// the log.
func (a *app) sayStopping(going, waiting int, drain time.Duration) {
	if going+waiting == 0 {
		return
	}
	text := "stopping"
	if going > 0 && drain > 0 {
		text += fmt.Sprintf("; %s may finish within %s, Ctrl-C again ends at once", count(going, "run"), drain)
	}
	if waiting > 0 {
		text += fmt.Sprintf("; %s kept for the next start", count(waiting, "message that waits is", "messages that wait are"))
	}
	a.say("%s", text)
}

// count is a number with its noun; the second form is that of more than one,
// the first with an s when it is left out.
func count(n int, forms ...string) string {
	switch {
	case n == 1:
		return "1 " + forms[0]
	case len(forms) > 1:
		return fmt.Sprintf("%d %s", n, forms[1])
	}
	return fmt.Sprintf("%d %ss", n, forms[0])
}
