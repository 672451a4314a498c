// Package jsonschematest draws schemas and values for properties, and holds the
// projections of a dialect against what all of them promise.
//
// It keeps nothing. Start reading at [Projects].
package jsonschematest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	oracle "github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
)

// generator draws schemas and values over few names, so that they often meet.
type generator struct {
	t   *rapid.T
	old bool // forms of older drafts and of OpenAPI as well
}

// Value draws a JSON value.
func Value(t *rapid.T) string { return generator{t: t}.value(3) }

// Arguments draws a JSON object.
func Arguments(t *rapid.T) string {
	g := generator{t: t}
	return g.members(func() string { return g.value(2) })
}

// Schema draws a schema of 2020-12.
func Schema(t *rapid.T) string {
	g := generator{t: t}
	return `{"$defs":{"d":` + g.schema(1) + `},"allOf":[` + g.schema(3) + `]}`
}

// Parameters draws the schema of a tool's arguments, from anywhere.
func Parameters(t *rapid.T) string {
	g := generator{t: t, old: true}
	if rapid.IntRange(0, 3).Draw(t, "bare") == 0 {
		return g.schema(3)
	}
	s := `{"$defs":{"d":` + g.schema(1) + `,"e":` + g.schema(2) + `},"type":"object","properties":` + g.members(func() string { return g.schema(3) })
	for _, keyword := range []string{"anyOf", "allOf", "oneOf"} {
		if rapid.IntRange(0, 4).Draw(t, keyword) == 0 {
			s += `,"` + keyword + `":[` + g.schema(2) + `,` + g.schema(2) + `]`
		}
	}
	return s + g.pick("", `,"required":["a"]`, `,"additionalProperties":false`, `,"required":["a","a","x"]`, `,"$schema":"http://json-schema.org/draft-07/schema#"`) + "}"
}

func (g generator) pick(of ...string) string { return rapid.SampledFrom(of).Draw(g.t, "pick") }

func (g generator) value(depth int) string {
	kinds := 7
	if depth <= 0 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds-1).Draw(g.t, "kind") {
	case 0:
		return g.pick("null", "true", "false")
	case 1:
		return g.pick("0", "1", "2", "3", "-1", "1.0", "2.5", "1e1", "10", "0.1", "123456789012345678901234567890")
	case 2, 3:
		return g.pick(`""`, `"a"`, `"b"`, `"ab"`, `"1"`, `"é"`)
	case 4:
		return g.pick("[]", "{}")
	case 5:
		var items []string
		for range rapid.IntRange(0, 3).Draw(g.t, "items") {
			items = append(items, g.value(depth-1))
		}
		return "[" + strings.Join(items, ",") + "]"
	default:
		return g.members(func() string { return g.value(depth - 1) })
	}
}

