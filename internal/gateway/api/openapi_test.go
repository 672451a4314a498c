package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

var update = flag.Bool("update", false, "write openapi.json anew")

const openAPIFile = "internal/gateway/api/openapi.json" // from the root of the module

// TestOpenAPIIsFresh holds the document that is served, and from which the
// pages' types are made, against the routes and the Go types.
func TestOpenAPIIsFresh(t *testing.T) {
	t.Chdir("../../..")
	want, err := json.MarshalIndent(openAPI(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(openAPIFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(openAPIFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("openapi.json is not what the routes and types say; run make generate")
	}
}

type object = map[string]any

// words lists the values of the types that are one of a few words.
var words = map[reflect.Type][]any{
	reflect.TypeFor[RunState]():     {RunQueued, RunRunning, RunEnded},
	reflect.TypeFor[ForkMode]():     {ForkAfter, ForkBefore},
	reflect.TypeFor[agent.Status](): {agent.Running, agent.Done, agent.Failed, agent.Stopped, agent.Limited, agent.Interrupted},
	reflect.TypeFor[agent.EventType](): {
		agent.RunStarted, agent.PromptBuilt, agent.ModelStarted, agent.TokenChunk, agent.ReasoningChunk, agent.Retracted,
		agent.ToolStarted, agent.ToolProgress, agent.ToolFinished, agent.Notice, agent.Attachment, agent.RunFinished, agent.RunFailed,
	},
	reflect.TypeFor[tool.Status](): {
		tool.OK, tool.Failed, tool.Refused, tool.Invalid, tool.TimedOut, tool.Cancelled, tool.Panicked, tool.Interrupted, tool.Handed,
	},
	reflect.TypeFor[tool.Origin]():    {tool.FromChat, tool.FromAPI, tool.FromChannel, tool.FromCron, tool.FromSOP, tool.FromWebhook, tool.FromSubagent},
	reflect.TypeFor[auth.Role]():      {auth.Admin, auth.User, auth.System},
	reflect.TypeFor[llm.Role]():       {llm.User, llm.Assistant, llm.Results},
	reflect.TypeFor[llm.Kind]():       {llm.KindText, llm.KindContext, llm.KindReasoning, llm.KindMedia, llm.KindFile, llm.KindCall, llm.KindResult},
	reflect.TypeFor[engine.Verdict](): {engine.Yes, engine.No, engine.Unknown},
}

// openAPI makes the document from the routes.
func openAPI(t *testing.T) object {
	schemas := object{}
	r := &jsonschema.Reflector{
		Anonymous: true, ExpandedStruct: false, AllowAdditionalProperties: true,
		Mapper: func(typ reflect.Type) *jsonschema.Schema {
			if typ == reflect.TypeFor[json.RawMessage]() {
				return &jsonschema.Schema{Description: "any JSON value"}
			}
			if typ == reflect.TypeFor[time.Duration]() {
				return &jsonschema.Schema{Type: "integer", Description: "nanoseconds"}
			}
			if values := words[typ]; values != nil {
				return &jsonschema.Schema{Type: "string", Enum: values}
			}
			return nil
		},
		Namer: schemaName,
	}
	for _, dir := range []string{"internal/gateway/api", "internal/agent", "internal/tool", "internal/llm", "internal/auth", "internal/engine", "internal/lib/source"} {
		comments(t, r, dir)
	}
	ref := func(v any) object {
		s := r.Reflect(v)
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var doc object
		if err := json.Unmarshal(bytes.ReplaceAll(b, []byte("#/$defs/"), []byte("#/components/schemas/")), &doc); err != nil {
			t.Fatal(err)
		}
		defs, _ := doc["$defs"].(object)
		for name, def := range defs {
			schemas[name] = def
		}
		return object{"$ref": doc["$ref"]}
	}
	doc := document31{schema: ref, problems: object{}}
	paths := object{}
	for _, rt := range routes() {
		if rt.page {
			continue
		}
		path := strings.ReplaceAll(rt.path, "...}", "}")
		ops, _ := paths[path].(object)
		if ops == nil {
			ops = object{}
			paths[path] = ops
		}
		ops[strings.ToLower(rt.method)] = doc.operation(rt)
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "GoClaw", "version": "1", "license": object{"name": "MIT", "identifier": "MIT"},
			"description": "The gateway's HTTP interface. Every answer has the header X-Request-ID, which names the request in the gateway's log; " +
				"a client may choose it. Errors are application/problem+json; under /v1 they have OpenAI's form. An error that a run ended with names it by the headers of a good answer.",
		},
		"servers": []any{object{"url": "/", "description": "this gateway"}},
		"paths":   paths,
		"components": object{
			"schemas":   schemas,
			"responses": doc.problems,
			"headers": object{
				"X-Request-ID":     object{"description": "names the request in the gateway's log", "schema": object{"type": "string"}},
				"Retry-After":      object{"description": "seconds to wait before the next try", "schema": object{"type": "integer"}},
				"WWW-Authenticate": object{"description": "how to say who asks", "schema": object{"type": "string"}},
			},
			"securitySchemes": object{
				"bearer": object{"type": "http", "scheme": "bearer", "description": "a token of goclaw users token NAME, or GOCLAW_TOKEN"},
				"cookie": object{"type": "apiKey", "in": "cookie", "name": cookieName, "description": "set by signing in at /signin; with an https address it is named " + secureCookieName},
			},
		},
		"security": []any{object{"bearer": []any{}}, object{"cookie": []any{}}},
	}
}

// document31 writes operations of OpenAPI 3.1.
type document31 struct {
	schema   func(v any) object
	problems object // the shared responses that the operations refer to
}

// refusals are the problems that routes answer with, by their names among the
// document's responses, and which kind of route any of them can answer.
var refusals = []struct {
	name   string
	status int
	about  string
	when   func(rt route) bool
	header string
}{
	{"BadRequest", 400, "a value, or the body, can't be used", func(rt route) bool { return rt.body != nil || rt.query != nil || rt.raw != "" || isOfSession(rt) }, ""},
	{"Unauthorized", 401, "nobody known asks", func(rt route) bool { return rt.access != public }, "WWW-Authenticate"},
	{"Forbidden", 403, "the caller may not do this, or Host or Origin is not the gateway's", func(route) bool { return true }, ""},
	{"NotFound", 404, "there is no such thing, or it is somebody else's", func(rt route) bool { return strings.Contains(rt.path, "{") }, ""},
	{"TooSlow", 408, "the body came too slowly", mayHaveBody, ""},
	{"Conflict", 409, "it can't be done now, because of what is going on", func(route) bool { return false }, ""},
	{"TooLarge", 413, "the body is larger than this route takes", mayHaveBody, ""},
	{"UnsupportedMediaType", 415, "the body's type is not read here", func(rt route) bool { return rt.body != nil }, ""},
	{"KeyReused", 422, "the Idempotency-Key was used for another message", takesKey, ""},
	{"TooMany", 429, "too many wrong tokens from an address, requests or streams of a caller, or messages that wait in a session", func(rt route) bool { return rt.access != public }, "Retry-After"},
	{"RunFailed", 502, "the run failed", func(route) bool { return false }, ""},
	{"Unavailable", 503, "the gateway is busy, stops, or is not ready", func(route) bool { return true }, "Retry-After"},
}

// isOfSession reports whether a route's path names a session, which can be no
// name at all.
func isOfSession(rt route) bool { return strings.HasPrefix(rt.path, "/api/sessions/{agent}/{id}") }

// mayHaveBody reports whether a request may bring a body, wanted or not.
func mayHaveBody(rt route) bool { return rt.method != http.MethodGet }

func takesKey(rt route) bool {
	return slices.ContainsFunc(rt.headers, func(p param) bool { return p.name == "Idempotency-Key" })
}

// suffix keeps the errors under /v1 apart, which have another form.
func suffix(rt route) string {
	if strings.HasPrefix(rt.path, "/v1/") {
		return "OpenAI"
	}
	return ""
}

func headerRefs(names ...string) object {
	h := object{}
	for _, n := range names {
		if n != "" {
			h[n] = object{"$ref": "#/components/headers/" + n}
		}
	}
	return h
}

// problem refers to a shared response, in the form of the route's problems.
func (d document31) problem(rt route, name, about, header string) object {
	name += suffix(rt)
	content := object{"application/problem+json": object{"schema": d.schema(Problem{})}}
	if suffix(rt) != "" {
		content = object{"application/json": object{"schema": d.schema(OpenAIProblem{})}}
	}
	d.problems[name] = object{"description": about, "headers": headerRefs("X-Request-ID", header), "content": content}
	return object{"$ref": "#/components/responses/" + name}
}

// success is one of a route's answers when all is well.
func (d document31) success(a success) object {
	content := object{}
	if a.body != nil {
		schema := object{"type": "object"}
		if _, ok := a.body.(json.RawMessage); !ok {
			schema = d.schema(a.body)
		}
		content["application/json"] = object{"schema": schema}
	}
	if len(a.stream) == 1 {
		content["text/event-stream"] = object{"schema": d.schema(a.stream[0])}
	} else if len(a.stream) > 1 {
		var any []object
		for _, v := range a.stream {
			any = append(any, d.schema(v))
		}
		content["text/event-stream"] = object{"schema": object{"anyOf": any}}
	}
	for _, m := range a.media {
		schema := object{"type": "string"}
		if m == "*/*" {
			schema = object{} // any bytes, as OpenAPI 3.1 says it
		}
		content[m] = object{"schema": schema}
	}
	headers := headerRefs("X-Request-ID")
	for _, h := range a.headers {
		headers[h.name] = object{"description": h.about, "schema": object{"type": "string"}}
	}
	out := object{"description": cmp.Or(a.when, "done"), "headers": headers}
	if len(content) > 0 {
		out["content"] = content
	}
	return out
}

var wildcard = regexp.MustCompile(`\{(\w+)(\.\.\.)?\}`)

func (d document31) operation(rt route) object {
	responses := object{"default": d.problem(rt, "Error", "what went wrong and what to do", "")}
	for _, a := range rt.answers {
		responses[strconv.Itoa(cmp.Or(a.status, 200))] = d.success(a)
	}
	for _, e := range refusals {
		if e.when(rt) || slices.Contains(rt.refusals, e.status) {
			responses[strconv.Itoa(e.status)] = d.problem(rt, e.name, e.about, e.header)
		}
	}
	op := object{"operationId": operationID(rt), "summary": rt.summary, "x-role": string(rt.access), "responses": responses}
	if rt.access == public {
		op["security"] = []any{}
	}
	var params []object
	for _, m := range wildcard.FindAllStringSubmatch(rt.path, -1) {
		params = append(params, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, q := range rt.query {
		params = append(params, object{"name": q.name, "in": "query", "description": q.about, "schema": object{"type": "string"}})
	}
	for _, h := range rt.headers {
		params = append(params, object{"name": h.name, "in": "header", "description": h.about, "schema": object{"type": "string"}})
	}
	if params != nil {
		op["parameters"] = params
	}
	body := object{"required": true, "description": "at most " + size(rt.limit)}
	switch {
	case rt.body != nil:
		body["content"] = object{"application/json": object{"schema": d.schema(rt.body)}}
		op["requestBody"] = body
	case rt.raw != "":
		body["content"] = object{rt.raw: object{}} // any bytes, as OpenAPI 3.1 says it
		op["requestBody"] = body
	}
	return op
}

// operationID names a route for generated clients: getApiSessionsAgentId.
func operationID(rt route) string {
	id := strings.ToLower(rt.method)
	for part := range strings.FieldsFuncSeq(rt.path, func(c rune) bool { return strings.ContainsRune("/{}._-", c) }) {
		id += strings.ToUpper(part[:1]) + part[1:]
	}
	return id
}

// schemaName keeps types of one name in different packages apart.
func schemaName(t reflect.Type) string {
	if t.PkgPath() == "" {
		return t.Name()
	}
	pkg := t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:]
	if pkg == "api" || t.Name() == "Event" {
		return t.Name()
	}
	if pkg == "tool" && t.Name() == "Event" {
		return "ToolProgress"
	}
	return strings.ToUpper(pkg[:1]) + pkg[1:] + t.Name()
}

// comments takes the descriptions of types and fields from their Go comments.
func comments(t *testing.T, r *jsonschema.Reflector, dir string) {
	t.Helper()
	if err := r.AddGoComments("github.com/goclaw/goclaw", dir); err != nil {
		t.Fatal(fmt.Errorf("read comments of %s: %w", dir, err))
	}
}
