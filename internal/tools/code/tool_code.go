package code

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/guard/process"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

//go:embed tool_code.md
var toolCodeDoc string

const (
	ownName   = "tool_code"
	maxScript = 64 << 10 // bytes
	maxLine   = 8 << 20  // bytes of a line between the processes
	maxTime   = 30 * time.Minute
	// deadline is how much longer than it may work a process may be silent
	// before it is taken for dead.
	deadline = 5 * time.Second
	parallel = 8 // calls of one script at once
)

type scriptIn struct {
	Script string `json:"script" jsonschema:"JavaScript; may await and return"`
}

// callDetails tell of a call that a script made.
type callDetails struct {
	Tool   string      `json:"tool"`
	Status tool.Status `json:"status"`
	Cached bool        `json:"cached,omitempty"`
	Ms     int64       `json:"ms"`
}

type scriptDetails struct {
	Calls   []callDetails   `json:"calls,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"` // unless it is large
	Console int             `json:"console,omitempty"`
	Error   string          `json:"error,omitempty"`
}

const maxDetailValue = 4 << 10

func toolCode(r *Runner) tool.Tool {
	t := tool.New(tool.Definition{
		Name: ownName, Description: toolCodeDoc,
		// It changes nothing itself; what its calls change, they are held to.
		Traits: tool.Traits{
			Category: "code", Tags: []string{"script", "javascript", "program", "loop", "batch", "many", "automate", "combine"},
			ReadOnly: true, Waits: true, Timeout: maxTime,
		},
	}, r.run)
	// Nobody knows what its calls will touch, so nothing runs beside it.
	return tool.WithTouches(t, func(tool.Call, scriptIn) []tool.Touch { return []tool.Touch{tool.Everything} })
}

func (r *Runner) run(ctx context.Context, call tool.Call, in scriptIn) (tool.Result, error) {
	switch {
	case r.program.Path == "":
		return tool.Result{}, errors.New("this program can't run scripts: call the tools one by one")
	case strings.TrimSpace(in.Script) == "":
		return tool.Result{}, errors.New("the script is empty")
	case len(in.Script) > maxScript:
		return tool.Result{}, fmt.Errorf("the script has %d bytes, and may have %d", len(in.Script), maxScript)
	}
	who, where := call.Scope.Caller().ID, call.Scope.SessionKey()
	done, err := r.begin(ctx, who, where)
	if err != nil {
		return tool.Result{}, err
	}
	defer done()
	rest, err := r.working.Take(ctx, who, where)
	if err != nil {
		return tool.Result{}, err
	}
	child, err := process.Start(process.Command{Path: r.program.Path, Name: r.program.Name, Args: []string{Command}})
	if err != nil {
		rest()
		return tool.Result{}, fmt.Errorf("run the script: %w", err)
	}
	own, cancel := context.WithCancel(ctx)
	s := newSession(own, child, call.Host, r.limits)
	s.work, s.rest = func() (func(), error) { return r.working.Take(own, who, where) }, rest
	e, err := s.serve(unfenced(in.Script))
	cancel()
	s.finish()
	s.pause()
	if err != nil {
		if ctx.Err() != nil {
			return tool.Result{}, ctx.Err()
		}
		e = end{Error: err.Error()}
	}
	return s.result(e), nil
}

// fence is what models write around a script now and then, as if it were shown to
// people.
var fence = regexp.MustCompile("^\\s*```[a-zA-Z]*[ \\t]*\r?\n((?s:.*))\n[ \\t]*```\\s*$")

// unfenced is a script without the fence around it, on the lines that it has.
func unfenced(script string) string {
	if at := fence.FindStringSubmatchIndex(script); at != nil {
		return strings.Repeat("\n", strings.Count(script[:at[2]], "\n")) + script[at[2]:at[3]]
	}
	return script
}

// session is one script, seen from the gateway. Whoever reads what its process
// says never waits for what the process reads: it may read nothing until what it
// says is read. So one goroutine of its own writes to it.
type session struct {
	ctx     context.Context
	child   *process.Child
	desk    *desk
	limits  limits
	stirred chan struct{}                   // gets something when the process said something or a call ended
	work    func() (rest func(), err error) // waits for a turn to work
	replies chan reply                      // that are to be written; has room for one to each request

	calls   sync.WaitGroup
	writing sync.WaitGroup // writeReplies

	mu      sync.Mutex // not held while anything is waited for
	rest    func()     // gives the turn back; nil while the process has none and waits
	turning bool       // a turn is waited for
	running int        // calls
	replied int        // replies that were written or will be
	asked   int
	details []callDetails
}

