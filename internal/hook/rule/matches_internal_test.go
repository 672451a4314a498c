package rule

import (
	"context"
	"strings"
	"testing"
)

// A regular expression over a large text ends with the evaluation.
func TestMatchesEndsWithItsContext(t *testing.T) {
	t.Parallel()
	c, err := compileCondition(Before, `args.text.matches("(a?b?c?d?){30}zz")`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	vars := map[string]any{"args": map[string]any{"text": strings.Repeat("abcd ", 10_000)}}
	if _, _, err := c.program.ContextEval(ctx, vars); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("it went on to its end: %v", err)
	}
	if holds, err := c.holds(t.Context(), map[string]any{"args": map[string]any{"text": "abcdzz"}}); err != nil || !holds {
		t.Errorf("it does not hold: %v", err)
	}
}

// matches means what it means in CEL.
func TestMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		match string
		want  bool
		err   string // part of why it can't be evaluated
	}{
		{`args.text.matches("^rm +-rf")`, true, ""},
		{`matches(args.text, "rm")`, true, ""},
		{`args.text.matches("")`, true, ""},
		{`args.text.matches("^$")`, false, ""},
		{`"/etc/safe/x".matches("^/safe$")`, false, ""},
		{`"nonprod".matches("^prod$")`, false, ""},
		{`"prod".matches("^prod$")`, true, ""},
		{`"nonprod".matches("\\Aprod\\z")`, false, ""},
		{`"axb".matches("a\\.b")`, false, ""},
		{`"xa.bx".matches("a\\.b")`, true, ""},
		{`args.text.matches("ß\\b")`, false, ""},
		{`args.text.matches("(?i)É")`, true, ""},
		{`args.bad.matches("a.c")`, true, ""},
		{`["rm", "ls"].exists(w, args.text.matches("^" + w))`, true, ""},
		{`args.text.matches(args.pattern)`, false, "missing closing"},
		{`args.n.matches("1")`, false, "no such overload"},
		{`args.text.matches(args.n)`, false, "no such overload"},
		{`args.none.matches("1")`, false, "no such key"},
		{`args.n == 1 || args.none.matches("1")`, true, ""},
		{`args.text.matches(args.long)`, false, "at most 10000"},
	} {
		vars := map[string]any{"args": map[string]any{
			"text": "rm -rf /é", "bad": "a\xffc", "n": int64(1), "pattern": "(", "long": strings.Repeat("a", maxPattern+1),
		}}
		cond, err := compileCondition(Before, c.match)
		if err != nil {
			t.Errorf("%s: %v", c.match, err)
			continue
		}
		got, err := cond.holds(t.Context(), vars)
		switch {
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v", c.match, err)
		case c.err == "" && err != nil, got != c.want:
			t.Errorf("%s: %v, %v", c.match, got, err)
		}
	}
}
