package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/gateway"
)

// served is a rig whose gateway serves.
type served struct {
	*rig
	instance gateway.Instance
	token    string
	client   *http.Client
	stop     context.CancelFunc
	stopping chan struct{} // closed when it has heard of its end
	ended    chan error
}

func (r *rig) serve(o gateway.ServeOptions) *served {
	r.t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(r.t.Context()))
	s := &served{rig: r, stop: stop, stopping: make(chan struct{}), ended: make(chan error, 1), client: &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	ready := make(chan gateway.Instance, 1)
	o.Listen, o.Ready = "127.0.0.1:0", func(i gateway.Instance) { ready <- i }
	o.Stopping = func(int, int) { close(s.stopping) }
	go func() { s.ended <- r.Serve(ctx, o) }()
	select {
	case s.instance = <-ready:
	case err := <-s.ended:
		stop()
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		stop()
		if err := <-s.ended; err != nil {
			r.t.Error(err)
		}
		s.ended <- nil
	})
	s.token = s.user("ada", auth.Admin)
	return s
}

// user makes a person, unless they are known, and returns a token of theirs.
func (s *served) user(id string, role auth.Role) string {
	s.t.Helper()
	err := s.Users.Add(s.t.Context(), auth.Account{ID: id, Role: role, Created: time.Now()})
	if errors.Is(err, auth.ErrExists) {
		err = nil
	}
	secret, token := auth.NewToken()
	token.User, token.Created = id, time.Now()
	if err := errors.Join(err, s.Users.AddToken(s.t.Context(), token)); err != nil {
		s.t.Fatal(err)
	}
	return secret
}

func (s *served) ask(method, path, body string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.instance.Address+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

func (s *served) text(resp *http.Response) string {
	s.t.Helper()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Error(err)
	}
	return string(b)
}

// end stops the gateway and returns what Serve returned.
func (s *served) end() error {
	s.stop()
	err := <-s.ended
	s.ended <- nil // for the cleanup
	return err
}

func TestSessionsSideBySideOverHTTP(t *testing.T) {
	t.Parallel()
	const sessions = 20
	var answers []fakellm.Answer
	for i := range sessions {
		answers = append(answers,
			fakellm.Answer{When: fmt.Sprintf("number %d!", i), Calls: []fakellm.Call{fakellm.Use("calc", `{"expression":"1+1"}`)}},
			fakellm.Answer{When: fmt.Sprintf("number %d!", i), Text: fmt.Sprintf("answer %d.", i)})
	}
	s := setup(t, "", answers...).serve(gateway.ServeOptions{})
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			resp := s.ask("POST", "/api/runs", fmt.Sprintf(`{"session":"s%d","message":"number %d!"}`, i, i))
			got := s.text(resp)
			if !strings.Contains(got, fmt.Sprintf("answer %d.", i)) || !strings.Contains(got, "event: run_finished\n") {
				t.Errorf("session %d: %s", i, got)
			}
		})
	}
	wg.Wait()
	metrics := s.text(s.ask("GET", "/metrics", ""))
	if want := fmt.Sprintf("goclaw_runs_total{agent=\"main\",status=\"done\"} %d\n", sessions); !strings.Contains(metrics, want) {
		t.Errorf("metrics lack %s", want)
	}
}

func TestTheEndReachesEveryViewer(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	s := setup(t, "", fakellm.Answer{Text: "At last.", Gate: gate}).serve(gateway.ServeOptions{})
	watch := s.ask("GET", "/api/events", "")
	begun := make(chan struct{})
	var seen sync.WaitGroup
	viewers := make([]string, 3)
	for i := range viewers {
		resp := s.ask("POST", "/api/runs", `{"session":"s","message":"Hello."}`)
		if i > 0 {
			resp.Body.Close()
			resp = s.ask("GET", "/api/runs/"+resp.Header.Get("X-GoClaw-Run")+"/events", "")
		}
		seen.Go(func() {
			defer resp.Body.Close()
			lines := bufio.NewReader(resp.Body)
			for {
				line, err := lines.ReadString('\n')
				viewers[i] += line
				if i == 0 && strings.Contains(line, "event: model_call_started") {
					close(begun)
				}
				if err != nil {
					return
				}
			}
		})
	}
	<-begun
	s.stop()
	<-s.stopping
	if resp := s.ask("GET", "/readyz", ""); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("ready while stopping: %d", resp.StatusCode)
	} else {
		resp.Body.Close()
	}
	if resp := s.ask("POST", "/api/runs", `{"message":"Too late."}`); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("new work while stopping: %d", resp.StatusCode)
	} else {
		resp.Body.Close()
	}
	close(gate)
	if err := s.end(); err != nil {
		t.Error(err)
	}
	seen.Wait()
	if !strings.Contains(viewers[0], "At last.") || !strings.Contains(viewers[0], "event: run_finished") {
		t.Errorf("the run's viewer saw %s", viewers[0])
	}
	for _, v := range viewers[1:] {
		if strings.Contains(v, "run_finished") {
			t.Errorf("a run that waits for the next start ended: %s", v)
		}
	}
	s.text(watch) // it ended, or this would wait for ever
}

