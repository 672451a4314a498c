package provider

import (
	"net/url"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/llm"
)

// Dialects are what each vendor takes of JSON Schema in the parameters of tools.
// A vendor that isn't here takes anything; what a request holds has been
// projected, and the vendors' packages write it as it is.
var Dialects = map[string]*jsonschema.Dialect{
	// Parameters are "a JSON Schema object"; the server checks them against 2020-12
	// and refuses the request where an array has no items, where the top has no
	// properties, or else than by them tells forms apart: "schema must have type
	// 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level".
	// https://platform.openai.com/docs/guides/function-calling
	// https://github.com/langchain-ai/langchainjs/issues/9804
	// https://github.com/sigoden/aichat/pull/1049
	"openai": {
		Name: "openai", Top: topKeywords, Below: keywords, Items: true, Properties: true,
	},

	// Servers that speak OpenAI's wire hand the schema to what they run: to the
	// templates of models, to OpenRouter's providers, to grammars. llama.cpp's takes
	// no schema without a type, {} for an object, of several keywords only the first
	// that it knows, and refuses patterns and large counts ("number of repetitions
	// exceeds sane defaults"). This is what all of them are known to take.
	// https://github.com/ggml-org/llama.cpp/blob/master/common/json-schema-to-grammar.cpp
	// https://github.com/ggml-org/llama.cpp/issues/25746
	// https://docs.vllm.ai/en/latest/features/tool_calling.html
	// https://api-docs.deepseek.com/guides/tool_calls
	Compatible: {
		Name: Compatible,
		Top:  []string{"type", "description", "properties", "required", "additionalProperties"},
		Below: []string{
			"type", "title", "description", "default", "enum", "anyOf", "format", "minimum", "maximum",
			"items", "properties", "required", "additionalProperties",
		},
		Lists: jsonschema.NoList, Formats: []string{"date", "time", "date-time", "uuid"},
		Items: true, Properties: true, NoBooleans: true,
		Anything: map[string]any{"anyOf": []any{
			typed("string"), typed("number"), typed("boolean"), typed("object"),
			map[string]any{"type": "array", "items": map[string]any{}},
			typed("null"),
		}},
	},

	// "JSON schema is invalid. It must match JSON Schema draft 2020-12", and
	// "input_schema does not support oneOf, allOf, or anyOf at the top level"; "property
	// keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'".
	// https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
	// https://github.com/anthropics/claude-code/issues/27337
	// https://github.com/beautyfree/appstore-connect-mcp/issues/2
	"anthropic": {
		Name: "anthropic", Top: topKeywords, Below: keywords, Field: anthropicField,
	},

	// parametersJsonSchema, not parameters: that one is of OpenAPI 3.0, where an
	// unknown keyword refuses the request, null is a flag and there are neither
	// additionalProperties nor tuples, and a number can't be one of several. This one
	// takes standard JSON Schema, of which "only the following properties are
	// supported" (the documentation says so of responseJsonSchema, which is read by
	// the same server code). References are written out: beside $ref nothing else
	// may stand, and recursive ones are cut at a depth that isn't told. An enum needs
	// its type and no empty string, and what is required has to be among the
	// properties.
	// https://ai.google.dev/api/generate-content#FIELDS.response_json_schema
	// https://ai.google.dev/api/caching#FunctionDeclaration
	// https://github.com/anomalyco/opencode/pull/46676
	// https://github.com/Kilo-Org/kilocode/pull/11955
	"gemini": {
		Name: "gemini",
		Top:  []string{"type", "title", "description", "properties", "required", "additionalProperties"},
		Below: []string{
			"type", "title", "description", "format", "enum", "anyOf", "minimum", "maximum",
			"items", "prefixItems", "minItems", "maxItems", "properties", "required", "additionalProperties",
		},
		Lists: jsonschema.NullableList, Enums: []string{"string", "number"}, NoBlank: true,
		Formats: []string{"date", "time", "date-time"}, Items: true, Known: true, NoBooleans: true,
	},

	// The server decodes parameters into a struct and drops what has no field there
	// without a word: ToolFunctionParameters at the top, ToolProperty below.
	// https://github.com/ollama/ollama/blob/v0.17.4/api/types.go
	"ollama": {
		Name:       "ollama",
		Top:        []string{"type", "properties", "required"},
		Below:      []string{"type", "description", "enum", "anyOf", "items", "properties"},
		Properties: true, NoBooleans: true,
	},

	"demo": nil, // it reads no schema
}

// keywords is the vocabulary of 2020-12 but for identifiers and comments, which
// say nothing to a model.
// https://json-schema.org/draft/2020-12/json-schema-validation
var keywords = []string{
	"$ref", "type", "enum", "const", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly",
	"format", "pattern", "minLength", "maxLength", "contentEncoding", "contentMediaType",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"items", "prefixItems", "contains", "minContains", "maxContains", "minItems", "maxItems", "uniqueItems", "unevaluatedItems",
	"properties", "patternProperties", "additionalProperties", "propertyNames", "required", "dependentRequired", "dependentSchemas",
	"minProperties", "maxProperties", "unevaluatedProperties",
	"allOf", "anyOf", "oneOf", "not", "if", "then", "else",
}

// topKeywords are those that may stand at the top: it is one object, which no
// other keyword tells apart.
var topKeywords = append(slices.DeleteFunc(slices.Clone(keywords), func(k string) bool {
	return slices.Contains([]string{"$ref", "enum", "const", "allOf", "anyOf", "oneOf", "not", "if", "then", "else"}, k)
}), "$defs")

func typed(name string) map[string]any { return map[string]any{"type": name} }

func anthropicField(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("_.-", c)
	})
}

// Dialect is what the provider of t takes of JSON Schema in the parameters of
// tools, nil when it takes anything.
func (s *Set) Dialect(t llm.Target) *jsonschema.Dialect {
	if e := s.entries[t.Provider]; e != nil {
		return e.dialect
	}
	return nil
}

// dialectOf chooses by who reads the schema: a server that speaks another
// vendor's wire is not that vendor.
func dialectOf(s Settings, vendor string) *jsonschema.Dialect {
	switch {
	case vendor != "openai" || OwnServer(s.BaseURL):
		return Dialects[vendor]
	case s.Type == "ollama":
		return Dialects["ollama"]
	}
	return Dialects[Compatible]
}

// OwnServer tells OpenAI's own servers, of which Azure has some, from others that
// speak its wire, by their address.
func OwnServer(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return host == "api.openai.com" || strings.HasSuffix(host, ".openai.com") || strings.HasSuffix(host, ".openai.azure.com")
}
