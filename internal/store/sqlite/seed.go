package sqlite

import (
	"errors"
	"fmt"

	"github.com/goclaw/goclaw/internal/agent/session"
)

// seedTurn is a turn that a client told, as its columns hold it.
type seedTurn struct {
	session.Turn
	message string
	media   carried
	rounds  []roundRow
}

// seedTurns are the turns that a session begins with.
type seedTurns []seedTurn

func encodeSeed(turns []session.Turn) (seedTurns, error) {
	var list seedTurns
	for _, turn := range turns {
		one := seedTurn{Turn: turn}
		var err error
		if one.message, err = encode(one.media.message(turn.Message, turn.Started)); err != nil {
			return nil, err
		}
		for i := range turn.Rounds {
			if len(turn.Rounds[i].Calls) > 0 {
				return nil, errors.New("a turn that was told has calls")
			}
			row, err := encodeRound(&turn.Rounds[i])
			if err != nil {
				return nil, err
			}
			one.rounds = append(one.rounds, row)
		}
		list = append(list, one)
	}
	return list, nil
}

// rounds is how many rounds the turns have.
func (s seedTurns) rounds() int {
	n := 0
	for _, one := range s {
		n += len(one.rounds)
	}
	return n
}

// put stores the turns in the session with the row id, which has none yet, and
// returns how many turns and rounds that were.
func (s seedTurns) put(t *tx, id int64) (turns, rounds int, err error) {
	for _, one := range s {
		turns++
		turn, err := t.insert("INSERT INTO turns (session, number, run, seeded, status, model, origin, started, ended, message, asked, "+principalColumns+
			") VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			args([]any{
				id, turns, fmt.Sprintf("seed:%d:%d", id, turns), string(one.Status), one.Model, string(one.Origin), nano(one.Started), nano(one.Ended), one.message, one.Asked,
			}, principal(one.Caller))...)
		if err == nil {
			err = errors.Join(one.media.put(t, id), indexWords(t, 2*turn, one.Message.Text()))
		}
		if err != nil {
			return 0, 0, err
		}
		for i, row := range one.rounds {
			rounds++
			r := &one.Rounds[i]
			if r.Number != rounds {
				return 0, 0, fmt.Errorf("round %d is not the next one of its session", r.Number)
			}
			round, err := row.put(t, id, turn, r, r.Ended)
			if err == nil {
				err = indexWords(t, 2*round+1, r.Reply.Message.Text())
			}
			if err != nil {
				return 0, 0, err
			}
		}
	}
	return turns, rounds, nil
}
