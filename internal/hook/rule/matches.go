package rule

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// matching replaces CEL's own matches, which looks at a text of any size without
// an end: this one ends when the evaluation does.
func matching(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok || call.Function() != overloads.Matches || len(call.Args()) != 2 {
		return i, nil
	}
	return &matches{InterpretableCall: call}, nil
}

// patterns is a check of conditions: a regular expression that stands in one can
// be compiled. (CEL's own check overlooks the form matches(text, pattern).)
type patterns struct{}

// Name implements [cel.ASTValidator].
func (patterns) Name() string { return "goclaw.patterns" }

// Validate implements [cel.ASTValidator].
func (patterns) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	for _, e := range ast.MatchDescendants(ast.NavigateAST(a), ast.FunctionMatcher(overloads.Matches)) {
		args := e.AsCall().Args()
		if len(args) == 0 {
			continue
		}
		pattern, ok := literal(args[len(args)-1])
		if !ok {
			continue
		}
		if _, err := compilePattern(pattern); err != nil {
			issues.ReportErrorAtID(args[len(args)-1].ID(), "%s", err)
		}
	}
}

// literal is the text of e when that is a literal, or literals that are put
// together: those stand for one that is too long for a line.
func literal(e ast.Expr) (text string, ok bool) {
	switch e.Kind() {
	case ast.LiteralKind:
		s, ok := e.AsLiteral().(types.String)
		return string(s), ok
	case ast.CallKind:
		if e.AsCall().FunctionName() != operators.Add {
			return "", false
		}
		for _, arg := range e.AsCall().Args() {
			s, ok := literal(arg)
			if !ok {
				return "", false
			}
			text += s
		}
		return text, true
	}
	return "", false
}

// interruptible are the options with which a condition is evaluated that ends with
// its context.
func interruptible() []cel.ProgramOption {
	return []cel.ProgramOption{cel.InterruptCheckFrequency(interruptEvery), cel.CustomDecoratorV2(matching)}
}

const (
	// interruptEvery is how often the end of an evaluation may come to be asked
	// before it is looked at, and askEvery how many characters are matched in between.
	interruptEvery = 100
	askEvery       = 64
	// maxPattern bounds a regular expression, in bytes: it may come out of a call.
	maxPattern = maxCondition
)

// matches is a call of matches.
type matches struct {
	interpreter.InterpretableCall

	mu      sync.Mutex
	pattern string         // that re was made of: it hardly ever is another one
	re      *regexp.Regexp // nil before the first
}

// Exec implements [interpreter.InterpretableV2].
func (m *matches) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	var texts [2]string
	for i, arg := range m.Args() {
		switch v := arg.Exec(frame).(type) {
		case types.String:
			texts[i] = string(v)
		case *types.Err, *types.Unknown:
			return v
		default:
			return types.MaybeNoSuchOverloadErr(v)
		}
	}
	re, err := m.compiled(texts[1])
	if err != nil {
		return types.WrapErr(err)
	}
	// A pattern that is anchored has a whole literal as well; one that is nothing but
	// its literal isn't.
	if literal, whole := re.LiteralPrefix(); whole && literal == texts[1] {
		return types.Bool(strings.Contains(texts[0], literal))
	}
	text := &interruptedText{rest: texts[0], frame: frame}
	found := re.MatchReader(text)
	if text.interrupted {
		return types.WrapErr(interpreter.InterruptError{})
	}
	return types.Bool(found)
}

// Eval implements [interpreter.Interpretable].
func (m *matches) Eval(vars interpreter.Activation) ref.Val { return m.Exec(interpreter.AsFrame(vars)) }

func (m *matches) compiled(pattern string) (*regexp.Regexp, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.re == nil || m.pattern != pattern {
		re, err := compilePattern(pattern)
		if err != nil {
			return nil, err
		}
		m.re, m.pattern = re, pattern
	}
	return m.re, nil
}

// compilePattern compiles a regular expression of a condition or a call. The error
// has it in short.
func compilePattern(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("a regular expression has %d bytes; at most %d are allowed", len(pattern), maxPattern)
	}
	re, err := regexp.Compile(pattern)
	var fault *syntax.Error
	switch {
	case err == nil:
		return re, nil
	case !errors.As(err, &fault):
		return nil, err
	}
	advice := ""
	if fault.Code == syntax.ErrInvalidPerlOp {
		advice = " (it is RE2, which has no look-around)"
	}
	return nil, fmt.Errorf("the regular expression %s can't be used: %s: %s%s", shortened(pattern), fault.Code, shortened(fault.Expr), advice)
}

// interruptedText is a text that ends early when the evaluation is interrupted.
type interruptedText struct {
	rest        string
	frame       *interpreter.ExecutionFrame
	read        int
	interrupted bool
}

// ReadRune implements [io.RuneReader].
func (t *interruptedText) ReadRune() (r rune, size int, err error) {
	if t.read++; t.read%askEvery == 0 && t.frame.CheckInterrupt() {
		t.interrupted = true
	}
	if t.rest == "" || t.interrupted {
		return 0, 0, io.EOF
	}
	r, size = utf8.DecodeRuneInString(t.rest)
	t.rest = t.rest[size:]
	return r, size, nil
}
