package text

import (
	"errors"
	"math"
	"math/big"
	"sync"
)

// add, mul and the rest work on bare numbers; units are the parser's business.

func add(a, b value) (value, error) {
	return value{r: new(big.Rat).Add(a.r, b.r), approx: a.approx || b.approx}.bounded()
}

func mul(a, b value) (value, error) {
	return value{r: new(big.Rat).Mul(a.r, b.r), approx: a.approx || b.approx}.bounded()
}

func neg(a value) value {
	a.r = new(big.Rat).Neg(a.r)
	return a
}

func div(a, b value) (value, error) {
	if b.r.Sign() == 0 {
		return value{}, errors.New("division by zero")
	}
	return value{r: new(big.Rat).Quo(a.r, b.r), approx: a.approx || b.approx}.bounded()
}

// rem is the remainder of truncated division: it has the sign of a.
func rem(a, b value) (value, error) {
	q, err := div(a, b)
	if err != nil {
		return value{}, err
	}
	if q.approx && !a.approx && !b.approx {
		return value{}, errors.New("the numbers have too many digits for an exact remainder")
	}
	whole := new(big.Rat).SetInt(new(big.Int).Quo(q.r.Num(), q.r.Denom()))
	return value{r: new(big.Rat).Sub(a.r, whole.Mul(whole, b.r)), approx: q.approx}.bounded()
}

// pow is exact for whole exponents and for roots that come out even.
func pow(a, b value) (value, error) {
	switch {
	case b.r.Sign() == 0:
		return value{r: big.NewRat(1, 1)}, nil
	case a.r.Sign() == 0 && b.r.Sign() < 0:
		return value{}, errors.New("division by zero")
	case a.r.Sign() == 0:
		return value{r: new(big.Rat), approx: a.approx}, nil
	case a.r.Sign() < 0 && !b.r.IsInt():
		return value{}, errors.New("a negative number has no real power of a fraction")
	}
	// How large it gets is known before anything is multiplied.
	size := float64(logOf(a.r)) * toFloat64(b.r)
	if size/math.Ln10 >= maxExponent {
		return value{}, errTooLarge
	} else if size/math.Ln10 <= -maxExponent {
		return value{}, errTooSmall
	}
	approx := a.approx || b.approx
	if !approx {
		if r, ok := exactPow(a.r, b.r); ok {
			return value{r: r}.bounded()
		}
	}
	ln := lnFloat(toFloat(new(big.Rat).Abs(a.r)))
	r := fromFloat(expFloat(ln.Mul(ln, toFloat(b.r))))
	if a.r.Sign() < 0 && b.r.Num().Bit(0) == 1 {
		r.Neg(r)
	}
	return value{r: r, approx: true}.bounded()
}

// exactPow gives a^b where it is a fraction of reasonable size.
func exactPow(a, b *big.Rat) (*big.Rat, bool) {
	const maxRoot = 64
	if !b.Num().IsInt64() || !b.Denom().IsInt64() || b.Denom().Int64() > maxRoot {
		return nil, false
	}
	n, root := b.Num().Int64(), b.Denom().Int64()
	num, ok := exactRoot(a.Num(), root)
	if !ok {
		return nil, false
	}
	den, ok := exactRoot(a.Denom(), root)
	if !ok {
		return nil, false
	}
	if n < 0 {
		num, den, n = den, num, -n
	}
	if bits := int64(max(num.BitLen(), den.BitLen())); n > maxBits || bits*n > maxBits {
		// A power of ten in size but simple in form, such as 1^100000, is fine.
		if num.CmpAbs(big.NewInt(1)) != 0 || den.CmpAbs(big.NewInt(1)) != 0 {
			return nil, false
		}
		n = 2 - n%2
	}
	exp := big.NewInt(n)
	return new(big.Rat).SetFrac(new(big.Int).Exp(num, exp, nil), new(big.Int).Exp(den, exp, nil)), true
}

// exactRoot gives the whole number whose power is x, if there is one.
func exactRoot(x *big.Int, root int64) (*big.Int, bool) {
	if root == 1 {
		return x, true
	}
	if x.Sign() < 0 {
		return nil, false
	}
	// Newton's iteration from above; the bits halve the number of rounds.
	r := new(big.Int).Lsh(big.NewInt(1), uint((int64(x.BitLen())+root-1)/root))
	k, k1 := big.NewInt(root), big.NewInt(root-1)
	for {
		next := new(big.Int).Exp(r, k1, nil)
		if next.Sign() == 0 {
			break
		}
		next.Quo(x, next)
		next.Add(next, new(big.Int).Mul(k1, r)).Quo(next, k)
		if next.Cmp(r) >= 0 {
			break
		}
		r = next
	}
	return r, new(big.Int).Exp(r, k, nil).Cmp(x) == 0
}

func exp(a value) (value, error) {
	if a.r.Sign() == 0 {
		return value{r: big.NewRat(1, 1), approx: a.approx}, nil
	}
	if f := toFloat64(a.r) / math.Ln10; f >= maxExponent {
		return value{}, errTooLarge
	} else if f <= -maxExponent {
		return value{}, errTooSmall
	}
	return value{r: fromFloat(expFloat(toFloat(a.r))), approx: true}.bounded()
}