func newSession(ctx context.Context, child *process.Child, host tool.Host, l limits) *session {
	return &session{
		ctx: ctx, child: child, desk: newDesk(ctx, host), limits: l, stirred: make(chan struct{}, 1),
		replies: make(chan reply, l.Calls),
	}
}

// serve hands the script in and answers what it asks for until it ends.
func (s *session) serve(script string) (e end, err error) {
	watched := make(chan struct{})
	stop := make(chan struct{})
	go func() {
		defer close(watched)
		s.watch(stop)
	}()
	silent := false // the process ended, or was ended, without saying why
	defer func() {
		close(stop)
		<-watched
		s.child.Kill()
		if died := s.child.Wait(); silent && s.ctx.Err() == nil && died != nil {
			err = s.death(died)
		}
	}()
	if err := s.say(job{Script: script, Limits: s.limits}); err != nil {
		silent = true
		return end{}, err
	}
	s.writing.Go(s.writeReplies)
	lines := bufio.NewScanner(s.child.Out)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		s.stir()
		if e, err := s.hear(lines.Bytes()); err != nil {
			return end{}, err
		} else if e != nil {
			return *e, nil
		}
	}
	if err := lines.Err(); err != nil {
		return end{}, fmt.Errorf("the script's process: %w", err)
	}
	silent = true
	return end{}, errors.New("the script's process ended early")
}

// hear takes in a line of the process; e is not nil when it was its last.
func (s *session) hear(line []byte) (e *end, err error) {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, fmt.Errorf("the script's process speaks nonsense: %w", err)
	}
	if r.Op == "end" && r.End != nil {
		return r.End, nil
	}
	return nil, s.serveOne(r)
}

// death says why the process of the script ended without saying so.
func (s *session) death(err error) error {
	text := err.Error()
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	switch {
	case says("out of memory", "failed to allocate", "cannot allocate memory", "pthread_create failed", "create new OS thread"),
		says("SIGSEGV") && says("goroutine 0 "): // Go's own code, which some refusals of memory take by surprise
		return fmt.Errorf("RangeError: the script asked for far more than %d MB of memory at once", s.limits.Memory>>20)
	case says("stack overflow", "stack exceeds"):
		return errors.New("RangeError: the script is nested too deep")
	case says("signal: killed"):
		return fmt.Errorf("the script worked for more than %s without an end and was stopped", s.limits.Work)
	}
	line, _, _ := strings.Cut(text, "\n") // the rest is where in this program
	return fmt.Errorf("the script's process broke: %s", line)
}

// watch ends the process when the call is stopped, and when it has been silent
// for longer than a script may work although it waits for nothing.
func (s *session) watch(stop <-chan struct{}) {
	most := s.limits.Work + deadline
	timer := time.NewTimer(most)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-s.ctx.Done():
			s.child.Kill()
			return
		case <-s.stirred:
			timer.Reset(most)
		case <-timer.C:
			if !s.waits() {
				s.child.Kill()
				return
			}
			timer.Reset(most)
		}
	}
}

// waits tells whether the process may have to wait for others.
func (s *session) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running > 0 || s.turning
}

func (s *session) stir() {
	select {
	case s.stirred <- struct{}{}:
	default:
	}
}

// serveOne answers a request, calls later.
func (s *session) serveOne(r request) error {
	if r.Op == "wait" {
		s.idle(r.Heard)
		return nil
	}
	s.mu.Lock()
	s.asked++
	over := s.asked > s.limits.Calls
	s.mu.Unlock()
	if over {
		return fmt.Errorf("a script asks and calls at most %d times", s.limits.Calls)
	}
	switch r.Op {
	case "search":
		s.reply(r.ID, s.desk.search(r.Name), nil)
		return nil
	case "describe":
		d, err := s.desk.describe(r.Name)
		s.reply(r.ID, d, err)
		return nil
	case "call":
		s.mu.Lock()
		s.running++
		s.mu.Unlock()
		run := s.desk.prepare(r.Name, r.Args)
		s.calls.Go(func() {
			begun := time.Now()
			out, v, err := contained(r.Name, run)
			s.mu.Lock()
			s.details = append(s.details, callDetails{Tool: out.Tool, Status: out.Status, Cached: out.Cached, Ms: time.Since(begun).Milliseconds()})
			s.running--
			s.mu.Unlock()
			s.reply(r.ID, v, err)
			s.stir()
		})
		return nil
	}
	return fmt.Errorf("the script's process asks for %q, which is nothing", r.Op)
}

