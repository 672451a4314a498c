package text

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/lib/nearest"
)

// maxNesting bounds how deep an expression may be.
const maxNesting = 200

// An exprError says where an expression is wrong.
type exprError struct {
	at  int // position, in characters from 1
	err error
}

func (e *exprError) Error() string { return fmt.Sprintf("at position %d: %v", e.at, e.err) }
func (e *exprError) Unwrap() error { return e.err }

// evaluate gives the value of an expression, and notes on how it was read
// where it could have been read otherwise. The error is an [*exprError].
func evaluate(text string) (value, []string, error) {
	tokens, err := scan(text)
	if err != nil {
		return value{}, nil, err
	}
	p := parser{tokens: tokens}
	v, err := p.expression()
	if err == nil && p.token().kind != endToken {
		err = p.unexpected()
	}
	if err != nil {
		return value{}, nil, err
	}
	return v, p.notes, nil
}

type parser struct {
	tokens []token
	pos    int
	depth  int
	notes  []string
}

func (p *parser) token() token { return p.tokens[p.pos] }

// take consumes the token at hand if it is the given sign or word.
func (p *parser) take(text string) bool {
	if t := p.token(); t.kind != endToken && t.kind != numberToken && t.text == text {
		p.pos++
		return true
	}
	return false
}

func (p *parser) note(text string) {
	if !slices.Contains(p.notes, text) {
		p.notes = append(p.notes, text)
	}
}

// at gives an error the position of a token.
func at(t token, err error) error {
	var known *exprError
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &exprError{t.at, err}
}

func (p *parser) unexpected() error {
	t := p.token()
	switch {
	case t.kind == endToken:
		return at(t, errors.New("the expression ends too early"))
	case t.kind == signToken && (t.text == "," || t.text == ")"):
		if t.text == "," {
			return at(t, errors.New("a comma stands between the arguments of a function only; write 1234.5 for 1,234.5"))
		}
		return at(t, errors.New("a closing parenthesis without an opening one"))
	case p.pos > 0 && t.kind == numberToken && p.tokens[p.pos-1].kind == numberToken:
		return at(t, errors.New("two numbers without an operator; write 1234 for 1 234"))
	}
	return at(t, fmt.Errorf("an operator is missing before %q", clip(t.text, 20)))
}

func (p *parser) enter() error {
	if p.depth++; p.depth > maxNesting {
		return at(p.token(), fmt.Errorf("nested deeper than %d levels", maxNesting))
	}
	return nil
}

// expression = comparison [("in" | "to" | "as") unit]
func (p *parser) expression() (value, error) {
	if err := p.enter(); err != nil {
		return value{}, err
	}
	defer func() { p.depth-- }()
	v, err := p.comparison()
	if err != nil {
		return value{}, err
	}
	for p.take("in") || p.take("to") || p.take("as") {
		t := p.token()
		unit, err := unitOf(t.text)
		switch {
		case t.kind != nameToken:
			err = errors.New("a unit of time is missing")
		case err == nil && !v.time:
			err = fmt.Errorf("a plain number has no unit; write for example 90 min in %s", clip(t.text, 20))
		}
		if err != nil {
			return value{}, at(t, err)
		}
		p.pos++
		v.unit = unit
	}
	return v, nil
}

// comparison = sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
func (p *parser) comparison() (value, error) {
	left, err := p.sum()
	if err != nil {
		return value{}, err
	}
	op := p.token()
	if op.kind != signToken || !strings.ContainsAny(op.text, "<>=") {
		return left, nil
	}
	p.pos++
	right, err := p.sum()
	if err != nil {
		return value{}, err
	}
	if err := alike(left, right, "compare"); err != nil {
		return value{}, at(op, err)
	}
	if left.approx || right.approx {
		p.note("compared with rounded numbers")
	}
	if next := p.token(); next.kind == signToken && strings.ContainsAny(next.text, "<>=") {
		return value{}, at(next, errors.New("a comparison takes two values; write one for each pair"))
	}
	order := left.r.Cmp(right.r)
	truth := map[string]bool{
		"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0, "==": order == 0, "!=": order != 0,
	}[op.text]
	return value{r: new(big.Rat), truth: &truth}, nil
}

// sum = product {("+" | "-") product}
func (p *parser) sum() (value, error) {
	left, err := p.product()
	if err != nil {
		return value{}, err
	}
	for {
		op := p.token()
		if !p.take("+") && !p.take("-") {
			return left, nil
		}
		right, err := p.product()
		if err != nil {
			return value{}, err
		}
		if right.percent && !left.percent {
			// 240 + 15% is 276, as on a pocket calculator.
			p.note("percent taken of the left side")
			if right, err = scale(right, left); err != nil {
				return value{}, at(op, err)
			}
		}
		if op.text == "-" {
			right = neg(right)
		}
		if err := alike(left, right, "add"); err != nil {
			return value{}, at(op, err)
		}
		isTime, percent := left.time, left.percent && right.percent
		if left, err = add(left, right); err != nil {
			return value{}, at(op, err)
		}
		left.time, left.percent = isTime, percent
	}
}

