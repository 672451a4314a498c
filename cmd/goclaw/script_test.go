package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/goclaw/goclaw"
	"github.com/goclaw/goclaw/internal/fakellm"
)

// The scripts under testdata/script drive the real program, each with a home
// folder and a model server of its own.

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"goclaw": func() { os.Exit(goclaw.Main()) },
		"http":   func() { os.Exit(httpMain()) },
	})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	if signal.Ignored(syscall.SIGHUP) {
		// Tests that run under nohup would have the programs of the scripts ignore
		// it as well; a signal that is caught is an ordinary one to them.
		hangups := make(chan os.Signal, 1)
		signal.Notify(hangups, syscall.SIGHUP)
		t.Cleanup(func() { signal.Stop(hangups) })
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                commands(),
		Condition: func(name string) (bool, error) {
			switch name {
			case "testtools":
				return testTools, nil
			case "ipv6":
				l, err := net.Listen("tcp", "[::1]:0")
				if err != nil {
					return false, nil
				}
				return true, l.Close()
			case "terminal":
				return terminals, nil
			}
			return false, fmt.Errorf("unknown condition %s", name)
		},
		Setup: func(env *testscript.Env) error {
			fakellm.Setup(env)
			home := filepath.Join(env.WorkDir, "home")
			env.Vars = append(env.Vars, "HOME="+home, "GOCLAW_HOME="+filepath.Join(home, "goclaw"), "WS="+filepath.Join(home, "goclaw", "workspace"))
			return os.MkdirAll(filepath.Join(home, "goclaw"), 0o700)
		},
	})
}

func commands() map[string]func(*testscript.TestScript, bool, []string) {
	cmds := fakellm.Commands()
	terminalCommands(cmds)
	cmds["hookserver"] = hookserver
	// setup SCRIPT.json: serve the script and configure it as the provider.
	cmds["setup"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: setup SCRIPT.json")
		}
		cmds["fakellm"](ts, false, args)
		config := "ai:\n  provider: openai\n  providers:\n    openai: {api_key: test-key, model: test-model, base_url: \"" + ts.Getenv("MODEL_URL") + "\"}\n"
		ts.Check(os.WriteFile(filepath.Join(ts.Getenv("GOCLAW_HOME"), "config.yaml"), []byte(config), 0o600))
	}
	// config FILE: append it to the configuration that setup wrote.
	cmds["config"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: config FILE")
		}
		path := filepath.Join(ts.Getenv("GOCLAW_HOME"), "config.yaml")
		before, err := os.ReadFile(path)
		ts.Check(err)
		ts.Check(os.WriteFile(path, append(before, ts.ReadFile(args[0])...), 0o600))
	}
	// until-asked: wait until a call of the gateway waits for approval.
	cmds["until-asked"] = func(ts *testscript.TestScript, _ bool, _ []string) {
		waitFor(ts, "a call waits for approval", func() bool {
			at, err := gatewayAt(ts.Getenv("GOCLAW_HOME"))
			if err != nil {
				return false
			}
			req, err := http.NewRequest(http.MethodGet, "http://"+at+"/api/approvals?status=open", nil)
			ts.Check(err)
			req.Header.Set("Authorization", "Bearer "+ts.Getenv("GOCLAW_TOKEN"))
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return false
			}
			body, err := io.ReadAll(resp.Body)
			ts.Check(errors.Join(err, resp.Body.Close()))
			return strings.Contains(string(body), `"status":"open"`)
		})
	}
	// until FILE: wait for another process to write it.
	cmds["until"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: until FILE")
		}
		file := ts.MkAbs(args[0])
		waitFor(ts, args[0]+" is written", func() bool {
			_, err := os.Stat(file)
			return err == nil
		})
	}
	// stopped: wait until the gateway takes no more work. ready: until it does.
	for name, want := range map[string]int{"stopped": http.StatusServiceUnavailable, "ready": http.StatusOK} {
		cmds[name] = func(ts *testscript.TestScript, _ bool, _ []string) {
			waitFor(ts, name, func() bool {
				at, err := gatewayAt(ts.Getenv("GOCLAW_HOME"))
				if err != nil {
					return false
				}
				resp, err := http.Get("http://" + at + "/readyz")
				if err != nil {
					return false
				}
				ts.Check(resp.Body.Close())
				return resp.StatusCode == want
			})
		}
	}
	// term: ask the gateway to end, as a service manager does.
	cmds["term"] = func(ts *testscript.TestScript, _ bool, _ []string) {
		var gateway struct{ PID int }
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(filepath.Join(ts.Getenv("GOCLAW_HOME"), "state", "gateway.json"))), &gateway))
		process, err := os.FindProcess(gateway.PID)
		ts.Check(err)
		ts.Check(process.Signal(syscall.SIGTERM))
	}
	// capture NAME PATTERN FILE: NAME becomes the first group of what matches.
	cmds["capture"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 3 {
			ts.Fatalf("usage: capture NAME PATTERN FILE")
		}
		m := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile(args[2]))
		if len(m) < 2 {
			ts.Fatalf("%s holds nothing like %s", args[2], args[1])
		}
		ts.Setenv(args[0], m[1])
	}
	// taken GATEWAY.json: TAKEN becomes the address that stands there,
	// MODEL_ADDRESS that of the model server.
	cmds["taken"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: taken GATEWAY.json")
		}
		at, err := gatewayAt(filepath.Dir(filepath.Dir(ts.MkAbs(args[0]))))
		ts.Check(err)
		model, err := url.Parse(ts.Getenv("MODEL_URL"))
		ts.Check(err)
		ts.Setenv("TAKEN", at)
		ts.Setenv("MODEL_ADDRESS", model.Host)
	}
	// extends A B: the request B repeats A's messages, and the same tools.
	cmds["extends"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if len(args) != 2 {
			ts.Fatalf("usage: extends A.json B.json")
		}
		a, b := ts.ReadFile(args[0]), ts.ReadFile(args[1])
		n := 0
		for n < len(a) && n < len(b) && a[n] == b[n] {
			n++
		}
		// All of A but the brackets that end it.
		ok := n >= len(strings.TrimRight(a, "]}\n"))
		if ok == neg {
			ts.Fatalf("%d of %d bytes are repeated; then %q goes on as %q", n, len(a), clip(a[n:]), clip(b[n:]))
		}
	}
	return cmds
}

// waitFor waits until ok says so, at most a minute.
func waitFor(ts *testscript.TestScript, what string, ok func() bool) {
	for began := time.Now(); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			ts.Fatalf("waited in vain until %s", what)
		}
	}
}

// gatewayAt is the address of the gateway of a home folder.
func gatewayAt(home string) (string, error) {
	data, err := os.ReadFile(filepath.Join(home, "state", "gateway.json"))
	if err != nil {
		return "", err
	}
	var at struct{ Address string }
	err = json.Unmarshal(data, &at)
	return at.Address, err
}

func clip(s string) string { return s[:min(len(s), 80)] }
