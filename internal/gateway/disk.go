package gateway

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/goclaw/goclaw/internal/gateway/builtin"
)

const (
	// disksEvery is how often the disks are looked at, and how soon it is
	// noticed that a state database can be written again.
	disksEvery = 5 * time.Second
	// lowSpace is how little is left on a disk when an admin should make room.
	// The state database's log alone may take as much.
	lowSpace = 64 << 20
)

// DiskProblem is what is wrong with where the gateway writes.
type DiskProblem struct{ Detail, Fix string }

func (p DiskProblem) String() string { return p.Detail + ": " + p.Fix }

// DiskProblems looks whether the home folder and the workspaces can be written,
// and whether their disks have room. It takes microseconds where a disk answers.
func (g *Gateway) DiskProblems() []DiskProblem {
	dirs := []string{g.opts.Home}
	for _, a := range g.Config.Agents() {
		dirs = append(dirs, a.Workspace)
	}
	return diskProblems(dirs, spaceOf)
}

func diskProblems(dirs []string, spaceOf func(dir string) (space, bool, error)) []DiskProblem {
	var list []DiskProblem
	seen, low := map[string]bool{}, map[uint64]bool{}
	for _, dir := range dirs {
		if seen[dir] {
			continue
		}
		seen[dir] = true
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue // it is made when it is needed, or whoever needs it says what is wrong
		}
		if err := mayWrite(dir); err != nil {
			list = append(list, DiskProblem{fmt.Sprintf("the folder %s can't be written (%v)", dir, err), "check its owner, its permissions and how its disk is mounted"})
			continue
		}
		s, known, err := spaceOf(dir)
		switch {
		case err != nil:
			list = append(list, DiskProblem{fmt.Sprintf("the disk of %s tells nothing of its room (%v)", dir, err), "check the disk"})
		case known && s.free < lowSpace && !low[s.disk]:
			low[s.disk] = true
			list = append(list, DiskProblem{fmt.Sprintf("the disk of %s has only %d MiB left", dir, s.free>>20), "make room on it; when it is full, nothing is kept of what is said"})
		}
	}
	return list
}

// space is what a disk has left for this process, in bytes.
type space struct {
	free uint64
	disk uint64 // which disk that is
}

// Touch tries whether something can be stored in the state database.
func (g *Gateway) Touch(ctx context.Context) error { return g.store.Touch(ctx) }

// storeFault is why nothing can be stored at the moment; nil when, as far as
// was tried, it can.
func (g *Gateway) storeFault() error {
	if err := g.store.Fault(); err != nil {
		return fmt.Errorf("nothing can be stored in %s: %w", g.opts.statePath(), err)
	}
	return nil
}

// watchDisks looks at the disks for the status, and tries whether something can
// be stored again where that failed: who waits until the gateway is ready says
// nothing that would find it out. The log is told when it begins and ends.
func (s *service) watchDisks(ctx context.Context) error {
	list := s.DiskProblems()
	s.disks.Store(&list)
	fault := s.store.Fault()
	if fault == nil && !s.faulty {
		return nil
	}
	if !s.faulty {
		s.faulty = true
		s.log.Error("nothing can be stored", "file", s.Gateway.opts.statePath(), "err", fault)
	}
	if err := s.Touch(ctx); err != nil {
		if builtin.IsStoreFault(err) {
			return nil // it goes on
		}
		return err
	}
	s.faulty = false
	s.log.Info("it can be stored again", "file", s.Gateway.opts.statePath())
	return nil
}