func ln(a value) (value, error) {
	if a.r.Sign() <= 0 {
		return value{}, errors.New("only a number above 0 has a logarithm")
	}
	if d := new(big.Rat).Sub(a.r, big.NewRat(1, 1)); exponent(d) < -30 || d.Sign() == 0 {
		// So close to 1 three terms of the series d - d²/2 + d³/3 - … have more
		// digits than are kept, while the iteration would lose them.
		d2 := new(big.Rat).Mul(d, d)
		d3 := new(big.Rat).Mul(d2, d)
		d.Sub(d, d2.Mul(d2, big.NewRat(1, 2))).Add(d, d3.Mul(d3, big.NewRat(1, 3)))
		return value{r: d, approx: a.approx || d.Sign() != 0}.bounded()
	}
	return value{r: fromFloat(lnFloat(toFloat(a.r))), approx: true}.bounded()
}

// log is the logarithm to a base, exact where it is a whole number.
func log(a, base value) (value, error) {
	x, err := ln(a)
	if err != nil {
		return value{}, err
	}
	y, err := ln(base)
	if err != nil {
		return value{}, err
	}
	v, err := div(x, y)
	if err != nil {
		return value{}, errors.New("there is no logarithm to the base 1")
	}
	if n := scaled(v.r, 0); v.approx && !a.approx && !base.approx && n.IsInt64() {
		if r, ok := exactPow(base.r, new(big.Rat).SetInt(n)); ok && r.Cmp(a.r) == 0 {
			return value{r: new(big.Rat).SetInt(n)}, nil
		}
	}
	return v, nil
}

func newFloat() *big.Float { return new(big.Float).SetPrec(floatBits) }

func toFloat(r *big.Rat) *big.Float { return newFloat().SetRat(r) }

// toFloat64 gives r as a float64, infinite when it is beyond its range.
func toFloat64(r *big.Rat) float64 {
	f, _ := r.Float64()
	return f
}

// logOf gives the natural logarithm of |r| to float64 accuracy, at any size.
func logOf(r *big.Rat) float64 {
	log := func(i *big.Int) float64 {
		exp := max(i.BitLen()-60, 0)
		f, _ := new(big.Float).SetInt(new(big.Int).Rsh(new(big.Int).Abs(i), uint(exp))).Float64()
		return math.Log(f) + float64(exp)*math.Ln2
	}
	return log(r.Num()) - log(r.Denom())
}

// fromFloat gives f in decimal, to the working precision.
func fromFloat(f *big.Float) *big.Rat {
	text := f.Text('e', working)
	r, ok := new(big.Rat).SetString(text)
	if !ok { // can't be: f is finite
		return new(big.Rat)
	}
	return r
}

// expFloat gives e^x by halving x until the series converges at once, and
// squaring back. |x| is at most some 10^5, checked by the callers.
func expFloat(x *big.Float) *big.Float {
	const margin = 64 // bits that squaring may lose
	halvings := max(x.MantExp(nil)+16, 0)
	small := new(big.Float).SetPrec(floatBits+margin).SetMantExp(x, -halvings)
	sum := new(big.Float).SetPrec(floatBits + margin).SetInt64(1)
	term := new(big.Float).SetPrec(floatBits + margin).SetInt64(1)
	for n := int64(1); term.Sign() != 0 && term.MantExp(nil) > -(floatBits+margin); n++ {
		term.Mul(term, small)
		term.Quo(term, new(big.Float).SetInt64(n))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return newFloat().Set(sum)
}

// lnFloat gives ln x for x > 0 by Halley's iteration on e^y = x, which triples
// the digits each round.
func lnFloat(x *big.Float) *big.Float {
	mant := newFloat()
	exp := x.MantExp(mant) // x = mant * 2^exp, mant in [0.5, 1)
	f, _ := mant.Float64()
	y := newFloat().SetFloat64(math.Log(f))
	for range 4 {
		e := expFloat(y)
		up, down := newFloat().Sub(mant, e), newFloat().Add(mant, e)
		up.Mul(up, newFloat().SetInt64(2)).Quo(up, down)
		y.Add(y, up)
	}
	if exp != 0 {
		y.Add(y, newFloat().Mul(ln2(), newFloat().SetInt64(int64(exp))))
	}
	return y
}

// Constants to 100 digits (OEIS A002162, A000796, A001113), read when they are
// first needed.
var (
	ln2     = constant("0.6931471805599453094172321214581765680755001343602552541206800094933936219696947156058633269964186875")
	piValue = constant("3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825342117068")
	eValue  = constant("2.718281828459045235360287471352662497757247093699959574966967627724076630353547594571382178525166427")
)

func constant(text string) func() *big.Float {
	return sync.OnceValue(func() *big.Float {
		f, _, err := big.ParseFloat(text, 10, floatBits, big.ToNearestEven)
		if err != nil {
			panic(err)
		}
		return f
	})
}
