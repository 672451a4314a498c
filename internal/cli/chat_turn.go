package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/cli/markdown"
	"github.com/goclaw/goclaw/internal/cli/term"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// transcript turns the events of runs into what a person sees: lines that are
// printed once, and rows for what is still going on. It does no output.
type transcript struct {
	style   markdown.Options
	quiet   bool
	admin   bool     // the person is one
	printed []string // to be printed
	last    part     // what was printed last

	words   *markdown.Stream // what the model is saying; nil while it says nothing
	fresh   bool             // nothing of it was printed yet
	thought thought
	calls   []*shownCall // of the round, in the order in which they began
	waiting string       // what is waited for; empty when that is plain
	target  string       // who is asked
	began   time.Time    // of the run; zero when none is going
	tools   int          // calls that have ended in the run
	group   int          // calls that have begun in the round
	ended   int          // … and have ended
	asked   []openAsk    // calls that wait for the person, in order
}

// openAsk is a call that waits for the person's answer.
type openAsk struct {
	*tool.Approval
	since time.Time // it was shown
}

// part is a kind of text; between two kinds, and between two answers, stands a
// blank line.
type part uint8

const (
	nothing part = iota
	person
	answer
	side
)

// thought is what the model thinks before it answers.
type thought struct {
	text  string // its end
	began time.Time
}

// shownCall is a tool call while it runs.
type shownCall struct {
	*agent.ToolEvent
	began    time.Time
	progress string
}

func dimmed(s string) string { return "\x1b[0;2m" + s + "\x1b[0m" }
func strong(s string) string { return "\x1b[0;1m" + s + "\x1b[0m" }

// colored is s in a colour by its number, or as it is where there are none.
func (t *transcript) colored(color int, s string) string {
	if !t.style.Color {
		return s
	}
	return fmt.Sprintf("\x1b[0;%dm%s\x1b[0m", color, s)
}

const (
	red    = 31
	green  = 32
	yellow = 33
)

// print adds lines of a kind.
func (t *transcript) print(kind part, lines ...string) {
	if len(lines) == 0 {
		return
	}
	if t.last != nothing && (t.last != kind || kind == person) {
		t.printed = append(t.printed, "")
	}
	t.last = kind
	if kind == side {
		lines = folded(lines, t.style.Width)
	}
	t.printed = append(t.printed, lines...)
}

// folded breaks lines of the program's own between words, so that what goes on
// stands under where it began.
func folded(lines []string, width int) []string {
	var out []string
	for _, line := range lines {
		out = append(out, term.Fold(strings.ReplaceAll(line, "\t", "    "), width, "  ")...)
	}
	return out
}

// take returns what is to be printed.
func (t *transcript) take() []string {
	lines := t.printed
	t.printed = nil
	return lines
}

// say prints a word of the program's own. What is being said goes on below it.
func (t *transcript) say(format string, args ...any) {
	t.print(side, dimmed("· "+printable(fmt.Sprintf(format, args...))))
}

// fail prints what went wrong.
func (t *transcript) fail(text string) {
	for i, line := range strings.Split(printable(text), "\n") {
		mark := "✗ "
		if i > 0 {
			mark = "  "
		}
		t.print(side, t.colored(red, mark+line))
	}
}

// asks prints a message of the person's.
func (t *transcript) asks(text string) {
	t.print(person, message(text, 0)...)
}

// message is a person's message as lines, at most most of them when most isn't
// 0.
func message(text string, most int) []string {
	lines := strings.Split(printable(text), "\n")
	cut := most > 0 && len(lines) > most
	if cut {
		lines = lines[:most]
	}
	for i, line := range lines {
		mark := "  "
		if i == 0 {
			mark = "❯ "
		}
		lines[i] = strong(mark + strings.ReplaceAll(line, "\t", "    "))
	}
	if cut {
		lines = append(lines, dimmed("  …"))
	}
	return lines
}

