package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/gateway"
)

// finding is one line of "doctor".
type finding struct {
	Check  string `json:"check"`
	Status string `json:"status"` // ok, warning, fault
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

const (
	isOK      = "ok"
	isWarning = "warning"
	isFault   = "fault"
)

func (a *app) doctorCommand() *cobra.Command {
	var offline bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check configuration, database, workspaces and providers, with a fix for each finding", Args: cobra.NoArgs,
		Long: "Check configuration, database, workspaces and providers, with a fix for each finding. A model of which neither the\n" +
			"model table nor its server says whether it takes tools is asked a few words with one, which may cost a few tokens.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings := a.examine(cmd.Context(), offline)
			if err := a.print(findings, func(w io.Writer) error { return writeFindings(w, findings) }); err != nil {
				return err
			}
			for _, f := range findings {
				if f.Status == isFault {
					return &exitError{status: exitFailed}
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&offline, "offline", false, "don't ask the providers")
	return cmd
}

func writeFindings(w io.Writer, findings []finding) error {
	width := 0
	for _, f := range findings {
		width = max(width, len(f.Check))
	}
	for _, f := range findings {
		line := fmt.Sprintf("%-8s %-*s %s", f.Status, width, f.Check, f.Detail)
		if f.Fix != "" {
			line += "\n" + strings.Repeat(" ", len(isWarning)+1+width+2) + "fix: " + f.Fix
		}
		if _, err := fmt.Fprintln(w, printable(line)); err != nil {
			return err
		}
	}
	return nil
}

// examine looks at everything that can be looked at, also when some of it is
// broken.
func (a *app) examine(ctx context.Context, offline bool) []finding {
	home, err := config.HomeDir(a.home, a.env)
	if err != nil {
		return []finding{{"home", isFault, err.Error(), "set HOME or GOCLAW_HOME"}}
	}
	var out []finding
	out = append(out, examineHome(home)...)
	c, err := config.Load(config.Options{Home: home, Environ: a.env})
	var faults config.Faults
	switch {
	case errors.As(err, &faults):
		for _, f := range faults {
			out = append(out, finding{"configuration", isFault, f.String(), faultFix(f)})
		}
		last, err := config.LoadLastGood(config.Options{Home: home, Environ: a.env})
		if err != nil {
			return out // nothing ever worked that more could be said about
		}
		out = append(out, finding{"configuration", isWarning, "what follows is of the last good one, " + last.File, ""})
	case err != nil:
		return append(out, finding{"configuration", isFault, err.Error(), homeFix(home, err)})
	default:
		out = append(out, examineConfig(c)...)
	}
	g, err := a.open(ctx, gateway.Options{LastGood: true})
	if err != nil {
		return append(out, finding{"state", isFault, err.Error(), homeFix(home, err)})
	}
	out = append(out, examineDisks(ctx, g)...)
	out = append(out, examineAgents(ctx, g)...)
	out = append(out, examineProviders(ctx, g, offline, askWithin)...)
	out = append(out, examineEmbeddings(ctx, g, offline)...)
	switch keys, err := g.DiagnoseKeys(ctx); {
	case err != nil:
		out = append(out, finding{"state", isFault, err.Error(), ""})
	default:
		for _, d := range keys {
			out = append(out, finding{"policies", isWarning, d.String(), "correct the key, or take the entry out"})
		}
	}
	for _, words := range gateway.DiagnoseBudgets(ctx, g.Config, a.env) {
		out = append(out, finding{"budget", isWarning, words, "set the price, or limit tokens instead"})
	}
	switch left, err := g.Forsaken(ctx); {
	case err != nil:
		out = append(out, finding{"state", isFault, err.Error(), ""})
	case left != "":
		out = append(out, finding{"agents", isWarning, left, gateway.KeepMain + " keeps it; goclaw sessions list --agent main shows what there is"})
	}
	if err := g.Close(ctx); err != nil {
		out = append(out, finding{"state", isFault, err.Error(), ""})
	}
	return out
}

// faultFix is what to do about a fault of the configuration.
func faultFix(f config.Fault) string {
	switch {
	case f.Pos.Env != "":
		return "correct or unset the variable " + f.Pos.Env
	case f.Unknown && f.Pos.Key != "":
		return fmt.Sprintf("correct the name in %s, or take it out: goclaw config unset %s", f.Pos.File, quoted(f.Pos.Key))
	}
	return "correct " + f.Pos.File
}

// examineDisks tries whether something can be stored, and looks whether there
// is room for more.
func examineDisks(ctx context.Context, g *gateway.Gateway) []finding {
	state := finding{Check: "state", Status: isOK, Detail: "the database opens, its schema is current, and it can be written"}
	if err := g.Touch(ctx); err != nil {
		state = finding{"state", isFault, "nothing can be stored: " + err.Error(), "make room, or mend the disk or its permissions; runs fail until then"}
	}
	out := []finding{state}
	for _, p := range g.DiskProblems() {
		out = append(out, finding{"disk", isWarning, p.Detail, p.Fix})
	}
	return out
}

// homeFix is what to do about an error of a file in the home folder. Other
// errors of the state database say it themselves.
func homeFix(home string, err error) string {
	if errors.Is(err, os.ErrPermission) {
		return fmt.Sprintf("act as the owner of %s, or set GOCLAW_HOME to a folder of your own", home)
	}
	return ""
}

func examineHome(home string) []finding {
	info, err := os.Stat(home)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return []finding{{"home", isOK, home + " doesn't exist yet; it is made when it is needed", ""}}
	case err != nil:
		return []finding{{"home", isFault, err.Error(), "make " + home + " readable, or set GOCLAW_HOME"}}
	case !info.IsDir():
		return []finding{{"home", isFault, home + " is not a folder", "move it away, or set GOCLAW_HOME"}}
	case info.Mode().Perm()&0o022 != 0:
		return []finding{{"home", isWarning, fmt.Sprintf("%s can be written by others (mode %04o)", home, info.Mode().Perm()), "chmod go-w " + home}}
	}
	return []finding{{"home", isOK, home, ""}}
}

func examineConfig(c *config.Config) []finding {
	var out []finding
	for _, w := range c.Warnings {
		out = append(out, finding{"configuration", isWarning, w.String(), ""})
	}
	for _, p := range c.NotActedOn(gateway.ActedOn) {
		out = append(out, finding{"configuration", isWarning, p.String() + ": set, not acted on by this version", "nothing to do; it is kept for a version that does"})
	}
	switch {
	case !exists(c.File):
		out = append(out, finding{"configuration", isOK, defaultsHold(c.File), ""})
	case len(out) == 0:
		out = append(out, finding{"configuration", isOK, c.File, ""})
	}
	return out
}

func examineAgents(ctx context.Context, g *gateway.Gateway) []finding {
	var out []finding
	for _, d := range g.DiagnoseRules() {
		out = append(out, finding{"hooks", isWarning, d, ""})
	}
	for _, c := range g.Config.Agents() {
		check := "agent " + c.ID
		agent, err := g.Agent(c.ID)
		if err != nil {
			out = append(out, finding{check, isFault, err.Error(), "look at its workspace, " + c.Workspace})
			continue
		}
		cat := agent.Registry.Catalog()
		out = append(out, finding{check, isOK, fmt.Sprintf("%d tools, workspace %s", len(cat.Entries), c.Workspace), ""})
		for _, n := range cat.Notes {
			out = append(out, finding{check, isWarning, fmt.Sprintf("tool %s of %s: %s", n.Tool, n.Owner, n.Reason), n.Fix})
		}
		for _, d := range agent.Engine.Diagnose() {
			out = append(out, finding{check, isWarning, d.String(), ""})
		}
		out = append(out, examineModel(ctx, g, c))
	}
	return out
}

func examineModel(ctx context.Context, g *gateway.Gateway, c config.Agent) finding {
	check := "model " + c.ID
	choice, err := g.Choose(ctx, c.ID, "")
	if err != nil {
		fix := "correct ai.provider, or the model of the agent"
		switch {
		case errors.Is(err, config.ErrNoProvider):
			fix = "set the key of a provider, start Ollama, or write ai.provider"
		case errors.Is(err, config.ErrNoKey):
			fix = "set its key as said, or name another provider: goclaw config set ai.provider NAME"
		}
		return finding{check, isFault, err.Error(), fix}
	}
	return finding{check, isOK, choice.Provider + "/" + choice.Model + ": " + choice.Why, ""}
}
