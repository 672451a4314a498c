package files_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/tool"
)

func utf16File(order binary.AppendByteOrder, text string) string {
	out := order.AppendUint16(nil, 0xfeff)
	for _, u := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, u)
	}
	return string(out)
}

func TestRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{
		"a.txt": "one\ntwo\nthree\n", "noend.txt": "one\ntwo", "empty.txt": "", "crlf.txt": "one\r\ntwo\r\n",
		"bom.txt": "\ufeffone\n", "latin.txt": "caf\xe9 au lait, s'il vous pla\xeet\n", "le.txt": utf16File(binary.LittleEndian, "grüße\n😀"),
		"be.txt": utf16File(binary.BigEndian, "x"), "esc.log": "\x1b[31mred\x1b[0m\n", "dir/x": "",
		"blank.txt": "\n", "wide.txt": strings.Repeat("x", 20_000),
	})
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"path": "a.txt"}, "one\ntwo\nthree\n"},
		{args{"path": "a.txt", "from": 2}, "two\nthree\n"},
		{args{"path": "a.txt", "to": 2}, "one\ntwo\n"},
		{args{"path": "a.txt", "from": 2, "to": 2}, "two\n"},
		{args{"path": "a.txt", "from": 3, "to": 99}, "three\n"},
		{args{"path": "a.txt", "line_numbers": true}, "1\tone\n2\ttwo\n3\tthree\n"},
		{args{"path": "a.txt", "from": 2, "line_numbers": true}, "2\ttwo\n3\tthree\n"},
		{args{"path": "noend.txt"}, "one\ntwo"},
		{args{"path": "noend.txt", "from": 2}, "two"},
		{args{"path": "noend.txt", "to": 1}, "one\n"},
		{args{"path": "empty.txt"}, ""},
		{args{"path": "empty.txt", "from": 1}, ""},
		{args{"path": "blank.txt", "from": 1, "to": 1}, "\n"},
		{args{"path": "crlf.txt"}, "one\r\ntwo\r\n"},
		{args{"path": "crlf.txt", "from": 2}, "two\r\n"},
		{args{"path": "bom.txt"}, "\ufeffone\n"},
		{args{"path": "latin.txt"}, "caf\xe9 au lait, s'il vous pla\xeet\n"},
		{args{"path": "le.txt"}, "[UTF-16LE, shown as UTF-8]\ngrüße\n😀"},
		{args{"path": "be.txt", "line_numbers": true}, "[UTF-16BE, shown as UTF-8]\n1\tx"},
		{args{"path": "esc.log"}, "\x1b[31mred\x1b[0m\n"},
		{args{"path": "wide.txt"}, strings.Repeat("x", 20_000)},
	} {
		if got := d.ok("file_read", c.args); got != c.want {
			t.Errorf("%v: %.100q, want %.100q", c.args, got, c.want)
		}
	}
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"path": "a.txt", "from": -1}, "lines are counted from 1: from and to can't be negative"},
		{args{"path": "a.txt", "from": 3, "to": 2}, "from (3) comes after to (2)"},
		{args{"path": "a.txt", "from": 4}, "a.txt has 3 lines; there is no line 4"},
		{args{"path": "dir"}, `"dir" is a folder; list it to see what it holds`},
		{args{"path": "."}, `"." is a folder; list it to see what it holds`},
		{args{"path": "a.txt/x"}, `a.txt/x: "a.txt" is a file, not a folder`},
		{args{"path": "A.TXT"}, `"A.TXT" does not exist; did you mean "a.txt"?`},
	} {
		if got := d.fails("file_read", c.args); got != c.want {
			t.Errorf("%v: %q, want %q", c.args, got, c.want)
		}
	}
}

func TestReadTellsWhatItSaw(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"a.txt": "one\ntwo\n", "link": "-> a.txt"})
	for _, a := range []args{{"path": "a.txt"}, {"path": "link", "from": 2}} {
		r, err := d.run("file_read", a)
		if err != nil {
			t.Fatal(err)
		}
		want := tool.Effect{Kind: tool.FileSeen, Key: "a.txt", Value: workspace.Digest([]byte("one\ntwo\n"))}
		if len(r.Effects) != 1 || r.Effects[0].Kind != want.Kind || r.Effects[0].Key != want.Key || r.Effects[0].Value != want.Value {
			t.Errorf("%v: effects %+v", a, r.Effects)
		}
		if r.Content[0].Origin != "file" {
			t.Errorf("%v: what a file holds is not marked", a)
		}
	}
}