// show takes an event.
func (t *transcript) show(e agent.Event) {
	switch e.Type {
	case agent.RunStarted:
		t.began, t.tools, t.waiting, t.target = e.Time, 0, "", ""
	case agent.ModelStarted:
		t.settle()
		t.waiting, t.calls, t.group, t.ended = "", nil, 0, 0
		if e.Target != nil {
			t.target = e.Target.String()
		}
	case agent.ReasoningChunk:
		if t.thought.began.IsZero() {
			t.thought.began = e.Time
		}
		t.thought.text = tail(t.thought.text+e.Text, 2000)
	case agent.TokenChunk:
		t.speak(e)
	case agent.Retracted:
		t.settle()
		t.aside("the answer begins anew")
	case agent.Notice:
		t.notice(e)
	case agent.ToolStarted, agent.ToolProgress, agent.ToolFinished:
		t.settle()
		t.call(e)
	case agent.Attachment:
		t.settle()
		t.aside("%s", attachment(e))
	case agent.RunFinished, agent.RunFailed:
		t.end(e)
	}
}

// aside says something that --quiet leaves out. It stands above what is being
// said, which it doesn't interrupt.
func (t *transcript) aside(format string, args ...any) {
	if !t.quiet {
		t.print(side, dimmed("· "+printable(fmt.Sprintf(format, args...))))
	}
}

// approval takes in that a call waits for a person, or waits no more. What is
// asked is printed whole, also with --quiet.
func (t *transcript) approval(e agent.Event) {
	a := e.Approval
	t.asked = slices.DeleteFunc(t.asked, func(o openAsk) bool { return o.ID == a.ID })
	if a.Status != tool.ApprovalOpen {
		t.aside("%s", e.Text)
		return
	}
	t.settle()
	lines := question(*a)
	for i, line := range lines {
		if i == 0 {
			lines[i] = t.colored(yellow, "? "+line)
		} else {
			lines[i] = "  " + line
		}
	}
	t.print(side, lines...)
	t.asked = append(t.asked, openAsk{a, time.Now()})
}

// askRow says how to answer what waits first.
func (t *transcript) askRow(width int, now time.Time) string {
	a := t.asked[0]
	what, how := a.Tool, "y once · a always, this very call · n no · then Enter"
	switch {
	case a.Admins && !t.admin:
		how = "an admin has to answer"
	case now.Sub(a.since) < reading:
		how = "read it first" // a line is no answer yet
	}
	if len(t.asked) > 1 { // which of them is meant
		what += " " + arguments(a.Args, 30)
	}
	row := "? " + what + ": " + how + " · " + seconds(a.Expires.Sub(now)) + " left"
	if n := len(t.asked) - 1; n > 0 {
		row += fmt.Sprintf(" · %d more", n)
	}
	return t.colored(yellow, term.Clip(printable(row), width))
}

func (t *transcript) notice(e agent.Event) {
	if e.Approval != nil {
		t.approval(e)
		return
	}
	if e.Kind == "queued" {
		t.waiting = e.Text
		if strings.Contains(e.Text, "another process") {
			t.aside("%s", e.Text)
		}
		return
	}
	t.aside("%s", e.Text)
}

// speak takes a piece of the answer.
func (t *transcript) speak(e agent.Event) {
	t.settleThought(e.Time)
	if t.words == nil {
		t.words, t.fresh = markdown.New(t.style), true
	}
	t.said(t.words.Write(e.Text))
}

// said prints lines of the answer.
func (t *transcript) said(lines []string) {
	if len(lines) == 0 {
		return
	}
	if t.fresh && t.last == answer {
		t.printed = append(t.printed, "")
	}
	t.fresh = false
	t.print(answer, lines...)
}

// settle prints what is open.
func (t *transcript) settle() {
	t.settleThought(time.Time{})
	if t.words == nil {
		return
	}
	lines := t.words.Close()
	t.words = nil
	t.said(lines)
}

// settleThought ends what the model thought; all that stays is how long that
// was.
func (t *transcript) settleThought(at time.Time) {
	if t.thought.began.IsZero() {
		return
	}
	if d := at.Sub(t.thought.began); d >= time.Second {
		t.aside("thought for %s", seconds(d))
	}
	t.thought = thought{}
}

