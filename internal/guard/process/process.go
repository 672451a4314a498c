// Package process starts other programs and ends them: each with an environment
// that was chosen for it, in a group of its own that is killed as a whole, and
// waited for.
//
// A [Child] lives until [Child.Wait] has returned, which whoever started it
// calls once, after it has read what it wants of the output. [Child.Kill] may be
// called at any time, by anybody. Start reading at [Start].
package process

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Command is a program to start. It inherits nothing: neither environment nor
// files.
type Command struct {
	Path string
	Name string   // by which the program knows itself; Path when empty
	Args []string // without the name
	Env  []string
	Dir  string // empty: where this process is
}

// waitDelay is how long Wait lets others hold on to the child's output after
// it has ended.
const waitDelay = time.Second

// Child is a program that was started.
type Child struct {
	In  io.WriteCloser
	Out io.Reader

	cmd *exec.Cmd
	err head
}

// Start starts a program.
func Start(c Command) (*Child, error) {
	child := &Child{cmd: exec.Command(c.Path, c.Args...)}
	if c.Name != "" {
		child.cmd.Args[0] = c.Name
	}
	child.cmd.Env, child.cmd.Dir = append([]string{}, c.Env...), c.Dir
	child.cmd.WaitDelay = waitDelay
	child.cmd.Stderr = &child.err
	ownGroup(child.cmd)
	in, err := child.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	out, err := child.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	child.In, child.Out = in, out
	if err := child.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, errors.Join(err, in.Close(), out.Close()))
	}
	return child, nil
}

// Kill ends the program and all that it started, at once.
func (c *Child) Kill() { killGroup(c.cmd.Process) }

// Wait waits until the program has ended. The error tells its exit status when
// that is not 0, with the beginning of what it wrote to standard error.
func (c *Child) Wait() error {
	err := c.cmd.Wait()
	if err == nil {
		return nil
	}
	if said := c.err.String(); said != "" {
		return fmt.Errorf("%w: %s", err, said)
	}
	return err
}

// head keeps the beginning of what is written: where a Go program breaks, that
// tells why.
type head struct {
	mu sync.Mutex
	b  []byte
}

const maxHead = 500 // bytes

func (t *head) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p[:min(len(p), maxHead-len(t.b))]...)
	return len(p), nil
}

func (t *head) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.b), ""))
}
