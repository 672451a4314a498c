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

// Kind says what a token is for. It is stored with the token; nothing is
// concluded from how a secret begins.
type Kind string

const (
	// KindAPI is shown by a program with each request.
	KindAPI Kind = "api"
	// KindSession is a browser's cookie, from sign-in to sign-out.
	KindSession Kind = "session"
	// KindLink is the code of a sign-in link. It is good for one [Redeem] and
	// for nothing else.
	KindLink Kind = "link"
)

// Token is what is kept of a token.
type Token struct {
	ID      string    `json:"id"` // names it to people: the first digits of its digest
	Sum     Sum       `json:"-"`
	Kind    Kind      `json:"kind"`
	User    string    `json:"user"`
	Note    string    `json:"note,omitempty"` // what it is for
	Role    Role      `json:"role,omitempty"` // never more than the user's; empty means the user's own
	From    string    `json:"from,omitempty"` // the id of the API token that a session began with; it ends when that goes
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
}

// How secrets begin, so that people and scanners for leaked secrets recognise
// one.
const (
	tokenPrefix   = "goclaw_"
	sessionPrefix = tokenPrefix + "web_"
	// LinkPrefix begins the code of every link.
	LinkPrefix = tokenPrefix + "link_"
)

// NewToken makes an API token and what is to be stored of it. The secret is
// shown once, to its owner; it can't be recovered from t. The caller sets the
// rest of t.
func NewToken() (secret string, t Token) { return newToken(KindAPI, tokenPrefix) }

func newToken(kind Kind, prefix string) (secret string, t Token) {
	var b [32]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	secret = prefix + base64.RawURLEncoding.EncodeToString(b[:])
	sum := SumOf(secret)
	return secret, Token{ID: hex.EncodeToString(sum[:6]), Sum: sum, Kind: kind}
}

// expired reports whether t is over at the time now.
func (t Token) expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

var (
	// ErrDenied says that a token, or the code of a link, is not valid. It
	// doesn't say why.
	ErrDenied = errors.New("the token is not valid")
	// ErrExpired is an ErrDenied whose token was valid once.
	ErrExpired = fmt.Errorf("%w any more: it has expired", ErrDenied)
)

// Grant is what a token gives: the one whom it stands for, as far as it lets
// them, and what is kept of it.
type Grant struct {
	Principal
	Token Token
}

// Verify returns what a secret grants at the time now. An API token and a
// browser's session grant something, the code of a link doesn't. The error is
// [ErrDenied] or [ErrExpired] when it grants nothing, else the store's.
func Verify(ctx context.Context, users Users, secret string, now time.Time) (Grant, error) {
	if !strings.HasPrefix(secret, tokenPrefix) {
		return Grant{}, ErrDenied
	}
	return VerifySum(ctx, users, SumOf(secret), now)
}

// VerifySum is [Verify] for whoever has kept a digest instead of a secret: a
// stream asks again whether its token still holds.
func VerifySum(ctx context.Context, users Users, sum Sum, now time.Time) (Grant, error) {
	t, a, err := users.Token(ctx, sum)
	if errors.Is(err, ErrUnknown) {
		return Grant{}, ErrDenied
	}
	if err != nil {
		return Grant{}, fmt.Errorf("verify a token: %w", err)
	}
	// The store found the row by its digest; how long that took says nothing
	// of use about the token. That it is the right row is checked here.
	if subtle.ConstantTimeCompare(t.Sum[:], sum[:]) != 1 || t.User != a.ID {
		return Grant{}, ErrDenied
	}
	if t.Kind != KindAPI && t.Kind != KindSession {
		return Grant{}, ErrDenied
	}
	if t.expired(now) {
		return Grant{}, ErrExpired
	}
	return grant(t, a), nil
}

// grant is what t gives when it is valid and belongs to a. At the other end is
// a person, or a program that a person set up to speak for them.
func grant(t Token, a Account) Grant {
	return Grant{Principal{ID: a.ID, Name: a.Name, Role: lesser(a.Role, t.Role), Human: true}, t}
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
