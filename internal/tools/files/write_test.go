package files_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/lib/visible"
	"github.com/goclaw/goclaw/internal/tool"
	"github.com/goclaw/goclaw/internal/tools/files"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{
		"old.txt": "one\ntwo\nthree\n", "crlf.txt": "one\r\ntwo\r\n", "bom.txt": "\ufeffone\n", "le.txt": utf16File(binary.LittleEndian, "one\n"),
		"bin.dat": "\x00\x01", "mixed.txt": "one\r\ntwo\n", "dir/x": "", "two\nlines.txt": "a",
	})
	for _, c := range []struct {
		args args
		want string
		file string
		text string
	}{
		{args{"path": "new/deep/a.txt", "content": "x\ny"}, "Created new/deep/a.txt: 2 lines, 3 B.", "new/deep/a.txt", "x\ny"},
		{args{"path": "empty.txt", "content": ""}, "Created empty.txt: 0 lines, 0 B.", "empty.txt", ""},
		{args{"path": "old.txt", "content": "one\n2\n3\nthree\n"}, "Overwrote old.txt: 4 lines, 14 B (+2 −1 lines).", "old.txt", "one\n2\n3\nthree\n"},
		{args{"path": "crlf.txt", "content": "one\n2\n"}, "Overwrote crlf.txt: 2 lines, 8 B (+1 −1 lines). The line endings stay CR LF.", "crlf.txt", "one\r\n2\r\n"},
		{args{"path": "crlf.txt", "content": "1\r\n2\r\n"}, "Overwrote crlf.txt: 2 lines, 6 B (+1 −1 lines).", "crlf.txt", "1\r\n2\r\n"},
		{args{"path": "mixed.txt", "content": "one\ntwo\n"}, "Overwrote mixed.txt: 2 lines, 8 B (+0 −0 lines).", "mixed.txt", "one\ntwo\n"},
		{args{"path": "bom.txt", "content": "two\n"}, "Overwrote bom.txt: 1 line, 7 B (+1 −1 lines). The byte order mark at the beginning stays.", "bom.txt", "\ufefftwo\n"},
		{args{"path": "le.txt", "content": "é\n"}, "Overwrote le.txt: 1 line, 6 B (+1 −1 lines). The encoding stays UTF-16LE.", "le.txt", utf16File(binary.LittleEndian, "é\n")},
		{args{"path": "bin.dat", "content": "text"}, "Overwrote bin.dat: 1 line, 4 B (+1 −0 lines).", "bin.dat", "text"},
		{args{"path": "two\nlines.txt", "content": "b"}, `Overwrote "two\nlines.txt": 1 line, 1 B (+1 −1 lines).`, "two\nlines.txt", "b"},
		{args{"path": "att.txt", "content": "x", "attach": true}, "Created att.txt: 1 line, 1 B. It goes to the person with your answer.", "att.txt", "x"},
	} {
		if got := d.ok("file_write", c.args); got != c.want {
			t.Errorf("%v: %q, want %q", c.args, got, c.want)
		}
		d.has(c.file, c.text)
	}
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"path": "dir", "content": "x"}, `"dir" is a folder; list it to see what it holds`},
		{args{"path": "dir/x/y", "content": "x"}, `dir/x/y: "x" is a file, not a folder`},
		{args{"path": "newdir/", "content": "x"}, `"newdir/" ends in a slash, so it names a folder; give the name of a file`},
		{args{"path": "SOUL.md", "content": "x"}, `"SOUL.md" is protected: this run may read it, not change it. An admin may change it; put rules of your own elsewhere.`},
		{args{"path": "../x", "content": "x"}, `"../x" leads out of the workspace. Give a path relative to the workspace; list a folder to see what is there.`},
	} {
		if got := d.fails("file_write", c.args); got != c.want {
			t.Errorf("%v: %q, want %q", c.args, got, c.want)
		}
	}
	r, err := d.run("file_write", args{"path": "att.txt", "content": "y", "attach": true})
	if err != nil || len(r.Effects) != 2 || r.Effects[1].Kind != tool.Attached || r.Effects[1].Key != "att.txt" {
		t.Errorf("effects %+v, %v", r.Effects, err)
	}
}

