package files_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
	"github.com/goclaw/goclaw/internal/tools/files"
)

// A desk is a workspace with the tools of the family, and a folder beside it
// that holds a secret.
type desk struct {
	t       testing.TB
	dir     string
	outside string
	tools   map[string]tool.Tool
	caller  string
	state   tool.State
}

func newDesk(t testing.TB, contents map[string]string) *desk {
	t.Helper()
	top := t.TempDir()
	set := workspace.NewSet()
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	d := &desk{t: t, dir: filepath.Join(top, "ws"), outside: filepath.Join(top, "outside"), tools: map[string]tool.Tool{}}
	for _, tl := range files.Tools(set) {
		d.tools[tl.Definition().Name] = tl
	}
	d.put(d.dir+"/", "")
	d.put(d.outside+"/secret.txt", "SECRET")
	d.put(d.outside+"/victim.txt", "original")
	for _, last := range []bool{false, true} { // a hard link needs its file
		for name, text := range contents {
			path := d.dir + "/" + name
			if strings.HasPrefix(name, "{WS}") {
				path = d.expand(name)
			}
			if strings.HasPrefix(text, "=> ") == last {
				d.put(path, text)
			}
		}
	}
	return d
}

func (d *desk) expand(s string) string {
	return strings.NewReplacer("{OUT}", d.outside, "{WS}", d.dir).Replace(s)
}

// put makes a file, "-> x" a link, "=> x" a hard link, "FIFO" a pipe, and a
// folder of a path that ends in a slash.
func (d *desk) put(path, text string) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
	soft, isLink := strings.CutPrefix(text, "-> ")
	hard, isHard := strings.CutPrefix(text, "=> ")
	var err error
	switch {
	case isLink:
		err = os.Symlink(d.expand(soft), path)
	case isHard:
		err = os.Link(d.expand(hard), path)
	case text == "FIFO":
		err = mkfifo(path)
	case strings.HasSuffix(path, "/"):
		err = os.MkdirAll(path, 0o755)
	default:
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// scope is the scope of the desk's caller.
func (d *desk) scope() tool.Scope {
	f := tool.Facts{Agent: "main", Session: "s", Origin: tool.FromChat, Workspace: d.dir, Caller: auth.Principal{ID: "p", Role: auth.User}}
	switch d.caller {
	case "admin":
		f.Caller.Role = auth.Admin
	case "cron":
		f.Caller, f.Origin = auth.Principal{ID: "cron", Role: auth.System}, tool.FromCron
	case "sop":
		f.Caller, f.Origin = auth.Principal{ID: "sop", Role: auth.System}, tool.FromSOP
	case "webhook":
		f.Caller, f.Origin = auth.Principal{ID: "hook", Role: auth.System}, tool.FromWebhook
	case "subagent":
		f.Caller, f.Origin = auth.Principal{ID: "sub", Role: auth.System}, tool.FromSubagent
	case "cron_for_user":
		f.Origin = tool.FromCron
	case "", "user":
	default:
		d.t.Fatalf("no such caller: %s", d.caller)
	}
	return tool.NewScope(f)
}

func (d *desk) call(args any) tool.Call {
	d.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		d.t.Fatal(err)
	}
	return tool.Call{ID: "1", Args: raw, Scope: d.scope(), State: d.state}
}

type args map[string]any

// run calls a tool as the engine would: with arguments that its schema takes,
// and with its effects applied afterwards.
func (d *desk) run(name string, a args) (tool.Result, error) {
	d.t.Helper()
	tl := d.tools[name]
	call := d.call(a)
	schema, err := jsonschema.Compile(tl.Definition().Parameters)
	if err != nil {
		d.t.Fatal(err)
	}
	value, err := jsonschema.Decode(call.Args)
	if err != nil {
		d.t.Fatal(err)
	}
	if faults := schema.Validate(value); len(faults) > 0 {
		d.t.Fatalf("%s: %v", name, faults)
	}
	if touches := tl.(tool.Toucher).Touches(call); name != "apply_patch" && len(touches) == 0 {
		d.t.Errorf("%s touches nothing", name)
	}
	r, err := tl.Execute(d.t.Context(), call)
	if err == nil {
		d.state = d.state.Apply(r.Effects...)
		if _, jsonErr := json.Marshal(r.Details); jsonErr != nil {
			d.t.Error(jsonErr)
		}
	}
	return r, err
}

