package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/goclaw/goclaw/internal/config"
)

// Instance is a gateway that serves, as it tells other processes of its home
// folder.
type Instance struct {
	// Address is host:port at which programs of this machine reach it.
	Address string `json:"address"`
	// URL is where people open it, without a slash at the end.
	URL     string    `json:"url"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Version string    `json:"version"`
	// Config is the digest of the configuration that it started with.
	Config string `json:"config,omitempty"`
}

// ConfigChanged says how config.yaml is not what a gateway started with, whose
// configuration had the digest: a gateway takes up no change while it runs. It
// is "" when the file is the same, and of one that told no digest.
func ConfigChanged(o config.Options, digest string) string {
	if digest == "" {
		return ""
	}
	changed, err := config.Changed(o, digest)
	file := filepath.Join(o.Home, config.FileName)
	var faults config.Faults
	switch {
	case errors.As(err, &faults):
		return fmt.Sprintf("%s has changed since the gateway started and can't be used now: %s; the gateway goes on with what it started with", file, faults.Brief())
	case err != nil:
		return fmt.Sprintf("it is not known whether %s has changed since the gateway started: %v", file, err)
	case changed:
		return file + " has changed since the gateway started: it goes on with what it started with until it is started again"
	}
	return ""
}

const (
	stateFolder  = "state"
	instanceFile = "gateway.json"
	lockFile     = "gateway.lock"
)

// lockWithin is how long a starting gateway waits for the lock, which somebody
// who only looks may hold for a moment.
const lockWithin = 300 * time.Millisecond

// RunningError says that another gateway serves the home folder.
type RunningError struct {
	Home string
	// Instance is what that one wrote down; nil while it starts or stops.
	Instance *Instance
}

func (e *RunningError) Error() string {
	if e.Instance == nil {
		return fmt.Sprintf("another gateway is just starting or stopping on %s: look with goclaw status, or try again in a moment", e.Home)
	}
	return fmt.Sprintf("a gateway serves %s already: %s (process %d, since %s); stop it first, or take another home folder with --home",
		e.Home, e.Instance.URL, e.Instance.PID, e.Instance.Started.Local().Format("2006-01-02 15:04"))
}

// Running returns the gateway that serves a home folder, as it wrote itself
// down; ok is false when none does, and i then is the last one when that died
// without stopping, else zero. One that just starts or stops has an empty
// address. What a dead process left says nothing of who runs: the lock that
// dies with the process decides.
func Running(home string) (i Instance, ok bool, err error) {
	path := filepath.Join(home, stateFolder, lockFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return Instance{}, false, nil
	}
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	if err != nil {
		return Instance{}, false, fmt.Errorf("look for a gateway: %w", err)
	}
	if free {
		if err := lock.Unlock(); err != nil {
			return Instance{}, false, fmt.Errorf("look for a gateway: %w", err)
		}
		i, err = readInstance(home)
		if err != nil {
			// Nothing was left, or nothing that says who it was.
			return Instance{}, false, nil
		}
		return i, false, nil
	}
	i, err = readInstance(home)
	if errors.Is(err, fs.ErrNotExist) {
		return Instance{}, true, nil
	}
	return i, err == nil, err
}

func readInstance(home string) (Instance, error) {
	data, err := os.ReadFile(filepath.Join(home, stateFolder, instanceFile))
	if err != nil {
		return Instance{}, fmt.Errorf("read where the gateway is: %w", err)
	}
	var i Instance
	if err := json.Unmarshal(data, &i); err != nil {
		return Instance{}, fmt.Errorf("read where the gateway is: %s: %w", instanceFile, err)
	}
	return i, nil
}

// claim is the hold of a gateway on its home folder.
type claim struct {
	home string
	lock *flock.Flock
}

// claimHome takes the home folder for the one gateway that may serve it. The
// error is a [*RunningError] when another one has it.
func claimHome(ctx context.Context, home string) (*claim, error) {
	dir := filepath.Join(home, stateFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("claim the home folder: %w", err)
	}
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o600))
	within, cancel := context.WithTimeout(ctx, lockWithin)
	defer cancel()
	ours, err := lock.TryLockContext(within, 10*time.Millisecond)
	switch {
	case ours:
	case err != nil && within.Err() == nil || ctx.Err() != nil:
		return nil, fmt.Errorf("claim the home folder: %w", err)
	default:
		running := &RunningError{Home: home}
		if i, err := readInstance(home); err == nil {
			running.Instance = &i
		}
		return nil, running
	}
	c := &claim{home: home, lock: lock}
	// What a dead one left would send people to a port that is somebody else's.
	if err := c.withdraw(); err != nil {
		return nil, errors.Join(err, c.release())
	}
	return c, nil
}

// announce writes down where the gateway is, in one step.
func (c *claim) announce(i Instance) (err error) {
	data, err := json.Marshal(i)
	if err != nil {
		return fmt.Errorf("write down where the gateway is: %w", err)
	}
	// Made with mode 0600.
	tmp, err := os.CreateTemp(filepath.Join(c.home, stateFolder), "."+instanceFile+".*")
	if err != nil {
		return fmt.Errorf("write down where the gateway is: %w", err)
	}
	_, err = tmp.Write(append(data, '\n'))
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(c.home, stateFolder, instanceFile))
	}
	if err != nil {
		return fmt.Errorf("write down where the gateway is: %w", errors.Join(err, os.Remove(tmp.Name())))
	}
	return nil
}

// withdraw takes back what announce wrote.
func (c *claim) withdraw() error {
	err := os.Remove(filepath.Join(c.home, stateFolder, instanceFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("take back where the gateway was: %w", err)
	}
	return nil
}

// release gives the home folder back. The lock's file stays and means nothing.
func (c *claim) release() error { return c.lock.Unlock() }
