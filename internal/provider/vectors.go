package provider

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"time"
)

// Vectors keeps what an [Embedder] made of texts. Implementations are safe for
// concurrent use, by several processes as far as their medium is, and decide
// nothing. Times come back to no one.
type Vectors interface {
	// Vectors returns those under keys that are kept, in any order, and notes
	// that they were used at now; who was used less than a day before needn't be
	// noted again.
	Vectors(ctx context.Context, keys []VectorKey, now time.Time) ([]Vector, error)
	// KeepVectors stores vectors, used at now, in the place of those under their
	// keys, then removes what was not used since before, and then those that were
	// not used for longest, never the new ones, until at most so many with so many
	// bytes of numbers in all are left. All of it happens or nothing.
	KeepVectors(ctx context.Context, vectors []Vector, now, before time.Time, rows int, size int64) error
}

// VectorKey is the digest of a text and of all that decides on its vector.
type VectorKey [sha256.Size]byte

// Vector is a row of [Vectors].
type Vector struct {
	Key    VectorKey
	Values []float32 // at least one, of length 1 together
}

const (
	// A vector that nothing asked for is kept so long, and so many of so many
	// bytes in all: 20,000 of OpenAI's smaller model are 120 MB.
	vectorsUnused = 60 * 24 * time.Hour
	maxVectors    = 20_000
	maxVectorSize = 128 << 20
)

// keysOf are the keys of texts as e's model gets them. Where its vectors come to
// depend on more, it belongs in here.
func (e *Embedder) keysOf(texts []string, query bool) ([]VectorKey, error) {
	keys := make([]VectorKey, len(texts))
	s := &e.entry.settings
	for i, t := range texts {
		h := sha256.New()
		// As JSON, so that no two lists of values are the same bytes.
		if err := json.NewEncoder(h).Encode([]any{s.Name, s.Type, s.BaseURL, e.target.Model, query, t}); err != nil {
			return nil, err
		}
		keys[i] = VectorKey(h.Sum(nil))
	}
	return keys, nil
}

// recall returns the vectors of texts that are kept, nil for the others, and the
// keys of all, nil when none is to be kept. What goes wrong costs nothing but
// another call.
func (e *Embedder) recall(ctx context.Context, texts []string, query bool) (vectors [][]float32, keys []VectorKey) {
	vectors = make([][]float32, len(texts))
	if e.opts.Vectors == nil || len(texts) == 0 {
		return vectors, nil
	}
	keys, err := e.keysOf(texts, query)
	var kept []Vector
	if err == nil {
		kept, err = e.opts.Vectors.Vectors(ctx, keys, time.Now())
	}
	if err != nil {
		if ctx.Err() == nil {
			e.opts.Log.Warn("kept embeddings can't be read", "model", e.Model(), "err", err)
		}
		return vectors, keys
	}
	byKey := make(map[VectorKey][]float32, len(kept))
	for _, v := range kept {
		byKey[v.Key] = v.Values
	}
	for i, k := range keys {
		vectors[i] = byKey[k]
	}
	return vectors, keys
}

// keep stores the vectors at places.
func (e *Embedder) keep(ctx context.Context, keys []VectorKey, vectors [][]float32, places []int) {
	if keys == nil {
		return
	}
	list := make([]Vector, len(places))
	for i, at := range places {
		list[i] = Vector{keys[at], vectors[at]}
	}
	// They are paid for, whoever stopped waiting for them meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepWithin)
	defer cancel()
	now := time.Now()
	if err := e.opts.Vectors.KeepVectors(ctx, list, now, now.Add(-vectorsUnused), maxVectors, maxVectorSize); err != nil {
		e.opts.Log.Warn("embeddings were not kept", "model", e.Model(), "err", err)
	}
}
