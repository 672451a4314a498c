package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/provider"
)

// Embeddings implements [provider.Vectors].
type Embeddings struct{ db *DB }

var _ provider.Vectors = (*Embeddings)(nil)

// Embeddings returns the store of what models made of texts.
func (db *DB) Embeddings() *Embeddings { return &Embeddings{db} }

const (
	// keysAtOnce is how many keys one statement looks for.
	keysAtOnce = 500
	// usedAgain is after which time it is noted that a vector was used.
	usedAgain = 24 * time.Hour
)

// errVector is what is kept in place of a vector.
var errVector = errors.New("a kept vector is damaged")

// Vectors implements [provider.Vectors].
func (s *Embeddings) Vectors(ctx context.Context, keys []provider.VectorKey, now time.Time) (list []provider.Vector, err error) {
	old := now.Add(-usedAgain).UnixMilli()
	var stale []any
	err = s.db.read(ctx, func(t *tx) error {
		for from := 0; from < len(keys); from += keysAtOnce {
			some := make([]any, 0, keysAtOnce)
			for _, k := range keys[from:min(from+keysAtOnce, len(keys))] {
				some = append(some, k[:])
			}
			err := t.each("SELECT key, used, vector FROM embeddings WHERE key IN (?"+strings.Repeat(", ?", len(some)-1)+")", some, func(scan func(...any) error) error {
				var key, packed []byte
				var used int64
				if err := scan(&key, &used, &packed); err != nil {
					return err
				}
				v := provider.Vector{Values: unpackVector(packed)}
				if copy(v.Key[:], key) != len(v.Key) || v.Values == nil {
					return errVector
				}
				if used <= old {
					stale = append(stale, v.Key[:])
				}
				list = append(list, v)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(stale) == 0 {
		return list, err
	}
	return list, s.db.write(ctx, func(t *tx) error {
		for _, key := range stale {
			if _, err := t.exec("UPDATE embeddings SET used = max(used, ?) WHERE key = ?", milli(now), key); err != nil {
				return err
			}
		}
		return nil
	})
}

// KeepVectors implements [provider.Vectors].
func (s *Embeddings) KeepVectors(ctx context.Context, vectors []provider.Vector, now, before time.Time, rows int, size int64) error {
	return s.db.write(ctx, func(t *tx) error {
		fresh := map[provider.VectorKey]bool{}
		for _, v := range vectors {
			if _, err := t.exec("INSERT INTO embeddings (key, used, vector) VALUES (?, ?, ?)"+
				" ON CONFLICT DO UPDATE SET used = excluded.used, vector = excluded.vector", v.Key[:], milli(now), packVector(v.Values)); err != nil {
				return err
			}
			fresh[v.Key] = true
		}
		if _, err := t.exec("DELETE FROM embeddings WHERE used < ?", milli(before)); err != nil {
			return err
		}
		return makeRoomForVectors(t, fresh, rows, size)
	})
}

// makeRoomForVectors removes what was not used for longest, but nothing that is
// fresh, until at most so many rows with so many bytes are left.
func makeRoomForVectors(t *tx, fresh map[provider.VectorKey]bool, rows int, size int64) error {
	var count int
	var bytes int64
	if err := t.row("SELECT count(*), ifnull(sum(length(vector)), 0) FROM embeddings", nil, []any{&count, &bytes}); err != nil {
		return err
	}
	if count <= rows && bytes <= size {
		return nil
	}
	var drop [][]byte
	err := t.each("SELECT key, length(vector) FROM embeddings ORDER BY used, key", nil, func(scan func(...any) error) error {
		var key []byte
		var n int64
		if err := scan(&key, &n); err != nil || count <= rows && bytes <= size || len(key) != len(provider.VectorKey{}) || fresh[provider.VectorKey(key)] {
			return err
		}
		drop, count, bytes = append(drop, key), count-1, bytes-n
		return nil
	})
	for _, key := range drop {
		if err == nil {
			_, err = t.exec("DELETE FROM embeddings WHERE key = ?", key)
		}
	}
	return err
}

func packVector(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// unpackVector returns nil for what is no vector.
func unpackVector(b []byte) []float32 {
	if len(b) == 0 || len(b)%4 != 0 {
		return nil
	}
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}
