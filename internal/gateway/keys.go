package gateway

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/engine/surface"
	"github.com/goclaw/goclaw/internal/lib/nearest"
	"github.com/goclaw/goclaw/internal/provider"
)

// DiagnoseKeys tells of policies of c that hold for nobody, since their key is
// no person, no channel, or no model that there is. people are the ids of the
// accounts, and known says whether they are. What can't be known is not told:
// whom a channel brings, and what a server of somebody's own calls its models.
// It opens nothing.
func DiagnoseKeys(c *config.Config, people []string, known bool) []surface.Diagnosis {
	k := keyChecker{c: c, people: people, known: known}
	k.block("tools", c.Tools)
	for _, a := range c.Agents() {
		k.block("agents.list["+a.ID+"].tools", a.Tools)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Channels)) {
		if near := nearest.Names(name, channels, maxNearest); len(near) > 0 && near[0] != name {
			k.add("channels", name, near, "GoClaw has no channel %q, so that what stands under it holds for nobody")
		}
	}
	return k.found
}

// DiagnoseKeys is [DiagnoseKeys] of the configuration in force and of the
// accounts that there are.
func (g *Gateway) DiagnoseKeys(ctx context.Context) ([]surface.Diagnosis, error) {
	accounts, err := g.Users.List(ctx)
	if err != nil {
		return nil, err
	}
	people := make([]string, len(accounts))
	for i, a := range accounts {
		people[i] = a.ID
	}
	return DiagnoseKeys(g.Config, people, true), nil
}

// channels are what GoClaw calls the networks that people write from.
var channels = []string{"discord", "email", "slack", "telegram", "webhook"}

type keyChecker struct {
	c      *config.Config
	people []string
	known  bool
	found  []surface.Diagnosis
}

// add tells of the entry name of the map that block is.
func (k *keyChecker) add(block, name string, near []string, problem string) {
	where := k.c.Where(block + "[" + strconv.Quote(name) + "]")
	if where.IsDefault() {
		return // it is the other block's, and told there
	}
	k.found = append(k.found, surface.Diagnosis{
		Entry: name, Problem: strings.ReplaceAll(problem, "%q", strconv.Quote(name)), Nearest: near, Where: where,
	})
}

func (k *keyChecker) block(key string, t config.Tools) {
	for _, name := range slices.Sorted(maps.Keys(t.BySender)) {
		k.sender(key+".by_sender", name)
	}
	for _, name := range slices.Sorted(maps.Keys(t.ByProvider)) {
		k.model(key+".by_provider", name)
	}
}

// sender tells of a key that is nobody's id.
func (k *keyChecker) sender(block, name string) {
	written := slices.Sorted(maps.Keys(k.c.Channels))
	switch channel, id, ofChannel := strings.Cut(name, ":"); {
	case name == "*":
	case strings.TrimSpace(name) == "":
		k.add(block, name, nil, "an empty key is nobody's, so that this never holds")
	case ofChannel && id == "":
		k.add(block, name, nil, "the key %q names a channel and nobody in it, so that this never holds: write channel:id, or channels.NAME.groups for groups")
	case ofChannel && !slices.Contains(written, channel):
		near := slices.DeleteFunc(nearest.Names(channel, append(written, channels...), maxNearest), func(n string) bool { return n == channel })
		k.add(block, name, near, "no channel of that name is set up (channels), so that %q is nobody and this never holds")
	case ofChannel, !k.known, len(written) > 0, slices.Contains(k.people, name):
	case slices.Contains([]string{auth.FirstAdmin, auth.Admin.LocalID(), auth.User.LocalID()}, name):
	default:
		k.add(block, name, nearest.Names(name, k.people, maxNearest), "there is no user %q (goclaw users list), and no channel that people write from, so that this never holds")
	}
}

// model tells of a key provider/model of which nobody has heard.
func (k *keyChecker) model(block, key string) {
	name, model := config.SplitModel(key)
	p, ok := k.c.AI.Providers[name]
	if !ok || model == "" {
		return // another diagnosis tells of the provider
	}
	used := k.used(name)
	if slices.Contains(used, model) {
		return
	}
	maker := cmp.Or(p.Type, name)
	var table []string
	if p.BaseURL == "" {
		for _, m := range provider.Shipped().Of(maker).Models {
			table = append(table, m.Name)
		}
	}
	if m, ok := provider.Lookup(model); ok && slices.Contains(table, m.Name) && model == strings.ToLower(model) {
		return
	}
	near := nearest.Names(model, slices.Concat(used, table), maxNearest)
	if len(near) == 0 && len(table) == 0 {
		return // what a server of somebody's own has nobody can know
	}
	k.add(block, key, near, "no agent uses the model of %q, and the model table has none of that name, so that this holds only for a run that names it itself")
}

// used are the models of a provider that the configuration names.
func (k *keyChecker) used(name string) []string {
	p := k.c.AI.Providers[name]
	models := slices.Collect(maps.Keys(p.Prices))
	models = append(models, p.Model)
	for _, b := range provider.Builtins {
		if b.Name == cmp.Or(p.Type, name) {
			models = append(models, b.Model)
		}
	}
	of := func(s string) {
		if on, model := config.SplitModel(s); on == name {
			models = append(models, model)
		}
	}
	of(k.c.AI.Provider)
	for _, s := range k.c.AI.Fallback {
		of(s)
	}
	for _, a := range k.c.Agents() {
		of(a.Model)
		for _, s := range a.Fallback {
			of(s)
		}
	}
	models = slices.DeleteFunc(models, func(m string) bool { return m == "" })
	slices.Sort(models)
	return slices.Compact(models)
}
