package rule

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
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
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("a regular expression has %d bytes; at most %d are allowed", len(pattern), maxPattern)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.re == nil || m.pattern != pattern {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, err
		}
		m.re, m.pattern = re, pattern
	}
	return m.re, nil
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