func TestReadImages(t *testing.T) {
	t.Parallel()
	img := image.NewGray(image.Rect(0, 0, 7, 5))
	encoded := map[string]func(*bytes.Buffer) error{
		"x.png": func(b *bytes.Buffer) error { return png.Encode(b, img) },
		"x.jpg": func(b *bytes.Buffer) error { return jpeg.Encode(b, img, nil) },
		"x.gif": func(b *bytes.Buffer) error { return gif.Encode(b, img, nil) },
		"x.webp": func(b *bytes.Buffer) error {
			// A lossless header: both sizes less one, 14 bits each.
			b.WriteString("RIFF\x20\x00\x00\x00WEBPVP8L\x14\x00\x00\x00\x2f")
			err := binary.Write(b, binary.LittleEndian, uint32(6|4<<14))
			b.WriteString("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
			return err
		},
	}
	files := map[string]string{"broken.png": "\x89PNG\r\n\x1a\nnonsense", "huge.png": "\x89PNG\r\n\x1a\n" + strings.Repeat("x", 6<<20)}
	for name, encode := range encoded {
		var b bytes.Buffer
		if err := encode(&b); err != nil {
			t.Fatal(err)
		}
		files[name] = b.String()
	}
	d := newDesk(t, files)
	for name := range encoded {
		r, err := d.run("file_read", args{"path": name})
		if err != nil || len(r.Content) != 2 {
			t.Fatalf("%s: %+v, %v", name, r.Content, err)
		}
		mime := strings.Replace("image/"+strings.TrimPrefix(name, "x."), "jpg", "jpeg", 1)
		if m := r.Content[1].Media; m == nil || m.MIME != mime || m.Name != name || string(m.Data) != files[name] {
			t.Errorf("%s: %+v", name, m)
		}
		if want := name + ": " + mime + ", 7×5 pixels, " + strconv.Itoa(len(files[name])) + " B"; r.Content[0].Text != want {
			t.Errorf("%q, want %q", r.Content[0].Text, want)
		}
	}
	if r, err := d.run("file_read", args{"path": "broken.png"}); err != nil || len(r.Content) != 2 {
		t.Errorf("a damaged image: %+v, %v", r.Content, err)
	}
	if got := d.ok("file_read", args{"path": "huge.png"}); got != "huge.png: image/png, 6.3 MB; too large to be shown." {
		t.Error(got)
	}
}

func TestReadDescribesOtherData(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{
		"a.zip": "PK\x03\x04\x00\x00rest", "x.bin": "\x01\x02\x00\xff", "noise": strings.Repeat("\xfe\x9b\x80a", 100),
		"long.bin": "\x00" + strings.Repeat("y", 11<<20),
	})
	for name, want := range map[string]string{
		"a.zip":    "a.zip is no text: ZIP archive (or a document in one: docx, xlsx, odt, jar), 10 B. It begins with the bytes 50 4b 03 04 00 00 72 65 73 74.",
		"x.bin":    "x.bin is no text: binary data, 4 B. It begins with the bytes 01 02 00 ff.",
		"noise":    "noise is no text: binary data, 400 B. It begins with the bytes " + strings.TrimSpace(strings.Repeat("fe 9b 80 61 ", 8)) + ".",
		"long.bin": "long.bin is no text: binary data, 11.5 MB. It begins with the bytes 00 " + strings.TrimSpace(strings.Repeat("79 ", 31)) + ".",
	} {
		if got := d.ok("file_read", args{"path": name}); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestReadLargeFiles(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("x", 99) + "\n"
	just := strings.Repeat(line, workspace.MaxWhole/100)
	var large strings.Builder
	for i := range 200_000 {
		large.WriteString(strconv.Itoa(i + 1))
		large.WriteString(": ")
		large.WriteString(line[:90])
		large.WriteByte('\n')
	}
	d := newDesk(t, map[string]string{"just.txt": just, "large.txt": large.String(), "oneline.txt": strings.Repeat("y", 12<<20)})
	if got := d.ok("file_read", args{"path": "just.txt"}); got != just {
		t.Errorf("%d bytes of %d", len(got), len(just))
	}
	if got := d.fails("file_read", args{"path": "large.txt"}); !strings.Contains(got, "give a range of lines") {
		t.Error(got)
	}
	got := d.ok("file_read", args{"path": "large.txt", "from": 150_000, "to": 150_001, "line_numbers": true})
	if want := "150000\t150000: " + line[:90] + "\n150001\t150001: " + line[:90] + "\n"; got != want {
		t.Errorf("%q", got)
	}
	if got := d.ok("file_read", args{"path": "large.txt", "from": 200_000}); got != "200000: "+line[:90]+"\n" {
		t.Errorf("%q", got)
	}
	if got := d.fails("file_read", args{"path": "large.txt", "from": 200_001}); got != "large.txt has 200000 lines; there is no line 200001" {
		t.Error(got)
	}
	r, err := d.run("file_read", args{"path": "large.txt", "from": 2})
	if err != nil || len(r.Content) != 2 || len(r.Content[0].Text) < workspace.MaxWhole || len(r.Content[0].Text) > workspace.MaxWhole+300<<10 {
		t.Errorf("a range that is too long: %d parts, %v", len(r.Content), err)
	} else if !strings.Contains(r.Content[1].Text, "Read on with from: ") {
		t.Error(r.Content[1].Text)
	}
	if got := d.ok("file_read", args{"path": "oneline.txt", "to": 1}); !strings.Contains(got, "Cut at line 1") {
		t.Errorf("%.50q", got)
	}
	// A file of that size is known by size and time.
	d.ok("file_read", args{"path": "large.txt", "to": 1})
	d.put(d.dir+"/large.txt", large.String()+"more")
	if got := d.fails("file_write", args{"path": "large.txt", "content": "x"}); !strings.Contains(got, "has changed since it was last read") {
		t.Error(got)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{
		"b.txt": "hello", "a/x.md": strings.Repeat("x", 1500), "a/deep/y.go": "", "a/deep/er/z.go": "", "link": "-> {OUT}",
		".git/config": "x", "a/.git/config": "x", "empty/": "", "pipe": "FIFO", ".hidden": "x", "line\nfeed": "", "ü/größe.txt": "x",
	})
	for _, c := range []struct {
		args args
		want string
	}{
		{args{}, ".git/\n.hidden  1 B\na/\nb.txt  5 B\nempty/\n\"line\\nfeed\"  0 B\nlink -> " + d.outside + "\npipe  (no ordinary file)\nü/\n"},
		{args{"glob": "[ü]/gr?ße*"}, "ü/größe.txt  1 B\n"},
		{args{"path": "a"}, "a/.git/\na/deep/\na/x.md  1.5 KB\n"},
		{args{"path": "a/", "depth": 2}, "a/.git/\na/deep/\na/deep/er/\na/deep/y.go  0 B\na/x.md  1.5 KB\n"},
		{args{"glob": "*.go"}, "a/deep/er/z.go  0 B\na/deep/y.go  0 B\n"},
		{args{"glob": "a/**/*.go"}, "a/deep/er/z.go  0 B\na/deep/y.go  0 B\n"},
		{args{"path": "a", "glob": "deep/*.go"}, "a/deep/y.go  0 B\n"},
		{args{"path": "a", "glob": "*.{md,go}", "depth": 2}, "a/deep/y.go  0 B\na/x.md  1.5 KB\n"},
		{args{"glob": "[!a-zü]*"}, ".git/\n.hidden  1 B\na/.git/\n"},
		{args{"path": ".git"}, ".git/config  1 B\n"},
		{args{"path": "empty"}, "The folder empty is empty.\n"},
		{args{"glob": "*.nope"}, "Nothing in . matches the glob.\n"},
	} {
		if got := d.ok("file_list", c.args); got != c.want {
			t.Errorf("%v:\n%s\nwant\n%s", c.args, got, c.want)
		}
	}
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"path": "b.txt"}, `"b.txt" is a file, not a folder; read it`},
		{args{"path": "emty"}, `"emty" does not exist; did you mean "empty"?`},
		{args{"depth": -1}, "depth can't be negative"},
		{args{"glob": "a["}, `the glob "a[" is not usable: [ has no ]`},
		{args{"glob": "{a"}, `the glob "{a" is not usable: { has no }`},
		{args{"glob": "[z-a]"}, "the glob \"[z-a]\" is not usable: error parsing regexp: invalid character class range: `z-a`"},
	} {
		if got := d.fails("file_list", c.args); got != c.want {
			t.Errorf("%v: %q, want %q", c.args, got, c.want)
		}
	}
}

