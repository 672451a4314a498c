package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/gateway"
)

func (a *app) configCommand() *cobra.Command {
	return group("config", "Look at and change the configuration",
		a.configValidate(), a.configSchema(), a.configGet(), a.configSet(), a.configUnset())
}

// configOptions says where the configuration is.
func (a *app) configOptions() (config.Options, error) {
	home, err := config.HomeDir(a.home, a.env)
	if err != nil {
		return config.Options{}, err
	}
	return config.Options{Home: home, Environ: a.env}, nil
}

func (a *app) configValidate() *cobra.Command {
	return &cobra.Command{
		Use: "validate [FILE]", Short: "Check the configuration and print every fault with its place",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := a.configOptions()
			if err != nil {
				return err
			}
			o.File = filepath.Join(o.Home, config.FileName)
			if len(args) == 1 {
				o.File = args[0]
				if _, err := os.Stat(args[0]); err != nil {
					return err
				}
			}
			c, err := config.Load(o)
			report := validation{File: o.File, Valid: err == nil}
			var faults config.Faults
			switch {
			case errors.As(err, &faults):
				report.add(&report.Faults, faults)
			case err != nil:
				return err
			default:
				report.add(&report.Warnings, c.Warnings)
				for _, p := range c.NotActedOn(gateway.ActedOn) {
					report.Warnings = append(report.Warnings, fault{Key: p.Key, File: p.File, Line: p.Line, Column: p.Column, Message: p.String() + ": set, not acted on by this version"})
				}
				lists, err := gateway.DiagnosePolicies(c, a.plugins)
				if err != nil {
					return err
				}
				for _, words := range gateway.DiagnoseBudgets(cmd.Context(), c, a.env) {
					report.Warnings = append(report.Warnings, fault{Key: "budget", File: o.File, Message: words})
				}
				people, known := accounts(cmd.Context(), c)
				for _, d := range append(lists, gateway.DiagnoseKeys(c, people, known)...) {
					p := d.Where
					report.Warnings = append(report.Warnings, fault{Key: p.Key, File: p.File, Line: p.Line, Column: p.Column, Env: p.Env, Message: d.String()})
				}
			}
			if err := a.print(report, report.text); err != nil {
				return err
			}
			if !report.Valid {
				return &exitError{status: exitFailed}
			}
			return nil
		},
	}
}

// accounts are the ids of those who have one; not known where there is no
// database yet, or where it can't be read without changing it.
func accounts(ctx context.Context, c *config.Config) (ids []string, known bool) {
	db, err := gateway.OpenNames(c)
	if err != nil {
		return nil, false
	}
	defer db.Close()
	people, err := db.People(ctx)
	for _, p := range people {
		ids = append(ids, p.Name)
	}
	return ids, err == nil
}

// validation is what "config validate" prints.
type validation struct {
	File     string  `json:"file"`
	Valid    bool    `json:"valid"`
	Faults   []fault `json:"faults,omitempty"`
	Warnings []fault `json:"warnings,omitempty"`
}

