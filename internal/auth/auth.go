// Package auth says who acts: principals, their roles, and the tokens by which
// a program or a browser shows whom it acts for. It imports nothing of ours, so
// that every room can speak of callers. Tokens are shown once, when they are
// made; the state database keeps only their hashes, behind [Users].
//
// A program shows an API token. A person opens a link, whose code [Redeem]
// changes into the session that the browser shows from then on as its cookie.
// [Verify] says whom either stands for.
//
// Start reading at [Principal], then [Verify].
package auth

// Role is what a caller may do in general.
type Role string

const (
	Admin Role = "admin"
	User  Role = "user"
	// System is the role of work that acts for no one in particular: schedules
	// and procedures that an admin wrote.
	System Role = "system"
)

// Valid reports whether r is one of the roles.
func (r Role) Valid() bool { return r == Admin || r == User || r == System }

// localPrefix begins the ids of those who work on the command line of this
// machine without saying who they are.
const localPrefix = "local-"

// LocalID is the id of who works on the command line of this machine in the
// role, and needs no account.
func (r Role) LocalID() string { return localPrefix + string(r) }

// Principal is whoever a run acts for. The zero value is nobody.
type Principal struct {
	ID    string `json:"id"`
	Name  string `json:"name,omitempty"`
	Role  Role   `json:"role"`
	Human bool   `json:"human,omitempty"` // a person is at the other end
}

// Privileged reports whether p may do what is kept from users: an admin, or
// the system acting from work that an admin wrote.
func (p Principal) Privileged() bool { return p.Role == Admin || p.Role == System }
