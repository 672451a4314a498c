package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

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
		list = nil
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
	return u.remove(ctx, "user "+id, "DELETE FROM users WHERE id = ?", id)
}

// AddToken implements [auth.Users].
func (u *Users) AddToken(ctx context.Context, k auth.Token) error {
	return u.db.write(ctx, func(t *tx) error {
		var known bool
		if err := t.row("SELECT EXISTS (SELECT 1 FROM users WHERE id = ?)", []any{k.User}, []any{&known}); err != nil {
			return err
		}
		if !known {
			return fmt.Errorf("user %s: %w", k.User, auth.ErrUnknown)
		}
		_, err := t.exec("INSERT INTO tokens (id, sum, user, note, role, created, expires) VALUES (?, ?, ?, ?, ?, ?, ?)",
			k.ID, k.Sum[:], k.User, k.Note, string(k.Role), nano(k.Created), nano(k.Expires))
		return err
	})
}

// Token implements [auth.Users].
func (u *Users) Token(ctx context.Context, sum auth.Sum) (auth.Token, error) {
	var found auth.Token
	err := u.db.read(ctx, func(t *tx) error {
		var r tokenRow
		if err := t.row("SELECT "+tokenColumns+" FROM tokens WHERE sum = ?", []any{sum[:]}, r.into()); err != nil {
			return unknown("token", err)
		}
		found = r.token()
		return nil
	})
	return found, err
}

// Tokens implements [auth.Users].
func (u *Users) Tokens(ctx context.Context, user string) ([]auth.Token, error) {
	var list []auth.Token
	err := u.db.read(ctx, func(t *tx) error {
		list = nil
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
	return u.remove(ctx, "token "+id, "DELETE FROM tokens WHERE id = ?", id)
}

func (u *Users) remove(ctx context.Context, what, query, id string) error {
	return u.db.write(ctx, func(t *tx) error {
		n, err := t.exec(query, id)
		if err == nil && n == 0 {
			err = unknown(what, sql.ErrNoRows)
		}
		return err
	})
}

const accountColumns = "id, name, role, created"

func accountInto(a *auth.Account) []any {
	return []any{&a.ID, &a.Name, &a.Role, instant{&a.Created}}
}

const tokenColumns = "id, sum, user, note, role, created, expires"

type tokenRow struct {
	auth.Token
	sum []byte
}

func (r *tokenRow) into() []any {
	return []any{&r.ID, &r.sum, &r.User, &r.Note, &r.Role, instant{&r.Created}, instant{&r.Expires}}
}

func (r *tokenRow) token() auth.Token {
	copy(r.Sum[:], r.sum)
	return r.Token
}

// unknown says what there is not.
func unknown(what string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s: %w", what, auth.ErrUnknown)
	}
	return err
}