func TestChangesByOthersAreNoticed(t *testing.T) {
	t.Parallel()
	for name, try := range map[string]struct {
		tool string
		args args
	}{
		"write":  {"file_write", args{"path": "a.txt", "content": "x"}},
		"edit":   {"file_edit", args{"path": "a.txt", "old": "person", "new": "x"}},
		"delete": {"file_delete", args{"path": "a.txt"}},
		"patch":  {"apply_patch", args{"patch": "*** Begin Patch\n*** Update File: a.txt\n-by a person\n+x\n*** End Patch"}},
		"link":   {"file_write", args{"path": "link", "content": "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, map[string]string{"a.txt": "one", "link": "-> a.txt"})
			d.ok("file_read", args{"path": "a.txt"})
			d.put(d.dir+"/a.txt", "by a person")
			if got := d.fails(try.tool, try.args); !strings.Contains(got, `"a.txt" has changed since it was last read. Read it again, then repeat`) {
				t.Error(got)
			}
			d.has("a.txt", "by a person")
			d.ok("file_read", args{"path": "link"})
			d.ok(try.tool, try.args)
		})
	}
	t.Run("own", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t, map[string]string{"a.txt": "one"})
		d.ok("file_write", args{"path": "a.txt", "content": "unread"})
		d.ok("file_edit", args{"path": "a.txt", "old": "unread", "new": "again"})
		d.ok("file_move", args{"from": "a.txt", "to": "b.txt"})
		if _, known := d.state.Digest("a.txt"); known {
			t.Error("the old name is still known")
		}
		d.put(d.dir+"/b.txt", "by a person")
		d.fails("file_write", args{"path": "b.txt", "content": "x"})
		d.put(d.dir+"/b.txt", "again")
		d.ok("file_delete", args{"path": "b.txt"})
		d.ok("file_write", args{"path": "b.txt", "content": "x"})
	})
}

