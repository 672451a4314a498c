package count_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/goclaw/goclaw"
	"github.com/goclaw/goclaw/examples/count"
)

// The scripts run the real program with the plugin compiled in.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"goclaw": func() { os.Exit(goclaw.Main(count.Plugin())) },
	})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata", RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("GOCLAW_HOME", filepath.Join(e.WorkDir, "home"))
			return nil
		},
	})
}

// The page that explains the example shows it as it is.
func TestThePageShowsTheExample(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "adding-a-tool.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"count.go", filepath.Join("testdata", "count.txtar")} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), "\n"+string(text)+"```\n") {
			t.Errorf("docs/adding-a-tool.md doesn't hold %s as it is", name)
		}
	}
}
