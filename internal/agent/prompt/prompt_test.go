package prompt_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/prompt"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// kept is a Snapshots in memory.
type kept map[string]string

func (k kept) Snapshot(_ context.Context, agent, session, name string, take func() (string, error)) (string, error) {
	key := agent + "/" + session + "/" + name
	if s, ok := k[key]; ok {
		return s, nil
	}
	s, err := take()
	k[key] = s
	return s, err
}

func scope(session string, role auth.Role) tool.Scope {
	return tool.NewScope(tool.Facts{Agent: "main", Session: session, Origin: tool.FromChat, Caller: auth.Principal{Name: "Ada", Role: role}})
}

func files(m map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range m {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// from makes files the workspace of prompts.
func from(files fs.FS) func() (fs.FS, error) {
	return func() (fs.FS, error) { return files, nil }
}

func names(sections []agent.Section) string {
	var out []string
	for _, s := range sections {
		out = append(out, s.Place+":"+s.Name)
	}
	return strings.Join(out, " ")
}

func sections(t *testing.T, o prompt.Options, s tool.Scope) []agent.Section {
	t.Helper()
	if o.Snapshots == nil {
		o.Snapshots = kept{}
	}
	out, err := prompt.New(o).Sections(t.Context(), s, tool.Surface{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSectionsStandInOrderAndMissingFilesAreSkipped(t *testing.T) {
	t.Parallel()
	all := files(map[string]string{
		"IDENTITY.md": "i", "SOUL.md": "s", "AGENTS.md": "a", "TOOLS.md": "t", "Memory.md": "m", "USER.md": "u",
	})
	for _, c := range []struct {
		name  string
		files fstest.MapFS
		core  string
		want  string
	}{
		{"everything", all, "c", "static:core static:identity static:soul static:agents static:tools static:guidance static:workspace session:memory session:person"},
		{"nothing", files(nil), "", "static:guidance static:workspace session:person"},
		{"an empty file", files(map[string]string{"SOUL.md": " \n"}), "", "static:guidance static:workspace session:person"},
	} {
		got := names(sections(t, prompt.Options{Files: from(c.files), CoreInstruction: c.core}, scope("s", auth.User)))
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestTheStaticPromptHoldsWhileFilesComeAndGo(t *testing.T) {
	t.Parallel()
	ws := files(map[string]string{"SOUL.md": "s", "a.txt": "1"})
	o := prompt.Options{Files: from(ws), Snapshots: kept{}}
	first := sections(t, o, scope("s", auth.User))
	ws["b.txt"] = &fstest.MapFile{Data: []byte("2")}
	same, other := sections(t, o, scope("s", auth.User)), sections(t, o, scope("t", auth.User))
	at := func(list []agent.Section) string { return list[len(list)-2].Text }
	if at(first) != at(same) {
		t.Errorf("the workspace section changed:\n%s\n%s", at(first), at(same))
	}
	if !strings.Contains(at(other), "b.txt") {
		t.Errorf("a new session doesn't see the new file:\n%s", at(other))
	}
}

func TestTheSessionContextFitsItsBudget(t *testing.T) {
	t.Parallel()
	ws := files(map[string]string{"Memory.md": strings.Repeat("m", 500), "USER.md": "u"})
	got := names(sections(t, prompt.Options{Files: from(ws), ContextBudget: 300}, scope("s", auth.User)))
	if strings.Contains(got, "memory") || !strings.Contains(got, "session:person") {
		t.Errorf("kept %s", got)
	}
}

func TestALongFileIsCutAtALetter(t *testing.T) {
	t.Parallel()
	ws := files(map[string]string{"SOUL.md": "x" + strings.Repeat("界", 9000)})
	s := sections(t, prompt.Options{Files: from(ws)}, scope("s", auth.User))[0]
	if strings.Contains(s.Text, "\uFFFD") || !strings.Contains(s.Text, "is cut here") || len(s.Text) > 21000 {
		t.Errorf("%d bytes, ending %q", len(s.Text), s.Text[len(s.Text)-90:])
	}
}

func TestTheTimeStandsAtTheEndAtMinutePrecision(t *testing.T) {
	t.Parallel()
	p := prompt.New(prompt.Options{Files: from(files(nil)), Snapshots: kept{}})
	turn := agent.Turn{Scope: scope("s", auth.User), Started: time.Date(2026, 3, 1, 9, 5, 42, 7, time.UTC)}
	parts, err := p.Context(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Part{Kind: llm.KindContext, Text: "Now: Sunday, 2026-03-01 09:05 (UTC, UTC+00:00)"}
	if len(parts) != 1 || parts[0].Text != want.Text || parts[0].Kind != want.Kind {
		t.Errorf("got %+v", parts)
	}
	req, _, err := p.Build(t.Context(), turn, tool.Surface{}, nil)
	if err != nil || req.Clock != want.Text {
		t.Errorf("the request says that %q is the time: %v", req.Clock, err)
	}
}

func TestBuildTrimsToTheWindow(t *testing.T) {
	t.Parallel()
	budgets := []int{}
	p := prompt.New(prompt.Options{
		Files: from(files(nil)), Snapshots: kept{},
		Trim: func(m []llm.Message, budget int) ([]llm.Message, int) {
			budgets = append(budgets, budget)
			return m[1:], 1
		},
	})
	messages := []llm.Message{llm.UserMessage("old"), llm.UserMessage("new")}
	turn := agent.Turn{Scope: scope("s", auth.User)}
	unknown, facts, err := p.Build(t.Context(), turn, tool.Surface{}, messages)
	if err != nil || len(unknown.Messages) != 2 || facts.Dropped != 0 {
		t.Errorf("without a known window: %d messages, %v", len(unknown.Messages), err)
	}
	known, facts, err := p.Build(t.Context(), turn, tool.Surface{Target: llm.Target{ContextWindow: 8000}}, messages)
	if err != nil || len(known.Messages) != 1 || facts.Dropped != 1 || len(budgets) != 1 || budgets[0] < 4000 || budgets[0] > 7000 {
		t.Errorf("with a window of 8000: %d messages, budgets %v, %v", len(known.Messages), budgets, err)
	}
	// What a server refused counts too, and leaves no room for the answer: it was
	// the request that was too long.
	for _, target := range []llm.Target{{MaxInput: 3000}, {MaxInput: 3000, ContextWindow: 8000}, {MaxInput: 9000, ContextWindow: 8000}} {
		budgets = nil
		if _, _, err := p.Build(t.Context(), turn, tool.Surface{Target: target}, messages); err != nil || len(budgets) != 1 {
			t.Fatalf("%+v: budgets %v, %v", target, budgets, err)
		}
		most := 3000
		if target.MaxInput > 3000 {
			most = 7000 // of the window, as above
		}
		if budgets[0] > most || budgets[0] < most/2 {
			t.Errorf("%+v: a budget of %d", target, budgets[0])
		}
	}
}

// Processes that start side by side on a fresh workspace all find it complete.
func TestManySeedOneWorkspaceAtOnce(t *testing.T) {
	t.Parallel()
	for range 20 {
		dir := filepath.Join(t.TempDir(), "workspace")
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				if err := prompt.SeedWorkspace(dir, prompt.Seed(i%2)); err != nil {
					t.Error(err)
				}
				if b, err := os.ReadFile(filepath.Join(dir, "AGENTS.md")); err != nil || len(b) == 0 {
					t.Errorf("AGENTS.md has %d bytes, %v", len(b), err)
				}
			})
		}
		wg.Wait()
		if left, err := os.ReadDir(dir); err != nil || len(left) != 4 {
			t.Errorf("%v, %v", left, err)
		}
	}
}

func TestSeedingNeverOverwritesWhatIsSomebodysOwn(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ws")
	if err := prompt.SeedWorkspace(dir, prompt.SeedMissing); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	defaults := read("AGENTS.md")
	for _, name := range []string{"SOUL.md", "AGENTS.md", "TOOLS.md", "Memory.md"} {
		write(name, "mine")
	}
	if err := prompt.SeedWorkspace(dir, prompt.SeedMissing); err != nil || read("AGENTS.md") != "mine" {
		t.Errorf("seeding again wrote AGENTS.md (%v)", err)
	}
	if err := prompt.SeedWorkspace(dir, prompt.SeedRefresh); err != nil {
		t.Fatal(err)
	}
	if read("AGENTS.md") != defaults || read("SOUL.md") != "mine" || read("Memory.md") != "mine" {
		t.Error("refreshing wrote the wrong files")
	}

	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("original"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "TOOLS.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(dir, "TOOLS.md")); err != nil {
		t.Fatal(err)
	}
	if err := prompt.SeedWorkspace(dir, prompt.SeedRefresh); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "original" {
		t.Errorf("a file outside holds %q (%v)", b, err)
	}
}

// A page of a PDF file costs a model a few thousand tokens; where nobody counted
// them it is taken to have many, but no more than models take.
func TestPagesCost(t *testing.T) {
	t.Parallel()
	tokens := func(m *llm.Media, kind llm.Kind) int {
		return prompt.Tokens(prompt.Bytes(llm.Message{Role: llm.User, Parts: []llm.Part{{Kind: kind, Media: m}}}))
	}
	for name, tc := range map[string]struct {
		m        *llm.Media
		kind     llm.Kind
		from, to int
	}{
		"ten pages":                     {&llm.Media{MIME: "application/pdf", Data: make([]byte, 1<<20), Pages: 10}, llm.KindMedia, 30_000, 31_000},
		"ten pages, kept elsewhere":     {&llm.Media{MIME: "application/pdf", Size: 1 << 20, Sum: "00", Pages: 10}, llm.KindMedia, 30_000, 31_000},
		"1 MiB of nobody knows":         {&llm.Media{MIME: "application/pdf", Data: make([]byte, 1<<20)}, llm.KindMedia, 100_000, 200_000},
		"16 MiB of nobody knows":        {&llm.Media{MIME: "application/pdf", Size: 16 << 20, Sum: "00"}, llm.KindMedia, 300_000, 301_000},
		"an image":                      {&llm.Media{MIME: "image/png", Data: make([]byte, 1<<20)}, llm.KindMedia, 1000, 2000},
		"a file that is only mentioned": {&llm.Media{MIME: "application/pdf", Size: 1 << 20}, llm.KindFile, 0, 10},
	} {
		if n := tokens(tc.m, tc.kind); n < tc.from || n > tc.to {
			t.Errorf("%s: %d tokens, want %d to %d", name, n, tc.from, tc.to)
		}
	}
}
