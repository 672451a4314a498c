// Package session keeps conversations: what a person said, what models
// answered, which tools they called and what came of it, how each turn ended.
//
// A session belongs to an agent and is named by a [Key]. It consists of turns,
// a turn of rounds, a round of a reply and its calls; a round is also the
// trace, there is no second record. [History] implements [agent.History] on a
// [Store], which the rooms under internal/store implement and package
// sessiontest checks. Each step is stored before the next one begins, so a
// crash loses at most what was in flight; what it left open is closed as
// interrupted when the session is next used, or by [History.Sweep], and never
// run again.
//
// [Thread] turns rows into the transcript that goes to a model. It is valid
// for every provider whatever happened: roles alternate, each call has exactly
// one result right behind it, nothing is empty. [Trim] shortens it and keeps
// it so.
//
// Only one process may run a session at a time. Whoever runs one takes it from
// [Holds] first and gives it back at the end; a process that dies gives back
// all it held. Nothing here starts a goroutine or needs closing.
//
// Start reading at [History.Begin], then [Thread].
package session

import (
	"cmp"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Key names a session. Ids are unique within an agent only: "work" of two
// agents is two sessions.
type Key struct {
	Agent string `json:"agent"`
	ID    string `json:"id"`
}

// KeyOf is the session that a turn belongs to.
func KeyOf(s tool.Scope) Key { return Key{Agent: s.Agent(), ID: s.Session()} }

func (k Key) String() string { return k.Agent + "/" + k.ID }

// Compare orders keys by agent, then by session.
func (k Key) Compare(o Key) int {
	return cmp.Or(strings.Compare(k.Agent, o.Agent), strings.Compare(k.ID, o.ID))
}

// Check reports what is wrong with k, if anything. Both parts are 1 to 128
// letters, digits and _ . : -, and begin with a letter or digit.
func (k Key) Check() error {
	if !isName(k.Agent) {
		return fmt.Errorf("agent name %q: %w", k.Agent, errName)
	}
	if !isName(k.ID) {
		return fmt.Errorf("session name %q: %w", k.ID, errName)
	}
	return nil
}

var errName = errors.New("it must begin with a letter or digit and hold at most 128 letters, digits and _ . : -")

// isName is not a regular expression because compiling one costs a quarter of
// a millisecond at every start.
func isName(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && (c == '_' || c == '.' || c == ':' || c == '-'):
		default:
			return false
		}
	}
	return true
}

var encoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// NewID returns a random id of 16 lower-case letters and digits (80 bits).
func NewID() string {
	var b [10]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return strings.ToLower(encoding.EncodeToString(b[:]))
}

// Session is one conversation with one agent.
type Session struct {
	Key
	Title   string         `json:"title"`
	Origin  tool.Origin    `json:"origin"`
	Caller  auth.Principal `json:"caller"` // who began it
	Created time.Time      `json:"created"`
	Updated time.Time      `json:"updated"`
	Turns   int            `json:"turns"`
	Rounds  int            `json:"rounds"`
	Usage   llm.Usage      `json:"usage"`
	USD     *float64       `json:"usd,omitempty"` // what it cost when it was used; nil when some price was unknown
	Status  agent.Status   `json:"status"`        // of the last turn; done when there is none yet
	ForkOf  *Point         `json:"fork_of,omitempty"`
	Plan    bool           `json:"plan,omitempty"` // plan mode is on

	// State is what its rounds left. [Store.Session] fills it in, lists don't.
	State *tool.State `json:"state,omitempty"`
}

// Point is where a fork left the session of the same agent that it began as.
type Point struct {
	Session string `json:"session"` // the id of that one, which may be deleted by now
	Turn    int    `json:"turn"`    // its last turn that the fork begins with; 0 for none
}

// MayUse reports whether p may look at the session and go on with it: whoever
// began it may, and so may callers with privileges.
func (s Session) MayUse(p auth.Principal) bool {
	return p.Privileged() || p.ID != "" && p.ID == s.Caller.ID
}

// Turn is one message of a person and everything until the agent's final
// answer. The run that handles it is named in Run.
//
// Turns that are Seeded are the conversation that a session began with, as a
// client told it. No run handled them: Run is empty, they used nothing, and
// when they happened is unknown, so their times are that of being told.
//
// Turns that are Copied are those that a fork began with. Run names the run
// that handled the original, where what it used counts too.
type Turn struct {
	Number  int            `json:"number"` // within the session, from 1
	Run     string         `json:"run"`
	Seeded  bool           `json:"seeded,omitempty"`
	Copied  bool           `json:"copied,omitempty"`
	Message llm.Message    `json:"message"`
	Asked   string         `json:"-"`               // what the client asked, in short: two requests that ask the same have the same; empty when it is unknown
	Model   string         `json:"model,omitempty"` // who answered last; before any answer, what was asked for
	Status  agent.Status   `json:"status"`
	Error   string         `json:"error,omitempty"`
	Caller  auth.Principal `json:"caller"`
	Origin  tool.Origin    `json:"origin"`
	Started time.Time      `json:"started"`
	Ended   time.Time      `json:"ended,omitzero"`
	Usage   llm.Usage      `json:"usage"`
	USD     *float64       `json:"usd,omitempty"` // what it cost when it was used; nil when some price was unknown

	// Effects change the session's state when the turn begins. They are not kept
	// with it.
	Effects []tool.Effect `json:"-"`
	// Rounds are filled in as the [Depth] asks. Outcomes holds one outcome per
	// call; that of a call without a result yet has no status. State is not
	// kept by round.
	Rounds []agent.Round `json:"-"`
}

// Run is a turn with the session that it belongs to.
type Run struct {
	Session Key `json:"session"`
	Turn
}

// Title makes a session's title from its first message: the first words, at
// most 60 code points, on one line, cut between graphemes and where possible
// between words. Control characters are left out, because titles are printed
// to terminals.
func Title(m llm.Message) string {
	if title := shorten(OneLine(m.Text()), maxTitle); title != "" {
		return title
	}
	for _, p := range m.Parts {
		if p.Media != nil {
			name := p.Media.Name[strings.LastIndexByte(p.Media.Name, '/')+1:]
			if name = shorten(OneLine(name), maxTitle); name != "" {
				return name
			}
		}
	}
	return "Untitled"
}

const maxTitle = 60
