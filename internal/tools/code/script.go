package code

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed prelude.js
var prelude string

// A script runs as it is: it may await, and what its last statement is worth is
// what it returns, as in a console, if that is an expression. One that uses
// return becomes the body of a function, on the lines that it has.
const (
	opening = "(async () => {"
	closing = "\n})()"
	file    = "script" // prelude.js looks for it in stacks
)

// spare is memory, in bytes, that a script gets at its end, so that it can be
// said how it ended.
const spare = 4 << 20

// script is one script while it runs. It belongs to one goroutine; only its
// clock is read by another.
type script struct {
	engine  *engine
	ours    value // what prelude.js gives to Go
	limits  limits
	send    func(request) error
	replies <-chan json.RawMessage
	clock   *clock
	shift   int // columns before the first line of the script

	asked   int
	heard   int // replies
	end     end
	printed int
}

var (
	errGone  = errors.New("the tool that started the script has gone")
	errNever = errors.New("the script waits for something that never comes")
)

// run runs the script of j on the goroutine that it is called on.
func run(j job, c *clock, send func(request) error, replies <-chan json.RawMessage) end {
	s := &script{limits: j.Limits, send: send, replies: replies, clock: c}
	var err error
	if s.engine, err = newEngine(s.limits.Memory, s.limits.Depth, s.late); err == nil {
		err = s.furnish()
	}
	if err == nil {
		err = s.play(j.Script)
	}
	if err != nil {
		s.end.Value, s.end.Error = nil, s.complaint(err)
	}
	return s.end
}

// late tells whether the script has worked for as long as it may.
func (s *script) late() bool { return s.clock.read() > s.limits.Work }

// furnish gives the script what it finds beside the language.
func (s *script) furnish() error {
	e := s.engine
	o, err := e.eval("globalThis.host = {}", "host", plainly)
	if err != nil {
		return err
	}
	for name, f := range map[string]host{"ask": s.ask, "wait": s.wait, "log": s.log} {
		v, err := e.function(name, f)
		if err != nil {
			return err
		}
		if err := e.set(o, name, v); err != nil {
			return err
		}
	}
	e.free(o)
	if s.ours, err = e.eval(prelude, "prelude", plainly); err != nil {
		return err
	}
	e.rejections(func(promise, reason value, handled bool) {
		if handled {
			s.mark("heard", map[string]value{"promise": promise})
		} else {
			s.mark("rejected", map[string]value{"promise": promise, "reason": reason})
		}
	})
	return nil
}

// mark tells the prelude something of the given values. Where there is no
// memory for it, what a script did not look at isn't told.
func (s *script) mark(name string, values map[string]value) {
	if v, err := s.about(name, values); err == nil {
		s.engine.free(v)
	}
}

// about calls a function of the prelude for the given values.
func (s *script) about(name string, values map[string]value) (value, error) {
	o, err := s.engine.object()
	if err != nil {
		return none, err
	}
	defer s.engine.free(o)
	for key, v := range values {
		if err := s.engine.set(o, key, s.engine.dup(v)); err != nil {
			return none, err
		}
	}
	return s.prelude(name, o)
}

// prelude calls a function of the prelude.
func (s *script) prelude(name string, this value) (value, error) {
	f, err := s.engine.get(s.ours, name)
	if err != nil {
		return none, err
	}
	defer s.engine.free(f)
	return s.engine.call(f, this)
}

// says calls a function of the prelude that returns a text.
func (s *script) says(name string) (string, error) {
	v, err := s.prelude(name, s.ours)
	if err != nil {
		return "", err
	}
	defer s.engine.free(v)
	return s.engine.read(v)
}

