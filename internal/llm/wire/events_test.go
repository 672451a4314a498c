package wire

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// readEvents reads all events of r.
func readEvents(r io.Reader) (data []string, err error) {
	in := NewEvents(r, func() {})
	for {
		d, err := in.Next()
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return data, err
		}
		data = append(data, string(d))
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"one", "data: a\n\n", []string{"a"}},
		{"two", "data: a\n\ndata: b\n\n", []string{"a", "b"}},
		{"without a space", "data:a\n\n", []string{"a"}},
		{"two spaces", "data:  a\n\n", []string{" a"}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}},
		{"CR", "data: a\r\rdata: b\r\r", []string{"a", "b"}},
		{"mixed line ends", "data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", []string{"a", "b", "c"}},
		{"several lines", "data: a\ndata: b\ndata:\ndata: c\n\n", []string{"a\nb\n\nc"}},
		{"comments", ": hello\n\n: again\ndata: a\n: within\n\n:\n\n", []string{"a"}},
		{"other fields", "event: message\nid: 1\nretry: 5\ndata: a\n\nevent: ping\n\n", []string{"a"}},
		{"a field that only begins like data", "database: x\n\ndata: a\n\n", []string{"a"}},
		{"no colon", "data\n\n", []string{""}},
		{"no empty line at the end", "data: a\n\ndata: b\n", []string{"a", "b"}},
		{"no line end at the end", "data: a\n\ndata: b", []string{"a", "b"}},
		{"a byte order mark", "\xEF\xBB\xBFdata: a\n\n", []string{"a"}},
		{"empty lines first", "\n\r\n\ndata: a\n\n", []string{"a"}},
		{"a long one", "data: " + strings.Repeat("x", 100_000) + "\n\n", []string{strings.Repeat("x", 100_000)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for how, r := range map[string]io.Reader{
				"whole":       strings.NewReader(test.in),
				"by bytes":    iotest.OneByteReader(strings.NewReader(test.in)),
				"with an end": iotest.DataErrReader(strings.NewReader(test.in)),
			} {
				got, err := readEvents(r)
				if err != nil || !slices.Equal(got, test.want) {
					t.Errorf("%s: %.200q, %v", how, got, err)
				}
			}
		})
	}
}

func TestEventsEndWithTheirReader(t *testing.T) {
	t.Parallel()
	broken := errors.New("reset")
	got, err := readEvents(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := readEvents(idle{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that gives nothing: %v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// endless gives the same byte forever and counts how many it gave.
type endless struct {
	b byte
	n int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.b
	}
	e.n += len(p)
	return len(p), nil
}

func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	line := &endless{b: 'x'}
	if _, err := readEvents(io.MultiReader(strings.NewReader("data: "), line)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an endless line: %v", err)
	}
	if line.n > 2*maxEvent {
		t.Errorf("%d bytes were read of an endless line", line.n)
	}

	// Comments may go on as long as the call may: they take no room.
	comments := strings.NewReader(strings.Repeat(": keep alive\n\n", 1<<18))
	in := NewEvents(comments, func() {})
	if _, err := in.Next(); !errors.Is(err, io.EOF) || len(in.buf) > 8<<10 {
		t.Errorf("comments: %v, %d bytes held", err, len(in.buf))
	}
}

// However the network cuts a stream, the events are the same.
func TestEventsInAnyPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"data: a", "data:b", "data: 界😀", ": c", "", "", "event: x", "data"})
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\r"})
		var in bytes.Buffer
		for range rapid.IntRange(0, 12).Draw(t, "lines") {
			in.WriteString(line.Draw(t, "line") + end.Draw(t, "end"))
		}
		want, err := readEvents(bytes.NewReader(in.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		var pieces []io.Reader
		for rest := in.Bytes(); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			pieces = append(pieces, bytes.NewReader(rest[:n]))
			rest = rest[n:]
		}
		got, err := readEvents(io.MultiReader(pieces...))
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q (%v)", in.String(), got, want, err)
		}
	})
}

// Lines are read by the same rules, and blank ones are passed over.
func TestLines(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"":                                   nil,
		"\n \r\n\t\n":                        nil,
		"a":                                  {"a"},
		"a\n\nb\r\n c \rd":                   {"a", "b", "c", "d"},
		"\xEF\xBB\xBF{}\n{\"a\":1}\n":        {"{}", `{"a":1}`},
		strings.Repeat("x", 100_000) + "\ny": {strings.Repeat("x", 100_000), "y"},
	} {
		for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in)), iotest.DataErrReader(strings.NewReader(in))} {
			e := NewEvents(r, func() {})
			var got []string
			line, err := e.Line()
			for ; err == nil; line, err = e.Line() {
				got = append(got, string(line))
			}
			if !errors.Is(err, io.EOF) || !slices.Equal(got, want) {
				t.Errorf("%.100q: %.100q, %v", in, got, err)
			}
		}
	}
	if _, err := NewEvents(&endless{b: 'x'}, func() {}).Line(); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an endless line: %v", err)
	}
}

// lines is a second, plain reading of the same format.
func lines(in string) (data []string) {
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	var event []string
	have := false
	for line := range strings.SplitSeq(in, "\n") {
		line = strings.TrimPrefix(line, "\xEF\xBB\xBF")
		if line == "" {
			if have {
				data = append(data, strings.Join(event, "\n"))
			}
			event, have = nil, false
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		if field == "data" {
			event, have = append(event, strings.TrimPrefix(value, " ")), true
		}
	}
	if have {
		data = append(data, strings.Join(event, "\n"))
	}
	return data
}

func FuzzEvents(f *testing.F) {
	f.Add("data: a\n\ndata: b\r\n\r\n: c\rdata\r\r", uint8(3))
	f.Add("data:a\ndata:b\n\n\n", uint8(1))
	f.Fuzz(func(t *testing.T, in string, size uint8) {
		r := io.Reader(strings.NewReader(in))
		if size > 0 {
			r = &small{r, int(size)}
		}
		got, err := readEvents(r)
		if err != nil {
			t.Fatal(err)
		}
		if want := lines(in); !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", in, got, want)
		}
	})
}

// small reads at most n bytes at once.
type small struct {
	r io.Reader
	n int
}

func (s *small) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), s.n)]) }
