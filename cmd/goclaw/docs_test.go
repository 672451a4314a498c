package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/goclaw/goclaw/internal/fakellm"
)

// What a page of the documentation shows of a terminal is what the program
// says: its commands run with its configuration, and each line that it shows of
// their output is the beginning of one.
func TestDocumentedSessions(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "tool-calls.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := scriptOf(string(page))
	if n := strings.Count(script, "exec goclaw"); n < 5 {
		t.Fatalf("the page has %d commands", n)
	}
	if err := os.WriteFile(filepath.Join(dir, "tool_calls.txtar"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			fakellm.Setup(env)
			home := filepath.Join(env.WorkDir, "home")
			env.Vars = append(env.Vars, "HOME="+home, "GOCLAW_HOME="+home)
			return os.Rename(filepath.Join(env.WorkDir, "config.yaml"), filepath.Join(mustMake(t, home), "config.yaml"))
		},
	})
}

func mustMake(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// scriptOf makes a script of the blocks of a page: those of a terminal are
// commands with their output, those that name a file are that file. A command
// whose output says "goclaw: …" fails with these words.
func scriptOf(page string) string {
	var script, files strings.Builder
	for _, block := range regexp.MustCompile("(?ms)^```(\\w+) ?([\\w.]*)\n(.*?)^```").FindAllStringSubmatch(page, -1) {
		kind, file, text := block[1], block[2], block[3]
		switch {
		case file != "":
			fmt.Fprintf(&files, "-- %s --\n%s", file, text)
		case kind == "console":
			session(&script, text)
		}
	}
	return script.String() + files.String()
}

func session(script *strings.Builder, text string) {
	for part := range strings.SplitSeq("\n"+text, "\n$ ") {
		command, output, _ := strings.Cut(strings.TrimSpace(part), "\n")
		if command == "" {
			continue
		}
		fails := strings.HasPrefix(output, "goclaw: ")
		if fails {
			script.WriteString("! ")
		}
		script.WriteString("exec " + strings.ReplaceAll(command, `""`, "''") + "\n")
		for line := range strings.SplitSeq(output, "\n") {
			if line == "" {
				continue
			}
			stream := "stdout"
			if fails {
				stream = "stderr"
			}
			fmt.Fprintf(script, "%s '%s'\n", stream, strings.ReplaceAll(regexp.QuoteMeta(line), "'", "''"))
		}
	}
}
