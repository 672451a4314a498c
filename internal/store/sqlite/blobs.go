package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/goclaw/goclaw/internal/blob"
)

// Blobs implements [blob.Store].
type Blobs struct{ db *DB }

var _ blob.Store = (*Blobs)(nil)

// Blobs returns the store of bytes under refs.
func (db *DB) Blobs() *Blobs { return &Blobs{db} }

// Add implements [blob.Store].
func (b *Blobs) Add(ctx context.Context, e blob.Entry, packed []byte, keep blob.Limits) error {
	return b.db.write(ctx, func(t *tx) error {
		if _, err := t.exec("INSERT INTO contents (sum, packed) VALUES (?, ?) ON CONFLICT DO NOTHING", e.Sum, packed); err != nil {
			return err
		}
		id, err := t.insert("INSERT INTO refs (ref, kind, agent, session, type, tool, args, sum, size, created, expires) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			e.Ref, string(e.Kind), e.Agent, e.Session, e.Type, e.Tool, e.Args, e.Sum, e.Size, milli(e.Created), milli(e.Expires))
		if err != nil {
			return err
		}
		return evict(t, id, e, keep)
	})
}

// evict ends the oldest living refs of the kind of e, whose row is newest,
// until keep holds.
func evict(t *tx, newest int64, e blob.Entry, keep blob.Limits) error {
	if keep.Entries <= 0 && keep.Bytes <= 0 {
		return nil
	}
	var count int
	var bytes int64
	err := t.row("SELECT count(*), sum(size) FROM refs WHERE kind = ? AND gone = ''", []any{string(e.Kind)}, []any{&count, &bytes})
	if err != nil {
		return err
	}
	over := func() bool { return keep.Entries > 0 && count > keep.Entries || keep.Bytes > 0 && bytes > keep.Bytes }
	if !over() {
		return nil
	}
	var last int64
	err = t.each("SELECT id, size FROM refs WHERE kind = ? AND gone = '' AND id <> ? ORDER BY id", []any{string(e.Kind), newest},
		func(scan func(...any) error) error {
			var id, size int64
			if err := scan(&id, &size); err != nil || !over() {
				return err
			}
			last, count, bytes = id, count-1, bytes-size
			return nil
		})
	if err != nil {
		return err
	}
	_, err = endRefs(t, "UPDATE refs SET gone = ?, ended = ? WHERE kind = ? AND gone = '' AND id <= ? RETURNING sum",
		string(blob.Evicted), milli(e.Created), string(e.Kind), last)
	return err
}

// endRefs runs a statement that ends or removes refs and returns their
// digests, drops content that no living ref has any more, and returns how many
// refs it were.
func endRefs(t *tx, query string, args ...any) (int, error) {
	var sums []string
	err := t.each(query, args, func(scan func(...any) error) error {
		var sum string
		err := scan(&sum)
		sums = append(sums, sum)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, sum := range sums {
		if _, err := t.exec("DELETE FROM contents WHERE sum = ?1 AND NOT EXISTS (SELECT 1 FROM refs WHERE sum = ?1 AND gone = '')", sum); err != nil {
			return 0, err
		}
	}
	return len(sums), nil
}

// Entry implements [blob.Store].
func (b *Blobs) Entry(ctx context.Context, ref string) (blob.Entry, error) {
	var e blob.Entry
	err := b.db.read(ctx, func(t *tx) error {
		err := t.row("SELECT ref, kind, agent, session, type, tool, args, sum, size, created, expires, gone, ended FROM refs WHERE ref = ?", []any{ref}, []any{
			&e.Ref, &e.Kind, &e.Agent, &e.Session, &e.Type, &e.Tool, &e.Args, &e.Sum, &e.Size,
			millis{&e.Created},
			millis{&e.Expires},
			&e.Gone,
			millis{&e.Ended},
		})
		if errors.Is(err, sql.ErrNoRows) {
			return blob.ErrUnknown
		}
		return err
	})
	return e, err
}

// Content implements [blob.Store].
func (b *Blobs) Content(ctx context.Context, sum string) ([]byte, error) {
	var packed []byte
	err := b.db.read(ctx, func(t *tx) error {
		err := t.row("SELECT packed FROM contents WHERE sum = ?", []any{sum}, []any{&packed})
		if errors.Is(err, sql.ErrNoRows) {
			return blob.ErrUnknown
		}
		return err
	})
	return packed, err
}

// Sweep implements [blob.Store].
func (b *Blobs) Sweep(ctx context.Context, now, forget time.Time, tombstones int) (int, error) {
	expired := 0
	err := b.db.write(ctx, func(t *tx) (err error) {
		expired, err = endRefs(t, "UPDATE refs SET gone = ?, ended = expires WHERE gone = '' AND expires <= ? RETURNING sum",
			string(blob.Expired), milli(now))
		if err != nil {
			return err
		}
		_, err = t.exec("DELETE FROM refs WHERE gone <> '' AND (ended < ? OR id NOT IN (SELECT id FROM refs WHERE gone <> '' ORDER BY ended DESC, id DESC LIMIT ?))",
			milli(forget), tombstones)
		return err
	})
	return expired, err
}

// Drop implements [blob.Store].
func (b *Blobs) Drop(ctx context.Context, session string) error {
	return b.db.write(ctx, func(t *tx) error { return dropSession(t, session) })
}

// dropSession removes the refs of a session. Those that it shares go to one of
// the sessions that it shares them with.
func dropSession(t *tx, session string) error {
	for _, q := range []string{
		"DELETE FROM ref_shares WHERE session = ?",
		"UPDATE refs SET session = (SELECT s.session FROM ref_shares s WHERE s.ref = refs.ref LIMIT 1)" +
			" WHERE session = ? AND EXISTS (SELECT 1 FROM ref_shares s WHERE s.ref = refs.ref)",
	} {
		if _, err := t.exec(q, session); err != nil {
			return err
		}
	}
	_, err := endRefs(t, "DELETE FROM refs WHERE session = ? RETURNING sum", session)
	return err
}

// Share implements [blob.Store].
func (b *Blobs) Share(ctx context.Context, from, to string, until time.Time) error {
	return b.db.write(ctx, func(t *tx) error { return shareRefs(t, from, to, until) })
}

// shareRefs lets a session read what another one may read and was made until
// then.
func shareRefs(t *tx, from, to string, until time.Time) error {
	_, err := t.exec("INSERT INTO ref_shares (ref, session) SELECT ref, ?2 FROM refs WHERE created <= ?3 AND"+
		" (session = ?1 OR ref IN (SELECT ref FROM ref_shares WHERE session = ?1)) ON CONFLICT DO NOTHING", from, to, until.UnixMilli())
	return err
}

// Shared implements [blob.Store].
func (b *Blobs) Shared(ctx context.Context, ref, session string) (bool, error) {
	var shared bool
	err := b.db.read(ctx, func(t *tx) error {
		return t.row("SELECT EXISTS (SELECT 1 FROM ref_shares WHERE ref = ? AND session = ?)", []any{ref, session}, []any{&shared})
	})
	return shared, err
}

// milli is t for a column of refs: NULL when it is zero.
func milli(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// millis scans a column of times of refs.
type millis struct{ to *time.Time }

// Scan implements [sql.Scanner].
func (m millis) Scan(v any) error { return scanTime(m.to, v, time.UnixMilli) }
