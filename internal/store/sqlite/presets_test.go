package sqlite_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/engine/preset"
)

func TestPresets(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	one, other := open(t, path).Presets(), open(t, path).Presets()
	at := time.Unix(1_700_000_000, 5)
	first := preset.Preset{Tool: "db_query", Name: "b", Description: "d", Args: json.RawMessage(`{"a":1}`), Author: "ann", Created: at}
	second := preset.Preset{Tool: "db_query", Name: "a", Args: json.RawMessage(`{}`), Author: "bob", Created: at}
	if err := errors.Join(one.Add(t.Context(), first), other.Add(t.Context(), second)); err != nil {
		t.Fatal(err)
	}
	if err := other.Add(t.Context(), first); !errors.Is(err, preset.ErrExists) {
		t.Errorf("adding it again: %v", err)
	}
	if err := errors.Join(one.Approve(t.Context(), "db_query", "b", "ada", at), one.Approve(t.Context(), "db_query", "b", "eve", at.Add(1))); err != nil {
		t.Error(err)
	}
	first.ApprovedBy, first.Approved = "ada", at
	list, err := other.Presets(t.Context())
	if diff := cmp.Diff([]preset.Preset{first, second}, list); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
	for i := range preset.MaxWaiting + 1 {
		p := preset.Preset{Tool: "db_query", Name: fmt.Sprint("many", i), Args: json.RawMessage(`{}`), Author: "eve", Created: at}
		if err := one.Add(t.Context(), p); errors.Is(err, preset.ErrTooMany) != (i == preset.MaxWaiting) {
			t.Errorf("preset %d that waits: %v", i, err)
		}
	}
	if err := other.Approve(t.Context(), "db_query", "c", "ada", at); !errors.Is(err, preset.ErrUnknown) {
		t.Errorf("approving what isn't there: %v", err)
	}
	if err := one.Remove(t.Context(), "db_query", "b"); err != nil {
		t.Error(err)
	}
	if err := one.Remove(t.Context(), "db_query", "b"); !errors.Is(err, preset.ErrUnknown) {
		t.Errorf("removing it again: %v", err)
	}
}
