package files_test

import (
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/tool"
)

const program = `package main

import "fmt"

func a() {
	fmt.Println("a")
	return
}

func b() {
	fmt.Println("b")
	return
}
`

func begin(lines ...string) string {
	return "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch\n"
}

// TestPatch applies patches that fit.
func TestPatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, patch, want string
		files             map[string]string // afterwards; "" means it is gone
	}{
		{
			"update", begin("*** Update File: p.go", "@@ func a() {", "-\tfmt.Println(\"a\")", "+\tfmt.Println(\"A\")"),
			"changed p.go (+1 −1 lines)\n",
			map[string]string{"p.go": strings.Replace(program, `"a"`, `"A"`, 1)},
		},
		{
			"header tells two apart", begin("*** Update File: p.go", "@@ func b() {", " \tfmt.Println(\"b\")", "-\treturn"),
			"changed p.go (+0 −1 lines)\n",
			map[string]string{"p.go": program[:strings.LastIndex(program, "\treturn\n")] + "}\n"},
		},
		{
			"header with @@ at both ends", begin("*** Update File: p.go", "@@ func b() { @@", "-\treturn"),
			"changed p.go (+0 −1 lines)\n",
			map[string]string{"p.go": program[:strings.LastIndex(program, "\treturn\n")] + "}\n"},
		},
		{
			"two hunks in order", begin("*** Update File: p.go", "@@", "-func a() {", "+func A() {", "@@", "-func b() {", "+func B() {"),
			"changed p.go (+2 −2 lines)\n",
			map[string]string{"p.go": strings.NewReplacer("a() {", "A() {", "b() {", "B() {").Replace(program)},
		},
		{
			"two hunks against the order", begin("*** Update File: p.go", "@@", "-func b() {", "+func B() {", "@@", "-func a() {", "+func A() {"),
			"changed p.go (+2 −2 lines)\n",
			map[string]string{"p.go": strings.NewReplacer("a() {", "A() {", "b() {", "B() {").Replace(program)},
		},
		{
			"insertion behind a header", begin("*** Update File: p.go", "@@ func b() {", "+\t// b"),
			"changed p.go (+1 −0 lines)\n",
			map[string]string{"p.go": strings.Replace(program, "func b() {\n", "func b() {\n\t// b\n", 1)},
		},
		{
			"insertion at the end", begin("*** Update File: p.go", "+// end"),
			"changed p.go (+1 −0 lines)\n",
			map[string]string{"p.go": program + "// end\n"},
		},
		{
			"end of file", begin("*** Update File: p.go", "-\treturn", " }", "+// end", "*** End of File"),
			"changed p.go (+2 −2 lines)\n",
			map[string]string{"p.go": program[:strings.LastIndex(program, "\treturn\n")] + "}\n// end\n"},
		},
		{
			"add, delete, rename", begin("*** Add File: new/n.txt", "+one", "+", "+two", "*** Delete File: d.txt", "*** Update File: m.txt", "*** Move to: moved/m.txt", "@@", "-m", "+M"),
			"added new/n.txt (+3 −0 lines)\ndeleted d.txt (+0 −1 lines)\nchanged m.txt → moved/m.txt (+1 −1 lines)\n",
			map[string]string{"new/n.txt": "one\n\ntwo\n", "d.txt": "", "m.txt": "", "moved/m.txt": "M\n"},
		},
		{"rename only", begin("*** Update File: m.txt", "*** Move to: n.txt"), "changed m.txt → n.txt (+0 −0 lines)\n", map[string]string{"m.txt": "", "n.txt": "m\n"}},
		{"one file twice", begin("*** Update File: m.txt", "-m", "+n", "*** Update File: m.txt", "-n", "+o"), "changed m.txt (+1 −1 lines)\n", map[string]string{"m.txt": "o\n"}},
		{"delete, then add", begin("*** Delete File: m.txt", "*** Add File: m.txt", "+new"), "changed m.txt (+1 −1 lines)\n", map[string]string{"m.txt": "new\n"}},
		{"CR LF", begin("*** Update File: crlf.txt", " one", "-two", "+2", "+3"), "changed crlf.txt (+2 −1 lines)\n", map[string]string{"crlf.txt": "one\r\n2\r\n3\r\nthree\r\n"}},
		{"CR LF in the patch", strings.ReplaceAll(begin("*** Update File: m.txt", "-m", "+n"), "\n", "\r\n"), "changed m.txt (+1 −1 lines)\n", map[string]string{"m.txt": "n\n"}},
		{"UTF-16", begin("*** Update File: le.txt", "-a", "+ü"), "changed le.txt (+1 −1 lines)\n", map[string]string{"le.txt": utf16File(binary.LittleEndian, "ü\nb\n")}},
		{"byte order mark", begin("*** Update File: bom.txt", "-a", "+x"), "changed bom.txt (+1 −1 lines)\n", map[string]string{"bom.txt": "\ufeffx\nb\n"}},
		{"no line feed at the end", begin("*** Update File: noend.txt", "-b", "+c"), "changed noend.txt (+1 −1 lines)\n", map[string]string{"noend.txt": "a\nc"}},
		{"append to a file without line feed", begin("*** Update File: noend.txt", " b", "+c"), "changed noend.txt (+2 −1 lines)\n", map[string]string{"noend.txt": "a\nb\nc"}},
		{"visible form", begin("*** Update File: esc.txt", "-␛[0m", "+⟦U+202E⟧"), "changed esc.txt (+1 −1 lines)\n", map[string]string{"esc.txt": "\u202e\n"}},
		{
			"lost blank before an empty line", begin("*** Update File: p.go", " import \"fmt\"", "", "-func a() {", "+func A() {"),
			"changed p.go (+1 −1 lines)\n",
			map[string]string{"p.go": strings.Replace(program, "func a", "func A", 1)},
		},
		{
			"blanks at line ends", begin("*** Update File: blank.txt", " one", "-two", "+2"),
			"changed blank.txt (+1 −1 lines)\nNote: hunk 1 fitted blank.txt at line 1, without regard to blanks at line ends.\n",
			map[string]string{"blank.txt": "one  \n2\n"},
		},
		{
			"indentation", begin("*** Update File: p.go", " func a() {", "-fmt.Println(\"a\")", "+\tprintln()"),
			"changed p.go (+1 −1 lines)\nNote: hunk 1 fitted p.go at line 5, without regard to indentation.\n",
			map[string]string{"p.go": strings.Replace(program, `fmt.Println("a")`, "println()", 1)},
		},
		{
			"wrong outer context", begin("*** Update File: p.go", " nonsense", " func a() {", "-\tfmt.Println(\"a\")", "+\tprintln()"),
			"changed p.go (+1 −1 lines)\nNote: hunk 1 fitted p.go at line 4, without its outermost context.\n",
			map[string]string{"p.go": strings.Replace(program, `fmt.Println("a")`, "println()", 1)},
		},
		{"in a fence", "```diff\n" + begin("*** Update File: m.txt", "-m", "+n") + "```\n", "changed m.txt (+1 −1 lines)\n", map[string]string{"m.txt": "n\n"}},

		{"unified", "--- a/m.txt\n+++ b/m.txt\n@@ -1 +1,2 @@\n-m\n+n\n+o\n", "changed m.txt (+2 −1 lines)\n", map[string]string{"m.txt": "n\no\n"}},
		{"unified without prefixes, with dates", "--- m.txt\t2024-01-01 10:00:00\n+++ m.txt\t2024-01-02\n@@ -1 +1 @@\n-m\n+n\n", "changed m.txt (+1 −1 lines)\n", map[string]string{"m.txt": "n\n"}},
		{
			"unified, wrong numbers", "--- a/p.go\n+++ b/p.go\n@@ -50,9 +60,2 @@\n func b() {\n-\tfmt.Println(\"b\")\n+\tprintln()\n",
			"changed p.go (+1 −1 lines)\nNote: hunk 1 fitted p.go at line 10, 40 lines further up.\n",
			map[string]string{"p.go": strings.Replace(program, `fmt.Println("b")`, "println()", 1)},
		},
		{"unified, the number decides", "--- a/p.go\n+++ b/p.go\n@@ -12,2 +12,1 @@\n-\treturn\n }\n", "changed p.go (+0 −1 lines)\n", map[string]string{"p.go": program[:strings.LastIndex(program, "\treturn\n")] + "}\n"}},
		{"unified, insertion by number", "--- a/p.go\n+++ b/p.go\n@@ -3,0 +4 @@\n+import \"os\"\n", "changed p.go (+1 −0 lines)\n", map[string]string{"p.go": strings.Replace(program, "\"fmt\"\n", "\"fmt\"\nimport \"os\"\n", 1)}},
		{"unified without numbers", "--- a/p.go\n+++ b/p.go\n@@ ... @@\n func a() {\n-\tfmt.Println(\"a\")\n+\tprintln()\n", "changed p.go (+1 −1 lines)\n", map[string]string{"p.go": strings.Replace(program, `fmt.Println("a")`, "println()", 1)}},
		{"unified, too few lines promised", "--- a/p.go\n+++ b/p.go\n@@ -5,1 +5,1 @@\n-func a() {\n-\tfmt.Println(\"a\")\n+func A() {\n+\tprintln()\n", "changed p.go (+2 −2 lines)\n", map[string]string{"p.go": strings.Replace(strings.Replace(program, "func a", "func A", 1), `fmt.Println("a")`, "println()", 1)}},
		{"deleted line that looks like a name", "--- a/sql.txt\n+++ b/sql.txt\n@@ -1,3 +1,2 @@\n one\n--- comment\n two\n", "changed sql.txt (+0 −1 lines)\n", map[string]string{"sql.txt": "one\ntwo\n"}},
		{"git mail", "From 123\nSubject: x\n---\n m.txt | 2 +-\n\ndiff --git a/m.txt b/m.txt\nindex 1..2 100644\n--- a/m.txt\n+++ b/m.txt\n@@ -1 +1 @@\n-m\n+n\n-- \n2.39.0\n", "changed m.txt (+1 −1 lines)\n", map[string]string{"m.txt": "n\n"}},
		{
			"git add, delete, rename, empty", "diff --git a/n.txt b/n.txt\nnew file mode 100644\n--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+n\n\\ No newline at end of file\n" +
				"diff --git a/d.txt b/d.txt\ndeleted file mode 100644\n--- a/d.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-d\n" +
				"diff --git a/m.txt b/r.txt\nsimilarity index 100%\nrename from m.txt\nrename to r.txt\n" +
				"diff --git a/e.txt b/e.txt\nnew file mode 100644\nindex 0000000..e69de29\n",
			"added n.txt (+1 −0 lines)\ndeleted d.txt (+0 −1 lines)\nchanged m.txt → r.txt (+0 −0 lines)\nadded e.txt (+0 −0 lines)\n",
			map[string]string{"n.txt": "n", "d.txt": "", "m.txt": "", "r.txt": "m\n"},
		},
		{"git, a program", "diff --git a/run.sh b/run.sh\nnew file mode 100755\n--- /dev/null\n+++ b/run.sh\n@@ -0,0 +1 @@\n+#!/bin/sh\n", "added run.sh (+1 −0 lines)\n", map[string]string{"run.sh": "#!/bin/sh\n"}},
		{"git, another mode", "diff --git a/m.txt b/m.txt\nold mode 100644\nnew mode 100755\n--- a/m.txt\n+++ b/m.txt\n@@ -1 +1 @@\n-m\n+n\n", "changed m.txt (+1 −1 lines)\nNote: the mode of m.txt stays as it is.\n", map[string]string{"m.txt": "n\n"}},
		{"as a command", "apply_patch <<'EOF'\n" + begin("*** Update File: m.txt", "-m", "+n") + "EOF\n", "changed m.txt (+1 −1 lines)\n", map[string]string{"m.txt": "n\n"}},
		{"git, quoted name", "diff --git \"a/gr\\303\\274n.txt\" \"b/gr\\303\\274n.txt\"\n--- \"a/gr\\303\\274n.txt\"\n+++ \"b/gr\\303\\274n.txt\"\n@@ -1 +1 @@\n-x\n+y\n", "changed grün.txt (+1 −1 lines)\n", map[string]string{"grün.txt": "y\n"}},
		{"a folder that is really called a", "--- a/in.txt\n+++ b/in.txt\n@@ -1 +1 @@\n-x\n+y\n", "changed a/in.txt (+1 −1 lines)\n", map[string]string{"a/in.txt": "y\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := patchDesk(t)
			if got := d.ok("apply_patch", args{"patch": c.patch}); got != c.want {
				t.Errorf("said\n%s\nwant\n%s", got, c.want)
			}
			for name, text := range c.files {
				if info, err := os.Stat(d.dir + "/" + name); err == nil && (info.Mode()&0o111 != 0) != (name == "run.sh") {
					t.Errorf("%s has the mode %v", name, info.Mode())
				}
				if text != "" {
					d.has(name, text)
				} else if r, err := d.run("file_read", args{"path": name}); err == nil {
					t.Errorf("%s is still there: %v", name, r.Content)
				}
			}
		})
	}
}

