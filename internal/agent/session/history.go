package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// History implements [agent.History] on a [Store]. It is safe for concurrent
// use; the caller of a turn's methods holds its session (see [Holds]).
type History struct {
	store Store
	now   func() time.Time

	mu    sync.Mutex
	turns map[Key]*known // the turns under way
}

// known is what a turn under way need not ask the store for. It stays true
// until the turn ends, because nobody else writes to a session that is held.
type known struct {
	fresh bool // the session began with this turn, so it kept nothing before

	mu        sync.Mutex
	ids       map[string]bool   // of all calls of the session
	snapshots map[string]string // by name
	unkept    []Snapshot        // those of them that the next round is to bring to the store
}

var _ agent.History = (*History)(nil)

// NewHistory returns a history on store; now is [time.Now] when nil.
func NewHistory(store Store, now func() time.Time) *History {
	if now == nil {
		now = time.Now
	}
	return &History{store: store, now: now, turns: map[Key]*known{}}
}

// known returns what is known of the session's turn under way; nil when none is.
func (h *History) known(key Key) *known {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.turns[key]
}

// learn keeps what is known of a session while its turn is under way; nil
// forgets it.
func (h *History) learn(key Key, k *known) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k == nil {
		delete(h.turns, key)
	} else {
		h.turns[key] = k
	}
}

// writeLimit bounds how long storing a step of a run may take. What a run did
// is stored even when the run is being stopped, so these writes don't end with
// the run's context, but they must not hang either.
const writeLimit = 5 * time.Second

func keep(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), writeLimit)
}

// Begin implements [agent.History]. Since the caller holds the session,
// whatever still runs in it belongs to a process that died, and is closed. What
// t is seeded with becomes turns of a new session that have ended.
func (h *History) Begin(ctx context.Context, t agent.Turn) (agent.Thread, error) {
	key := KeyOf(t.Scope)
	if err := key.Check(); err != nil {
		return agent.Thread{}, fmt.Errorf("begin a turn: %w", err)
	}
	started := t.Started
	if started.IsZero() {
		started = h.now()
	}
	turn := Turn{
		Run: t.Scope.Run(), Message: t.Message, Asked: t.Asked, Model: t.Model, Status: agent.Running,
		Caller: t.Scope.Caller(), Origin: t.Scope.Origin(), Started: started, Effects: t.Effects,
	}
	told, err := seed(t.Seed, turn.Caller, turn.Origin, started)
	if err != nil {
		return agent.Thread{}, fmt.Errorf("begin a turn of session %s: %w", key, err)
	}
	if _, err := h.awaits(ctx, key, t.Message, told, Spoken); err != nil {
		return agent.Thread{}, fmt.Errorf("begin a turn of session %s: %w", key, err)
	}
	begun, err := h.store.Begin(ctx, key, turn, Title(opening(told, t.Message)), told...)
	if err != nil {
		return agent.Thread{}, fmt.Errorf("begin a turn of session %s: %w", key, err)
	}
	turns := append(told, turn)
	if !begun.New {
		if turns, err = h.store.Turns(ctx, key, 1, begun.Turn, Spoken); err != nil {
			return agent.Thread{}, fmt.Errorf("read session %s: %w", key, err)
		}
		turns[len(turns)-1].Message = t.Message // its images are at hand
	}
	k := &known{fresh: begun.New, ids: map[string]bool{}, snapshots: map[string]string{}}
	for i := range turns {
		for j := range turns[i].Rounds {
			k.add(turns[i].Rounds[j].Reply.Message.Calls())
		}
	}
	earlier, err := h.earlier(ctx, key, turns)
	if err != nil {
		return agent.Thread{}, fmt.Errorf("read session %s: %w", key, err)
	}
	h.learn(key, k)
	return agent.Thread{
		Messages: Thread(turns), State: begun.State, Rounds: begun.Rounds, Last: begun.Last, Load: h.loader(), Earlier: earlier,
	}, nil
}

// loader brings the bytes of a thread's images and files. Each request shows
// much of what the one before did, so those that it brought stay in memory for
// as long as the thread.
func (h *History) loader() func(context.Context, *llm.Media) ([]byte, error) {
	have := map[string][]byte{}
	return func(ctx context.Context, m *llm.Media) ([]byte, error) {
		if data, ok := have[m.Sum]; ok {
			return data, nil
		}
		data, err := h.store.Content(ctx, m)
		if err != nil {
			return nil, fmt.Errorf("read %s of a session: %w", cmp.Or(m.Name, m.MIME), err)
		}
		have[m.Sum] = data
		return data, nil
	}
}

// add remembers the ids of calls.
func (k *known) add(calls []llm.ToolCall) {
	for _, c := range calls {
		k.ids[c.ID] = true
	}
}

