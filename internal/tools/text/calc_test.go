package text

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCalc(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const rounded = " (rounded to 34 digits)"
	tests := []struct{ expression, want string }{
		// Exact, whatever binary floats would say.
		{"0.1+0.2", "0.3"},
		{"1/3*3", "1"},
		{"1.10 - 1", "0.1"},
		{"12.50*2", "25"},
		{"123456789012345678901234567890*987654321098765432109876543210", "121932631137021795226185032733622923332237463801111263526900"},
		{"2^100", "1267650600228229401496703205376"},
		{"1e3000", "1e3000"},
		{"1e-30", "1e-30"},
		{"2^-3", "0.125"},
		{"1/1024", "0.0009765625"},

		// Rounded, and said so.
		{"1/3", "0.3333333333333333333333333333333333" + rounded},
		{"2/3", "0.6666666666666666666666666666666667" + rounded},
		{"100000/7", "14285.71428571428571428571428571429" + rounded},
		{"1e40/7", "1.428571428571428571428571428571429e39" + rounded},
		{"1e-20/7", "1.428571428571428571428571428571429e-21" + rounded},
		{"2^4000", "1.318204093430943100103889794236591e1204" + rounded},
		{"-1/3", "-0.3333333333333333333333333333333333" + rounded},
		{"10^34 - 1/3", "1e34" + rounded},

		// Precedence.
		{"1+2*3", "7"},
		{"-2^2", "-4"},
		{"2^3^2", "512"},
		{"2**3", "8"},
		{"(1+2)*3", "9"},
		{"1 - -1", "2"},
		{"6 ÷ 3 × 2 − 1", "3"},
		{"7 mod 3", "1"},
		{"7 % 3", "1 (% read as remainder)"},
		{"-7 % 3", "-1 (% read as remainder)"},
		{"7.5 % 2", "1.5 (% read as remainder)"},

		// Percent.
		{"15%", "0.15"},
		{"15% of 240", "36"},
		{"240 + 15%", "276 (percent taken of the left side)"},
		{"240 - 15% + 1", "205 (percent taken of the left side)"},
		{"240 + (15%)", "240.15"},
		{"10% + 5%", "0.15"},
		{"240 * 15%", "36"},
		{"7 % -3", "-2.93 (% read as percent)"},
		{"7%-3", "-2.93 (% read as percent)"},
		{"7% - 3", "-2.93"},
		{"7%-3%", "0.04 (% read as percent)"},

		// Functions.
		{"sqrt(2)", "1.414213562373095048801688724209698" + rounded},
		{"sqrt(0.25)", "0.5"},
		{"SQRT(0.25) + Round(PI, 2)", "3.64"},
		{"2 Hours + 5 Min", "2 h 5 min = 7500 s"},
		{"sqrt(1e200)", "1e100"},
		{"8^(1/3)", "2"},
		{"(4/9)^-1.5", "3.375"},
		{"abs(-3)", "3"},
		{"round(2.345, 2)", "2.35"},
		{"round(-2.5)", "-3"},
		{"round(1234, -2)", "1200"},
		{"round(2/3, 4)", "0.6667"},
		{"round(pi, 2)", "3.14"},
		{"floor(-1.5)", "-2"},
		{"ceil(-1.5)", "-1"},
		{"trunc(-1.5)", "-1"},
		{"min(3, 1, 2)", "1"},
		{"max(3,1,2)", "3"},
		{"sum(0.1, 0.2, 0.3)", "0.6"},
		{"avg(1, 2)", "1.5"},
		{"ln(1)", "0"},
		{"ln(2)", "0.6931471805599453094172321214581766" + rounded},
		{"log(1000)", "3"},
		{"log(0.001)", "-3"},
		{"log(8, 2)", "3"},
		{"log2(1/8)", "-3"},
		{"log10 (100)", "2"},
		{"exp(0)", "1"},
		{"exp(1) - e", "0" + rounded},
		{"exp(1)", "2.718281828459045235360287471352662" + rounded},
		{"pi", "3.141592653589793238462643383279503" + rounded},
		{"ln(1 + 1e-40)", "1e-40" + rounded},

		// Units of time.
		{"3h 20min in minutes", "200 minutes"},
		{"3h20m5s", "3 h 20 min 5 s = 12005 s"},
		{"90 s + 2 min", "3 min 30 s = 210 s"},
		{"1.5 days in hours", "36 hours"},
		{"1 h to h", "1 hour"},
		{"2 weeks as days", "14 days"},
		{"250 ms", "0.25 s"},
		{"1 µs in ns", "1000 nanoseconds"},
		{"3h / 20min", "9"},
		{"3h / 2", "1 h 30 min = 5400 s"},
		{"2 * (1h - 15min)", "1 h 30 min = 5400 s"},
		{"10% of 3h", "18 min = 1080 s"},
		{"3h + 10%", "3 h 18 min = 11880 s (percent taken of the left side)"},
		{"-90 min", "-(1 h 30 min) = -5400 s"},
		{"max(90s, 1min)", "1 min 30 s = 90 s"},
		{"avg(1h, 2h) in min", "90 minutes"},
		{"10 h % 3 h", "1 h = 3600 s (% read as remainder)"},
		{"(1+2) h", "3 h = 10800 s"},
		{"1 day / 7 in h", "3.428571428571428571428571428571429 hours" + rounded},

		// Comparisons.
		{"9.11 > 9.9", "false"},
		{"0.1 + 0.2 == 0.3", "true"},
		{"1h = 60 min", "true"},
		{"1 != 2", "true"},
		{"2 ≤ 2", "true"},
		{"sqrt(2) < 1.5", "true (compared with rounded numbers)"},
	}
	for _, tt := range tests {
		if got := f.text(t, "calc", map[string]any{"expression": tt.expression}); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.expression, got, tt.want)
		}
	}
}

func TestCalcRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		expression string
		at         int
		want       string
	}{
		{"", 1, "a number is missing at the end"},
		{"1 +", 4, "a number is missing at the end"},
		{"1 + * 2", 5, `a number was expected, not "*"`},
		{"1/0", 2, "division by zero"},
		{"5 + 1/(2-2)", 6, "division by zero"},
		{"1 % 0", 3, "division by zero"},
		{"0^-1", 2, "division by zero"},
		{"9^9^9", 2, "too large"},
		{"9^-9^9", 2, "too small"},
		{"10^5000", 3, "too large"},
		{"10^3000 * 10^3000", 9, "too large"},
		{"1e99999999999", 1, "too large"},
		{"exp(99999)", 1, "too large"},
		{"exp(-1e9)", 1, "too small"},
		{"1,000 + 2", 2, "write 1234.5 for 1,234.5"},
		{"max(1,000, 2)", 6, "1,000 is not clear"},
		{"1 000", 3, "write 1234 for 1 234"},
		{"1_000", 2, "without separators"},
		{"1'000", 2, "without separators"},
		{"2(3)", 2, "an operator is missing"},
		{"2 pi", 3, "an operator is missing"},
		{"(1", 1, "this parenthesis is not closed"},
		{"1)", 2, "a closing parenthesis without"},
		{"max(1", 6, "a closing parenthesis is missing"},
		{"$5", 1, `"$" is no part of an expression`},
		{"3:20", 2, `":" is no part`},
		{".", 1, "a point without digits"},
		{"1.2.3", 4, "two numbers without an operator"},
		{"sqr(4)", 1, "did you mean sqrt?"},
		{"foo(4)", 1, "known are abs"},
		{"foo", 1, "unknown name"},
		{"foo", 1, "sum, trunc, e, pi"},
		{"1 < 2 < 3", 7, "a comparison takes two values"},
		{"sqrt()", 1, "sqrt takes 1 argument, not 0"},
		{"__import__(1)", 1, `"_" is no part of an expression`},
		{"h", 1, "a number is missing before the unit h"},
		{"sqrt(-1)", 1, "no real square root"},
		{"(-8)^(1/3)", 5, "no real power"},
		{"ln(0)", 1, "above 0"},
		{"log(2, 1)", 1, "no logarithm to the base 1"},
		{"round(1, 2, 3)", 1, "round takes 1 to 2 arguments, not 3"},
		{"round(1, 0.5)", 1, "places is a whole number"},
		{"sum()", 1, "sum takes 1 to 500 arguments, not 0"},
		{"3h * 2h", 4, "can't multiply two times"},
		{"2 / 3h", 3, "can't divide a plain number by a time"},
		{"3h + 2", 4, "can't add a time and a plain number"},
		{"3h < 2", 4, "can't compare a time and a plain number"},
		{"3h^2", 3, "a power of a time"},
		{"sqrt(3h)", 1, "plain numbers, not times"},
		{"max(1h, 2)", 1, "can't mix a time and a plain number"},
		{"5 in min", 6, "a plain number has no unit"},
		{"3h in foo", 7, "unknown unit"},
		{"3h in", 6, "a unit of time is missing"},
		{"2 months", 3, "use the tool datetime"},
		{"5 of 3", 3, "follows a percentage"},
		{"(1 < 2) + 1", 9, "a comparison is no number"},
		{"-(1<2)", 1, "a comparison is no number"},
		{"(1<2) h", 7, "has a unit already"},
		{strings.Repeat("(", 1000), 101, "nested deeper"},
		{strings.Repeat("-", 1000) + "1", 200, "nested deeper"},
		{strings.Repeat("2^", 900) + "1", 0, "nested deeper"},
		{strings.Repeat("9", 1001), 1, "at most 1000 digits"},
	}
	for _, tt := range tests {
		v, _, err := evaluate(tt.expression)
		var bad *exprError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40s: got %v, %v, want %s", tt.expression, v.r, err, tt.want)
			continue
		}
		if tt.at > 0 && bad.at != tt.at {
			t.Errorf("%.40s: got position %d, want %d", tt.expression, bad.at, tt.at)
		}
	}
}

