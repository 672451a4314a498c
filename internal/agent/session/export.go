package session

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// ExportJSONL writes a session as JSON objects, one per line and each with a
// type: first the session, then each turn, followed by its rounds, each
// followed by its calls. The objects hold all that is stored.
func ExportJSONL(ctx context.Context, w io.Writer, store Store, key Key) error {
	return ExportTold(ctx, w, store, key, func(line any) any { return line })
}

// ExportTold is [ExportJSONL] for somebody who may not be told everything: told
// gives the form of each object in which it is written.
func ExportTold(ctx context.Context, w io.Writer, store Store, key Key, told func(line any) any) error {
	s, err := store.Session(ctx, key)
	if err != nil {
		return fmt.Errorf("export session %s: %w", key, err)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	put := func(line any) {
		if err == nil {
			err = enc.Encode(told(line))
		}
	}
	put(struct {
		Type string `json:"type"`
		Session
	}{"session", s})
	for t, readErr := range eachTurn(ctx, store, key) {
		if readErr != nil {
			return fmt.Errorf("export session %s: %w", key, readErr)
		}
		put(struct {
			Type string `json:"type"`
			Turn
		}{"turn", t})
		for _, r := range t.Rounds {
			put(roundLine{
				Type: "round", Turn: t.Number, Number: r.Number, Before: r.Before, Reply: r.Reply, Request: r.Request,
				Attempts: r.Attempts, Notices: r.Notices, Retracted: r.Retracted,
				Started: r.Started, FirstToken: r.FirstToken, Replied: r.Replied, Ended: r.Ended,
			})
			for i, o := range r.Outcomes {
				put(callLine{Type: "call", Turn: t.Number, Round: r.Number, Index: i, Outcome: o})
			}
		}
	}
	if err != nil {
		return fmt.Errorf("export session %s: %w", key, err)
	}
	return nil
}

type roundLine struct {
	Type       string             `json:"type"`
	Turn       int                `json:"turn"`
	Number     int                `json:"number"`
	Before     []llm.Message      `json:"before,omitempty"`
	Reply      llm.Reply          `json:"reply"`
	Request    agent.RequestFacts `json:"request"`
	Attempts   []llm.Attempt      `json:"attempts,omitempty"`
	Notices    []agent.Told       `json:"notices,omitempty"`
	Retracted  int                `json:"retracted,omitempty"`
	Started    time.Time          `json:"started,omitzero"`
	FirstToken time.Time          `json:"first_token,omitzero"`
	Replied    time.Time          `json:"replied,omitzero"`
	Ended      time.Time          `json:"ended,omitzero"`
}

type callLine struct {
	Type    string       `json:"type"`
	Turn    int          `json:"turn"`
	Round   int          `json:"round"`
	Index   int          `json:"index"`
	Outcome tool.Outcome `json:"outcome"`
}

// exportStep is how many turns an export holds in memory.
const exportStep = 32

// eachTurn yields the turns of a session whole, reading some at a time.
func eachTurn(ctx context.Context, store Store, key Key) iter.Seq2[Turn, error] {
	return func(yield func(Turn, error) bool) {
		for first := 1; ; first += exportStep {
			turns, err := store.Turns(ctx, key, first, first+exportStep-1, Whole)
			if err != nil {
				yield(Turn{}, err)
				return
			}
			for _, t := range turns {
				if !yield(t, nil) {
					return
				}
			}
			if len(turns) < exportStep {
				return
			}
		}
	}
}
