package jsonschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in     string
		offset int
		cut    bool
		reason string
	}{
		{``, 0, true, "a value is missing"},
		{`{"path": "a.txt"`, 16, true, "a closing } is missing"},
		{`{"path":"a.txt","content":"half`, 31, true, "a string is not closed"},
		{`{"a":[1,2`, 9, true, "a closing ] is missing"},
		{`{"a":[1,`, 8, true, "the array is not closed"},
		{`{"a":1,`, 7, true, "the object is not closed"},
		{`{"a"`, 4, true, "the object is not closed"},
		{`{"a":`, 5, true, "a value is missing"},
		{`{"a":tr`, 7, true, "a value is incomplete"},
		{`{"a":-`, 6, true, "a number is incomplete"},
		{`{"a":1.`, 7, true, "a number is incomplete"},
		{`{"a":"\`, 7, true, "a string is not closed"},
		{`{"a":"\u12`, 10, true, "a string is not closed"},
		{`{"a":"\ud83d`, 12, true, "a string is not closed"},
		{"{\"a\":\"\xe4\xb8", 8, true, "a string is not closed"},
		{`{'a':1}`, 1, false, "double quotes"},
		{`{"a":'x'}`, 5, false, "double quotes"},
		{`{a:1}`, 1, false, "a key in double quotes"},
		{`{"a":1,}`, 6, false, "a comma stands before the closing }"},
		{`[1,]`, 2, false, "a comma stands before the closing ]"},
		{`[1,,2]`, 3, false, "a JSON value was expected"},
		{`{"a" 1}`, 5, false, `a colon was expected after the key "a"`},
		{`{"a":1 "b":2}`, 7, false, "a comma or } was expected"},
		{`{"a":1,"a":2}`, 7, false, `the key "a" appears twice`},
		{`{"\u0061":1,"a":2}`, 12, false, `the key "a" appears twice`},
		{`{} {}`, 3, false, "something follows the end"},
		{`{}x`, 2, false, "something follows the end"},
		{`[01]`, 1, false, "not a JSON number"},
		{`[1.x]`, 1, false, "not a JSON number"},
		{`[-x]`, 1, false, "not a JSON number"},
		{`[+1]`, 1, false, "a JSON value was expected"},
		{`[NaN]`, 1, false, "a JSON value was expected"},
		{`[1e1001]`, 1, false, "exponent up to 1000"},
		{`[1e99999999999999999999]`, 1, false, "exponent up to 1000"},
		{`[` + strings.Repeat("9", 1001) + `]`, 1, false, "at most 1000 characters"},
		{`"\x"`, 1, false, `\x is no JSON escape`},
		{`"\u12G4"`, 1, false, "four hexadecimal digits"},
		{`"\ud83d"`, 1, false, "half of a character"},
		{`"\ud83dx"`, 1, false, "half of a character"},
		{`"\udc00\ud83d"`, 1, false, "half of a character"},
		{"\"a\nb\"", 2, false, `write it as \u000a`},
		{"\"\xff\"", 1, false, "not valid UTF-8"},
		{"\"\xed\xa0\x80\"", 1, false, "not valid UTF-8"},
		{strings.Repeat("[", 201), 200, false, "nested deeper than 200"},
		{strings.Repeat(`{"a":`, 100_000), 1000, false, "nested deeper than 200"},
		{"\ufeff{}", 0, false, "a JSON value was expected"},
	}
	for _, tt := range tests {
		v, err := Decode([]byte(tt.in))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%.40q: got %v, %v", tt.in, v, err)
			continue
		}
		if syntax.Offset != tt.offset || syntax.Cut != tt.cut || !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("%.40q: got offset %d, cut %v: %v; want %d, %v: %s", tt.in, syntax.Offset, syntax.Cut, err, tt.offset, tt.cut, tt.reason)
		}
		if len(err.Error()) > 400 || !utf8.ValidString(err.Error()) {
			t.Errorf("%.40q: message of %d bytes", tt.in, len(err.Error()))
		}
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{` { "b" : [ 1 , 2.50 , 1E+2 ] , "a" : null } `, `{"a":null,"b":[1,2.50,1E+2]}`},
		{`{"n":123456789012345678901234567890.10}`, `{"n":123456789012345678901234567890.10}`},
		{`"<a href=\"x\">&\u2028\/\u00e9\u0001\ud83d\ude00"`, "\"<a href=\\\"x\\\">&\u2028/é\\u0001😀\""},
		{`"\b\f\n\r\t\\"`, `"\b\f\n\r\t\\"`},
		{`{"":{"":[]}}`, `{"":{"":[]}}`},
	}
	for _, tt := range tests {
		got, err := Canonical([]byte(tt.in))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.in, got, err, tt.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-2.5e3,true,null,"x\n\ud83d\ude00"]}`, `"\u00e9"`, `[]`, `{"a":1,"a":2}`, "[1,]", `{"a`, "\"\xff\"",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := Decode(raw)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(raw) {
				t.Fatalf("error %v", err)
			}
			return
		}
		if !json.Valid(raw) {
			t.Fatalf("accepted %q", raw)
		}
		canonical := appendJSON(nil, v)
		if !json.Valid(canonical) {
			t.Fatalf("made %q", canonical)
		}
		again, err := Canonical(canonical)
		if err != nil || !bytes.Equal(again, canonical) {
			t.Fatalf("not stable: %q, %q, %v", canonical, again, err)
		}
		// What it means is what the standard library reads.
		var want any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got := appendJSON(nil, want); !bytes.Equal(got, canonical) {
			t.Fatalf("got %q, encoding/json reads %q", canonical, got)
		}
	})
}
