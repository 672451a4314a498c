package session

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/tool"
)

// AllEnded, as [ForkOptions.Turn], means all turns but the one that runs.
const AllEnded = -1

// ForkOptions say what is forked where.
type ForkOptions struct {
	From   Key
	Turn   int            // the last turn that the fork begins with; 0 for none, or AllEnded
	ID     string         // of the fork; one is made when it is empty
	Origin tool.Origin    // what the fork is begun by
	By     auth.Principal // who asks for it
	Time   time.Time
}

// Fork makes a session that begins with the first turns of another one, whoever
// began that: it belongs to the same person and goes on as if the turns behind
// had never been. The other session stays as it is, and may be going on
// meanwhile. The first request of the fork repeats what the other one's turns
// sent to the model, byte for byte.
//
// The error is [ErrNotFound] when there is no such session that By may use, or
// no such turn, [ErrUnended] when a turn up to Turn still runs, and [ErrExists]
// when ID is taken.
func Fork(ctx context.Context, store Store, o ForkOptions) (Session, error) {
	fail := func(err error) (Session, error) { return Session{}, fmt.Errorf("fork session %s: %w", o.From, err) }
	list, _, err := store.Sessions(ctx, Filter{Agent: o.From.Agent, ID: o.From.ID, Limit: 1})
	if err != nil {
		return fail(err)
	}
	if len(list) == 0 || !list[0].MayUse(o.By) {
		return fail(ErrNotFound)
	}
	from := list[0]
	if o.Turn == AllEnded {
		o.Turn = from.Turns
		if from.Status == agent.Running {
			o.Turn--
		}
	}
	if o.ID == "" {
		o.ID = NewID()
	}
	f := Session{
		Key: Key{Agent: from.Agent, ID: o.ID}, Title: forkTitle(from.Title), Origin: o.Origin, Caller: from.Caller,
		Created: o.Time, ForkOf: &Point{Session: from.ID, Turn: o.Turn},
	}
	if err := f.Check(); err != nil {
		return fail(err)
	}
	if err := store.Fork(ctx, f); err != nil {
		return fail(err)
	}
	f, err = store.Session(ctx, f.Key)
	if err != nil {
		return fail(err)
	}
	return f, nil
}

const (
	forkMark  = " (fork"
	maxForked = 100 // of the title that the mark follows, in code points
)

// forkTitle is the title of a fork of a session with a title: "Title (fork)",
// and of a fork of that "Title (fork 2)".
func forkTitle(title string) string {
	n := 1
	if at := strings.LastIndex(title, forkMark); at > 0 {
		switch mark := title[at+len(forkMark):]; {
		case mark == ")":
			title, n = title[:at], 2
		case strings.HasPrefix(mark, " ") && strings.HasSuffix(mark, ")"):
			if was, err := strconv.Atoi(mark[1 : len(mark)-1]); err == nil && was > 1 {
				title, n = title[:at], was+1
			}
		}
	}
	title = shorten(title, maxForked) + forkMark
	if n > 1 {
		title += " " + strconv.Itoa(n)
	}
	return title + ")"
}
