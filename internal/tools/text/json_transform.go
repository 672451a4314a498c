package text

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/itchyny/gojq"

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
		f, err := compileFilter(ctx, in.Filter)
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
		if f.inputs.values, err = readValues(raw); err != nil {
			return tool.Result{}, err
		}
		return f.run()
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

// readValues reads one JSON value or several in a row.
func readValues(raw []byte) ([]any, error) {
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var values []any
	for {
		var v any
		err := d.Decode(&v)
		if err == io.EOF {
			if len(values) == 0 {
				return nil, errors.New("read the JSON: it is empty")
			}
			return values, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the JSON: %s: %w", position(raw, err, d.InputOffset()), err)
		}
		if err := fits(v); err != nil {
			return nil, fmt.Errorf("read the JSON: %w", err)
		}
		values = append(values, v)
	}
}

// position says in lines and columns where a text stops being JSON.
func position(raw []byte, err error, offset int64) string {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset = max(syntax.Offset-1, 0)
	}
	before := raw[:min(int(offset), len(raw))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, column %d", line, column)
}

// inputIter gives the input values to the run and to the filter's own input
// and inputs.
type inputIter struct{ values []any }

func (i *inputIter) Next() (any, bool) {
	if len(i.values) == 0 {
		return nil, false
	}
	v := i.values[0]
	i.values = i.values[1:]
	return v, true
}

// A filter is compiled for one run.
type filter struct {
	code   *gojq.Code
	inputs *inputIter
	meter  *meter
}

// compileFilter compiles a filter with guards against what it could do to the
// process (see guard). It sees no environment and loads no modules.
func compileFilter(ctx context.Context, text string) (*filter, error) {
	query, err := gojq.Parse(text)
	if err != nil {
		return nil, filterError(text, err)
	}
	g := guard{}
	g.query(query)
	if g.err != nil {
		return nil, fmt.Errorf("filter: %w", g.err)
	}
	query.FuncDefs = append(slices.Clone(preludeDefs()), query.FuncDefs...)
	f := &filter{inputs: &inputIter{}, meter: newMeter(ctx)}
	if f.code, err = gojq.Compile(query, append(f.meter.functions(), gojq.WithInputIter(f.inputs))...); err != nil {
		return nil, filterError(text, err)
	}
	return f, nil
}

// filterError says where the syntax of a filter breaks.
func filterError(filter string, err error) error {
	var parse *gojq.ParseError
	if !errors.As(err, &parse) {
		return fmt.Errorf("filter: %s", clip(err.Error(), 300))
	}
	at := max(min(parse.Offset-len(parse.Token), len(filter)), 0)
	if parse.Token == "" {
		return fmt.Errorf("filter: it ends too early, at position %d", utf8.RuneCountInString(filter)+1)
	}
	return fmt.Errorf("filter: unexpected %q at position %d", clip(parse.Token, 40), utf8.RuneCountInString(filter[:at])+1)
}

// run runs the filter on each input and gives the results as lines of JSON.
func (f *filter) run() (tool.Result, error) {
	var out bytes.Buffer
	results := 0
	for n := 1; ; n++ {
		input, ok := f.inputs.Next()
		if !ok {
			break
		}
		for run := f.code.RunWithContext(f.meter, input); ; {
			v, ok := run.Next()
			if !ok {
				break
			}
			if err, ok := v.(error); ok {
				var halt *gojq.HaltError
				if errors.As(err, &halt) && halt.Value() == nil {
					return jsonResult(out.Bytes(), results), nil
				}
				return tool.Result{}, runError(f.meter, err, n, results)
			}
			line, err := encode(v)
			if err != nil {
				return tool.Result{}, err
			}
			if results++; results > maxResults || out.Len()+len(line) > maxResultBytes {
				return tool.Result{}, fmt.Errorf("the filter gives more than %d results or %d MiB; select less, or use first(f) or limit(20; f)", maxResults, maxResultBytes>>20)
			}
			out.Write(line)
			out.WriteByte('\n')
		}
	}
	return jsonResult(out.Bytes(), results), nil
}

func jsonResult(lines []byte, results int) tool.Result {
	text := strings.TrimSuffix(string(lines), "\n")
	if results == 0 {
		text = "no result (the filter gave nothing)"
	}
	r := tool.TextResult(text)
	r.Details = jsonTransformDetails{Results: results}
	return r
}

// encode writes a result of a filter as JSON: sorted keys, numbers as they
// were, NaN as null.
func encode(v any) ([]byte, error) {
	if err := fits(v); err != nil {
		return nil, err
	}
	line, err := gojq.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode a result: %w", err)
	}
	return line, nil
}

// runError words the failure of a run. With several inputs it names the one.
func runError(m *meter, err error, input, results int) error {
	switch {
	case m.Context.Err() != nil:
		return m.Context.Err()
	case m.spent():
		return fmt.Errorf("the filter was stopped after %d million steps with %d results; select less, or bound it with limit(20; f)", m.most/1_000_000, results)
	}
	text := clip(err.Error(), 300)
	if input > 1 {
		text = fmt.Sprintf("input %d: %s", input, text)
	}
	return fmt.Errorf("filter: %s", text)
}
