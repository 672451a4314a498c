package text

import (
	"context"
	_ "embed"
	"strings"

	"github.com/goclaw/goclaw/internal/tool"
)

//go:embed calc.md
var calcDoc string

type calcIn struct {
	Expression string `json:"expression" min:"1" max:"2000"`
}

// calcDetails is what calc tells beside its text.
type calcDetails struct {
	Value   string `json:"value"`             // the number alone, without unit
	Unit    string `json:"unit,omitempty"`    // of a time
	Rounded bool   `json:"rounded,omitempty"` // Value is not exact
}

// calc evaluates an expression. It is exact: numbers are fractions of any
// size, and only what no fraction can be (roots, logarithms) or is too long to
// write is rounded, which is then said.
func calc() tool.Tool {
	return tool.New(definition("calc", calcDoc), func(_ context.Context, _ tool.Call, in calcIn) (tool.Result, error) {
		v, notes, err := evaluate(in.Expression)
		if err != nil {
			return tool.Result{}, err
		}
		text, details := v.display()
		if details.Rounded {
			notes = append(notes, "rounded to 34 digits")
		}
		if len(notes) > 0 {
			text += " (" + strings.Join(notes, "; ") + ")"
		}
		r := tool.TextResult(text)
		r.Details = details
		return r, nil
	})
}
