package wire

import (
	"strings"
	"testing"
)

func TestArgumentsThatGoBack(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"{\"a\":\"b\x00\"}":         `{"_invalid":"{\"a\":\"b\u0000\"}"}`,
		"{\"a\n\":\"b\"}":           `{"a\n":"b"}`,
		"{\"a\":\"\\t\t\"}":         `{"a":"\t\t"}`,
		`{"a":1,}`:                  `{"a":1}`,
		"```json\n{\"a\":1}\n```":   `{"a":1}`,
		`{"a":"\ud83d"}`:            `{"_invalid":"{\"a\":\"\\ud83d\"}"}`,
		`{"a":"\ud83d\ude00"}`:      `{"a":"\ud83d\ude00"}`,
		`"{\"a\":\"\ud83d\"}"`:      `{"_invalid":"\"{\\\"a\\\":\\\"\\ud83d\\\"}\""}`,
		"":                          "{}",
		"  \n":                      "{}",
		"null":                      "{}",
		`{"a":1}`:                   `{"a":1}`,
		` {"a": 1} `:                ` {"a": 1} `,
		`"{\"a\":1}"`:               `{"a":1}`,
		`"text"`:                    `{"_invalid":"\"text\""}`,
		`[1]`:                       `{"_invalid":"[1]"}`,
		`{"a":`:                     `{"_invalid":"{\"a\":"}`,
		`{'a': 1}`:                  `{"_invalid":"{'a': 1}"}`,
		`{"a":1}{"a":1}`:            `{"_invalid":"{\"a\":1}{\"a\":1}"}`,
		strings.Repeat("界", 1000):   `{"_invalid":"` + strings.Repeat("界", 333) + `"}`,
		`nullx`:                     `{"_invalid":"nullx"}`,
		"\"{\\\"a\\\":\\\"\xff\\\"": `{"_invalid":"\"{\\\"a\\\":\\\"\ufffd\\\""}`,
	} {
		if got := Arguments(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestIDsThatGoBack(t *testing.T) {
	t.Parallel()
	if got := callID("", 40, 3, 1); got != "call_3_1" {
		t.Errorf("no id: %q", got)
	}
	for _, id := range []string{"toolu_01-A", strings.Repeat("x", 40)} {
		if got := callID(id, 40, 0, 0); got != id {
			t.Errorf("%q became %q", id, got)
		}
	}
	seen := map[string]string{}
	for _, id := range []string{strings.Repeat("x", 41), strings.Repeat("x", 42), "a b", "a.b", "ä"} {
		got := callID(id, 40, 0, 0)
		if len(got) > 40 || strings.IndexFunc(got, illegal) >= 0 || seen[got] != "" {
			t.Errorf("%q became %q, as did %q", id, got, seen[got])
		}
		seen[got] = id
	}
}

func TestTruncated(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args      string
		last      bool
		truncated bool
	}{
		{`{"a":1}`, false, false},
		{`{"a":1}`, true, false},
		{`{"a":1} `, true, false},
		{`{"a":`, false, true},
		{`{"a":"x\`, false, true},
		{`{'a':1`, false, false},
		{`{'a':1`, true, true},
		{"", false, false},
		{"", true, true},
		{" ", true, true},
	} {
		if got := Truncated(test.args, test.last); got != test.truncated {
			t.Errorf("%q, last %v: %v", test.args, test.last, got)
		}
	}
}
