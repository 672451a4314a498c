package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/engine/preset"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// covered are the tools whose failures come back with a hint, and what it says
// besides the presets that match.
var covered = map[string]string{
	"db_query":      "Check the names of tables and columns (db_schema shows them) and the dialect of the data source, then send one corrected query.",
	"http_request":  "Check the address, the method, the headers and the form of the body; the status and the body of an answer say what the server missed.",
	"gitlab":        "Check that the project and the number are right and that the token may see them.",
	"sonarqube":     "Check the key of the project and the branch.",
	"observability": "Check the query's syntax, the names of metrics and labels, and the span of time.",
	"shell":         "Read what the command printed; check the path, the spelling and whether the program is there before you run it again.",
	"git":           "Look at git status first: the branch, what is staged, and whether the path is within the repository.",
}

// maxHints is how many presets a hint shows.
const maxHints = 3

// hinter tells the model how a failed call may be made better.
type hinter struct{ presets *preset.Book }

// hint adds advice and matching presets to the failure of a covered tool. It
// keeps nothing and changes no descriptor.
func (h hinter) hint(ctx context.Context, inv *invocation) bool {
	advice, ok := covered[inv.out.Tool]
	if !ok || inv.out.Status != tool.Failed && inv.out.Status != tool.TimedOut {
		return true
	}
	if !permits(inv, "db_schema") {
		advice = strings.Replace(advice, " (db_schema shows them)", "", 1)
	}
	text := "\n[Hint: " + advice
	about := string(inv.out.Args) + " " + cut(llm.JoinText(inv.out.Content), maxHintText)
	if found := h.presets.Approved(ctx)[inv.out.Tool].Matching(about, inv.out.Args, maxHints); found != "" {
		inv.note = "matching presets are shown"
		text += "\nApproved calls of " + inv.out.Tool + " that may fit:\n" + strings.TrimSuffix(found, "\n")
	}
	inv.hint = llm.Text(text + "]")
	inv.out.Content = append(slices.Clip(inv.out.Content), inv.hint)
	return true
}

// keepHint puts the hint back that was lost when the result was shortened.
func (inv *invocation) keepHint() {
	if c := inv.out.Content; inv.hint.Text != "" && (len(c) == 0 || c[len(c)-1].Text != inv.hint.Text) {
		inv.out.Content = append(slices.Clip(c), inv.hint)
	}
}

// maxHintText is how much of a failure is looked at, in bytes.
const maxHintText = 2000

func permits(inv *invocation, name string) bool {
	_, ok := tool.Find(inv.surface.Permitted, name)
	return ok
}
