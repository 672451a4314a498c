// Package blob keeps bytes under a ref: large results, attachments, files of
// the canvas, old bytes for undo, outputs of SOPs.
//
// A ref is 16 hexadecimal digits that nobody can guess. It is bound to the
// session that made it, and to those that it was shared with, which are forks
// of that. It ends at a time of its own, and leaves a tombstone that
// can still say which call made it. Equal content is kept once, compressed.
//
// [Keeper] holds all the rules: refs, who may read, limits, compression and a
// cache in memory. A [Store] below it holds rows and decides nothing; the
// database implements it, [Memory] does it in memory, and package blobtest has
// the suite that both pass. Rows are read from the store each time and only
// content comes from the cache, under its digest, so several processes can work
// on the same database.
//
// A Keeper starts no goroutine and needs no closing. Writing blocks until the
// row is durable. Start reading at [Keeper.Put] and [Keeper.Get].
package blob

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/tool"
)

// Kind says what bytes are kept for. Limits are set by kind.
type Kind string

const (
	Spill      Kind = "spill"
	Attachment Kind = "attachment"
	Media      Kind = "media" // images and files in messages and results; as long as their session
	Canvas     Kind = "canvas"
	Undo       Kind = "undo"
	SOP        Kind = "sop"
)

// Entry is what is known of the bytes under a ref.
type Entry struct {
	Ref     string // 16 hexadecimal digits, lower case
	Kind    Kind
	Agent   string
	Session string // that made it: Scope.SessionKey; no other may read it unless it was shared

	Type string // of the content: a type of engine/spill for spilled text, else a media type
	Tool string // the tool whose call made it; empty when no call did
	Args string // of that call, shortened, for people and models

	Sum     string // SHA-256 of the content, hexadecimal
	Size    int64  // of the content in bytes, before compression
	Created time.Time
	Expires time.Time // zero: never

	// Gone says why the content is no longer kept; such an entry is a
	// tombstone, and Ended is when it became one.
	Gone  Gone
	Ended time.Time
}

// Gone says why content is no longer kept.
type Gone string

const (
	Living  Gone = ""
	Expired Gone = "expired" // its time was over
	Evicted Gone = "evicted" // newer content needed the room
)

// Limits bound what is kept of one kind. A zero field sets no limit.
type Limits struct {
	TTL     time.Duration // of an entry that brings no expiry of its own
	Entries int           // living entries
	Bytes   int64         // sum of Entry.Size of living entries
}

var (
	// ErrUnknown says that there never was such a ref, or that even its
	// tombstone is gone.
	ErrUnknown = errors.New("unknown ref")
	// ErrTooLarge says that content alone exceeds the limit of its kind.
	ErrTooLarge = errors.New("content exceeds what may be kept")
)

// GoneError says that content is no longer kept. Entry tells what it was.
type GoneError struct{ Entry Entry }

func (e *GoneError) Error() string {
	why := "has expired"
	if e.Entry.Gone == Evicted {
		why = "made room for newer content"
	}
	return fmt.Sprintf("ref %s %s at %s", e.Entry.Ref, why, e.Entry.Ended.UTC().Format(time.RFC3339))
}

