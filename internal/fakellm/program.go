package fakellm

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

const help = `usage: fakellm [-listen ADDRESS] [-addr FILE] [-record FOLDER] SCRIPT.json
       fakellm [-listen ADDRESS] [-addr FILE] -quick TOOL [-args JSON] [-text TEXT]

Answers the vendors' requests by a script (see Script in internal/fakellm) until
it is interrupted, then says what was wrong with them. With -quick every request
for Chat Completions gets a call of TOOL, or TEXT when its last message is a
result.
`

// Main is the server as a program: args are those behind its name, errors and
// help go to stderr, the address that it serves to stdout and, when it has been
// written completely, to the file named by -addr. It ends by an interrupt or a
// termination, with status 1 when requests were wrong or found no answer, 2 for
// wrong arguments.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := program(ctx, args, stdout, stderr); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 2
		}
		fmt.Fprintln(stderr, "fakellm:", err)
		return 1
	}
	return 0
}

func program(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("fakellm", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, help) }
	listen := flags.String("listen", "127.0.0.1:0", "")
	addr := flags.String("addr", "", "")
	record := flags.String("record", "", "")
	tool := flags.String("quick", "", "")
	callArgs := flags.String("args", "{}", "")
	text := flags.String("text", "Done.", "")
	if err := flags.Parse(args); err != nil {
		return flag.ErrHelp
	}
	var handler http.Handler
	s := &Server{}
	switch {
	case *tool != "" && flags.NArg() == 0:
		handler = Quick(Call{Name: *tool, Args: json.RawMessage(*callArgs)}, *text)
	case *tool == "" && flags.NArg() == 1:
		script, err := readScript(flags.Arg(0))
		if err != nil {
			return err
		}
		if slices.ContainsFunc(script.Answers, func(a Answer) bool { return a.Hold }) {
			return errors.New("the script holds an answer, which nobody can release here")
		}
		s = New(script)
		if *record != "" {
			s.record = recorder(*record)
		}
		handler = s
	default:
		flags.Usage()
		return flag.ErrHelp
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	url := "http://" + l.Addr().String()
	fmt.Fprintln(stdout, url)
	if *addr != "" {
		if err := writeWhole(*addr, []byte(url+"\n")); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	h := &http.Server{Handler: handler}
	served := make(chan error, 1)
	go func() { served <- h.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	return errors.Join(h.Close(), ended(<-served), s.Err())
}

// writeWhole writes a file so that whoever waits for it never sees a part.
func writeWhole(name string, data []byte) error {
	if err := os.WriteFile(name+".part", data, 0o600); err != nil {
		return fmt.Errorf("write address: %w", err)
	}
	if err := os.Rename(name+".part", name); err != nil {
		return fmt.Errorf("write address: %w", err)
	}
	return nil
}

// recorder writes the body of each request into a file of its own: 001.json,
// 002.json, …
func recorder(dir string) func(int, Request) error {
	return func(n int, r Request) error {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("record request: %w", err)
		}
		if err := writeWhole(filepath.Join(dir, fmt.Sprintf("%03d.json", n)), r.Body); err != nil {
			return fmt.Errorf("record request: %w", err)
		}
		return nil
	}
}

// Commands are commands for testscript, merged into testscript.Params.Cmds:
//
//	fakellm SCRIPT.json [VARIABLE]
//		serves the script until the test script ends; VARIABLE (MODEL_URL when
//		not given) becomes the address with /v1. The bodies of the requests
//		are files in $WORK/requests: 001.json, 002.json, …
//	asked N
//		fails unless exactly N requests have come so far.
//	release
//		lets one answer that is held go, as soon as there is one.
//
// A request that is invalid or finds no answer fails the test at its end.
func Commands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	return map[string]func(*testscript.TestScript, bool, []string){"fakellm": startCommand, "asked": askedCommand, "release": releaseCommand}
}

type serverKey struct{}

func startCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: fakellm SCRIPT.json [VARIABLE]")
	}
	variable := "MODEL_URL"
	if len(args) == 2 {
		variable = args[1]
	}
	script, err := parseScript([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	s := New(script)
	s.record = recorder(ts.MkAbs("requests"))
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	ts.Check(err)
	h := &http.Server{Handler: s}
	served := make(chan error, 1)
	go func() { served <- h.Serve(l) }()
	ts.Defer(func() {
		if err := errors.Join(h.Close(), ended(<-served), s.Err()); err != nil {
			ts.Fatalf("fakellm: %v", err)
		}
	})
	ts.Setenv(variable, "http://"+l.Addr().String()+"/v1")
	servers, _ := ts.Value(serverKey{}).(*[]*Server)
	if servers != nil {
		*servers = append(*servers, s)
	}
}

// Setup prepares an environment for the command asked; call it from
// testscript.Params.Setup.
func Setup(env *testscript.Env) { env.Values[serverKey{}] = new([]*Server) }

func askedCommand(ts *testscript.TestScript, neg bool, args []string) {
	servers, _ := ts.Value(serverKey{}).(*[]*Server)
	if neg || len(args) != 1 || servers == nil {
		ts.Fatalf("usage: asked N (and testscript.Params.Setup calls fakellm.Setup)")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	for _, s := range *servers {
		got += len(s.Requests())
	}
	if got != want {
		ts.Fatalf("the model was asked %d times, want %d", got, want)
	}
}

func releaseCommand(ts *testscript.TestScript, neg bool, args []string) {
	servers, _ := ts.Value(serverKey{}).(*[]*Server)
	if neg || len(args) != 0 || servers == nil || len(*servers) != 1 {
		ts.Fatalf("usage: release, with one fakellm (and testscript.Params.Setup calls fakellm.Setup)")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ts.Check((*servers)[0].Release(ctx))
}