// taken returns which of ids calls of the session have. A turn that this
// process didn't begin knows nothing, so the store is asked.
func (h *History) taken(ctx context.Context, key Key, ids []string) ([]string, error) {
	k := h.known(key)
	if k == nil {
		return h.store.Taken(ctx, key, ids)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var taken []string
	for _, id := range ids {
		if k.ids[id] {
			taken = append(taken, id)
		}
	}
	return taken, nil
}

// toKeep returns the snapshots that are to be stored with a round, and what to
// call when they are.
func (h *History) toKeep(key Key) (list []Snapshot, kept func()) {
	k := h.known(key)
	if k == nil {
		return nil, func() {}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clip(k.unkept), func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.unkept = k.unkept[len(list):]
	}
}

// Called implements [agent.History]. It gives the calls of the reply ids that
// are unique within the session, in the reply and in r.Calls, and takes empty
// pieces of text out of the reply, so that r is what was stored.
func (h *History) Called(ctx context.Context, t agent.Turn, r *agent.Round) error {
	ctx, cancel := keep(ctx)
	defer cancel()
	key := KeyOf(t.Scope)
	r.Reply.Message.Role = llm.Assistant
	r.Reply.Message.Parts = tidy(r.Reply.Message.Parts)
	err := assignIDs(r, func(ids []string) ([]string, error) { return h.taken(ctx, key, ids) })
	if err != nil {
		return fmt.Errorf("store round %d of session %s: call ids: %w", r.Number, key, err)
	}
	snapshots, kept := h.toKeep(key)
	if err := h.store.Called(ctx, t.Scope.Run(), r, snapshots...); err != nil {
		return fmt.Errorf("store round %d of session %s: %w", r.Number, key, err)
	}
	kept()
	if k := h.known(key); k != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.add(r.Calls)
	}
	return nil
}

// Result implements [agent.History].
func (h *History) Result(ctx context.Context, t agent.Turn, r *agent.Round, index int, o tool.Outcome) error {
	ctx, cancel := keep(ctx)
	defer cancel()
	o.Content = spoken(o.Content)
	if err := h.store.Result(ctx, t.Scope.Run(), r.Number, index, o); err != nil {
		return fmt.Errorf("store the result of %s in session %s: %w", o.Tool, KeyOf(t.Scope), err)
	}
	return nil
}

// Settled implements [agent.History]. Outcomes without content get a text, in
// r too.
func (h *History) Settled(ctx context.Context, t agent.Turn, r *agent.Round) error {
	ctx, cancel := keep(ctx)
	defer cancel()
	if len(r.Outcomes) != len(r.Calls) {
		return fmt.Errorf("settle round %d of session %s: %d outcomes for %d calls", r.Number, KeyOf(t.Scope), len(r.Outcomes), len(r.Calls))
	}
	for i := range r.Outcomes {
		r.Outcomes[i].Content = spoken(r.Outcomes[i].Content)
	}
	if err := h.store.Settled(ctx, t.Scope.Run(), r); err != nil {
		return fmt.Errorf("settle round %d of session %s: %w", r.Number, KeyOf(t.Scope), err)
	}
	return nil
}

// Answered implements [agent.History].
func (h *History) Answered(ctx context.Context, t agent.Turn, r *agent.Round, end agent.End) error {
	ctx, cancel := keep(ctx)
	defer cancel()
	key := KeyOf(t.Scope)
	r.Reply.Message.Role = llm.Assistant
	r.Reply.Message.Parts = tidy(r.Reply.Message.Parts)
	if len(r.Reply.Message.Calls()) > 0 {
		return fmt.Errorf("store the answer of session %s: it calls tools", key)
	}
	if end.Time.IsZero() {
		end.Time = h.now()
	}
	snapshots, _ := h.toKeep(key)
	if err := h.store.Answered(ctx, t.Scope.Run(), r, end, snapshots...); err != nil {
		return fmt.Errorf("store the answer of session %s: %w", key, err)
	}
	h.learn(key, nil)
	return nil
}

// End implements [agent.History].
func (h *History) End(ctx context.Context, t agent.Turn, end agent.End) error {
	ctx, cancel := keep(ctx)
	defer cancel()
	key := KeyOf(t.Scope)
	defer h.learn(key, nil)
	if end.Time.IsZero() {
		end.Time = h.now()
	}
	// No round was stored that would have taken them along.
	snapshots, _ := h.toKeep(key)
	var err error
	for _, s := range snapshots {
		err = errors.Join(err, h.keepSnapshot(ctx, key, s))
	}
	err = errors.Join(err, h.store.End(ctx, t.Scope.Run(), end))
	if errors.Is(err, ErrNotFound) && end.Status != agent.Done {
		// The turn never began: Begin failed, or was stopped while it waited.
		return nil
	}
	if err != nil {
		return fmt.Errorf("end the turn of session %s: %w", key, err)
	}
	return nil
}

