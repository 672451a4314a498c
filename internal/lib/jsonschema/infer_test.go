package jsonschema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

type level string

type point struct {
	X, Y float64
}

type embedded struct {
	ID   int `json:"id"`
	Skip int `json:"-"`
}

type everything struct {
	embedded
	Text    string            `json:"text" jsonschema:"Some text." min:"1" max:"80"`
	Level   level             `json:"level" enum:"low,high" default:"low"`
	Flag    bool              `json:"flag,omitempty" default:"true"`
	Count   uint8             `json:"count" max:"9"`
	Ratio   float64           `json:"ratio,omitzero" min:"0" max:"0.5"`
	Opt     *int              `json:"opt"`
	Names   []string          `json:"names,omitempty" enum:"a,b" max:"3"`
	Pair    [2]int            `json:"pair"`
	Env     map[string]string `json:"env,omitempty"`
	At      *point            `json:"at"`
	Any     any               `json:"any,omitempty"`
	Raw     json.RawMessage   `json:"raw,omitempty"`
	Bytes   []byte            `json:"bytes,omitempty"`
	When    time.Time         `json:"-"`
	Untyped string
	hidden  chan int //lint:ignore U1000 unexported fields are not part of the schema
}

func TestForGivesCanonicalSchema(t *testing.T) {
	t.Parallel()
	tests := []struct {
		of   reflect.Type
		want string
	}{
		{reflect.TypeFor[struct{}](), `{"additionalProperties":false,"properties":{},"type":"object"}`},
		{reflect.TypeFor[everything](), `{"additionalProperties":false,"properties":{` +
			`"Untyped":{"type":"string"},` +
			`"any":{},` +
			`"at":{"additionalProperties":false,"properties":{"X":{"type":"number"},"Y":{"type":"number"}},"required":["X","Y"],"type":"object"},` +
			`"bytes":{"contentEncoding":"base64","type":"string"},` +
			`"count":{"maximum":9,"minimum":0,"type":"integer"},` +
			`"env":{"additionalProperties":{"type":"string"},"type":"object"},` +
			`"flag":{"default":true,"type":"boolean"},` +
			`"id":{"type":"integer"},` +
			`"level":{"default":"low","enum":["low","high"],"type":"string"},` +
			`"names":{"items":{"enum":["a","b"],"type":"string"},"maxItems":3,"type":"array"},` +
			`"opt":{"type":"integer"},` +
			`"pair":{"items":{"type":"integer"},"maxItems":2,"minItems":2,"type":"array"},` +
			`"ratio":{"maximum":0.5,"minimum":0,"type":"number"},` +
			`"raw":{},` +
			`"text":{"description":"Some text.","maxLength":80,"minLength":1,"type":"string"}},` +
			`"required":["id","text","count","pair","Untyped"],"type":"object"}`},
	}
	for _, tt := range tests {
		for range 3 { // the same bytes each time
			got, err := forType(tt.of)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("%s\ngot  %s\nwant %s", tt.of, got, tt.want)
			}
		}
		canonical, err := Canonical([]byte(tt.want))
		if err != nil || string(canonical) != tt.want {
			t.Errorf("not canonical: %s, %v", canonical, err)
		}
		if _, err := Compile([]byte(tt.want)); err != nil {
			t.Error(err)
		}
	}
}

type loop struct {
	Next *loop `json:"next"`
}

// Chain embeds itself.
type Chain struct {
	*Chain
}

func TestForRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		of   reflect.Type
		want string
	}{
		{reflect.TypeFor[int](), "the input of a tool is a struct"},
		{reflect.TypeFor[loop](), "contains itself"},
		{reflect.TypeFor[Chain](), "contains itself"},
		{reflect.TypeFor[struct{ C chan int }](), "field C: chan int has no JSON form"},
		{reflect.TypeFor[struct{ F func() }](), "field F"},
		{reflect.TypeFor[struct{ M map[int]string }](), "keys of JSON objects are strings"},
		{reflect.TypeFor[struct{ E error }](), "field E"},
		{reflect.TypeFor[struct {
			embedded
			B int `json:"id"`
		}](), `field B: the name "id" is taken`},
		{reflect.TypeFor[struct {
			A int `default:"many"`
		}](), `tag default: "many" is no value of type integer`},
		{reflect.TypeFor[struct {
			A bool `enum:"yes"`
		}](), "tag enum"},
		{reflect.TypeFor[struct {
			A bool `min:"1"`
		}](), "tag min"},
		{reflect.TypeFor[struct {
			A int `max:"1.5"`
		}](), "tag max"},
	}
	for _, tt := range tests {
		if got, err := forType(tt.of); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %s, error %v, want %q", tt.of, got, err, tt.want)
		}
	}
}