func TestListIsBounded(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	for i := range 620 {
		d.put(filepath.Join(d.dir, "many", strconv.Itoa(1000+i)), "")
	}
	got := d.ok("file_list", args{"path": "many"})
	if n := strings.Count(got, "\n"); n != 501 || !strings.HasSuffix(got, "… 120 more entries not shown. Narrow it with path, depth or glob.\n") {
		t.Errorf("%d lines, the last: %s", n, got[len(got)-80:])
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{
		"a.go": "package a\n\nfunc Timeout() {}\n\n// timeout is set\nvar x = 1\n", "docs/timeout.md": "# Limits\nNothing.\n",
		"bin.dat": "timeout\x00timeout", ".git/timeout": "timeout", "le.txt": utf16File(binary.LittleEndian, "Größe\nTIMEOUT\n"),
		"crlf.txt": "one timeout\r\ntwo\r\n", "link.txt": "-> a.go", "wide.txt": strings.Repeat("é", 1000) + "needle" + strings.Repeat("ü", 1000) + "\n",
		"latin.txt": "pla\xeet needle2\n",
	})
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"query": "timeout"}, "4 matches in 3 files.\ndocs/timeout.md (by name)\na.go:3:func Timeout() {}\na.go:5:// timeout is set\ncrlf.txt:1:one timeout\nle.txt:2:TIMEOUT\n"},
		{args{"query": "Timeout"}, "1 match in 1 file.\na.go:3:func Timeout() {}\n"},
		{args{"query": "größe"}, "1 match in 1 file.\nle.txt:1:Größe\n"},
		{args{"query": "timeout", "glob": "*.go", "context": 1}, "2 matches in 1 file.\na.go-2-\na.go:3:func Timeout() {}\na.go-4-\na.go:5:// timeout is set\na.go-6-var x = 1\n"},
		{args{"query": "package|var", "regex": true, "context": 1}, "2 matches in 1 file.\na.go:1:package a\na.go-2-\n--\na.go-5-// timeout is set\na.go:6:var x = 1\n"},
		{args{"query": `^$`, "regex": true, "path": "a.go"}, "2 matches in 1 file.\na.go:2:\na.go:4:\n"},
		{args{"query": "timeout", "path": "a.go"}, "2 matches in 1 file.\na.go:3:func Timeout() {}\na.go:5:// timeout is set\n"},
		{args{"query": "timeout", "path": "link.txt"}, "2 matches in 1 file.\na.go:3:func Timeout() {}\na.go:5:// timeout is set\n"},
		{args{"query": "limits", "path": "docs"}, "1 match in 1 file.\ndocs/timeout.md:1:# Limits\n"},
		{args{"query": "needle", "glob": "w*"}, "1 match in 1 file.\nwide.txt:1:…" + strings.Repeat("é", 75) + "needle" + strings.Repeat("ü", 219) + "…\n"},
		{args{"query": "needle2"}, "1 match in 1 file.\nlatin.txt:1:pla\xeet needle2\n"},
		{args{"query": "a.c"}, "No match for \"a.c\" in 6 files.\n"},
	} {
		if got := d.ok("file_search", c.args); got != c.want {
			t.Errorf("%v:\n%s\nwant\n%s", c.args, got, c.want)
		}
	}
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"query": ""}, "query is empty; list a folder to see what files there are"},
		{args{"query": "a\nb"}, "query has more than one line; lines are searched one by one, so give one line"},
		{args{"query": "(a", "regex": true}, "query is no regular expression (RE2 syntax): error parsing regexp: missing closing ): `(a`; leave regex out to search for the plain text"},
		{args{"query": "a", "context": 99}, "context must be from 0 to 20"},
		{args{"query": "a", "path": "nope"}, `"nope" does not exist; list a folder to see what is there`},
	} {
		if got := d.fails("file_search", c.args); got != c.want {
			t.Errorf("%v: %q, want %q", c.args, got, c.want)
		}
	}
}

