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

// faults are the faults of a file, a line each: those with which it can't be used,
// and what is odd and can be passed over.
type faults struct {
	file string
	all  []error
	odds []error
}

func (f *faults) odd(line int, format string, args ...any) {
	f.odds = append(f.odds, f.fault(line, format, args...))
}

func (f *faults) fault(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", f.file, line, fmt.Errorf(format, args...))
}

func (f *faults) add(line int, format string, args ...any) {
	f.all = append(f.all, f.fault(line, format, args...))
}

func (f *faults) err() error { return errors.Join(f.few(f.all)...) }

func (f *faults) few(list []error) []error {
	if n := len(list) - mostFaults; n > 0 {
		return append(list[:mostFaults:mostFaults], fmt.Errorf("%s: and %d more", f.file, n))
	}
	return list
}

// byteOrderMark begins files of some editors.
var byteOrderMark = []byte("\ufeff")

// ReadCatalog reads the tools of a JSON array of objects with name, description
// and, as far as there are any, parameters, category and tags. Names need not be
// canonical; of two tools of one name the first counts, and odd tells of the other.
// The error tells all that is wrong, with the line; file is what it calls data.
func ReadCatalog(file string, data []byte) (docs []Doc, odd []error, err error) {
	f := &faults{file: file}
	data = bytes.TrimPrefix(data, byteOrderMark)
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		f.add(1, `not a JSON array of tools: [{"name", "description", "parameters"}]`)
		return nil, nil, f.err()
	}
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
			return nil, nil, f.err()
		}
		switch before, twice := first[d.Name]; {
		case strings.TrimSpace(d.Name) == "":
			f.add(at, "a tool without a name")
		case twice:
			f.odd(at, "%s stands here again, which is passed over: it is in line %d already", d.Name, before)
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
	return docs, f.few(f.odds), f.err()
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
// line; empty lines are passed over. A tool that is not among docs counts as one that
// is never found, and odd tells of it, as of requests without words. The error tells
// all that is wrong, with the line; file is what it calls data.
func ReadQueries(file string, data []byte, docs []Doc) (queries []Query, odd []error, err error) {
	f := &faults{file: file}
	var names []string
	known := map[string]bool{}
	for _, d := range docs {
		names = append(names, d.Name)
		known[d.Name] = true
	}
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
		if q.Text == nil || q.Tools == nil {
			f.add(n, `not {"query": TEXT, "tools": [NAMES]}: query or tools is missing`)
			continue
		}
		if strings.TrimSpace(*q.Text) == "" {
			f.odd(n, "the query is empty")
		}
		kept := Query{Text: *q.Text, Tools: []string{}}
		for _, name := range *q.Tools {
			if !slices.Contains(kept.Tools, name) {
				kept.Tools = append(kept.Tools, name)
			}
			if known[name] {
				continue
			}
			if near, ok := nearest.Name(name, names); ok {
				f.odd(n, "the catalog has no tool %q, which counts as missed: did you mean %s?", name, near)
			} else {
				f.odd(n, "the catalog has no tool %q, which counts as missed", name)
			}
		}
		queries = append(queries, kept)
	}
	if len(f.all) == 0 && len(queries) == 0 {
		f.add(1, "no requests")
	}
	return queries, f.few(f.odds), f.err()
}
