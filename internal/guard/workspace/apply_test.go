package workspace_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/tool"
)

func put(path, text string) workspace.Change {
	return workspace.Change{Op: workspace.Put, Path: path, Data: []byte(text)}
}

func (b *bench) apply(s tool.Scope, changes ...workspace.Change) ([]workspace.Done, error) {
	return b.ws.Apply(b.t.Context(), tool.Call{Scope: s}, changes...)
}

func TestProtectedNames(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"SOUL.md": "soul", "agents/a.agent.md": "a", "instructions/i.instructions.md": "i", "agents/readme.txt": "x",
		"alias.md": "-> SOUL.md", "chain.md": "-> alias.md", "crew": "-> agents", "dangling.md": "-> USER.md",
		"IDENTITY.md": "-> real/identity.txt", "real/identity.txt": "me", "here": "-> .",
		"agents/linked.agent.md": "-> ../real/linked.txt", "real/linked.txt": "x",
		"Memory.md": "m", "memlink.txt": "=> {WS}/Memory.md",
		".git/config": "c", "sub/.git/hooks/x": "h", "gitlink": "-> .git",
		"bare/HEAD": "ref", "bare/objects/": "", "bare/refs/": "", "bare/hooks/": "",
		"secrets/key": "k", "vaultlink": "-> secrets", "src/secrets/ok.go": "x",
		"MY-SOUL.md": "x", "docs/SOUL.md": "x", "docs/agents/x.agent.md": "x", ".gitignore": "x", ".github/ci.yml": "x",
	}
	for path, want := range map[string]string{ // rule for a user, rule for an admin
		"SOUL.md":                          "protected ",
		"./SOUL.md":                        "protected ",
		"{WS}/SOUL.md":                     "protected ",
		"docs/../SOUL.md":                  "protected ",
		"soul.md":                          "protected ",
		"SoUl.Md":                          "protected ",
		"SOUL.md.":                         "protected ",
		"SOUL.md ":                         "protected ",
		"SOUL.md. .":                       "protected ",
		"SOUL.md/":                         "protected ",
		"TOOLS.md/x":                       "protected ",
		"tools.md/a/b":                     "protected ",
		"agents/n.agent.md/x":              "protected ",
		"ＳＯＵＬ.md":                          "protected ",
		"\u017foul.md":                     "protected ",
		"SO\u200bUL.md":                    "protected ",
		"SO\u00adUL.md":                    "protected ",
		"SOUL.md\ufe0f":                    "protected ",
		"U\u200dSER.md":                    "protected ",
		"TOOLS.md":                         "protected ",
		"too\u2113s.md":                    "protected ",
		"IDENTITY.md":                      "protected ",
		"real/identity.txt":                "protected ",
		"real/linked.txt":                  "protected ",
		"alias.md":                         "protected ",
		"chain.md":                         "protected ",
		"dangling.md":                      "protected ",
		"here/here/SOUL.md":                "protected ",
		"memlink.txt":                      "protected hard_link",
		"agents/new.agent.md":              "protected ",
		"Agents/New.Agent.MD":              "protected ",
		"crew/a.agent.md":                  "protected ",
		"crew/new.agent.md":                "protected ",
		"instructions/x.instructions.md":   "protected ",
		"INSTRUCTIONS./x.instructions.md.": "protected ",
		".git/config":                      "git git",
		".GIT/config":                      "git git",
		".git./config":                     "git git",
		".g\u200cit/config":                "git git",
		"git~1/config":                     "git git",
		".git":                             "git git",
		"sub/.git/hooks/x":                 "git git",
		"sub/new/.git":                     "git git",
		"gitlink/hooks/pre-commit":         "git git",
		"bare/hooks/post-checkout":         "git git",
		"bare/config":                      "git git",
		"secrets":                          "secrets secrets",
		"secrets/new":                      "secrets secrets",
		"Secrets/key":                      "secrets secrets",
		"vaultlink/key":                    "secrets secrets",
		".goclaw-tmp-x":                    "reserved reserved",
		"a\nb.txt":                         "control control",
		"~/.bashrc":                        "literal literal",
		"file:/etc/passwd":                 "literal literal",
		"https://x.org/a":                  "literal literal",
		"MY-SOUL.md":                       " ",
		"docs/SOUL.md":                     " ",
		"docs/agents/x.agent.md":           " ",
		"agents/readme.txt":                " ",
		"agents/sub/x.agent.md":            " ",
		"agents.txt":                       " ",
		"src/secrets/ok.go":                " ",
		"secrets.txt":                      " ",
		".gitignore":                       " ",
		".github/ci.yml":                   " ",
		"SOUL.md.bak":                      " ",
		"caf\u00e9 men\u00fa.txt":          " ",
		"a$(touch CANARY).txt":             " ",
		"a: b.txt":                         " ",
		"here/new.txt":                     " ",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			wantUser, wantAdmin, _ := strings.Cut(want, " ")
			for _, who := range []struct {
				scope tool.Scope
				want  string
			}{{user, wantUser}, {admin, wantAdmin}} {
				b := newBench(t, files)
				before := strings.Join(b.files(), "\n")
				asked := strings.ReplaceAll(path, "{WS}", b.dir)
				_, err := b.apply(who.scope, put(asked, "changed"))
				if got := rule(err); got != who.want {
					t.Errorf("%s: rule %q (%v), want %q", who.scope.Caller().Role, got, err, who.want)
				}
				if who.want != "" {
					if after := strings.Join(b.files(), "\n"); after != before {
						t.Errorf("files changed:\n%s\nwere\n%s", after, before)
					}
				}
				if who.want != "" && b.read("SOUL.md")+b.read("Memory.md")+b.read(".git/config")+b.read("real/identity.txt") != "soulmcme" {
					t.Error("a protected file has changed")
				}
			}
		})
	}
}

