package surface

import (
	"encoding/json"
	"fmt"
	"iter"

	"github.com/goclaw/goclaw/internal/tool"
)

// schema removes tools whose parameters no provider could take: the schema of a
// call's arguments is an object at its top, and not a choice between several.
// What a provider can't take deeper in a schema its own package rewrites.
func schema(_ *Facts, e *tool.Entry) *tool.Removal {
	problem := schemaProblem(e.Def.Parameters)
	if problem == "" {
		return nil
	}
	return &tool.Removal{
		Rule:   "object",
		Reason: "its parameter schema can't be shown to a model: " + problem,
		Fix:    "ask whoever made " + e.Def.Name + " for a schema that is one object",
	}
}

// schemaProblem says why params can't stand in a request, or nothing.
func schemaProblem(params json.RawMessage) string {
	kind := "nothing"
	for word, value := range members(params) {
		switch string(word) {
		case "type":
			kind = string(value)
		case "anyOf", "oneOf", "allOf", "enum", "const", "not", "$ref":
			return fmt.Sprintf("%q stands at its top", word)
		}
	}
	if kind != `"object"` {
		return fmt.Sprintf(`its type is %s, not "object"`, kind)
	}
	return ""
}

// members walks the members of an object in canonical form, which is valid and
// has no white space; anything else has none. Keys are as they are written,
// without their quotes. Every decision looks at every schema, so this doesn't
// allocate.
func members(obj json.RawMessage) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		if len(obj) < 2 || obj[0] != '{' {
			return
		}
		for at := 1; at < len(obj) && obj[at] == '"'; at++ {
			colon := skip(obj, at)
			end := skip(obj, colon+1)
			if !yield(obj[at+1:colon-1], obj[colon+1:end]) {
				return
			}
			at = end
		}
	}
}

// skip returns where the value that begins at at ends.
func skip(raw []byte, at int) int {
	depth := 0
	for ; at < len(raw); at++ {
		switch raw[at] {
		case '"':
			for at++; at < len(raw) && raw[at] != '"'; at++ {
				if raw[at] == '\\' {
					at++
				}
			}
			if depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return at + depth + 1 // a bracket that isn't ours ends what stands before it
			}
		case ',':
			if depth == 0 {
				return at
			}
		}
	}
	return at
}
