package cli

import (
	"errors"
	"fmt"
	"io"

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
		RunE: func(_ *cobra.Command, args []string) error {
			o, err := a.configOptions()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				o.File = args[0]
			}
			c, err := config.Load(o)
			report := validation{File: o.File, Valid: err == nil}
			var faults config.Faults
			switch {
			case errors.As(err, &faults):
				report.add(&report.Faults, faults)
				report.File = faults[0].Pos.File
			case err != nil:
				return err
			default:
				report.File = c.File
				report.add(&report.Warnings, c.Warnings)
				for _, p := range c.NotActedOn(gateway.ActedOn) {
					report.Warnings = append(report.Warnings, fault{Key: p.Key, File: p.File, Line: p.Line, Column: p.Column, Message: p.String() + ": set, not acted on by this version"})
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
	}
	_, err := fmt.Fprintf(w, "%s %s\n", v.File, verdict)
	return err
}

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
		Use: "get KEY", Short: "Print the value of a key as it is in force; secrets are masked",
		Example: "  goclaw config get tools.pool.workers\n  goclaw config get --where 'agents.list[main].model'",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o, err := a.configOptions()
			if err != nil {
				return err
			}
			c, err := config.Load(o)
			if err != nil {
				return err
			}
			s, err := c.Get(args[0])
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
		Long:    "Write a key to config.yaml. VALUE is read as YAML. The changed file is checked before it replaces the old one.",
		Example: "  goclaw config set ai.provider ollama\n  goclaw config set 'agents.list[writer].tools.deny' '[shell, \"git*\"]'",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			o, err := a.configOptions()
			if err != nil {
				return err
			}
			if err := config.Set(o, args[0], args[1]); err != nil {
				return err
			}
			a.say("%s is set", args[0])
			return nil
		},
	}
}

func (a *app) configUnset() *cobra.Command {
	return &cobra.Command{
		Use: "unset KEY", Short: "Remove a key from config.yaml, so that its default holds", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o, err := a.configOptions()
			if err != nil {
				return err
			}
			was, err := config.Unset(o, args[0])
			if err != nil {
				return err
			}
			if !was {
				a.say("%s was not written", args[0])
				return nil
			}
			a.say("%s is removed", args[0])
			return nil
		},
	}
}
