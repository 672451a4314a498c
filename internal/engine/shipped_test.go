package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/blob"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/spill"
	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/tool"
	"github.com/goclaw/goclaw/internal/tools/files"
	textfamily "github.com/goclaw/goclaw/internal/tools/text"
)

// shipped is a bench with the tools that ship, in a workspace of its own.
func shipped(t testing.TB, options ...option) *bench {
	t.Helper()
	spaces := workspace.NewSet()
	t.Cleanup(func() {
		if err := spaces.Close(); err != nil {
			t.Error(err)
		}
	})
	keeper := blob.NewKeeper(blob.NewMemory(), blob.Options{})
	tools := slices.Concat(files.Tools(spaces), spill.Tools(keeper, spill.Options{}))
	texts, err := textfamily.Family(keeper, time.Now).Build(func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	b := set(t, append(tools, texts...), append(options, func(o *engine.Options) {
		o.Spiller = spill.New(keeper, spill.Options{Log: o.Log})
	})...)
	b.scope.Workspace = t.TempDir()
	return b
}

// A write and a read of one file in one response keep their order, whatever
// stands between them.
func TestAWriteAndAReadOfOneFile(t *testing.T) {
	t.Parallel()
	b := shipped(t)
	for i := range 20 {
		path := fmt.Sprintf("notes/%d.txt", i)
		out := b.run(t.Context(),
			call("file_write", fmt.Sprintf(`{"path":%q,"content":"first"}`, path)),
			call("calc", `{"expression":"1+1"}`),
			call("file_read", fmt.Sprintf(`{"path":"./%s"}`, path)),
			call("file_edit", fmt.Sprintf(`{"path":%q,"old":"first","new":"second"}`, path)),
			call("file_read", fmt.Sprintf(`{"path":%q}`, path)),
		)
		for j, want := range map[int]string{2: "first", 4: "second"} {
			if o := out[j]; o.Status != tool.OK || !strings.Contains(text(o), want) {
				t.Fatalf("call %d: %s: %s", j, o.Status, text(o))
			}
		}
	}
}

// A large file is read back piece by piece, and one of another session isn't.
func TestALargeResultIsReadBack(t *testing.T) {
	t.Parallel()
	b := shipped(t)
	whole := strings.Repeat("line\n", 5000) + "needle\n"
	if err := os.WriteFile(filepath.Join(b.scope.Workspace, "big.txt"), []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	big := b.run(t.Context(), call("file_read", `{"path":"big.txt"}`))[0]
	if big.Ref == "" || big.Chars != len(whole) {
		t.Fatalf("kept %d characters under %q", big.Chars, big.Ref)
	}
	search := call("read_output", fmt.Sprintf(`{"ref":%q,"mode":"search","query":"needle"}`, big.Ref))
	if o := b.run(t.Context(), search)[0]; o.Status != tool.OK || !strings.Contains(text(o), "needle") {
		t.Errorf("got %s: %s", o.Status, text(o))
	}
	b.scope.Session = "another"
	if o := b.run(t.Context(), search)[0]; o.Status == tool.OK {
		t.Errorf("another session read it: %s", text(o))
	}
}
