package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/cli/term"
	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// scene is one stop of the tour: something that a person says, with what there
// is to see.
type scene struct {
	title   string
	before  string // what is going to be shown
	says    string // the person's message
	after   string // what was seen
	explain string // the tool that is explained afterwards; empty for none
}

// scenes are the tour, in order.
var scenes = []scene{
	{
		title:  "Tools side by side",
		before: "One message, four tools. The calls of one response run at the same time; the results go back in order.",
		says:   "Give me an overview of this folder",
		after:  "Every call was checked against the agent's rules before it ran, and is stored with its timings: goclaw traces.",
	},
	{
		title:  "A large result",
		before: "orders.csv has 2,000 lines. Sending them to a model would cost about 30,000 tokens, in every following call again.",
		says:   "In orders.csv, which orders went to Lisbon",
		after:  "The file was kept aside under a ref; the model got a preview and searched the rest with read_output.",
	},
	{
		title:  "A guard that refuses",
		before: "An agent works in its folder. What lies outside can't be reached, whatever the spelling.",
		says:   "Read the file ../../.ssh/id_ed25519",
		after:  "The refusal names the guard and the rule, for the model and for you; nothing was read.",
	},
	{
		title:   "Why a tool is not there",
		before:  "This tour's configuration denies file_delete. The model is not even shown it, and you can ask why.",
		says:    "Delete the file notes.md",
		after:   "The explanation comes from the same code that decides, so it can't be wrong. The same on the web page: Tools.",
		explain: "file_delete",
	},
}

func (a *app) demoCommand() *cobra.Command {
	var keep string
	var auto bool
	cmd := &cobra.Command{
		Use: "demo", Short: "A tour of two minutes: a scripted model, real tools, no key",
		Long: "A tour of two minutes without a key: a scripted model (no AI) drives the real tools on a sample folder.\n" +
			"It shows calls side by side, a large result that is searched, a refusal, and why a tool is not there.\n" +
			"The tour has a home folder of its own, which is removed at the end unless --keep names one.\n" +
			"On a terminal it waits for Enter between the stops; with --auto, and when standard input is no terminal, it doesn't.\n" +
			"With --json every event is a line of JSON.",
		Example: "  goclaw demo\n  goclaw demo --auto\n  goclaw demo --keep ./tour && goclaw chat --home ./tour",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if a.home != "" || a.agent != "" || a.session != "" || cmd.Flags().Changed("role") || a.user != "" {
				return usage("the tour has a home, an agent and a session of its own: leave --home, --agent, --session, --role and --user out")
			}
			home, remove, err := demoHome(keep)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, remove()) }()
			if err := sampleFolder(home); err != nil {
				return err
			}
			t := &tour{app: a, home: home, keep: keep, prompt: a.Out, wait: !auto && !a.json && a.interactive()}
			if isTerminal(a.Out) && !a.json {
				own := *a
				own.Out = &folder{out: a.Out.(*os.File)}
				t.app = &own
			}
			return t.walk(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&keep, "keep", "", "make the tour's home in this folder, which must be empty or new, and keep it")
	cmd.Flags().BoolVar(&auto, "auto", false, "don't wait between the stops")
	return cmd
}

// demoHome makes the tour's home folder and says how it goes away.
func demoHome(keep string) (home string, remove func() error, err error) {
	if keep == "" {
		home, err = os.MkdirTemp("", "goclaw-demo-")
		return home, func() error { return os.RemoveAll(home) }, err
	}
	home, err = filepath.Abs(keep)
	if err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return "", nil, err
	}
	entries, err := os.ReadDir(home)
	if err != nil {
		return "", nil, err
	}
	if len(entries) > 0 {
		return "", nil, usage("--keep %s: the folder is not empty, and the tour overwrites nothing", keep)
	}
	return home, func() error { return nil }, nil
}

// demoConfig is the tour's configuration.
const demoConfig = `# The configuration of goclaw demo.
ai:
  provider: demo          # a script, no AI
tools:
  deny: ["file_delete"]   # so that there is something to explain
`

// sampleFolder fills a home with the configuration and the files of the tour.
// They are the same each time.
func sampleFolder(home string) error {
	var orders strings.Builder
	orders.WriteString("order,day,city,product,pieces,euro\n")
	cities := []string{"Berlin", "Lagos", "Lima", "Lisbon", "Lyon", "Oslo", "Osaka", "Porto", "Quito", "Turin"}
	products := []string{"lamp", "chair", "desk", "shelf", "rug"}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		city := cities[r.IntN(len(cities))]
		if city == "Lisbon" && r.IntN(20) > 0 {
			city = "Porto" // a needle is more fun in a haystack
		}
		pieces := 1 + r.IntN(9)
		fmt.Fprintf(&orders, "%d,2026-%02d-%02d,%s,%s,%d,%d\n", 10001+i, 1+i/167, 1+r.IntN(28), city, products[r.IntN(len(products))], pieces, pieces*(15+r.IntN(200)))
	}
	files := map[string]string{
		"config.yaml":          demoConfig,
		"workspace/notes.md":   "# Notes\n\nThe new shop opens in spring. Ask Ada about the lease.\n\nTODO: compare the lamp suppliers.\n",
		"workspace/todo.md":    "- TODO: order shelves for Porto\n- TODO: answer the customer in Lisbon\n- done: pay the rent\n",
		"workspace/orders.csv": orders.String(),
	}
	for name, text := range files {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("make the tour's folder: %w", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return fmt.Errorf("make the tour's folder: %w", err)
		}
	}
	return nil
}

