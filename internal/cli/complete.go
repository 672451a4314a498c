package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/gateway/builtin"
	"github.com/goclaw/goclaw/internal/provider"
	"github.com/goclaw/goclaw/internal/tool"
)

// What shells ask about is answered from files as they stand: nothing is made,
// migrated or locked, and what can't be found out is not offered, without a
// word, which a shell would print into the line.

// offer lists what the word at the cursor may become.
type offer func(ctx context.Context, word string) []cobra.Completion

// completion is an offer as cobra wants it.
func (o offer) completion(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return o(cmd.Context(), word), cobra.ShellCompDirectiveNoFileComp
}

// first completes a command's first argument.
func (o offer) first(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return o.completion(cmd, args, word)
}

// completeFlags tells shells what flags may be, and that arguments are no files
// unless a command says so.
func (a *app) completeFlags(root *cobra.Command) {
	known := map[string]offer{
		"agent": a.agents, "session": a.sessions, "user": a.people, "model": a.models, "provider": a.providers,
		"role":      fixed(string(auth.Admin), string(auth.User)),
		"log-level": fixed("debug", "info", "warn", "error"),
		"origin":    fixed(strings.Split(join(tool.Origins), ", ")...),
		"declare":   several(a.tools), "cap": several(a.tools),
		"format": fixed("jsonl", "markdown"),
		"by":     several(fixed("day", "agent", "model", "person", "session", "run")), "person": a.people,
	}
	for _, c := range append(commands(root), root) {
		for name, values := range known {
			if c.LocalFlags().Lookup(name) == nil {
				continue
			}
			// The only error is that the flag is told twice.
			_ = c.RegisterFlagCompletionFunc(name, values.completion)
		}
		if c.ValidArgsFunction == nil && c.Name() != "validate" {
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}

func fixed(values ...string) offer {
	return func(context.Context, string) []cobra.Completion { return values }
}

// several offers lists with commas of what one offers.
func several(one offer) offer {
	return func(ctx context.Context, word string) (list []cobra.Completion) {
		before := word[:strings.LastIndexByte(word, ',')+1]
		for _, c := range one(ctx, word[len(before):]) {
			name, _, _ := strings.Cut(c, "\t")
			if !slices.Contains(strings.Split(before, ","), name) {
				list = append(list, before+c)
			}
		}
		return list
	}
}

// options is the configuration's place; ok is false where there is no home.
func (a *app) options() (o config.Options, ok bool) {
	o, err := a.configOptions()
	return o, err == nil && exists(o.Home)
}

// asFound is the configuration as far as it can be used: that of the file, the
// last good one, or the defaults.
func (a *app) asFound() *config.Config {
	o, ok := a.options()
	if ok {
		if c, err := config.LoadOrLastGood(o); err == nil {
			return c
		}
	}
	c, err := config.Parse(config.Options{Home: o.Home}, nil)
	if err != nil {
		panic("cli: the defaults are at fault: " + err.Error())
	}
	return c
}

func (a *app) agents(context.Context, string) (list []cobra.Completion) {
	for _, x := range a.asFound().Agents() {
		list = append(list, described(x.ID, x.Name))
	}
	return list
}

// models are the providers and their own models, and behind the slash of one all
// that are known of it.
func (a *app) models(_ context.Context, word string) (list []cobra.Completion) {
	c := a.asFound()
	for name, p := range c.AI.Providers {
		list = append(list, name)
		if p.Model != "" {
			list = append(list, name+"/"+p.Model)
		}
		if !strings.HasPrefix(word, name+"/") {
			continue
		}
		for _, m := range provider.Shipped().Of(cmp.Or(p.Type, name)).Models {
			list = append(list, name+"/"+m.Name)
		}
		for model := range p.Prices {
			list = append(list, name+"/"+model)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// settings completes the arguments of "config set": a key, and for those that
// name a model its value.
func (a *app) settings(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 1 && (args[0] == "ai.provider" || strings.HasPrefix(args[0], "agents.list[") && strings.HasSuffix(args[0], ".model")) {
		return offer(a.models).completion(cmd, args, word)
	}
	return offer(a.keys).first(cmd, args, word)
}

func (a *app) tools(context.Context, string) (list []cobra.Completion) {
	entries, err := gateway.Tools(a.plugins)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		list = append(list, described(e.Def.Name, e.Def.Description))
	}
	return list
}

// keys are those that can be read and set.
func (a *app) keys(context.Context, string) (list []cobra.Completion) {
	for _, k := range a.asFound().Keys() {
		list = append(list, described(k.Name, k.Doc))
	}
	return list
}

// written are the keys that stand in the file, which may be broken.
func (a *app) written(context.Context, string) []cobra.Completion {
	o, ok := a.options()
	if !ok {
		return nil
	}
	return config.WrittenKeys(o)
}

func (a *app) people(ctx context.Context, _ string) []cobra.Completion {
	return a.stored(func(db *builtin.Names) ([]builtin.Name, error) { return db.People(ctx) })
}

func (a *app) tokens(ctx context.Context, _ string) []cobra.Completion {
	return a.stored(func(db *builtin.Names) ([]builtin.Name, error) { return db.Tokens(ctx) })
}

func (a *app) runs(ctx context.Context, word string) []cobra.Completion {
	return a.stored(func(db *builtin.Names) ([]builtin.Name, error) { return db.Runs(ctx, word) })
}

func (a *app) sessions(ctx context.Context, word string) []cobra.Completion {
	c := a.asFound()
	agent := a.agent
	if x, ok := c.Agent(agent); ok {
		agent = x.ID // else one that is configured no more
	}
	return a.stored(func(db *builtin.Names) ([]builtin.Name, error) { return db.Sessions(ctx, agent, word) })
}

// stored offers what is found in the state database, if there is one.
func (a *app) stored(find func(*builtin.Names) ([]builtin.Name, error)) (list []cobra.Completion) {
	if _, ok := a.options(); !ok {
		return nil
	}
	db, err := gateway.OpenNames(a.asFound())
	if err != nil {
		return nil
	}
	defer db.Close() // nothing was written
	found, err := find(db)
	if err != nil {
		return nil
	}
	for _, n := range found {
		list = append(list, described(n.Name, n.Note))
	}
	return list
}

// described is a completion with what it is, on one line.
func described(name, what string) cobra.Completion {
	what, _, _ = strings.Cut(strings.TrimSpace(what), "\n")
	if what == "" {
		return name
	}
	return cobra.CompletionWithDesc(name, printable(short(what, 70)))
}
