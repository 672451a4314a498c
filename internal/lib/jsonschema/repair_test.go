package jsonschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// argsSchema has a field of each kind that repairs tell apart.
const argsSchema = `{
	"type":"object","additionalProperties":false,"required":["path","must"],
	"properties":{
		"path":{"type":"string"},
		"must":{"type":["integer","boolean"]},
		"n":{"type":"integer","minimum":0},
		"x":{"type":"number"},
		"flag":{"type":"boolean"},
		"list":{"type":"array","items":{"type":"integer"}},
		"obj":{"type":"object","additionalProperties":{"type":"boolean"}},
		"either":{"anyOf":[{"type":"integer"},{"type":"null"}]},
		"textish":{"type":["string","integer"]},
		"rows":{"anyOf":[{"type":"null"},{"type":"array","items":{"$ref":"#/$defs/row"}}]},
		"open":{},
		"level":{"enum":[1,2,3]},
		"tuple":{"type":"array","prefixItems":[{"type":"boolean"}],"items":{"type":"number"}},
		"forms":{"oneOf":[{"type":"object","properties":{"n":{"type":"integer"}}},{"type":"object","properties":{"n":{"type":"string"}}}]}
	},
	"$defs":{"row":{"type":"object","properties":{"id":{"type":"integer"},"note":{"type":"string"}},"required":["id"]}}
}`

func TestRepair(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, argsSchema)
	tests := []struct {
		name, in, want string
		note           string // part of a note, or "" for none
	}{
		{"nothing", "", `{}`, ""},
		{"white space", " \n", `{}`, "took an empty text"},
		{"null", "null", `{}`, "took null"},
		{"encoded empty text", `""`, `{}`, "took an empty text"},
		{"byte order mark", "\ufeff{}", `{}`, "byte order mark"},
		{"fence", "```json\n{\"path\":\"a\"}\n```\n", `{"path":"a"}`, "fence"},
		{"fence without language", "```\n{}```", `{}`, "fence"},
		{"encoded twice", `"{\"path\":\"a\"}"`, `{"path":"a"}`, "encoded twice"},
		{"encoded three times", `"\"{\\\"path\\\":\\\"a\\\"}\""`, `{"path":"a"}`, "encoded twice"},
		{"trailing commas", `{"path":"a","list":[1,2,],}`, `{"list":[1,2],"path":"a"}`, "comma"},
		{"raw line break", "{\"path\":\"a\nb\tc\"}", `{"path":"a\nb\tc"}`, "line break"},
		{"canonical already", `{"n":1,"path":"a"}`, `{"n":1,"path":"a"}`, ""},
		{"canonical form", ` {"path" : "\u0061", "n":1} `, `{"n":1,"path":"a"}`, ""},

		{"number as text", `{"n":"12","x":" -1.5e3 "}`, `{"n":12,"x":-1.5e3}`, `n: took the string "12" for a number`},
		{"large number as text", `{"n":"123456789012345678901234567890"}`, `{"n":123456789012345678901234567890}`, "n:"},
		{"large number", `{"n":123456789012345678901234567890}`, `{"n":123456789012345678901234567890}`, ""},
		{"whole float", `{"n":3.0,"x":3.0,"list":[1e2]}`, `{"list":[100],"n":3,"x":3.0}`, "n: wrote 3.0 as 3"},
		{"whole float as text", `{"n":"3.0"}`, `{"n":3}`, "n:"},
		{"not whole", `{"n":"3.5"}`, `{"n":"3.5"}`, ""},
		{"too long to write out", `{"n":1e300}`, `{"n":1e300}`, ""},
		{"boolean as text", `{"flag":"True","must":"false"}`, `{"flag":true,"must":false}`, "flag: took the string"},
		{"no boolean", `{"flag":"yes"}`, `{"flag":"yes"}`, ""},
		{"one is no boolean", `{"flag":1}`, `{"flag":1}`, ""},
		{"array as text", `{"list":"[1,\"2\",3.0]"}`, `{"list":[1,2,3]}`, "list: unpacked the array"},
		{"object as text", `{"obj":"{\"a\":\"true\"}"}`, `{"obj":{"a":true}}`, "obj: unpacked the object"},
		{"broken array as text", `{"list":"[1,"}`, `{"list":"[1,"}`, ""},
		{"doubled key in text", `{"obj":"{\"a\":true,\"a\":false}"}`, `{"obj":"{\"a\":true,\"a\":false}"}`, ""},
		{"single value for array", `{"list":1}`, `{"list":1}`, ""},
		{"object where array is due", `{"list":"{}"}`, `{"list":"{}"}`, ""},
		{"number for text", `{"path":5}`, `{"path":5}`, ""},
		{"text is allowed", `{"textish":"5","path":"true"}`, `{"path":"true","textish":"5"}`, ""},
		{"anything is allowed", `{"open":"5"}`, `{"open":"5"}`, ""},
		{"one form of a choice", `{"either":"5"}`, `{"either":5}`, "either:"},
		{"null is allowed", `{"either":null,"open":null,"rows":null}`, `{"either":null,"open":null,"rows":null}`, ""},
		{"null for optional", `{"n":null,"path":null}`, `{"path":null}`, "n: dropped null"},
		{"enum of numbers", `{"level":"2"}`, `{"level":2}`, "level:"},
		{"through a reference", `{"rows":[{"id":"1","note":null}]}`, `{"rows":[{"id":1}]}`, "rows[0].id:"},
		{"packed rows", `{"rows":"[{\"id\":\"1\"}]"}`, `{"rows":[{"id":1}]}`, "rows: unpacked"},
		{"tuple", `{"tuple":["true","1"]}`, `{"tuple":[true,1]}`, "tuple[0]:"},
		{"forms that differ", `{"forms":{"n":"1"}}`, `{"forms":{"n":"1"}}`, ""},
		{"unknown field", `{"pth":"1"}`, `{"pth":"1"}`, ""},
	}
	for _, tt := range tests {
		fixed, notes, err := s.Repair([]byte(tt.in))
		if err != nil || string(fixed) != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.name, fixed, err, tt.want)
		}
		if tt.note == "" && notes != nil || !strings.Contains(strings.Join(notes, "\n"), tt.note) {
			t.Errorf("%s: got notes %q, want %q", tt.name, notes, tt.note)
		}
	}
}

