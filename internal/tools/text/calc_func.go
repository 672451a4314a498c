package text

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// A function of expressions. Its arguments are alike: all plain numbers, or,
// where it takes them, all times.
type function struct {
	least, most int // arguments
	times       bool
	call        func(args []value) (value, error)
}

// maxArguments bounds the arguments of one call.
const maxArguments = 500

var functions = map[string]function{
	"abs":   {1, 1, true, func(a []value) (value, error) { return absolute(a[0]), nil }},
	"sqrt":  {1, 1, false, squareRoot},
	"round": {1, 2, false, round},
	"floor": {1, 1, false, func(a []value) (value, error) { return wholly(a[0], floor(a[0].r)), nil }},
	"ceil": {1, 1, false, func(a []value) (value, error) {
		down := floor(new(big.Rat).Neg(a[0].r))
		return wholly(a[0], down.Neg(down)), nil
	}},
	"trunc": {1, 1, false, func(a []value) (value, error) {
		return wholly(a[0], new(big.Int).Quo(a[0].r.Num(), a[0].r.Denom())), nil
	}},
	"min": {1, maxArguments, true, func(a []value) (value, error) { return slices.MinFunc(a, compareValues), nil }},
	"max": {1, maxArguments, true, func(a []value) (value, error) { return slices.MaxFunc(a, compareValues), nil }},
	"sum": {1, maxArguments, true, total},
	"avg": {1, maxArguments, true, func(a []value) (value, error) {
		v, err := total(a)
		if err != nil {
			return value{}, err
		}
		return div(v, value{r: big.NewRat(int64(len(a)), 1)})
	}},
	"exp":   {1, 1, false, func(a []value) (value, error) { return exp(a[0]) }},
	"ln":    {1, 1, false, func(a []value) (value, error) { return ln(a[0]) }},
	"log10": {1, 1, false, func(a []value) (value, error) { return log(a[0], value{r: big.NewRat(10, 1)}) }},
	"log2":  {1, 1, false, func(a []value) (value, error) { return log(a[0], value{r: big.NewRat(2, 1)}) }},
	"log": {1, 2, false, func(a []value) (value, error) {
		if len(a) == 2 {
			return log(a[0], a[1])
		}
		return log(a[0], value{r: big.NewRat(10, 1)})
	}},
}

var (
	functionNames = slices.Sorted(maps.Keys(functions))
	knownNames    = append(slices.Clone(functionNames), "e", "pi")
)

// call reads the arguments after a function's name and applies it.
func (p *parser) call(name token) (value, error) {
	f, ok := functions[strings.ToLower(name.text)]
	if !ok {
		return value{}, at(name, fmt.Errorf("unknown function %q%s", clip(name.text, 20), didYouMean(name.text, functionNames)))
	}
	var args []value
	for !p.take(")") {
		if len(args) > 0 {
			if err := p.comma(); err != nil {
				return value{}, err
			}
		}
		v, err := p.expression()
		if err != nil {
			return value{}, err
		}
		args = append(args, v)
		if len(args) > maxArguments {
			return value{}, at(name, fmt.Errorf("more than %d arguments", maxArguments))
		}
	}
	if len(args) < f.least || len(args) > f.most {
		want := fmt.Sprintf("%d to %d arguments", f.least, f.most)
		if f.most == 1 {
			want = "1 argument"
		}
		return value{}, at(name, fmt.Errorf("%s takes %s, not %d", name.text, want, len(args)))
	}
	isTime := args[0].time
	for _, a := range args {
		err := alike(args[0], a, "mix")
		if err == nil && a.time && !f.times {
			err = fmt.Errorf("%s takes plain numbers, not times", name.text)
		}
		if err != nil {
			return value{}, at(name, err)
		}
	}
	v, err := f.call(args)
	if err != nil {
		return value{}, at(name, err)
	}
	v.time, v.unit, v.percent = isTime, "", false
	return p.withUnit(v)
}

// comma reads the comma between two arguments. In max(1,000, 2) nobody can
// tell whether it separates thousands, so it must be followed by a space there.
func (p *parser) comma() error {
	t := p.token()
	if !p.take(",") {
		if t.kind == endToken {
			return at(t, errors.New("a closing parenthesis is missing"))
		}
		return p.unexpected()
	}
	before, after := p.tokens[p.pos-2], p.token()
	if before.kind == numberToken && t.tight && after.kind == numberToken && after.tight && len(after.text) == 3 && len(before.text) <= 3 {
		return at(t, fmt.Errorf("%s,%s is not clear: write %s%s for the number, %s, %s for two arguments",
			before.text, after.text, before.text, after.text, before.text, after.text))
	}
	return nil
}

func compareValues(a, b value) int { return a.r.Cmp(b.r) }

func absolute(v value) value {
	v.r = new(big.Rat).Abs(v.r)
	return v
}

func total(args []value) (value, error) {
	sum := value{r: new(big.Rat)}
	for _, a := range args {
		var err error
		if sum, err = add(sum, a); err != nil {
			return value{}, err
		}
	}
	return sum, nil
}

func floor(r *big.Rat) *big.Int {
	// The denominator is positive, so Euclid's division rounds down.
	return new(big.Int).Div(r.Num(), r.Denom())
}

// wholly is the whole number that v was brought to. It is exact unless v is so
// large that its last digits aren't known.
func wholly(v value, whole *big.Int) value {
	return value{r: new(big.Rat).SetInt(whole), approx: v.approx && exponent(v.r) >= precision}
}

func squareRoot(args []value) (value, error) {
	if args[0].r.Sign() < 0 {
		return value{}, errors.New("a negative number has no real square root")
	}
	return pow(args[0], value{r: big.NewRat(1, 2)})
}

// round rounds halves away from zero, to a number of places that may be
// negative.
func round(args []value) (value, error) {
	places := 0
	if len(args) == 2 {
		n := args[1].r
		if !n.IsInt() || !n.Num().IsInt64() || n.Num().Int64() > maxDigits || n.Num().Int64() < -maxDigits {
			return value{}, fmt.Errorf("the number of places is a whole number from -%d to %d", maxDigits, maxDigits)
		}
		places = int(n.Num().Int64())
	}
	v := args[0]
	v.r = unscaled(scaled(v.r, places), places)
	v.approx = v.approx && exponent(args[0].r)+places >= precision
	return v.bounded()
}
