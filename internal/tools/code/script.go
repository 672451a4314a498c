package code

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
)

// A script becomes the body of a function, on the lines that it has, so that it
// may await and return.
const (
	opening = "(async () => {"
	closing = "\n})()"
	file    = "script"
)

// script is one script while it runs. It belongs to one goroutine; only stop
// and busy may be called by another.
type script struct {
	vm      *goja.Runtime
	limits  limits
	send    func(request) error
	replies <-chan reply
	clock   clock

	stringify, parse goja.Callable // as they are before the script could change them

	asked   int
	waiting map[int]*answer
	rejects []rejected // in the order in which they came
	end     end
	printed int
}

// answer is what a request is going to get.
type answer struct {
	call            bool // of a tool; else value is all
	settled         bool
	resolve, reject func(any) error // nil when nothing but the script's goroutine waits
	value           goja.Value
	err             *goja.Object
	stack           string // where the script asked
}

// rejected is a rejected promise that nobody listens to.
type rejected struct {
	promise *goja.Promise
	told    string
}

// heard takes in that somebody listens to p.
func (s *script) heard(p *goja.Promise) {
	s.rejects = slices.DeleteFunc(s.rejects, func(r rejected) bool { return r.promise == p })
}

// errGone says that nobody answers any more.
var errGone = errors.New("the tool that started the script has gone")

func newScript(l limits, send func(request) error, replies <-chan reply) *script {
	s := &script{vm: goja.New(), limits: l, send: send, replies: replies, waiting: map[int]*answer{}}
	s.vm.SetMaxCallStackSize(l.Depth)
	j := s.vm.Get("JSON").ToObject(s.vm)
	s.stringify, s.parse = callable(j.Get("stringify")), callable(j.Get("parse"))
	tools, console := s.vm.NewObject(), s.vm.NewObject()
	for name, f := range map[string]func(goja.FunctionCall) goja.Value{"search": s.search, "describe": s.describe, "call": s.call} {
		s.must(tools.Set(name, f))
	}
	for _, name := range []string{"log", "info", "warn", "error", "debug"} {
		s.must(console.Set(name, s.log))
	}
	s.must(s.vm.Set("tools", tools))
	s.must(s.vm.Set("console", console))
	s.vm.SetPromiseRejectionTracker(func(p *goja.Promise, op goja.PromiseRejectionOperation) {
		if op == goja.PromiseRejectionHandle {
			s.heard(p)
		} else {
			s.rejects = append(s.rejects, rejected{p, s.told(p.Result())})
		}
	})
	return s
}

func callable(v goja.Value) goja.Callable {
	f, ok := goja.AssertFunction(v)
	if !ok {
		panic("code: the interpreter lacks JSON") // it has it
	}
	return f
}

// must passes on an error that the interpreter has no reason for.
func (s *script) must(err error) {
	if err != nil {
		panic(err)
	}
}

// run runs source to its end.
func (s *script) run(source string) end {
	if err := s.play(source); err != nil {
		s.end.Value, s.end.Error = nil, s.complaint(err)
	}
	return s.end
}

func (s *script) play(source string) error {
	program, err := compile(source)
	if err != nil {
		return err
	}
	v, err := s.vm.RunProgram(program)
	if err != nil {
		return err
	}
	p, ok := v.Export().(*goja.Promise)
	if !ok {
		return fmt.Errorf("the script is no function but %T", v.Export())
	}
	for p.State() == goja.PromiseStatePending {
		if len(s.waiting) == 0 {
			return errors.New("the script waits for something that never comes")
		}
		if err := s.wait(); err != nil {
			return err
		}
	}
	for len(s.waiting) > 0 { // calls that nobody waits for run all the same
		if err := s.wait(); err != nil {
			return err
		}
	}
	if p.State() == goja.PromiseStateRejected {
		s.heard(p)
	}
	for _, r := range s.rejects {
		s.end.Unheard = append(s.end.Unheard, r.told)
	}
	if p.State() == goja.PromiseStateRejected {
		return &thrown{p.Result()}
	}
	s.end.Value, err = s.json(p.Result())
	if err == nil && len(s.end.Value) > s.limits.Output {
		err = fmt.Errorf("what the script returns has %d bytes, and may have %d: return less", len(s.end.Value), s.limits.Output)
	}
	return err
}

// thrown is a value that the script threw.
type thrown struct{ value goja.Value }

func (t *thrown) Error() string { return t.value.String() }