// call takes an event of a tool call.
func (t *transcript) call(e agent.Event) {
	var c *shownCall
	for _, o := range t.calls {
		if o.ID == e.Tool.ID {
			c = o
		}
	}
	if c == nil {
		c = &shownCall{ToolEvent: e.Tool, began: e.Time}
		t.calls = append(t.calls, c)
		t.group++
	}
	switch e.Type {
	case agent.ToolProgress:
		c.progress = e.Text
	case agent.ToolFinished:
		c.ToolEvent = e.Tool
		t.tools++
		t.ended++
	}
	// Those that have ended are printed in order, as soon as none before them
	// is still running.
	for len(t.calls) > 0 && t.calls[0].Outcome != nil {
		if !t.quiet {
			t.print(side, t.callLine(t.calls[0].ToolEvent))
		}
		t.calls = t.calls[1:]
	}
}

// callLine is a call that has ended.
func (t *transcript) callLine(e *agent.ToolEvent) string {
	o := e.Outcome
	head := callHead(e)
	took := ""
	if !o.Started.IsZero() && o.Ended.After(o.Started) {
		took = " · " + taken(o.Ended.Sub(o.Started))
	}
	switch {
	case o.Status == tool.OK && o.Ref != "":
		return t.colored(green, "✓ ") + head + dimmed(fmt.Sprintf("%s · %s characters kept under %s", took, grouped(o.Chars), o.Ref))
	case o.Status == tool.OK && o.Cached:
		return t.colored(green, "✓ ") + head + dimmed(took+" · from the cache")
	case o.Status == tool.OK:
		return t.colored(green, "✓ ") + head + dimmed(took)
	case o.Refusal != nil:
		return t.colored(yellow, "⊘ ") + head + " " + t.colored(yellow, "refused by "+refuser(*o)+": "+short(printable(o.Refusal.Reason), 300))
	case o.Status == tool.Cancelled:
		return dimmed("– ") + head + dimmed(took+" · stopped")
	}
	word := string(o.Status)
	if o.Status == tool.Failed {
		word = "failed"
	}
	return t.colored(red, "✗ ") + head + dimmed(took) + " " + t.colored(red, word+": "+short(printable(strings.TrimPrefix(llm.JoinText(o.Content), "Error: ")), 200))
}

// callHead is what was called with what.
func callHead(e *agent.ToolEvent) string {
	head := strong(printable(e.Name))
	if args := arguments(e.Args, 60); args != "" {
		head += " " + dimmed(args)
	}
	return head
}

// arguments are a call's arguments for people: name=value, in about n letters.
func arguments(raw json.RawMessage, n int) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return short(printable(string(raw)), n)
	}
	var parts []string
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			break
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			break
		}
		value := string(v)
		var s string
		if v[0] == '"' && json.Unmarshal(v, &s) == nil {
			if value = s; s == "" || strings.ContainsAny(s, " \n\t=\"") {
				value = fmt.Sprintf("%q", short(s, n))
			}
		}
		parts = append(parts, fmt.Sprintf("%v=%s", name, value))
	}
	return short(printable(strings.Join(parts, " ")), n)
}

// end tells how a run ended.
func (t *transcript) end(e agent.Event) {
	t.settle()
	for _, c := range t.calls { // their ends were never told
		t.aside("%s: no result", c.Name)
	}
	t.calls, t.waiting, t.asked = nil, "", nil
	switch {
	case e.Type == agent.RunFailed:
		t.fail(e.Text)
	case e.End != nil && e.End.Status == agent.Stopped:
		t.print(side, t.colored(yellow, "– stopped"))
	}
	if e.End != nil && !t.quiet && e.End.Rounds > 0 {
		t.print(side, dimmed(t.receipt(e)))
	}
	t.began = time.Time{}
}

