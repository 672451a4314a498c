package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/gateway/api"
	"github.com/goclaw/goclaw/internal/tool"
)

// read asks and reads the answer into out; the status must be as wanted.
func (s *served) read(method, path, body string, status int, out any) {
	s.t.Helper()
	resp := s.ask(method, path, body)
	text := s.text(resp)
	if resp.StatusCode != status {
		s.t.Fatalf("%s %s: %s, want %d: %s", method, path, resp.Status, status, text)
	}
	if out != nil {
		if err := json.Unmarshal([]byte(text), out); err != nil {
			s.t.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
}

// eventTypes lists the events of a stream.
func eventTypes(stream string) []string {
	var types []string
	for line := range strings.Lines(stream) {
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			types = append(types, strings.TrimSpace(name))
		}
	}
	return types
}

// A large result is kept whole, and whoever may see the session reads it.
func TestASpilledResultIsReadOverHTTP(t *testing.T) {
	t.Parallel()
	r := setup(t, "tools: {max_result_chars: 1000}\n", reads("big.txt"), fakellm.Text("It is long."))
	var big strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&big, "line %04d\n", i)
	}
	r.write("big.txt", big.String())
	s := r.serve(gateway.ServeOptions{})
	s.text(s.ask("POST", "/api/runs", `{"session":"s","message":"Read it."}`))
	var page api.Turns
	s.read("GET", "/api/sessions/main/s/turns", "", http.StatusOK, &page)
	if len(page.Turns) != 1 || len(page.Turns[0].Rounds) != 2 || page.Turns[0].Rounds[1].Text != "It is long." {
		t.Fatalf("the turns are %+v", page.Turns)
	}
	o := page.Turns[0].Rounds[0].Calls[0]
	if o.Ref == "" || o.Chars < 18000 || len(o.Steps) == 0 {
		t.Fatalf("the call is %+v", o)
	}
	ask := fmt.Sprintf(`{"tool":"read_output","args":{"ref":%q,"mode":"search","query":"1234"},"session":"s"}`, o.Ref)
	var found tool.Outcome
	s.read("POST", "/tools/invoke", ask, http.StatusOK, &found)
	if text := fmt.Sprint(found.Content); found.Status != tool.OK || !strings.Contains(text, "line 1234") {
		t.Errorf("read %+v", found)
	}
	// In another session, and for somebody else, the ref is worth nothing.
	s.read("POST", "/tools/invoke", strings.Replace(ask, `,"session":"s"`, "", 1), http.StatusForbidden, nil)
	s.token = s.user("eve", auth.User)
	s.read("POST", "/tools/invoke", ask, http.StatusNotFound, nil)
}

// What a person gives is shown with the turn, and its bytes come by their own
// route.
func TestAnAttachedPictureIsServed(t *testing.T) {
	t.Parallel()
	s := setup(t, "", fakellm.Text("A dot.")).serve(gateway.ServeOptions{})
	image := picture(t)
	var file api.Attachment
	s.read("POST", "/api/attachments?name="+url.QueryEscape("my dot.png"), string(image), http.StatusCreated, &file)
	s.text(s.ask("POST", "/api/runs", fmt.Sprintf(`{"session":"s","message":"What is it?","attachments":[%q]}`, file.ID)))
	var page api.Turns
	s.read("GET", "/api/sessions/main/s/turns", "", http.StatusOK, &page)
	turn := page.Turns[0]
	if len(turn.Media) != 1 || turn.Media[0].MIME != "image/png" || turn.Media[0].Size != len(image) || len(turn.Added) == 0 {
		t.Fatalf("the turn is %+v", turn)
	}
	resp := s.ask("GET", "/api/sessions/main/s/turns/"+turn.Run+"/media/"+turn.Media[0].ID, "")
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Equal(got, image) || resp.Header.Get("Content-Type") != "image/png" {
		t.Errorf("%s %v: %d bytes, %v", resp.Status, resp.Header, len(got), err)
	}
}

