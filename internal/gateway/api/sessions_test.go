package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/llm"
)

// png is the beginning of a picture, as far as anybody looks.
var png = []byte("\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR")

func TestSessionsAreListedByWhoMaySeeThem(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	r.say("bob", "one", "Plan the garden")
	r.say("bob", "two", "Write to the landlord")
	r.stream("bob", "POST", "/api/runs", StartRun{Agent: "beta", Session: "one", Message: "Gärten of the world"})
	r.say("eve", "three", "Garden gnomes")
	for _, c := range []struct {
		who, query string
		want       string
	}{
		{"bob", "", "beta/one alpha/two alpha/one"},
		{"bob", "?agent=beta", "beta/one"},
		{"bob", "?agent=main", "alpha/two alpha/one"},
		{"bob", "?title=garden", "alpha/one"},
		{"bob", "?title=GART", "beta/one"},
		{"bob", "?title=to+land", "alpha/two"},
		{"bob", "?title=gnomes", ""},
		{"eve", "", "alpha/three"},
		{"ada", "", "alpha/three beta/one alpha/two alpha/one"},
		{"ada", "?title=garden", "alpha/three alpha/one"},
	} {
		var list Sessions
		r.call(c.who, "GET", "/api/sessions"+c.query, nil, http.StatusOK, &list)
		var got []string
		for _, s := range list.Sessions {
			got = append(got, s.Agent+"/"+s.ID)
		}
		if g := strings.Join(got, " "); g != c.want {
			t.Errorf("%s lists %s: %s, want %s", c.who, c.query, g, c.want)
		}
	}
	var all, paged Sessions
	r.call("ada", "GET", "/api/sessions", nil, http.StatusOK, &all)
	for after := ""; ; {
		var page Sessions
		r.call("ada", "GET", "/api/sessions?limit=3&after="+after, nil, http.StatusOK, &page)
		paged.Sessions = append(paged.Sessions, page.Sessions...)
		if after = page.Next; after == "" {
			break
		}
	}
	if d := cmp.Diff(all.Sessions, paged.Sessions); d != "" {
		t.Error(d)
	}
	r.refused("bob", "GET", "/api/sessions?limit=many", nil, 400, "bad_request", "1 to 200")
	r.refused("bob", "GET", "/api/sessions?agent=%zz", nil, 400, "bad_request", "query")
	r.refused("bob", "GET", "/api/sessions?limit=1;agent=beta", nil, 400, "bad_request", "query")
	r.refused("bob", "GET", "/api/sessions?after=!", nil, 400, "bad_request", "next")
}

// Whatever is asked of another's session, it is not there.
func TestAnothersSessionIsNotThere(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	run := r.say("eve", "eves", "hi")[0].agent(t).Run
	type request struct{ method, path string }
	var requests []request
	for _, of := range []string{"/api/sessions/alpha/eves", "/api/sessions/main/eves", "/api/sessions/alpha/never", "/api/sessions/beta/eves"} {
		requests = append(requests, []request{
			{"GET", of},
			{"DELETE", of},
			{"GET", of + "/turns"},
			{"GET", of + "/export"},
			{"POST", of + "/stop"},
			{"GET", of + "/turns/1/media/message:0"},
		}...)
	}
	requests = append(requests, []request{
		{"GET", "/api/events?agent=alpha&session=eves"},
		{"GET", "/api/tools?session=eves"},
		{"GET", "/api/tools/noop/explain?session=eves"},
		{"GET", "/api/prompt?session=eves"},
		{"GET", "/api/runs/" + run},
		{"GET", "/api/runs/" + run + "/events"},
		{"POST", "/api/runs/" + run + "/stop"},
	}...)
	for _, q := range requests {
		r.refused("bob", q.method, q.path, nil, http.StatusNotFound, "not_found")
	}
	r.refused("bob", "PATCH", "/api/sessions/alpha/eves", Rename{Title: "mine"}, http.StatusNotFound, "not_found")
	r.refused("bob", "POST", "/api/sessions/alpha/eves/fork", Fork{}, http.StatusNotFound, "not_found")
	r.refused("bob", "POST", "/tools/invoke", Invoke{Tool: "noop", Session: "eves"}, http.StatusNotFound, "not_found")
	var hits Hits
	r.call("bob", "GET", "/api/search?q=hi", nil, http.StatusOK, &hits)
	if len(hits.Hits) != 0 {
		t.Errorf("bob finds %+v", hits)
	}
	r.call("eve", "GET", "/api/search?q=hi", nil, http.StatusOK, &hits)
	if len(hits.Hits) != 2 || hits.Hits[0].Session != "eves" || hits.Hits[0].Turn != 1 {
		t.Errorf("eve finds %+v", hits)
	}
	r.refused("eve", "GET", "/api/search?q=%2E%2E", nil, 400, "bad_request", "no words")
	r.call("ada", "GET", "/api/sessions/alpha/eves", nil, http.StatusOK, nil)
	r.refused("eve", "GET", "/api/sessions/alpha/a%20b", nil, 400, "bad_request", "session name")
}

