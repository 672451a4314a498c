package preset

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

type shelf struct {
	Store
	all []Preset
}

func (s *shelf) Presets(context.Context) ([]Preset, error) { return s.all, nil }

// TestListsAreWrittenOnce shows that a request writes no arguments anew, however
// long they are and whatever the description has room for.
func TestListsAreWrittenOnce(t *testing.T) {
	s := &shelf{}
	for i := range 200 {
		args := json.RawMessage(fmt.Sprintf(`{"b": %d, "a": [%s1]}`, i, strings.Repeat("1, ", 50)))
		s.all = append(s.all, Preset{Tool: "db_query", Name: fmt.Sprint("query ", i), Args: args, ApprovedBy: "ann", Approved: time.Now()})
	}
	b := NewBook(s, slog.New(slog.DiscardHandler))
	_, names, cut := b.Approved(t.Context())["db_query"].Listed(nil, "query 150 and 77")
	if !cut || len(names) < 5 || names[0] != "query 150" && names[0] != "query 77" {
		t.Fatalf("chosen are %q, cut %v", names, cut)
	}
	few := &shelf{all: s.all[:2]}
	short := NewBook(few, slog.New(slog.DiscardHandler))
	for name, request := range map[string]func() string{
		"what was chosen": func() string {
			lines, _, _ := b.Approved(t.Context())["db_query"].Listed(names, "something else")
			return lines
		},
		"all": func() string {
			lines, _, _ := short.Approved(t.Context())["db_query"].Listed(nil, "")
			return lines
		},
	} {
		if got := request(); !strings.Contains(got, `: {"a":[1,1,`) || len(got) > MaxListed {
			t.Errorf("%s: listed is\n%s", name, got)
		}
		if n := testing.AllocsPerRun(10, func() { request() }); n > 20 {
			t.Errorf("%s: a request allocates %v times", name, n)
		}
	}
}
