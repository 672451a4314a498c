package tool_test

import (
	"testing"

	"github.com/goclaw/goclaw/internal/tool"
)

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"", "", true},
		{"", "file:a", true},
		{"file:a", "", false},
		{"file:", "file:a/b", true},
		{"file:", "files:a", false},
		{"file", "file:a", true},
		{"file:a", "file:a", true},
		{"file:a", "file:a/b", true},
		{"file:a/", "file:a/b", true},
		{"file:a", "file:ab", false},
		{"file:a/b", "file:a", false},
		{"db:sales", "db:sales/orders", true},
		{"net:host", "net:host:8080", true},
	} {
		if got := tool.Covers(c.a, c.b); got != c.want {
			t.Errorf("%q covers %q: %v", c.a, c.b, got)
		}
	}
}

func TestConflict(t *testing.T) {
	t.Parallel()
	r := func(name string) tool.Touch { return tool.Touch{Name: name} }
	w := func(name string) tool.Touch { return tool.Touch{Name: name, Write: true} }
	for _, c := range []struct {
		a, b []tool.Touch
		want bool
	}{
		{nil, []tool.Touch{tool.Everything}, false},
		{[]tool.Touch{r("file:a")}, []tool.Touch{r("file:a")}, false},
		{[]tool.Touch{r("file:a")}, []tool.Touch{w("file:a")}, true},
		{[]tool.Touch{r("file:")}, []tool.Touch{w("file:a/b")}, true},
		{[]tool.Touch{w("file:a")}, []tool.Touch{w("file:b")}, false},
		{[]tool.Touch{w("file:a")}, []tool.Touch{r("db:x"), r("file:a/b")}, true},
		{[]tool.Touch{tool.Everything}, []tool.Touch{r("net:host")}, true},
		{[]tool.Touch{tool.Everything}, []tool.Touch{tool.Everything}, true},
	} {
		if got, back := tool.Conflict(c.a, c.b), tool.Conflict(c.b, c.a); got != c.want || back != got {
			t.Errorf("%v and %v conflict: %v, %v", c.a, c.b, got, back)
		}
	}
}