func TestProtectedFromMovingAndDeleting(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"SOUL.md": "soul", "agents/a.agent.md": "a", "alias.md": "-> SOUL.md", "x.md": "x", "crewdir/x.agent.md": "x",
		"IDENTITY.md": "-> conf/deep/identity.txt", "conf/deep/identity.txt": "me", "instructions": "-> rules", "rules/r.instructions.md": "r",
		".git/config": "c", "secrets/key": "k", "empty/": "", "full/x": "x", "link": "-> x.md", "outlink": "-> {OUT}/victim.txt",
		"hard.txt": "=> {OUT}/victim.txt",
	}
	remove := func(p string) workspace.Change { return workspace.Change{Op: workspace.Remove, Path: p} }
	move := func(from, to string) workspace.Change {
		return workspace.Change{Op: workspace.Move, Path: from, To: to}
	}
	for _, c := range []struct {
		name   string
		change workspace.Change
		want   string // rule, or "" when it is done, or text of the error
	}{
		{"delete a bootstrap file", remove("SOUL.md"), "protected"},
		{"delete its link", remove("alias.md"), "protected"},
		{"delete a definition", remove("agents/a.agent.md"), "protected"},
		{"delete what a protected link leads to", remove("conf/deep/identity.txt"), "protected"},
		{"move a bootstrap file away", move("SOUL.md", "old.md"), "protected"},
		{"move its folder away", move("agents", "old"), "protected"},
		{"move the target of a protected folder away", move("rules", "old"), "protected"},
		{"move a folder above a protected target", move("conf", "old"), "protected"},
		{"move onto a bootstrap name", move("x.md", "USER.md"), "protected"},
		{"move onto a bootstrap name, other case", move("x.md", "user.MD"), "protected"},
		{"move into agents", move("x.md", "agents/x.agent.md"), "protected"},
		{"move a definition in under its own name", move("crewdir/x.agent.md", "agents/"), "protected"},
		{"move a folder to be a protected one", move("crewdir", "Agents"), "protected"},
		{"move a folder into git", move("crewdir", ".git/hooks"), "git"},
		{"move git", move(".git", "old"), "git"},
		{"move secrets", move("secrets", "old"), "secrets"},
		{"delete a secret", remove("secrets/key"), "secrets"},
		{"move onto secrets", move("crewdir", "secrets"), "secrets"},
		{"delete the workspace", remove("."), "root"},
		{"move the workspace", move(".", "x"), "root"},
		{"delete outside", remove("../outside"), "escape"},
		{"delete through a link outside", remove("outlink"), "link_outside"},
		{"move a link that leads outside", move("outlink", "y"), "link_outside"},
		{"move outside", move("x.md", "../x.md"), "escape"},
		{"move onto a file", move("x.md", "full/x"), `"full/x" exists already`},
		{"move a folder into itself", move("full", "full/sub"), `a folder can't be moved into itself: "full" to "full/sub"`},
		{"delete a full folder", remove("full"), `the folder "full" is not empty: it holds 1 entries; delete those first`},
		{"delete an empty folder", remove("empty"), ""},
		{"delete a link", remove("link"), ""},
		{"delete one name of a file", remove("hard.txt"), ""},
		{"move a file", move("x.md", "new/deep/y.md"), ""},
		{"move into a folder", move("x.md", "full"), ""},
		{"move into a new folder", move("x.md", "fresh/"), ""},
		{"move a folder", move("full", "fuller"), ""},
		{"move among definitions' folder without being one", move("x.md", "agents/notes.txt"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, files)
			before := strings.Join(b.files(), "\n")
			_, err := b.apply(user, c.change)
			after := strings.Join(b.files(), "\n")
			switch {
			case c.want == "":
				if err != nil || after == before {
					t.Errorf("not done: %v", err)
				}
			case rule(err) != c.want && (err == nil || err.Error() != c.want):
				t.Errorf("got rule %q, error %v; want %q", rule(err), err, c.want)
			case after != before:
				t.Errorf("files changed:\n%s\nwere\n%s", after, before)
			}
			if victim, err := os.ReadFile(filepath.Join(b.outside, "victim.txt")); err != nil || string(victim) != "original" {
				t.Errorf("the file outside: %q, %v", victim, err)
			}
			if strings.Contains(after, ".goclaw-tmp-") {
				t.Errorf("a temporary file is left:\n%s", after)
			}
		})
	}
}

func TestAdminWritesProtectedFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"SOUL.md": "old", "alias.md": "-> SOUL.md", "agents/a.agent.md": "a"})
	if _, err := b.apply(admin, put("alias.md", "new"), put("agents/b.agent.md", "b"), put("USER.md", "u"),
		workspace.Change{Op: workspace.Remove, Path: "agents/a.agent.md"}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(b.files(), " "); got != "SOUL.md USER.md agents agents/b.agent.md alias.md" {
		t.Error(got)
	}
	if b.read("SOUL.md") != "new" {
		t.Error("the link was not followed")
	}
}

func TestPutKeepsModeAndLink(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"run.sh": "#!/bin/sh\n", "ro.txt": "x", "link": "-> run.sh"})
	for name, mode := range map[string]fs.FileMode{"run.sh": 0o755, "ro.txt": 0o444} {
		if err := os.Chmod(filepath.Join(b.dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.apply(user, put("link", "#!/bin/bash\n")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(filepath.Join(b.dir, "run.sh"))
	if err != nil || info.Mode() != 0o755 || b.read("run.sh") != "#!/bin/bash\n" {
		t.Errorf("mode %v, %v, %q", info.Mode(), err, b.read("run.sh"))
	}
	if info, err := os.Lstat(filepath.Join(b.dir, "link")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
	if _, err := b.apply(user, put("ro.txt", "y")); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a read-only file: %v", err)
	}
	if _, err := b.apply(user, put("hard/", "y")); err == nil || !strings.Contains(err.Error(), "names a folder") {
		t.Errorf("a path with a slash at its end: %v", err)
	}
}

func TestChangedFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a.txt": "one", "link": "-> a.txt"})
	c, err := b.ws.ReadFile("link")
	if err != nil {
		t.Fatal(err)
	}
	call := tool.Call{Scope: user, State: tool.State{}.Apply(tool.Effect{Kind: tool.FileSeen, Key: c.Path, Value: c.Digest})}
	done, err := b.ws.Apply(t.Context(), call, put("a.txt", "two"))
	if err != nil || done[0].Created || done[0].Digest != workspace.Digest([]byte("two")) {
		t.Fatalf("%+v, %v", done, err)
	}
	b.put(filepath.Join(b.dir, "a.txt"), "changed by a person")
	for name, try := range map[string]func() ([]workspace.Done, error){
		"write":           func() ([]workspace.Done, error) { return b.ws.Apply(t.Context(), call, put("a.txt", "x")) },
		"write by a link": func() ([]workspace.Done, error) { return b.ws.Apply(t.Context(), call, put("link", "x")) },
		"delete": func() ([]workspace.Done, error) {
			return b.ws.Apply(t.Context(), call, workspace.Change{Op: workspace.Remove, Path: "a.txt"})
		},
		"edit of older content": func() ([]workspace.Done, error) {
			change := put("a.txt", "x")
			change.Expect = c.Digest
			return b.apply(user, change)
		},
	} {
		if _, err := try(); rule(err) != "changed" {
			t.Errorf("%s: %v, want the rule changed", name, err)
		}
	}
	if got := b.read("a.txt"); got != "changed by a person" {
		t.Errorf("the file holds %q", got)
	}
	if _, err := b.apply(user, put("a.txt", "unread")); err != nil {
		t.Errorf("a write by a session that has not read the file: %v", err)
	}
	if _, err := b.apply(user, workspace.Change{Op: workspace.Create, Path: "a.txt"}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create of a file that exists: %v", err)
	}
}

func TestApplyIsAllOrNothing(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.txt": "a", "b.txt": "b", "gone.txt": "g", "blocked/": "", "d/x": "x"}
	bad := map[string]workspace.Change{
		"a missing file":   {Op: workspace.Remove, Path: "nope"},
		"a protected file": put("SOUL.md", "x"),
		"outside":          put("../x", "x"),
		"a folder":         put("d", "x"),
		"a file as folder": put("b.txt/x", "x"),
		"a folder's end":   {Op: workspace.Remove, Path: "blocked"},
		"a long name":      put("new/"+strings.Repeat("é", 127)+"/"+strings.Repeat("x", 250), "x"),
	}
	for name, change := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, files)
			before := strings.Join(b.files(), "\n")
			changes := []workspace.Change{
				put("a.txt", "changed"), put("new/deep/file", "new"),
				{Op: workspace.Remove, Path: "gone.txt"},
				{Op: workspace.Move, Path: "d/x", To: "moved/x"},
				change,
			}
			ctx := t.Context()
			if name == "a long name" { // nothing is wrong with it; the run is stopped
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(ctx)
				cancel()
			}
			if _, err := b.ws.Apply(ctx, tool.Call{Scope: user}, changes...); err == nil {
				t.Fatal("it was applied")
			}
			if after := strings.Join(b.files(), "\n"); after != before {
				t.Errorf("files:\n%s\nwere\n%s", after, before)
			}
			if b.read("a.txt")+b.read("b.txt")+b.read("gone.txt") != "abg" {
				t.Error("a file has changed")
			}
		})
	}
}

