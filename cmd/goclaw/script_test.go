package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/goclaw/goclaw"
	"github.com/goclaw/goclaw/internal/fakellm"
)

// The scripts under testdata/script drive the real program, each with a home
// folder and a model server of its own.

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"goclaw": func() { os.Exit(goclaw.Main()) },
	})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                commands(),
		Condition: func(name string) (bool, error) {
			if name == "testtools" {
				return testTools, nil
			}
			return false, fmt.Errorf("unknown condition %s", name)
		},
		Setup: func(env *testscript.Env) error {
			fakellm.Setup(env)
			home := filepath.Join(env.WorkDir, "home")
			env.Vars = append(env.Vars, "HOME="+home, "GOCLAW_HOME="+filepath.Join(home, "goclaw"), "WS="+filepath.Join(home, "goclaw", "workspace"))
			return os.MkdirAll(filepath.Join(home, "goclaw"), 0o700)
		},
	})
}

func commands() map[string]func(*testscript.TestScript, bool, []string) {
	cmds := fakellm.Commands()
	// setup SCRIPT.json: serve the script and configure it as the provider.
	cmds["setup"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: setup SCRIPT.json")
		}
		cmds["fakellm"](ts, false, args)
		config := "ai:\n  provider: openai\n  providers:\n    openai: {api_key: test-key, model: test-model, base_url: \"" + ts.Getenv("MODEL_URL") + "\"}\n"
		ts.Check(os.WriteFile(filepath.Join(ts.Getenv("GOCLAW_HOME"), "config.yaml"), []byte(config), 0o600))
	}
	// until FILE: wait for another process to write it.
	cmds["until"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: until FILE")
		}
		file := ts.MkAbs(args[0])
		for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
			if _, err := os.Stat(file); err == nil {
				return
			}
			if time.Since(began) > time.Minute {
				ts.Fatalf("%s is not written", args[0])
			}
		}
	}
	// extends A B: the request B repeats A's messages, and the same tools.
	cmds["extends"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if len(args) != 2 {
			ts.Fatalf("usage: extends A.json B.json")
		}
		a, b := ts.ReadFile(args[0]), ts.ReadFile(args[1])
		n := 0
		for n < len(a) && n < len(b) && a[n] == b[n] {
			n++
		}
		// All of A but the brackets that end it.
		ok := n >= len(strings.TrimRight(a, "]}\n"))
		if ok == neg {
			ts.Fatalf("%d of %d bytes are repeated; then %q goes on as %q", n, len(a), clip(a[n:]), clip(b[n:]))
		}
	}
	return cmds
}

func clip(s string) string { return s[:min(len(s), 80)] }
