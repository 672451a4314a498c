package redact_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/goclaw/goclaw"
	"github.com/goclaw/goclaw/examples/redact"
)

// The scripts run the real program with the plugin compiled in.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"goclaw": func() { os.Exit(goclaw.Main(redact.Plugin())) },
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
