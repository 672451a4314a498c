package session

import (
	"context"
	"errors"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

var (
	// ErrNotFound says that there is no such session, turn, round or call.
	ErrNotFound = errors.New("not found")
	// ErrCursor says that what a list was to go on behind is the end of none.
	ErrCursor = errors.New("it does not continue a list")
	// ErrHeld says that a run, of this process or another one, holds the session.
	ErrHeld = errors.New("the session is in use by a run")
	// ErrExists says that there is a session of that name already.
	ErrExists = errors.New("it exists already")
	// ErrUnended says that a turn has not ended, where only one that has will do.
	ErrUnended = errors.New("it has not ended yet")
)

// Store keeps rows and decides nothing. It is safe for concurrent use, by
// several processes too; that two of them don't run one session at once is the
// business of [Holds]. A method that writes has stored durably, or not at all,
// when it returns. Times come back in UTC with their nanoseconds.
type Store interface {
	// Begin stores a turn with the message, model, caller, origin and start of
	// t; a session that doesn't exist yet begins with it and gets title. Turns
	// that are still running in the session are closed first, as Interrupt does;
	// then the effects of t change its state.
	// A message that waited in the inbox under the turn's run leaves it.
	//
	// The turns of seed have ended and hold no calls. They are stored before t
	// in a session that doesn't exist yet; one that exists ignores them. They
	// are no runs: Runs doesn't list them. Search finds them at once.
	Begin(ctx context.Context, key Key, t Turn, title string, seed ...Turn) (Begun, error)
	// Called stores what r holds before any of its calls runs: all but the
	// outcomes and the end. Of the state, which later calls add to, it takes the
	// list of tools where r says that it is another one, so that the next turn goes
	// on with the list that was sent even if the process dies. The turn must be running, the number of the round
	// and the ids of its calls new in the session. What its model calls used
	// counts from here on, whatever becomes of the session.
	// Messages that r says to have joined leave the inbox. Snapshots are kept
	// with it, as KeepSnapshot does.
	Called(ctx context.Context, run string, r *agent.Round, kept ...Snapshot) error
	// Result stores the outcome of the call at index.
	Result(ctx context.Context, run string, round, index int, o tool.Outcome) error
	// Settled stores the outcomes of r as they are now, its end and its state.
	Settled(ctx context.Context, run string, r *agent.Round) error
	// Answered stores a round without calls and the end of its turn: what Called,
	// Settled and End do, all of it or nothing.
	Answered(ctx context.Context, run string, r *agent.Round, end agent.End, kept ...Snapshot) error
	// End stores how a turn ended, and what model calls used that belong to none
	// of its rounds. A turn that ended already keeps its first end.
	End(ctx context.Context, run string, end agent.End) error

	// Taken returns which of ids calls of the session have already.
	Taken(ctx context.Context, key Key, ids []string) ([]string, error)
	// Interrupt closes what a dead process left in the session: calls without
	// a result get the outcome that [Interrupted] makes, or [Unapproved] where they
	// asked for an approval that was not given, which ends with them; the effects
	// of calls that have one but were never settled are applied to the state,
	// below what Change made of it since their round began, and running turns end
	// as interrupted. It returns how many of each it closed.
	Interrupt(ctx context.Context, key Key, at time.Time) (turns, calls int, err error)
	// Change applies effects to the state of the session, which were made at a
	// time, and returns what comes of it. Where there is no such session it begins
	// as made, without a turn: with its title until the first turn brings one, its
	// caller, origin and time. Without made, ErrNotFound says so.
	Change(ctx context.Context, key Key, at time.Time, made *Session, effects ...tool.Effect) (tool.State, error)
	// Unfinished lists the sessions that have a running turn.
	Unfinished(ctx context.Context) ([]Key, error)
	// Snapshot returns what KeepSnapshot stored for the session under name.
	Snapshot(ctx context.Context, key Key, name string) (text string, ok bool, err error)
	// KeepSnapshot stores s in place of what was there under its name.
	// ErrNotFound says that there is no such session.
	KeepSnapshot(ctx context.Context, key Key, s Snapshot) error

	// Session returns one session with its state, or ErrNotFound.
	Session(ctx context.Context, key Key) (Session, error)
	// Sessions lists sessions, the last updated first. next continues the list
	// where it ends; it is empty at the end.
	Sessions(ctx context.Context, f Filter) (list []Session, next string, err error)
	// Turns returns the turns of a session numbered from first to last, both
	// included, in order; last 0 means to the end. ErrNotFound says that there
	// is no such session.
	Turns(ctx context.Context, key Key, first, last int, depth Depth) ([]Turn, error)
	// Content returns the bytes of media that came with their size and digest;
	// nil when they are no longer there, or damaged.
	Content(ctx context.Context, m *llm.Media) ([]byte, error)
	// Runs lists runs, the last started first, with next as in Sessions.
	Runs(ctx context.Context, f RunFilter) (list []Run, next string, err error)
	// Search finds messages of people and answers of models that hold all
	// words of the query, best match first. Turns that are still running are
	// not found.
	Search(ctx context.Context, q Query) ([]Hit, error)
	// Fork stores f, whose ForkOf says where it begins. Of f it takes the key,
	// the title, the origin, the caller and the time of creation. It begins with
	// all that the turns up to that point hold, the snapshots, and the state that
	// they left, in plan mode also when the other session is in it now, and may read what the other session could read then under refs.
	// The copies are no runs: Runs doesn't list them, and what they used counts in
	// the session where they ran. Search finds them where that is gone, or when it
	// is asked for the fork.
	//
	// ErrNotFound says that there is no such session or turn, ErrUnended that one
	// of the turns runs, ErrExists that the key is taken.
	Fork(ctx context.Context, f Session) error
	// Rename gives a session another title.
	Rename(ctx context.Context, key Key, title string) error
	// Delete removes a session with all that is kept of it but what it used,
	// which then belongs to no session.
	Delete(ctx context.Context, key Key) error
}

// Begun is the place of a new turn.
type Begun struct {
	New    bool       // the session began with it
	Turn   int        // its number
	Rounds int        // stored so far in the session
	Last   time.Time  // when something last happened in it before; zero when it is new
	State  tool.State // of the session
}

// Snapshot is a text that a session keeps under a name, as it was when the
// session began.
type Snapshot struct{ Name, Text string }

// Depth says how much of a turn's rounds is read. The bytes of images and files
// are read where it says so; else media have their size and digest, for which
// [Store.Content] has them.
type Depth int

const (
	// Heads reads no rounds.
	Heads Depth = iota
	// Traced reads rounds and calls without what was said: usage, target,
	// request, times, and of outcomes all but arguments, content and details.
	Traced
	// Spoken reads what a transcript needs: messages, why replies ended, and of
	// outcomes tool, status, times and content.
	Spoken
	// Told reads everything but the bytes of media.
	Told
	// Whole reads everything.
	Whole
)

// Filter chooses sessions. A zero field chooses all.
type Filter struct {
	Agent  string
	ID     string
	Origin tool.Origin
	Caller string    // id of who began it
	Title  string    // words that the title holds, see [TitleHolds]
	Since  time.Time // last updated then or later

	Limit int    // at most so many; 50 when 0
	After string // the next of the page before; ErrCursor says that it is none
}

// RunFilter chooses runs. A zero field chooses all.
type RunFilter struct {
	Run    string // exactly this one
	Agent  string
	ID     string // of the session
	Origin tool.Origin
	Caller string // id
	Status agent.Status
	Since  time.Time // started then or later

	Depth Depth
	Limit int    // at most so many; 50 when 0
	After string // the next of the page before; ErrCursor says that it is none
}

// DefaultLimit is how many rows a list holds when no limit is given.
const DefaultLimit = 50

// Query asks for messages and answers. Text is words, each of which must occur
// or begin a word that occurs, whatever its case and accents; words in double
// quotes must occur as they stand, one behind the other.
type Query struct {
	Text   string
	Agent  string // "" means all
	ID     string // of the session; "" means all
	Caller string // id of who began the session; "" means all
	Limit  int    // at most so many; 50 when 0
}

// Hit is a place that a [Query] found.
type Hit struct {
	Session Key       `json:"session"`
	Title   string    `json:"title"`
	Turn    int       `json:"turn"`
	Role    llm.Role  `json:"role"` // user or assistant
	Time    time.Time `json:"time"`
	Snippet string    `json:"snippet"` // the words around the first match, on one line
}
