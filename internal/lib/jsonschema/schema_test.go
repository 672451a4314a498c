package jsonschema

import "testing"

// readInput is the input of a typical tool.
type readInput struct {
	Path        string `json:"path" jsonschema:"File, relative to the workspace."`
	From        int    `json:"from,omitempty" jsonschema:"First line, from 1." min:"1"`
	To          *int   `json:"to" jsonschema:"Last line." min:"1"`
	LineNumbers bool   `json:"line_numbers,omitempty"`
	Mode        string `json:"mode" enum:"text,raw" default:"text"`
}

func compileInput(tb testing.TB) *Schema {
	tb.Helper()
	raw, err := For[readInput]()
	if err != nil {
		tb.Fatal(err)
	}
	s, err := Compile(raw)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func BenchmarkFor(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := For[readInput](); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	raw, err := For[readInput]()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRepair(b *testing.B) {
	s := compileInput(b)
	raw := []byte(`{"path":"a/b/c.txt","from":1,"to":20,"line_numbers":true}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.Repair(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	s := compileInput(b)
	v, err := Decode([]byte(`{"path":"a/b/c.txt","from":1,"to":20,"line_numbers":true}`))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if faults := s.Validate(v); faults != nil {
			b.Fatal(faults)
		}
	}
}

func TestFindsEveryFaultAtOnce(t *testing.T) {
	t.Parallel()
	s := compileInput(t)
	v, err := Decode([]byte(`{"pth":1,"from":0,"mode":"txt"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`missing required field "path"`,
		`unknown field "pth"; did you mean "path"?`,
		`from: expected at least 1, got number 0`,
		`mode: expected one of "text", "raw", got string "txt"; did you mean "text"?`,
	}
	got := s.Validate(v)
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i, f := range got {
		if f.String() != want[i] {
			t.Errorf("got %s, want %s", f, want[i])
		}
	}
}