// ok runs a call that must succeed and gives the text of its result.
func (d *desk) ok(name string, a args) string {
	d.t.Helper()
	r, err := d.run(name, a)
	if err != nil {
		d.t.Fatalf("%s %v: %v", name, a, err)
	}
	return llm.JoinText(r.Content)
}

// fails runs a call that must fail and gives the error's text.
func (d *desk) fails(name string, a args) string {
	d.t.Helper()
	r, err := d.run(name, a)
	if err == nil {
		d.t.Fatalf("%s %v succeeded: %s", name, a, llm.JoinText(r.Content))
	}
	return err.Error()
}

func (d *desk) read(path string) string {
	d.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(data)
}

func (d *desk) has(name, want string) {
	d.t.Helper()
	if got := d.read(filepath.Join(d.dir, name)); got != want {
		d.t.Errorf("%s holds %q, want %q", name, got, want)
	}
}

type pathCase struct {
	Name, Op, Path, Caller, Want, Absent, Unchanged string
	Files                                           map[string]string
}

// TestPaths runs the table of paths against the tools and judges by what
// happened, not by what was said.
func TestPaths(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/paths.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []pathCase
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			runPathCase(t, c)
		})
	}
}

func runPathCase(t *testing.T, c pathCase) {
	d := newDesk(t, c.Files)
	d.caller = c.Caller
	// A workspace has its bootstrap files.
	for _, name := range workspace.Bootstrap {
		if _, err := os.Lstat(filepath.Join(d.dir, name)); errors.Is(err, fs.ErrNotExist) {
			d.put(d.dir+"/"+name, "hello")
		}
	}
	path := d.expand(c.Path)
	before := ""
	if c.Unchanged != "" {
		before = d.read(d.expand(c.Unchanged))
	}
	name, a := toolFor(c.Op, path)
	r, err := d.run(name, a)
	shown := llm.JoinText(r.Content)
	if err != nil {
		shown += err.Error()
	}
	var refusal *tool.Refusal
	switch c.Want {
	case "ok":
		if err != nil {
			t.Errorf("refused: %v", err)
		}
	case "refused":
		if !errors.As(err, &refusal) || refusal.Guard != "workspace" || refusal.Rule == "" || refusal.Allowed == "" {
			t.Errorf("not refused: %v, %v", err, shown)
		}
	case "missing":
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("not missing: %v, %v", err, shown)
		}
	default:
		t.Fatalf("want %q", c.Want)
	}
	if strings.Contains(shown, "SECRET") {
		t.Errorf("the secret is shown: %s", shown)
	}
	if c.Unchanged != "" {
		if after := d.read(d.expand(c.Unchanged)); after != before {
			t.Errorf("%s holds %q", c.Unchanged, after)
		}
	}
	for _, absent := range []string{d.expand(c.Absent), filepath.Join(d.dir, "CANARY"), "CANARY", d.outside + "/made.txt", filepath.Dir(d.dir) + "/made.txt"} {
		if _, err := os.Lstat(absent); absent != "" && err == nil {
			t.Errorf("%s exists", absent)
		}
	}
	if entries, err := os.ReadDir(d.outside); err != nil || len(entries) != 2 {
		t.Errorf("outside: %v, %v", entries, err)
	}
	if victim := d.read(d.outside + "/victim.txt"); victim != "original" {
		t.Errorf("the file outside holds %q", victim)
	}
}