// play runs source to its end.
func (s *script) play(source string) error {
	if err := s.begin(source); err != nil {
		return err
	}
	state, err := s.last()
	if err != nil {
		return err
	}
	s.engine.limit(s.limits.Memory + spare)
	var unheard []told
	if err := s.list("unheard", &unheard); err != nil {
		return err
	}
	for _, t := range unheard {
		s.end.Unheard = append(s.end.Unheard, s.words(t))
	}
	switch state {
	case "done":
		return s.finish()
	case "failed":
		var t told
		if err := s.list("error", &t); err != nil {
			return err
		}
		return errors.New(s.words(t))
	}
	return errNever
}

// begin runs the script until it first waits.
func (s *script) begin(source string) error {
	e := s.engine
	take := "drop"
	if s.worth(source) {
		take = "unwrap"
	}
	p, err := e.eval(source, file, awaiting)
	var x *exception
	switch {
	case err == nil:
		whole := p
		p, err = s.prelude(take, whole)
		e.free(whole)
	case errors.As(err, &x) && strings.Contains(s.told(x).Text, "return not in a function"):
		s.shift = len(opening)
		p, err = e.eval(opening+source+closing, file, plainly)
	}
	if err != nil {
		return err
	}
	defer e.free(p)
	_, err = s.prelude("begin", p)
	return err
}

var ending = regexp.MustCompile(`[\s;]*(;\s*//[^\n]*)?[\s;]*$`)

// worth tells whether the last statement of a script is an expression: then it
// can go on with a comma.
func (s *script) worth(source string) bool {
	v, err := s.engine.eval(ending.ReplaceAllString(source, "")+"\n,0", file, reading)
	s.engine.free(v)
	return err == nil
}

// last works until nothing of the script is left to do, calls that it does not
// wait for included, and returns the state that it is in then.
func (s *script) last() (string, error) {
	for {
		for more := true; more; {
			var err error
			if more, err = s.engine.job(); err != nil {
				return "", err
			}
			if s.late() {
				return "", errors.New(tooLong(s.limits.Work))
			}
		}
		now, err := s.says("state")
		if err != nil {
			return "", err
		}
		state, waiting, _ := strings.Cut(now, " ")
		if waiting == "0" {
			return state, nil
		}
		reply, err := s.wait("")
		if err != nil {
			return "", err
		}
		text, err := s.engine.text(reply)
		if err != nil {
			return "", err
		}
		v, err := s.prelude("settle", text)
		s.engine.free(text)
		if err != nil {
			return "", err
		}
		s.engine.free(v)
	}
}

// finish takes what the script returned.
func (s *script) finish() error {
	v, err := s.says("value")
	switch {
	case err != nil:
		return err
	case len(v) > s.limits.Output:
		return fmt.Errorf("what the script returns has %d bytes, and may have %d: return less", len(v), s.limits.Output)
	case v != "":
		s.end.Value = json.RawMessage(v)
	}
	return nil
}

// list decodes what a function of the prelude says.
func (s *script) list(name string, into any) error {
	text, err := s.says(name)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), into)
}

// ask sends a request, and returns why it can't be.
func (s *script) ask(arg string) (string, error) {
	var r request
	if err := json.Unmarshal([]byte(arg), &r); err != nil {
		return fmt.Sprintf("the arguments can't be written: %v", err), nil
	}
	if len(r.Name) > s.limits.Output {
		return fmt.Sprintf("the name or the words have %d bytes, and may have %d", len(r.Name), s.limits.Output), nil
	}
	if len(r.Args) > s.limits.Output {
		return fmt.Sprintf("the arguments have %d bytes, and may have %d", len(r.Args), s.limits.Output), nil
	}
	s.asked++
	if s.asked > s.limits.Calls {
		return fmt.Sprintf("a script asks and calls at most %d times", s.limits.Calls), nil
	}
	if err := s.send(r); err != nil {
		return errGone.Error(), nil
	}
	return "", nil
}

