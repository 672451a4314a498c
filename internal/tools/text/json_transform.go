package text

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/goclaw/goclaw/internal/lib/jq"
	"github.com/goclaw/goclaw/internal/tool"
)

//go:embed json_transform.md
var jsonTransformDoc string

type jsonTransformIn struct {
	Filter string          `json:"filter" jsonschema:"jq" min:"1" max:"4000"`
	JSON   json.RawMessage `json:"json,omitempty" jsonschema:"value, or its text"`
	Ref    string          `json:"ref,omitempty"`
}

// jsonTransformDetails is what json_transform tells beside its text.
type jsonTransformDetails struct {
	Results int `json:"results"`
}

// Limits of what a filter may give.
const (
	maxResults     = 100_000
	maxResultBytes = 8 << 20
)

func jsonTransform(refs tool.Refs) tool.Tool {
	return tool.New(definition("json_transform", jsonTransformDoc), func(ctx context.Context, call tool.Call, in jsonTransformIn) (tool.Result, error) {
		q, err := jq.Compile(in.Filter, jq.Options{})
		if err != nil {
			return tool.Result{}, err
		}
		raw := []byte(in.JSON)
		switch {
		case len(raw) > 0 && in.Ref != "":
			return tool.Result{}, errors.New("give json or ref, not both")
		case in.Ref != "":
			if raw, err = readRef(ctx, refs, call, in.Ref); err != nil {
				return tool.Result{}, err
			}
		case len(raw) == 0:
			return tool.Result{}, errors.New("give json, or ref for a result that is kept")
		default:
			raw = unpacked(raw)
		}
		values, err := jq.DecodeAll(strings.TrimPrefix(string(raw), "\ufeff"))
		if err != nil {
			return tool.Result{}, err
		}
		return runFilter(ctx, q, values)
	})
}

// unpacked gives the JSON that a JSON string holds, where it holds an object,
// an array or lines of them: models send either form. Any other string is the
// input itself.
func unpacked(raw []byte) []byte {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return raw
	}
	if inner := strings.TrimSpace(text); strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, "[") {
		return []byte(inner)
	}
	return raw
}

// runFilter runs the filter on each value, or gives them to its input and
// inputs, and gives the results as lines of JSON.
func runFilter(ctx context.Context, q *jq.Query, values []any) (tool.Result, error) {
	var out strings.Builder
	results := 0
	var failed error
	err := q.Run(ctx, jq.Each(values...), nil, func(v any) bool {
		line, err := jq.Encode(v)
		if err != nil {
			failed = err
			return false
		}
		if results++; results > maxResults || out.Len()+len(line) > maxResultBytes {
			failed = fmt.Errorf("the filter gives more than %d results or %d MiB; select less, or use first(f) or limit(20; f)", maxResults, maxResultBytes>>20)
			return false
		}
		out.WriteString(line)
		out.WriteByte('\n')
		return true
	})
	if err := errors.Join(err, failed); err != nil {
		return tool.Result{}, err
	}
	text := strings.TrimSuffix(out.String(), "\n")
	if results == 0 {
		text = "no result (the filter gave nothing)"
	}
	r := tool.TextResult(text)
	r.Details = jsonTransformDetails{Results: results}
	return r, nil
}
