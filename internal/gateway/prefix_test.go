package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/fakellm"
)

// repeated is how many bytes of b's beginning stand at a's beginning.
func repeated(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func TestEachRequestRepeatsTheOneBeforeAsItsPrefix(t *testing.T) {
	t.Parallel()
	r := setup(
		t, "",
		fakellm.Answer{Text: "I look.", Calls: []fakellm.Call{fakellm.Use("file_list", `{}`), fakellm.Use("calc", `{"expression":"1+1"}`)}},
		fakellm.Calls(fakellm.Use("file_write", `{"path":"new.txt","content":"x"}`)),
		fakellm.Text("First done."),
		fakellm.Calls(fakellm.Use("file_read", `{"path":"new.txt"}`)),
		fakellm.Text("Second done."),
	)
	r.say("s", "first")
	r.close() // a restart in between changes nothing
	r.open()
	r.say("s", "second")
	if n := len(r.model.Requests()); n != 5 {
		t.Fatalf("%d requests", n)
	}
	r.prefixes()
}

// prefixes checks that each request repeats the one before.
func (r *rig) prefixes() {
	r.t.Helper()
	all := r.model.Requests()
	for i := 1; i < len(all); i++ {
		a, b := all[i-1].Body, all[i].Body
		// What ends the list of messages is all that may differ.
		if n, want := repeated(a, b), len(bytes.TrimRight(a, "]}\n")); n < want {
			r.t.Errorf("request %d repeats %d of %d bytes of the one before; it goes on %q instead of %q", i+1, n, len(a), b[n:min(n+60, len(b))], a[n:min(n+60, len(a))])
		}
	}
}

func TestTurnsThatWentWrongBreakNoPrefix(t *testing.T) {
	t.Parallel()
	call := fakellm.Use("calc", `{"expression":"1+1"}`)
	r := setup(t, "")
	for i, a := range []fakellm.Answer{
		{Hang: "before"},
		{Text: "half an answer", Hang: "middle"},
		{Text: "half", Calls: []fakellm.Call{call}, Hang: "middle"},
		fakellm.Fail(400, `{"error":{"message":"bad request"}}`),
		{Raw: []string{"data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n", "data: {\"error\":{\"message\":\"bad\",\"type\":\"invalid_request_error\"}}\n\n"}},
		fakellm.Text("all"),
	} {
		r.model.Add(fakellm.Answer{Text: "I count.", Calls: []fakellm.Call{call}}, a)
		going := r.start(admin("s", "go on"))
		if a.Hang != "" {
			if err := r.model.Wait(t.Context(), 2*i+2); err != nil {
				t.Fatal(err)
			}
			seen := ""
			for e := range going.Events(t.Context(), 0) {
				if seen += e.Text; strings.HasSuffix(seen, a.Text) && e.Type == agent.TokenChunk || a.Text == "" {
					break
				}
			}
			going.Stop()
		}
		r.watch(going)
		if i%2 == 1 {
			r.close()
			r.open()
		}
	}
	r.prefixes()
}

func TestSessionsThatBeginAlikeSendEqualBytes(t *testing.T) {
	t.Parallel()
	var answers []fakellm.Answer
	for i := range 2 {
		// The provider's own ids differ; they are sent back as they came.
		answers = append(answers, fakellm.Calls(fakellm.Use("calc", `{"expression":"1+1"}`)), fakellm.Text(fmt.Sprint("done ", i)))
	}
	r := setup(t, "", answers...)
	r.say("one", "hello there")
	r.say("two", "hello there")
	all := r.model.Requests()
	a, b := all[0].Body, all[2].Body
	words := []byte("hello there")
	if n, want := repeated(a, b), bytes.LastIndex(a, words)+len(words); n < want {
		t.Errorf("two sessions share %d bytes of %d: %q, %q", n, want, a[n:min(n+60, len(a))], b[n:min(n+60, len(b))])
	}
	for _, q := range all {
		for _, secret := range []string{"\"one\"", "\"two\"", "main/one"} {
			if bytes.Contains(q.Body, []byte(secret)) {
				t.Errorf("a request names its session: %s", secret)
			}
		}
	}
}

func TestAFirstHelloStaysSmall(t *testing.T) {
	t.Parallel()
	r := setup(t, "", fakellm.Text("Hello!"))
	r.say("s", "hello")
	var body struct {
		Tools    []json.RawMessage `json:"tools"`
		Messages []wireMessage     `json:"messages"`
	}
	if err := r.model.Requests()[0].Decode(&body); err != nil {
		t.Fatal(err)
	}
	size := len(body.Messages[0].text())
	for _, raw := range body.Tools {
		size += len(raw)
	}
	const limit = 12 << 10
	if size > limit || len(r.model.Requests()[0].Body) > limit {
		t.Errorf("system prompt and tools take %d bytes, the whole request %d; the limit is %d", size, len(r.model.Requests()[0].Body), limit)
	}
	// The internal ones, search_tools and what most agents use.
	if len(body.Tools) < 12 {
		t.Errorf("only %d tools are offered", len(body.Tools))
	}
}
