package code

import (
	"errors"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// value is a value of the interpreter. Whoever gets one frees it, or gives it
// to something that takes it over.
type value = lib.TJSValue

// none stands for a value beside an error.
var none value

// host is a function of ours that a script calls. Its argument comes as `this`
// and its result goes back as text; an error is thrown.
type host func(arg string) (string, error)

// engine is one interpreter with nothing in it but the language. It belongs to
// the goroutine that made it and lives as long as its process, so nobody closes
// it. Its memory is its own and not Go's.
//
// Texts come from it as JSON, which has neither zeros nor halves of characters:
// its own have both, and C ends a text at a zero.
type engine struct {
	tls     *libc.TLS
	rt, ctx uintptr
	kept    []any // functions that only the interpreter refers to
}

// errNoEngine says that there is not even memory for an empty interpreter.
var errNoEngine = errors.New("RangeError: there is no memory for a script")

// newEngine makes an interpreter that has at most memory bytes, nests calls at
// most slots deep, and asks late now and then whether it is to stop.
func newEngine(memory int64, slots int, late func() bool) (*engine, error) {
	e := &engine{tls: libc.NewTLS()}
	if e.rt = lib.XJS_NewRuntime(e.tls); e.rt == 0 {
		return nil, errNoEngine
	}
	if e.ctx = lib.XJS_NewContext(e.tls, e.rt); e.ctx == 0 {
		return nil, errNoEngine
	}
	e.limit(memory)
	lib.XJS_SetMaxStackSize(e.tls, e.rt, libc.Tsize_t(slots))
	lib.XJS_SetInterruptHandler(e.tls, e.rt, e.pointer(func(*libc.TLS, uintptr, uintptr) int32 {
		if late() {
			return 1
		}
		return 0
	}), 0)
	return e, nil
}

// limit bounds the memory of the interpreter, in bytes.
func (e *engine) limit(memory int64) {
	lib.XJS_SetMemoryLimit(e.tls, e.rt, libc.Tsize_t(memory))
}

// pointer is how translated C calls a Go function.
func (e *engine) pointer(function any) uintptr {
	e.kept = append(e.kept, function)
	return (*[2]uintptr)(unsafe.Pointer(&function))[1]
}

// chars is a text as C has it, until free is called.
func (e *engine) chars(s string) (p uintptr, free func(), err error) {
	p, err = libc.CString(s)
	if err != nil {
		return 0, nil, errNoEngine
	}
	return p, func() { libc.Xfree(e.tls, p) }, nil
}

// How eval takes a source.
const (
	plainly  = lib.MJS_EVAL_TYPE_GLOBAL
	awaiting = plainly | lib.MJS_EVAL_FLAG_ASYNC // it may await; the value is a promise of an object with its value
	reading  = awaiting | lib.MJS_EVAL_FLAG_COMPILE_ONLY
)

// eval runs source, which has name in the places of its errors.
func (e *engine) eval(source, name string, how int32) (value, error) {
	src, freeSrc, err := e.chars(source)
	if err != nil {
		return none, err
	}
	defer freeSrc()
	at, freeAt, err := e.chars(name)
	if err != nil {
		return none, err
	}
	defer freeAt()
	v := lib.XJS_Eval(e.tls, e.ctx, src, libc.Tsize_t(len(source)), at, how)
	return v, e.fault()
}

// fault takes the exception that is pending, if there is one.
func (e *engine) fault() error {
	if lib.XJS_HasException(e.tls, e.ctx) == 0 {
		return nil
	}
	return &exception{lib.XJS_GetException(e.tls, e.ctx)}
}

// exception is something that was thrown and not caught.
type exception struct{ v value }

func (*exception) Error() string { return "an exception" }

// get is a property of o.
func (e *engine) get(o value, name string) (value, error) {
	p, free, err := e.chars(name)
	if err != nil {
		return none, err
	}
	defer free()
	v := lib.XJS_GetPropertyStr(e.tls, e.ctx, o, p)
	return v, e.fault()
}

// set makes v a property of o and takes it over.
func (e *engine) set(o value, name string, v value) error {
	p, free, err := e.chars(name)
	if err != nil {
		return err
	}
	defer free()
	lib.XJS_SetPropertyStr(e.tls, e.ctx, o, p, v)
	return e.fault()
}

// text makes a text of the interpreter.
func (e *engine) text(s string) (value, error) {
	p, free, err := e.chars(s)
	if err != nil {
		return none, err
	}
	defer free()
	v := lib.XJS_NewStringLen(e.tls, e.ctx, p, libc.Tsize_t(len(s)))
	return v, e.fault()
}

// read is the text of v, up to its first zero.
func (e *engine) read(v value) (string, error) {
	p := lib.XJS_ToCStringLen2(e.tls, e.ctx, 0, v, 0)
	if p == 0 {
		return "", e.fault()
	}
	defer lib.XJS_FreeCString(e.tls, e.ctx, p)
	return libc.GoString(p), nil
}

// stack is where the error v was made; nothing when it is something else.
func (e *engine) stack(v value) string {
	at, err := e.get(v, "stack")
	if err != nil {
		return ""
	}
	defer e.free(at)
	text, err := e.read(at)
	if err != nil {
		return ""
	}
	return text
}

// object makes an empty object.
func (e *engine) object() (value, error) {
	v := lib.XJS_NewObject(e.tls, e.ctx)
	return v, e.fault()
}

// dup is v once more, for somebody who takes it over.
func (e *engine) dup(v value) value { return lib.XDupValue(e.tls, e.ctx, v) }

// free gives v back.
func (e *engine) free(v value) { lib.XFreeValue(e.tls, e.ctx, v) }

// call calls a function of the interpreter without arguments.
func (e *engine) call(f, this value) (value, error) {
	v := lib.XJS_Call(e.tls, e.ctx, f, this, 0, 0)
	return v, e.fault()
}

// function makes f a function of the interpreter.
func (e *engine) function(name string, f host) (value, error) {
	p, free, err := e.chars(name)
	if err != nil {
		return none, err
	}
	defer free()
	called := func(_ *libc.TLS, _ uintptr, this value, _ int32, _ uintptr) value {
		out, err := e.answer(f, this)
		if err == nil {
			return out
		}
		var x *exception
		if errors.As(err, &x) {
			return lib.XJS_Throw(e.tls, e.ctx, x.v)
		}
		text, err := e.text(err.Error())
		if errors.As(err, &x) {
			text = x.v
		}
		return lib.XJS_Throw(e.tls, e.ctx, text)
	}
	v := lib.XJS_NewCFunction2(e.tls, e.ctx, e.pointer(called), p, 0, lib.EJS_CFUNC_generic, 0)
	return v, e.fault()
}

func (e *engine) answer(f host, this value) (value, error) {
	arg, err := e.read(this)
	if err != nil {
		return none, err
	}
	out, err := f(arg)
	if err != nil {
		return none, err
	}
	return e.text(out)
}

// rejections has heard called with each promise that is rejected and that
// nobody listens to, and again when somebody begins to.
func (e *engine) rejections(heard func(promise, reason value, handled bool)) {
	lib.XJS_SetHostPromiseRejectionTracker(e.tls, e.rt, e.pointer(
		func(_ *libc.TLS, _ uintptr, promise, reason value, handled int32, _ uintptr) {
			heard(promise, reason, handled != 0)
		}), 0)
}

// job runs the next thing that waits for its turn: the rest of a function that
// awaited something. It tells whether there was one.
func (e *engine) job() (bool, error) {
	n := lib.XJS_ExecutePendingJob(e.tls, e.rt, 0)
	if n < 0 {
		return true, e.fault()
	}
	return n > 0, nil
}
