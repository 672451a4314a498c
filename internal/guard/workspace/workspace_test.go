package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/tool"
)

// A bench is a workspace with a folder beside it that holds a secret.
type bench struct {
	t       testing.TB
	ws      *workspace.Workspace
	dir     string
	outside string
}

func newBench(t testing.TB, files map[string]string) *bench {
	t.Helper()
	top := t.TempDir()
	b := &bench{t: t, dir: filepath.Join(top, "ws"), outside: filepath.Join(top, "outside")}
	for _, d := range []string{b.dir, b.outside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.put(filepath.Join(b.outside, "secret.txt"), "SECRET")
	b.put(filepath.Join(b.outside, "victim.txt"), "original")
	for _, last := range []bool{false, true} { // a hard link needs its file
		for name, text := range files {
			if strings.HasPrefix(text, "=> ") == last {
				b.put(b.dir+"/"+name, text)
			}
		}
	}
	ws, err := workspace.Open(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
	b.ws = ws
	return b
}

func (b *bench) put(path, text string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	var err error
	target, isLink := strings.CutPrefix(text, "-> ")
	hard, isHard := strings.CutPrefix(text, "=> ")
	place := strings.NewReplacer("{OUT}", b.outside, "{WS}", b.dir)
	switch {
	case isLink:
		err = os.Symlink(place.Replace(target), path)
	case isHard:
		err = os.Link(place.Replace(hard), path)
	case strings.HasSuffix(path, "/"):
		err = os.MkdirAll(path, 0o755)
	default:
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) read(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// files lists all names in the workspace, hidden ones too.
func (b *bench) files() []string {
	var names []string
	err := filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if rel, _ := filepath.Rel(b.dir, path); rel != "." {
			names = append(names, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return names
}

func scope(role auth.Role, origin tool.Origin) tool.Scope {
	return tool.NewScope(tool.Facts{Agent: "main", Session: "s1", Origin: origin, Caller: auth.Principal{ID: "p", Role: role}})
}

var (
	user  = scope(auth.User, tool.FromChat)
	admin = scope(auth.Admin, tool.FromChat)
)

func rule(err error) string {
	var r *tool.Refusal
	if errors.As(err, &r) {
		return r.Rule
	}
	return ""
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{
		"plain.txt": "hello", "dir/x.txt": "hello",
		"out.txt": "-> {OUT}/secret.txt", "outdir": "-> {OUT}", "root": "-> /",
		"updir": "-> ../outside", "dir/up2": "-> ../../outside/secret.txt",
		"chain1": "-> chain2", "chain2": "-> dir/chain3", "dir/chain3": "-> {OUT}/secret.txt",
		"loop1": "-> loop2", "loop2": "-> loop1", "self": "-> self",
		"proc": "-> /proc/self/root/etc/passwd", "dev": "-> /dev/zero",
		"back": "-> ../ws/plain.txt", "wsup": "-> {WS}/../outside/secret.txt",
		"hop": "-> outdir/../outside/secret.txt",
	})
	if err := mkfifo(filepath.Join(b.dir, "pipe")); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(b.dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, want := range map[string]string{
		"":                               "empty",
		"..":                             "escape",
		"../outside/secret.txt":          "escape",
		"dir/../../outside/secret.txt":   "escape",
		"/etc/passwd":                    "outside",
		"/":                              "outside",
		"/proc/self/environ":             "outside",
		"/dev/zero":                      "outside",
		b.outside + "/secret.txt":        "outside",
		b.dir + "-evil/secret.txt":       "outside",
		b.dir + "/../outside/secret.txt": "outside",
		"plain.txt\x00.md":               "nul",
		strings.Repeat("a", 256):         "too_long",
		strings.Repeat("a/", 2100) + "x": "too_long",
		"out.txt":                        "link_outside",
		"outdir":                         "link_outside",
		"outdir/secret.txt":              "link_outside",
		"root/etc/passwd":                "link_outside",
		"updir/secret.txt":               "link_outside",
		"dir/up2":                        "link_outside",
		"chain1":                         "link_outside",
		"proc":                           "link_outside",
		"dev":                            "link_outside",
		"back":                           "link_outside",
		"wsup":                           "link_outside",
		"hop":                            "link_outside",
		"loop1":                          "link_loop",
		"self":                           "link_loop",
		"self/x":                         "link_loop",
		"pipe":                           "special",
		"socket":                         "special",
	} {
		f, err := b.ws.Open(path)
		if err == nil {
			f.Close()
		}
		if got := rule(err); got != want {
			t.Errorf("Open(%.60q): rule %q (%v), want %q", path, got, err, want)
		}
	}
}

func TestOpenAllows(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{
		"plain.txt": "hello", "dir/sub/x.txt": "hello", "a..b.txt": "hello", "..x": "hello", "%2e%2e/x": "hello",
		"in": "-> dir", "dir/up": "-> ../plain.txt", "abs": "-> {WS}/dir/sub", "absfile": "-> {WS}/plain.txt",
		"here": "-> .", "slash": "-> dir//sub/", "dir/top": "-> ..", "two": "-> in/sub", "..\\x": "hello",
		"hard.txt": "=> {OUT}/../ws/plain.txt", "cafe\u0301.txt": "hello", "~": "hello",
		"bad\xff.txt": "hello", "x\u202egpj.exe": "hello", "⟦U+202E⟧": "hello",
	})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(b.dir, link); err != nil {
		t.Fatal(err)
	}
	through, err := workspace.Open(link)
	if err != nil {
		t.Fatal(err)
	}
	defer through.Close()
	for path, want := range map[string]string{
		"plain.txt":                         "plain.txt",
		"./plain.txt":                       "plain.txt",
		"dir/../plain.txt":                  "plain.txt",
		"dir//sub///x.txt":                  "dir/sub/x.txt",
		"missing/../plain.txt":              "plain.txt",
		"a..b.txt":                          "a..b.txt",
		"..x":                               "..x",
		"%2e%2e/x":                          "%2e%2e/x",
		"..\\x":                             "..\\x",
		"~":                                 "~",
		"in/sub/x.txt":                      "dir/sub/x.txt",
		"dir/up":                            "plain.txt",
		"abs/x.txt":                         "dir/sub/x.txt",
		"absfile":                           "plain.txt",
		"here/here/plain.txt":               "plain.txt",
		"slash/x.txt":                       "dir/sub/x.txt",
		"dir/top/plain.txt":                 "plain.txt",
		"two/x.txt":                         "dir/sub/x.txt",
		"two/../plain.txt":                  "plain.txt",
		"hard.txt":                          "hard.txt",
		"caf\u00e9.txt":                     "cafe\u0301.txt",
		"bad⟦xFF⟧.txt":                      "bad\xff.txt",
		"x⟦U+202E⟧gpj.exe":                  "x\u202egpj.exe",
		"⟦U+202E⟧":                          "⟦U+202E⟧",
		"⟦U+27E6⟧U+202E⟧":                   "⟦U+202E⟧",
		b.dir + "/plain.txt":                "plain.txt",
		b.dir + "//dir/./sub/x.txt":         "dir/sub/x.txt",
		b.dir + "/../ws/plain.txt":          "plain.txt",
		filepath.Dir(b.dir) + "//ws/in/../": "", // the workspace itself
	} {
		f, err := b.ws.Open(path)
		if want == "" {
			var folder *workspace.IsFolder
			if !errors.As(err, &folder) {
				t.Errorf("Open(%q): %v, want a folder", path, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("Open(%q): %v", path, err)
			continue
		}
		if data, err := io.ReadAll(f); err != nil || string(data) != "hello" || f.Path != want {
			t.Errorf("Open(%q) = %q at %q (%v), want %q", path, data, f.Path, err, want)
		}
		f.Close()
	}
	for _, path := range []string{link + "/plain.txt", b.dir + "/plain.txt", "plain.txt"} {
		f, err := through.Open(path)
		if err != nil {
			t.Errorf("Open(%q) through a link to the workspace: %v", path, err)
			continue
		}
		f.Close()
	}
}

func TestNotFoundNamesWhatIsNear(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"notes.txt": "", "docs/guide.md": "", "docs/guild.md": "", "README.md": ""})
	for path, want := range map[string]string{
		"note.txt":                  `"note.txt" does not exist; did you mean "notes.txt"?`,
		"Notes.TXT":                 `"Notes.TXT" does not exist; did you mean "notes.txt"?`,
		"docs/guid.md":              `"docs/guid.md" does not exist; did you mean "docs/guide.md" or "docs/guild.md"?`,
		"doc/guide.md":              `"doc/guide.md" does not exist: there is no folder "doc"; did you mean "docs"?`,
		"readme.txt":                `"readme.txt" does not exist; did you mean "README.md"?`,
		"zzz":                       `"zzz" does not exist; list a folder to see what is there`,
		"~/.ssh/id_rsa":             `"~/.ssh/id_rsa" does not exist: there is no folder "~"; paths are relative to the workspace, where ~ and URLs mean nothing`,
		"file:///etc/passwd":        `"file:/etc/passwd" does not exist: there is no folder "file:"; paths are relative to the workspace, where ~ and URLs mean nothing`,
		"%2e%2e/outside/secret.txt": `"%2e%2e/outside/secret.txt" does not exist: there is no folder "%2e%2e"; list a folder to see what is there`,
	} {
		_, err := b.ws.Open(path)
		if !errors.Is(err, fs.ErrNotExist) || err.Error() != want {
			t.Errorf("Open(%q):\n got %v\nwant %s", path, err, want)
		}
	}
}

func TestPrivileged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		role   auth.Role
		origin tool.Origin
		want   bool
	}{
		{auth.Admin, tool.FromChat, true},
		{auth.Admin, tool.FromCron, true},
		{auth.User, tool.FromChat, false},
		{auth.User, tool.FromCron, false},
		{auth.User, tool.FromSOP, false},
		{auth.System, tool.FromCron, true},
		{auth.System, tool.FromSOP, true},
		{auth.System, tool.FromWebhook, false},
		{auth.System, tool.FromSubagent, false},
		{"", tool.FromCron, false},
	} {
		if got := workspace.Privileged(scope(c.role, c.origin)); got != c.want {
			t.Errorf("Privileged(%s, %s) = %v, want %v", c.role, c.origin, got, c.want)
		}
	}
}

// TestRace swaps a folder for a link to the outside as fast as it can, while
// files are written and read through that name.
func TestRace(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"real/keep.txt": "inside", "swap": "-> real"})
	b.put(filepath.Join(b.outside, "keep.txt"), "SECRET")
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		name, dir := filepath.Join(b.dir, "swap"), filepath.Join(b.dir, "real")
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			os.Remove(name)
			if i%2 == 0 {
				os.Rename(dir, name)
				os.Rename(name, dir)
			}
			os.Symlink(b.outside, name)
		}
	})
	wrote := 0
	for i := range 2_000 {
		if _, err := b.ws.Apply(t.Context(), tool.Call{Scope: user}, workspace.Change{Path: "swap/made.txt", Data: []byte("x")}); err == nil {
			wrote++
		}
		if i%4 == 0 {
			if c, err := b.ws.ReadFile("swap/keep.txt"); err == nil && string(c.Data) != "inside" {
				t.Fatalf("read %q through the swapped folder", c.Data)
			}
		}
	}
	close(stop)
	swapper.Wait()
	entries, err := os.ReadDir(b.outside)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 3 {
		t.Errorf("outside holds %v", entries)
	}
	for _, name := range b.files() {
		if strings.Contains(name, ".goclaw-tmp-") {
			t.Errorf("%s is left", name)
		}
	}
	t.Logf("%d of 2000 writes went into the folder", wrote)
}

