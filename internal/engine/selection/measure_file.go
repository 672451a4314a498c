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

// text is data without the mark; false where it is no UTF-8, which f is told.
func (f *faults) text(data []byte) ([]byte, bool) {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		f.add(1, "the file is written in UTF-16: save it as UTF-8")
		return nil, false
	}
	return bytes.TrimPrefix(data, byteOrderMark), true
}

// elements gives each the values of a JSON array, with the lines at which they
// begin. It reports whether data is an array as far as that shows at its
// beginning; what is broken further on is told f. what is what a value is called.
func (f *faults) elements(data []byte, what string, each func(line int, raw json.RawMessage)) bool {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return false
	}
	line, counted := 1, int64(0) // of what was counted
	for dec.More() {
		begin := dec.InputOffset() + int64(blanks(data[dec.InputOffset():]))
		line, counted = line+bytes.Count(data[counted:begin], []byte("\n")), begin
		at := line
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			// The decoder's own offset leaves out what stands between the values.
			syntax := (*json.SyntaxError)(nil)
			if errors.As(err, &syntax) && errors.As(json.Unmarshal(data[begin:], &raw), &syntax) {
				f.add(lineAt(data, begin+syntax.Offset-1), "broken JSON: %v", err)
			} else {
				f.add(lineAt(data, int64(len(data))), "broken JSON: the file ends within a %s", what)
			}
			return true
		}
		each(at, raw)
	}
	if _, err := dec.Token(); err != nil {
		f.add(lineAt(data, int64(len(data))), "broken JSON: the array does not end")
	} else if rest := bytes.TrimSpace(data[dec.InputOffset():]); len(rest) > 0 {
		f.add(lineAt(data, dec.InputOffset()+int64(blanks(data[dec.InputOffset():]))), "something stands behind the array")
	}
	return true
}

const catalogShape = `{"name", "description", "parameters"}`

// ReadCatalog reads the tools of a JSON array of objects with name, description
// and, as far as there are any, parameters, category and tags. Names need not be
// canonical; of two tools of one name the first counts, and odd tells of the other.
// The error tells all that is wrong, with the line; file is what it calls data.
func ReadCatalog(file string, data []byte) (docs []Doc, odd []error, err error) {
	f := &faults{file: file}
	data, ok := f.text(data)
	if !ok {
		return nil, nil, f.err()
	}
	first := map[string]int{} // the line of a name
	ok = f.elements(data, "tool", func(at int, raw json.RawMessage) {
		var d Doc
		if err := json.Unmarshal(raw, &d); err != nil {
			var kind *json.UnmarshalTypeError
			if errors.As(err, &kind) && kind.Field != "" {
				f.add(at, "%s is a JSON %s, not a %s", kind.Field, kind.Value, kind.Type)
			} else if errors.As(err, &kind) {
				f.add(at, "a tool is a JSON %s, not %s", kind.Value, catalogShape)
			} else {
				f.add(at, "broken JSON: %v", err)
			}
			return
		}
		switch before, twice := first[d.Name]; {
		case strings.TrimSpace(d.Name) == "":
			f.add(at, "a tool without a name: each is %s", catalogShape)
		case twice:
			f.odd(at, "%s stands here again, which is passed over: it is in line %d already", d.Name, before)
		default:
			first[d.Name] = at
			docs = append(docs, d)
		}
	})
	switch {
	case !ok:
		f.add(1, "not a JSON array of tools: [%s]", catalogShape)
	case len(f.all) == 0 && len(docs) == 0:
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

const queryShape = `{"query": TEXT, "tools": [NAMES]}`

// ReadQueries reads labelled requests, a JSON object with query and tools a
// line, empty lines passed over, or an array of such objects. A tool that is not
// among docs counts as one that is never found, and odd tells of it, as of requests
// without words. The error tells all that is wrong, with the line; file is what it
// calls data.
func ReadQueries(file string, data []byte, docs []Doc) (queries []Query, odd []error, err error) {
	f := &faults{file: file}
	data, ok := f.text(data)
	if !ok {
		return nil, nil, f.err()
	}
	r := queryReader{faults: f, known: map[string]bool{}}
	for _, d := range docs {
		r.names = append(r.names, d.Name)
		r.known[d.Name] = true
	}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) || !f.elements(data, "request", r.read) {
		n := 0
		for line := range bytes.Lines(data) {
			n++
			if line = bytes.TrimSpace(line); len(line) > 0 {
				r.read(n, line)
			}
		}
	}
	if len(f.all) == 0 && len(r.queries) == 0 {
		f.add(1, "no requests")
	}
	return r.queries, f.few(f.odds), f.err()
}

type queryReader struct {
	*faults
	names   []string
	known   map[string]bool
	queries []Query
}

// read reads the request that begins in line n.
func (r *queryReader) read(n int, raw json.RawMessage) {
	var q struct {
		Text  *string   `json:"query"`
		Tools *[]string `json:"tools"`
	}
	if err := json.Unmarshal(raw, &q); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			err = fmt.Errorf("%s is a JSON %s", or(kind.Field, "the line"), kind.Value)
		} else if one, comma := bytes.CutSuffix(raw, []byte(",")); comma && json.Valid(one) {
			err = errors.New("a comma stands behind it, and none is needed")
		}
		r.add(n, `not %s: %v`, queryShape, err)
		return
	}
	if q.Text == nil || q.Tools == nil {
		r.add(n, `not %s: query or tools is missing`, queryShape)
		return
	}
	if strings.TrimSpace(*q.Text) == "" {
		r.odd(n, "the query is empty")
	}
	kept := Query{Text: *q.Text, Tools: []string{}}
	for _, name := range *q.Tools {
		if !slices.Contains(kept.Tools, name) {
			kept.Tools = append(kept.Tools, name)
		}
		if r.known[name] {
			continue
		}
		if near, ok := nearest.Name(name, r.names); ok {
			r.odd(n, "the catalog has no tool %q, which counts as missed: did you mean %s?", name, near)
		} else {
			r.odd(n, "the catalog has no tool %q, which counts as missed", name)
		}
	}
	r.queries = append(r.queries, kept)
}
