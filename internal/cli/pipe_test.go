package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/config"
)

// Who reads the output leaves: the command ends, clears away what is its own,
// and says nothing more.
func TestUnread(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	home := t.TempDir()
	for name, args := range map[string][]string{
		"tour":  {"demo"},
		"turn":  {"run", "--allow-demo", "--session", "s", "Hello", "--home", home},
		"chat":  {"chat", "--allow-demo", "--home", home},
		"value": {"version"},
	} {
		t.Run(name, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			var errs bytes.Buffer
			ctx, out := piped(t.Context(), w)
			a := &app{Streams: Streams{In: strings.NewReader("One\nTwo\n"), Out: out, Err: &errs}, env: config.Environ{}}
			if got := a.execute(ctx, append(args, "--quiet")); got != exitUnread || errs.Len() > 0 {
				t.Errorf("exit status %d, said %q", got, errs.String())
			}
		})
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v, left behind %v", err, left)
	}
}
