package fakellm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post sends a request that is valid but for what body lacks and returns the
// answer's body.
func post(t *testing.T, url, body string) (status int, answer string, err error) {
	t.Helper()
	resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

var stream = strings.Replace(request(userMessage), `"messages"`, `"stream":true,"stream_options":{"include_usage":true},"messages"`, 1)

func TestStreams(t *testing.T) {
	t.Parallel()
	s := Start(t, Answer{Text: "Hi 界", Pieces: 4, Calls: []Call{Use("calc", `{"e":1}`)}, Usage: &Usage{Input: 3, Output: 1}})
	_, got, err := post(t, s.URL, stream)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"delta":{"content":"","role":"assistant"},"finish_reason":null`, `"content":"Hi 界"`, `"id":"call-1_0"`, `"arguments":"{\"e\"`, `"arguments":":1}"`,
		`"delta":{},"finish_reason":"tool_calls"`, `"choices":[]`, `"prompt_tokens":3`, "data: [DONE]\n\n",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%s\nlacks %s", got, part)
		}
	}
	if r := s.Requests(); len(r) != 1 || string(r[0].Body) != stream || s.Left() != 0 {
		t.Errorf("%+v", r)
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	s := Start(t, Text("Hi"), Answer{Text: "Hi", Whole: true}, Fail(429, `{"error":{}}`))
	for _, body := range []string{request(userMessage), stream} {
		if status, got, err := post(t, s.URL, body); err != nil || status != 200 || !strings.Contains(got, `"message":{"content":"Hi","refusal":null,"role":"assistant"}`) {
			t.Errorf("%d %s %v", status, got, err)
		}
	}
	if status, got, err := post(t, s.URL, stream); err != nil || status != 429 || got != `{"error":{}}` {
		t.Errorf("%d %s %v", status, got, err)
	}
}

func TestTheRightAnswer(t *testing.T) {
	t.Parallel()
	s := StartScript(t, Script{Loop: true, Answers: []Answer{{When: "second", Text: "2"}, {When: "first", Text: "1"}, {Text: "any"}}})
	for _, word := range []string{"first", "second", "third", "second"} {
		_, got, err := post(t, s.URL, strings.Replace(stream, "hi", word, 1))
		want := map[string]string{"first": "1", "second": "2", "third": "any"}[word]
		if err != nil || !strings.Contains(got, `"content":"`+want+`"`) {
			t.Errorf("%s: %s %v", word, got, err)
		}
	}
}

// A wrong request, and one too many, are noticed; so this test looks at the
// server without the help that would make it fail.
func TestFaults(t *testing.T) {
	t.Parallel()
	s := New(Script{Answers: []Answer{Text("Hi")}})
	h := httptest.NewServer(s)
	defer h.Close()
	if _, _, err := post(t, h.URL, request(resultA)); err != nil {
		t.Fatal(err)
	}
	if status, _, err := post(t, h.URL, stream); err != nil || status != 500 {
		t.Errorf("%d %v", status, err)
	}
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "request 1 is invalid") || !strings.Contains(err.Error(), "no answer left for request 2") {
		t.Errorf("%v", err)
	}
	if resp, err := http.Get(h.URL + "/elsewhere"); err != nil || resp.StatusCode != 404 {
		t.Errorf("%v", err)
	} else {
		resp.Body.Close()
	}
}

func TestBroken(t *testing.T) {
	t.Parallel()
	for _, a := range []Answer{{Break: "before"}, {Text: "Hi", Break: "middle"}} {
		s := Start(t, a)
		if _, got, err := post(t, s.URL, stream); err == nil || strings.Contains(got, "DONE") {
			t.Errorf("%+v: %s %v", a, got, err)
		}
	}
}

func TestHangingEndsWithTheClient(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"before", "header", "middle"} {
		s := Start(t, Answer{Text: "Hi", Hang: where})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			if s.Wait(ctx, 1) == nil {
				cancel()
			}
		}()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v1/chat/completions", strings.NewReader(stream))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", where, err)
		}
		cancel()
	}
}

