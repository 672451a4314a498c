package gateway_test

import (
	"flag"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/gateway/api"
)

// The test binary is also the process whose disk is full: a limit of the system
// on the size of files does that, and it holds for a whole process.
var fullDisk = flag.Bool("full-disk", false, "be the process whose disk is full")

func TestAFullDiskIsSaid(t *testing.T) {
	t.Parallel()
	if !*fullDisk {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), exe, "-test.run=^TestAFullDiskIsSaid$", "-full-disk").CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ) // writing too much is to fail, and not to kill
	gate := make(chan struct{})
	r, l := logged(t, fakellm.Answer{When: "hold on", Text: "One.", Gate: gate}, fakellm.Text("Two."))
	s := r.serve(gateway.ServeOptions{})
	say := func(session, want string) {
		t.Helper()
		if got := s.text(s.ask("POST", "/api/runs", `{"session":"`+session+`","message":"hi"}`)); !strings.Contains(got, want) {
			t.Errorf("the run is %s, want %s", got, want)
		}
	}
	busy := s.ask("POST", "/api/runs", `{"session":"busy","message":"hold on"}`)
	if err := r.model.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}

	limit(t, 4096)
	say("s", "run_failed")
	var p api.Problem
	// What has to wait can't be kept for then either.
	s.read("POST", "/api/runs", `{"session":"busy","message":"hi"}`, http.StatusServiceUnavailable, &p)
	if p.Code != "storage" {
		t.Errorf("a message that has to wait is answered with %+v", p)
	}
	s.read("GET", "/readyz", "", http.StatusServiceUnavailable, &p)
	if p.Code != "storage" || strings.Contains(p.Detail, r.home) {
		t.Errorf("/readyz says %+v", p)
	}
	var st api.Status
	s.read("GET", "/api/status", "", http.StatusOK, &st)
	if text := strings.Join(st.Problems, "\n"); st.Ready || !strings.Contains(text, "state.db") || !strings.Contains(text, "disk") {
		t.Errorf("the status is %+v", st)
	}
	if failed := l.lines(t, "run failed"); len(failed) != 1 || failed[0]["class"] != "state" || failed[0]["level"] != "WARN" {
		t.Errorf("the log says %s", l)
	}

	limit(t, 1<<40)
	// Nobody needs to say anything for the gateway to notice.
	l.wait(t, "it can be stored again")
	s.read("GET", "/readyz", "", http.StatusOK, nil)
	close(gate)
	if got := s.text(busy); !strings.Contains(got, "run_finished") {
		t.Errorf("the run that was going is %s", got)
	}
	say("t", "run_finished")
	s.read("GET", "/api/status", "", http.StatusOK, &st)
	if !st.Ready || len(st.Problems) > 0 {
		t.Errorf("the status is %+v", st)
	}
}

// limit bounds how large the files of this process may get.
func limit(t *testing.T, size uint64) {
	t.Helper()
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		t.Fatal(err)
	}
	now.Cur = min(size, now.Max)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		t.Fatal(err)
	}
}