func TestTurnsOfASession(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	for i := range 7 {
		r.say("bob", "s", fmt.Sprint("message ", i+1))
	}
	numbers := func(query string) (got []int, before int) {
		var page Turns
		r.call("bob", "GET", "/api/sessions/alpha/s/turns"+query, nil, http.StatusOK, &page)
		for _, t := range page.Turns {
			got = append(got, t.Number)
		}
		return got, page.Before
	}
	for _, c := range []struct {
		query  string
		want   []int
		before int
	}{
		{"", []int{1, 2, 3, 4, 5, 6, 7}, 0},
		{"?limit=3", []int{5, 6, 7}, 5},
		{"?limit=3&before=5", []int{2, 3, 4}, 2},
		{"?limit=3&before=2", []int{1}, 0},
		{"?limit=3&before=1", nil, 0},
		{"?limit=2&before=99", []int{6, 7}, 6},
	} {
		got, before := numbers(c.query)
		if d := cmp.Diff(c.want, got); d != "" || before != c.before {
			t.Errorf("%s: %v and before %d", c.query, got, before)
		}
	}
	r.refused("bob", "GET", "/api/sessions/alpha/s/turns?before=x", nil, 400, "bad_request")
}

// A turn tells what the person said, what the host added, and all that came of
// it; the bytes of media come by a route of their own.
func TestATurnIsToldWhole(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	r.model.media = png
	r.withTools("look")
	var file Attachment
	r.call("bob", "POST", "/api/attachments?name=me.png", string(png), http.StatusCreated, &file)
	events := r.stream("bob", "POST", "/api/runs", StartRun{Session: "s", Message: "look", Attachments: []string{file.ID}})
	run := events[0].agent(t).Run
	var page Turns
	r.call("bob", "GET", "/api/sessions/alpha/s/turns", nil, http.StatusOK, &page)
	turn := page.Turns[0]
	if len(turn.Message.Parts) != 2 || turn.Message.Text() != "look" || turn.Message.Parts[1].Media.Name != "me.png" || turn.Message.Parts[1].Media.Data != nil {
		t.Errorf("the message is %+v", turn.Message)
	}
	if d := cmp.Diff([]string{"It is noon."}, turn.Added); d != "" {
		t.Error(d)
	}
	if turn.Run != run || turn.Status != agent.Done || turn.Model != "fake/m" || turn.USD == nil || *turn.USD != 2 || turn.Usage.Output != 8 {
		t.Errorf("the turn is %+v", turn)
	}
	if len(turn.Rounds) != 2 || turn.Rounds[0].Text != "Let me see. " || turn.Rounds[0].Reasoning != "First the tools." ||
		turn.Rounds[0].Finish != llm.FinishCalls || turn.Rounds[0].Target != target || len(turn.Rounds[0].Calls) != 3 || turn.Rounds[1].Text != "All <done>." {
		t.Errorf("the rounds are %+v", turn.Rounds)
	}
	if c := turn.Rounds[0].Calls[1]; c.Refusal == nil || c.Refusal.Rule != "never" {
		t.Errorf("the refused call is %+v", c)
	}
	if turn.Rounds[1].Calls == nil {
		t.Error("a round without calls has no list")
	}
	want := []Media{{ID: "message:0", Name: "me.png", MIME: "image/png", Size: len(png)}, {ID: "call:c:0", Name: "shot.png", MIME: "image/png", Size: len(png)}}
	if d := cmp.Diff(want, turn.Media); d != "" {
		t.Error(d)
	}
	for _, m := range turn.Media {
		for _, name := range []string{"1", run} {
			resp := r.send(t.Context(), "bob", "GET", "/api/sessions/alpha/s/turns/"+name+"/media/"+m.ID, nil)
			data, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || !bytes.Equal(data, png) {
				t.Errorf("%s of turn %s: %s %q (%v)", m.ID, name, resp.Status, data, err)
			}
			h := resp.Header
			disposition, params, _ := mime.ParseMediaType(h.Get("Content-Disposition"))
			if h.Get("Content-Type") != "image/png" || h.Get("X-Content-Type-Options") != "nosniff" || disposition != "inline" || params["filename"] != m.Name {
				t.Errorf("%s: %v", m.ID, h)
			}
		}
	}
	for _, path := range []string{"1/media/message:1", "1/media/", "2/media/message:0", "0/media/message:0", "x/media/message:0"} {
		resp := r.send(t.Context(), "bob", "GET", "/api/sessions/alpha/s/turns/"+path, nil)
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
}

// Only pictures are shown in a page. What could act there is downloaded.
func TestOnlyPicturesAreShownInAPage(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	for kind, inline := range map[string]bool{
		"image/png": true, "image/webp": true, "image/svg+xml": false, "text/html": false, "application/pdf": false, "nonsense": false, "image/png; x=\"": false,
	} {
		r.backend.mu.Lock()
		r.backend.kept["x"] = llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: kind, Name: "a\r\nb/../\"c\".html", Data: []byte("<script>")}}
		r.backend.mu.Unlock()
		run := r.stream("bob", "POST", "/api/runs", StartRun{Session: "s", Message: "x", Attachments: []string{"x"}})[0].agent(t).Run
		resp := r.call("bob", "GET", "/api/sessions/alpha/s/turns/"+run+"/media/message:0", nil, http.StatusOK, nil)
		disposition, params, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition"))
		if err != nil || (disposition == "inline") != inline || strings.ContainsAny(params["filename"], "/\\\r\n\"") {
			t.Errorf("%s: %q (%v)", kind, resp.Header.Get("Content-Disposition"), err)
		}
		if csp := resp.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "sandbox") {
			t.Errorf("%s: policy %q", kind, csp)
		}
	}
}

