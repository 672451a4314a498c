package text

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/tool"
)

//go:embed regex.md
var regexDoc string

type regexIn struct {
	Pattern string  `json:"pattern" min:"1" max:"2000"`
	Text    *string `json:"text"`
	Ref     string  `json:"ref,omitempty"`
	Replace *string `json:"replace" max:"10000"`
}

// Limits of one call.
const (
	maxMatches = 100       // shown; counting goes on to maxCounted
	maxCounted = 100_000   // matches found at all, without replacing
	maxOutput  = 16 << 20  // bytes of a replaced text
	maxProgram = 20_000    // instructions of a compiled pattern
	maxAtOnce  = 200 << 20 // instructions times bytes, in which nothing can interrupt the search
)

// regexMatch is one match in the details.
type regexMatch struct {
	Line   int      `json:"line"`  // from 1
	Start  int      `json:"start"` // in code points from 0
	End    int      `json:"end"`
	Text   string   `json:"text"`
	Groups []string `json:"groups,omitempty"` // of the pattern, in order
}

type regexDetails struct {
	Count   int          `json:"count"`
	More    bool         `json:"more,omitempty"` // counting stopped
	Matches []regexMatch `json:"matches,omitempty"`
}

func regex(refs tool.Refs) tool.Tool {
	return tool.New(definition("regex", regexDoc), func(ctx context.Context, call tool.Call, in regexIn) (tool.Result, error) {
		text, err := textOrRef(ctx, refs, call, in.Text, in.Ref)
		if err != nil {
			return tool.Result{}, err
		}
		s, err := newSearch(ctx, in.Pattern, text)
		if err != nil {
			return tool.Result{}, err
		}
		if in.Replace == nil {
			return s.report()
		}
		return s.replace(*in.Replace)
	})
}

// textOrRef gives the text of a call, which names it in one of two ways.
func textOrRef(ctx context.Context, refs tool.Refs, call tool.Call, text *string, ref string) (string, error) {
	switch {
	case text != nil && ref != "":
		return "", errors.New("give text or ref, not both")
	case text != nil:
		return *text, nil
	case ref == "":
		return "", errors.New("give text, or ref for a result that is kept")
	}
	raw, err := readRef(ctx, refs, call, ref)
	return string(raw), err
}

// A search finds the matches of a pattern in a text one after the other.
//
// The regexp package can't be interrupted, and a search for all matches may
// take quadratic time, so for large texts each match is searched for by itself
// in a stream that ends when the context does.
type search struct {
	ctx  context.Context
	re   *regexp.Regexp
	next *regexp.Regexp // the pattern after one character and anything
	text string
	size int // instructions

	most int // maxAtOnce, less in tests
}

func newSearch(ctx context.Context, pattern, text string) (*search, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, patternError(pattern, err)
	}
	// What compiles as such compiles in a group.
	next, err := regexp.Compile(`\A(?s:.)(?s:.*?)(` + pattern + `)`)
	if err != nil {
		return nil, patternError(pattern, err)
	}
	size, err := programSize(pattern)
	if err != nil {
		return nil, patternError(pattern, err)
	}
	if size > maxProgram {
		return nil, fmt.Errorf("pattern: its repetitions make it too large (%d instructions, the limit is %d)", size, maxProgram)
	}
	return &search{ctx: ctx, re: re, next: next, text: text, size: size, most: maxAtOnce}, nil
}

// programSize gives the instructions of a compiled pattern. Times the length of
// a text it bounds the work of one search.
func programSize(pattern string) (int, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return 0, err
	}
	return len(prog.Inst), nil
}

// patternError says what is wrong with a pattern and, for what RE2 lacks, that
// it lacks it.
func patternError(pattern string, err error) error {
	var bad *syntax.Error
	if !errors.As(err, &bad) {
		return fmt.Errorf("pattern: %w", err)
	}
	hint := ""
	for _, look := range [...]string{"(?=", "(?!", "(?<=", "(?<!", "(?>"} {
		if strings.Contains(pattern, look) {
			hint = "; RE2 has no look-around: match more and use groups"
		}
	}
	if len(bad.Expr) == 2 && bad.Expr[0] == '\\' && bad.Expr[1] >= '1' && bad.Expr[1] <= '9' {
		hint = "; RE2 has no back references in patterns"
	}
	return fmt.Errorf("pattern: %s in %q%s", bad.Code, clip(bad.Expr, 60), hint)
}

// each calls yield for every match, with the indices that regexp gives, until
// it returns false.
func (s *search) each(yield func(match []int) bool) error {
	// Found all at once where even the worst case is quick.
	if n := len(s.text) + 1; n*n/1024*s.size < s.most/1024 {
		for _, m := range s.re.FindAllStringSubmatchIndex(s.text, -1) {
			if !yield(m) {
				break
			}
		}
		return s.ctx.Err()
	}
	// As FindAll does: matches don't overlap, and an empty match right after
	// another match doesn't count.
	for pos, last := 0, -1; pos <= len(s.text); {
		m, err := s.from(pos)
		if err != nil || m == nil {
			return err
		}
		if m[1] > m[0] || m[0] != last {
			if !yield(m) {
				return nil
			}
		}
		last = m[1]
		if pos = m[1]; m[1] == m[0] {
			_, n := utf8.DecodeRuneInString(s.text[pos:])
			pos += max(n, 1)
		}
	}
	return nil
}