// compile makes a function of a script. What its last statement is worth is
// returned, as in a console.
func compile(source string) (*goja.Program, error) {
	whole := opening + source + closing
	tree, err := parser.ParseFile(nil, file, whole, 0, parser.WithDisableSourceMaps)
	if err != nil {
		return nil, err
	}
	returnLast(tree)
	return goja.CompileAST(tree, false)
}

// returnLast makes the last statement of the script a return, if it is an
// expression.
func returnLast(tree *ast.Program) {
	if len(tree.Body) != 1 {
		return // it closed the function that it is in; that is its own affair
	}
	e, _ := tree.Body[0].(*ast.ExpressionStatement)
	if e == nil {
		return
	}
	c, _ := e.Expression.(*ast.CallExpression)
	if c == nil {
		return
	}
	f, _ := c.Callee.(*ast.ArrowFunctionLiteral)
	if f == nil {
		return
	}
	b, _ := f.Body.(*ast.BlockStatement)
	if b == nil || len(b.List) == 0 {
		return
	}
	last := &b.List[len(b.List)-1]
	if x, ok := (*last).(*ast.ExpressionStatement); ok {
		*last = &ast.ReturnStatement{Return: x.Idx0(), Argument: x.Expression}
	}
}

// wait takes the next reply in.
func (s *script) wait() error {
	s.clock.pause()
	r, ok := <-s.replies
	s.clock.resume()
	if !ok {
		return errGone
	}
	a := s.waiting[r.ID]
	if a == nil {
		return fmt.Errorf("a reply to nothing (%d)", r.ID)
	}
	delete(s.waiting, r.ID)
	a.settled = true
	if r.Error != "" {
		a.err = s.failure(r.Error, a.stack)
		if a.reject != nil {
			return a.reject(a.err)
		}
		return nil
	}
	v, err := s.parse(goja.Undefined(), s.vm.ToValue(string(r.Value)))
	if err != nil {
		return err
	}
	if a.call {
		v = s.result(v.ToObject(s.vm))
	}
	a.value = v
	if a.resolve != nil {
		return a.resolve(v)
	}
	return nil
}

