package selection_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/goclaw/goclaw/internal/engine/selection"
)

func TestMeasure(t *testing.T) {
	t.Parallel()
	ten := strings.Fields("c d e f g h i j k l")
	answers := map[string]selection.Ranking{
		"first":  {Names: []string{"a", "b"}, Offered: []string{"a"}},
		"fourth": {Names: append([]string{"x", "y", "z", "a"}, ten...), Offered: []string{"x", "y"}},
		"two":    {Names: append(append([]string{"b"}, ten...), "x", "a"), Offered: []string{"a", "b", "c"}},
		"never":  {Names: ten, Offered: ten},
		"none":   {Names: ten, Offered: ten[:3]},
	}
	queries := []selection.Query{
		{Text: "first", Tools: []string{"a"}},
		{Text: "fourth", Tools: []string{"a"}},
		{Text: "never", Tools: []string{"a"}},
		{Text: "two", Tools: []string{"a", "b"}},
		{Text: "none"},
	}
	got, err := selection.Measure(t.Context(), queries, func(_ context.Context, m string) (selection.Ranking, error) { return answers[m], nil })
	if err != nil {
		t.Fatal(err)
	}
	want := selection.Report{
		Figures: selection.Figures{Queries: 4, Recall: map[int]float64{1: 1.5 / 4, 3: 1.5 / 4, 5: 2.5 / 4, 12: 2.5 / 4, 20: 3. / 4}, Offered: 2. / 4, MRR: (1 + .25 + 1) / 4},
		Single:  selection.Figures{Queries: 3, Recall: map[int]float64{1: 1. / 3, 3: 1. / 3, 5: 2. / 3, 12: 2. / 3, 20: 2. / 3}, Offered: 1. / 3, MRR: 1.25 / 3},
		Several: selection.Figures{Queries: 1, Recall: map[int]float64{1: .5, 3: .5, 5: .5, 12: .5, 20: 1}, Offered: 1, MRR: 1},
		Missed: []selection.Miss{
			{Query: "fourth", Needed: []string{"a"}, Missed: []string{"a"}},
			{Query: "never", Needed: []string{"a"}, Missed: []string{"a"}},
		},
	}
	want.None.Queries, want.None.Offered = 1, 3
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(selection.Report{}, "Time"), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	failed := errors.New("no")
	if _, err := selection.Measure(t.Context(), queries, func(context.Context, string) (selection.Ranking, error) { return selection.Ranking{}, failed }); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	if raw, err := json.Marshal(selection.Milliseconds(1500 * time.Microsecond)); err != nil || string(raw) != "1.5" {
		t.Errorf("1500 µs are %s ms, %v", raw, err)
	}
}

func TestReadCatalog(t *testing.T) {
	t.Parallel()
	docs, _, err := selection.ReadCatalog("f", []byte("\ufeff"+`[{"name":"Movie Finder","description":"d","parameters":{"x":1},"more":2},
		{"name":"AirQuality","tags":["t"]}]`))
	want := []selection.Doc{{Name: "Movie Finder", Description: "d", Parameters: json.RawMessage(`{"x":1}`)}, {Name: "AirQuality", Tags: []string{"t"}}}
	if diff := cmp.Diff(want, docs); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, test := range []struct{ data, want string }{
		{"", "f:1: not a JSON array of tools: [{\"name\", \"description\", \"parameters\"}]"},
		{"{}", "f:1: not a JSON array of tools: [{\"name\", \"description\", \"parameters\"}]"},
		{"[]", "f:1: no tools"},
		{"[\n{\"name\":7},\n{\"name\":\" \"},\n4]", "f:2: name is a JSON number, not a string\nf:3: a tool without a name: each is {\"name\", \"description\", \"parameters\"}\nf:4: a tool is a JSON number, not {\"name\", \"description\", \"parameters\"}"},
		{"[{\"name\":\"a\"},\n{\"name\":\"b\",}]", "f:2: broken JSON: invalid character '}' looking for beginning of object key string"},
		{"[{\"name\":\"a\"},\n{\"name\":", "f:2: broken JSON: the file ends within a tool"},
		{"[{\"name\":\"a\"}\n", "f:2: broken JSON: the array does not end"},
		{"[{\"name\":\"a\"}]\n[]", "f:2: something stands behind the array"},
		{"[{\"name\":\"a\"},\n]", "f:2: broken JSON: invalid character ']' looking for beginning of value"},
		{"\xff\xfe[\x00]\x00", "f:1: the file is written in UTF-16: save it as UTF-8"},
	} {
		_, _, err := selection.ReadCatalog("f", []byte(test.data))
		if err == nil || err.Error() != test.want {
			t.Errorf("%q: got %v, want %s", test.data, err, test.want)
		}
	}
}

// Of two tools of one name the first counts.
func TestReadCatalogWithATwin(t *testing.T) {
	t.Parallel()
	docs, odd, err := selection.ReadCatalog("f", []byte("[{\"name\":\"a\",\"description\":\"d\"},\n\n{\"name\":\"b\"}, {\"name\":\"a\"}]"))
	want := []selection.Doc{{Name: "a", Description: "d"}, {Name: "b"}}
	if diff := cmp.Diff(want, docs); diff != "" || err != nil || fmt.Sprint(odd) != "[f:3: a stands here again, which is passed over: it is in line 1 already]" {
		t.Errorf("%v, %v (-want +got):\n%s", odd, err, diff)
	}
}

