package session

// NewFileHolds returns holds that lock as systems do that have nothing better
// than a file per session.
func NewFileHolds(dir string) *Holds { return newHolds(files{dir}) }
