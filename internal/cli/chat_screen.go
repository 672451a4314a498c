package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/command"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/cli/follow"
	"github.com/goclaw/goclaw/internal/cli/markdown"
	"github.com/goclaw/goclaw/internal/cli/term"
	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/tool"
)

// console is a chat on a terminal: what has been said scrolls away above, and
// below stands what is going on and the line that the person writes, at any
// time. One goroutine does it all.
type console struct {
	*chat
	errs     *term.Aside
	out      bytes.Buffer // what a command prints
	terminal *term.Terminal
	signals  term.Signals
	screen   *term.Screen
	editor   *term.Editor
	history  *term.History
	decoder  term.Decoder
	follower *follow.Follower
	view     *transcript

	runs    []*run.Run // that were started and have not ended, in order
	asked   map[string]bool
	about   string    // the request that stood first when the line was begun; empty for none
	typed   time.Time // when something last came from the keyboard
	hint    string    // is shown below the line
	until   time.Time // the hint's end
	leaving bool      // Ctrl-C was pressed at an empty line
}

const (
	// escapeWithin is how long a key's other bytes may take to come.
	escapeWithin = 30 * time.Millisecond
	// frame is how often what a model says is painted at most.
	frame = 16 * time.Millisecond
	// turn is how often what is going on is painted when nothing happens.
	turn = 100 * time.Millisecond
	// hintFor is how long a hint is shown, and Ctrl-C waits for the second one.
	hintFor = 3 * time.Second
)

// screenChat runs a chat on the terminal.
func screenChat(ctx context.Context, c *chat, errs *term.Aside) (err error) {
	in, _ := c.In.(*os.File)
	out, _ := c.Out.(*os.File)
	k := &console{chat: c, errs: errs, asked: map[string]bool{}}
	own := *c.app
	own.Out = &k.out
	c.app = &own
	c.going, c.steer = k.first, func(text string) error { return k.send(text, run.Steer) }

	home, err := config.HomeDir(c.home, c.env)
	if err != nil {
		return err
	}
	k.history, err = term.ReadHistory(filepath.Join(home, "state", "chat_history"))
	if err != nil {
		c.say("note: %s", err)
	}
	k.terminal, err = term.Open(in, out)
	if err != nil {
		return err
	}
	errs.Hold(true)
	// Whatever happens, the terminal is given back before anything else is said.
	defer func() {
		err = errors.Join(err, k.terminal.Close())
		errs.Hold(false)
	}()
	width, height := k.terminal.Size()
	k.screen = term.NewScreen(k.terminal, width, height, reflows(c.env))
	k.editor = term.NewEditor(k.history)
	k.editor.Complete = func(before string) term.Completion { return k.completion(ctx, before) }
	k.view = &transcript{quiet: c.quiet, admin: c.req.Caller.Role == auth.Admin, style: markdown.Options{Width: width, Color: c.env.Get("NO_COLOR") == "", Links: hyperlinks(c.env)}}

	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	k.follower = follow.Start(following, c.g.Runner)
	defer func() {
		stop()
		k.follower.Wait()
	}()
	var unlisten func()
	k.signals, unlisten = term.Notify()
	defer unlisten()
	return k.loop(ctx)
}

// reflows reports whether the terminal folds lines anew when its width changes.
// Most do; those that don't can be told by their environment.
func reflows(env config.Environ) bool {
	return env.Get("XTERM_VERSION") == "" && env.Get("STY") == "" && env.Get("TERM") != "linux"
}

// hyperlinks reports whether the terminal is known to take links (OSC 8). One
// that isn't may show them as rubbish.
func hyperlinks(env config.Environ) bool {
	switch env.Get("TERM_PROGRAM") {
	case "iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio":
		return true
	}
	for _, name := range []string{"KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION", "VTE_VERSION"} {
		if env.Get(name) != "" && env.Get("TMUX") == "" {
			return true
		}
	}
	kind := env.Get("TERM")
	return strings.Contains(kind, "kitty") || strings.HasPrefix(kind, "foot") || strings.HasPrefix(kind, "alacritty")
}

