// Package text has the tools that are free of side effects: calc, datetime,
// json_transform, regex and text_utils. They see nothing but their arguments,
// the clock and results that are kept under a ref, so every agent has them and
// they join every declared set of tools.
//
// Their input comes from models and may be hostile; each bounds its work by
// size, by count and, where a library does the work, by the call's context.
// Nothing here has a life of its own. Start reading at [Family].
package text

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/tool"
)

// Family is the family "text". refs gives the results that calls refer to; now
// is the clock, in the time zone that stands for "local".
func Family(refs tool.Refs, now func() time.Time) tool.Family {
	return tool.NewFamily("text", struct{}{}, func(struct{}) ([]tool.Tool, error) {
		return []tool.Tool{calc(), datetime(now), jsonTransform(refs), regex(refs), textUtils()}, nil
	})
}

// definition is what the tools here have in common; doc is for the model.
func definition(name, doc string) tool.Definition {
	return tool.Definition{
		Name:        name,
		Description: strings.TrimSpace(doc),
		Traits:      tool.Traits{ReadOnly: true, Internal: true, Timeout: 15 * time.Second},
	}
}

// maxInput bounds, in bytes, what a ref may bring. Results are kept up to
// 10 MB (file_read's limit), so this refuses nothing that GoClaw made.
const maxInput = 16 << 20

// readRef gives the whole result that a ref stands for. An error of refs is
// meant for the model and names the ref.
func readRef(ctx context.Context, refs tool.Refs, call tool.Call, ref string) ([]byte, error) {
	raw, err := refs.Read(ctx, call.Scope, ref)
	if err != nil {
		return nil, err
	}
	if len(raw) > maxInput {
		return nil, fmt.Errorf("read %s: it has %d bytes, the limit is %d", ref, len(raw), maxInput)
	}
	return raw, nil
}

// pattern is a regular expression that is compiled when it is first used: some
// are not cheap, and every start of the program would pay for all.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// clip shortens a text for a message to at most n characters.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	return string(runes[:n-1]) + "…"
}
