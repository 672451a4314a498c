package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/goclaw/goclaw/internal/provider"
)

// Answers implements [provider.Answers].
type Answers struct{ db *DB }

var _ provider.Answers = (*Answers)(nil)

// Answers returns the store of answers of models.
func (db *DB) Answers() *Answers { return &Answers{db} }

// Answer implements [provider.Answers].
func (s *Answers) Answer(ctx context.Context, key provider.AnswerKey) (a provider.Answer, ok bool, err error) {
	a.Key = key
	err = s.db.read(ctx, func(t *tx) error {
		err := t.row("SELECT answer, created, expires FROM llm_cache WHERE key = ?", []any{key[:]}, []any{&a.Packed, millis{&a.Created}, millis{&a.Expires}})
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		ok = err == nil
		return err
	})
	return a, ok, err
}

// Keep implements [provider.Answers].
func (s *Answers) Keep(ctx context.Context, a provider.Answer, rows int, size int64) error {
	return s.db.write(ctx, func(t *tx) error {
		if _, err := t.exec("DELETE FROM llm_cache WHERE key = ? OR expires <= ?", a.Key[:], milli(a.Created)); err != nil {
			return err
		}
		id, err := t.insert("INSERT INTO llm_cache (key, created, expires, size, answer) VALUES (?, ?, ?, ?, ?)",
			a.Key[:], milli(a.Created), milli(a.Expires), len(a.Packed), a.Packed)
		if err != nil {
			return err
		}
		return makeRoom(t, id, rows, size)
	})
}

// makeRoom removes the oldest answers before the row newest until at most so
// many rows with so many bytes are left.
func makeRoom(t *tx, newest int64, rows int, size int64) error {
	var count int
	var bytes int64
	if err := t.row("SELECT count(*), sum(size) FROM llm_cache", nil, []any{&count, &bytes}); err != nil {
		return err
	}
	if count <= rows && bytes <= size {
		return nil
	}
	var last int64
	err := t.each("SELECT id, size FROM llm_cache WHERE id < ? ORDER BY id", []any{newest}, func(scan func(...any) error) error {
		var id, n int64
		if err := scan(&id, &n); err != nil || count <= rows && bytes <= size {
			return err
		}
		last, count, bytes = id, count-1, bytes-n
		return nil
	})
	if err != nil {
		return err
	}
	_, err = t.exec("DELETE FROM llm_cache WHERE id <= ?", last)
	return err
}

// Sweep implements [provider.Answers].
func (s *Answers) Sweep(ctx context.Context, now time.Time) (n int, err error) {
	err = s.db.write(ctx, func(t *tx) error {
		n, err = t.exec("DELETE FROM llm_cache WHERE expires <= ?", milli(now))
		return err
	})
	return n, err
}