// wait returns the next reply.
func (s *script) wait(string) (string, error) {
	s.clock.pause()
	defer s.clock.resume()
	if len(s.replies) == 0 && s.send(request{Op: "wait", Heard: s.heard}) != nil {
		return "", errGone
	}
	r, ok := <-s.replies
	if !ok {
		return "", errGone
	}
	s.heard++
	return string(r), nil
}

// log takes a line for the model.
func (s *script) log(arg string) (string, error) {
	var line string
	if err := json.Unmarshal([]byte(arg), &line); err != nil {
		return "", fmt.Errorf("the line can't be printed: %w", err)
	}
	if s.printed += len(line) + 1; s.printed > s.limits.Console {
		s.printed -= len(line) + 1
		s.end.Dropped++
		return "", nil
	}
	s.end.Console = append(s.end.Console, line)
	return "", nil
}

// told is something that was thrown.
type told struct {
	Text  string `json:"text"`
	Stack string `json:"stack"`
}

// told asks what an exception is.
func (s *script) told(x *exception) told {
	t := told{Text: "something that can't be written was thrown"}
	s.engine.limit(s.limits.Memory + spare)
	defer s.engine.limit(s.limits.Memory)
	v, err := s.about("told", map[string]value{"thrown": x.v})
	if err != nil {
		return t
	}
	defer s.engine.free(v)
	if text, err := s.engine.read(v); err == nil {
		_ = json.Unmarshal([]byte(text), &t) // what can't be read stays unsaid
	}
	return t
}

// complaint says why a script ended early, and where.
func (s *script) complaint(err error) string {
	var x *exception
	switch {
	case !errors.As(err, &x):
		return err.Error()
	case s.late():
		return tooLong(s.limits.Work) + s.place(s.engine.stack(x.v))
	}
	return s.words(s.told(x))
}

func tooLong(work time.Duration) string {
	return fmt.Sprintf("the script worked for more than %s, not counting its calls, and was stopped", work)
}

// words is what was thrown, in words, with the place where it was made.
func (s *script) words(t told) string {
	switch t.Text {
	case "InternalError: out of memory":
		t.Text = fmt.Sprintf("RangeError: the script uses more than %d MB of memory", s.limits.Memory>>20)
	case "InternalError: stack overflow", "SyntaxError: stack overflow":
		t.Text = "RangeError: functions call each other, or things are in each other, too deep"
	}
	if absent.MatchString(t.Text) {
		t.Text += "; a script has no timers, network, files or modules, only tools"
	}
	if len(t.Text) > maxTold {
		t.Text = strings.ToValidUTF8(t.Text[:maxTold], "") + " …"
	}
	return t.Text + s.place(t.Stack)
}

// absent is a failure of what other places have where scripts run.
var absent = regexp.MustCompile(`^ReferenceError: '(set(Timeout|Interval|Immediate)|require|process|fetch|XMLHttpRequest|WebSocket|Buffer|module|exports|Deno|Bun|window|document)' is not defined$`)

// maxTold is how much is told of a failure, in bytes.
const maxTold = 4 << 10

var position = regexp.MustCompile(`\b` + file + `:(\d+):(\d+)`)

// place finds the first place of the script in a stack.
func (s *script) place(stack string) string {
	m := position.FindStringSubmatch(stack)
	if m == nil {
		return ""
	}
	line, _ := strconv.Atoi(m[1]) // digits
	column, _ := strconv.Atoi(m[2])
	if line == 1 {
		column -= s.shift
	}
	return fmt.Sprintf(" (line %d, column %d)", line, max(column, 1))
}

// clock measures how long a script has worked, without the time in which it
// waited for calls.
type clock struct {
	mu     sync.Mutex
	worked time.Duration
	since  time.Time // when it began to work; zero while it waits
}

func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.since.IsZero() {
		c.worked += time.Since(c.since)
		c.since = time.Time{}
	}
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = time.Now()
}

func (c *clock) read() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since.IsZero() {
		return c.worked
	}
	return c.worked + time.Since(c.since)
}
