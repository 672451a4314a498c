package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/lib/jsonstring"
)

func TestScanStrings(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"plain"`:                  "plain",
		`""`:                       "",
		`"a\"b\\c\/d\b\f\n\r\t"`:   "a\"b\\c/d\b\f\n\r\t",
		`"\u754c"`:                 "界",
		`"\ud83d\ude00"`:           "😀",
		`"half \ud83d"`:            "half \xed\xa0\xbd",
		`"\ude00 half"`:            "\xed\xb8\x80 half",
		`"\ud83d\u0041"`:           "\xed\xa0\xbdA",
		"\"cut \xe7\x95\"":         "cut \xe7\x95",
		"\"raw \x01 control\x7f\"": "raw \x01 control\x7f",
	} {
		var scratch []byte
		s := &Scan{b: []byte(in)}
		got, ok := s.Text(&scratch)
		if !ok || string(got) != want || !s.End() {
			t.Errorf("%s: %q, %v", in, got, ok)
		}
	}
	for _, in := range []string{`"`, `"a`, `"\`, `"\x"`, `"\u12"`, `"\u12zz"`, `"\ud83d\u"`} {
		var scratch []byte
		s := &Scan{b: []byte(in)}
		if got, ok := s.Text(&scratch); ok {
			t.Errorf("%s was taken: %q", in, got)
		}
	}
}

func TestScanIntegers(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int64{"0": 0, "-3": -3, "12.0": 12, "1e3": 1000, `"7"`: 7} {
		s := &Scan{b: []byte(in)}
		if n, ok := s.Integer(); !ok || n != want {
			t.Errorf("%s: %d, %v", in, n, ok)
		}
	}
	for _, in := range []string{"null", `"x"`, "{}", "true", "1e99", `""`} {
		s := &Scan{b: []byte(in)}
		if n, ok := s.Integer(); ok {
			t.Errorf("%s was taken for %d", in, n)
		}
	}
}

func TestScanBoundsDepth(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 100_000)
	s := &Scan{b: []byte(deep)}
	if s.Skip(); s.OK() {
		t.Error("endless nesting was taken")
	}
}

// Whatever is valid JSON passes, whatever passes is valid but for control
// characters and bytes that are not UTF-8.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-2.5e+3,true,false,null,"x\u00e9\n"],"b":{}}`, `[]`, `{,}`, `[1,]`, `{"a"}`, `{"a":}`, `01`, `1.`, `-`,
		`"\ud83d\ude00"`, "\"\xff\"", " { \"k\" : \"v\" } ", `{"a":1 "b":2}`, `tru`, `nul`, `""""`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &Scan{b: data}
		s.Skip()
		passes := s.End()
		valid := json.Valid(data)
		if valid && !passes && bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) < maxDepth {
			t.Fatalf("valid JSON was refused: %q", data)
		}
		if passes && !valid && !bytes.ContainsFunc(data, func(r rune) bool { return r < ' ' }) {
			t.Fatalf("invalid JSON was taken: %q", data)
		}
		var want string
		if valid && utf8.Valid(data) && json.Unmarshal(data, &want) == nil && bytes.TrimSpace(data)[0] == '"' {
			var scratch []byte
			s := &Scan{b: data}
			b, _ := s.Text(&scratch)
			var got Text
			got.Add(b)
			got.Flush()
			if got.String() != want {
				t.Fatalf("%q is %q, want %q", data, got.String(), want)
			}
		}
	})
}

// A string that is written and read again is the same, whatever was in it.
func TestStringsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.String().Draw(t, "in")
		encoded := jsonstring.Append(nil, in)
		var want string
		if err := json.Unmarshal(encoded, &want); err != nil || want != in {
			t.Fatalf("%q was written as %s: %v", in, encoded, err)
		}
		var scratch []byte
		s := &Scan{b: encoded}
		if got, ok := s.Text(&scratch); !ok || string(got) != in || !s.End() {
			t.Fatalf("%s was read as %q", encoded, got)
		}
	})
}

// Text comes out whole however it was cut, and each prefix that was given out
// is valid.
func TestTextIsPutTogether(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "want")
		var got Text
		rest := []byte(want)
		for len(rest) > 0 {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			got.Add(rest[:n])
			rest = rest[n:]
			if s := got.String(); !utf8.ValidString(s) || !strings.HasPrefix(want, s) {
				t.Fatalf("%q came out as %q", want, s)
			}
		}
		got.Flush()
		if got.String() != want {
			t.Fatalf("%q came out as %q", want, got.String())
		}
	})
}

func TestTextOfHalves(t *testing.T) {
	t.Parallel()
	const high, low = "\xed\xa0\xbd", "\xed\xb8\x80" // of 😀
	for _, test := range []struct {
		pieces []string
		want   string
	}{
		{[]string{high, low}, "😀"},
		{[]string{"a" + high, low + "b"}, "a😀b"},
		{[]string{"\xed", "\xa0", "\xbd", "\xed", "\xb8", "\x80"}, "😀"},
		{[]string{high}, "\uFFFD"},
		{[]string{high, "a"}, "\uFFFDa"},
		{[]string{high, high, low}, "\uFFFD😀"},
		{[]string{low, high}, "\uFFFD\uFFFD"},
		{[]string{high, "界"}, "\uFFFD界"},
		{[]string{"\xe7", "\x95", "\x8c"}, "界"},
		{[]string{"\xe7\x95", "a"}, "\uFFFD\uFFFDa"},
		{[]string{"\xff", "a"}, "\uFFFDa"},
		{[]string{"\xf0\x9f"}, "\uFFFD\uFFFD"},
		{[]string{"\xed\x9f", "\xbf"}, "\uD7FF"},
	} {
		var got Text
		for _, p := range test.pieces {
			got.Add([]byte(p))
		}
		got.Flush()
		if got.String() != test.want {
			t.Errorf("%q: %q, want %q", test.pieces, got.String(), test.want)
		}
	}
}