func TestASessionIsRenamed(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	r.say("bob", "s", "hi")
	for written, want := range map[string]string{
		"  The   garden\n":            "The garden",
		"a\x1b[31mred\x07\u202egnp":   "a[31mredgnp",
		"👩\u200d🚀 family":             "👩\u200d🚀 family",
		strings.Repeat("ü", maxTitle): strings.Repeat("ü", maxTitle),
	} {
		var renamed, read Session
		r.call("bob", "PATCH", "/api/sessions/alpha/s", Rename{Title: written}, http.StatusOK, &renamed)
		r.call("bob", "GET", "/api/sessions/alpha/s", nil, http.StatusOK, &read)
		if renamed.Title != want || read.Title != want {
			t.Errorf("%q becomes %q and %q", written, renamed.Title, read.Title)
		}
	}
	for _, bad := range []string{"", " \n", "\x00\x1b", "\u200d", strings.Repeat("ü", maxTitle+1)} {
		r.refused("bob", "PATCH", "/api/sessions/alpha/s", Rename{Title: bad}, 400, "bad_request", "title")
	}
}

func TestASessionIsDeletedWhenNothingGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		r.model.on("go", reply{text: "a b", middle: make(chan struct{})})
		r.post("bob", StartRun{Session: "s", Message: "go"})
		synctest.Wait()
		r.refused("bob", "DELETE", "/api/sessions/alpha/s", nil, http.StatusConflict, "busy", "stop it first")
		r.call("bob", "POST", "/api/sessions/alpha/s/stop", nil, http.StatusNoContent, nil)
		synctest.Wait()
		release, err := r.holds.Try(session.Key{Agent: "alpha", ID: "s"}) // another process is at work
		if err != nil {
			t.Fatal(err)
		}
		r.refused("bob", "DELETE", "/api/sessions/alpha/s", nil, http.StatusConflict, "busy")
		release()
		r.call("bob", "DELETE", "/api/sessions/alpha/s", nil, http.StatusNoContent, nil)
		r.refused("bob", "DELETE", "/api/sessions/alpha/s", nil, http.StatusNotFound, "not_found")
		r.refused("bob", "GET", "/api/sessions/alpha/s", nil, http.StatusNotFound, "not_found")
	})
}

