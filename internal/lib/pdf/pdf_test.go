package pdf

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
	"testing"
)

// pages are the objects of a file with n pages.
func pages(n int) string {
	s := "<</Type/Pages/Count 3/Kids[1 0 R]>>\n"
	for i := range n {
		s += fmt.Sprintf("<</Type /Page\n/Parent %d 0 R>>\n", i)
	}
	return s + strings.Repeat("<</Type/Page/Contents 4 0 R>>\n", n)
}

func packedPages(t testing.TB, n int) string {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write([]byte(pages(n))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("9 0 obj\n<</Type/ObjStm/N 5/Filter/FlateDecode/Length %d>>\nstream\r\n%s\nendstream\n", b.Len(), b.String())
}

func TestPages(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		data string
		want int
	}{
		"plain":            {"%PDF-1.4\n" + pages(3), 6},
		"packed":           {"%PDF-1.7\n" + packedPages(t, 4) + packedPages(t, 1), 10},
		"packed otherwise": {"<</Type/ObjStm/Filter/Other>>\nstream\nabc", 0},
		"without an end":   {"<</Type/ObjStm", 0},
		"no pages":         {"%PDF-1.7\n<</Type /PageLabel >>", 0},
		"nothing":          {"", 0},
	} {
		if got := Pages([]byte(tc.data)); got != tc.want {
			t.Errorf("%s: %d pages, want %d", name, got, tc.want)
		}
	}
}

func FuzzPages(f *testing.F) {
	f.Add([]byte(pages(2)))
	f.Add([]byte(packedPages(f, 2)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := Pages(data); n < 0 {
			t.Errorf("%d pages", n)
		}
	})
}
