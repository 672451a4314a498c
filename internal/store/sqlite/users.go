package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
)

// Users implements [auth.Users].
type Users struct{ db *DB }

var _ auth.Users = (*Users)(nil)

// Users returns the store of users and tokens.
func (db *DB) Users() *Users { return &Users{db} }

// Add implements [auth.Users].
func (u *Users) Add(ctx context.Context, a auth.Account) error {
	return u.db.write(ctx, func(t *tx) error {
		n, err := t.exec("INSERT INTO users (id, name, role, created) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
			a.ID, a.Name, string(a.Role), nano(a.Created))
		if err == nil && n == 0 {
			err = fmt.Errorf("user %s: %w", a.ID, auth.ErrExists)
		}
		return err
	})
}

// Get implements [auth.Users].
func (u *Users) Get(ctx context.Context, id string) (auth.Account, error) {
	var a auth.Account
	err := u.db.read(ctx, func(t *tx) error {
		return unknown("user "+id, t.row("SELECT "+accountColumns+" FROM users WHERE id = ?", []any{id}, accountInto(&a)))
	})
	return a, err
}

// List implements [auth.Users].
func (u *Users) List(ctx context.Context) ([]auth.Account, error) {
	var list []auth.Account
	err := u.db.read(ctx, func(t *tx) error {
		return t.each("SELECT "+accountColumns+" FROM users ORDER BY id", nil, func(scan func(...any) error) error {
			var a auth.Account
			err := scan(accountInto(&a)...)
			list = append(list, a)
			return err
		})
	})
	return list, err
}

// Remove implements [auth.Users].
func (u *Users) Remove(ctx context.Context, id string) error {
	return u.db.write(ctx, func(t *tx) error {
		n, err := t.exec("DELETE FROM users WHERE id = ?", id)
		switch {
		case err != nil:
			return err
		case n == 0:
			return unknown("user "+id, sql.ErrNoRows)
		}
		// What they were always allowed must not pass on to the next of that id, and
		// what they wait for must not be allowed to that one.
		if _, err = t.exec("DELETE FROM grants WHERE person = ?", id); err != nil {
			return err
		}
		return stopApprovals(t, id)
	})
}

// AddToken implements [auth.Users].
func (u *Users) AddToken(ctx context.Context, k auth.Token) error {
	return u.db.write(ctx, func(t *tx) error {
		var user, from bool
		err := t.row("SELECT EXISTS (SELECT 1 FROM users WHERE id = ?), ? = '' OR EXISTS (SELECT 1 FROM tokens WHERE id = ?)",
			[]any{k.User, k.From, k.From}, []any{&user, &from})
		if err != nil {
			return err
		}
		if !user {
			return fmt.Errorf("user %s: %w", k.User, auth.ErrUnknown)
		}
		if !from {
			return fmt.Errorf("token %s: %w", k.From, auth.ErrUnknown)
		}
		_, err = t.exec("INSERT INTO tokens (id, sum, kind, user, note, role, source, created, expires) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			k.ID, k.Sum[:], string(k.Kind), k.User, k.Note, string(k.Role), null(k.From), nano(k.Created), nano(k.Expires))
		return err
	})
}

// Token implements [auth.Users].
func (u *Users) Token(ctx context.Context, sum auth.Sum) (auth.Token, auth.Account, error) {
	var r tokenRow
	var a auth.Account
	err := u.db.read(ctx, func(t *tx) error {
		return unknown("token", t.row("SELECT "+tokenColumns+", "+accountColumns+" FROM tokens JOIN users ON users.id = tokens.user WHERE tokens.sum = ?",
			[]any{sum[:]}, args(r.into(), accountInto(&a))))
	})
	if err != nil {
		return auth.Token{}, auth.Account{}, err
	}
	return r.token(), a, nil
}

// Take implements [auth.Users].
func (u *Users) Take(ctx context.Context, sum auth.Sum) (auth.Token, error) {
	var r tokenRow
	err := u.db.write(ctx, func(t *tx) error {
		return unknown("link", t.row("DELETE FROM tokens WHERE sum = ? AND kind = ? RETURNING "+tokenColumns,
			[]any{sum[:], string(auth.KindLink)}, r.into()))
	})
	if err != nil {
		return auth.Token{}, err
	}
	return r.token(), nil
}

// Tokens implements [auth.Users].
func (u *Users) Tokens(ctx context.Context, user string) ([]auth.Token, error) {
	var list []auth.Token
	err := u.db.read(ctx, func(t *tx) error {
		return t.each("SELECT "+tokenColumns+" FROM tokens WHERE user = ? ORDER BY created, id", []any{user}, func(scan func(...any) error) error {
			var r tokenRow
			err := scan(r.into()...)
			list = append(list, r.token())
			return err
		})
	})
	return list, err
}

// RemoveToken implements [auth.Users].
func (u *Users) RemoveToken(ctx context.Context, id string) error {
	return u.db.write(ctx, func(t *tx) error {
		n, err := t.exec("DELETE FROM tokens WHERE id = ?", id)
		if err == nil && n == 0 {
			err = unknown("token "+id, sql.ErrNoRows)
		}
		return err
	})
}

// Purge implements [auth.Users].
func (u *Users) Purge(ctx context.Context, before time.Time) (n int, err error) {
	err = u.db.write(ctx, func(t *tx) error {
		n, err = t.exec("DELETE FROM tokens WHERE expires < ? AND kind IN (?, ?)", nano(before), string(auth.KindLink), string(auth.KindSession))
		return err
	})
	return n, err
}

const accountColumns = "users.id, users.name, users.role, users.created"

func accountInto(a *auth.Account) []any {
	return []any{&a.ID, &a.Name, &a.Role, instant{&a.Created}}
}

const tokenColumns = "tokens.id, tokens.sum, tokens.kind, tokens.user, tokens.note, tokens.role, tokens.source, tokens.created, tokens.expires"

type tokenRow struct {
	auth.Token
	sum  []byte
	from sql.NullString
}

func (r *tokenRow) into() []any {
	return []any{&r.ID, &r.sum, &r.Kind, &r.User, &r.Note, &r.Role, &r.from, instant{&r.Created}, instant{&r.Expires}}
}

func (r *tokenRow) token() auth.Token {
	copy(r.Sum[:], r.sum)
	r.From = r.from.String
	return r.Token
}

// unknown says what there is not.
func unknown(what string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s: %w", what, auth.ErrUnknown)
	}
	return err
}
