package run_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/agent/run"
)

// The test binary is also the process that is killed: with -child it takes
// messages on the folder given, says so, and thinks until it dies.
var child = flag.String("child", "", "the folder on which to be another process")

func beChild(dir string) {
	if err := think(dir); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

func think(dir string) error {
	ctx := context.Background()
	p, o, err := begin(ctx, dir, run.Queue)
	if err != nil {
		return err
	}
	thinking := make(chan struct{}, 1)
	p.thinks, p.asked = time.Hour, func() { thinking <- struct{}{} }
	r := run.New(o)
	if err := r.Recover(ctx); err != nil {
		return err
	}
	for _, text := range []string{"one", "two", "three"} {
		started, err := r.Start(ask("s", text))
		if err != nil {
			return err
		}
		<-started.Kept()
	}
	<-thinking
	fmt.Println("ready")
	select {} // until it is killed
}

// A process is killed with SIGKILL while one of its messages is worked on and
// two wait; the next one answers these two, once.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 { // the second one has the first one's messages, too
		cmd := exec.Command(exe, "-child="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatalf("child %d said %q (%v)", n, line, err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if cmd.Wait() == nil {
			t.Fatal("the child ended by itself")
		}
	}
	p := born(t, dir, run.Queue, func(p *process, _ *run.Options) { p.thinks = time.Millisecond })
	waiting := p.waits()
	p.recover()
	for _, id := range waiting {
		<-p.find(id).Done()
	}
	same(t, "the session", p.told("s"), []string{
		"one: (interrupted)", "two: (interrupted)",
		"three: three (done)", "one: one (done)", "two: two (done)", "three: three (done)",
	})
	same(t, "the model", strings.Join(p.seen, " "), "three one two three")
	same(t, "the inbox", p.waits(), []string(nil))
}