// tidyLimit bounds the time that a sweep spends on files, not their number:
// the next sweep goes on.
const tidyLimit = 500

// Swept says what [History.Sweep] closed.
type Swept struct {
	Turns, Calls int
	Held         int // sessions left alone because a run holds them
}

// Sweep closes what dead processes left: calls without a result become
// interrupted, and so do turns that were running. Nothing is run again.
// Sessions that somebody holds are left alone. It also tidies holds.
func (h *History) Sweep(ctx context.Context, holds *Holds) (Swept, error) {
	var s Swept
	keys, err := h.store.Unfinished(ctx)
	if err != nil {
		return s, fmt.Errorf("sweep sessions: %w", err)
	}
	failed := holds.Tidy(tidyLimit)
	for _, key := range keys {
		release, err := holds.Try(key)
		if errors.Is(err, ErrHeld) {
			s.Held++
			continue
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		turns, calls, err := h.store.Interrupt(ctx, key, h.now())
		release()
		s.Turns += turns
		s.Calls += calls
		failed = errors.Join(failed, err)
	}
	if failed != nil {
		return s, fmt.Errorf("sweep sessions: %w", failed)
	}
	return s, nil
}

// Snapshot returns what the session keeps under name; when it keeps nothing
// yet, it keeps what take returns, during a turn together with the next round:
// until a reply is stored nobody has seen what follows from it. A session that
// hasn't begun keeps nothing.
func (h *History) Snapshot(ctx context.Context, agentID, id, name string, take func() (string, error)) (string, error) {
	key := Key{Agent: agentID, ID: id}
	k := h.known(key)
	if k == nil {
		s, found, err := h.snapshot(ctx, key, name, false, take)
		if err == nil && !found {
			err = h.keepSnapshot(ctx, key, s)
		}
		return s.Text, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if text, ok := k.snapshots[name]; ok {
		return text, nil
	}
	s, found, err := h.snapshot(ctx, key, name, k.fresh, take)
	if err != nil {
		return "", err
	}
	k.snapshots[name] = s.Text
	if !found {
		k.unkept = append(k.unkept, s)
	}
	return s.Text, nil
}

// snapshot returns what is stored under name, or what take returns. It asks the
// store unless the session is known to keep nothing yet.
func (h *History) snapshot(ctx context.Context, key Key, name string, none bool, take func() (string, error)) (s Snapshot, found bool, err error) {
	s.Name = name
	if !none {
		if s.Text, found, err = h.store.Snapshot(ctx, key, name); err != nil {
			return s, false, fmt.Errorf("read %s of session %s: %w", name, key, err)
		}
	}
	if !found {
		s.Text, err = take()
	}
	return s, found, err
}

// keepSnapshot stores s, if the session has begun.
func (h *History) keepSnapshot(ctx context.Context, key Key, s Snapshot) error {
	if err := h.store.KeepSnapshot(ctx, key, s); err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("keep %s of session %s: %w", s.Name, key, err)
	}
	return nil
}

// Delete removes a session with all that store keeps of it. A session that is
// in use stays: the error is then [ErrHeld].
func Delete(ctx context.Context, store Store, holds *Holds, key Key) error {
	release, err := holds.Try(key)
	if err != nil {
		return fmt.Errorf("delete session %s: %w", key, err)
	}
	defer release()
	if err := store.Delete(ctx, key); err != nil {
		return fmt.Errorf("delete session %s: %w", key, err)
	}
	return nil
}

// tidy joins neighbouring pieces of text and drops those that hold none, which
// providers refuse. What a vendor marked with data of its own stays as it is.
func tidy(parts []llm.Part) []llm.Part {
	out := make([]llm.Part, 0, len(parts))
	for _, p := range parts {
		if p.Kind == llm.KindText && p.Opaque == nil && len(out) > 0 {
			last := &out[len(out)-1]
			if last.Kind == llm.KindText && last.Opaque == nil && last.Origin == p.Origin {
				last.Text += p.Text
				continue
			}
		}
		out = append(out, p)
	}
	kept := out[:0]
	for _, p := range out {
		if p.Kind == llm.KindText && p.Opaque == nil && strings.TrimSpace(p.Text) == "" {
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// spoken returns content, or a text that says so when there is nothing in it
// that a model could read.
func spoken(content []llm.Part) []llm.Part {
	for _, p := range content {
		if p.Kind == llm.KindMedia && p.Media != nil || strings.TrimSpace(p.Text) != "" {
			return content
		}
	}
	return []llm.Part{llm.Text("(the tool returned nothing)")}
}
