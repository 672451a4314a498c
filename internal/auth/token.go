package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Sum is the SHA-256 of a token's text, all that is kept of it. The token
// itself is 32 random bytes, so that nothing slower is needed to protect it.
type Sum [sha256.Size]byte

// SumOf is the digest of a token.
func SumOf(secret string) Sum { return sha256.Sum256([]byte(secret)) }

// Token is what is kept of a token.
type Token struct {
	ID      string    `json:"id"` // names it to people: the first digits of its digest
	Sum     Sum       `json:"-"`
	User    string    `json:"user"`
	Note    string    `json:"note,omitempty"` // what it is for
	Role    Role      `json:"role,omitempty"` // never more than the user's; empty means the user's own
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
}

// TokenPrefix begins every token, so that people and scanners for leaked
// secrets recognise one.
const TokenPrefix = "goclaw_"

// NewToken makes a token and what is to be stored of it. The secret is shown
// once, to its owner; it can't be recovered from t. The caller sets the rest
// of t.
func NewToken() (secret string, t Token) {
	var b [32]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	secret = TokenPrefix + base64.RawURLEncoding.EncodeToString(b[:])
	sum := SumOf(secret)
	return secret, Token{ID: hex.EncodeToString(sum[:6]), Sum: sum}
}

var (
	// ErrDenied says that a token is not valid. It doesn't say why.
	ErrDenied = errors.New("the token is not valid")
	// ErrExpired is an ErrDenied whose token was valid once.
	ErrExpired = fmt.Errorf("%w any more: it has expired", ErrDenied)
)

// Verify returns whom a token stands for at the time now. The error is
// [ErrDenied] or [ErrExpired] when it stands for nobody, else the store's.
func Verify(ctx context.Context, users Users, secret string, now time.Time) (Principal, error) {
	if !strings.HasPrefix(secret, TokenPrefix) {
		return Principal{}, ErrDenied
	}
	sum := SumOf(secret)
	t, err := users.Token(ctx, sum)
	if errors.Is(err, ErrUnknown) {
		return Principal{}, ErrDenied
	}
	if err != nil {
		return Principal{}, fmt.Errorf("verify a token: %w", err)
	}
	// The store found the row by its digest; how long that took says nothing
	// of use about the token. That it is the right row is checked here.
	if subtle.ConstantTimeCompare(t.Sum[:], sum[:]) != 1 {
		return Principal{}, ErrDenied
	}
	if !t.Expires.IsZero() && !now.Before(t.Expires) {
		return Principal{}, ErrExpired
	}
	a, err := users.Get(ctx, t.User)
	if errors.Is(err, ErrUnknown) {
		return Principal{}, ErrDenied
	}
	if err != nil {
		return Principal{}, fmt.Errorf("verify a token: %w", err)
	}
	return Principal{ID: a.ID, Name: a.Name, Role: lesser(a.Role, t.Role)}, nil
}

// lesser is the role of a token: what its user may do, at most what the token
// says.
func lesser(user, token Role) Role {
	if user == Admin && (token == Admin || token == "") {
		return Admin
	}
	return User
}

// Same reports whether two secrets are equal, in a time that depends on
// neither. It is for secrets that are not in the database, such as one from
// the environment.
func Same(a, b string) bool {
	x, y := SumOf(a), SumOf(b)
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
