package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
)

// Fault is a failure as a server reports it, which its vendor's package reads.
type Fault interface {
	error
	// Failure is the fault for people, without the secrets.
	Failure(secrets ...string) *llm.Error
}

// What reading an answer ends with, in every vendor's package.
var (
	// ErrLeft says that whoever ranged over the answer left.
	ErrLeft = errors.New("left")
	// ErrDead is an answer that ended before the server said how.
	ErrDead = errors.New("the answer broke off")
	// ErrMalformed is an answer that is no JSON where it has to be.
	ErrMalformed = errors.New("a piece of the answer is not valid JSON")
	// ErrHuge is an answer of more than [MaxReply].
	ErrHuge = fmt.Errorf("the answer has more than %d MiB", MaxReply>>20)
)

const (
	// MaxReply bounds, in bytes, what one reply may hold in all.
	MaxReply = 64 << 20
	// PartSize is what each part of a reply counts for beside its words, so that
	// its number is bounded as well: to find the part that a piece belongs to
	// takes the longer the more there are.
	PartSize = 8 << 10
)

// Foreign is an answer in no format of the vendor called name.
type Foreign struct {
	Vendor string // as in "Anthropic's"
	Body   []byte // the beginning of what came
}

// Is reports whether target is what all of them are.
func (f *Foreign) Is(target error) bool { return target == llm.ErrForeign }

// maxForeign bounds, in bytes, what is looked at of an answer in no format.
const maxForeign = 4096

func (f *Foreign) Error() string {
	s := "the answer is not in " + f.Vendor + " format"
	if words := Clean(string(f.Body[:min(len(f.Body), maxForeign)])); words != "" {
		s += ": " + words
	}
	return s
}

// ReadForeign reads the rest of what came in place of an answer in the format of
// the vendor called name, as its error.
func ReadForeign(in *wire.Events, vendor string) error {
	body, err := in.Rest()
	if err != nil {
		return err
	}
	return &Foreign{Vendor: vendor, Body: body}
}

// Open waits for the first byte of an answer's body that is no white space and
// returns it with what reads the body from there on. An empty body is [ErrDead].
func (w *Watch) Open(body io.Reader) (in *wire.Events, first byte, err error) {
	in = wire.NewEvents(body, w.Heard)
	first, ok := in.First()
	switch {
	case ok:
		return in, first, nil
	case in.Err() != nil && !errors.Is(in.Err(), io.EOF):
		return nil, 0, in.Err()
	}
	return nil, 0, ErrDead
}

// How long the rest of an answer is waited for once it is complete in
// substance: for the tokens used and the end mark, and then for the end of the
// connection's turn.
const (
	Grace = 5 * time.Second
	Drain = 100 * time.Millisecond
)

// Answer makes one call for t within the limits: call asks and yields what
// comes as it comes. It returns nil once it has yielded the whole reply,
// [ErrLeft] when yield told it to stop, and otherwise what kept it from that;
// whoever ranges over the answer gets an [*llm.Error] for it, or the error of a
// context that has ended.
func (l Limits) Answer(
	ctx context.Context, t llm.Target, secrets []string,
	call func(ctx context.Context, watch *Watch, yield func(llm.Event, error) bool) error,
) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		ctx, watch := l.Watch(ctx)
		defer watch.Stop()
		err := call(ctx, watch, yield)
		if err == nil || errors.Is(err, ErrLeft) {
			return
		}
		if late := watch.Err(); late != nil {
			late.Target = t
			yield(llm.Event{}, late)
			return
		}
		if ctx.Err() != nil {
			yield(llm.Event{}, ctx.Err())
			return
		}
		e := Failure(err, secrets...)
		e.Target = t
		yield(llm.Event{}, e)
	}
}

// Failure is what asking for an answer or reading it ended with, for people.
func Failure(err error, secrets ...string) *llm.Error {
	var e *llm.Error
	var f Fault
	var foreign *Foreign
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &f):
		return f.Failure(secrets...)
	case errors.As(err, &foreign):
		return &llm.Error{Class: llm.ClassUnknown, Message: Clean(foreign.Error(), secrets...), Err: err}
	case errors.Is(err, wire.ErrTooLarge), errors.Is(err, ErrHuge):
		return &llm.Error{Class: llm.ClassUnknown, Message: err.Error(), Err: err}
	case errors.Is(err, ErrDead), errors.Is(err, ErrMalformed):
		return &llm.Error{Class: llm.ClassNetwork, Message: err.Error(), Err: err}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &llm.Error{Class: llm.ClassNetwork, Message: ErrDead.Error(), Err: err}
	}
	e = Unreachable(err, secrets...)
	e.Message = fmt.Sprintf("%v: %s", ErrDead, e.Message)
	return e
}

// ErrorText is the body of an answer that is an error, as far as it could be
// read. Official clients have read it and put it back.
func ErrorText(resp *http.Response) []byte {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil {
		return nil // the status says the most of it
	}
	return bytes.TrimSpace(text)
}

// Finish reads the rest of an answer that has been told whole, so that the next
// call can use the same connection; one that doesn't end soon is closed.
func (w *Watch) Finish(body io.Reader) {
	w.Hurry(Drain)
	_, _ = io.Copy(io.Discard, io.LimitReader(body, maxErrorBody)) // else it is closed
}
