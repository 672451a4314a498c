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

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/gateway"
)

func (a *app) usersCommand() *cobra.Command {
	return group("users", "People and their API tokens", a.usersAdd(), a.usersToken(), a.usersList())
}

func (a *app) usersAdd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Make a person", Args: cobra.ExactArgs(1),
		Long:    "Make a person, with the role that --role names (user unless it is given).",
		Example: "  goclaw users add ada --role user\n  goclaw users token ada",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		role := auth.User
		if cmd.Flags().Changed("role") {
			role = auth.Role(a.role)
		}
		account := auth.Account{ID: args[0], Role: role, Created: time.Now().UTC()}
		if err := account.Check(); err != nil {
			return usage("%w", err)
		}
		return a.with(cmd.Context(), func(g *gateway.Gateway) error {
			err := g.Users.Add(cmd.Context(), account)
			if errors.Is(err, auth.ErrExists) {
				return fmt.Errorf("there is a person %s already; see goclaw users list", account.ID)
			}
			if err != nil {
				return err
			}
			return a.print(account, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s is added as %s; make a token with: goclaw users token %s\n", account.ID, account.Role, account.ID)
				return err
			})
		})
	}
	return cmd
}

func (a *app) usersToken() *cobra.Command {
	var note string
	var expires string
	cmd := &cobra.Command{
		Use: "token NAME", Short: "Make an API token for a person and print it once", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var life time.Duration
			if cmd.Flags().Changed("expires") {
				var ok bool
				if life, ok = span(expires); !ok {
					return usage("--expires is a time such as 12h or 30d, not %q", expires)
				}
			}
			return a.with(cmd.Context(), func(g *gateway.Gateway) error {
				secret, t := auth.NewToken()
				t.User, t.Note, t.Created = args[0], note, time.Now().UTC()
				until := "for ever"
				if life > 0 {
					t.Expires = t.Created.Add(life)
					until = "until " + day(t.Expires)
				}
				err := g.Users.AddToken(cmd.Context(), t)
				if errors.Is(err, auth.ErrUnknown) {
					return fmt.Errorf("there is no person %s; make one with: goclaw users add %s", t.User, t.User)
				}
				if err != nil {
					return err
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

func (a *app) usersList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List people", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(g *gateway.Gateway) error {
				list, err := g.Users.List(cmd.Context())
				if err != nil {
					return err
				}
				if list == nil {
					list = []auth.Account{}
				}
				return a.print(list, func(w io.Writer) error {
					if len(list) == 0 {
						_, err := fmt.Fprintln(w, "nobody yet; make a person with: goclaw users add NAME")
						return err
					}
					t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
					fmt.Fprintln(t, "NAME\tROLE\tSINCE")
					for _, u := range list {
						fmt.Fprintf(t, "%s\t%s\t%s\n", u.ID, u.Role, day(u.Created))
					}
					return t.Flush()
				})
			})
		},
	}
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

// day is a time for a table, in the person's zone.
func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}