// failure is what a failed request throws. It was made at stack.
func (s *script) failure(text, stack string) *goja.Object {
	o := s.vm.NewGoError(errors.New(text))
	s.must(o.DefineDataProperty("stack", s.vm.ToValue(text+stack), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	return o
}

// stack tells where the script is.
func (s *script) stack() string {
	for _, f := range s.vm.CaptureCallStack(0, nil) {
		if p := f.Position(); f.SrcName() == file && p.Line > 0 {
			return fmt.Sprintf("\n\tat %s:%d:%d", file, p.Line, p.Column)
		}
	}
	return ""
}

// result gives what a call returned a text form, for scripts that use it as
// text.
func (s *script) result(o *goja.Object) *goja.Object {
	text := o.Get("text")
	s.must(o.DefineDataProperty("toString", s.vm.ToValue(func(goja.FunctionCall) goja.Value { return text }), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	return o
}

// ask sends a request.
func (s *script) ask(op, name string, args json.RawMessage, a *answer) {
	s.asked++
	if s.asked > s.limits.Calls {
		panic(s.vm.NewTypeError("a script asks and calls at most %d times", s.limits.Calls))
	}
	if err := s.send(request{Op: op, ID: s.asked, Name: name, Args: args}); err != nil {
		panic(s.vm.NewGoError(errGone))
	}
	a.stack = s.stack()
	s.waiting[s.asked] = a
}

// await waits for an answer here and now.
func (s *script) await(a *answer) goja.Value {
	for !a.settled {
		if err := s.wait(); err != nil {
			panic(s.vm.NewGoError(err))
		}
	}
	if a.err != nil {
		panic(a.err)
	}
	return a.value
}

func (s *script) search(c goja.FunctionCall) goja.Value {
	a := &answer{}
	s.ask("search", s.text(c.Argument(0), "tools.search takes a text to look for"), nil, a)
	return s.await(a)
}

func (s *script) describe(c goja.FunctionCall) goja.Value {
	a := &answer{}
	s.ask("describe", s.text(c.Argument(0), "tools.describe takes the name of a tool"), nil, a)
	return s.await(a)
}

// fields are what the result of a call has.
var fields = []string{"tool", "status", "text", "data"}

// call begins a call and returns a promise. Whoever forgets to await it gets
// what the call returns all the same: its fields wait.
func (s *script) call(c goja.FunctionCall) goja.Value {
	name := s.text(c.Argument(0), "tools.call takes the name of a tool and its arguments")
	args := json.RawMessage("{}")
	if given := c.Argument(1); !goja.IsUndefined(given) && !goja.IsNull(given) {
		var err error
		if args, err = s.json(given); err != nil {
			panic(s.vm.NewGoError(err))
		}
		if len(args) > s.limits.Output {
			panic(s.vm.NewTypeError("the arguments have %d bytes, and may have %d", len(args), s.limits.Output))
		}
	}
	p, resolve, reject := s.vm.NewPromise()
	a := &answer{call: true, resolve: resolve, reject: reject}
	s.ask("call", name, args, a)
	here := func(field string) goja.Value {
		defer s.heard(p) // whoever waits here learns of a failure here
		return s.await(a).ToObject(s.vm).Get(field)
	}
	o := s.vm.ToValue(p).ToObject(s.vm)
	for _, field := range fields {
		get := s.vm.ToValue(func(goja.FunctionCall) goja.Value { return here(field) })
		s.must(o.DefineAccessorProperty(field, get, nil, goja.FLAG_FALSE, goja.FLAG_TRUE))
	}
	text := func(goja.FunctionCall) goja.Value { return here("text") }
	s.must(o.DefineDataProperty("toString", s.vm.ToValue(text), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
	return o
}

func (s *script) text(v goja.Value, otherwise string) string {
	t, ok := v.Export().(string)
	if !ok {
		panic(s.vm.NewTypeError(otherwise))
	}
	return t
}

// json writes a value as JSON; nothing for what has no form there.
func (s *script) json(v goja.Value) (json.RawMessage, error) {
	out, err := s.stringify(goja.Undefined(), v)
	if err != nil || goja.IsUndefined(out) {
		return nil, err
	}
	return json.RawMessage(out.String()), nil
}

// log takes a line for the model.
func (s *script) log(c goja.FunctionCall) goja.Value {
	var words []string
	for _, v := range c.Arguments {
		words = append(words, s.shown(v))
	}
	line := strings.Join(words, " ")
	if s.printed += len(line) + 1; s.printed > s.limits.Console {
		s.printed -= len(line) + 1
		s.end.Dropped++
		return goja.Undefined()
	}
	s.end.Console = append(s.end.Console, line)
	return goja.Undefined()
}

// shown is a value for people: texts as they are, objects as JSON.
func (s *script) shown(v goja.Value) string {
	o, ok := v.(*goja.Object)
	if !ok {
		return v.String()
	}
	if _, isError := o.Export().(error); isError || o.ClassName() == "Error" {
		return v.String()
	}
	if raw, err := s.json(v); err == nil && raw != nil {
		return string(raw)
	}
	return v.String()
}

// complaint says why a script ended early, and where.
func (s *script) complaint(err error) string {
	var faults parser.ErrorList
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	var exception *goja.Exception
	var value *thrown
	switch {
	case errors.As(err, &faults) && len(faults) > 0:
		line, column := faults[0].Position.Line, faults[0].Position.Column
		return "SyntaxError: " + faults[0].Message + where(line, column)
	case errors.As(err, &interrupted):
		return fmt.Sprint(interrupted.Value()) + place(interrupted.String())
	case errors.As(err, &overflow):
		return fmt.Sprintf("RangeError: functions call each other more than %d deep", s.limits.Depth) + place(overflow.String())
	case errors.As(err, &value):
		return s.told(value.value)
	case errors.As(err, &exception):
		return s.told(exception.Value()) + placeUnless(s.told(exception.Value()), exception.String())
	}
	return err.Error()
}

// told is what was thrown, with the place where it was made.
func (s *script) told(v goja.Value) (text string) {
	defer func() {
		if recover() != nil { // what is thrown may throw when it is asked for its text
			text = "something that can't be written was thrown"
		}
	}()
	text = strings.TrimPrefix(v.String(), "GoError: ")
	if o, ok := v.(*goja.Object); ok {
		if stack := o.Get("stack"); stack != nil {
			text += place(stack.String())
		}
	}
	return text
}

var position = regexp.MustCompile(file + `:(\d+):(\d+)`)

// place finds the first place of the script in a stack.
func place(stack string) string {
	m := position.FindStringSubmatch(stack)
	if m == nil {
		return ""
	}
	line, _ := strconv.Atoi(m[1]) // digits
	column, _ := strconv.Atoi(m[2])
	return where(line, column)
}

func placeUnless(text, stack string) string {
	if strings.Contains(text, " (line ") {
		return ""
	}
	return place(stack)
}

func where(line, column int) string {
	if line == 1 {
		column -= len(opening)
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