func TestEdit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("filler\n", 40)
	for _, c := range []struct {
		name, text string
		args       args
		want, file string // what is said; the text afterwards, "" when it fails
	}{
		{"one place", "a\nb\nc\n", args{"old": "b\n", "new": "x\ny\n"}, "Edited f.txt at line 2 (+2 −1 lines).", "a\nx\ny\nc\n"},
		{"part of a line", "retries = 3\n", args{"old": "3", "new": "5"}, "Edited f.txt at line 1 (+1 −1 lines).", "retries = 5\n"},
		{"to nothing", "a b c", args{"old": " b", "new": ""}, "Edited f.txt at line 1 (+1 −1 lines).", "a c"},
		{"all", "x\ny\nx\n", args{"old": "x", "new": "z", "all": true}, "Edited f.txt in 2 places, lines 1, 3 (+2 −2 lines).", "z\ny\nz\n"},
		{"CR LF", "a\r\nb\r\nc\r\n", args{"old": "a\nb\n", "new": "x\n"}, "Edited f.txt at line 1 (+1 −2 lines).", "x\r\nc\r\n"},
		{"CR LF, new lines only", "a\r\nb\r\n", args{"old": "b", "new": "b\nc"}, "Edited f.txt at line 2 (+1 −0 lines).", "a\r\nb\r\nc\r\n"},
		{"UTF-16", utf16File(binary.BigEndian, "a\nb\n"), args{"old": "b", "new": "ü"}, "Edited f.txt at line 2 (+1 −1 lines).", utf16File(binary.BigEndian, "a\nü\n")},
		{"byte order mark", "\ufeffa\nb\n", args{"old": "a\n", "new": "x\n"}, "Edited f.txt at line 1 (+1 −1 lines).", "\ufeffx\nb\n"},
		{"visible form", "a \u202eb\u202c c\x1b[0m\n", args{"old": "⟦U+202E⟧b⟦U+202C⟧ c␛[0m", "new": "b ␛"}, "Edited f.txt at line 1 (+1 −1 lines).", "a b \x1b\n"},
		{"visible form that is really there", "⟦U+202E⟧\n", args{"old": "⟦U+202E⟧", "new": "x"}, "Edited f.txt at line 1 (+1 −1 lines).", "x\n"},
		{"another encoding", "caf\xe9\nb\n", args{"old": "b", "new": "c"}, "Edited f.txt at line 2 (+1 −1 lines).", "caf\xe9\nc\n"},
		{"bytes of another encoding", "caf\xe9\n", args{"old": "caf⟦xE9⟧", "new": "th⟦xE9⟧"}, "Edited f.txt at line 1 (+1 −1 lines).", "th\xe9\n"},

		{"empty old", "a", args{"old": "", "new": "x"}, "old is empty: give the exact text to replace, or write the whole file", ""},
		{"no change", "a", args{"old": "a", "new": "a"}, "old and new are the same: nothing to change", ""},
		{"several", "x\ny\nx\n", args{"old": "x", "new": "z"}, "old stands 2 times in f.txt, at lines 1, 3: give more of the text around the one you mean, or all: true", ""},
		{"overlapping", "aaa", args{"old": "aa", "new": "b"}, "old stands 2 times in f.txt, at line 1: give more of the text around the one you mean, or all: true", ""},
		{"overlapping, all", "aaaa\naa", args{"old": "aa", "new": "b", "all": true}, "Edited f.txt in 3 places, lines 1, 2 (+2 −2 lines).", "bb\nb"},
		{"mixed line endings", "first\r\nsecond\nthird\r\n", args{"old": "first\nsecond\n", "new": "x"}, `old is not in f.txt. The nearest place is lines 1 to 2; line 1 ends in \r\n there, not in \n as other lines of the file do: write it so, or edit line by line:
1	first
2	second`, ""},
		{"typographic quotes", "it’s “fine” – ok\u00a0now\n", args{"old": "it's \"fine\" - ok now", "new": "x"}, `old is not in f.txt. The nearest place is line 1; line 1 differs: typographic quotes or dashes: the file has U+2019 at column 3, not U+0027:
1	it’s “fine” – ok` + "\u00a0now", ""},
		{"empty file", "", args{"old": "a", "new": "b"}, "f.txt is empty; write the whole file", ""},
		{"binary", "\x00a", args{"old": "a", "new": "b"}, "f.txt can't be edited as text (binary)", ""},
		{"done already", "a\nnew text\n", args{"old": "old text", "new": "new text"}, "old is not in f.txt, but new is, at line 2: the edit seems to be done already", ""},
		{"line numbers", "a\nb\n", args{"old": "1\ta\n2\tb\n", "new": "x"}, "old is not in f.txt: it begins with line numbers, which are not part of the file; leave them out", ""},
		{"nothing like it", "hello\n", args{"old": "12345", "new": "x"}, "old is not in f.txt. Nothing in the file is like it", ""},
		{
			"indentation", long + "if x {\n\treturn 1\n}\n",
			args{"old": "if x {\n    return 1\n}\n", "new": "x"},
			"old is not in f.txt. The nearest place is lines 41 to 43; line 42 differs: the file indents it by 1 tab, not by 4 blanks:\n41\tif x {\n42\t\treturn 1\n43\t}", "",
		},
		{
			"blanks at the end", "alpha  \nbeta\n",
			args{"old": "alpha\nbeta\n", "new": "x"},
			"old is not in f.txt. The nearest place is lines 1 to 2; line 1 differs: blanks at the end of the line:\n1\talpha  \n2\tbeta", "",
		},
		{
			"quotes", "say “hello” now\n",
			args{"old": "say \"hello\" now", "new": "x"},
			"old is not in f.txt. The nearest place is line 1; line 1 differs: typographic quotes or dashes: the file has U+201C at column 5, not U+0022:\n1\tsay “hello” now", "",
		},
		{
			"invisible", "pass\u200bword = 1\n",
			args{"old": "password = 1", "new": "x"},
			"old is not in f.txt. The nearest place is line 1; line 1 differs: an invisible character: the file has U+200B at column 5, not U+0077:\n1\tpass\u200bword = 1", "",
		},
		{
			"Unicode form", "cafe\u0301 au lait\n",
			args{"old": "caf\u00e9 au lait", "new": "x"},
			"old is not in f.txt. The nearest place is line 1; line 1 differs: letters with accents are stored in another Unicode form; copy them from what reading the file shows:\n1\tcafe\u0301 au lait", "",
		},
		{
			"capitals", "Hello World\n",
			args{"old": "hello world", "new": "x"},
			"old is not in f.txt. The nearest place is line 1; line 1 differs: capital and small letters:\n1\tHello World", "",
		},
		{
			"another text", long + "total = price * quantity\n",
			args{"old": "total = price * amount", "new": "x"},
			"old is not in f.txt. The nearest place is line 41; line 41 differs: the text:\n41\ttotal = price * quantity", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, map[string]string{"f.txt": c.text})
			c.args["path"] = "f.txt"
			want := c.file
			var got string
			if want != "" {
				got = d.ok("file_edit", c.args)
			} else {
				got, want = d.fails("file_edit", c.args), c.text
			}
			if got != c.want {
				t.Errorf("said\n%s\nwant\n%s", got, c.want)
			}
			d.has("f.txt", want)
		})
	}
}