// Store keeps rows for a [Keeper]. Implementations are safe for concurrent use
// by several processes as far as their medium is. Times come back to the
// millisecond, in any location.
type Store interface {
	// Add stores e and, under e.Sum, packed, unless content of that sum is kept
	// already. Then it makes the oldest living entries of e.Kind, never e
	// itself, into tombstones (Evicted, ended at e.Created) until keep.Entries
	// and keep.Bytes hold, and drops content that no living entry has. All of
	// it happens or nothing. A ref that exists is an error.
	Add(ctx context.Context, e Entry, packed []byte, keep Limits) error
	// Entry returns the entry under ref, living or gone, or [ErrUnknown].
	Entry(ctx context.Context, ref string) (Entry, error)
	// Content returns what Add stored under sum, or [ErrUnknown].
	Content(ctx context.Context, sum string) ([]byte, error)
	// Sweep makes living entries whose time was over at now into tombstones
	// (Expired, ended at their Expires), drops content that no living entry
	// has, and forgets tombstones that ended before forget, as well as the
	// oldest ones beyond the number of tombstones given. It returns how many
	// entries expired.
	Sweep(ctx context.Context, now, forget time.Time, tombstones int) (int, error)
	// Share lets session to read what session from may read of what was made until
	// a time, living or gone.
	Share(ctx context.Context, from, to string, until time.Time) error
	// Shared reports whether Share lets a session read what is under ref.
	Shared(ctx context.Context, ref, session string) (bool, error)
	// Drop removes all entries of a session, tombstones included, and content
	// that no living entry has any more. An entry that is shared becomes one of a
	// session that it is shared with. What was shared with the session is no more.
	Drop(ctx context.Context, session string) error
}

// Options configure a [Keeper]. The zero value means: no limits, a cache of
// 16 MiB, tombstones for a day.
type Options struct {
	Limits     map[Kind]Limits
	CacheBytes int64            // content kept in memory, uncompressed; negative: none
	Now        func() time.Time // nil: time.Now
}

const (
	defaultCacheBytes = 16 << 20
	forgetAfter       = 24 * time.Hour
	maxTombstones     = 5_000
	sweepEvery        = 10 * time.Minute
)

// Keeper keeps bytes under refs. It is safe for concurrent use.
type Keeper struct {
	store  Store
	limits map[Kind]Limits
	now    func() time.Time
	cache  *cache

	mu    sync.Mutex
	swept time.Time // when Put last swept
}

var _ tool.Refs = (*Keeper)(nil)

// NewKeeper returns a keeper on store.
func NewKeeper(store Store, opts Options) *Keeper {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.CacheBytes == 0 {
		opts.CacheBytes = defaultCacheBytes
	}
	return &Keeper{store: store, limits: opts.Limits, now: opts.Now, cache: newCache(opts.CacheBytes)}
}

// Put keeps data and returns the entry with its ref. Of e it takes Kind and
// Session, which must be set, Agent, Type, Tool, Args and Expires; a zero
// Expires means the kind's TTL from now. The caller must not change data
// afterwards. The error is [ErrTooLarge] when data alone exceeds the kind's
// limit.
func (k *Keeper) Put(ctx context.Context, e Entry, data []byte) (Entry, error) {
	if e.Kind == "" || e.Session == "" {
		return Entry{}, fmt.Errorf("keep content: kind %q and session %q must be set", e.Kind, e.Session)
	}
	keep := k.limits[e.Kind]
	e.Size = int64(len(data))
	if keep.Bytes > 0 && e.Size > keep.Bytes {
		return Entry{}, fmt.Errorf("keep content: %w: %d bytes, the limit for %s is %d", ErrTooLarge, e.Size, e.Kind, keep.Bytes)
	}
	e.Created, e.Gone, e.Ended = k.now().Truncate(time.Millisecond), Living, time.Time{}
	if e.Expires.IsZero() && keep.TTL > 0 {
		e.Expires = e.Created.Add(keep.TTL)
	}
	sum := sha256.Sum256(data)
	e.Sum = hex.EncodeToString(sum[:])
	e.Ref = NewRef()
	if err := k.sweepSometimes(ctx); err != nil {
		return Entry{}, err
	}
	if err := k.store.Add(ctx, e, Pack(data), keep); err != nil {
		return Entry{}, fmt.Errorf("keep content: %w", err)
	}
	k.cache.add(e.Sum, data)
	return e, nil
}