// TestUndo takes back changes that were made already, since a later one can't
// be: the folder that it wants to move to is in its own way.
func TestUndo(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a.txt": "a", "gone.txt": "g", "m.txt": "m", "z.txt": "z"})
	_, err := b.apply(user, put("a.txt", "changed"), workspace.Change{Op: workspace.Remove, Path: "gone.txt"},
		workspace.Change{Op: workspace.Move, Path: "m.txt", To: "new/m.txt"}, put("made/x", "x"),
		workspace.Change{Op: workspace.Create, Path: "twice", Data: []byte("1")},
		workspace.Change{Op: workspace.Create, Path: "twice", Data: []byte("2")})
	if err == nil {
		t.Fatal("one name was made twice")
	}
	if got := strings.Join(b.files(), " "); got != "a.txt gone.txt m.txt z.txt" {
		t.Errorf("files: %s", got)
	}
	if b.read("a.txt")+b.read("gone.txt")+b.read("m.txt") != "agm" {
		t.Error("a file has changed")
	}
}

func TestReadersSeeWholeFiles(t *testing.T) {
	t.Parallel()
	one, two := strings.Repeat("1", 100_000), strings.Repeat("2", 70_000)
	b := newBench(t, map[string]string{"f": one})
	var writers sync.WaitGroup
	for _, text := range []string{one, two} {
		writers.Go(func() {
			for range 50 {
				if _, err := b.apply(user, put("f", text)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 200 {
		c, err := b.ws.ReadFile("f")
		if err != nil {
			t.Fatal(err)
		}
		if s := string(c.Data); s != one && s != two {
			t.Fatalf("a reader saw a mixture of %d bytes", len(s))
		}
	}
	writers.Wait()
}