// Each set of workspaces stands for a process. Edits and patches of one file by
// several of them wait for each other: all succeed and none is lost.
func TestChangesOfSeveralProcesses(t *testing.T) {
	t.Parallel()
	const processes, each = 6, 12
	var text strings.Builder
	for i := range processes * each {
		fmt.Fprintf(&text, "line %03d = old\n", i)
	}
	first := newDesk(t, map[string]string{"f.txt": text.String()})
	var all sync.WaitGroup
	for p := range processes {
		d := *first
		set := workspace.NewSet()
		t.Cleanup(func() {
			if err := set.Close(); err != nil {
				t.Error(err)
			}
		})
		d.tools = map[string]tool.Tool{}
		for _, tl := range files.Tools(set) {
			d.tools[tl.Definition().Name] = tl
		}
		all.Go(func() {
			for i := p; i < processes*each; i += processes {
				name, a := "file_edit", args{"path": "f.txt", "old": fmt.Sprintf("line %03d = old", i), "new": fmt.Sprintf("line %03d = new", i)}
				if i%2 == 0 {
					name, a = "apply_patch", args{"patch": begin("*** Update File: f.txt", fmt.Sprintf("-line %03d = old", i), fmt.Sprintf("+line %03d = new", i))}
				}
				d.state = tool.State{} // each call by hand begins anew
				if _, err := d.run(name, a); err != nil {
					t.Errorf("%s of line %d: %v", name, i, err)
				}
			}
		})
	}
	all.Wait()
	first.has("f.txt", strings.ReplaceAll(text.String(), "old", "new"))
}