// toolFor gives the call for an operation on a path.
func toolFor(op, path string) (string, args) {
	switch op {
	case "read":
		return "file_read", args{"path": path}
	case "write":
		return "file_write", args{"path": path, "content": "changed"}
	case "edit":
		return "file_edit", args{"path": path, "old": "hello", "new": "changed"}
	case "delete":
		return "file_delete", args{"path": path}
	case "move":
		return "file_move", args{"from": path, "to": "moved.txt"}
	case "patch":
		return "apply_patch", args{"patch": "*** Begin Patch\n*** Update File: " + path + "\n-hello\n+changed\n*** End Patch"}
	case "list":
		return "file_list", args{"path": path, "depth": 5}
	case "search":
		return "file_search", args{"query": "secret", "path": path}
	}
	panic("no such operation: " + op)
}

// TestDefinitions holds what the model is shown within its bounds.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	total, registry := 0, tool.NewRegistry()
	family := files.Family(workspace.NewSet())
	tools, err := family.Build(func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if notes := registry.Add(tool.Owner{Kind: tool.FamilyOwner, ID: family.Name}, tools...); len(notes) > 0 {
		t.Fatal(notes)
	}
	for _, e := range registry.Catalog().Entries {
		n := len(e.Def.Description)
		if n > 450 || n < 200 || strings.HasSuffix(e.Def.Description, "\n") || !strings.Contains(e.Def.Description, "Example: {") {
			t.Errorf("%s: a description of %d bytes: %q", e.Def.Name, n, e.Def.Description)
		}
		if e.Def.Category != "fs" || len(e.Def.Tags) == 0 {
			t.Errorf("%s: traits %+v", e.Def.Name, e.Def.Traits)
		}
		_, example, _ := strings.Cut(e.Def.Description, "Example: ")
		value, err := jsonschema.Decode([]byte(example))
		if faults := e.Schema.Validate(value); err != nil || len(faults) > 0 {
			t.Errorf("%s: the example does not fit: %v, %v", e.Def.Name, err, faults)
		}
		total += n + len(e.Spec.Parameters)
	}
	if total > 5_000 {
		t.Errorf("the family takes %d bytes of each request", total)
	}
	t.Logf("%d bytes", total)
}

func TestTouches(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"a.txt": "x", "dir/b.txt": "x", "link": "-> dir"})
	patch := "*** Begin Patch\n*** Update File: a.txt\n*** Move to: dir/c.txt\n-x\n+y\n*** Delete File: link/b.txt\n*** End Patch"
	for _, c := range []struct {
		tool string
		args args
		want string
	}{
		{"file_read", args{"path": "./dir/../a.txt"}, "file:a.txt"},
		{"file_read", args{"path": d.dir + "/a.txt"}, "file:a.txt"},
		{"file_read", args{"path": "link/b.txt"}, "file:link/b.txt file:dir/b.txt"},
		{"file_read", args{"path": "../x"}, "file:"},
		{"file_write", args{"path": "new/x.txt", "content": ""}, "file:new/x.txt!"},
		{"file_edit", args{"path": "a.txt", "old": "x", "new": "y"}, "file:a.txt!"},
		{"file_list", args{}, "file:"},
		{"file_list", args{"path": "link"}, "file:link file:dir"},
		{"file_search", args{"query": "x", "path": "dir/"}, "file:dir"},
		{"file_move", args{"from": "a.txt", "to": "dir"}, "file:a.txt! file:dir!"},
		{"file_delete", args{"path": "a.txt"}, "file:a.txt!"},
		{"apply_patch", args{"patch": patch}, "file:a.txt! file:dir/c.txt! file:link/b.txt! file:dir/b.txt!"},
		{"apply_patch", args{"patch": "nonsense"}, ""},
	} {
		var got []string
		for _, touch := range d.tools[c.tool].(tool.Toucher).Touches(d.call(c.args)) {
			name := touch.Name
			if touch.Write {
				name += "!"
			}
			got = append(got, name)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s %v touches %q, want %q", c.tool, c.args, s, c.want)
		}
	}
}