// An answer that is held goes when it is released, one for each time.
func TestHeldUntilReleased(t *testing.T) {
	t.Parallel()
	s := Start(t, Answer{Text: "One", Hold: true}, Answer{Text: "Two", Hold: true})
	for i, want := range []string{"One", "Two"} {
		got := make(chan string, 1)
		go func() {
			_, text, err := post(t, s.URL, stream)
			got <- fmt.Sprint(text, err)
		}()
		if err := s.Wait(t.Context(), i+1); err != nil {
			t.Fatal(err)
		}
		select {
		case text := <-got:
			t.Fatalf("it was not held: %s", text)
		default:
		}
		if err := s.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if text := <-got; !strings.Contains(text, want) {
			t.Errorf("%s holds no %s", text, want)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := s.Release(ended); err == nil || !strings.Contains(err.Error(), "none is held") {
		t.Errorf("nothing to release: %v", err)
	}
}

func TestQuick(t *testing.T) {
	t.Parallel()
	h := httptest.NewServer(Quick(Use("file_read", `{"path":"a.txt"}`), "It says hello."))
	defer h.Close()
	if _, got, err := post(t, h.URL, stream); err != nil || !strings.Contains(got, `"name":"file_read"`) || !strings.HasSuffix(got, "data: [DONE]\n\n") {
		t.Errorf("%s %v", got, err)
	}
	if _, got, err := post(t, h.URL, request(userMessage, oneCall, resultA)); err != nil || !strings.Contains(got, "It says") || strings.Contains(got, "file_read") {
		t.Errorf("%s %v", got, err)
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	s, err := parseScript([]byte(`{"answers":[{"calls":[{"name":"calc","args":{"e": 1}},{"name":"calc","args_text":"{'e'"}],"usage":{"input":5}},{"raw":["data: x\n\n"],"raw_bytes":["/w=="]}],"loop":true}`))
	if err != nil || len(s.Answers) != 2 || s.Answers[0].Calls[0].arguments() != `{"e": 1}` || s.Answers[0].Calls[1].arguments() != `{'e'` || string(s.Answers[1].RawBytes[0]) != "\xff" {
		t.Errorf("%+v, %v", s, err)
	}
	for script, want := range map[string]string{
		`{"answer":[]}`:                   "unknown field",
		`{"answers":[{"hang":"always"}]}`: "hang is",
		`{"answers":[{"break":"x"}]}`:     "break is",
		`{"answers":[{},{"finish":"x"}]}`: "answer 2: finish is",
		``:                                "EOF",
	} {
		if _, err := parseScript([]byte(script)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
	}
}

func TestProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "s.json")
	if err := os.WriteFile(script, []byte(`{"answers":[{"text":"Hi"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	addr, record := filepath.Join(dir, "addr"), filepath.Join(dir, "requests")
	for _, args := range [][]string{{"-addr", addr, "-record", record, script}, {"-quick", "calc", "-text", "Hi"}} {
		ctx, stop := context.WithCancel(t.Context())
		out, in := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- program(ctx, args, in, io.Discard) }()
		line := make([]byte, 100)
		n, err := out.Read(line)
		if err != nil {
			t.Fatal(err)
		}
		if status, _, err := post(t, strings.TrimSpace(string(line[:n])), stream); err != nil || status != 200 {
			t.Errorf("%q: %d %v", args, status, err)
		}
		stop()
		if err := <-done; err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(record, "001.json")); err != nil || string(got) != stream {
		t.Errorf("%s %v", got, err)
	}
	if got, err := os.ReadFile(addr); err != nil || !bytes.HasPrefix(got, []byte("http://127.0.0.1:")) {
		t.Errorf("%s %v", got, err)
	}
	held := filepath.Join(dir, "held.json")
	if err := os.WriteFile(held, []byte(`{"answers":[{"hold":true}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{}, {"-x"}, {script, script}, {filepath.Join(dir, "none.json")}, {held}} {
		var errs bytes.Buffer
		if status := Main(args, io.Discard, &errs); status == 0 || errs.Len() == 0 {
			t.Errorf("%q: %d %s", args, status, &errs)
		}
	}
}

// The commands work in a test script: the address is there, requests become
// files and are counted.
func TestCommands(t *testing.T) {
	t.Parallel()
	cmds := Commands()
	cmds["post"] = func(ts *testscript.TestScript, _ bool, args []string) {
		resp, err := http.Post(args[0]+"/chat/completions", "application/json", strings.NewReader(ts.ReadFile(args[1])))
		ts.Check(err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs("answer"), body, 0o600))
	}
	dir := t.TempDir()
	script := "fakellm s.json\nasked 0\npost $MODEL_URL request.json\nasked 1\ncmp requests/001.json request.json\ngrep Hello answer\n" +
		"-- s.json --\n{\"answers\":[{\"text\":\"Hello\"}]}\n-- request.json --\n" + stream + "\n"
	if err := os.WriteFile(filepath.Join(dir, "model.txtar"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Dir: dir, Cmds: cmds, Setup: func(env *testscript.Env) error { Setup(env); return nil }})
	http.DefaultClient.CloseIdleConnections()
}
