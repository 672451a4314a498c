package jq

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/itchyny/gojq"
)

// Decode reads one JSON value. Numbers keep all their digits, up to a length;
// object keys that come twice keep the last value.
func Decode(text string) (any, error) {
	values, err := decode(text, 1)
	if err != nil {
		return nil, err
	}
	return values[0], nil
}

// DecodeAll reads JSON values, one after the other, at least one.
func DecodeAll(text string) ([]any, error) { return decode(text, 0) }

// decode reads values, as many as most when it isn't 0.
func decode(text string, most int) ([]any, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var values []any
	for {
		var v any
		err := dec.Decode(&v)
		switch {
		case errors.Is(err, io.EOF) && len(values) > 0:
			return values, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("read the JSON: it is empty")
		case err != nil:
			return nil, fmt.Errorf("read the JSON: %s: %w", position(text, err, dec.InputOffset()), err)
		case most > 0 && len(values) == most:
			return nil, errors.New("read the JSON: there is more than one value")
		}
		values = append(values, numbers(v))
	}
}

// position says in lines and columns where a text stops being JSON.
func position(text string, err error, offset int64) string {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset = max(syntax.Offset-1, 0)
	}
	before := text[:min(int(offset), len(text))]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, column %d", line, column)
}

// numbers replaces numerals in place where that loses nothing and saves the
// interpreter from reading them time and again, or where they are too long.
func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return number(v)
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for k, e := range v {
			switch e.(type) {
			case json.Number, []any, map[string]any:
				v[k] = numbers(e)
			}
		}
	}
	return v
}

func number(n json.Number) any {
	if i, err := n.Int64(); err == nil {
		return int(i)
	}
	if len(n) <= maxDigits {
		return n
	}
	// Out of range it is ±Inf, which is the best there is.
	f, _ := n.Float64()
	return f
}

// Encode writes a value that [Query.Run] gave out as JSON on one line: keys
// sorted, numbers as they were read, NaN as null.
func Encode(v any) (string, error) {
	text, err := gojq.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode JSON: %w", err)
	}
	return string(text), nil
}
