package cli

import "testing"

func TestFoldLines(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"one two three four\n":             "one two\nthree four\n",
		"\n\nfits\n":                       "\n\nfits\n",
		"  one two three four\n":           "  one two\n  three four\n",
		"ab   one two three\n":             "ab   one two\n     three\n",
		"one two   three four\n":           "one two\nthree four\n", // too far right for a column
		"· one two three\n":                "· one two\n  three\n",
		"· ab  one two three\n":            "· ab  one\n      two\n      three\n",
		"abcdefghijklmnopqrst\n":           "abcdefghijkl\nmnopqrst\n",
		"see abcdefghijklmnopqrst there\n": "see\nabcdefghijkl\nmnopqrst\nthere\n",
		"日本語の 日本語の\n":                      "日本語の\n日本語の\n",
		"trailing  \n":                     "trailing  \n",
	} {
		if got := foldLines(in, 12); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