type fault struct {
	Key     string `json:"key,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Env     string `json:"env,omitempty"`
	Message string `json:"message"`
	Near    string `json:"near,omitempty"`
}

func (v *validation) add(to *[]fault, faults []config.Fault) {
	for _, f := range faults {
		*to = append(*to, fault{f.Pos.Key, f.Pos.File, f.Pos.Line, f.Pos.Column, f.Pos.Env, f.String(), f.Near})
	}
}

func (v *validation) text(w io.Writer) error {
	for _, f := range v.Faults {
		if _, err := fmt.Fprintln(w, "fault: "+printable(f.Message)); err != nil {
			return err
		}
	}
	for _, f := range v.Warnings {
		if _, err := fmt.Fprintln(w, "warning: "+printable(f.Message)); err != nil {
			return err
		}
	}
	verdict := "is valid"
	if !v.Valid {
		verdict = "can't be used"
	} else if !exists(v.File) {
		_, err := fmt.Fprintln(w, defaultsHold(v.File))
		return err
	}
	_, err := fmt.Fprintf(w, "%s %s\n", v.File, verdict)
	return err
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return !errors.Is(err, fs.ErrNotExist)
}

// defaultsHold says so of a configuration that nobody has written yet.
func defaultsHold(file string) string { return "there is no " + file + ": the defaults hold" }

func (a *app) configSchema() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON schema of config.yaml, for editors", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := a.Out.Write(config.Schema())
			return err
		},
	}
}

func (a *app) configGet() *cobra.Command {
	var where bool
	cmd := &cobra.Command{
		Use: "get [KEY]", Short: "Print the value of a key, or all, as it is in force; secrets are masked",
		ValidArgsFunction: offer(a.keys).first,
		Example:           "  goclaw config get tools.pool.workers\n  goclaw config get --where 'agents.list[main].model'",
		Args:              cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			key := strings.Join(args, "")
			o, err := a.configOptions()
			if err != nil {
				return err
			}
			c, err := config.Load(o)
			if err != nil {
				return err
			}
			s, err := c.Get(key)
			if err != nil {
				return err
			}
			v := struct {
				Key   string `json:"key"`
				Value any    `json:"value"`
				Where string `json:"where"`
			}{s.Key, s.Value(), s.Pos.Place()}
			return a.print(v, func(w io.Writer) error {
				text := s.String()
				if where {
					text += "\t" + s.Pos.String()
				}
				_, err := fmt.Fprintln(w, text)
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&where, "where", false, "also say where the value was written")
	return cmd
}

func (a *app) configSet() *cobra.Command {
	return &cobra.Command{
		Use: "set KEY VALUE", Short: "Write a key to config.yaml; comments, blank lines and order stay",
		ValidArgsFunction: a.settings,
		Long: "Write a key to config.yaml. VALUE is read as YAML; put -- before one that begins with -.\n" +
			"The changed file is checked before it replaces the old one.",
		Example: "  goclaw config set ai.provider ollama\n  goclaw config set ai.providers.local.base_url http://127.0.0.1:8000/v1\n" +
			"  goclaw config set 'agents.list[main].tools.deny' '[file_delete, \"file_m*\"]'",
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			o, err := a.configOptions()
			if err != nil {
				return err
			}
			before, err := loaded(o)
			if err != nil {
				return err
			}
			if err := config.Set(o, args[0], args[1]); err != nil {
				return err
			}
			return a.changed(o, before, args[0], "%s is set", true)
		},
	}
}

func (a *app) configUnset() *cobra.Command {
	return &cobra.Command{
		Use: "unset KEY", Short: "Remove a key from config.yaml, so that its default holds", Args: cobra.ExactArgs(1),
		ValidArgsFunction: offer(a.written).first,
		RunE: func(_ *cobra.Command, args []string) error {
			o, err := a.configOptions()
			if err != nil {
				return err
			}
			before, err := loaded(o)
			if err != nil {
				return err
			}
			was, err := config.Unset(o, args[0])
			if err != nil {
				return err
			}
			if !was {
				return a.changed(o, before, args[0], "%s was not written", false)
			}
			return a.changed(o, before, args[0], "%s is removed", true)
		},
	}
}

// loaded is the configuration as it is, nil where it is at fault.
func loaded(o config.Options) (*config.Config, error) {
	c, err := config.Load(o)
	if errors.As(err, new(config.Faults)) {
		return nil, nil
	}
	return c, err
}

// newWarnings are those of c that before had not.
func newWarnings(c, before *config.Config) (list []string) {
	for _, w := range c.Warnings {
		if !slices.ContainsFunc(before.Warnings, func(b config.Fault) bool { return b.Pos.Key == w.Pos.Key && b.Message == w.Message }) {
			list = append(list, w.String())
		}
	}
	return list
}

// changed tells what "config set" and "config unset" did, what still stands
// against it (faults elsewhere in the file, or a variable of the environment
// that is in force in place of the key), and what it did to agents that were
// there before.
func (a *app) changed(o config.Options, before *config.Config, key, format string, did bool) error {
	v := struct {
		Key        string   `json:"key"`
		File       string   `json:"file"`
		Changed    bool     `json:"changed"`
		Faults     int      `json:"faults,omitempty"`
		Overridden string   `json:"overridden_by,omitempty"`
		Warnings   []string `json:"warnings,omitempty"`
		Restart    bool     `json:"restart_needed,omitempty"` // of the gateway that runs
	}{Key: key, File: filepath.Join(o.Home, config.FileName), Changed: did}
	c, err := config.Load(o)
	var faults config.Faults
	switch {
	case errors.As(err, &faults):
		v.Faults = len(faults)
	case err != nil:
		return err
	default:
		if s, err := c.Get(key); err == nil {
			v.Overridden = s.Pos.Env
		}
		if before != nil {
			v.Warnings = append(c.Displaced(before), newWarnings(c, before)...)
		}
	}
	a.say(format, key)
	for _, w := range v.Warnings {
		a.say("warning: %s", w)
	}
	i, running, err := gateway.Running(o.Home)
	if err != nil {
		return err
	}
	if running && did && gateway.ConfigChanged(o, i.Config) != "" {
		v.Restart = true
		a.say("note: the gateway that runs here (process %d) goes on with what it started with; stop it and start it again with: goclaw start", i.PID)
	}
	if v.Overridden != "" {
		a.say("note: %s of the environment is in force in its place", v.Overridden)
	}
	switch {
	case v.Faults == 1:
		a.say("note: 1 fault is left; see goclaw config validate")
	case v.Faults > 1:
		a.say("note: %d faults are left; see goclaw config validate", v.Faults)
	}
	if a.json {
		return a.printJSON(v)
	}
	return nil
}
