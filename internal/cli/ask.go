package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/agent/command"
	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/cli/term"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/tool"
)

// asker asks the person at the other end of a command whether calls may run,
// one after the other, line by line. It belongs to one goroutine, which gives it
// what happens and the lines that come.
//
// At a terminal a line is y, a or n. Where lines are piped in, all of them may
// have been written before anything was asked: only /approve is an answer then,
// and any other line is a no and stays for whoever reads lines next.
type asker struct {
	*app
	g    *gateway.Gateway
	who  auth.Principal
	in   *lines
	open []tool.Approval // that wait, in order
}

// asks makes what asks the person who sits at this command; nil where nobody
// does.
func (a *app) asks(g *gateway.Gateway, who auth.Principal) *asker {
	if !isTerminal(a.In) || !isTerminal(a.Err) {
		return nil
	}
	return &asker{app: a, g: g, who: who}
}

// piped reports whether nobody types.
func (q *asker) piped() bool { return !isTerminal(q.In) }

// lines is where the next line comes from; nil while nothing is asked.
func (q *asker) lines() <-chan heard {
	if q == nil || len(q.open) == 0 {
		return nil
	}
	if q.in == nil {
		q.in = readLines(q.In)
	}
	return q.in.want()
}

// take takes in that a call waits, or waits no more.
func (q *asker) take(a *tool.Approval) {
	at := slices.IndexFunc(q.open, func(o tool.Approval) bool { return o.ID == a.ID })
	switch {
	case a.Status == tool.ApprovalOpen && at < 0:
		if a.Admins && q.who.Role != auth.Admin {
			q.tell("an admin has to answer: %s", strings.Join(question(*a), "\n"))
			return
		}
		q.open = append(q.open, *a)
		if len(q.open) == 1 {
			q.ask()
		}
	case a.Status != tool.ApprovalOpen && at >= 0:
		q.open = slices.Delete(q.open, at, at+1)
		if at == 0 {
			q.ask()
		}
	}
}

// ask asks about the first call that waits. It is no word on the side: --quiet
// doesn't leave it out. What was typed before it is no answer.
func (q *asker) ask() {
	if len(q.open) == 0 || q.piped() {
		return
	}
	if q.in != nil {
		q.in.drop()
	}
	if f, ok := q.In.(*os.File); ok {
		term.Discard(f)
	}
	q.tell("%s", strings.Join(question(q.open[0]), "\n"))
	q.prompt()
}

func (q *asker) prompt() {
	fmt.Fprintf(q.Err, "allow it? [y]es once, [a]lways this very call, [n]o (within %s): ", q.open[0].Expires.Sub(q.open[0].Created))
}

func (q *asker) tell(format string, args ...any) {
	fmt.Fprintln(q.Err, "? "+fmt.Sprintf(format, args...))
}

// heard takes the line that came.
func (q *asker) heard(ctx context.Context, h heard) {
	first := q.open[0]
	answer, id, ok := q.understood(h)
	if !ok {
		q.prompt()
		return
	}
	if id == "" {
		id = first.ID
	}
	x, err := give(ctx, q.g, q.who, id, answer)
	var closed *approval.ClosedError
	switch {
	case err == nil:
		q.say("· %s", answered(x))
	case errors.As(err, &closed):
		q.fail(err)
		x = closed.Approval
	case h.err != nil: // nobody is there to be asked again: time says no
		q.fail(err)
		x = first
		x.Status = tool.ApprovalLost
	default:
		q.fail(err)
		if !q.piped() {
			q.prompt()
		}
		return
	}
	// What is told of it in the run comes later, and then changes nothing.
	q.take(&x)
}

func (q *asker) fail(err error) { fmt.Fprintln(q.Err, "goclaw: "+printable(err.Error())) }

// understood reads a line as an answer; not ok means that it is to be asked
// again.
func (q *asker) understood(h heard) (answer tool.Answer, id string, ok bool) {
	if h.err != nil { // nobody is there any more
		q.in.keep(h)
		return tool.Deny, "", true
	}
	line := strings.TrimSpace(h.line)
	if rest, cut := strings.CutPrefix(strings.ToLower(line), "/approve"); cut && (rest == "" || rest[0] == ' ') {
		answer, id, err := command.Approve(rest)
		if err == nil && id != "" {
			at := slices.IndexFunc(q.open, func(o tool.Approval) bool { return strings.HasPrefix(o.ID, id) })
			if at < 0 {
				err = fmt.Errorf("nothing that waits has an id that begins with %s", id)
			} else {
				id = q.open[at].ID
			}
		}
		if err == nil {
			return answer, id, true
		}
		q.fail(err)
		return "", "", false
	}
	if q.piped() {
		q.in.keep(h)
		return tool.Deny, "", true
	}
	answer, ok = command.AnswerOf(line)
	return answer, "", ok
}

// lines reads lines of standard input one at a time, when they are wanted. One
// goroutine reads; as [awaited] says, it ends with the process where it can't
// be called off.
type lines struct {
	next  chan struct{}
	found chan heard
	asked bool
	ended error
}

// heard is a line without its end, or why there is none: io.EOF behind the last.
type heard struct {
	line string
	err  error
}

// readLines begins to read lines. It is used by one goroutine.
func readLines(r io.Reader) *lines {
	l := &lines{next: make(chan struct{}, 1), found: make(chan heard, 1)}
	go func() {
		in := bufio.NewReader(r)
		for range l.next {
			line, err := readLine(in)
			l.found <- heard{line, err}
			if err != nil {
				return
			}
		}
	}()
	return l
}

// want asks for a line, which comes on the channel. What comes is to be given to
// came.
func (l *lines) want() <-chan heard {
	if !l.asked && l.ended == nil {
		l.asked = true
		l.next <- struct{}{}
	}
	if l.ended != nil && len(l.found) == 0 {
		l.found <- heard{err: l.ended}
	}
	return l.found
}

// came notes that what was asked for came.
func (l *lines) came(h heard) {
	l.asked = false
	if h.err != nil {
		l.ended = h.err
	}
}

// drop forgets a line that came before anybody waited for it.
func (l *lines) drop() {
	select {
	case h := <-l.found:
		l.came(h)
	default:
	}
}

// keep puts a line back for whoever wants the next.
func (l *lines) keep(h heard) {
	if h.err == nil {
		l.asked = true
		l.found <- h
	}
}

// line waits for a line, or the end of ctx.
func (l *lines) line(ctx context.Context) (string, error) {
	select {
	case h := <-l.want():
		l.came(h)
		return h.line, h.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