func TestReadQueries(t *testing.T) {
	t.Parallel()
	docs := []selection.Doc{{Name: "Movie Finder"}, {Name: "AirQuality"}}
	got, odd, err := selection.ReadQueries("q", []byte("{\"query\":\"a\",\"tools\":[\"AirQuality\",\"Movie Finder\",\"AirQuality\"]}\r\n\n{\"query\":\"b\",\"tools\":[]}"), docs)
	want := []selection.Query{{Text: "a", Tools: []string{"AirQuality", "Movie Finder"}}, {Text: "b", Tools: []string{}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil || odd != nil {
		t.Errorf("%v, %v (-want +got):\n%s", odd, err, diff)
	}
	_, odd, err = selection.ReadQueries("q", []byte(`{"query":"a","tools":["AirQualty"]}
{"query":"a","tools":["xyz"]}

{"query":"a"}
nonsense
{"query":"","tools":[]}
[{"query":"a","tools":[]}]
{"query":"a","tools":"AirQuality"}
`), docs)
	const odds = `[q:1: the catalog has no tool "AirQualty", which counts as missed: did you mean AirQuality? ` +
		`q:2: the catalog has no tool "xyz", which counts as missed q:6: the query is empty]`
	if fmt.Sprint(odd) != odds {
		t.Errorf("odd are %v", odd)
	}
	const faults = `q:4: not {"query": TEXT, "tools": [NAMES]}: query or tools is missing
q:5: not {"query": TEXT, "tools": [NAMES]}: invalid character 'o' in literal null (expecting 'u')
q:7: not {"query": TEXT, "tools": [NAMES]}: the line is a JSON array
q:8: not {"query": TEXT, "tools": [NAMES]}: tools is a JSON string`
	if err == nil || err.Error() != faults {
		t.Errorf("got %v", err)
	}
	if _, _, err := selection.ReadQueries("q", []byte(strings.Repeat("{}\n", 12)), docs); err == nil || !strings.HasSuffix(err.Error(), "\nq: and 2 more") {
		t.Errorf("got %v", err)
	}
	// What is not in the catalog is not found, and words are not needed to find none.
	got, odd, err = selection.ReadQueries("q", []byte(strings.Repeat(`{"query":"","tools":["xyz"]}`+"\n", 12)), docs)
	if err != nil || len(got) != 12 || got[3].Tools[0] != "xyz" || len(odd) != 11 || odd[10].Error() != "q: and 14 more" {
		t.Errorf("%d requests, odd are %v, %v", len(got), odd, err)
	}
	if _, _, err := selection.ReadQueries("q", []byte("{\"query\":\"a\",\"tools\":[]},\n\xff\n"), docs); err == nil || !strings.HasPrefix(err.Error(), `q:1: not {"query": TEXT, "tools": [NAMES]}: a comma stands behind it, and none is needed`) || !strings.Contains(err.Error(), "q:2: ") {
		t.Errorf("got %v", err)
	}
	if _, _, err := selection.ReadQueries("q", []byte("\xfe\xff\x00{"), docs); err == nil || err.Error() != "q:1: the file is written in UTF-16: save it as UTF-8" {
		t.Errorf("got %v", err)
	}
	if _, _, err := selection.ReadQueries("q", []byte("\n"), docs); err == nil || err.Error() != "q:1: no requests" {
		t.Errorf("got %v", err)
	}
}

// A file of requests may be one array, as editors write it.
func TestReadQueriesOfAnArray(t *testing.T) {
	t.Parallel()
	docs := []selection.Doc{{Name: "a"}}
	got, odd, err := selection.ReadQueries("q", []byte("\ufeff[\r\n {\r\n  \"query\": \"x\",\r\n  \"tools\": [\"a\"]\r\n },\n {\"query\": \"y\", \"tools\": [\"b\"]}\n]\n"), docs)
	want := []selection.Query{{Text: "x", Tools: []string{"a"}}, {Text: "y", Tools: []string{"b"}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil || fmt.Sprint(odd) != `[q:6: the catalog has no tool "b", which counts as missed]` {
		t.Errorf("%v, %v (-want +got):\n%s", odd, err, diff)
	}
	for data, want := range map[string]string{
		"[{\"query\":\"x\",\"tools\":[]},\n]":     "q:2: broken JSON: invalid character ']' looking for beginning of value",
		"[{\"query\":\"x\",\"tools\":[]},\n{\"qu": "q:2: broken JSON: the file ends within a request",
		"[1]": `q:1: not {"query": TEXT, "tools": [NAMES]}: the line is a JSON number`,
		"[]":  "q:1: no requests",
	} {
		if _, _, err := selection.ReadQueries("q", []byte(data), docs); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", data, err, want)
		}
	}
}

// A long measurement can be stopped.
func TestMeasureEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	asked := 0
	_, err := selection.Measure(ctx, make([]selection.Query, 3), func(context.Context, string) (selection.Ranking, error) {
		asked++
		stop()
		return selection.Ranking{}, nil
	})
	if !errors.Is(err, context.Canceled) || asked != 1 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}
