package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// everywhere are the flags that every command takes.
const everywhere = "home agent session role user log-level json quiet"

// effective are those of them that do something in a command. Help shows no
// others, though they can be given.
var effective = map[string]string{
	"start":  "home json log-level quiet",
	"status": "home json",
	"run":    everywhere,
	"chat":   everywhere,

	"tools list":    everywhere,
	"tools select":  everywhere,
	"tools explain": everywhere,
	"tools invoke":  everywhere,
	"prompt show":   everywhere,

	"tools presets list":    "home json log-level quiet",
	"tools presets add":     "home role user json log-level quiet",
	"tools presets approve": "home role user json log-level quiet",
	"tools presets remove":  "home role user json log-level quiet",

	"rag eval": everywhere,

	"approvals list":   "home agent session role user json log-level quiet",
	"approvals answer": "home role user json log-level quiet",
	"approvals grants": "home role user json log-level quiet",
	"approvals revoke": "home role user json log-level quiet",

	"sessions list":   "home agent role user json log-level quiet",
	"sessions show":   "home agent role user json log-level quiet",
	"sessions export": "home agent role user log-level quiet",
	"sessions search": "home agent session role user json log-level quiet",
	"sessions delete": "home agent role user json log-level quiet",
	"sessions fork":   "home agent role user json log-level quiet",
	"traces":          "home agent session role user json log-level quiet",
	"usage":           "home agent session role user json log-level quiet",

	"hooks list": "home json log-level",
	"hooks test": "home agent session role user json log-level quiet",

	"config validate": "home json",
	"config schema":   "",
	"config get":      "home json",
	"config set":      "home json quiet",
	"config unset":    "home json quiet",

	"users add":    "home role json log-level quiet",
	"users link":   "home json log-level quiet",
	"users token":  "home json log-level quiet",
	"users tokens": "home json log-level quiet",
	"users revoke": "home json log-level quiet",
	"users list":   "home json log-level quiet",
	"users remove": "home json log-level quiet",

	"models":  "home json log-level quiet",
	"demo":    "json log-level",
	"doctor":  "home json log-level",
	"version": "json",
	"help":    "",

	"completion bash":       "",
	"completion zsh":        "",
	"completion fish":       "",
	"completion powershell": "",
}

// effects are the flags that do something in a command, or in one of those that
// it holds.
func effects(c *cobra.Command) []string {
	_, path, _ := strings.Cut(c.CommandPath(), " ")
	names := strings.Fields(effective[path])
	for _, sub := range c.Commands() {
		names = append(names, effects(sub)...)
	}
	return names
}

// showEffective makes help show those flags of every command that do something
// in the one that it is about.
func showEffective(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, words []string) {
		names := effects(c)
		// The flags are those of all commands; but help is the last that happens.
		for name := range strings.FieldsSeq(everywhere) {
			if f := c.InheritedFlags().Lookup(name); f != nil {
				f.Hidden = !slices.Contains(names, name)
			}
		}
		help(c, words)
	})
}