// Arithmetic on fractions is that of math/big, and what is shown is within half
// a unit of its last digit.
func TestCalcIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		c := rapid.Int64Range(1, math.MaxInt64).Draw(t, "c")
		v, _, err := evaluate(fmt.Sprintf("(%d + %d) * %d / %d - %d", a, b, a, c, b))
		if err != nil {
			t.Fatal(err)
		}
		x, y := new(big.Rat).SetInt64(a), new(big.Rat).SetInt64(b)
		want := new(big.Rat).Add(x, y)
		want.Mul(want, x).Quo(want, new(big.Rat).SetInt64(c)).Sub(want, y)
		if v.r.Cmp(want) != 0 || v.approx {
			t.Fatalf("got %s, want %s", v.r, want)
		}
		text, rounded := number(want, false)
		shown, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%q is no number", text)
		}
		off := new(big.Rat).Sub(shown, want)
		if !rounded && off.Sign() != 0 {
			t.Fatalf("%s is not %s", text, want)
		}
		// |off| <= |want| * 10^-33
		if limit := new(big.Rat).Mul(want, new(big.Rat).SetFrac(big.NewInt(1), pow10(precision-1))); off.Abs(off).Cmp(limit.Abs(limit)) > 0 {
			t.Fatalf("%s is too far from %s", text, want)
		}
	})
}

// The transcendental functions undo each other to all digits that are shown.
func TestCalcFunctionsAreInverse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mantissa := rapid.Int64Range(1, math.MaxInt64).Draw(t, "mantissa")
		scale := rapid.IntRange(-60, 40).Draw(t, "scale")
		x := fmt.Sprintf("%de%d", mantissa, scale)
		for _, form := range []string{"exp(ln(%[1]s)) / %[1]s", "(%[1]s ^ 0.3) ^ (1/0.3) / %[1]s", "10 ^ log(%[1]s) / %[1]s", "sqrt(%[1]s)^2 / %[1]s"} {
			v, _, err := evaluate(fmt.Sprintf(form, x))
			if err != nil {
				t.Fatal(err)
			}
			off := new(big.Rat).Sub(v.r, big.NewRat(1, 1))
			if off.Abs(off).Cmp(new(big.Rat).SetFrac(big.NewInt(1), pow10(40))) > 0 {
				t.Fatalf(form+" is off by %[2]s", x, off.FloatString(50))
			}
		}
	})
}

func FuzzCalc(f *testing.F) {
	for _, seed := range []string{
		"1+2*3", "3h 20min in minutes", "15% of 240", "max(1, 2)^-3", "round(1/3,2)<e", "9^9^9", "((1))", "7 % -3", "1,000", "ln(2)h", "1e-9999*5",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		v, notes, err := evaluate(text)
		if err != nil {
			var bad *exprError
			if !errors.As(err, &bad) || bad.at < 1 || bad.at > len([]rune(text))+1 {
				t.Fatalf("error %v", err)
			}
			return
		}
		shown, details := v.display()
		if shown == "" || len(shown) > 3*maxDigits || details.Value == "" {
			t.Fatalf("shown %q, %+v", shown, details)
		}
		again, more, err := evaluate(text)
		if err != nil || fmt.Sprint(notes) != fmt.Sprint(more) || again.r.Cmp(v.r) != 0 {
			t.Fatal("not stable")
		}
	})
}

func BenchmarkCalc(b *testing.B) {
	for name, expression := range map[string]string{
		"sum":   "0.1 + 0.2 * 3",
		"ln":    "ln(2)",
		"large": "3^9000 / 7^3000 / 11^700 + 5^3000 / 13^2500",
		"worst": strings.Repeat("3^9000/7^3001+", 140) + "1",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := evaluate(expression); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
