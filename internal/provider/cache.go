package provider

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
)

// Cache says how answers are kept for requests that are equal to earlier ones.
// Its zero value keeps none.
//
// Kept is what a model said, whole and without calls, to a request that offers
// no tools and may be answered so ([llm.Request.Reuse]). Two requests are equal
// when provider, address, headers, model, parameters and every word are, the
// current time aside ([llm.Request.Clock]): who has another context asks
// another question.
type Cache struct {
	Answers Answers       // where they are kept; nil for nowhere
	TTL     time.Duration // for how long; not at all when it isn't positive
	Log     *slog.Logger  // is told what could not be read or kept; slog.Default when nil
}

// Answers keeps rows for a [Cache]. Implementations are safe for concurrent
// use, by several processes as far as their medium is, and decide nothing.
// Times come back to the millisecond, in any location.
type Answers interface {
	// Answer returns the row under key, whatever its time; ok is false when
	// there is none.
	Answer(ctx context.Context, key AnswerKey) (a Answer, ok bool, err error)
	// Keep stores a in the place of what is under its key, then removes what has
	// expired at a.Created, and then the oldest rows, never a, until at most so
	// many with so many bytes in all are left. All of it happens or nothing.
	Keep(ctx context.Context, a Answer, rows int, size int64) error
	// Sweep removes what has expired at now and returns how many rows that were.
	Sweep(ctx context.Context, now time.Time) (int, error)
}

// AnswerKey is the digest of a request.
type AnswerKey [sha256.Size]byte

// Answer is a row of [Answers].
type Answer struct {
	Key     AnswerKey
	Packed  []byte // in a form that only this package reads
	Created time.Time
	Expires time.Time
}

const (
	// maxAnswer bounds one kept answer, maxAnswers and maxAnswerBytes bound all
	// of them together. An answer at the usual output limits has a tenth of it.
	maxAnswer      = 256 << 10
	maxAnswers     = 1000
	maxAnswerBytes = 32 << 20
	// keepWithin is how long keeping an answer may hold up the end of a call.
	keepWithin = 2 * time.Second
)

// cache is a [Cache] at work.
type cache struct {
	Cache
	hits, misses atomic.Uint64
}

// newCache returns nil for a cache that keeps nothing.
func newCache(c Cache) *cache {
	if c.Answers == nil || c.TTL <= 0 {
		return nil
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return &cache{Cache: c}
}

// CacheCount says how often an answer was looked for and found, or not.
func (s *Set) CacheCount() (hits, misses uint64) {
	if s.cache == nil {
		return 0, 0
	}
	return s.cache.hits.Load(), s.cache.misses.Load()
}

// slot is where the answer to one request is kept. A nil slot, of a request
// whose answer is not, has none and takes none.
type slot struct {
	cache  *cache
	key    AnswerKey
	target llm.Target
}

// slot returns nil for a request that is to be answered by a model, or that
// offers tools: nearly all of them, which therefore cost nothing here.
func (c *cache) slot(s *Settings, req *llm.Request) *slot {
	if c == nil || !req.Reuse || len(req.Tools) > 0 {
		return nil
	}
	key, err := keyOf(s, req)
	if err != nil {
		c.Log.Warn("a request has no key for the cache of answers", "target", req.Target.String(), "err", err)
		return nil
	}
	return &slot{cache: c, key: key, target: req.Target}
}

// look returns the answer that is kept, nil when none is that can be used: what
// goes wrong costs the person nothing but the model's own answer.
func (s *slot) look(ctx context.Context) *llm.Reply {
	if s == nil {
		return nil
	}
	reply, err := s.read(ctx)
	if err != nil && ctx.Err() == nil {
		s.cache.Log.Warn("a kept answer can't be read", "target", s.target.String(), "err", err)
	}
	if reply == nil {
		s.cache.misses.Add(1)
		return nil
	}
	s.cache.hits.Add(1)
	return reply
}

func (s *slot) read(ctx context.Context) (*llm.Reply, error) {
	a, ok, err := s.cache.Answers.Answer(ctx, s.key)
	if err != nil || !ok {
		return nil, err
	}
	// What is there may have been kept for longer than it would be now, or by
	// a clock that was ahead.
	now := time.Now()
	age := now.Sub(a.Created.Truncate(time.Millisecond))
	if !now.Before(a.Expires) || age < 0 || age >= s.cache.TTL {
		return nil, nil
	}
	kept, err := unpack(s.key, a.Packed)
	if err != nil {
		return nil, err
	}
	return &llm.Reply{Message: kept.Message, Finish: llm.FinishStop, Target: s.target, Model: kept.Model, Cached: true}, nil
}

// keep stores what a model answered, if another request may be answered by it.
func (s *slot) keep(ctx context.Context, reply *llm.Reply) {
	if s == nil || reply == nil || !reusable(reply) {
		return
	}
	packed, err := pack(s.key, reply)
	if err == nil && len(packed) > maxAnswer {
		return
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepWithin)
		defer cancel()
		now := time.Now().Truncate(time.Millisecond)
		err = s.cache.Answers.Keep(ctx, Answer{Key: s.key, Packed: packed, Created: now, Expires: now.Add(s.cache.TTL)}, maxAnswers, maxAnswerBytes)
	}
	if err != nil {
		s.cache.Log.Warn("an answer was not kept", "target", s.target.String(), "err", err)
	}
}

