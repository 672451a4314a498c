package rule

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// condition is a condition that was compiled.
type condition struct{ program cel.Program }

const (
	// maxCondition bounds the text of a condition, in bytes.
	maxCondition = 10_000
	// maxCost bounds the work of one evaluation, in CEL's units: about ten
	// characters looked at, or one comparison. It takes less than a second, but
	// where loops stand in loops over long lists, of which the counting itself
	// takes more and more: maxTime bounds that.
	maxCost = 2_000_000
	maxTime = 2 * time.Second
)

// beforeEnv and afterEnv are made when the first condition is compiled: that
// takes a millisecond or two, which programs without rules needn't spend.
var (
	beforeEnv = sync.OnceValues(func() (*cel.Env, error) { return cel.NewEnv(variables()...) })
	afterEnv  = sync.OnceValues(func() (*cel.Env, error) {
		return cel.NewEnv(append(variables(),
			cel.Variable("status", cel.StringType), cel.Variable("result", cel.StringType), cel.Variable("error", cel.StringType),
			cel.Variable("duration_ms", cel.IntType), cel.Variable("cached", cel.BoolType))...)
	})
)

// variables are what every condition may speak of.
func variables() []cel.EnvOption {
	return []cel.EnvOption{
		cel.CrossTypeNumericComparisons(true),
		cel.ASTValidators(patterns{}, fields{}, cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals()),
		cel.Variable("tool", cel.StringType),
		cel.Variable("args", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("caller", cel.MapType(cel.StringType, cel.DynType)), // id, role, human
		cel.Variable("agent", cel.StringType),
		cel.Variable("session", cel.StringType),
		cel.Variable("origin", cel.StringType),
		cel.Variable("channel", cel.StringType),
		cel.Variable("owner", cel.StringType),
		cel.Variable("read_only", cel.BoolType),
		cel.Variable("touches", cel.ListType(cel.MapType(cel.StringType, cel.DynType))), // name, write
	}
}

// CheckCondition says what is wrong with a condition of a rule that acts
// before or after calls; an empty one is fine and always true.
func CheckCondition(when When, text string) error {
	_, err := compileCondition(when, text)
	return err
}

// compileCondition returns nil for an empty condition.
func compileCondition(when When, text string) (*condition, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if len(text) > maxCondition {
		return nil, fmt.Errorf("it has %d bytes; at most %d are allowed", len(text), maxCondition)
	}
	envOf := beforeEnv
	if when == After {
		envOf = afterEnv
	}
	env, err := envOf()
	if err != nil {
		return nil, fmt.Errorf("prepare conditions: %w", err)
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, first(issues, text)
	}
	if out := ast.OutputType(); !out.IsExactType(cel.BoolType) && !out.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("it is no condition: it gives %s, not true or false", one(cel.FormatCELType(out)))
	}
	p, err := env.Program(ast, append(interruptible(), cel.CostLimit(maxCost))...)
	if err != nil {
		return nil, err
	}
	return &condition{p}, nil
}

// first is the first of the issues, on one line.
func first(issues *cel.Issues, text string) error {
	e := issues.Errors()[0]
	at := ""
	if e.Location.Line() > 0 {
		at = fmt.Sprintf(" (character %d)", e.Location.Column()+1)
		if strings.Contains(strings.TrimSpace(text), "\n") {
			at = fmt.Sprintf(" (line %d of it, character %d)", e.Location.Line(), e.Location.Column()+1)
		}
	}
	return errors.New(strings.Join(strings.Fields(plainSyntax(e.Message)), " ") + at)
}

// ofParser are the words of the parser before what it did not expect, which
// stands in quotes.
var ofParser = []string{"mismatched input ", "extraneous input ", "no viable alternative at input ", "token recognition error at: "}

