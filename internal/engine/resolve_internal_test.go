package engine

import (
	"slices"
	"testing"

	"github.com/goclaw/goclaw/internal/tool"
)

// The number of a call behind a name is told from a name that ends in a number.
func TestNamesWithANumber(t *testing.T) {
	t.Parallel()
	entries := func(names ...string) (list []*tool.Entry) {
		for _, n := range names {
			list = append(list, &tool.Entry{Def: tool.Definition{Name: n}})
		}
		return list
	}
	for _, c := range []struct {
		name    string
		of      []*tool.Entry
		want    string
		several []string
	}{
		{"functions.weather:0", entries("weather", "weather_0"), "weather", nil},
		{"functions.weather_0:3", entries("weather", "weather_0", "weather_03"), "weather_0", nil},
		{"functions.weather:0", entries("weather_0"), "weather_0", nil},
		{"weather:0", entries("weather"), "weather", nil},
		{"weather:0", entries("weather_0"), "weather_0", nil},
		{"weather:0", entries("weather", "weather_0"), "", []string{"weather", "weather_0"}},
		{"functions.fileRead:10", entries("file_read"), "file_read", nil},
		{"functions:0", entries("weather"), "", nil},
		{":0", entries("weather"), "", nil},
		{"mcp__home__lamp:2", entries("lamp"), "lamp", nil},
		{"weather:x", entries("weather"), "", nil},
	} {
		e, several := find(c.of, c.name)
		got := ""
		if e != nil {
			got = e.Def.Name
		}
		if got != c.want || !slices.Equal(several, c.several) {
			t.Errorf("%s among %v: %q, %v", c.name, tool.Names(c.of), got, several)
		}
	}
}
