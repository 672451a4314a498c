package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/lib/visible"
	"github.com/goclaw/goclaw/internal/tool"
)

// view prints the events of a run for a person, or as JSONL.
type view struct {
	*app
	mixed bool // what goes to standard output and to standard error ends up in one place
	open  bool // the text on standard output doesn't end with a line break
	// hold keeps the text of a round until nothing can take it back: where a
	// program reads it, what was written can't be told from what holds.
	hold bool
	held strings.Builder
}

func newView(a *app) *view {
	terminal := isTerminal(a.Out)
	return &view{app: a, mixed: terminal || sameFile(underneath(a.Out), a.Err), hold: !terminal}
}

// show prints one event. Its error is one of writing standard output.
func (v *view) show(e agent.Event) error {
	if v.json {
		return v.printJSON(e)
	}
	switch e.Type {
	case agent.TokenChunk:
		if v.hold {
			v.held.WriteString(e.Text)
			return nil
		}
		return v.write(e.Text)
	case agent.ModelStarted:
		// What the model says in one round stands apart from the next.
		return v.line()
	case agent.ToolStarted, agent.RunFinished, agent.RunFailed:
		if err := v.release(); err != nil {
			return err
		}
		return v.line()
	case agent.Retracted:
		// What was written stays written: the new beginning stands apart.
		v.held.Reset()
		err := v.line()
		v.aside("the answer begins anew")
		return err
	case agent.Notice:
		v.aside("%s", e.Text)
	case agent.ToolProgress:
		v.aside("%s: %s", e.Tool.Name, e.Text)
	case agent.ToolFinished: // of a call that was refused, the first that is told
		if err := v.release(); err != nil {
			return err
		}
		v.aside("%s", toolLine(e.Tool))
	case agent.Attachment:
		v.aside("%s", attachment(e))
	}
	return nil
}

// release writes what was held.
func (v *view) release() error {
	text := v.held.String()
	v.held.Reset()
	if text == "" {
		return nil
	}
	return v.write(text)
}

func (v *view) write(text string) error {
	text = printable(text)
	v.open = !strings.HasSuffix(text, "\n")
	_, err := fmt.Fprint(v.Out, text)
	return err
}

// line ends the line that text left open.
func (v *view) line() error {
	if !v.open {
		return nil
	}
	v.open = false
	_, err := fmt.Fprintln(v.Out)
	return err
}

// aside says something between the lines of the answer. Standard output and
// standard error are often the same terminal or file; then the line is ended
// first.
func (v *view) aside(format string, args ...any) {
	if v.quiet {
		return
	}
	if v.open && v.mixed {
		// An error of standard output comes up at the next chunk.
		_ = v.line()
	}
	v.say("· "+format, args...)
}

// toolLine is one call on one line: what was called, how it ended, how long
// it took, how much it gave.
func toolLine(t *agent.ToolEvent) string {
	o := t.Outcome
	s := t.Name + " " + short(string(t.Args), 80)
	took := taken(o.Ended.Sub(o.Started))
	switch {
	case o.Status == tool.OK && o.Ref != "":
		return fmt.Sprintf("%s: ok, %d characters kept as %s (%s)", s, o.Chars, o.Ref, took)
	case o.Status == tool.OK && o.Cached:
		return fmt.Sprintf("%s: ok, from the cache (%s)", s, took)
	case o.Status == tool.OK:
		return fmt.Sprintf("%s: ok (%s)", s, took)
	case o.Refusal != nil:
		return fmt.Sprintf("%s: refused by %s: %s", s, refuser(*o), o.Refusal.Reason)
	}
	text := ""
	for _, p := range o.Content {
		text += p.Text
	}
	return fmt.Sprintf("%s: %s: %s", s, o.Status, short(text, 160))
}

// short is s on one line, cut at about n characters.
func short(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n]) + "…"
}

// printable makes text from outside safe for a terminal: no escape sequence
// and no hidden direction of a model or a tool reaches it.
// A carriage return alone, which would write over what is there, is shown too.
func printable(s string) string {
	s = visible.Text(s)
	if strings.Contains(s, "\r") {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "␍")
	}
	return s
}
