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
	"github.com/goclaw/goclaw/internal/gateway/api"
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

// What is told of a provider is how its last call went, also when it may be
// asked again.
func TestHealthOfProviders(t *testing.T) {
	t.Parallel()
	failed := time.Date(2026, 12, 1, 11, 55, 51, 0, time.Local)
	until := time.Now().Add(time.Minute)
	for _, c := range []struct {
		p    api.ProviderStatus
		want string
	}{
		{api.ProviderStatus{}, "fine as far as is known"},
		{api.ProviderStatus{Reason: "there is no API key"}, "can't be asked: there is no API key"},
		{api.ProviderStatus{Failures: 1, LastFailed: failed, Reason: "busy"}, "1 failure in the last five minutes, the last at 11:55:51: busy"},
		{api.ProviderStatus{Failures: 1, Until: until, LastFailed: failed, Reason: "no key"}, "left alone until " + until.Format("15:04:05") + ", failed last at 11:55:51: no key"},
		{api.ProviderStatus{LastFailed: failed, Reason: "no key"}, "failed when it was last asked, at 2026-12-01 11:55: no key"},
	} {
		if got := health(c.p); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
