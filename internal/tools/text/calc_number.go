package text

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Limits of numbers. They keep every operation in the microseconds.
const (
	precision   = 34     // digits that a rounded result shows
	working     = 50     // digits that an inexact value keeps
	floatBits   = 320    // of the binary arithmetic behind them
	maxBits     = 17_000 // of an exact numerator or denominator
	maxDigits   = 1_000  // of an exact result that is written out
	maxExponent = 5_000  // decimal, of any value
)

var (
	errTooLarge = errors.New("the result is too large, beyond 10^5000")
	errTooSmall = errors.New("the result is too small, below 10^-5000")
)

// A value is a number, a time in seconds, or the outcome of a comparison.
type value struct {
	r       *big.Rat
	approx  bool   // r is close to the true value, not equal to it
	time    bool   // r counts seconds
	unit    string // of a time, to show it in; empty for a mix
	percent bool   // written with a percent sign; r is the hundredth already
	truth   *bool  // set: the outcome of a comparison
}

// bounded keeps a new value within the limits: beyond maxBits it is rounded,
// beyond 10^±maxExponent an error.
func (v value) bounded() (value, error) {
	if v.r.Sign() == 0 {
		return v, nil
	}
	switch exp := exponent(v.r); {
	case exp >= maxExponent:
		return value{}, errTooLarge
	case exp <= -maxExponent:
		return value{}, errTooSmall
	}
	if v.approx || max(v.r.Num().BitLen(), v.r.Denom().BitLen()) > maxBits {
		v.r = rounded(v.r, working)
		v.approx = true
	}
	return v, nil
}

// exponent gives the decimal exponent of r in scientific notation, or one more
// or less.
func exponent(r *big.Rat) int {
	bits := r.Num().BitLen() - r.Denom().BitLen()
	return int(math.Floor(float64(bits) * math.Log10(2)))
}

// pow10 gives 10^n.
func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// scaled gives r times 10^n, rounded to a whole number, halves away from zero.
func scaled(r *big.Rat, n int) *big.Int {
	num, den := new(big.Int).Abs(r.Num()), new(big.Int).Set(r.Denom())
	if n >= 0 {
		num.Mul(num, pow10(n))
	} else {
		den.Mul(den, pow10(-n))
	}
	num.Lsh(num, 1).Add(num, den)
	num.Quo(num, den.Lsh(den, 1))
	if r.Sign() < 0 {
		num.Neg(num)
	}
	return num
}

// unscaled gives whole times 10^-n.
func unscaled(whole *big.Int, n int) *big.Rat {
	if n >= 0 {
		return new(big.Rat).SetFrac(whole, pow10(n))
	}
	return new(big.Rat).SetInt(new(big.Int).Mul(whole, pow10(-n)))
}

// rounded gives r with about that many significant digits, never fewer.
func rounded(r *big.Rat, digits int) *big.Rat {
	if r.Sign() == 0 {
		return r
	}
	n := digits - exponent(r)
	return unscaled(scaled(r, n), n)
}

// display gives the text of a value and its parts.
func (v value) display() (string, calcDetails) {
	if v.truth != nil {
		text := strconv.FormatBool(*v.truth)
		return text, calcDetails{Value: text}
	}
	if !v.time {
		text, rounded := number(v.r, v.approx)
		return text, calcDetails{Value: text, Rounded: rounded}
	}
	if v.unit != "" {
		text, rounded := number(new(big.Rat).Quo(v.r, timeUnits[v.unit]), v.approx)
		name := v.unit
		if text != "1" {
			name += "s"
		}
		return text + " " + name, calcDetails{Value: text, Unit: v.unit, Rounded: rounded}
	}
	seconds, rounded := number(v.r, v.approx)
	text := seconds + " s"
	if mixed, ok := v.mixed(); ok {
		text = mixed + " = " + text
	}
	return text, calcDetails{Value: seconds, Unit: "second", Rounded: rounded}
}

// mixed writes a time of a minute and more in days, hours, minutes and seconds.
func (v value) mixed() (string, bool) {
	left := new(big.Rat).Abs(v.r)
	if left.Cmp(big.NewRat(60, 1)) < 0 {
		return "", false
	}
	var parts []string
	for _, u := range [...]struct{ unit, short string }{{"day", "d"}, {"hour", "h"}, {"minute", "min"}} {
		n := new(big.Int).Quo(new(big.Rat).Quo(left, timeUnits[u.unit]).Num(), new(big.Rat).Quo(left, timeUnits[u.unit]).Denom())
		if n.Sign() > 0 {
			left.Sub(left, new(big.Rat).Mul(new(big.Rat).SetInt(n), timeUnits[u.unit]))
			parts = append(parts, n.String()+" "+u.short)
		}
	}
	if left.Sign() > 0 {
		text, _ := number(left, v.approx)
		parts = append(parts, text+" s")
	}
	if v.r.Sign() < 0 {
		return "-(" + strings.Join(parts, " ") + ")", true
	}
	return strings.Join(parts, " "), true
}

// number writes r in decimal: in full where it is exact and not too long, else
// rounded to 34 digits.
func number(r *big.Rat, approx bool) (text string, isRounded bool) {
	if r.Sign() == 0 {
		return "0", approx
	}
	sign := ""
	if r.Sign() < 0 {
		sign, r = "-", new(big.Rat).Neg(r)
	}
	if places, ok := decimals(r); ok && !approx {
		digits := scaled(r, places).Text(10)
		exp := len(digits) - places - 1
		short := strings.TrimRight(digits, "0")
		if len(short) <= precision && (exp < -20 || exp >= 2*precision) {
			return sign + scientific(short, exp), false
		}
		if len(digits) <= maxDigits && places <= maxDigits {
			return sign + point(digits, places), false
		}
	}
	places := precision + 1 - exponent(r) // one digit too many, or up to three
	digits := scaled(r, places).Text(10)
	places -= len(digits) - precision
	digits = scaled(r, places).Text(10)
	exp := len(digits) - places - 1 // rounding up may have added a digit, a zero
	short := strings.TrimRight(digits, "0")
	if exp < -10 || exp >= precision {
		return sign + scientific(short, exp), true
	}
	if exp+1 > len(short) { // zeros that stand before the point
		short = digits[:exp+1]
	}
	return sign + point(short, len(short)-exp-1), true
}

// decimals gives how many places after the point r needs, if finitely many do.
func decimals(r *big.Rat) (int, bool) {
	den := new(big.Int).Set(r.Denom())
	twos := int(den.TrailingZeroBits())
	den.Rsh(den, uint(twos))
	fives := 0
	five, rest := big.NewInt(5), new(big.Int)
	for den.BitLen() > 1 {
		quo, rem := new(big.Int).QuoRem(den, five, rest)
		if rem.Sign() != 0 {
			return 0, false
		}
		den = quo
		fives++
	}
	return max(twos, fives), true
}

// point sets a decimal point before the last places digits.
func point(digits string, places int) string {
	if places <= 0 {
		return digits + strings.Repeat("0", -places)
	}
	if len(digits) <= places {
		digits = strings.Repeat("0", places-len(digits)+1) + digits
	}
	return digits[:len(digits)-places] + "." + digits[len(digits)-places:]
}

// scientific writes digits with the point after the first of them.
func scientific(digits string, exp int) string {
	if len(digits) > 1 {
		digits = digits[:1] + "." + digits[1:]
	}
	return digits + "e" + strconv.Itoa(exp)
}