// reusable reports whether r is all that the model had to say, in words.
func reusable(r *llm.Reply) bool {
	return r.Finish == llm.FinishStop && strings.TrimSpace(r.Message.Text()) != "" &&
		!slices.ContainsFunc(r.Message.Parts, func(p llm.Part) bool { return p.Kind != llm.KindText && p.Kind != llm.KindReasoning })
}

// kept is an answer as it is packed.
type kept struct {
	Message llm.Message `json:"message"`
	Model   string      `json:"model,omitempty"`
}

// pack writes an answer behind a digest of it and its key, by which unpack
// finds out that it is whole and stands in its place.
func pack(key AnswerKey, r *llm.Reply) ([]byte, error) {
	text, err := json.Marshal(kept{r.Message, r.Model})
	if err != nil {
		return nil, err
	}
	sum := sumOf(key, text)
	return append(sum[:], text...), nil
}

var errDamaged = errors.New("it is damaged")

func unpack(key AnswerKey, packed []byte) (k kept, err error) {
	if len(packed) < sha256.Size {
		return k, errDamaged
	}
	text := packed[sha256.Size:]
	if sum := sumOf(key, text); !bytes.Equal(sum[:], packed[:sha256.Size]) {
		return k, errDamaged
	}
	return k, json.Unmarshal(text, &k)
}

func sumOf(key AnswerKey, text []byte) [sha256.Size]byte {
	return sha256.Sum256(append(key[:], text...))
}

// keyOf is the digest of a request as the provider with the settings s gets it.
// Where a field is added to [llm.Request], it belongs in here unless it has no
// bearing on the answer; a test asks.
func keyOf(s *Settings, req *llm.Request) (AnswerKey, error) {
	h := sha256.New()
	// The encoder writes each value as a line of JSON, so that no two lists of
	// values are the same bytes.
	enc := json.NewEncoder(h)
	for _, v := range []any{
		s.Name, s.Type, s.BaseURL, s.Headers, req.Target,
		req.MaxOutput, req.Temperature, req.Reasoning, req.Choice, req.Only,
		req.Static, req.Session, timeless(req.Messages, req.Clock),
	} {
		if err := enc.Encode(v); err != nil {
			return AnswerKey{}, fmt.Errorf("encode the request: %w", err)
		}
	}
	return AnswerKey(h.Sum(nil)), nil
}

// timeless is messages without the part of the last one that says clock.
func timeless(messages []llm.Message, clock string) []llm.Message {
	if clock == "" || len(messages) == 0 {
		return messages
	}
	last := messages[len(messages)-1]
	last.Parts = slices.DeleteFunc(slices.Clone(last.Parts), func(p llm.Part) bool {
		return p.Kind == llm.KindContext && p.Text == clock
	})
	return append(slices.Clone(messages[:len(messages)-1]), last)
}

// again says a reply once more, as the model that gave it would.
type again struct{ reply *llm.Reply }

// Stream implements [llm.Model].
func (a again) Stream(context.Context, llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for _, p := range a.reply.Message.Parts {
			e := llm.Event{Type: llm.EventText, Text: p.Text}
			if p.Kind == llm.KindReasoning {
				e.Type = llm.EventReasoning
			}
			if !yield(e, nil) {
				return
			}
		}
		yield(llm.Event{Type: llm.EventDone, Reply: a.reply}, nil)
	}
}