// first is the run that is going on or the next to begin.
func (k *console) first() *run.Run {
	if len(k.runs) == 0 {
		return nil
	}
	return k.runs[0]
}

// errGone ends a chat whose terminal was closed.
var errGone = &exitError{status: exitInterrupted, err: errors.New("the terminal is gone")}

// loop waits for what happens and paints it.
func (k *console) loop(ctx context.Context) error {
	k.greet(ctx)
	if err := k.paint(); err != nil {
		return k.leave(errGone)
	}
	var painted time.Time
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(k.patience(painted))
		now := true
		select {
		case b, ok := <-k.terminal.Input():
			if !ok {
				return k.leave(errGone)
			}
			k.typed = time.Now()
			if quit := k.keys(ctx, k.decoder.Feed(b)); quit {
				return k.leave(nil)
			}
		case h := <-k.follower.Events():
			k.happened(ctx, h)
			now = time.Since(painted) >= frame
		case <-k.errs.Ready():
			if text := strings.TrimSuffix(k.errs.Take(), "\n"); text != "" {
				k.view.print(side, strings.Split(printable(text), "\n")...)
			}
		case <-k.signals.Resized:
		case <-k.signals.Continued:
			k.resume()
		case <-timer.C:
		case <-ctx.Done():
			return k.leave(ctx.Err())
		}
		if k.decoder.Waiting() && time.Since(k.typed) >= escapeWithin {
			if quit := k.keys(ctx, k.decoder.Flush()); quit {
				return k.leave(nil)
			}
			now = true
		}
		if !now {
			continue
		}
		if err := k.paint(); err != nil {
			return k.leave(errGone)
		}
		painted = time.Now()
	}
}

// patience is how long nothing may happen before something is to be done.
func (k *console) patience(painted time.Time) time.Duration {
	switch {
	case k.decoder.Waiting():
		return max(escapeWithin-time.Since(k.typed), time.Millisecond)
	case len(k.view.printed) > 0 || k.view.words != nil:
		return max(frame-time.Since(painted), time.Millisecond)
	case len(k.runs) > 0:
		return turn
	case k.hint != "":
		return max(time.Until(k.until), time.Millisecond)
	}
	return time.Hour
}

// greet says who answers, and shows the end of a conversation that goes on.
func (k *console) greet(ctx context.Context) {
	if !k.quiet {
		words := " · " + k.req.Agent
		if choice, err := k.g.Choose(ctx, k.req.Agent, k.req.Model); err == nil {
			words += " · " + choice.Provider + "/" + choice.Model
		}
		k.view.print(side, strong("GoClaw")+dimmed(printable(words+" · /help lists commands, Ctrl-D leaves")))
	}
	k.recall(ctx)
}

// paint paints what there is.
func (k *console) paint() error {
	width, height := k.terminal.Size()
	k.screen.Resize(width, height)
	k.view.style.Width = width
	if k.view.words != nil {
		k.view.words.SetWidth(width)
	}
	now := time.Now()
	if k.hint != "" && !now.Before(k.until) {
		k.hint, k.leaving = "", false
	}
	below := k.below(width)
	v := k.editor.View(width, term.Look{Rows: max(min(12, height/3), 1), Menu: max(height-6, 0)})
	above := k.view.live(width, max(height-len(v.Rows)-len(below)-1, 3), now)
	above = append(above, k.waitingRows(width)...)
	if len(above) > 0 || k.view.last != nothing {
		above = append(above, "")
	}
	v.Y += len(above)
	v.Rows = append(append(above, v.Rows...), below...)
	return k.screen.Paint(k.view.take(), v)
}

// below is what stands under the line.
func (k *console) below(width int) []string {
	var rows []string
	if k.planning {
		rows = append(rows, k.view.colored(yellow, term.Clip("  plan mode: nothing is changed · /plan off leaves it", width)))
	}
	if k.hint == "" {
		return rows
	}
	for _, row := range term.Fold("  "+k.hint, width, "  ") {
		rows = append(rows, dimmed(row))
	}
	return rows
}

