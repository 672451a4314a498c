package command

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line string
		want Call
	}{
		{"hello", Call{Text: "hello"}},
		{"  indented code stays as it is\n", Call{Text: "  indented code stays as it is\n"}},
		{"", Call{}},
		{"/new", Call{Name: "new"}},
		{"  /new  ", Call{Name: "new"}},
		{"/NEW The  second try ", Call{Name: "new", Arg: "The  second try"}},
		{"/steer in two\nlines", Call{Name: "steer", Arg: "in two\nlines"}},
		{"/steer\nbelow", Call{Name: "steer", Arg: "below"}},
		{"/tools file_read", Call{Name: "tools", Arg: "file_read"}},
		{"/?", Call{Name: "help"}},
		{"/help stop", Call{Name: "help", Arg: "stop"}},

		// What only looks like a command.
		{"//new is how to begin", Call{Text: "/new is how to begin"}},
		{"///", Call{Text: "//"}},
		{"/", Call{Text: "/"}},
		{"/ new", Call{Text: "/ new"}},
		{"/etc/hosts is wrong", Call{Text: "/etc/hosts is wrong"}},
		{"/usr/bin", Call{Text: "/usr/bin"}},
		{"/2 of them", Call{Text: "/2 of them"}},
		{"/*.go", Call{Text: "/*.go"}},
		{"see /new", Call{Text: "see /new"}},
	}
	for _, tt := range tests {
		got, err := Common().Parse(tt.line)
		if err != nil || got != tt.want {
			t.Errorf("Parse(%q) = %+v, %v, want %+v", tt.line, got, err, tt.want)
		}
	}
}

func TestParseTellsWhatToWrite(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line string
		near []string
		want string
	}{
		{"/tool", []string{"tools"}, "there is no command /tool: did you mean /tools? To send it as a message, write //tool"},
		{"/usge", []string{"usage"}, "did you mean /usage?"},
		{"/s", []string{"sessions", "stop", "steer"}, "did you mean /sessions or /stop or /steer?"},
		{"/frobnicate now", nil, "there is no command /frobnicate: /help lists them. To send it as a message, write //frobnicate"},
		{"/" + strings.Repeat("x", 100), nil, "/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…: "},
		{"/Compact", nil, "/Compact is not in this version yet. To send it as a message, write //Compact"},
		{"/resume", nil, "/resume needs something behind it: write /resume NAME"},
		{"/steer  ", nil, "write /steer TEXT"},
		{"/stop it", nil, `/stop takes nothing behind it, and there is "it"`},
	}
	for _, tt := range tests {
		_, err := Common().Parse(tt.line)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Error(), tt.want) || !slices.Equal(e.Near, tt.near) {
			t.Errorf("Parse(%q): %v, near %q; want %q, near %q", tt.line, err, e.Near, tt.want, tt.near)
		}
	}
}

func TestFrontEndsAddTheirOwn(t *testing.T) {
	t.Parallel()
	set := append(Common(), Spec{Name: "quit", Use: "leave"})
	if got, err := set.Parse("/quit"); err != nil || got.Name != "quit" {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := Common().Parse("/quit"); err == nil {
		t.Error("the common commands have none to leave with")
	}
}

func TestSpecsAreComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range Common() {
		if seen[s.Name] || s.Use == "" || s.Name != strings.ToLower(s.Name) {
			t.Errorf("%+v", s)
		}
		seen[s.Name] = true
		if (s.Arg == "") != (s.Kind == Nothing) {
			t.Errorf("%s: argument %q of kind %q", s.Name, s.Arg, s.Kind)
		}
	}
}

// Nothing a person writes is lost: it is a command, an error that names what
// was written, or a message that holds all of it.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.OneOf(rapid.String(), rapid.StringMatching(`/{0,3}[a-z?]{0,8}[ /\n]?.*`)).Draw(t, "line")
		got, err := Common().Parse(line)
		switch {
		case err != nil:
			if got != (Call{}) {
				t.Fatalf("%+v beside %v", got, err)
			}
		case got.Name != "":
			if !strings.HasSuffix(strings.TrimSpace(line), got.Arg) {
				t.Fatalf("argument %q", got.Arg)
			}
		case got.Text != line && "/"+got.Text != strings.TrimSpace(line):
			t.Fatalf("message %q", got.Text)
		}
	})
}
