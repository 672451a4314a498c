//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts the child in a group of its own: a Ctrl-C for us is not one for
// it, and what it starts ends with it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL) // it may have ended by itself
	_ = p.Kill()
}