// TestPipeInPlaceOfFolder makes sure that a pipe that takes the place of a
// folder or file never blocks.
func TestPipeInPlaceOfFolder(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"d/x.txt": "hello"})
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		name, aside := filepath.Join(b.dir, "d"), filepath.Join(b.dir, "aside")
		for {
			select {
			case <-stop:
				return
			default:
			}
			os.Rename(name, aside)
			mkfifo(name)
			os.Remove(name)
			os.Rename(aside, name)
		}
	})
	for range 2_000 {
		if f, err := b.ws.Open("d/x.txt"); err == nil {
			f.Close()
		}
	}
	close(stop)
	swapper.Wait()
}

func TestWalk(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{
		"b/two.txt": "2", "b/a/one.txt": "1", "a.txt": "0", "link": "-> {OUT}", "b/skip/x": "",
		".goclaw-tmp-abc": "unfinished",
	})
	var got []string
	cut, err := b.ws.Walk(t.Context(), ".", func(e *workspace.Entry) (bool, error) {
		mark := ""
		switch {
		case e.IsDir():
			mark = "/"
		case e.Type&fs.ModeSymlink != 0:
			target, err := e.Link()
			if err != nil {
				return false, err
			}
			if _, err := e.Open(); err == nil {
				t.Errorf("a walk opened the link %s", e.Path)
			}
			mark = " -> " + filepath.Base(target)
		default:
			f, err := e.Open()
			if err != nil {
				return false, err
			}
			data, err := f.Whole()
			f.Close()
			if err != nil {
				return false, err
			}
			mark = "=" + string(data)
		}
		got = append(got, fmt.Sprintf("%d %s%s", e.Depth, e.Path, mark))
		return e.Name() != "skip", nil
	})
	want := "1 a.txt=0,1 b/,2 b/a/,3 b/a/one.txt=1,2 b/skip/,2 b/two.txt=2,1 link -> outside"
	if s := strings.Join(got, ","); err != nil || cut || s != want {
		t.Errorf("walk saw\n%s (cut %v, %v), want\n%s", s, cut, err, want)
	}
	for path, want := range map[string]string{"link": "link_outside", "..": "escape", "/": "outside"} {
		if _, err := b.ws.Walk(t.Context(), path, nil); rule(err) != want {
			t.Errorf("Walk(%q): %v, want rule %s", path, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.ws.Walk(ctx, ".", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a walk under an ended context: %v", err)
	}
}

func TestSetReopensAReplacedDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ws")
	set := workspace.NewSet()
	defer set.Close()
	if _, err := set.Open(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a missing directory: %v", err)
	}
	mk := func() *workspace.Workspace {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		w, err := set.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	first := mk()
	if mk() != first {
		t.Error("a second workspace for the same directory")
	}
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	second := mk()
	if _, err := second.Apply(t.Context(), tool.Call{Scope: user}, workspace.Change{Path: "x", Data: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); err != nil {
		t.Error(err)
	}
}

func TestSweepRemovesWhatACrashLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{
		".goclaw-tmp-old": "x", "a/b/.goclaw-tmp-old": "x", "a/.goclaw-tmp-new": "x", "a/real.txt": "x",
	})
	long := time.Now().Add(-time.Hour)
	for _, name := range []string{".goclaw-tmp-old", "a/b/.goclaw-tmp-old", "a/real.txt"} {
		if err := os.Chtimes(filepath.Join(b.dir, name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.ws.Apply(t.Context(), tool.Call{Scope: user}, workspace.Change{Path: "first.txt"}); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(b.files(), " "), "a a/.goclaw-tmp-new a/b a/real.txt first.txt"; got != want {
		t.Errorf("left: %s, want %s", got, want)
	}
}

func FuzzOpenNeverLeaves(f *testing.F) {
	for _, s := range []string{"../outside/secret.txt", "a/../../x", "/etc/passwd", "out/secret.txt", "in/x", "%2e%2e/", "a\x00b", "./.././ws", "here/here/../..", "..\\secret.txt"} {
		f.Add(s)
	}
	b := newBench(f, map[string]string{"a/x": "hello", "in": "-> a", "out": "-> {OUT}", "here": "-> .", "a/up": "-> ../..", "wsabs": "-> {WS}/a"})
	f.Fuzz(func(t *testing.T, path string) {
		c, err := b.ws.ReadFile(path)
		if err == nil && string(c.Data) != "hello" {
			t.Errorf("ReadFile(%q) = %q", path, c.Data)
		}
		clean, err := b.ws.Clean(path)
		if err != nil {
			return
		}
		if again, err := b.ws.Clean(clean); err != nil || again != clean {
			t.Errorf("Clean(%q) = %q, %v; it was clean", clean, again, err)
		}
		if filepath.IsAbs(clean) || !filepath.IsLocal(clean) {
			t.Errorf("Clean(%q) = %q, which is not local", path, clean)
		}
	})
}
