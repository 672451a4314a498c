// Package auth says who acts: principals, their roles, and the tokens by which
// a program shows whom it acts for. It imports nothing of ours, so that every
// room can speak of callers. Tokens are shown once, when they are made; the
// state database keeps only their hashes, behind [Users].
//
// Start reading at [Principal].
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
