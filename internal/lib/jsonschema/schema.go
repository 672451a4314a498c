// Package jsonschema is what GoClaw knows about JSON Schema: it infers the
// schema of a tool's input from a Go struct ([For]), compiles schemas from
// anywhere ([Compile]), writes them in what a provider takes
// ([Dialect.Project]), repairs what a model sent where no doubt is left
// ([Schema.Repair]) and reports everything that is wrong with it in words made
// for a model ([Schema.Validate]).
//
// Schemas come from strangers (MCP servers, plugins, nodes) and values from
// models, so both are hostile: nothing is ever loaded from a file or the
// network, depth, size and work are bounded, nothing panics.
//
// The validator is our own because the library that reports all faults compiles
// its meta-schemas when it is imported, which costs every start of the program
// 4 ms and 1.7 MB, and can't be stopped inside a schema made to explode; the
// tests hold it against that library.
//
// A [Schema] never changes after Compile and may be used by many goroutines, and
// so may a [Dialect], which remembers what it projected. Nothing here has to be
// closed. Start reading at Compile, then visit in validate.go; for projections
// at Dialect, then rewrite in rewrite.go.
package jsonschema

import (
	"encoding/json"
	"math/big"
	"regexp"
)

// A Schema is compiled and ready to judge values.
type Schema struct {
	root *node
	// tracks says that some node asks what others have evaluated, which
	// costs allocations that almost no schema needs.
	tracks bool
}

// kinds is a set of JSON types. A number is of kind integer when its value is
// whole, whatever its spelling; the JSON Schema type "number" is both kinds.
type kinds uint8

const (
	kindNull kinds = 1 << iota
	kindBoolean
	kindInteger
	kindFraction
	kindString
	kindArray
	kindObject

	kindNumber = kindInteger | kindFraction
	anyKind    = kindNull | kindBoolean | kindNumber | kindString | kindArray | kindObject
)

// typeKinds maps the names of the standard to kinds.
var typeKinds = map[string]kinds{
	"null": kindNull, "boolean": kindBoolean, "integer": kindInteger, "number": kindNumber,
	"string": kindString, "array": kindArray, "object": kindObject,
}

// node is one compiled subschema. The zero node allows everything.
type node struct {
	never bool  // the schema false
	types kinds // 0 when "type" is absent
	may   kinds // what all keywords together leave possible, or more

	enum  []any // with hasEnum; "const" is an enum of one
	isSet bool  // enum is in force

	minimum, maximum, above, below, multiple *bound

	minLength, maxLength         limit
	minItems, maxItems           limit
	minProperties, maxProperties limit
	minContains, maxContains     limit
	unique                       bool
	pattern                      *pattern

	prefix   []*node
	items    *node
	contains *node

	properties map[string]*node
	patterns   []patternNode
	additional *node
	names      *node // propertyNames
	required   []string
	needs      []need // dependentRequired, dependentSchemas

	ref              *node
	all, any, one    []*node
	not              *node
	when, then, els  *node
	restItems, restP *node // unevaluatedItems, unevaluatedProperties
}

// A limit is a count and whether it was given.
type limit struct {
	n   int
	set bool
}

// A bound is a number of the schema, with its spelling for messages.
type bound struct {
	text string
	rat  *big.Rat
}

// A pattern is a regular expression and its size in instructions, which times
// the length of a string bounds the work of matching.
type pattern struct {
	*regexp.Regexp
	size int
}

type patternNode struct {
	match *pattern
	node  *node
}

// A need is what the presence of one property demands.
type need struct {
	name     string
	required []string
	node     *node
}

// kindOf gives the kind of a value, 0 for what is no JSON value.
func kindOf(v any) kinds {
	switch v := v.(type) {
	case nil:
		return kindNull
	case bool:
		return kindBoolean
	case string:
		return kindString
	case []any:
		return kindArray
	case map[string]any:
		return kindObject
	case json.Number:
		if whole(string(v)) {
			return kindInteger
		}
		return kindFraction
	}
	return 0
}

// whole reports whether a bounded number has no fraction.
func whole(num string) bool {
	plain := true
	for i := range len(num) {
		if c := num[i]; c == '.' || c == 'e' || c == 'E' {
			plain = false
			break
		}
	}
	if plain {
		return true
	}
	r := rat(num)
	return r != nil && r.IsInt()
}

// isNumber reports whether a text is one bounded JSON number.
func isNumber(text string) bool {
	return text != "" && numberLen(text) == len(text) && bounded(text)
}

// rat gives the value of a bounded number, nil for anything else.
func rat(num string) *big.Rat {
	if !isNumber(num) {
		return nil
	}
	r, ok := new(big.Rat).SetString(num)
	if !ok {
		return nil
	}
	return r
}
