package jsonstring_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/lib/jsonstring"
)

func FuzzAppend(f *testing.F) {
	for _, s := range []string{
		"", "a", "\"\\\b\f\n\r\t\x01\x1f\x7f", "é\u2028\u2029😀", "\xff\xc0\x80", "a\xe2\x80b", "<>&",
		"eight by eight bytes of plain text", "12345678\"", "1234567\\8", "1234567\x00", "12345678é12345678\xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(s); err != nil {
			t.Fatal(err)
		}
		if got := string(jsonstring.Append(nil, s)) + "\n"; got != want.String() {
			t.Errorf("got %s, want %s", got, want.String())
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	for name, s := range map[string]string{
		"ascii": strings.Repeat("plain words of a prompt. ", 400),
		"code":  strings.Repeat("\tif err != nil {\n\t\treturn fmt.Errorf(\"%w\", err)\n\t}\n", 200),
		"greek": strings.Repeat("Λόγια ενός μοντέλου. ", 250),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				buf = jsonstring.Append(buf[:0], s)
			}
		})
	}
}
