package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const documentURL = "https://goclaw.test/openapi.json"

// dialect is the schema of documents of OpenAPI 3.1, as far as ours use it
// (OpenAPI 3.1.0, 4.8), told again in its own terms.
const dialect = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"required": ["openapi", "info", "paths", "components"],
	"properties": {
		"openapi": {"pattern": "^3\\.1\\.\\d+$"},
		"info": {"type": "object", "required": ["title", "version"]},
		"paths": {"type": "object", "propertyNames": {"pattern": "^/"}, "additionalProperties": {
			"type": "object", "propertyNames": {"enum": ["get", "put", "post", "delete", "options", "head", "patch", "trace"]},
			"additionalProperties": {"$ref": "#/$defs/operation"}
		}},
		"components": {"type": "object", "properties": {
			"schemas": {"$ref": "#/$defs/named"}, "headers": {"$ref": "#/$defs/named"}, "securitySchemes": {"$ref": "#/$defs/named"},
			"responses": {"allOf": [{"$ref": "#/$defs/named"}, {"additionalProperties": {"$ref": "#/$defs/response"}}]}
		}, "additionalProperties": false},
		"security": {"type": "array"}, "servers": {"type": "array"}
	},
	"additionalProperties": false,
	"$defs": {
		"named": {"type": "object", "propertyNames": {"pattern": "^[a-zA-Z0-9._-]+$"}},
		"operation": {"type": "object", "required": ["operationId", "summary", "responses"], "properties": {
			"operationId": {"pattern": "^[a-zA-Z0-9]+$"}, "summary": {"type": "string"}, "security": {"type": "array"},
			"parameters": {"type": "array", "items": {"type": "object", "required": ["name", "in", "schema"],
				"properties": {"in": {"enum": ["path", "query", "header"]}},
				"if": {"properties": {"in": {"const": "path"}}}, "then": {"required": ["required"], "properties": {"required": {"const": true}}}}},
			"requestBody": {"type": "object", "required": ["content"], "properties": {"content": {"$ref": "#/$defs/content"}, "required": {"type": "boolean"}, "description": {"type": "string"}}, "additionalProperties": false},
			"responses": {"type": "object", "minProperties": 2, "propertyNames": {"pattern": "^([1-5]\\d\\d|default)$"}, "additionalProperties": {"$ref": "#/$defs/response"}}
		}, "patternProperties": {"^x-": true}, "additionalProperties": false},
		"response": {"if": {"required": ["$ref"]}, "then": {"maxProperties": 1}, "else": {"type": "object", "required": ["description"],
			"properties": {"description": {"type": "string"}, "headers": {"type": "object"}, "content": {"$ref": "#/$defs/content"}}, "additionalProperties": false}},
		"content": {"type": "object", "minProperties": 1, "propertyNames": {"pattern": "^[a-z*]+/[a-z+*-]+$"}, "additionalProperties": {
			"type": "object", "properties": {"schema": {"type": "object"}}, "additionalProperties": false}}
	}
}`

// served is the document as it is served.
func served() (doc object, err error) {
	return doc, json.Unmarshal(openAPIDocument, &doc)
}

// compiler knows the document and the dialect.
func compiler() (*jsonschema.Compiler, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	for url, text := range map[string]string{documentURL: string(openAPIDocument), "https://goclaw.test/dialect.json": dialect} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			return nil, err
		}
		if err := c.AddResource(url, v); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func TestTheDocumentIsValid(t *testing.T) {
	t.Parallel()
	c, err := compiler()
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("https://goclaw.test/dialect.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := served()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(map[string]any(doc)); err != nil {
		t.Errorf("%#v", err)
	}
	// Each reference leads somewhere, each schema is one.
	components := doc["components"].(object)
	for name := range components["schemas"].(object) {
		if _, err := c.Compile(documentURL + "#/components/schemas/" + name); err != nil {
			t.Errorf("schema %s: %v", name, err)
		}
	}
	refs := regexp.MustCompile(`"\$ref": "#/components/(\w+)/([^"]+)"`).FindAllSubmatch(openAPIDocument, -1)
	if len(refs) == 0 {
		t.Error("the document refers to nothing")
	}
	used := map[string]bool{}
	for _, m := range refs {
		kind, name := string(m[1]), string(m[2])
		used[kind+"/"+name] = true
		if group, _ := components[kind].(object); group[name] == nil {
			t.Errorf("there is no %s %s", kind, name)
		}
	}
	for name := range components["responses"].(object) {
		if !used["responses/"+name] {
			t.Errorf("response %s answers nothing", name)
		}
	}
}

// What the document says of routes is what the table says.
func TestTheDocumentTellsOfEveryRoute(t *testing.T) {
	t.Parallel()
	doc, err := served()
	if err != nil {
		t.Fatal(err)
	}
	paths := doc["paths"].(object)
	ids, n := map[string]string{}, 0
	for _, rt := range routes() {
		path := strings.ReplaceAll(rt.path, "...}", "}")
		ops, _ := paths[path].(object)
		op, _ := ops[strings.ToLower(rt.method)].(object)
		if rt.page != (op == nil) {
			t.Errorf("%s %s: in the document %v", rt.method, rt.path, op != nil)
		}
		if op == nil {
			continue
		}
		n++
		id := op["operationId"].(string)
		if ids[id] != "" {
			t.Errorf("%s names %s and %s %s", id, ids[id], rt.method, rt.path)
		}
		ids[id] = rt.method + " " + rt.path
		var inPath []string
		params, _ := op["parameters"].([]any)
		for _, p := range params {
			if p := p.(object); p["in"] == "path" {
				inPath = append(inPath, "{"+p["name"].(string)+"}")
			}
		}
		if want := regexp.MustCompile(`\{\w+\}`).FindAllString(path, -1); !slices.Equal(inPath, want) {
			t.Errorf("%s %s: parameters %v", rt.method, rt.path, inPath)
		}
		responses := op["responses"].(object)
		if _, ok := responses["401"]; ok != (rt.access != public) {
			t.Errorf("%s %s: says 401 %v", rt.method, rt.path, ok)
		}
		_, body := op["requestBody"]
		if _, ok := responses["413"]; ok != (rt.method != http.MethodGet) || body != (rt.body != nil || rt.raw != "") {
			t.Errorf("%s %s: has a body %v, says 413 %v", rt.method, rt.path, body, ok)
		}
	}
	for _, ops := range paths {
		n -= len(ops.(object))
	}
	if n != 0 {
		t.Errorf("the document has %d operations more than the table", -n)
	}
}

func TestTheDocumentIsServed(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{})
	if a := g.ask(http.MethodGet, "/api/openapi.json", "", as(g.bob)); !bytes.Equal(a.body, openAPIDocument) || a.Header.Get("Content-Type") != "application/json" {
		t.Error("the document is not served as it is")
	}
}
