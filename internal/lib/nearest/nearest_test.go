package nearest

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var tools = []string{
	"apply_patch", "calc", "datetime", "file_delete", "file_edit", "file_list", "file_move", "file_read", "file_search",
	"file_write", "http_request", "json_transform", "memory_get", "memory_search", "memory_write", "read_output", "regex",
	"search_tools", "shell", "text_utils", "web_fetch",
}

func TestNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		want string
		have []string
		max  int
		near []string
	}{
		{"shell_exec", tools, 1, []string{"shell"}},
		{"read_file", tools, 1, []string{"file_read"}},
		{"FileRead", tools, 1, []string{"file_read"}},
		{"file-read", tools, 1, []string{"file_read"}},
		{"functions.file_read", tools, 1, []string{"file_read"}},
		{"readFileLines", tools, 1, []string{"file_read"}},
		{"calculator", tools, 5, []string{"calc"}},
		{"HTTPRequest", tools, 1, []string{"http_request"}},
		{"json_transfrom", tools, 5, []string{"json_transform"}},
		{"files_list", tools, 1, []string{"file_list"}},
		{"get_weather", tools, 5, nil},
		{"browser", tools, 5, nil},
		{"", tools, 5, nil},
		{"___", tools, 5, nil},
		{"file", tools, 2, []string{"file_edit", "file_list"}},
		{"file_reed", tools, 0, nil},
		{"file_reed", tools, -1, nil},
		{"pth", []string{"path", "content"}, 5, []string{"path"}},
		{"file_path", []string{"path", "content"}, 5, []string{"path"}},
		{"max_iterations", []string{"max_tool_iterations", "max_step_chars"}, 1, []string{"max_tool_iterations"}},
		{"to", []string{"from", "path"}, 5, nil},
		{"ab", []string{"ba", "ab", "ab"}, 5, []string{"ab"}},
		{"größe", []string{"GRÖSSE", "Größe"}, 1, []string{"Größe"}},
		{strings.Repeat("x", 100_000), tools, 5, nil},
	}
	for _, tt := range tests {
		if got := Names(tt.want, tt.have, tt.max); !slices.Equal(got, tt.near) {
			t.Errorf("%.40q: got %q, want %q", tt.want, got, tt.near)
		}
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	tests := []struct{ want, name string }{
		{"shell_exec", "shell"},
		{"read_file", "file_read"},
		{"filewrite", "file_write"},
		{"file", ""}, // could be any of them
		{"weather", ""},
	}
	for _, tt := range tests {
		if got, ok := Name(tt.want, tools); got != tt.name || ok != (tt.name != "") {
			t.Errorf("%s: got %q, %v, want %q", tt.want, got, ok, tt.name)
		}
	}
}

// The result depends on the set of names only, not on their order, and a name
// that exists is the nearest to itself.
func TestNamesIsStable(t *testing.T) {
	t.Parallel()
	word := rapid.StringMatching(`[a-cA-C_.]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		have := rapid.SliceOfN(word, 0, 8).Draw(t, "have")
		want := word.Draw(t, "want")
		got := Names(want, have, 5)
		if again := Names(want, rapid.Permutation(have).Draw(t, "shuffled"), 5); !slices.Equal(got, again) {
			t.Fatalf("got %q and %q", got, again)
		}
		for _, name := range got {
			if !slices.Contains(have, name) {
				t.Fatalf("made up %q", name)
			}
		}
		if strings.Trim(want, "_.") != "" && slices.Contains(have, want) && len(got) == 0 {
			t.Fatalf("%q isn't near itself", want)
		}
	})
}

// The distance is symmetric, bounded by the longer word and zero for equals.
func TestDistance(t *testing.T) {
	t.Parallel()
	word := rapid.StringMatching(`[abc]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := []rune(word.Draw(t, "a")), []rune(word.Draw(t, "b"))
		d := Distance(a, b, 100)
		if d != Distance(b, a, 100) || d > max(len(a), len(b)) || (d == 0) != slices.Equal(a, b) {
			t.Fatalf("distance %d", d)
		}
		most := rapid.IntRange(0, 6).Draw(t, "most")
		if got := Distance(a, b, most); got != d && (got <= most || d <= most) {
			t.Fatalf("distance %d, but at most %d it is %d", d, most, got)
		}
	})
	if d := Distance([]rune("pahts"), []rune("path"), 5); d != 2 {
		t.Errorf("a swap and a letter are %d", d)
	}
}

func BenchmarkNames(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Names("shell_exec", tools, 5)
	}
}

// With nothing near, all come by how little they differ.
func TestSorted(t *testing.T) {
	t.Parallel()
	have := []string{"apply_patch", "calc", "file_read", "datetime", "file_read"}
	for want, names := range map[string]string{
		"file_write": "file_read datetime calc",
		"read":       "file_read",
		"":           "apply_patch calc datetime",
	} {
		got := strings.Join(Sorted(want, have, 3), " ")
		if !strings.HasPrefix(got, names) {
			t.Errorf("%q: %s, want %s", want, got, names)
		}
	}
	if got := Sorted("x", have, 0); len(got) != 0 {
		t.Errorf("at most none: %v", got)
	}
}