// from finds the first match that begins at pos or later, nil for none. What
// stands before pos counts for ^ and \b.
func (s *search) from(pos int) ([]int, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	if pos == 0 {
		return s.find(s.re, 0)
	}
	_, n := utf8.DecodeLastRuneInString(s.text[:pos])
	m, err := s.find(s.next, pos-n)
	if m == nil || err != nil {
		return nil, err
	}
	return m[2:], nil // without the character and anything
}

func (s *search) find(re *regexp.Regexp, base int) ([]int, error) {
	var m []int
	if text := s.text[base:]; len(text)*s.size <= s.most/16 {
		m = re.FindStringSubmatchIndex(text)
	} else {
		r := &stream{ctx: s.ctx, text: text}
		m = re.FindReaderSubmatchIndex(r)
		if r.err != nil {
			return nil, r.err
		}
	}
	for i := range m {
		if m[i] >= 0 {
			m[i] += base
		}
	}
	return m, nil
}

// stream gives a text rune by rune until a context ends.
type stream struct {
	ctx  context.Context
	text string
	n    int
	err  error
}

func (r *stream) ReadRune() (rune, int, error) {
	if r.n++; r.n%4096 == 0 && r.err == nil {
		r.err = r.ctx.Err()
	}
	if r.err != nil || r.text == "" {
		return 0, 0, io.EOF
	}
	c, n := utf8.DecodeRuneInString(r.text)
	r.text = r.text[n:]
	return c, n, nil
}

// report lists the matches with line, position and groups.
func (s *search) report() (tool.Result, error) {
	var b strings.Builder
	details := regexDetails{}
	seen, points, line := 0, 0, 1 // how far positions are counted
	names := s.re.SubexpNames()
	err := s.each(func(m []int) bool {
		if details.Count == maxCounted {
			details.More = true
			return false
		}
		details.Count++
		if details.Count > maxMatches {
			return true
		}
		points += utf8.RuneCountInString(s.text[seen:m[0]])
		line += strings.Count(s.text[seen:m[0]], "\n")
		seen = m[0]
		found := regexMatch{
			Line: line, Start: points, End: points + utf8.RuneCountInString(s.text[m[0]:m[1]]),
			Text: clip(s.text[m[0]:m[1]], 200),
		}
		fmt.Fprintf(&b, "\nline %d, %d-%d: %s", found.Line, found.Start, found.End, strconv.Quote(found.Text))
		for g := 1; g < len(names); g++ {
			label, text := "$"+strconv.Itoa(g), "not matched"
			if names[g] != "" {
				label = names[g]
			}
			group := ""
			if from, to := m[2*g], m[2*g+1]; from >= 0 {
				group = clip(s.text[from:to], 200)
				text = strconv.Quote(group)
			}
			found.Groups = append(found.Groups, group)
			fmt.Fprintf(&b, "; %s=%s", label, text)
		}
		details.Matches = append(details.Matches, found)
		return true
	})
	if err != nil {
		return tool.Result{}, fmt.Errorf("search: %w", err)
	}
	head := "no match"
	switch n := details.Count; {
	case details.More:
		head = fmt.Sprintf("more than %d matches; the first %d:", n, maxMatches)
	case n > maxMatches:
		head = fmt.Sprintf("%d matches; the first %d:", n, maxMatches)
	case n == 1:
		head = "1 match (characters from 0):"
	case n > 1:
		head = fmt.Sprintf("%d matches (characters from 0):", n)
	}
	r := tool.TextResult(head + b.String())
	r.Details = details
	return r, nil
}

// replace gives the text with every match replaced.
func (s *search) replace(template string) (tool.Result, error) {
	if err := s.checkTemplate(template); err != nil {
		return tool.Result{}, err
	}
	var out []byte
	done, count, large := 0, 0, false
	err := s.each(func(m []int) bool {
		out = append(out, s.text[done:m[0]]...)
		out = s.re.ExpandString(out, template, s.text, m)
		done = m[1]
		count++
		large = len(out) > maxOutput
		return !large
	})
	if err != nil {
		return tool.Result{}, fmt.Errorf("replace: %w", err)
	}
	if out = append(out, s.text[done:]...); large || len(out) > maxOutput {
		return tool.Result{}, fmt.Errorf("replace: the result has more than %d bytes", maxOutput)
	}
	r := tool.TextResult(string(out))
	if count == 0 {
		r = tool.TextResult("no match; the text is unchanged")
	}
	r.Details = regexDetails{Count: count}
	return r, nil
}

var templateGroup = pattern(`\$(\$|\w+|\{\w*\}?)|\\(\d)`)

// checkTemplate refuses what would silently insert nothing.
func (s *search) checkTemplate(template string) error {
	for _, m := range templateGroup().FindAllStringSubmatch(template, -1) {
		name := strings.Trim(m[1], "{}")
		number, err := strconv.Atoi(name)
		switch {
		case m[2] != "":
			return fmt.Errorf("replace: write $%s for group %s, not %s", m[2], m[2], m[0])
		case m[1] == "$", slices.Contains(s.re.SubexpNames(), name) && name != "", err == nil && number <= s.re.NumSubexp():
			continue
		case err == nil:
			return fmt.Errorf("replace: the pattern has no group %d, it has %d; write $$ for a dollar sign", number, s.re.NumSubexp())
		}
		hint := "write $$ for a dollar sign"
		if digits := len(name) - len(strings.TrimLeft(name, "0123456789")); digits > 0 {
			hint = fmt.Sprintf("write ${%s}%s for group %s before other text", name[:digits], name[digits:], name[:digits])
		}
		return fmt.Errorf("replace: the pattern has no group %q; %s", name, hint)
	}
	return nil
}
