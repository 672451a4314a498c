package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// errUnread ends a command whose output nobody reads any more.
var errUnread = errors.New("nobody reads the output any more")

// pipe is standard output that another program reads. When that leaves, as in
// "goclaw demo | head", the command ends as with Ctrl-C and clears away what is
// its own; the system would end the process in the middle of it.
type pipe struct {
	file *os.File
	gone func()
}

func (p *pipe) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		p.gone()
	}
	return n, err
}

// piped puts a pipe in the place of out where it is one. The context ends with
// [errUnread] when the pipe breaks.
func piped(ctx context.Context, out io.Writer) (context.Context, io.Writer) {
	f, ok := out.(*os.File)
	if !ok {
		return ctx, out
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return ctx, out
	}
	// With somebody who takes the signal, which nobody needs to read, a write
	// fails in place of the process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &pipe{f, func() { cancel(errUnread) }}
}

// underneath is the file that w writes to, as far as it is one.
func underneath(w io.Writer) io.Writer {
	if p, ok := w.(*pipe); ok {
		return p.file
	}
	return w
}
