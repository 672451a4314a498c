package api

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
)

// chat is the body of a completion of one message.
func chat(text string, stream bool) ChatRequest {
	content, err := json.Marshal(text)
	if err != nil {
		panic(err) // strings can be encoded
	}
	return ChatRequest{Model: "goclaw", Messages: []ChatMessage{{Role: "user", Content: content}}, Stream: stream}
}

// OpenAI's library for Python takes each block of lines for JSON, also one that
// only says when to come again.
func TestAStreamHoldsNothingButData(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	resp := r.send(t.Context(), "bob", "POST", "/v1/chat/completions", chat("hi there", true))
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(strings.TrimSuffix(string(body), "\n\n"), "\n\n")
	for _, b := range blocks {
		if data, ok := strings.CutPrefix(b, "data: "); !ok || data != "[DONE]" && !json.Valid([]byte(data)) {
			t.Errorf("%q is in the stream", b)
		}
	}
	if len(blocks) < 4 || blocks[len(blocks)-1] != "data: [DONE]" {
		t.Errorf("the stream is %q", blocks)
	}
}

// What is less than an answer never looks like one.
func TestLessThanAnAnswerIsAnError(t *testing.T) {
	t.Parallel()
	const path = "/v1/chat/completions"
	for _, tc := range []struct {
		name    string
		session string
		wait    bool // behind another message
		happens func(r *rig)
		status  int
		code    string
	}{
		{"the token is revoked", "", false, func(r *rig) { r.Server.revoked(auth.SumOf(r.tokens["bob"])) }, http.StatusUnauthorized, "unauthorized"},
		{"the token is revoked, in a session", "s", false, func(r *rig) { r.Server.revoked(auth.SumOf(r.tokens["bob"])) }, http.StatusUnauthorized, "unauthorized"},
		{"the gateway stops", "s", false, (*rig).drain, http.StatusServiceUnavailable, "interrupted"},
		{"the gateway stops before", "s", true, (*rig).drain, http.StatusServiceUnavailable, "unavailable"},
		{"it is stopped", "s", false, func(r *rig) {
			r.call("bob", "POST", "/api/sessions/alpha/api:bob:s/stop", nil, http.StatusNoContent, nil)
		}, http.StatusConflict, "stopped"},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(tc.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, rigOptions{})
					defer r.stop()
					r.model.on("go", reply{text: "half whole", middle: make(chan struct{})})
					text := "go"
					name := header{"X-GoClaw-Session", tc.session}
					if tc.wait {
						go r.send(t.Context(), "bob", "POST", path, chat("go", true), name)
						synctest.Wait()
						text = "next"
					}
					came := make(chan *http.Response)
					go func() { came <- r.send(t.Context(), "bob", "POST", path, chat(text, stream), name) }()
					synctest.Wait()
					tc.happens(r)
					resp := <-came
					defer resp.Body.Close()
					body, err := io.ReadAll(resp.Body)
					if err != nil {
						t.Fatal(err)
					}
					status, told := tc.status, string(body)
					if stream && !tc.wait { // else no stream has begun
						status = http.StatusOK
						told = told[strings.LastIndex(told, "data: ")+len("data: "):]
					}
					var p OpenAIProblem
					if err := json.Unmarshal([]byte(told), &p); err != nil || resp.StatusCode != status || p.Error.Code != tc.code || p.Error.Message == "" {
						t.Errorf("%d %s", resp.StatusCode, body)
					}
				})
			})
		}
	}
}

// drain lets the runner end as a gateway does that doesn't wait for runs.
func (r *rig) drain() {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.runner.Drain(now); err != nil {
		r.t.Error(err)
	}
}

// Who named a key can come back for the answer.
func TestAKeyOutlivesItsClient(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, rigOptions{})
			defer r.stop()
			gate := make(chan struct{})
			r.model.on("go", reply{text: "the whole answer", middle: gate})
			key := header{"Idempotency-Key", "k"}
			ctx, leave := context.WithCancel(t.Context())
			resp := r.send(ctx, "bob", "POST", "/v1/chat/completions", chat("go", true), key)
			if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			leave()
			resp.Body.Close()
			synctest.Wait()
			close(gate)
			again := r.send(t.Context(), "bob", "POST", "/v1/chat/completions", chat("go", stream), key)
			defer again.Body.Close()
			body, err := io.ReadAll(again.Body)
			if err != nil || !strings.Contains(string(body), "answer") || !strings.Contains(string(body), `"finish_reason":"stop"`) {
				t.Errorf("the answer is %s, %v", body, err)
			}
			if n := len(r.model.seen); n != 1 {
				t.Errorf("the model was asked %d times", n)
			}
		})
	}
}

// Why an answer ended is told in both forms, from memory and from the record.
func TestAnAnswerThatWasCutSaysWhy(t *testing.T) {
	t.Parallel()
	for finish, want := range map[llm.Finish]string{llm.FinishStop: "stop", llm.FinishLength: "length", llm.FinishFilter: "content_filter"} {
		r := newRig(t, rigOptions{})
		r.model.on("go", reply{text: "half", finish: finish})
		for range 2 {
			for _, stream := range []bool{false, true} {
				resp := r.send(t.Context(), "bob", "POST", "/v1/chat/completions", chat("go", stream), header{"Idempotency-Key", "k"})
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || !strings.Contains(string(body), `"finish_reason":"`+want+`"`) {
					t.Errorf("%s, streamed %v: %s, %v", finish, stream, body, err)
				}
			}
			r = r.restart(rigOptions{})
		}
	}
}

// A model is an agent by its id, or the default agent by its other names.
func TestNamesOfModels(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	for model, want := range map[string]string{
		"goclaw/beta": "beta", "beta": "beta", "goclaw/alpha": "alpha", "goclaw": "alpha", "": "alpha", "goclaw/": "alpha",
		"goclaw/main": "alpha", "goclaw/Default": "alpha", "MAIN": "alpha",
	} {
		q := chat("hi", false)
		q.Model = model
		var got ChatCompletion
		if r.call("bob", "POST", "/v1/chat/completions", q, http.StatusOK, &got); got.Model != "goclaw/"+want {
			t.Errorf("%q is answered by %s, want %s", model, got.Model, want)
		}
	}
	q := chat("hi", false)
	q.Model = "gpt-x"
	var p OpenAIProblem
	if r.call("bob", "POST", "/v1/chat/completions", q, http.StatusNotFound, &p); p.Error.Code != "model_not_found" {
		t.Errorf("%+v", p)
	}
}