func TestMoveAndDelete(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"a.txt": "a", "b.txt": "b", "dir/c.txt": "c", "empty/": "", "link": "-> a.txt"})
	for _, c := range []struct {
		tool string
		args args
		want string
	}{
		{"file_move", args{"from": "a.txt", "to": "new/a2.txt"}, "Moved a.txt to new/a2.txt."},
		{"file_move", args{"from": "new/a2.txt", "to": "dir"}, "Moved new/a2.txt to dir/a2.txt."},
		{"file_move", args{"from": "dir", "to": "folder"}, "Moved dir to folder."},
		{"file_delete", args{"path": "folder/c.txt"}, "Deleted folder/c.txt."},
		{"file_delete", args{"path": "empty/"}, "Deleted empty."},
		{"file_delete", args{"path": "link"}, "Deleted link."},
	} {
		if got := d.ok(c.tool, c.args); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.tool, c.args, got, c.want)
		}
	}
	for _, c := range []struct {
		tool string
		args args
		want string
	}{
		{"file_move", args{"from": "b.txt", "to": "folder/a2.txt"}, `"folder/a2.txt" exists already; choose another name, or delete it first`},
		{"file_move", args{"from": "nope", "to": "x"}, `"nope" does not exist; list a folder to see what is there`},
		{"file_delete", args{"path": "folder"}, `the folder "folder" is not empty: it holds 1 entries; delete those first`},
		{"file_delete", args{"path": "."}, "The workspace itself can't be moved or deleted. Name a file or folder in it."},
		{"file_delete", args{"path": "b"}, `"b" does not exist; did you mean "b.txt"?`},
	} {
		if got := d.fails(c.tool, c.args); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.tool, c.args, got, c.want)
		}
	}
}

func TestWriteThenReadGivesTheBytes(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("ab \t\r\nü😀\ufeff\u202e\x1b"))), rapid.StringMatching(`([a-c]*\r?\n){0,9}`))
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-zé ]{1,8}(/[a-z.]{1,5}x){0,2}`).Draw(t, "name")
		content := text.Draw(t, "content")
		path := filepath.Join(d.dir, name)
		if strings.TrimSpace(name) == "" || strings.Contains(name, " /") || strings.HasPrefix(name, " ") {
			return
		}
		if _, err := d.run("file_delete", args{"path": name}); err != nil && os.IsExist(err) {
			t.Fatal(err)
		}
		if _, err := d.run("file_write", args{"path": name, "content": content}); err != nil {
			// A folder or file of an earlier name may stand in the way.
			var folder *workspace.IsFolder
			if errors.As(err, &folder) || strings.Contains(err.Error(), "is a file") {
				return
			}
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Fatalf("the file holds %q, %v; want %q", got, err, content)
		}
		r, err := d.run("file_read", args{"path": name})
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsRune(content, 0) || len(r.Content) != 1 || r.Content[0].Origin != "file" {
			return // no text
		}
		if r.Content[0].Text != content {
			t.Fatalf("read %q, want %q", r.Content[0].Text, content)
		}
	})
}

// TestEditProperties cuts an edit out of a text and its visible form, as a
// model would.
func TestEditProperties(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	alphabet := rapid.SampledFrom([]rune("abc \t\nü\u202e\x1b"))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(alphabet, 1, 60, -1).Draw(t, "text")
		runes := []rune(text)
		i := rapid.IntRange(0, len(runes)-1).Draw(t, "i")
		j := rapid.IntRange(i+1, len(runes)).Draw(t, "j")
		old, new := string(runes[i:j]), rapid.StringOfN(alphabet, 0, 9, -1).Draw(t, "new")
		if old == new {
			return
		}
		d.put(d.dir+"/f.txt", text)
		d.state = tool.State{}
		_, err := d.run("file_edit", args{"path": "f.txt", "old": visible.Text(old), "new": visible.Text(new), "all": true})
		if err != nil {
			t.Fatalf("%q in %q: %v", old, text, err)
		}
		if got, want := d.read(d.dir+"/f.txt"), strings.ReplaceAll(text, old, new); got != want {
			// The forms agree only when old or new had nothing hidden, or both were read back.
			if visible.Text(old) != old || visible.Text(new) == new {
				t.Fatalf("%q to %q in %q gave %q, want %q", old, new, text, got, want)
			}
		}
	})
}