func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"large.txt": strings.Repeat("match\n", 2<<20)})
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		d.put(d.dir+"/"+name, strings.Repeat("a match\n", 50))
	}
	got := d.ok("file_search", args{"query": "match"})
	if n := strings.Count(got, ":a match\n"); n != 100 {
		t.Errorf("%d matches", n)
	}
	for _, want := range []string{
		"100 matches in 4 files.\n", "Not complete: it stopped after 100 matches. Narrow it with path, glob or a longer query.\n",
		"a: 20 more matches in this file not shown\n", "d: 40 more matches in this file not shown\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if got := d.ok("file_search", args{"query": "match", "path": "b"}); !strings.HasPrefix(got, "50 matches in 1 file.\n") {
		t.Errorf("%.50s", got)
	}
	if got := d.ok("file_search", args{"query": "nope", "glob": "large*"}); got != "No match for \"nope\" in 1 file.\n" {
		t.Error(got)
	}
}

// A log is what one searches, and it is large: it is read in blocks, and what
// stands at the edge of one must not get lost nor be shown twice.
func TestSearchLargeFiles(t *testing.T) {
	t.Parallel()
	const rows = 320_000
	var text strings.Builder
	line := func(i int) string {
		if i%16_000 == 0 {
			return fmt.Sprintf("%07d here is a needle in it", i)
		}
		return fmt.Sprintf("%07d some text to fill the line", i)
	}
	for i := 1; i <= rows; i++ {
		text.WriteString(line(i) + "\n")
	}
	d := newDesk(t, map[string]string{
		"log.txt":  text.String(),
		"wide.txt": "needle\n" + strings.Repeat("x", 23<<20) + "\nneedle\n",
		"le.txt":   utf16File(binary.LittleEndian, strings.Repeat("needle\n", 1<<20)),
		"bin.dat":  "needle\x00" + strings.Repeat("\x00", 11<<20),
	})
	want := "20 matches in 1 file.\n"
	for i := 16_000; i <= rows; i += 16_000 {
		if i > 16_000 {
			want += "--\n"
		}
		for j := i - 3; j <= min(i+3, rows); j++ {
			mark := "-"
			if j == i {
				mark = ":"
			}
			want += fmt.Sprintf("log.txt%s%d%s%s\n", mark, j, mark, line(j))
		}
	}
	if got := d.ok("file_search", args{"query": "needle", "path": "log.txt", "context": 3}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := d.ok("file_search", args{"query": "0320000", "path": "log.txt"}), "1 match in 1 file.\nlog.txt:320000:"+line(rows)+"\n"; got != want {
		t.Errorf("got %s", got)
	}
	if got, want := d.ok("file_search", args{"query": "needle", "path": "bin.dat"}), "No match for \"needle\" in 0 files.\n"; got != want {
		t.Errorf("got %s", got)
	}
	for path, begin := range map[string]string{
		"wide.txt": "1 match in 1 file.\nNot searched to its end: 1 file of more than 10 MB, in UTF-16 or with a line as long.\nwide.txt:1:needle\n",
		"le.txt":   "No match for \"needle\" in 0 files.\nNot searched to its end: 1 file of more than 10 MB, in UTF-16 or with a line as long.\n",
	} {
		if got := d.ok("file_search", args{"query": "needle", "path": path}); got != begin {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestNothingIsLeftOpen(t *testing.T) {
	// Not parallel: it counts the open files of the process.
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("needs /proc")
	}
	d := newDesk(t, map[string]string{"a/b/c/x.txt": "x", "a/y.txt": "y", "in": "-> a/b"})
	openFiles := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	d.ok("file_list", args{})
	before := openFiles()
	for range 20 {
		d.ok("file_read", args{"path": "in/c/x.txt"})
		d.ok("file_write", args{"path": "in/c/x.txt", "content": "x"})
		d.ok("file_write", args{"path": "n/e/w.txt", "content": "x"})
		d.ok("file_delete", args{"path": "n/e/w.txt"})
		d.ok("file_move", args{"from": "a/y.txt", "to": "a/z.txt"})
		d.ok("file_move", args{"from": "a/z.txt", "to": "a/y.txt"})
		d.ok("file_list", args{"depth": 9})
		d.ok("file_search", args{"query": "x"})
		d.fails("file_delete", args{"path": "a/b"})
		d.fails("file_read", args{"path": "a/b/nope"})
		d.fails("file_write", args{"path": "in/SOUL.md/../../SOUL.md", "content": "x"})
		d.fails("file_move", args{"from": "a", "to": "a/b"})
	}
	if after := openFiles(); after > before {
		t.Errorf("%d files are open, %d were", after, before)
	}
}