// Get returns the entry under ref and its content, which must not be changed.
// Sessions are those in whose name it is read; one of them must have made it,
// or have it shared. The error is [ErrUnknown], a [*GoneError], or a [*tool.Refusal] when it
// belongs to another session.
func (k *Keeper) Get(ctx context.Context, ref string, sessions ...string) (Entry, []byte, error) {
	e, err := k.Find(ctx, ref, sessions...)
	if err != nil {
		return e, nil, err
	}
	if data, ok := k.cache.get(e.Sum); ok {
		return e, data, nil
	}
	packed, err := k.store.Content(ctx, e.Sum)
	if errors.Is(err, ErrUnknown) {
		// It went away between the two reads.
		if again, findErr := k.Find(ctx, ref, sessions...); findErr != nil {
			return again, nil, findErr
		}
	}
	if err != nil {
		return e, nil, fmt.Errorf("read ref %s: content: %w", ref, err)
	}
	data, err := Unpack(packed, e.Size)
	if err != nil {
		return e, nil, fmt.Errorf("read ref %s: %w", ref, err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != e.Sum {
		return e, nil, fmt.Errorf("read ref %s: the stored content is damaged", ref)
	}
	k.cache.add(e.Sum, data)
	return e, data, nil
}

// Find is [Keeper.Get] without the content.
func (k *Keeper) Find(ctx context.Context, ref string, sessions ...string) (Entry, error) {
	if !ValidRef(ref) {
		return Entry{}, fmt.Errorf("read ref %q: %w", ref, ErrUnknown)
	}
	e, err := k.store.Entry(ctx, ref)
	if err != nil {
		return Entry{}, fmt.Errorf("read ref %s: %w", ref, err)
	}
	if ok, err := k.mayRead(ctx, e, sessions); err != nil {
		return Entry{}, fmt.Errorf("read ref %s: %w", ref, err)
	} else if !ok {
		return Entry{}, tool.Refusef("refs", "session", "Refs are valid only in the session that made them, and in its forks.",
			"Ref %s belongs to another session.", ref)
	}
	if e.Gone == Living && !e.Expires.IsZero() && !k.now().Before(e.Expires) {
		e.Gone, e.Ended = Expired, e.Expires // not swept yet
	}
	if e.Gone != Living {
		return e, &GoneError{Entry: e}
	}
	return e, nil
}

// Read implements [tool.Refs].
func (k *Keeper) Read(ctx context.Context, s tool.Scope, ref string) ([]byte, error) {
	_, data, err := k.Get(ctx, ref, s.SessionKey())
	return data, err
}

// Sweep drops what has expired and returns how many entries that were. It also
// happens now and then when something is put.
func (k *Keeper) Sweep(ctx context.Context) (int, error) {
	now := k.now()
	n, err := k.store.Sweep(ctx, now, now.Add(-forgetAfter), maxTombstones)
	if err != nil {
		return n, fmt.Errorf("sweep content: %w", err)
	}
	return n, nil
}

// Drop removes everything that session made.
func (k *Keeper) Drop(ctx context.Context, session string) error {
	if err := k.store.Drop(ctx, session); err != nil {
		return fmt.Errorf("drop content of session %s: %w", session, err)
	}
	return nil
}

func (k *Keeper) sweepSometimes(ctx context.Context) error {
	now := k.now()
	k.mu.Lock()
	due := now.Sub(k.swept) >= sweepEvery
	if due {
		k.swept = now
	}
	k.mu.Unlock()
	if !due {
		return nil
	}
	_, err := k.Sweep(ctx)
	return err
}

// mayRead reports whether e may be read in the name of one of sessions.
func (k *Keeper) mayRead(ctx context.Context, e Entry, sessions []string) (bool, error) {
	for _, s := range sessions {
		if s != "" && s == e.Session {
			return true, nil
		}
	}
	for _, s := range sessions {
		if ok, err := k.store.Shared(ctx, e.Ref, s); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// NewRef makes a ref that nobody can guess.
func NewRef() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// ValidRef reports whether s has the form of a ref.
func ValidRef(s string) bool {
	if len(s) != 16 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