// waitingRows are the messages that wait for their turn.
func (k *console) waitingRows(width int) []string {
	var rows []string
	for _, r := range k.runs {
		if !k.asked[r.ID] {
			rows = append(rows, dimmed(term.Clip("  waits: "+short(printable(r.Request().Message.Text()), width), width)))
		}
	}
	if len(rows) > 3 {
		rows = append(rows[:3], dimmed(fmt.Sprintf("  and %d more", len(rows)-3)))
	}
	return rows
}

// happened takes an event of a run.
func (k *console) happened(ctx context.Context, h follow.Event) {
	switch {
	case h.Type == agent.Notice && h.Kind == "steered": // another message was taken in
		k.asked[h.Ref] = true
		k.view.settle()
		k.view.asks(h.Text)
		return
	case h.Type == agent.Notice && h.Kind == "joined":
		return // told by the run that it joined
	case h.Type == agent.Notice:
	case !k.asked[h.Of.ID]:
		k.asked[h.Of.ID] = true
		k.view.asks(h.Of.Request().Message.Text())
	}
	if h.End == nil || h.Ref == "" { // else another run gives the answer
		k.view.show(h.Event)
	}
	if err := k.note(ctx, h.Event); err != nil {
		k.view.fail(err.Error())
	}
	if h.Tool != nil && h.Tool.Outcome != nil {
		for _, e := range h.Tool.Outcome.Effects {
			if e.Kind == tool.PlanMode {
				k.planning = e.Value == "on"
			}
		}
	}
	if h.End != nil {
		if err := k.learn(ctx); err != nil {
			k.view.fail(err.Error())
		}
		delete(k.asked, h.Of.ID)
		k.runs = slices.DeleteFunc(k.runs, func(r *run.Run) bool { return r.ID == h.Of.ID })
	}
}

// keys takes keys and reports whether the person leaves.
func (k *console) keys(ctx context.Context, keys []term.Key) (quit bool) {
	for _, key := range keys {
		empty := k.editor.Text() == ""
		event := k.editor.Key(key)
		if empty || k.editor.Text() == "" {
			k.about = k.view.question(time.Now())
		}
		if event != term.Interrupt {
			k.leaving = false
		}
		if event == term.Nothing && k.hint != "" {
			k.hint = ""
		}
		switch event {
		case term.Submit:
			if k.submit(ctx) {
				return true
			}
		case term.Interrupt:
			if k.interrupt() {
				return true
			}
		case term.EOF:
			return true
		case term.Cancel:
			if r := k.first(); r != nil {
				r.Stop()
			}
		case term.Redraw:
			k.screen.Clear()
		case term.Suspend:
			k.suspend()
		}
	}
	return false
}

// interrupt is Ctrl-C: it stops what is going on, else empties the line, else
// leaves when it comes twice.
func (k *console) interrupt() (quit bool) {
	switch {
	case k.first() != nil:
		k.first().Stop()
		if n := len(k.runs) - 1; n > 0 {
			k.tip(count(n, "message") + " still waiting; Ctrl-C again stops the next")
		}
	case k.editor.Text() != "":
		k.editor.SetText("")
	case k.leaving:
		return true
	default:
		k.leaving = true
		k.tip("Ctrl-C again leaves")
	}
	return false
}

func (k *console) tip(text string) { k.hint, k.until = text, time.Now().Add(hintFor) }

// submit takes the line and does what it asks for.
func (k *console) submit(ctx context.Context) (quit bool) {
	text := k.editor.Text()
	if strings.TrimSpace(text) == "" {
		return false
	}
	if answer, ok := command.AnswerOf(strings.TrimSpace(text)); ok && k.view.answerable() {
		k.editor.Take()
		k.answer(ctx, answer)
		return false
	}
	k.remember(text) // so that a line with a slip comes back with Up
	k.editor.Take()
	call, err := k.commands.Parse(text)
	if err != nil {
		k.view.asks(strings.TrimSpace(text))
		k.view.fail(err.Error())
		return false
	}
	if call.Name == "" {
		if err := k.send(call.Text, ""); err != nil {
			k.view.fail(err.Error())
		}
		return false
	}
	return k.command(ctx, call)
}

