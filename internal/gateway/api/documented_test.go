package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// documented is the interface as tests ask it: each of its answers is held
// against what the OpenAPI document says of the operation.
type documented struct {
	http.Handler
	t testing.TB
}

func (d documented) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A handler gets at no more than its own copy of the request.
	asked := r.Clone(r.Context())
	c := &captured{ResponseWriter: w}
	d.Handler.ServeHTTP(c, r)
	doc, err := theDocument()
	if err == nil {
		err = doc.check(asked, c)
	}
	if err != nil {
		d.t.Errorf("%s %s answered what the document doesn't say: %v", asked.Method, asked.URL, err)
	}
}

// captured is an answer that is written and kept.
type captured struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// Unwrap lets [http.ResponseController] reach the server's own writer.
func (c *captured) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *captured) WriteHeader(status int) {
	if status >= 200 && c.status == 0 {
		c.status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *captured) Write(b []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	c.body.Write(b)
	return c.ResponseWriter.Write(b)
}

// compiled is the document, made ready to hold answers against it.
type compiled struct {
	mux        *http.ServeMux // knows the documented routes by their patterns
	operations map[string]object
	pointers   map[string]string // of the operations, by pattern
	responses  object            // the shared ones

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema // by pointer
}

// theDocument is shared by all tests, with what has been compiled of it.
var theDocument = sync.OnceValues(func() (*compiled, error) {
	doc, err := served()
	if err != nil {
		return nil, err
	}
	c, err := compiler()
	if err != nil {
		return nil, err
	}
	d := &compiled{
		mux: http.NewServeMux(), operations: map[string]object{}, pointers: map[string]string{},
		responses: doc["components"].(object)["responses"].(object), compiler: c, schemas: map[string]*jsonschema.Schema{},
	}
	paths := doc["paths"].(object)
	for _, rt := range routes() {
		if rt.page {
			continue
		}
		pattern, path, method := rt.method+" "+rt.path, strings.ReplaceAll(rt.path, "...}", "}"), strings.ToLower(rt.method)
		d.mux.Handle(pattern, http.NotFoundHandler())
		ops, _ := paths[path].(object)
		d.operations[pattern], _ = ops[method].(object)
		d.pointers[pattern] = "/paths/" + escaped(path) + "/" + method
	}
	return d, nil
})

// escaped is a token of a JSON pointer within an address.
func escaped(token string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(token)
}

// check says what of an answer the document doesn't say. It takes no interest
// in addresses that no operation is for.
func (d *compiled) check(r *http.Request, c *captured) error {
	if r.Method == http.MethodConnect || !isClean(r.URL) {
		return nil
	}
	_, pattern := d.mux.Handler(r)
	op := d.operations[pattern]
	if op == nil || c.status == 0 || r.Method == http.MethodHead && c.status == http.StatusMethodNotAllowed {
		return nil
	}
	responses := op["responses"].(object)
	status := strconv.Itoa(c.status)
	said, ok := responses[status].(object)
	pointer := d.pointers[pattern] + "/responses/" + status
	switch {
	case !ok && c.status == http.StatusInternalServerError:
		// What the gateway didn't foresee, it can't have written down.
		said, pointer = responses["default"].(object), d.pointers[pattern]+"/responses/default"
	case !ok:
		return fmt.Errorf("status %s: %s", status, c.body.Bytes())
	}
	if ref, ok := said["$ref"].(string); ok {
		pointer = strings.TrimPrefix(ref, "#")
		said = d.responses[pointer[strings.LastIndex(pointer, "/")+1:]].(object)
	}
	if err := headersFit(said, c.Header(), c.status); err != nil {
		return fmt.Errorf("status %s: %w", status, err)
	}
	content, _ := said["content"].(object)
	if content == nil {
		if c.body.Len() > 0 {
			return fmt.Errorf("status %s: content %s", status, c.body.Bytes())
		}
		return nil
	}
	kind, _, err := mime.ParseMediaType(c.Header().Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("status %s: %w", status, err)
	}
	if content[kind] == nil && content["*/*"] == nil {
		return fmt.Errorf("status %s: content of type %s", status, kind)
	}
	if r.Method == http.MethodHead || r.Context().Err() != nil {
		return nil // there is no content, or only what a client that left had read
	}
	schema := func(v []byte) error { return d.valid(pointer+"/content/"+escaped(kind)+"/schema", v) }
	switch kind {
	case "application/json", "application/problem+json":
		return schema(c.body.Bytes())
	case "text/event-stream":
		return eachEvent(c.body.String(), schema)
	}
	return nil
}

// headersFit says which headers the document promises that are not there, and
// which of ours are there that it doesn't name. Those of a run may go with any
// error, which it says once for all.
func headersFit(said object, h http.Header, status int) error {
	named, _ := said["headers"].(object)
	for name := range named {
		if name != "Retry-After" && h.Get(name) == "" { // not each of the reasons ends at a time that is known
			return fmt.Errorf("no header %s", name)
		}
	}
	for name := range h {
		if short, ok := strings.CutPrefix(name, "X-Goclaw-"); ok && status < 400 && named["X-GoClaw-"+short] == nil {
			return fmt.Errorf("a header %s", name)
		}
	}
	return nil
}

// eachEvent calls check with the data of each whole event.
func eachEvent(stream string, check func([]byte) error) error {
	whole := stream[:strings.LastIndex(stream, "\n\n")+1] // what was cut is nobody's answer
	for event := range strings.SplitSeq(whole, "\n\n") {
		for line := range strings.SplitSeq(event, "\n") {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok || data == "[DONE]" {
				continue
			}
			if err := check([]byte(data)); err != nil {
				return fmt.Errorf("in %s: %w", event, err)
			}
		}
	}
	return nil
}

// valid holds JSON against the schema at a pointer into the document.
func (d *compiled) valid(pointer string, text []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	d.mu.Lock()
	s := d.schemas[pointer]
	if s == nil {
		if s, err = d.compiler.Compile(documentURL + "#" + pointer); err == nil {
			d.schemas[pointer] = s
		}
	}
	d.mu.Unlock()
	if err != nil {
		return err
	}
	if err := s.Validate(v); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return nil
}

// An answer that the document doesn't know is found.
func TestAnswersAreHeldAgainstTheDocument(t *testing.T) {
	t.Parallel()
	doc, err := theDocument()
	if err != nil {
		t.Fatal(err)
	}
	run, err := json.Marshal(Run{
		State: RunQueued, Origin: tool.FromAPI, Caller: auth.Principal{ID: "bob", Role: auth.User}, Message: llm.UserMessage("hi"),
	})
	if err != nil {
		t.Fatal(err)
	}
	stream := "id: 1\nevent: run_started\ndata: {\"type\":\"run_started\",\"run\":\"r\",\"session\":\"s\",\"seq\":1,\"time\":\"2026-01-01T00:00:00Z\"}\n\n"
	for _, tc := range []struct {
		name, method, path, kind string
		status                   int
		body, want               string
	}{
		{"a run", "POST", "/api/runs", "application/json", 202, string(run), ""},
		{"a run with the status of a stream", "POST", "/api/runs", "application/json", 200, string(run), "type application/json"},
		{"half a run", "POST", "/api/runs", "application/json", 202, `{"id":"x"}`, "missing propert"},
		{"a status that nobody declared", "POST", "/api/runs", "application/problem+json", 418, `{}`, "status 418"},
		{"a stream", "POST", "/api/runs", "text/event-stream; charset=utf-8", 200, stream, ""},
		{"a stream that was cut", "POST", "/api/runs", "text/event-stream", 200, stream + "data: {", ""},
		{"a stream of something else", "POST", "/api/runs", "text/event-stream", 200, "data: 7\n\n", "got number"},
		{"content where there is none", "DELETE", "/api/sessions/alpha/s", "application/json", 204, "{}", "content {}"},
		{"what no operation is for", "GET", "/api/nothing", "text/plain", 200, "hi", ""},
	} {
		r, err := http.NewRequest(tc.method, "http://127.0.0.1"+tc.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := &captured{ResponseWriter: httptest.NewRecorder(), status: tc.status}
		c.Header().Set("Content-Type", tc.kind)
		c.Header().Set("X-Request-ID", "x")
		if tc.status < 300 && tc.path == "/api/runs" {
			for _, h := range runHeaders {
				c.Header().Set(h.name, "x")
			}
		}
		c.body.WriteString(tc.body)
		if err := doc.check(r, c); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}