// contained has a call run whose code, or whose tool's schema, may break: that
// costs the call only.
func contained(name string, run func() (tool.Outcome, called, error)) (out tool.Outcome, v called, err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("a call of a script panicked", "tool", name, "panic", p, "stack", string(debug.Stack()))
			out = tool.Outcome{Tool: name, Status: tool.Panicked}
			v, err = called{}, fmt.Errorf("%s: GoClaw broke while it worked on this call (%v); what it had done by then stands", name, p)
		}
	}()
	return run()
}

// reply has a reply written.
func (s *session) reply(id int, value any, err error) {
	r := reply{ID: id}
	var raw []byte
	if err == nil {
		raw, err = json.Marshal(value)
	}
	switch {
	case err != nil:
		r.Error = err.Error()
	case len(raw) > maxLine:
		r.Error = fmt.Sprintf("the result has %d bytes, more than a script can take: ask for less", len(raw))
	default:
		r.Value = raw
	}
	s.mu.Lock()
	s.replied++
	s.mu.Unlock()
	s.replies <- r
}

// writeReplies writes each reply as soon as the process may go on with it, until
// there are no more, or the process or the call has ended. Whoever reads from the
// process, or watches it, says why then.
func (s *session) writeReplies() {
	for r := range s.replies {
		if s.turn() != nil || s.say(r) != nil {
			return
		}
	}
}

// turn waits until the process may work.
func (s *session) turn() error {
	s.mu.Lock()
	s.turning = s.rest == nil
	wait := s.turning
	s.mu.Unlock()
	if !wait {
		return nil
	}
	rest, err := s.work()
	s.mu.Lock()
	s.rest, s.turning = rest, false
	s.mu.Unlock()
	s.stir()
	return err
}

// idle gives the turn of a process back that waits and has heard so many
// replies, unless another one is on its way to it.
func (s *session) idle(heard int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if heard == s.replied {
		s.pause()
	}
}

// pause gives the turn of the process back, if it has one.
func (s *session) pause() {
	if s.rest != nil {
		s.rest()
		s.rest = nil
	}
}

// finish waits until nothing of a script goes on whose process has ended.
func (s *session) finish() {
	s.calls.Wait()
	close(s.replies)
	s.writing.Wait()
}

// say writes a line to the process.
func (s *session) say(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = s.child.In.Write(append(line, '\n'))
	return err
}

// result is what the model gets of a script.
func (s *session) result(e end) tool.Result {
	d := scriptDetails{Calls: s.details, Console: len(e.Console), Error: e.Error}
	if len(e.Value) <= maxDetailValue {
		d.Value = e.Value
	}
	var b strings.Builder
	switch {
	case e.Error != "":
		fmt.Fprintf(&b, "Error: %s\n", e.Error)
		b.WriteString(s.done())
	case len(e.Value) == 0 && len(e.Console) == 0:
		b.WriteString("The script returned and printed nothing; return what you want to know.\n")
	case len(e.Value) > 0:
		b.WriteString(plain(e.Value))
		b.WriteByte('\n')
	}
	if len(e.Console) > 0 {
		if b.Len() > 0 {
			b.WriteString("\nConsole:\n")
		}
		for _, line := range e.Console {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	if e.Dropped > 0 {
		fmt.Fprintf(&b, "[%d more lines were printed than fit in %d KB]\n", e.Dropped, s.limits.Console>>10)
	}
	for _, told := range e.Unheard {
		fmt.Fprintf(&b, "[A failure that the script did not look at: %s]\n", told)
	}
	return tool.Result{Content: []llm.Part{llm.Text(strings.TrimSuffix(b.String(), "\n"))}, Details: d, IsError: e.Error != ""}
}

// done says what calls a script had made when it failed: they stand.
func (s *session) done() string {
	if len(s.details) == 0 {
		return "No tool was called.\n"
	}
	const most = 20
	var names []string
	for i, c := range s.details {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(s.details)-most))
			break
		}
		names = append(names, fmt.Sprintf("%s (%s)", c.Tool, c.Status))
	}
	return "These calls had been made, and what they did stands: " + strings.Join(names, ", ") + ".\n"
}

// plain is a value as the model reads it: a text as it is, unless it is empty.
func plain(value json.RawMessage) string {
	var text *string
	if json.Unmarshal(value, &text) == nil && text != nil && *text != "" {
		return *text
	}
	return strings.ToValidUTF8(string(value), "\ufffd")
}