func TestASessionIsExported(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	for i := range 40 {
		r.say("bob", "a:b", fmt.Sprint("message ", i+1))
	}
	resp := r.send(t.Context(), "bob", "GET", "/api/sessions/alpha/a:b/export", nil)
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Disposition"); got != "attachment; filename=alpha-a-b.jsonl" {
		t.Errorf("Content-Disposition: %s", got)
	}
	turns := 0
	for dec := json.NewDecoder(resp.Body); ; {
		var line struct{ Type string }
		if err := dec.Decode(&line); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if line.Type == "turn" {
			turns++
		}
	}
	if turns != 40 {
		t.Errorf("%d turns", turns)
	}
	md := r.send(t.Context(), "bob", "GET", "/api/sessions/alpha/a:b/export?format=markdown", nil)
	defer md.Body.Close()
	text, err := io.ReadAll(md.Body)
	if err != nil || !strings.Contains(string(text), "> message 40") || !strings.HasPrefix(md.Header.Get("Content-Type"), "text/markdown") {
		t.Errorf("%v %v %s", err, md.Header, text)
	}
	r.refused("bob", "GET", "/api/sessions/alpha/a:b/export?format=pdf", nil, 400, "bad_request", "jsonl or markdown")
}

// Sessions of an agent that is gone stay, under whatever name it had.
func TestSessionsOfAnAgentThatIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	for _, name := range []string{"main", "gone"} {
		turn := session.Turn{Run: session.NewID(), Message: llm.UserMessage("hi"), Status: agent.Running, Caller: bob, Origin: "chat", Started: time.Now()}
		if _, err := r.sessions.Begin(t.Context(), session.Key{Agent: name, ID: "old"}, turn, "hi"); err != nil {
			t.Fatal(err)
		}
		var s Session
		r.call("bob", "GET", "/api/sessions/"+name+"/old", nil, http.StatusOK, &s)
		if s.Agent != name {
			t.Errorf("it is of agent %s", s.Agent)
		}
		r.call("bob", "DELETE", "/api/sessions/"+name+"/old", nil, http.StatusNoContent, nil)
	}
}

// While a session's first run has its place and nothing is stored yet, the
// session is there already.
func TestASessionIsThereAsSoonAsItsRunIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		key := session.Key{Agent: "alpha", ID: "s"}
		release, err := r.holds.Try(key) // so that it can't begin
		if err != nil {
			t.Fatal(err)
		}
		var file Attachment
		r.call("bob", "POST", "/api/attachments?name=me.png", string(png), http.StatusCreated, &file)
		first := r.post("bob", StartRun{Session: "s", Message: "hello there", Attachments: []string{file.ID}})
		second := r.post("bob", StartRun{Session: "s", Message: "and more", Attachments: []string{file.ID}})
		var detail SessionDetail
		r.call("bob", "GET", "/api/sessions/alpha/s", nil, http.StatusOK, &detail)
		if detail.Title != "hello there" || detail.Running != first.ID || detail.Queued != 1 || len(detail.Runs) != 2 || detail.Runs[1].State != RunQueued {
			t.Errorf("it is %+v", detail)
		}
		var page Turns
		r.call("bob", "GET", "/api/sessions/alpha/s/turns", nil, http.StatusOK, &page)
		if len(page.Turns) != 0 || page.Turns == nil {
			t.Errorf("its turns are %+v", page.Turns)
		}
		for _, run := range []Run{first, second} { // what they bring is there, too
			r.call("bob", "GET", "/api/sessions/alpha/s/turns/"+run.ID+"/media/message:0", nil, http.StatusOK, nil)
		}
		r.refused("eve", "GET", "/api/sessions/alpha/s", nil, http.StatusNotFound, "not_found")
		r.refused("eve", "POST", "/api/runs", StartRun{Session: "s", Message: "mine"}, http.StatusNotFound, "not_found")
		r.refused("bob", "PATCH", "/api/sessions/alpha/s", Rename{Title: "x"}, http.StatusConflict, "busy")
		r.refused("bob", "GET", "/api/sessions/alpha/s/export", nil, http.StatusConflict, "busy")
		release()
		time.Sleep(time.Second)
		detail = SessionDetail{}
		r.call("bob", "GET", "/api/sessions/alpha/s", nil, http.StatusOK, &detail)
		if detail.Turns != 2 || detail.Running != "" || detail.Status != agent.Done {
			t.Errorf("then it is %+v", detail)
		}
	})
}
