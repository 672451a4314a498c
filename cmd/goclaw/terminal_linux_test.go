package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/goclaw/goclaw/internal/cli/term/termtest"
)

// terminals reports whether scripts can run programs on a terminal.
const terminals = true

// terminal is a program on a pseudo-terminal, and what a person sees of it.
type terminal struct {
	screen  *termtest.Screen
	master  *os.File
	cmd     *exec.Cmd
	before  unix.Termios
	tty     *os.File
	mu      sync.Mutex
	changed chan struct{} // closed when it writes something
}

// terminalCommands are the commands by which a script sits at a terminal:
//
//	terminal WIDTHxHEIGHT PROGRAM ARGS…   start a program on it
//	type TEXT                             with \r, \x1b and the like
//	see REGEXP                            wait until it matches what was shown since the start; ! see: it doesn't now
//	view REGEXP                           the same for what stands on the screen
//	resize WIDTHxHEIGHT
//	hangup                                the terminal is gone
//	signal NAME                           TERM, or what else the program gets
//	ends STATUS                           wait for the end; the terminal is as it was
func terminalCommands(cmds map[string]func(*testscript.TestScript, bool, []string)) {
	var mu sync.Mutex
	open := map[*testscript.TestScript]*terminal{}
	of := func(ts *testscript.TestScript) *terminal {
		mu.Lock()
		defer mu.Unlock()
		t := open[ts]
		if t == nil {
			ts.Fatalf("no terminal was opened")
		}
		return t
	}
	cmds["terminal"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < 2 {
			ts.Fatalf("usage: terminal WIDTHxHEIGHT PROGRAM ARGS...")
		}
		width, height := size(ts, args[0])
		t, err := start(ts, width, height, args[1:])
		ts.Check(err)
		mu.Lock()
		open[ts] = t
		mu.Unlock()
		ts.Defer(t.kill)
	}
	cmds["type"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: type TEXT")
		}
		text, err := strconv.Unquote(`"` + strings.ReplaceAll(args[0], `"`, `\"`) + `"`)
		ts.Check(err)
		_, err = of(ts).master.WriteString(text)
		ts.Check(err)
	}
	cmds["see"] = func(ts *testscript.TestScript, neg bool, args []string) {
		of(ts).see(ts, neg, args, (*termtest.Screen).Text)
	}
	cmds["view"] = func(ts *testscript.TestScript, neg bool, args []string) {
		of(ts).see(ts, neg, args, (*termtest.Screen).View)
	}
	cmds["resize"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: resize WIDTHxHEIGHT")
		}
		width, height := size(ts, args[0])
		t := of(ts)
		t.screen.Resize(width, height)
		ts.Check(setSize(t.master, width, height))
	}
	cmds["hangup"] = func(ts *testscript.TestScript, neg bool, args []string) {
		t := of(ts)
		ts.Check(t.tty.Close())
		ts.Check(t.master.Close())
	}
	cmds["signal"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: signal NAME")
		}
		ts.Check(of(ts).cmd.Process.Signal(unix.SignalNum("SIG" + args[0])))
	}
	cmds["ends"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: ends STATUS")
		}
		of(ts).ends(ts, args[0])
	}
}

func size(ts *testscript.TestScript, s string) (width, height int) {
	if _, err := fmt.Sscanf(s, "%dx%d", &width, &height); err != nil {
		ts.Fatalf("size %q: %v", s, err)
	}
	return width, height
}

func setSize(f *os.File, width, height int) error {
	return unix.IoctlSetWinsize(int(f.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(width), Row: uint16(height)})
}

// start opens a terminal and runs a program on it.
func start(ts *testscript.TestScript, width, height int, args []string) (*terminal, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		return nil, err
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return nil, err
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	if err := setSize(master, width, height); err != nil {
		return nil, err
	}
	before, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		return nil, err
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return nil, err
	}
	t := &terminal{screen: termtest.New(width, height), master: master, tty: tty, before: *before, changed: make(chan struct{})}
	t.cmd = &exec.Cmd{
		Path: path, Args: args, Dir: ts.MkAbs("."), Stdin: tty, Stdout: tty, Stderr: tty,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Setctty: true},
	}
	for _, name := range []string{"PATH", "HOME", "GOCLAW_HOME", "TERM", "NO_COLOR", "TERM_PROGRAM", "MODEL_URL", "WORK", "TMPDIR"} {
		if v := ts.Getenv(name); v != "" {
			t.cmd.Env = append(t.cmd.Env, name+"="+v)
		}
	}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	go t.read()
	return t, nil
}

// read shows what the program writes, until the terminal is gone.
func (t *terminal) read() {
	buf := make([]byte, 4096)
	for {
		n, err := t.master.Read(buf)
		if n > 0 {
			_, _ = t.screen.Write(buf[:n]) // never fails
			t.tell()
		}
		if err != nil {
			return
		}
	}
}

func (t *terminal) tell() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.changed)
	t.changed = make(chan struct{})
}

func (t *terminal) next() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changed
}

// patience is how long a script waits for something to be shown.
const patience = 30 * time.Second

// see waits until what is shown matches.
func (t *terminal) see(ts *testscript.TestScript, neg bool, args []string, shown func(*termtest.Screen) string) {
	if len(args) != 1 {
		ts.Fatalf("usage: see REGEXP")
	}
	re, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	late := time.After(patience)
	for {
		changed := t.next()
		text := shown(t.screen)
		if re.MatchString(text) != neg {
			return
		}
		if neg {
			ts.Fatalf("%s is shown:\n%s", args[0], text)
		}
		select {
		case <-changed:
		case <-late:
			ts.Fatalf("%s is not shown:\n%s", args[0], text)
		}
	}
}

// ends waits for the program's end and checks what it leaves behind.
func (t *terminal) ends(ts *testscript.TestScript, status string) {
	done := make(chan error, 1)
	go func() { done <- t.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(patience):
		ts.Fatalf("the program goes on:\n%s", t.screen.Text())
	}
	if got := strconv.Itoa(t.cmd.ProcessState.ExitCode()); got != status {
		ts.Fatalf("exit status %s, want %s:\n%s", got, status, t.screen.Text())
	}
	after, err := unix.IoctlGetTermios(int(t.tty.Fd()), unix.TCGETS)
	if err != nil {
		return // it was hung up
	}
	if *after != t.before {
		ts.Fatalf("the terminal's mode is %+v, and was %+v", *after, t.before)
	}
	late := time.After(patience)
	for changed := t.next(); !t.screen.Restored(); changed = t.next() {
		select {
		case <-changed: // its last words come after its end
		case <-late:
			ts.Fatalf("the cursor, wrapping or pasting is not as it was")
		}
	}
	if f := t.screen.Faults(); len(f) > 0 {
		ts.Fatalf("the terminal got %v", f)
	}
}

// kill ends what a script left behind.
func (t *terminal) kill() {
	if t.cmd.ProcessState == nil {
		_ = t.cmd.Process.Kill()
	}
	_ = t.tty.Close()
	_ = t.master.Close()
}
