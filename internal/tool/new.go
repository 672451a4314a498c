package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/llm"
)

// New makes a tool of a plain function. The schema of the parameters is
// inferred from In, a struct with json and jsonschema tags (see lib/jsonschema
// for both); def.Parameters is set only when the inferred schema won't do.
//
// What the function returns becomes the result: a [Result] is taken as it is,
// a string is the text, anything else is shown to the model as JSON and kept
// as details. Floats that JSON has no numerals for are the strings "NaN",
// "Infinity" and "-Infinity" there.
//
// New panics when the schema of In can't be inferred: that is a fault of the
// program which its first test finds.
func New[In, Out any](def Definition, f func(ctx context.Context, call Call, in In) (Out, error)) Tool {
	if def.Parameters == nil {
		schema, err := jsonschema.For[In]()
		if err != nil {
			panic(fmt.Sprintf("tool %s: %v", def.Name, err))
		}
		def.Parameters = schema
	}
	return &function[In, Out]{def: def, f: f}
}

// WithTouches adds to t what its calls read and write. In is the same type
// that New was given; touches gets the arguments decoded.
func WithTouches[In any](t Tool, touches func(call Call, in In) []Touch) Tool {
	return &touching[In]{Tool: t, touches: touches}
}

// WithStamp makes t a [Stamper]. In is the same type that New was given; stamp
// gets the arguments decoded.
func WithStamp[In any](t Tool, stamp func(ctx context.Context, call Call, in In, at time.Time) (string, bool)) Tool {
	s := stamping[In]{Tool: t, stamp: stamp}
	if touches, ok := t.(Toucher); ok {
		return struct {
			stamping[In]
			Toucher
		}{s, touches}
	}
	return s
}

type stamping[In any] struct {
	Tool
	stamp func(context.Context, Call, In, time.Time) (string, bool)
}

func (t stamping[In]) Stamp(ctx context.Context, call Call, at time.Time) (string, bool) {
	in, err := decode[In](call.Args)
	if err != nil {
		return "", false // running the call tells of it
	}
	return t.stamp(ctx, call, in, at)
}

type function[In, Out any] struct {
	def Definition
	f   func(context.Context, Call, In) (Out, error)
}

func (t *function[In, Out]) Definition() Definition { return t.def }

func (t *function[In, Out]) Execute(ctx context.Context, call Call) (Result, error) {
	in, err := decode[In](call.Args)
	if err != nil {
		return Result{}, err
	}
	out, err := t.f(ctx, call, in)
	if err != nil {
		return Result{}, err
	}
	switch v := any(out).(type) {
	case Result:
		return v, nil
	case string:
		return TextResult(v), nil
	}
	text, err := marshal(out)
	if err != nil {
		return Result{}, fmt.Errorf("encode the result: %w", err)
	}
	return Result{Content: []llm.Part{llm.Text(text)}, Details: json.RawMessage(text)}, nil
}

type touching[In any] struct {
	Tool
	touches func(Call, In) []Touch
}

func (t *touching[In]) Touches(call Call) []Touch {
	in, err := decode[In](call.Args)
	if err != nil {
		// The arguments are valid by then, so this can't be; if it is, the
		// call is held to touch everything.
		return []Touch{Everything}
	}
	return t.touches(call, in)
}

func decode[In any](args json.RawMessage) (In, error) {
	var in In
	if len(args) == 0 {
		return in, nil
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	err := dec.Decode(&in)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && strings.HasPrefix(wrong.Value, "number") {
		// The schema takes any whole number; this one doesn't fit.
		return in, fmt.Errorf("%s: the number is too large", wrong.Field)
	}
	if err != nil {
		return in, fmt.Errorf("decode the arguments: %w", err)
	}
	return in, nil
}

// marshal encodes v without escaping HTML, which would cost tokens and be read
// wrong by models.
func marshal(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	var unsupported *json.UnsupportedValueError
	if errors.As(err, &unsupported) {
		if same, changed := spelled(reflect.ValueOf(v), 0); changed {
			b.Reset()
			err = enc.Encode(same.Interface())
		}
	}
	if err != nil {
		return "", err
	}
	return string(bytes.TrimRight(b.Bytes(), "\n")), nil
}