// tour walks through the scenes.
type tour struct {
	*app
	home string
	keep string
	wait bool
	// prompt is where it asks for Enter.
	prompt io.Writer
}

func (t *tour) walk(ctx context.Context) (err error) {
	// Only the tour's own configuration counts: a key in the environment is
	// not used, and not needed.
	g, err := gateway.Open(ctx, gateway.Options{Home: t.home, Version: buildVersion(), Environ: config.Environ{}, Plugins: t.plugins, Log: t.logger, Program: t.Self})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSoon(ctx, g)) }()
	t.tell("GoClaw in four stops. The model is a script, no AI; the tools, the rules and the storage are real.\n"+
		"Folder: %s", filepath.Join(t.home, "workspace"))
	for i, s := range scenes {
		if err := t.show(ctx, g, i, s); err != nil {
			return err
		}
	}
	t.tell("\nThat was it. To go on:\n"+
		"  goclaw chat             talk to your own agent here; with a key in the environment (OPENAI_API_KEY, …) or a local Ollama it uses that model\n"+
		"  goclaw start            the gateway: web page, API\n"+
		"  goclaw tools list       what your agent may use%s", t.kept())
	return nil
}

func (t *tour) kept() string {
	if t.keep == "" {
		return ""
	}
	return "\n  goclaw chat --home " + quoted(t.keep) + "   go on in this folder"
}

// tell says something on the way, to people only.
func (t *tour) tell(format string, args ...any) {
	if !t.json {
		fmt.Fprintln(t.Out, printable(fmt.Sprintf(format, args...)))
	}
}

func (t *tour) show(ctx context.Context, g *gateway.Gateway, i int, s scene) error {
	t.tell("\n%d/%d  %s\n%s\n", i+1, len(scenes), s.title, s.before)
	if err := t.pause(ctx); err != nil {
		return err
	}
	t.tell("you> %s\n", s.says)
	req := run.Request{
		Session: "tour", Origin: tool.FromChat, Message: llm.UserMessage(s.says),
		Caller: auth.Principal{ID: auth.Admin.LocalID(), Role: auth.Admin, Human: true},
	}
	// What the tools do is what the tour shows, so it stands with the rest.
	all := *t.app
	all.Err, all.quiet = t.Out, false
	_, last, err := all.answer(ctx, g, req, nil)
	switch {
	case err != nil:
		return err
	case last.Type == agent.RunFailed:
		return errors.New(last.Text)
	case ctx.Err() != nil:
		return &exitError{status: exitInterrupted, err: errors.New("stopped")}
	}
	if s.explain != "" {
		if err := t.explain(ctx, g, req, s.explain); err != nil {
			return err
		}
	}
	t.tell("\n%s", s.after)
	return nil
}

func (t *tour) explain(ctx context.Context, g *gateway.Gateway, req run.Request, name string) error {
	x, err := g.Explain(ctx, req, name)
	if err != nil {
		return err
	}
	t.tell("\n$ goclaw tools explain %s\n%s", name, strings.TrimRight(x.Text(), "\n"))
	return nil
}

// pause waits for Enter where somebody can press it.
func (t *tour) pause(ctx context.Context) error {
	if !t.wait {
		return ctx.Err()
	}
	fmt.Fprint(t.prompt, "[Enter] ")
	_, err := t.readLine(ctx)
	if errors.Is(err, io.EOF) {
		t.wait = false // nobody is there any more; the tour goes on by itself
		return nil
	}
	if ctx.Err() != nil {
		fmt.Fprintln(t.Out) // what comes stands on a line of its own
	}
	return err
}

// folder writes whole lines to a terminal and folds them between words: the
// terminal itself would break them anywhere.
type folder struct {
	out  *os.File
	line []byte // that has no end yet
}

func (f *folder) Write(b []byte) (int, error) {
	width, _ := term.Size(f.out)
	f.line = append(f.line, b...)
	end := bytes.LastIndexByte(f.line, '\n') + 1
	_, err := io.WriteString(f.out, foldLines(string(f.line[:end]), width))
	f.line = append(f.line[:0], f.line[end:]...)
	return len(b), err
}

// foldLines folds each line of a text to width cells. It goes on below its
// beginning, of a table below the second column.
func foldLines(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		begin := len(line) - len(strings.TrimPrefix(strings.TrimLeft(line, " "), "· "))
		if gap := strings.Index(line[begin:], "  "); gap >= 0 {
			column := len(line) - len(strings.TrimLeft(line[begin+gap:], " "))
			if column < len(line) && term.Width(line[:column]) <= width/2 {
				begin = column
			}
		}
		indent := strings.Repeat(" ", min(term.Width(line[:begin]), width/2))
		b.WriteString(strings.Join(term.Fold(line, width, indent), "\n"))
		b.WriteByte('\n')
	}
	return b.String()
}

// readLine reads one line of standard input, until ctx ends.
func (a *app) readLine(ctx context.Context) (string, error) {
	return awaited(ctx, func() (string, error) {
		var line []byte
		b := make([]byte, 1)
		for {
			n, err := a.In.Read(b)
			switch {
			case n == 1 && b[0] == '\n':
				return string(line), nil
			case n == 1:
				line = append(line, b[0])
			case err != nil:
				return string(line), err
			}
		}
	})
}
