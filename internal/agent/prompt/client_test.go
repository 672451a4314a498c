package prompt_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/prompt"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

var update = flag.Bool("update", false, "write the golden files anew")

// system is the line that tells of the machine.
var system = regexp.MustCompile(`(?m)^System: .*$`)

// What an API client says stands behind everything else of the session
// context, and the static prompt is the same with it and without.
func TestWhatAnAPIClientSays(t *testing.T) {
	t.Parallel()
	ws := files(map[string]string{"SOUL.md": "Be kind.", "AGENTS.md": "Work well.", "Memory.md": "The sky is blue.", "USER.md": "Likes tea.", "a.txt": "1"})
	p := prompt.New(prompt.Options{
		Files: from(ws), Workspace: "/ws", CoreInstruction: "You are Claw.", Snapshots: kept{}, MaxResultChars: 1000,
		Now: func() time.Time { return time.Date(2026, 3, 1, 9, 5, 0, 0, time.UTC) },
	})
	built := map[string]llm.Request{}
	for name, said := range map[string]string{"plain": "", "blank": " \n", "client": "\nYou answer in French.\n\nNever use lists.\n"} {
		turn := agent.Turn{Scope: scope("s", auth.User), System: said}
		req, facts, err := p.Build(t.Context(), turn, tool.Surface{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		built[name] = req
		if name == "blank" {
			continue
		}
		var b strings.Builder
		for _, s := range facts.Sections {
			b.WriteString(s.Place + " " + s.Name + " from " + s.Source + "\n")
		}
		b.WriteString("\n--- static ---\n" + req.Static + "\n--- session ---\n" + req.Session + "\n")
		got := system.ReplaceAllString(b.String(), "System: …")
		path := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s (-want +got):\n%s", path, d)
		}
	}
	if built["client"].Static != built["plain"].Static || !strings.HasPrefix(built["client"].Session, built["plain"].Session) {
		t.Error("the client's words change what stands before them")
	}
	if built["blank"].Session != built["plain"].Session {
		t.Error("a client that says nothing changes the session context")
	}
}

// The budget bounds what GoClaw adds; what was asked for isn't left out
// silently, however long.
func TestWhatAnAPIClientSaysIsOutsideOfTheBudget(t *testing.T) {
	t.Parallel()
	ws := files(map[string]string{"Memory.md": strings.Repeat("m", 200), "USER.md": "u"})
	p := prompt.New(prompt.Options{Files: from(ws), Snapshots: kept{}, ContextBudget: 300})
	for _, n := range []int{10, 5000} {
		_, facts, err := p.Build(t.Context(), agent.Turn{Scope: scope("s", auth.User), System: strings.Repeat("c", n)}, tool.Surface{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(facts.Sections); !strings.HasSuffix(got, "session:memory session:person session:client") {
			t.Errorf("%d characters: %s", n, got)
		}
	}
}
