package cli

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/goclaw/goclaw/internal/config"
)

// typing is a person at a terminal who presses Ctrl-C in the middle of a
// message: the read never returns.
type typing struct {
	ctrlC context.CancelFunc
	end   <-chan struct{}
}

func (t typing) Read([]byte) (int, error) {
	t.ctrlC()
	<-t.end
	return 0, context.Canceled
}

func TestCtrlCWhileReading(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"message":   {"run", "-"},
		"arguments": {"tools", "invoke", "calc", "--args", "-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			end := make(chan struct{})
			defer close(end)
			var out, errs bytes.Buffer
			a := &app{Streams: Streams{In: typing{cancel, end}, Out: &out, Err: &errs}, env: config.Environ{}}
			if got := a.execute(ctx, append(args, "--home", t.TempDir())); got != exitInterrupted {
				t.Errorf("exit status %d, want %d", got, exitInterrupted)
			}
			if got := errs.String(); got != "goclaw: stopped\n" || out.Len() > 0 {
				t.Errorf("said %q and %q", out.String(), got)
			}
		})
	}
}

// Whatever a command was at when Ctrl-C came, the status says so.
func TestCtrlCWhileOpening(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	a := &app{Streams: Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, env: config.Environ{}}
	if got := a.execute(ctx, []string{"sessions", "list", "--home", t.TempDir()}); got != exitInterrupted {
		t.Errorf("exit status %d, want %d: %s", got, exitInterrupted, errs.String())
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\x1b[31mb":        "a␛[31mb",
		"shown\rover it":    "shown␍over it", // or what a model said first would be gone from the screen
		"a line\r\nanother": "a line\nanother",
		"tab\tstays":        "tab\tstays",
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSentence(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"the disk is full (13)": "the disk is full (13).",
		"Try again.\n":          "Try again.",
		"Why?":                  "Why?",
		"":                      "",
	} {
		if got := sentence(in); got != want {
			t.Errorf("sentence(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestHomeFix(t *testing.T) {
	t.Parallel()
	_, err := os.ReadDir("/nowhere")
	if got := homeFix("/home/x", err); got != "" {
		t.Errorf("a missing folder: %q", got)
	}
	err = fmt.Errorf("open the state database: %w", &fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES})
	if got := homeFix("/home/x", err); got != "act as the owner of /home/x, or set GOCLAW_HOME to a folder of your own" {
		t.Errorf("somebody else's folder: %q", got)
	}
}

// What runs without anybody at it, such as a service, often reads from there.
func TestTheNullDeviceIsNoTerminal(t *testing.T) {
	t.Parallel()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if isTerminal(f) {
		t.Error("it is taken for one")
	}
}
