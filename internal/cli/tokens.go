package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/gateway"
)

func (a *app) usersLink() *cobra.Command {
	var expires string
	cmd := &cobra.Command{
		Use: "link NAME", Short: "Make a link by which a person signs in, once", Args: cobra.ExactArgs(1),
		Long: "Make a link by which a person signs in with a browser. It works once, and only until it expires;\n" +
			"whoever opens it first is signed in for 30 days. It begins with the address of the gateway that runs;\n" +
			"while none does, with gateway.public_url, else with gateway.listen.",
		Example:           "  goclaw users link ada\n  goclaw users link ada --expires 2h",
		ValidArgsFunction: offer(a.people).first,
		RunE: func(cmd *cobra.Command, args []string) error {
			life, err := lifeOf(cmd, expires)
			if err != nil {
				return err
			}
			if life == 0 {
				life = auth.LinkLife
			}
			return a.withStored(cmd.Context(), func(g *gateway.Gateway) error {
				now := time.Now().UTC()
				code, err := auth.NewLink(cmd.Context(), g.Users, args[0], life, now)
				if err != nil {
					return noPerson(cmd.Context(), g, err, args[0])
				}
				v := struct {
					User    string    `json:"user"`
					Link    string    `json:"link"`
					Expires time.Time `json:"expires"`
				}{args[0], gateway.LinkAt(reached(g.Config), code), now.Add(life)}
				a.say("this link signs %s in once, until %s, while the gateway runs", v.User, day(v.Expires))
				return a.print(v, func(w io.Writer) error {
					_, err := fmt.Fprintln(w, v.Link)
					return err
				})
			})
		},
	}
	cmd.Flags().StringVar(&expires, "expires", "", "how long it is valid, such as 2h or 1d (default 15m)")
	return cmd
}

// reached is where people reach the gateway: the one that runs says so itself,
// and one that is to be started follows the configuration. One that listens on
// all addresses is reached from its own machine by the loopback one.
func reached(c *config.Config) string {
	if i, ok, err := gateway.Running(c.Home); err == nil && ok && i.URL != "" {
		return i.URL
	}
	if c.Gateway.PublicURL != "" {
		return c.Gateway.PublicURL
	}
	listen := c.Gateway.Listen
	if host, port, err := net.SplitHostPort(listen); err == nil {
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			listen = net.JoinHostPort("127.0.0.1", port)
		}
	}
	return "http://" + listen
}

func (a *app) usersToken() *cobra.Command {
	var note string
	var expires string
	cmd := &cobra.Command{
		Use: "token NAME", Short: "Make an API token for a person and print it once", Args: cobra.ExactArgs(1),
		ValidArgsFunction: offer(a.people).first,
		RunE: func(cmd *cobra.Command, args []string) error {
			life, err := lifeOf(cmd, expires)
			if err != nil {
				return err
			}
			return a.withStored(cmd.Context(), func(g *gateway.Gateway) error {
				secret, t := auth.NewToken()
				t.User, t.Note, t.Created = args[0], note, time.Now().UTC()
				until := "for ever"
				if life > 0 {
					t.Expires = t.Created.Add(life)
					until = "until " + day(t.Expires)
				}
				err := g.Users.AddToken(cmd.Context(), t)
				if err != nil {
					return noPerson(cmd.Context(), g, err, t.User)
				}
				a.say("this token is shown once and not kept; id %s, valid %s", t.ID, until)
				v := struct {
					auth.Token
					Secret string `json:"token"`
				}{t, secret}
				return a.print(v, func(w io.Writer) error {
					_, err := fmt.Fprintln(w, secret)
					return err
				})
			})
		},
	}
	cmd.Flags().StringVar(&note, "note", "", "what the token is for")
	cmd.Flags().StringVar(&expires, "expires", "", "how long it is valid, such as 12h or 30d (default for ever)")
	return cmd
}

func (a *app) usersTokens() *cobra.Command {
	return &cobra.Command{
		Use: "tokens NAME", Short: "List a person's tokens, browsers that are signed in, and open links", Args: cobra.ExactArgs(1),
		Long: "List what a person can show the gateway: API tokens (api), browsers that are signed in (session) and links\n" +
			"that nobody has opened yet (link). The tokens themselves are not kept and can't be shown.",
		ValidArgsFunction: offer(a.people).first,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStored(cmd.Context(), func(g *gateway.Gateway) error {
				list, err := g.Users.Tokens(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if len(list) == 0 {
					if _, err := g.Users.Get(cmd.Context(), args[0]); err != nil {
						return noPerson(cmd.Context(), g, err, args[0])
					}
				}
				return a.print(append([]auth.Token{}, list...), func(w io.Writer) error { return printTokens(w, args[0], list) })
			})
		},
	}
}

func printTokens(w io.Writer, user string, list []auth.Token) error {
	if len(list) == 0 {
		_, err := fmt.Fprintf(w, "none yet; make a sign-in link with: goclaw users link %s, or a token with: goclaw users token %s\n", user, user)
		return err
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tKIND\tCREATED\tEXPIRES\tNOTE")
	for _, k := range list {
		expires := day(k.Expires)
		switch {
		case k.Expires.IsZero():
			expires = "never"
		case !time.Now().Before(k.Expires):
			expires += " (expired)"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", k.ID, k.Kind, day(k.Created), expires, printable(k.Note))
	}
	return t.Flush()
}

func (a *app) usersRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke TOKEN-ID", Short: "Make a token, a browser's sign-in or a link invalid at once", Args: cobra.ExactArgs(1),
		Long: "Make a token, a browser's sign-in or a link invalid at once; goclaw users tokens NAME lists them.\n" +
			"Connections that are open with it end, and so does what was signed in with it.",
		Example:           "  goclaw users tokens ada\n  goclaw users revoke 3f9c2b7a10de",
		ValidArgsFunction: offer(a.tokens).first,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStored(cmd.Context(), func(g *gateway.Gateway) error {
				err := g.Users.RemoveToken(cmd.Context(), args[0])
				switch {
				case errors.Is(err, auth.ErrUnknown) && strings.HasPrefix(args[0], "goclaw_"):
					return usage("that is a token, and revoke takes its id; goclaw users tokens NAME lists them")
				case errors.Is(err, auth.ErrUnknown):
					return fmt.Errorf("there is no token with the id %s; goclaw users tokens NAME lists them", args[0])
				case err != nil:
					return err
				}
				v := struct {
					ID      string `json:"id"`
					Revoked bool   `json:"revoked"`
				}{args[0], true}
				return a.print(v, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "%s is revoked\n", v.ID)
					return err
				})
			})
		},
	}
}

// lifeOf is the time that --expires gives, 0 when it isn't there.
func lifeOf(cmd *cobra.Command, expires string) (time.Duration, error) {
	if !cmd.Flags().Changed("expires") {
		return 0, nil
	}
	life, ok := span(expires)
	if !ok {
		return 0, usage("--expires is a time such as 12h or 30d, not %q", expires)
	}
	return life, nil
}

// span reads a time above zero as the configuration writes it, days too.
func span(s string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err == nil && n > 0
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d > 0
}
