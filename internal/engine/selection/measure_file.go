package selection

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/lib/nearest"
)

// mostFaults bounds how many faults of a file are told.
const mostFaults = 10

// faults are the faults of a file, a line each.
type faults struct {
	file string
	all  []error
}

func (f *faults) add(line int, format string, args ...any) {
	f.all = append(f.all, fmt.Errorf("%s:%d: %w", f.file, line, fmt.Errorf(format, args...)))
}

func (f *faults) err() error {
	if n := len(f.all) - mostFaults; n > 0 {
		return errors.Join(append(f.all[:mostFaults:mostFaults], fmt.Errorf("%s: and %d more", f.file, n))...)
	}
	return errors.Join(f.all...)
}

// byteOrderMark begins files of some editors.
var byteOrderMark = []byte("\ufeff")

// ReadCatalog reads the tools of a JSON array of objects with name, description
// and, as far as there are any, parameters, category and tags. Names need not be
// canonical. The error tells all that is wrong, with the line; file is what it
// calls data.
func ReadCatalog(file string, data []byte) ([]Doc, error) {
	f := &faults{file: file}
	data = bytes.TrimPrefix(data, byteOrderMark)
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		f.add(1, `not a JSON array of tools: [{"name", "description", "parameters"}]`)
		return nil, f.err()
	}
	var docs []Doc
	first := map[string]int{} // the line of a name
	for dec.More() {
		at := lineAt(data, dec.InputOffset()+int64(blanks(data[dec.InputOffset():])))
		var d Doc
		if err := dec.Decode(&d); err != nil {
			var syntax *json.SyntaxError
			var kind *json.UnmarshalTypeError
			switch {
			case errors.As(err, &kind):
				f.add(at, "%s is a JSON %s, not a %s", or(kind.Field, "a tool"), kind.Value, or(strings.TrimPrefix(kind.Type.String(), "selection."), "tool"))
				continue
			case errors.As(err, &syntax):
				f.add(lineAt(data, syntax.Offset-1), "broken JSON: %v", err)
			default:
				f.add(lineAt(data, int64(len(data))), "broken JSON: the file ends within a tool")
			}
			return nil, f.err()
		}
		switch before, twice := first[d.Name]; {
		case strings.TrimSpace(d.Name) == "":
			f.add(at, "a tool without a name")
		case twice:
			f.add(at, "%s stands here again: it is in line %d already", d.Name, before)
		default:
			first[d.Name] = at
			docs = append(docs, d)
		}
	}
	if _, err := dec.Token(); err != nil {
		f.add(lineAt(data, int64(len(data))), "broken JSON: the array does not end")
	} else if rest := bytes.TrimSpace(data[dec.InputOffset():]); len(rest) > 0 {
		f.add(lineAt(data, dec.InputOffset()+int64(blanks(data[dec.InputOffset():]))), "something stands behind the array")
	}
	if len(f.all) == 0 && len(docs) == 0 {
		f.add(1, "no tools")
	}
	return docs, f.err()
}

// blanks is how many bytes of data come before the next value.
func blanks(data []byte) int { return len(data) - len(bytes.TrimLeft(data, " \t\r\n,")) }

func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// ReadQueries reads labelled requests, a JSON object with query and tools a
// line; empty lines are passed over. A tool that is not among docs is a fault. The error
// tells all that is wrong, with the line; file is what it calls data.
func ReadQueries(file string, data []byte, docs []Doc) ([]Query, error) {
	f := &faults{file: file}
	var names []string
	known := map[string]bool{}
	for _, d := range docs {
		names = append(names, d.Name)
		known[d.Name] = true
	}
	var queries []Query
	n := 0
	for line := range bytes.Lines(bytes.TrimPrefix(data, byteOrderMark)) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var q struct {
			Text  *string   `json:"query"`
			Tools *[]string `json:"tools"`
		}
		if err := json.Unmarshal(line, &q); err != nil {
			var kind *json.UnmarshalTypeError
			if errors.As(err, &kind) {
				err = fmt.Errorf("%s is a JSON %s", or(kind.Field, "the line"), kind.Value)
			}
			f.add(n, `not {"query": TEXT, "tools": [NAMES]}: %v`, err)
			continue
		}
		if q.Text == nil || strings.TrimSpace(*q.Text) == "" || q.Tools == nil {
			f.add(n, `not {"query": TEXT, "tools": [NAMES]}: query or tools is missing`)
			continue
		}
		kept := Query{Text: *q.Text, Tools: []string{}}
		for _, name := range *q.Tools {
			if known[name] {
				if !slices.Contains(kept.Tools, name) {
					kept.Tools = append(kept.Tools, name)
				}
				continue
			}
			if near, ok := nearest.Name(name, names); ok {
				f.add(n, "the catalog has no tool %q: did you mean %s?", name, near)
			} else {
				f.add(n, "the catalog has no tool %q", name)
			}
		}
		queries = append(queries, kept)
	}
	if len(f.all) == 0 && len(queries) == 0 {
		f.add(1, "no requests")
	}
	return queries, f.err()
}
