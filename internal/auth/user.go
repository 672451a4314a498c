package auth

import (
	"context"
	"errors"
	"fmt"
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

	// AddToken stores a token of a user that exists, else it returns ErrUnknown.
	AddToken(ctx context.Context, t Token) error
	// Token returns the token with the digest sum, or ErrUnknown.
	Token(ctx context.Context, sum Sum) (Token, error)
	// Tokens returns the tokens of a user, the oldest first.
	Tokens(ctx context.Context, user string) ([]Token, error)
	// RemoveToken removes a token by its id, or returns ErrUnknown.
	RemoveToken(ctx context.Context, id string) error
}
