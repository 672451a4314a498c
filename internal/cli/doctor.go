package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

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
	for _, f := range findings {
		line := fmt.Sprintf("%-8s %-14s %s", f.Status, f.Check, f.Detail)
		if f.Fix != "" {
			line += "\n" + strings.Repeat(" ", 24) + "fix: " + f.Fix
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
			out = append(out, finding{"configuration", isFault, f.String(), "correct " + f.Pos.File})
		}
		return out
	case err != nil:
		return append(out, finding{"configuration", isFault, err.Error(), homeFix(home, err)})
	}
	out = append(out, examineConfig(c)...)
	g, err := a.open(ctx, false)
	if err != nil {
		return append(out, finding{"state", isFault, err.Error(), homeFix(home, err)})
	}
	out = append(out, finding{Check: "state", Status: isOK, Detail: "the database opens and its schema is current"})
	out = append(out, examineAgents(ctx, g, offline)...)
	if err := g.Close(ctx); err != nil {
		out = append(out, finding{"state", isFault, err.Error(), ""})
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

func examineAgents(ctx context.Context, g *gateway.Gateway, offline bool) []finding {
	var out []finding
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
		out = append(out, examineModel(ctx, g, c, offline))
	}
	return out
}

func examineModel(ctx context.Context, g *gateway.Gateway, c config.Agent, offline bool) finding {
	check := "model " + c.ID
	choice, err := g.Choose(ctx, c.ID, "")
	if err != nil {
		fix := "correct ai.provider, or the model of the agent"
		if errors.Is(err, config.ErrNoProvider) {
			fix = "set the key of a provider, start Ollama, or write ai.provider"
		}
		return finding{check, isFault, err.Error(), fix}
	}
	name := choice.Provider + "/" + choice.Model
	if offline {
		return finding{check, isOK, name + ", not asked: " + choice.Why, ""}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	models, err := g.ListModels(ctx, choice.Provider)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return finding{check, isOK, name + ": " + choice.Why, ""}
	case err != nil:
		return finding{check, isFault, fmt.Sprintf("%s can't be asked: %v", name, err), fmt.Sprintf("check base_url and api_key of ai.providers.%s, and that the server runs", choice.Provider)}
	case models != nil && !listsModel(models, choice.Model):
		return finding{check, isWarning, fmt.Sprintf("%s answers, but doesn't list the model %s", choice.Provider, choice.Model), fmt.Sprintf("set ai.providers.%s.model to one of: %s", choice.Provider, short(strings.Join(models, ", "), 200))}
	}
	return finding{check, isOK, name + ": " + choice.Why, ""}
}

// listsModel allows for Ollama's tags.
func listsModel(models []string, name string) bool {
	for _, m := range models {
		if m == name || strings.TrimSuffix(m, ":latest") == name {
			return true
		}
	}
	return false
}