// plainSyntax is a fault of the parser without the tokens that it waited for;
// other faults are as they are.
func plainSyntax(message string) string {
	rest, ok := strings.CutPrefix(message, "Syntax error: ")
	if !ok {
		return message
	}
	rest, _, _ = strings.Cut(rest, " expecting ")
	for _, words := range ofParser {
		what, ok := strings.CutPrefix(rest, words)
		switch {
		case !ok:
		case strings.Contains(what, "<EOF>"):
			return "it ends too early"
		case strings.HasPrefix(what, `'"`), strings.HasPrefix(what, "''"):
			return "a text has no end"
		default:
			return "unexpected '" + strings.TrimSpace(strings.Trim(what, "'")) + "'"
		}
	}
	if what, at, ok := strings.Cut(rest, " at '<EOF>'"); ok && at == "" {
		return "it ends too early: " + what
	}
	return rest
}

// one is a type with its article.
func one(name string) string {
	if name != "" && strings.ContainsRune("aeio", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}

// holds evaluates the condition. The error says that it can't be evaluated.
func (c *condition) holds(ctx context.Context, vars map[string]any) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	out, _, err := c.program.ContextEval(ctx, vars)
	switch {
	case ctx.Err() != nil:
		return false, errors.New("it took too long")
	case err != nil:
		return false, errors.New(strings.Join(strings.Fields(err.Error()), " "))
	case out.Type() != types.BoolType:
		return false, fmt.Errorf("it gives %s, not true or false", one(out.Type().TypeName()))
	}
	return out.Value().(bool), nil
}

// facts are the values of a condition's variables. o is nil before the call.
func facts(c *hook.Call, o *tool.Outcome) (map[string]any, error) {
	args := map[string]any{}
	if len(c.Args) > 0 {
		d := json.NewDecoder(bytes.NewReader(c.Args))
		d.UseNumber()
		if err := d.Decode(&args); err != nil {
			return nil, errors.New("the arguments are no JSON object")
		}
		for k, v := range args {
			args[k] = plain(v)
		}
	}
	touches := make([]any, len(c.Touches))
	for i, t := range c.Touches {
		touches[i] = map[string]any{"name": t.Name, "write": t.Write}
	}
	p := c.Scope.Caller()
	vars := map[string]any{
		"tool": c.Tool, "args": args, "agent": c.Scope.Agent(), "session": c.Scope.Session(), "origin": string(c.Scope.Origin()),
		"channel": c.Scope.Delivery().Channel, "owner": ownerOf(c.Owner), "read_only": c.Def.ReadOnly, "touches": touches,
		"caller": map[string]any{"id": p.ID, "role": string(p.Role), "human": p.Human},
	}
	if o != nil {
		result, failure := llm.JoinText(o.Content), ""
		if o.Failed() {
			result, failure = "", result
		}
		vars["status"], vars["result"], vars["error"] = string(o.Status), result, failure
		vars["duration_ms"], vars["cached"] = o.Ended.Sub(o.Started).Milliseconds(), o.Cached
	}
	return vars, nil
}

// ownerOf is an owner without its version: plugin:weather, mcp:docs, family:files.
func ownerOf(o tool.Owner) string {
	if o.ID == "" {
		return o.Kind.String()
	}
	return o.Kind.String() + ":" + o.ID
}

// plain gives numbers of JSON the types that CEL has: int, uint, and double for
// the rest.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, sub := range v {
			v[k] = plain(sub)
		}
	case []any:
		for i, sub := range v {
			v[i] = plain(sub)
		}
	case json.Number:
		if n, ok := new(big.Int).SetString(v.String(), 10); ok {
			switch {
			case n.IsInt64():
				return n.Int64()
			case n.IsUint64():
				return n.Uint64()
			}
		}
		f, err := v.Float64()
		if err != nil {
			// Infinity, as everything beyond the range is read.
			f, _ = new(big.Float).SetInf(strings.HasPrefix(v.String(), "-")).Float64()
		}
		return f
	}
	return v
}