func TestRunsThatDoNotEndAreStoppedAtTheEnd(t *testing.T) {
	t.Parallel()
	s := setup(t, "", fakellm.Answer{Text: "half", Hang: "middle"}, fakellm.Text("whole")).serve(gateway.ServeOptions{Drain: -1})
	resp := s.ask("POST", "/api/runs", `{"session":"s","message":"Hello."}`)
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, "half") {
			break
		}
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil || !strings.Contains(string(rest), `"status":"interrupted"`) {
		t.Errorf("the viewer saw %s, %v", rest, err)
	}
	resp.Body.Close()
	s.close()
	s.open()
	if turn := s.say("s", "Go on."); turn.text != "whole" {
		t.Errorf("the session went on with %q", turn.text)
	}
}

func TestOneGatewayForOneHome(t *testing.T) {
	t.Parallel()
	s := setup(t, "").serve(gateway.ServeOptions{})
	i, running, err := gateway.Running(s.home)
	if err != nil || !running || i != s.instance || i.URL != "http://"+i.Address || i.PID != os.Getpid() || i.Version != "test" {
		t.Errorf("running %v: %+v, %v; want %+v", running, i, err, s.instance)
	}
	info, err := os.Stat(filepath.Join(s.home, "state", "gateway.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	second := &rig{t: t, model: s.model, home: s.home}
	second.open()
	defer second.close()
	var taken *gateway.RunningError
	if err := second.Serve(t.Context(), gateway.ServeOptions{Listen: "127.0.0.1:0"}); !errors.As(err, &taken) || taken.Instance == nil || *taken.Instance != s.instance {
		t.Errorf("a second one: %v", err)
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	if i, running, err := gateway.Running(s.home); running || err != nil {
		t.Errorf("after its end: %+v, %v", i, err)
	}
	// What a dead one left means nothing.
	stale, err := json.Marshal(s.instance)
	if err == nil {
		err = os.WriteFile(filepath.Join(s.home, "state", "gateway.json"), stale, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, running, err := gateway.Running(s.home); running || err != nil {
		t.Errorf("a dead one is said to run: %v", err)
	}
	if _, running, err := gateway.Running(t.TempDir()); running || err != nil {
		t.Errorf("in an empty folder: %v, %v", running, err)
	}
}

func TestThePageIsServedToWhoIsSignedIn(t *testing.T) {
	t.Parallel()
	s := setup(t, "").serve(gateway.ServeOptions{})
	link, err := s.SignInLink(t.Context(), s.instance.URL)
	if err != nil || link.User != auth.FirstAdmin || !strings.HasPrefix(link.Link, s.instance.URL+"/signin?code=") || time.Until(link.Expires) > auth.LinkLife {
		t.Errorf("link %+v, %v", link, err)
	}
	resp := s.ask("GET", "/chat/main", "")
	if page := s.text(resp); resp.StatusCode != http.StatusOK || !strings.Contains(page, `<div id="app">`) {
		t.Errorf("the page: %d %s", resp.StatusCode, page)
	}
	if resp := s.ask("GET", "/assets/none.js", ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("an asset that isn't there: %d", resp.StatusCode)
	} else {
		resp.Body.Close()
	}
	s.token = "goclaw_wrong"
	if resp := s.ask("GET", "/chat/main", ""); resp.StatusCode == http.StatusOK {
		t.Error("the page is shown to anybody")
	} else {
		resp.Body.Close()
	}
}