func patchDesk(t testing.TB) *desk {
	return newDesk(t, map[string]string{
		"p.go": program, "m.txt": "m\n", "d.txt": "d\n", "crlf.txt": "one\r\ntwo\r\nthree\r\n", "le.txt": utf16File(binary.LittleEndian, "a\nb\n"),
		"bom.txt": "\ufeffa\nb\n", "noend.txt": "a\nb", "esc.txt": "\x1b[0m\n", "blank.txt": "one  \ntwo\n", "grün.txt": "x\n", "a/in.txt": "x\n",
		"sql.txt": "one\n-- comment\ntwo\n", "bin.dat": "\x00", "link": "-> {OUT}", "SOUL.md": "soul\n",
	})
}

// TestPatchErrors applies patches that must fail whole.
func TestPatchErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, patch, want string }{
		{"nothing", "hello", `the patch changes nothing. It begins with "*** Begin Patch" or is a unified diff ("--- a/x", "+++ b/x", "@@")`},
		{"cut off", "*** Begin Patch\n*** Update File: m.txt\n-m\n+n", `the patch has no "*** End Patch": it seems to be cut off, so nothing was changed; send it whole`},
		{"unknown part", begin("*** Rename File: x"), `line 2 of the patch: "*** Rename File: x" is not expected here; a file begins with "*** Add File: ", "*** Update File: " or "*** Delete File: "`},
		{"no begin", "*** Update File: m.txt\n-m\n+n\n", `line 1 of the patch: the patch must begin with "*** Begin Patch"`},
		{"no path", begin("*** Delete File:"), "line 2 of the patch: the path is missing"},
		{"added line without +", begin("*** Add File: n.txt", "hello"), "line 3 of the patch: every line of an added file begins with +"},
		{"odd line", begin("*** Update File: m.txt", "-m", "n"), `line 4 of the patch: "n": a line of a hunk begins with a blank, - or +`},
		{"empty update", begin("*** Update File: m.txt"), "line 3 of the patch: no change of m.txt is given"},
		{"hunk without file", "@@ -1 +1 @@\n-m\n+n\n", `line 1 of the patch: a hunk without a file: "--- a/path" and "+++ b/path" must come before it`},
		{"binary patch", "diff --git a/x b/x\nGIT binary patch\n", "line 2 of the patch: binary patches are not supported"},
		{"link", "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n", "line 2 of the patch: only ordinary files can be added, not links or submodules (mode 120000)"},
		{"copy", "diff --git a/m.txt b/x\ncopy from m.txt\ncopy to x\n", "line 2 of the patch: copies are not supported: add the file instead"},
		{"missing file", begin("*** Update File: n.txt", "-m", "+n"), `"n.txt" does not exist; did you mean "d.txt" or "m.txt"?`},
		{"existing file", begin("*** Add File: m.txt", "+n"), `m.txt exists already: use "*** Update File", or write the whole file to replace it`},
		{"rename onto a file", begin("*** Update File: m.txt", "*** Move to: d.txt"), "m.txt can't be renamed: d.txt exists already"},
		{"deleted before", begin("*** Delete File: m.txt", "*** Update File: m.txt", "-m", "+n"), "m.txt is deleted earlier in the patch"},
		{"no text", begin("*** Update File: bin.dat", "-m", "+n"), "bin.dat can't be patched: it is no text"},
		{"other lines to delete", "--- a/p.go\n+++ /dev/null\n@@ -1 +0,0 @@\n-package main\n", "the patch deletes p.go, but the file has other lines than the patch says"},
		{"several places", begin("*** Update File: p.go", "-\treturn", "+\tbreak"), "hunk 1 fits p.go at several places, lines 7, 12: give more lines around the change, or a header (@@ line that stands before it)"},
		{"no such header", begin("*** Update File: p.go", "@@ func c() {", "+x"), "hunk 1 does not fit p.go: its header \"func c() {\" is not in the file. The nearest place is line 5; line 5 differs: the text:\n5\tfunc a() {"},
		{
			"no such lines", begin("*** Update File: p.go", " func a() {", "-\tfmt.Println(\"x\")", "+y", " \treturn"),
			"hunk 1 does not fit p.go, so nothing was changed: its old lines are not in the file. The nearest place is lines 5 to 7; line 6 differs: the text:\n5\tfunc a() {\n6\t\tfmt.Println(\"a\")\n7\t\treturn",
		},
		{"applied already", begin("*** Update File: p.go", " func a() {", "-\tfmt.Println(\"old\")", "+\tfmt.Println(\"a\")"), "hunk 1 does not fit p.go: its new lines are there already, at line 5; it seems to be applied"},
		{"changes nothing", begin("*** Update File: p.go", " func a() {"), "the patch changes nothing: the files are that way already"},
		{"outside", begin("*** Add File: ../x", "+x"), `"../x" leads out of the workspace. Give a path relative to the workspace; list a folder to see what is there.`},
		{"outside by a link", begin("*** Add File: link/x", "+x"), `"link/x" leads out of the workspace by a link. Give a path relative to the workspace; list a folder to see what is there.`},
		{"protected", begin("*** Update File: SOUL.md", "-soul", "+x"), `"SOUL.md" is protected: this run may read it, not change it. An admin may change it; put rules of your own elsewhere.`},
		{"protected new name", begin("*** Update File: m.txt", "*** Move to: agents/m.agent.md"), `"agents/m.agent.md" is protected: this run may read it, not change it. An admin may change it; put rules of your own elsewhere.`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := patchDesk(t)
			if got := d.fails("apply_patch", args{"patch": c.patch}); got != c.want {
				t.Errorf("said\n%s\nwant\n%s", got, c.want)
			}
			// Behind a part that would do, it changes nothing either.
			if rest, ok := strings.CutPrefix(c.patch, "*** Begin Patch\n"); ok && c.name != "changes nothing" {
				d.fails("apply_patch", args{"patch": "*** Begin Patch\n*** Update File: blank.txt\n-two\n+2\n*** Add File: made.txt\n+x\n" + rest})
			}
			d.has("blank.txt", "one  \ntwo\n")
			d.has("p.go", program)
			d.has("m.txt", "m\n")
			d.has("SOUL.md", "soul\n")
			d.fails("file_read", args{"path": "made.txt"})
		})
	}
}

// TestPatchProperties makes a diff of two texts and applies it.
func TestPatchProperties(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	line := rapid.SampledFrom([]string{"a", "b", "c", "", "  a", "x y", "-- z", "++ z", "@@ h", "--- q", "*** r", "grüße"})
	text := rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(line, 0, 30).Draw(t, "lines"), "\n")
		if s != "" && rapid.Bool().Draw(t, "line feed") {
			s += "\n"
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		old, new := text.Draw(t, "old"), text.Draw(t, "new")
		patch := string(diff.Diff("a/f.txt", []byte(old), "b/f.txt", []byte(new)))
		if patch == "" {
			return
		}
		d.put(d.dir+"/f.txt", old)
		d.state = tool.State{}
		if _, err := d.run("apply_patch", args{"patch": patch}); err != nil {
			t.Fatalf("%v\n%s", err, patch)
		}
		if got := d.read(d.dir + "/f.txt"); got != new {
			t.Fatalf("got %q, want %q, of %q by\n%s", got, new, old, patch)
		}
	})
}
