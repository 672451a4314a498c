package config_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/goclaw/goclaw/internal/config"
)

// golden compares what is generated with what is committed.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s is stale: run go test ./internal/config -update", file)
	}
}

func TestGeneratedFilesAreFresh(t *testing.T) {
	t.Parallel()
	golden(t, "../../docs/config.schema.json", config.Schema())
	golden(t, "../../docs/config.md", config.Reference())
	if !bytes.Equal(config.Schema(), config.Schema()) || !bytes.Equal(config.Reference(), config.Reference()) {
		t.Error("two runs differ")
	}
}

// The schema that editors use and the decoder must agree.
func TestSchemaAgreesWithTheDecoder(t *testing.T) {
	t.Parallel()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(config.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	comp := jsonschema.NewCompiler()
	if err := comp.AddResource("config.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := comp.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all, err := parse(t, string(example)).Get("")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		doc string
		ok  bool
	}{
		"example":         {string(example), true},
		"everything":      {strings.ReplaceAll(all.String(), "workspace: /", "workspace: /"), true},
		"nulls":           {"ai:\nagents:\n  list:\ntools: {shell: , deny: , rag: {enabled: }}\nlog: {level: null}", true},
		"loose":           {"mcp: {servers: {x: {command: a, args: [1, true, b], env: {P: 80}}}}", true},
		"plugins":         {"plugins: {x: {y: [1, {z: null}]}}", true},
		"seconds":         {"cache: {tools: {ttl: 60}}", true},
		"unknown":         {"tols: {}", false},
		"unknown below":   {"agents: {list: [{id: a, tools: {shel: {}}}]}", false},
		"wrong type":      {"tools: {max_tool_iterations: many}", false},
		"bounds":          {"tools: {pool: {workers: 0}}", false},
		"enum":            {"log: {level: loud}", false},
		"list":            {"tools: {deny: x}", false},
		"required":        {"datasources: [{name: a}]", false},
		"number for text": {"agents: {list: [{id: a, name: 5}]}", false},
	} {
		var v any
		if err := yaml.Unmarshal([]byte(tc.doc), &v); err != nil {
			t.Fatal(err)
		}
		_, loadErr := config.Parse(opts("OPENAI_API_KEY=k"), []byte(tc.doc))
		schemaErr := schema.Validate(v)
		if (loadErr == nil) != tc.ok || (schemaErr == nil) != tc.ok {
			t.Errorf("%s: decoder says %v, schema says %v", name, loadErr, schemaErr)
		}
	}
}