func (g generator) members(value func() string) string {
	var members []string
	for _, name := range []string{"a", "b", "ab"} {
		if rapid.Bool().Draw(g.t, name) {
			members = append(members, fmt.Sprintf("%q:%s", name, value()))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (g generator) schema(depth int) string {
	if depth <= 0 {
		return g.pick("true", "false", `{}`, `{"type":"string"}`, `{"type":"integer"}`, `{"type":["number","null"]}`,
			`{"type":"boolean"}`, `{"const":1}`, `{"enum":["a",1,null,[],{}]}`, `{"$ref":"#"}`, `{"$ref":"#/$defs/d"}`)
	}
	sub := func() string { return g.schema(depth - 1) }
	list := func() string { return "[" + sub() + "," + sub() + "]" }
	keywords := map[string]func() string{
		"type": func() string {
			return g.pick(`"object"`, `"array"`, `"string"`, `"number"`, `["object","integer"]`, `["array","string"]`)
		},
		"const":   func() string { return g.value(1) },
		"enum":    func() string { return "[" + g.value(1) + "," + g.value(1) + "]" },
		"minimum": func() string { return g.pick("1", "1.5") },
		"maximum": func() string { return g.pick("2", "2.5") },
		"multipleOf": func() string {
			return g.pick("2", "0.1", "1.5")
		},
		"exclusiveMinimum": func() string { return "1" }, "exclusiveMaximum": func() string { return "2" },
		"minLength": func() string { return "1" }, "maxLength": func() string { return "1" },
		"pattern":  func() string { return g.pick(`"^a"`, `"b$"`) },
		"minItems": func() string { return "1" }, "maxItems": func() string { return "2" },
		"uniqueItems": func() string { return g.pick("true", "false") },
		"prefixItems": list, "items": sub, "contains": sub,
		"minContains": func() string { return g.pick("0", "2") }, "maxContains": func() string { return "1" },
		"properties":            func() string { return g.members(sub) },
		"patternProperties":     func() string { return `{"^a":` + sub() + `,"b":` + sub() + `}` },
		"additionalProperties":  sub,
		"unevaluatedProperties": sub,
		"unevaluatedItems":      sub,
		"propertyNames":         func() string { return g.pick(`{"maxLength":1}`, `{"pattern":"a"}`, sub()) },
		"required":              func() string { return g.pick(`[]`, `["a"]`, `["b","ab"]`) },
		"dependentRequired":     func() string { return `{"a":["b"]}` },
		"dependentSchemas":      func() string { return `{"a":` + sub() + `}` },
		"minProperties":         func() string { return "1" }, "maxProperties": func() string { return "1" },
		"allOf": list, "anyOf": list, "oneOf": list, "not": sub, "if": sub, "then": sub, "else": sub,
		"$ref": func() string { return `"#/$defs/d"` },
	}
	if g.old {
		maps.Copy(keywords, map[string]func() string{
			"description":   func() string { return g.pick(`"What it is"`, `"One. Two."`, `7`) },
			"title":         func() string { return `"Title"` },
			"default":       func() string { return g.value(1) },
			"examples":      list,
			"format":        func() string { return g.pick(`"date"`, `"email"`, `"int32"`) },
			"x-own":         sub,
			"nullable":      func() string { return "true" },
			"dependencies":  func() string { return `{"a":["b"],"b":` + sub() + `}` },
			"deprecated":    func() string { return "true" },
			"$comment":      func() string { return `"no"` },
			"contentSchema": sub,
		})
		if rapid.IntRange(0, 4).Draw(g.t, "draft") == 0 {
			keywords["items"], keywords["additionalItems"] = list, sub
			keywords["exclusiveMinimum"] = func() string { return `true,"minimum":1` }
			delete(keywords, "minimum")
			delete(keywords, "prefixItems")
		}
	}
	var parts []string
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(slices.Sorted(maps.Keys(keywords))), 1, 4, rapid.ID).Draw(g.t, "keywords") {
		parts = append(parts, fmt.Sprintf("%q:%s", name, keywords[name]()))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// Oracle compiles a schema with an independent validator.
func Oracle(raw []byte) (*oracle.Schema, error) {
	doc, err := oracle.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := oracle.NewCompiler()
	if err := c.AddResource("mem:///schema", doc); err != nil {
		return nil, err
	}
	return c.Compile("mem:///schema")
}

// Projects holds the projections of a dialect against what all of them promise,
// for drawn schemas and arguments: they are canonical and their own
// projections, a schema to an independent validator, made of the dialect's
// keywords, the same every time, and accept whatever the tool's own schema
// accepts.
func Projects(t *testing.T, d *jsonschema.Dialect) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		raw, err := jsonschema.Canonical([]byte(Parameters(t)))
		if err != nil {
			t.Fatal(err)
		}
		own, err := jsonschema.Compile(raw)
		if err != nil {
			t.Skip(err)
		}
		p, err := d.Project(raw)
		var unfit *jsonschema.UnfitError
		if errors.As(err, &unfit) && unfit.Rule != "form" {
			return // it can't be shown, for a reason that people can do something about
		}
		if err != nil {
			t.Fatalf("%s\n%v", raw, err)
		}
		theirs := Holds(t, d, raw, p)
		for range 5 {
			value := Arguments(t)
			v, err := jsonschema.Decode([]byte(value))
			if err != nil {
				t.Fatal(err)
			}
			if own.Validate(v) != nil {
				continue
			}
			if err := theirs.Validate(v); err != nil && !strings.Contains(err.Error(), "reference cycle") {
				t.Fatalf("schema     %s\nprojection %s\naccepts no %s: %v", raw, p.Parameters, value, err)
			}
		}
	})
}

// Fataler is a test, or a property.
type Fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Holds checks the form of the projection p of raw, and compiles it.
func Holds(t Fataler, d *jsonschema.Dialect, raw json.RawMessage, p *jsonschema.Projection) *oracle.Schema {
	t.Helper()
	if again, err := jsonschema.Canonical(p.Parameters); err != nil || !bytes.Equal(again, p.Parameters) {
		t.Fatalf("%s\nnot canonical: %s %v", raw, p.Parameters, err)
	}
	again, err := d.Project(p.Parameters)
	if err != nil || !bytes.Equal(again.Parameters, p.Parameters) || again.Remark != "" || len(again.Changes) > 0 {
		t.Fatalf("%s\n%s\nis projected again to %+v, %v", raw, p.Parameters, again, err)
	}
	if bytes.Equal(raw, p.Parameters) && len(p.Changes) > 0 {
		t.Fatalf("%s\n%s\nchanges %q", raw, p.Parameters, p.Changes)
	}
	compiled, err := Oracle(p.Parameters)
	if err != nil {
		t.Fatalf("%s\n%s\n%v", raw, p.Parameters, err)
	}
	var m map[string]any
	if err := json.Unmarshal(p.Parameters, &m); err != nil {
		t.Fatalf("%s: %v", p.Parameters, err)
	}
	keywords(t, d, m, true)
	return compiled
}

// keywords walks a schema on its own account.
func keywords(t Fataler, d *jsonschema.Dialect, v any, top bool) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	table := d.Below
	if top {
		table = d.Top
	}
	for keyword, value := range m {
		if !slices.Contains(table, keyword) {
			t.Fatalf("%s takes no %s: %v", d.Name, keyword, m)
		}
		switch keyword {
		case "properties", "patternProperties", "dependentSchemas", "$defs":
			for _, s := range value.(map[string]any) {
				keywords(t, d, s, false)
			}
		case "anyOf", "oneOf", "allOf", "prefixItems":
			for _, s := range value.([]any) {
				keywords(t, d, s, false)
			}
		case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames":
			keywords(t, d, value, false)
		}
	}
}