// product = signed {("*" | "/" | "%" | "mod" | "of") signed}
func (p *parser) product() (value, error) {
	left, err := p.signed()
	if err != nil {
		return value{}, err
	}
	for {
		op := p.token()
		switch {
		case op.text == "of" && !left.percent && op.kind == nameToken:
			return value{}, at(op, errors.New(`"of" follows a percentage, as in 15% of 240`))
		case !p.take("*") && !p.take("/") && !p.take("%") && !p.take("mod") && !p.take("of"):
			return left, nil
		}
		right, err := p.signed()
		if err != nil {
			return value{}, err
		}
		switch op.text {
		case "*", "of":
			left, err = scale(left, right)
		case "/":
			left, err = divide(left, right)
		default:
			if err = alike(left, right, "divide"); err == nil {
				isTime := left.time
				left, err = rem(left, right)
				left.time = isTime
			}
		}
		if err != nil {
			return value{}, at(op, err)
		}
	}
}

// signed = ("-" | "+") signed | power
func (p *parser) signed() (value, error) {
	if err := p.enter(); err != nil {
		return value{}, err
	}
	defer func() { p.depth-- }()
	t := p.token()
	if !p.take("-") && !p.take("+") {
		return p.power()
	}
	v, err := p.signed()
	if err == nil && v.truth != nil {
		err = at(t, errTruth)
	}
	if err == nil && t.text == "-" {
		v = neg(v)
	}
	return v, err
}

// power = operand ["^" signed], from the right: 2^3^2 is 2^9 and -2^2 is -4.
func (p *parser) power() (value, error) {
	base, err := p.operand()
	if err != nil {
		return value{}, err
	}
	op := p.token()
	if !p.take("^") {
		return base, nil
	}
	exp, err := p.signed()
	if err != nil {
		return value{}, err
	}
	if err := plainNumbers("power", base, exp); err != nil {
		return value{}, at(op, err)
	}
	v, err := pow(base, exp)
	return v, at(op, err)
}

// operand = atom ["%"], where the percent sign isn't that of a remainder.
func (p *parser) operand() (value, error) {
	v, err := p.atom()
	if err != nil || p.token().text != "%" {
		return v, err
	}
	percent := p.token()
	switch next := p.tokens[p.pos+1]; {
	case next.kind == numberToken, next.text == "(",
		next.kind == nameToken && !slices.Contains([]string{"of", "in", "to", "as", "mod"}, next.text):
		p.note("% read as remainder")
		return v, nil
	}
	// In 7 % -3 and 7%-3 nobody can tell; 7% - 3 is clear.
	if next := p.tokens[p.pos+1]; (!percent.tight || next.tight) && (next.text == "-" || next.text == "+") {
		p.note("% read as percent")
	}
	p.pos++
	if err := plainNumbers("percentage", v); err != nil {
		return value{}, at(percent, err)
	}
	if v, err = div(v, value{r: big.NewRat(100, 1)}); err != nil {
		return value{}, at(percent, err)
	}
	v.percent = true
	return v, nil
}

// atom = number {unit number} [unit] | "(" expression ")" [unit] | name ["(" arguments ")"]
func (p *parser) atom() (value, error) {
	t := p.token()
	switch {
	case t.kind == numberToken:
		return p.number()
	case p.take("("):
		v, err := p.expression()
		if err != nil {
			return value{}, err
		}
		if !p.take(")") {
			if p.token().kind == endToken {
				return value{}, at(t, errors.New("this parenthesis is not closed"))
			}
			return value{}, p.unexpected()
		}
		v.percent, v.unit = false, ""
		return p.withUnit(v)
	case t.kind == nameToken:
		p.pos++
		if p.take("(") {
			return p.call(t)
		}
		switch strings.ToLower(t.text) {
		case "pi", "π":
			return value{r: fromFloat(piValue()), approx: true}, nil
		case "e":
			return value{r: fromFloat(eValue()), approx: true}, nil
		}
		if _, err := unitOf(t.text); err == nil {
			return value{}, at(t, fmt.Errorf("a number is missing before the unit %s", t.text))
		}
		return value{}, at(t, fmt.Errorf("unknown name %q%s", clip(t.text, 20), didYouMean(t.text, knownNames)))
	case t.kind == endToken:
		return value{}, at(t, errors.New("a number is missing at the end"))
	}
	return value{}, at(t, fmt.Errorf("a number was expected, not %q", t.text))
}

