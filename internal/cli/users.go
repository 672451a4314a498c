package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/lib/nearest"
)

func (a *app) usersCommand() *cobra.Command {
	return group("users", "People, their sign-in links and API tokens",
		a.usersAdd(), a.usersLink(), a.usersToken(), a.usersTokens(), a.usersRevoke(), a.usersList(), a.usersRemove())
}

func (a *app) usersAdd() *cobra.Command {
	var role string
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Make a person", Args: cobra.ExactArgs(1),
		Example: "  goclaw users add ada --role admin\n  goclaw users link ada",
	}
	// In the place of the flag that all commands have.
	cmd.Flags().StringVar(&role, "role", string(auth.User), "what the person may do: admin or user")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		account := auth.Account{ID: args[0], Role: auth.Role(role), Created: time.Now().UTC()}
		if err := account.Check(); err != nil {
			return usage("%w", err)
		}
		return a.withStored(cmd.Context(), func(g *gateway.Gateway) error {
			err := g.Users.Add(cmd.Context(), account)
			if errors.Is(err, auth.ErrExists) {
				return fmt.Errorf("there is a person %s already; see goclaw users list", account.ID)
			}
			if err != nil {
				return err
			}
			return a.print(account, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s is added as %s; make a sign-in link with: goclaw users link %s, or a token with: goclaw users token %s\n",
					account.ID, account.Role, account.ID, account.ID)
				return err
			})
		})
	}
	return cmd
}

func (a *app) usersList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List people", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStored(cmd.Context(), func(g *gateway.Gateway) error {
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

func (a *app) usersRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a person with all tokens; their sessions stay", Args: cobra.ExactArgs(1),
		Long: "Remove a person, with their tokens, browsers that are signed in and links. Nothing is asked.\n" +
			"What runs for them is stopped, and what waits is not answered any more.\n" +
			"Sessions that they began stay: an admin can use and delete them, and so can whoever gets the same name later.",
		ValidArgsFunction: offer(a.people).first,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStored(cmd.Context(), func(g *gateway.Gateway) error {
				account, err := g.Users.Get(cmd.Context(), args[0])
				if err != nil {
					return noPerson(cmd.Context(), g, err, args[0])
				}
				tokens, err := g.Users.Tokens(cmd.Context(), account.ID)
				if err != nil {
					return err
				}
				if err := g.Users.Remove(cmd.Context(), account.ID); err != nil {
					return noPerson(cmd.Context(), g, err, account.ID)
				}
				v := struct {
					User    auth.Account `json:"user"`
					Removed bool         `json:"removed"`
					Tokens  []auth.Token `json:"tokens"`
				}{account, true, append([]auth.Token{}, tokens...)}
				left, err := g.Users.List(cmd.Context())
				if err != nil {
					return err
				}
				if account.Role == auth.Admin && !slices.ContainsFunc(left, func(u auth.Account) bool { return u.Role == auth.Admin }) {
					a.say("note: nobody is an admin now; the gateway makes one when it starts")
				}
				return a.print(v, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "%s (%s) is removed, with %s; sessions stay\n", account.ID, account.Role, counted(tokens))
					return err
				})
			})
		},
	}
}

// counted says how many tokens of which kind list holds.
func counted(list []auth.Token) string {
	n := map[auth.Kind]int{}
	for _, k := range list {
		n[k.Kind]++
	}
	var parts []string
	for _, of := range []struct {
		kind auth.Kind
		name string
	}{{auth.KindAPI, "API token"}, {auth.KindSession, "signed-in browser"}, {auth.KindLink, "open link"}} {
		if n[of.kind] > 0 {
			parts = append(parts, count(n[of.kind], of.name))
		}
	}
	if len(parts) == 0 {
		return "no tokens"
	}
	return strings.Join(parts, ", ")
}

// fewPeople is how many are all named to whoever mistook one.
const fewPeople = 5

// noPerson says what to do when err is that there is no account with the id.
func noPerson(ctx context.Context, g *gateway.Gateway, err error, id string) error {
	if !errors.Is(err, auth.ErrUnknown) {
		return err
	}
	list, err := g.Users.List(ctx)
	if err != nil {
		return err
	}
	ids := make([]string, len(list))
	for i, u := range list {
		ids[i] = u.ID
	}
	hint := "; see"
	if near := nearest.Names(id, ids, 3); len(near) > 0 {
		hint = fmt.Sprintf(": did you mean %s? See", strings.Join(near, " or "))
	} else if len(ids) > 0 && len(ids) <= fewPeople {
		hint = fmt.Sprintf(": known are %s. See", strings.Join(ids, ", "))
	}
	return fmt.Errorf("there is no person %s%s goclaw users list, or make one with: goclaw users add %s", id, hint, quoted(id))
}

// day is a time for a table, in the person's zone.
func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}