// What could only be guessed is refused, in words that say where and what to do.
func TestRepairRefuses(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, argsSchema)
	tests := []struct {
		in, want string
		cut      bool
	}{
		{`{"path": "a.txt"`, "the text ends too early, a closing } is missing; send the complete JSON again", true},
		{`{"path":"a.txt","content":"half`, "a string is not closed; send the complete JSON again", true},
		{`{"path":"a",`, "the object is not closed", true},
		{`{'path': 'a.txt'}`, "double quotes, not single ones", false},
		{`{path: "a.txt"}`, "a key in double quotes was expected", false},
		{`{"path":"a","path":"b"}`, `the key "path" appears twice`, false},
		{`{"path":"a"} and so on`, "something follows the end of the value", false},
		{`{"path":"a"}{"path":"b"}`, "something follows the end of the value", false},
		{"{\"path\":\"\xff\"}", "not valid UTF-8", false},
		{`{"path":"\ud83d"}`, "half of a character", false},
		{`{"a":1,,}`, "a key in double quotes was expected", false},
		{`{,}`, "a key in double quotes was expected", false},
		{`[1]`, "expected one JSON object, got an array of 1 item", false},
		{`7`, "expected one JSON object, got number 7", false},
		{`true`, "expected one JSON object, got boolean true", false},
		{`"a.txt"`, "a JSON value was expected", false},
		{`"\"\\\"{}\\\"\""`, "a string that holds a string", false},
		{"```json\n{}", "a JSON value was expected", false},
		{"```python\n{}\n```", "a JSON value was expected", false},
		{strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000), "nested deeper than 200", false},
		{`{"n":1e999999999}`, "exponent up to 1000", false},
	}
	for _, tt := range tests {
		fixed, _, err := s.Repair([]byte(tt.in))
		if err == nil || !strings.Contains(err.Error(), tt.want) || fixed != nil {
			t.Errorf("%.60q: got %s, %v, want %s", tt.in, fixed, err, tt.want)
		}
		var syntax *SyntaxError
		if cut := errors.As(err, &syntax) && syntax.Cut; cut != tt.cut {
			t.Errorf("%.60q: got cut %v", tt.in, cut)
		}
	}
}

// Repairing twice changes nothing more.
func FuzzRepair(f *testing.F) {
	for _, seed := range []string{
		"", "null", `{"path":"a","n":"1",}`, "```json\n{}\n```", `"{\"n\":\"1\"}"`, `{"list":"[1,[\"2\"]]"}`,
		`{"obj":"{\"a\":\"{\\\"b\\\":1}\"}"}`, "\ufeff{\"rows\":[{\"id\":\"1e3\",\"note\":null}]}",
	} {
		f.Add([]byte(seed))
	}
	s := mustCompile(f, argsSchema)
	f.Fuzz(func(t *testing.T, raw []byte) {
		fixed, notes, err := s.Repair(raw)
		if err != nil {
			if fixed != nil || notes != nil {
				t.Fatal("a result beside an error")
			}
			return
		}
		var std map[string]any
		if err := json.Unmarshal(fixed, &std); err != nil {
			t.Fatalf("made %q of %q: %v", fixed, raw, err)
		}
		again, notes, err := s.Repair(fixed)
		if err != nil || !bytes.Equal(again, fixed) || len(notes) > 0 {
			t.Fatalf("%q became %q, then %q (%v, %v)", raw, fixed, again, notes, err)
		}
		for _, fault := range s.Validate(mustDecode(t, string(fixed))) {
			if strings.ContainsAny(fault.String(), "\n\r") {
				t.Fatalf("fault %q", fault)
			}
		}
	})
}

func ExampleSchema_Repair() {
	s, err := Compile([]byte(`{"type":"object","properties":{"limit":{"type":"integer"}},"additionalProperties":false}`))
	if err != nil {
		panic(err)
	}
	args, notes, err := s.Repair([]byte(`{"limit":"20",}`))
	fmt.Println(string(args), notes, err)
	// Output: {"limit":20} [removed a comma before a closing bracket limit: took the string "20" for a number] <nil>
}
