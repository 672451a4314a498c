package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Account is a user of the gateway as the database keeps it: a person, or a
// program that acts for one.
type Account struct {
	ID      string    `json:"id"`
	Name    string    `json:"name,omitempty"`
	Role    Role      `json:"role"` // admin or user
	Created time.Time `json:"created"`
}

func isID(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case i > 0 && (c == '_' || c == '.' || c == '@' || c == '-'):
		default:
			return false
		}
	}
	return true
}

// Check reports what is wrong with a, if anything.
func (a Account) Check() error {
	if !isID(a.ID) {
		return fmt.Errorf("user id %q: it must begin with a letter or digit and hold at most 64 lower-case letters, digits and _ . @ -", a.ID)
	}
	if a.ID == string(System) || strings.HasPrefix(a.ID, localPrefix) {
		// They would be taken for them, and see what is theirs.
		return fmt.Errorf("user id %q: it stands for what works without an account; take another", a.ID)
	}
	if a.Role != Admin && a.Role != User {
		return fmt.Errorf("user %s: role %q is neither %s nor %s", a.ID, a.Role, Admin, User)
	}
	return nil
}

var (
	// ErrUnknown says that there is no such user or token.
	ErrUnknown = errors.New("unknown user or token")
	// ErrExists says that there is such a user already.
	ErrExists = errors.New("the user exists already")
)

// Users keeps users and the digests of their tokens. It decides nothing, and
// is safe for concurrent use, by several processes too. Times come back in
// UTC with their nanoseconds.
type Users interface {
	// Add stores a new user, or returns ErrExists.
	Add(ctx context.Context, a Account) error
	// Get returns one user, or ErrUnknown.
	Get(ctx context.Context, id string) (Account, error)
	// List returns all users, ordered by id.
	List(ctx context.Context) ([]Account, error)
	// Remove removes a user with all tokens, or returns ErrUnknown.
	Remove(ctx context.Context, id string) error

	// AddToken stores a token of a user that exists, from a token that exists
	// if it is from one, else it returns ErrUnknown.
	AddToken(ctx context.Context, t Token) error
	// Token returns the token with the digest sum and whose it is, or
	// ErrUnknown. It is asked with each request, so it should be one query.
	Token(ctx context.Context, sum Sum) (Token, Account, error)
	// Take removes the link with the digest sum and returns it, or ErrUnknown
	// when there is no token of that kind. Of several who take the same link,
	// in any process, one gets it.
	Take(ctx context.Context, sum Sum) (Token, error)
	// Tokens returns the tokens of a user, the oldest first.
	Tokens(ctx context.Context, user string) ([]Token, error)
	// RemoveToken removes a token by its id, with those that are from it, or
	// returns ErrUnknown.
	RemoveToken(ctx context.Context, id string) error
	// Purge removes links and sessions that expired before the given time, and
	// says how many. API tokens stay until somebody removes them.
	Purge(ctx context.Context, before time.Time) (int, error)
}

// FirstAdmin is the id of the account that the first start makes.
const FirstAdmin = "admin"

// EnsureAdmin makes sure that there is an admin. When there is none, it makes
// the account [FirstAdmin] and reports so. It returns that account, or, when it
// is not there or no admin's, the admin who came first. Processes that do it at
// the same time end up with one account.
func EnsureAdmin(ctx context.Context, users Users, now time.Time) (a Account, made bool, err error) {
	list, err := users.List(ctx)
	if err != nil {
		return Account{}, false, fmt.Errorf("look for an admin: %w", err)
	}
	taken := false
	for _, u := range list {
		switch {
		case u.ID == FirstAdmin && u.Role == Admin:
			return u, false, nil
		case u.ID == FirstAdmin:
			taken = true
		case u.Role == Admin && (a.ID == "" || u.Created.Before(a.Created)):
			a = u
		}
	}
	switch {
	case a.ID != "":
		return a, false, nil
	case taken:
		// Whoever holds tokens of that account must not become an admin.
		return Account{}, false, fmt.Errorf("nobody is an admin, and %q is the name of a user; make one with: goclaw users add NAME --role admin", FirstAdmin)
	}
	a = Account{ID: FirstAdmin, Role: Admin, Created: now.UTC()}
	err = users.Add(ctx, a)
	if errors.Is(err, ErrExists) {
		// Another process was faster. It made an admin, if it did the same.
		if a, err = users.Get(ctx, FirstAdmin); err == nil && a.Role != Admin {
			return Account{}, false, fmt.Errorf("make the first admin: %w", ErrExists)
		}
		if err == nil {
			return a, false, nil
		}
	}
	if err != nil {
		return Account{}, false, fmt.Errorf("make the first admin: %w", err)
	}
	return a, true, nil
}
