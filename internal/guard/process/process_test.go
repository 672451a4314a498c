//go:build unix

package process_test

import (
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/goclaw/goclaw/internal/guard/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, script string, env ...string) *process.Child {
	t.Helper()
	c, err := process.Start(process.Command{Path: "/bin/sh", Args: []string{"-c", script}, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAChildSpeaksAndEnds(t *testing.T) {
	t.Parallel()
	c := start(t, `read line; echo "got $line, $X, ${HOME:-no home}"; echo oops >&2; exit 3`, "X=y")
	if _, err := io.WriteString(c.In, "hello\n"); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(c.Out)
	if err != nil || string(out) != "got hello, y, no home\n" {
		t.Errorf("said %q, %v", out, err)
	}
	if err := c.Wait(); err == nil || err.Error() != "exit status 3: oops" {
		t.Errorf("ended with %v", err)
	}
}

func TestAChildMayHaveAnotherName(t *testing.T) {
	t.Parallel()
	c, err := process.Start(process.Command{Path: "/bin/sh", Name: "other", Args: []string{"-c", "echo $0"}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(c.Out)
	if err != nil || string(out) != "other\n" {
		t.Errorf("its name is %q, %v", out, err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

func TestKillingTakesWhatAChildStartedAlong(t *testing.T) {
	t.Parallel()
	c := start(t, `sleep 1000 & echo started; wait`)
	buf := make([]byte, 8)
	if _, err := io.ReadFull(c.Out, buf); err != nil {
		t.Fatal(err)
	}
	c.Kill()
	// The output is open as long as anybody of the group lives.
	if _, err := io.ReadAll(c.Out); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("ended with %v", err)
	}
	c.Kill()
}

func TestWhatIsNotThereIsNotStarted(t *testing.T) {
	t.Parallel()
	if _, err := process.Start(process.Command{Path: "/nowhere/at/all"}); err == nil || !strings.Contains(err.Error(), "/nowhere/at/all") {
		t.Errorf("the error is %v", err)
	}
}