func (k *console) remember(text string) {
	if err := k.editor.Remember(text); err != nil {
		k.view.say("note: %s", err)
	}
}

// send sends a message, or gives it to the going run when busy says so.
func (k *console) send(text string, busy run.Busy) error {
	req := k.message(text)
	req.WhileBusy = busy
	r, err := k.g.Runner.Start(req)
	if err != nil {
		return err
	}
	if len(k.runs) == 0 {
		k.view.asks(text)
		k.asked[r.ID] = true
		k.view.began = time.Now()
	}
	k.runs = append(k.runs, r)
	k.follower.Tell(r)
	return nil
}

// command carries out a slash command.
func (k *console) command(ctx context.Context, call command.Call) (quit bool) {
	k.out.Reset()
	before := k.req.Session
	err := k.do(ctx, call)
	if errors.Is(err, errQuit) {
		return true
	}
	if call.Name != "steer" && call.Name != "stop" {
		k.view.asks("/" + strings.TrimSpace(call.Name+" "+call.Arg))
	}
	k.view.print(side, k.printout(call)...)
	switch {
	case err != nil:
		k.view.fail(err.Error())
	case k.req.Session != before:
		k.recall(ctx)
	}
	return false
}

// printout is what a command printed, as lines. Of a table what doesn't fit is
// cut off: its last column says the least, and folded it could not be read.
func (k *console) printout(call command.Call) []string {
	text := strings.TrimRight(k.out.String(), "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	width, _ := k.screen.Size()
	for i, line := range lines {
		if call.Arg == "" && call.Name != "export" && term.Width(line) > width {
			lines[i] = term.Clip(line, width-1) + "…"
		}
	}
	return lines
}

// completion is what a line may become.
func (k *console) completion(ctx context.Context, before string) term.Completion {
	from, list, live := k.complete(ctx, before)
	c := term.Completion{From: from, Live: live}
	for _, v := range list {
		c.List = append(c.List, term.Candidate{Text: v[0], Note: v[1]})
	}
	return c
}

// suspend stops the process, as Ctrl-Z does, and paints anew when it goes on.
func (k *console) suspend() {
	if !term.CanSuspend {
		return
	}
	if err := k.screen.End(nil); err != nil {
		return // the terminal is gone; the next paint tells so
	}
	if err := k.terminal.Suspend(k.signals); err != nil {
		k.view.fail(err.Error())
	}
	k.screen.Invalidate()
}

// resume takes the terminal again when somebody else stopped the process.
func (k *console) resume() {
	if err := k.terminal.Resume(); err != nil {
		k.view.fail(err.Error())
	}
	k.screen.Invalidate()
}

// leave stops what is going on and says how to go on with the conversation.
func (k *console) leave(cause error) error {
	if r := k.first(); r != nil {
		for _, r := range slices.Backward(k.runs) { // so that none begins when another ends
			r.Stop()
		}
		k.await(r)
	}
	k.view.settle()
	if line := k.goOn(); line != "" && !k.quiet {
		k.view.print(side, dimmed("· go on with: "+line))
	}
	// An error of a terminal that is gone is no failure of the chat.
	_ = k.screen.End(k.view.take())
	return cause
}

// stopWithin is how long leaving waits for the end of a run.
const stopWithin = 2 * time.Second

// await takes the events of a run that was stopped until its end.
func (k *console) await(r *run.Run) {
	end := time.After(stopWithin)
	for {
		select {
		case h := <-k.follower.Events():
			k.happened(context.Background(), h)
			if h.Of.ID == r.ID && h.End != nil {
				return
			}
		case <-end:
			return
		}
	}
}
