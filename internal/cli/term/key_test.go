package term_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/cli/term"
)

func TestDecoder(t *testing.T) {
	t.Parallel()
	type keys []term.Key
	tests := []struct {
		in   string
		want keys
	}{
		{"a", keys{{Code: term.Rune, Text: "a"}}},
		{"hé日", keys{{Code: term.Rune, Text: "hé日"}}},
		{"\r", keys{{Code: term.Enter}}},
		{"\n", keys{{Code: term.Ctrl, Text: "j"}}},
		{"\x1b\r", keys{{Code: term.Enter, Alt: true}}},
		{"\x1b[13;2u", keys{{Code: term.Enter, Shift: true}}},
		{"\x1b[27;5;13~", keys{{Code: term.Enter, Ctrl: true}}},
		{"\x03\x04\x1a", keys{{Code: term.Ctrl, Text: "c"}, {Code: term.Ctrl, Text: "d"}, {Code: term.Ctrl, Text: "z"}}},
		{"\t\x1b[Z", keys{{Code: term.Tab}, {Code: term.Tab, Shift: true}}},
		{"\x7f\b", keys{{Code: term.Backspace}, {Code: term.Backspace}}},
		{"\x1b[A\x1b[B\x1bOC\x1bOD", keys{{Code: term.Up}, {Code: term.Down}, {Code: term.Right}, {Code: term.Left}}},
		{"\x1b[1;5C\x1b[1;3D", keys{{Code: term.Right, Ctrl: true}, {Code: term.Left, Alt: true}}},
		{"\x1b[H\x1b[4~\x1b[3~\x1b[5~\x1b[6~", keys{{Code: term.Home}, {Code: term.End}, {Code: term.Delete}, {Code: term.PageUp}, {Code: term.PageDown}}},
		{"\x1bb\x1b\x7f", keys{{Code: term.Rune, Text: "b", Alt: true}, {Code: term.Backspace, Alt: true}}},
		{"\x1b[99;5u", keys{{Code: term.Ctrl, Text: "c"}}},
		{"\x1b[97;1u", keys{{Code: term.Rune, Text: "a"}}},

		// Pasted text is one key, whatever it holds.
		{"\x1b[200~one\r\ntwo\rthree\n\x1b[201~!", keys{{Code: term.Paste, Text: "one\ntwo\nthree\n"}, {Code: term.Rune, Text: "!"}}},
		{"\x1b[200~a\x1b[31mb\x00\t\x1b[201~", keys{{Code: term.Paste, Text: "a[31mb\t"}}},
		{"\x1b[200~\xff\x1b[201~", keys{{Code: term.Paste, Text: "\uFFFD"}}},

		// What nobody asked for is swallowed.
		{"\x1b[I\x1b[?1;2ca", keys{{Code: term.Rune, Text: "a"}}},
		{"\x1b]11;rgb:00/00/00\aa", keys{{Code: term.Rune, Text: "a"}}},
		{"\x1bP1+r\x1b\\a", keys{{Code: term.Rune, Text: "a"}}},
		{"\xffa", keys{{Code: term.Rune, Text: "a"}}},
		{"\x1b[57358u", nil},
	}
	for _, tt := range tests {
		var d term.Decoder
		got := keys(d.Feed([]byte(tt.in)))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", tt.in, diff)
		}
		if d.Waiting() {
			t.Errorf("%q: something is left", tt.in)
		}
	}
}

// A key whose other bytes don't come is a key by itself.
func TestDecoderFlush(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want []term.Key
	}{
		{"\x1b", []term.Key{{Code: term.Escape}}},
		{"\x1b\x1b", []term.Key{{Code: term.Escape}}},
		{"\x1b[", []term.Key{{Code: term.Rune, Text: "[", Alt: true}}},
		{"\x1bO", []term.Key{{Code: term.Rune, Text: "O", Alt: true}}},
		{"\x1b[1;", nil},
		{"\xe6\x97", nil},
	}
	for _, tt := range tests {
		var d term.Decoder
		if got := d.Feed([]byte(tt.in)); got != nil || !d.Waiting() {
			t.Errorf("%q: got %v at once", tt.in, got)
		}
		if diff := cmp.Diff(tt.want, d.Flush()); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", tt.in, diff)
		}
		if got := d.Feed([]byte("x")); len(got) != 1 || got[0].Text != "x" {
			t.Errorf("%q: then x is %v", tt.in, got)
		}
	}
}

func TestPasteIsBounded(t *testing.T) {
	t.Parallel()
	var d term.Decoder
	d.Feed([]byte("\x1b[200~"))
	chunk := []byte(strings.Repeat("x", 1<<20))
	for range 6 {
		d.Feed(chunk)
	}
	keys := d.Feed([]byte("\x1b[201~"))
	if len(keys) != 1 || len(keys[0].Text) != term.MaxPaste {
		t.Fatalf("%d keys", len(keys))
	}
}

// However what comes is cut into pieces, the keys are the same: letters are the
// only thing that is one key or several.
func FuzzDecoder(f *testing.F) {
	for _, s := range []string{"abc\x1b[A", "\x1b[200~a\r\nb\x1b[201~c", "\x1b\x1b[1;5C\x1b]0;t\x1b\\", "日\xff\x1b[27;2;13~", "\x1b[<0;1;1M\x1bOP"} {
		f.Add([]byte(s), uint8(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, n uint8) {
		var whole, pieces term.Decoder
		want := spelled(whole.Feed(in))
		var got []term.Key
		step := int(n)%8 + 1
		for i := 0; i < len(in); i += step {
			got = append(got, pieces.Feed(in[i:min(i+step, len(in))])...)
		}
		if got := spelled(got); !slices.Equal(want, got) {
			t.Fatalf("%q is %v, in pieces of %d it is %v", in, want, step, got)
		}
		for _, k := range append(want, whole.Flush()...) {
			if !utf8.ValidString(k.Text) || strings.Contains(k.Text, "\x1b") {
				t.Fatalf("%q gives %q", in, k.Text)
			}
		}
	})
}

// spelled makes a key of each letter.
func spelled(keys []term.Key) []term.Key {
	var out []term.Key
	for _, k := range keys {
		if k.Code != term.Rune || k.Alt {
			out = append(out, k)
			continue
		}
		for _, r := range k.Text {
			out = append(out, term.Key{Code: term.Rune, Text: string(r)})
		}
	}
	return out
}
