package spill

import (
	"context"
	"errors"
	"io"
)

// meter bounds one piece of work on a text from anywhere. A step is a byte
// looked at or a move from node to node. Steps and not time decide, so that the
// same text gives the same answer on any machine; the context is looked at
// besides, so that whoever waits can leave.
type meter struct {
	ctx  context.Context
	left int   // steps that may still be taken
	over error // why the work ends when there are none
}

// stopped is what spend ends the work with, out of any depth and out of
// libraries that can't be told to end otherwise.
type stopped struct{ error }

// ctxSteps is after how many steps the context is looked at again.
const ctxSteps = 1 << 12

// spend takes n steps. It returns only when the work may go on.
func (m *meter) spend(n int) {
	before := m.left
	if m.left -= n; m.left < 0 {
		panic(stopped{m.over})
	}
	if before/ctxSteps != m.left/ctxSteps && m.ctx.Err() != nil {
		panic(stopped{context.Cause(m.ctx)})
	}
}

// run works until the end, or until spend stops it, and then says why.
func (m *meter) run(work func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case stopped:
			err = p.error
		default:
			panic(p)
		}
	}()
	work()
	return nil
}

var errSteps = errors.New("the text takes too many steps to look through")

// What looking through a text may cost: so many steps for each of its bytes,
// and some for the shortest. Ordinary texts need less than ten for a byte.
const (
	stepsPerByte = 64
	stepsMore    = 1 << 20
)

// looking is a meter for looking through s once.
func looking(ctx context.Context, s string) *meter {
	return &meter{ctx: ctx, left: stepsMore + stepsPerByte*len(s), over: errSteps}
}

// metered is a reader each of whose bytes is a step. What stops the work is the
// error of Read, a [stopped], since parsers take panics for faults of their own.
type metered struct {
	io.Reader
	work *meter
}

func (r metered) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if ended := r.work.run(func() { r.work.spend(n) }); ended != nil {
		return 0, stopped{ended}
	}
	return n, err
}