// number reads a number, or a time of several parts such as 3h 20min.
func (p *parser) number() (value, error) {
	t := p.token()
	p.pos++
	v, err := literal(t.text)
	if err != nil {
		return value{}, at(t, err)
	}
	if v, err = p.withUnit(v); err != nil || !v.time || p.token().kind != numberToken {
		return v, err
	}
	if _, err := unitOf(p.tokens[p.pos+1].text); err != nil || p.tokens[p.pos+1].kind != nameToken {
		return v, nil // the missing operator is reported by whoever reads on
	}
	rest, err := p.number()
	if err != nil {
		return value{}, err
	}
	if v, err = add(v, rest); err != nil {
		return value{}, at(t, err)
	}
	v.time = true
	return v, nil
}

// withUnit makes a number a time when a unit follows it.
func (p *parser) withUnit(v value) (value, error) {
	t := p.token()
	if t.kind != nameToken {
		return v, nil
	}
	unit, err := unitOf(t.text)
	if errors.Is(err, errNoLength) {
		return value{}, at(t, err)
	}
	if err != nil {
		return v, nil
	}
	if v.time || v.truth != nil {
		return value{}, at(t, errors.New("this has a unit already"))
	}
	p.pos++
	if v, err = mul(v, value{r: timeUnits[unit]}); err != nil {
		return value{}, at(t, err)
	}
	v.time = true
	return v, nil
}

func literal(text string) (value, error) {
	if len(text) > maxDigits {
		return value{}, fmt.Errorf("a number may have at most %d digits", maxDigits)
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 && len(strings.TrimLeft(text[i+1:], "+-0")) > 4 {
		return value{}, errTooLarge
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return value{}, fmt.Errorf("%q is no number", clip(text, 20))
	}
	return value{r: r}.bounded()
}

var (
	errNoLength = errors.New("months and years have no fixed length; use the tool datetime")
	errTruth    = errors.New("a comparison is no number")
)

// alike reports why two values can't be put together.
func alike(a, b value, verb string) error {
	switch {
	case a.truth != nil || b.truth != nil:
		return errTruth
	case a.time != b.time:
		return fmt.Errorf("can't %s a time and a plain number", verb)
	}
	return nil
}

// plainNumbers reports a value that is no plain number.
func plainNumbers(of string, values ...value) error {
	for _, v := range values {
		if v.truth != nil {
			return errTruth
		}
		if v.time {
			return fmt.Errorf("a %s of a time has no meaning", of)
		}
	}
	return nil
}

// scale multiplies; one of the two may be a time.
func scale(a, b value) (value, error) {
	switch {
	case a.truth != nil || b.truth != nil:
		return value{}, errTruth
	case a.time && b.time:
		return value{}, errors.New("can't multiply two times")
	}
	v, err := mul(a, b)
	v.time = a.time || b.time
	return v, err
}

// divide gives a time for time by number, a number for time by time.
func divide(a, b value) (value, error) {
	switch {
	case a.truth != nil || b.truth != nil:
		return value{}, errTruth
	case b.time && !a.time:
		return value{}, errors.New("can't divide a plain number by a time")
	}
	v, err := div(a, b)
	v.time = a.time && !b.time
	return v, err
}

// timeUnits gives the seconds of each unit.
var timeUnits = map[string]*big.Rat{
	"nanosecond":  big.NewRat(1, 1_000_000_000),
	"microsecond": big.NewRat(1, 1_000_000),
	"millisecond": big.NewRat(1, 1_000),
	"second":      big.NewRat(1, 1),
	"minute":      big.NewRat(60, 1),
	"hour":        big.NewRat(3600, 1),
	"day":         big.NewRat(86_400, 1),
	"week":        big.NewRat(604_800, 1),
}

// unitOf reads the name of a unit of time, long or short, singular or plural.
func unitOf(text string) (string, error) {
	switch text {
	case "ns":
		return "nanosecond", nil
	case "us", "µs", "μs":
		return "microsecond", nil
	case "ms", "msec":
		return "millisecond", nil
	case "s", "sec", "secs":
		return "second", nil
	case "m", "min", "mins":
		return "minute", nil
	case "h", "hr", "hrs":
		return "hour", nil
	case "d":
		return "day", nil
	case "w", "wk", "wks":
		return "week", nil
	case "month", "months", "year", "years", "y", "yr", "mo":
		return "", errNoLength
	}
	lower := strings.ToLower(text)
	if len(text) > 1 && lower != text { // M alone may be minutes or months
		return unitOf(lower)
	}
	unit := strings.TrimSuffix(lower, "s")
	if _, ok := timeUnits[unit]; ok {
		return unit, nil
	}
	return "", fmt.Errorf("unknown unit %q; units are ns, us, ms, s, min, h, d and weeks", clip(text, 20))
}

// didYouMean is a hint at the nearest of the names, or nothing.
func didYouMean(got string, names []string) string {
	if name, ok := nearest.Name(got, names); ok {
		return "; did you mean " + name + "?"
	}
	return "; known are " + strings.Join(names, ", ")
}