// A gateway that was started anew tells a run from its record as it went.
func TestARunIsToldAgainAfterAStart(t *testing.T) {
	t.Parallel()
	s := setup(t, "", fakellm.Calls(
		fakellm.Use("calc", `{"expression":"6*7"}`), fakellm.Use("file_read", `{"path":"/etc/passwd"}`),
	), fakellm.Text("42.")).serve(gateway.ServeOptions{})
	resp := s.ask("POST", "/api/runs", `{"session":"s","message":"Go."}`)
	run := resp.Header.Get("X-GoClaw-Run")
	live := s.text(resp)
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	s.close()
	s.open()
	next := s.rig.serve(gateway.ServeOptions{})
	kept := next.text(next.ask("GET", "/api/runs/"+run+"/events", ""))
	sorted := func(stream string) map[string]int {
		count := map[string]int{}
		for _, name := range eventTypes(stream) {
			count[name]++
		}
		delete(count, "run_replayed")
		delete(count, "token_chunk")
		return count
	}
	if a, b := fmt.Sprint(sorted(live)), fmt.Sprint(sorted(kept)); a != b {
		t.Errorf("it went %s and is told as %s", a, b)
	}
	for _, want := range []string{"event: run_replayed", "id: r1\n", `"text":"42."`, `"refusal":`, `"status":"done"`} {
		if !strings.Contains(kept, want) {
			t.Errorf("it is told without %s: %s", want, kept)
		}
	}
}

// What a user is refused is explained to them, and an admin sees it as they do.
func TestExplainingOverHTTP(t *testing.T) {
	t.Parallel()
	s := setup(t, "tools: {deny: [calc]}\n").serve(gateway.ServeOptions{})
	var x api.Explanation
	s.read("GET", "/api/tools/calc/explain?role=user", "", http.StatusOK, &x)
	if len(x.States) != 6 || x.States[3].Verdict != "NO" || !strings.Contains(fmt.Sprint(x.States[3].Where), "config.yaml") {
		t.Errorf("%+v", x)
	}
	var sf api.Surface
	s.read("GET", "/api/tools?role=user&origin=cron", "", http.StatusOK, &sf)
	if sf.Role != auth.User || sf.Origin != tool.FromCron || len(sf.Offered) == 0 || len(sf.Removed) == 0 {
		t.Errorf("%+v", sf)
	}
	s.token = s.user("bob", auth.User)
	s.read("GET", "/api/tools?origin=cron", "", http.StatusForbidden, nil)
	s.read("GET", "/api/tools?role=admin", "", http.StatusForbidden, nil)
	s.read("POST", "/tools/invoke", `{"tool":"calc","args":{"expression":"1"}}`, http.StatusForbidden, nil)
}

// A model that nothing can be asked for is refused before anything is stored of
// the message.
func TestAnUnknownModelIsRefusedBeforeARun(t *testing.T) {
	t.Parallel()
	r := setup(t, "", fakellm.Text("Hello."))
	s := r.serve(gateway.ServeOptions{})
	for model, want := range map[string]string{
		"nonsense": "known are openai",
		"openal/x": "did you mean openai?",
		"nowhere/": "known are",
		"/gpt":     "known are",
	} {
		var p api.Problem
		s.read("POST", "/api/runs", fmt.Sprintf(`{"session":"s","message":"hi","model":%q}`, model), http.StatusBadRequest, &p)
		if !strings.Contains(p.Detail, want) || !strings.Contains(p.Detail, model) {
			t.Errorf("model %q: %s, want it to say %q", model, p.Detail, want)
		}
		for _, path := range []string{"/api/tools", "/api/tools/file_read/explain", "/api/prompt"} {
			s.read("GET", path+"?model="+url.QueryEscape(model), "", http.StatusBadRequest, nil)
		}
	}
	s.read("GET", "/api/sessions/main/s", "", http.StatusNotFound, nil)
	var run api.Run
	s.read("POST", "/api/runs", `{"session":"s","message":"hi","model":"openai/other","stream":false}`, http.StatusAccepted, &run)
	s.text(s.ask("GET", "/api/runs/"+run.ID+"/events", ""))
	s.read("GET", "/api/runs/"+run.ID, "", http.StatusOK, &run)
	if run.Status != "done" || !strings.HasSuffix(run.Model, "/other") {
		t.Errorf("with a model that is known the run is %+v", run)
	}
}
