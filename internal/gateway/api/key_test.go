package api

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
)

func TestOneKeyIsOneRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		defer func() { r.stop() }()
		body := StartRun{Message: "go", Attachments: nil}
		key := header{"Idempotency-Key", "once more"}
		first := r.stream("bob", "POST", "/api/runs", body, key)
		second := r.stream("bob", "POST", "/api/runs", body, key)
		if d := cmp.Diff(transcript(first), transcript(second)); d != "" {
			t.Error(d)
		}
		no := false
		var told Run
		r.call("bob", "POST", "/api/runs", StartRun{Message: "go", Stream: &no}, http.StatusAccepted, &told, key)
		if told.ID != first[0].agent(t).Run || told.Status != agent.Done {
			t.Errorf("told %+v", told)
		}
		if others := r.stream("eve", "POST", "/api/runs", body, key); others[0].agent(t).Run == told.ID {
			t.Error("another's key is the same run")
		}
		r = r.restart(rigOptions{})
		again := r.stream("bob", "POST", "/api/runs", body, key)
		if again[0].event != "run_replayed" || again[1].agent(t).Run != told.ID {
			t.Errorf("after a restart the key gives %v", again)
		}
		if n := len(r.model.seen); n != 0 {
			t.Errorf("the model was asked again")
		}
		for _, bad := range []string{"", strings.Repeat("k", 129), "tab\tbed"} {
			resp := r.call("bob", "POST", "/api/runs", body, http.StatusBadRequest, nil, header{"Idempotency-Key", bad})
			if resp.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("key %q: no problem", bad)
			}
		}
	})
}

// A key stands for one message. Whoever sends another under it would take the
// first one's answer for theirs.
func TestAKeyIsOfOneMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{keep: 1})
		defer func() { r.stop() }()
		key := header{"Idempotency-Key", "k"}
		refused := func(who, path string, body any) {
			t.Helper()
			var p Problem
			var o OpenAIProblem
			if path == "/api/runs" {
				r.call(who, "POST", path, body, http.StatusUnprocessableEntity, &p, key)
			} else {
				r.call(who, "POST", path, body, http.StatusUnprocessableEntity, &o, key)
			}
			if p.Code+o.Error.Code != "key_reused" {
				t.Errorf("%+v: %+v %+v", body, p, o)
			}
		}
		var file Attachment
		r.call("bob", "POST", "/api/attachments?name=a.txt", "text", http.StatusCreated, &file, header{"Content-Type", "text/plain"})
		first := StartRun{Session: "s", Message: "go", Attachments: []string{file.ID}}
		told := r.stream("bob", "POST", "/api/runs", first, key)[0].agent(t).Run
		for range 2 {
			refused("bob", "/api/runs", StartRun{Session: "s", Message: "go on", Attachments: first.Attachments})
			refused("bob", "/api/runs", StartRun{Session: "t", Message: "go", Attachments: first.Attachments})
			refused("bob", "/api/runs", StartRun{Session: "s", Agent: "beta", Message: "go", Attachments: first.Attachments})
			refused("bob", "/api/runs", StartRun{Session: "s", Message: "go"})
			refused("bob", "/v1/chat/completions", chat("go on", false))
			// What is no part of the message may differ.
			no := false
			var again Run
			same := StartRun{Message: "go", Attachments: first.Attachments, Stream: &no, WhileBusy: "steer"}
			if r.call("bob", "POST", "/api/runs", same, http.StatusAccepted, &again, key); again.ID != told {
				t.Errorf("run %s, want %s", again.ID, told)
			}
			r = r.restart(rigOptions{keep: 1}) // it is told from the record
		}

		// Of two at the same time one gets the key.
		gate := make(chan struct{})
		r.model.on("one", reply{text: "1", gate: gate})
		r.model.on("two", reply{text: "2", gate: gate})
		key = header{"Idempotency-Key", "l"}
		status := make(chan int)
		for _, words := range []string{"one", "two", "one", "two"} {
			go func() {
				resp := r.send(t.Context(), "bob", "POST", "/api/runs", StartRun{Session: "u", Message: words}, key)
				resp.Body.Close()
				status <- resp.StatusCode
			}()
		}
		n := map[int]int{}
		for range 4 {
			n[<-status]++
		}
		close(gate)
		if n[http.StatusOK] != 2 || n[http.StatusUnprocessableEntity] != 2 {
			t.Errorf("the answers were %v", n)
		}
		synctest.Wait()

		// A message that joined another run is found there.
		gate = make(chan struct{})
		r.model.on("begin", reply{calls: []llm.ToolCall{{ID: "a", Name: "echo", Arguments: "{}"}}, gate: gate})
		key = header{"Idempotency-Key", "m"}
		r.post("bob", StartRun{Session: "v", Message: "begin"})
		synctest.Wait()
		no := false
		words := StartRun{Session: "v", Message: "and this", WhileBusy: "steer", Stream: &no}
		r.call("bob", "POST", "/api/runs", words, http.StatusAccepted, nil, key)
		close(gate)
		synctest.Wait()
		r.say("bob", "w", "push it out of memory")
		r.call("bob", "POST", "/api/runs", words, http.StatusAccepted, nil, key)
		words.Message = "or that"
		refused("bob", "/api/runs", words)
	})
}
