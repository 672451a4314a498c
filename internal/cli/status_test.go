package cli

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/gateway"
)

// A gateway that lives and doesn't answer is no gateway that does well.
func TestStatusOfSilentGateway(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	lock := flock.New(filepath.Join(home, "state", "gateway.lock"))
	if ours, err := lock.TryLock(); err != nil || !ours {
		t.Fatal(ours, err)
	}
	defer lock.Unlock()
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	at := gateway.Instance{Address: deaf.Addr().String(), URL: "http://" + deaf.Addr().String(), PID: 4711, Started: time.Now(), Version: "v1"}
	data, err := json.Marshal(at)
	if err == nil {
		err = os.WriteFile(filepath.Join(home, "state", "gateway.json"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	a := &app{Streams: Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, env: config.Environ{}, patience: 10 * time.Millisecond}
	got := a.execute(t.Context(), []string{"status", "--home", home})
	want := "silent: " + at.URL + " (process 4711, version v1, since " + day(at.Started) + ")\nnote: it doesn't answer within 10ms; it may hang: look at its log, or end process 4711\n"
	if got != exitFailed || out.String() != want || errs.Len() > 0 {
		t.Errorf("exit status %d, said %q and %q, want %q", got, out.String(), errs.String(), want)
	}
}