// receipt is what a run took.
func (t *transcript) receipt(e agent.Event) string {
	u := e.End.Usage
	parts := []string{printable(t.target)}
	if e.End.Cached {
		parts = append(parts, "from the cache")
	}
	if u.Input+u.Output > 0 {
		in := grouped(int(u.Input)) + " in"
		if u.Cached > 0 && u.Input > 0 {
			in += fmt.Sprintf(" (%d%% cached)", u.Cached*100/u.Input)
		}
		parts = append(parts, in, grouped(int(u.Output))+" out")
	}
	if e.End.USD != nil && *e.End.USD > 0 {
		parts = append(parts, "$"+dollars(e.End.USD))
	}
	if t.tools > 0 {
		parts = append(parts, count(t.tools, "tool call"))
	}
	if !t.began.IsZero() {
		parts = append(parts, taken(e.Time.Sub(t.began)))
	}
	return strings.Join(parts, " · ")
}

// live is the rows of what is going on, at most most of them, width cells wide.
func (t *transcript) live(width, most int, now time.Time) []string {
	if t.began.IsZero() && t.waiting == "" {
		return nil
	}
	var rows []string
	if t.words != nil {
		rows = t.words.Open()
	}
	if !t.quiet {
		for _, c := range t.calls {
			rows = append(rows, t.callRow(c, width, now))
		}
		if !t.thought.began.IsZero() && t.words == nil {
			rows = append(rows, dimmed(term.Clip("∴ "+thinking(t.thought.text, width-4), width)))
		}
	}
	status := dimmed(term.Clip(spinner(now)+" "+t.status(now), width))
	if len(t.asked) > 0 {
		rows = append(rows, t.askRow(width, now))
	}
	last, _ := term.Tail(rows, width, max(most-3, 1))
	var out []string
	if len(last) > 0 {
		kind := side
		if t.words != nil {
			kind = answer
		}
		if t.last != nothing && (t.last != kind || kind == answer && t.fresh) {
			out = append(out, "")
		}
		out = append(out, last...)
		out = append(out, "")
	} else if t.last != nothing {
		out = append(out, "")
	}
	return append(out, status)
}

// status says what is waited for.
func (t *transcript) status(now time.Time) string {
	what := t.waiting
	since := t.began
	switch {
	case what != "":
	case len(t.asked) > 0:
		what = "waiting for an answer"
	case len(t.calls) > 0 && t.group > 1:
		what = fmt.Sprintf("%d of %d tools have ended", t.ended, t.group)
	case len(t.calls) > 0:
		what = t.calls[0].Name + " is running"
	case !t.thought.began.IsZero() && t.words == nil:
		what = "thinking"
	case t.words != nil:
		what = "answering"
	case t.target != "":
		what = "asking " + t.target
	default:
		what = "preparing"
	}
	if !since.IsZero() {
		what += " · " + seconds(now.Sub(since))
	}
	return printable(what) + " · Esc stops"
}

// callRow is a call that runs, or that has ended behind one that runs.
func (t *transcript) callRow(c *shownCall, width int, now time.Time) string {
	if c.Outcome != nil {
		return term.Clip(t.callLine(c.ToolEvent), width)
	}
	row := spinner(now) + " " + callHead(c.ToolEvent) + dimmed(" · "+seconds(now.Sub(c.began)))
	if c.progress != "" {
		row += dimmed(" · " + short(printable(c.progress), 80))
	}
	return term.Clip(row, width)
}

// spinner turns ten times a second.
func spinner(now time.Time) string {
	const frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
	return string([]rune(frames)[now.UnixMilli()/100%10])
}

// thinking is the end of a thought, on one line of about width cells.
func thinking(text string, width int) string {
	text = strings.Join(strings.Fields(printable(text)), " ")
	if r := []rune(text); len(r) > width && width > 1 {
		return "…" + string(r[len(r)-width+1:])
	}
	return text
}

// tail is the last n bytes of s, not cut inside of a letter.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[len(s)-n:], "")
}

// seconds is a duration that still grows.
func seconds(d time.Duration) string {
	return max(d, 0).Truncate(time.Second).String()
}

// taken is a duration in two figures or so.
func taken(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// grouped is a number with its thousands apart.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
