package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// LinkLife is how long a sign-in link is good when nobody says otherwise.
	LinkLife = 15 * time.Minute
	// sessionLife is how long a browser stays signed in. Use doesn't prolong
	// it, so that no request has to write.
	sessionLife = 30 * 24 * time.Hour
	// keepExpired is how long links and sessions outlast their end, so that
	// their owner hears that they have expired and not that they never were.
	keepExpired = 24 * time.Hour
)

// NewLink makes the code of a link by which user can sign in once, for the time
// life, [LinkLife] when that is not above zero. The error is [ErrUnknown] when
// there is no such user.
func NewLink(ctx context.Context, users Users, user string, life time.Duration, now time.Time) (code string, err error) {
	if life <= 0 {
		life = LinkLife
	}
	code, t := newToken(KindLink, LinkPrefix)
	t.User, t.Created, t.Expires = user, now.UTC(), now.UTC().Add(life)
	if err := add(ctx, users, t, now); err != nil {
		return "", fmt.Errorf("make a sign-in link: %w", err)
	}
	return code, nil
}

// Redeem begins a browser's session with the code of a link, which is good for
// nothing from then on, whatever comes of it. The error is [ErrExpired] when
// the link has expired, [ErrDenied] when it was used, or never was one, else
// the store's.
func Redeem(ctx context.Context, users Users, code string, now time.Time) (secret string, t Token, p Principal, err error) {
	if !strings.HasPrefix(code, LinkPrefix) {
		return "", Token{}, Principal{}, ErrDenied
	}
	link, err := users.Take(ctx, SumOf(code))
	if errors.Is(err, ErrUnknown) {
		return "", Token{}, Principal{}, ErrDenied
	}
	if err != nil {
		return "", Token{}, Principal{}, fmt.Errorf("redeem a sign-in link: %w", err)
	}
	if link.expired(now) {
		return "", Token{}, Principal{}, ErrExpired
	}
	a, err := users.Get(ctx, link.User)
	if errors.Is(err, ErrUnknown) {
		return "", Token{}, Principal{}, ErrDenied // the user was removed just now
	}
	if err != nil {
		return "", Token{}, Principal{}, fmt.Errorf("redeem a sign-in link: %w", err)
	}
	g := grant(link, a)
	g.Token.Expires = time.Time{} // when the link ends doesn't bound the session
	secret, t, err = NewSession(ctx, users, g, now)
	return secret, t, g.Principal, err
}

// NewSession begins a browser's session for the one whom g stands for. It grants
// no more than g does and for no longer, at most for 30 days; when g comes
// of an API token, it ends as soon as that is removed. The error is
// [ErrUnknown] when there is no account with g's id, or no such token any more.
func NewSession(ctx context.Context, users Users, g Grant, now time.Time) (secret string, t Token, err error) {
	secret, t = newToken(KindSession, sessionPrefix)
	t.User, t.Role, t.Note = g.ID, g.Token.Role, g.Token.Note
	t.Created, t.Expires = now.UTC(), now.UTC().Add(sessionLife)
	if e := g.Token.Expires; !e.IsZero() && e.Before(t.Expires) {
		t.Expires = e
	}
	switch g.Token.Kind {
	case KindAPI:
		t.From = g.Token.ID
	case KindSession:
		t.From = g.Token.From
	case "": // a secret from the environment, behind which is no token
		t.Role = g.Role
	}
	if err := add(ctx, users, t, now); err != nil {
		return "", Token{}, fmt.Errorf("begin a browser's session: %w", err)
	}
	return secret, t, nil
}

// add stores t. Links and sessions that expired long ago go on this occasion:
// they pile up only as new ones are made.
func add(ctx context.Context, users Users, t Token, now time.Time) error {
	if _, err := users.Purge(ctx, now.Add(-keepExpired)); err != nil {
		return err
	}
	return users.AddToken(ctx, t)
}
