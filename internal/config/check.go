package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/goclaw/goclaw/internal/guard/safehttp"
	"github.com/goclaw/goclaw/internal/hook/rule"
)

// check faults what each value alone can't show: names that don't exist,
// values that don't go together.
func (d *decoder) check() {
	c := d.cfg
	if c.Version > Version {
		d.faultAt("version", "the file is written for a newer version of GoClaw (%d): this one reads %d", c.Version, Version)
	}
	d.checkProviders()
	d.checkAgents()
	d.checkGateway()
	d.checkBudget("budget", &c.Budget)
	for i, a := range c.AgentBlock.List {
		d.checkBudget(fmt.Sprintf("agents.list[%d].budget", i), a.Budget)
	}
	if g := c.Tools.LoopGuard; g.Hint > 0 && g.Stop > 0 && g.Hint > g.Stop {
		d.faultAt("tools.loop_guard", "hint (%d) must not be above stop (%d)", g.Hint, g.Stop)
	}
	d.checkHTTP()
	for i, h := range c.Hooks {
		key := fmt.Sprintf("hooks[%d]", i)
		if (h.Action == "block" || h.Action == "approve") && h.When == "after" {
			d.faultAt(key+".action", "%s works only before a call: write when: before", h.Action)
		}
		if err := rule.CheckCondition(rule.When(h.When), h.Match); err != nil {
			d.faultAt(key+".match", "the condition can't be used: %v", err)
		}
		d.warnIdle(key, h)
		if h.Action == "webhook" && h.URL == "" && !d.faulty(d.noteAt(key+".url", "").Pos.Key) {
			d.faultAt(key, "the key url is missing: where the webhook goes")
		}
		if name, ok := SecretName(h.Secret); ok {
			d.faultAt(key+".secret", "the secret %s can't be read, since this version keeps no secrets: write ${%s} and set that in the environment", name, name)
		}
		d.warnAgents(key+".agents", h.Agents...)
	}
	for name, s := range c.MCP.Servers {
		if (s.Command == "") == (s.URL == "") {
			d.faultAt(path{{name: "mcp"}, {name: "servers"}, {kind: stepKey, name: name}}.String(), "write either command or url")
		}
	}
	for i, r := range c.Routes {
		d.warnAgents(fmt.Sprintf("routes[%d].agent", i), r.Agent)
	}
	for name, w := range c.Webhooks {
		d.warnAgents(path{{name: "webhooks"}, {kind: stepKey, name: name}, {name: "agent"}}.String(), w.Agent)
	}
	for i, j := range c.Cron {
		key := fmt.Sprintf("cron[%d]", i)
		d.warnAgents(key+".agent", j.Agent)
		if (j.Message == "") == (j.SOP == "") {
			d.faultAt(key, "write either message or sop")
		}
		if _, err := time.LoadLocation(j.Timezone); err != nil {
			d.warnAt(key+".timezone", "the time zone %q is not known here", j.Timezone)
		}
	}
}

// warnIdle warns of keys of a hook that its action has no use for.
func (d *decoder) warnIdle(key string, h Hook) {
	for _, k := range []struct{ name, of string }{{"url", "webhook"}, {"secret", "webhook"}, {"timeout", "webhook"}, {"to", "notify"}} {
		t, err := resolve(key + "." + k.name)
		if err != nil || h.Action == "" || h.Action == k.of {
			continue
		}
		if pl, ok := locate(d.cfg.root, t.path); ok && !isNull(deref(pl.value)) && deref(pl.value).Value != "" {
			d.warnAt(key+"."+k.name, "it has no effect: only a hook with action: %s uses it", k.of)
		}
	}
}

// checkHTTP faults entries that requests can't be held to, each once: an agent
// may have those of all.
func (d *decoder) checkHTTP() {
	bad := d.cfg.Tools.HTTP.Rules().Bad()
	for i := range d.cfg.AgentBlock.List {
		for _, b := range d.cfg.AgentBlock.List[i].Tools.HTTP.Rules().Bad() {
			if !slices.ContainsFunc(bad, func(has safehttp.BadEntry) bool { return has.Text == b.Text }) {
				bad = append(bad, b)
			}
		}
	}
	for _, b := range bad {
		d.add(Fault{Pos: b.Text.Pos, Message: fmt.Sprintf("%q can't be used: %v", b.Text.Value, b.Err)})
	}
}

// faultAt faults the value of a key; it stands at its nearest written parent
// when it is not written itself.
func (d *decoder) faultAt(key, format string, args ...any) {
	d.add(d.noteAt(key, format, args...))
}

func (d *decoder) warnAt(key, format string, args ...any) {
	if len(d.warnings) < maxFaults {
		d.warnings = append(d.warnings, d.noteAt(key, format, args...))
	}
}

func (d *decoder) noteAt(key, format string, args ...any) Fault {
	f := Fault{Message: fmt.Sprintf(format, args...)}
	f.Pos.Key = key
	t, err := resolve(key)
	if err != nil {
		return f
	}
	for n := len(t.path); n > 0; n-- {
		if pl, ok := locate(d.cfg.root, t.path[:n]); ok {
			node := pl.value
			if n < len(t.path) || node.Kind != yaml.ScalarNode {
				node = pl.key
			}
			f.Pos = d.posAt(append(pl.path, t.path[n:]...).String(), node)
			return f
		}
	}
	return f
}

// faulty reports whether a fault of a key was found.
func (d *decoder) faulty(key string) bool {
	return slices.ContainsFunc(d.faults, func(f Fault) bool { return f.Pos.Key == key })
}

func (d *decoder) checkProviders() {
	c := d.cfg
	for _, name := range c.providerNames() {
		p := c.AI.Providers[name]
		at := path{{name: "ai"}, {name: "providers"}, {kind: stepKey, name: name}}
		key := at.String()
		_, built := builtinNamed(name)
		_, written := locate(c.root, at)
		switch {
		case built && p.Type != name:
			d.faultAt(key+".type", "the provider %s has its own type: give another type another name", name)
		case strings.Contains(name, "/") || name == "":
			d.faultAt(key, "the name of a provider may not be empty or hold a slash")
		case d.faulty(key + ".base_url"): // it is written, and no address
		case !built && p.Type == "" && p.BaseURL == "":
			d.faultAt(key, "the key base_url is missing: where the provider is; or write type, one of the built-in providers")
		case p.Type == compatible && p.BaseURL == "":
			d.faultAt(key, "the key base_url is missing: a provider of the type %s needs an address", compatible)
		}
		if b, ok := knownElsewhere(name); ok && (p.Type == "" || p.Type == compatible) {
			d.warnAt(key, "the built-in provider of that name is called %s here, so that this one is asked as a server of the type %s: to set up %s, write ai.providers.%s", b, compatible, b, b)
		}
		if written && p.Type == geminiLegacy {
			d.warnAt(key, "%s is deprecated and served as %s: move what is set here to ai.providers.%s", geminiLegacy, gemini, gemini)
		}
	}
	if name := c.AI.Provider; name != "" {
		d.checkModel("ai.provider", name)
	}
	for i, s := range c.AI.Fallback {
		d.checkModel(fmt.Sprintf("ai.fallback[%d]", i), s)
	}
	d.checkEmbeddings("tools.rag.embeddings.provider", c.Tools.RAG.Embeddings)
	d.checkEmbeddings("memory.embeddings.provider", c.Memory.Embeddings)
}

// checkEmbeddings faults a provider that does not exist.
func (d *decoder) checkEmbeddings(key string, e Embeddings) {
	name, model := SplitModel(e.Provider)
	switch _, ok := d.cfg.AI.Providers[name]; {
	case name == "" && model == "":
	case !ok:
		d.unknownProvider(key, e.Provider)
	case model != "":
		d.faultAt(key, "it names a provider alone, %s; write %s as model beside it", name, model)
	}
}

// checkModel faults a model string whose provider does not exist, and warns of
// one that should go.
func (d *decoder) checkModel(key, s string) {
	name, _ := SplitModel(s)
	if _, ok := d.cfg.AI.Providers[name]; !ok {
		d.unknownProvider(key, s)
	}
	if w := d.cfg.Deprecated(s); w != "" {
		d.warnAt(key, "%s", w)
	}
}

func (d *decoder) unknownProvider(key, s string) {
	name, _ := SplitModel(s)
	f := d.noteAt(key, "there is no provider %q", name)
	if meant := d.cfg.meant(s); meant != "" {
		f.Message += ": " + meant
	} else if f.Near = nearestOf(name, d.cfg.providerNames()); f.Near == "" {
		f.Message += ": known are " + strings.Join(d.cfg.providerNames(), ", ")
	}
	d.add(f)
}

func (d *decoder) checkAgents() {
	defaults := 0
	for i, a := range d.cfg.AgentBlock.List {
		key := fmt.Sprintf("agents.list[%d]", i)
		if a.ID != "" && !validAgentID(a.ID) {
			d.faultAt(key+".id", "expected at most 64 of a-z, 0-9, - and _, the first no sign, found %q", a.ID)
		}
		if a.Default {
			if defaults++; defaults > 1 {
				d.faultAt(key+".default", "two agents can't both be the default")
			}
		}
		if a.Model != "" {
			d.checkModel(key+".model", a.Model)
		}
		for j, s := range a.Fallback {
			d.checkModel(fmt.Sprintf("%s.fallback[%d]", key, j), s)
		}
		if e := a.Tools.RAG.Embeddings; e.Provider != d.cfg.Tools.RAG.Embeddings.Provider {
			d.checkEmbeddings(key+".tools.rag.embeddings.provider", e)
		}
		if g := a.Tools.LoopGuard; g.Hint > 0 && g.Stop > 0 && g.Hint > g.Stop {
			d.faultAt(key+".tools.loop_guard", "hint (%d) must not be above stop (%d)", g.Hint, g.Stop)
		}
	}
}

// fewTokens is less than a call with some tools on offer takes.
const fewTokens = 1000

// checkBudget warns of limits that leave room for nothing, and of those that are
// never reached, since a narrower one holds for what they hold for.
func (d *decoder) checkBudget(key string, b *Budget) {
	if b == nil {
		return
	}
	all := []struct {
		name string
		*Amount
	}{{"run", b.Run}, {"session", b.Session}, {"day", b.Day}}
	for _, one := range all {
		if one.Amount != nil && one.Tokens > 0 && one.Tokens < fewTokens {
			d.warnAt(key+"."+one.name+".tokens", "hardly any model call takes fewer than %d tokens, so that none is made", fewTokens)
		}
	}
	for i, narrow := range all[:2] {
		for _, wide := range all[i+1:] {
			if narrow.Amount == nil || wide.Amount == nil {
				continue
			}
			if wide.Tokens > 0 && narrow.Tokens > wide.Tokens {
				d.warnAt(key+"."+narrow.name+".tokens", "it is above %s.tokens, which is reached first", wide.name)
			}
			if wide.USD > 0 && narrow.USD > wide.USD {
				d.warnAt(key+"."+narrow.name+".usd", "it is above %s.usd, which is reached first", wide.name)
			}
		}
	}
}

// warnAgents tells of agents that don't exist: the part that names them is
// off, and the rest works.
func (d *decoder) warnAgents(key string, ids ...string) {
	known := []string{MainAgent, "default"}
	for _, a := range d.cfg.AgentBlock.List {
		known = append(known, a.ID)
	}
	for _, id := range ids {
		if id == "" || slices.Contains(known, id) || strings.EqualFold(id, MainAgent) || strings.EqualFold(id, "default") {
			continue
		}
		d.warnAt(key, "there is no agent %q, so that this does nothing", id)
	}
}

// checkGateway faults an address that no page could come from: it would be
// found out only when the gateway starts.
func (d *decoder) checkGateway() {
	if what := notAnOrigin(d.cfg.Gateway.PublicURL); what != "" {
		d.faultAt("gateway.public_url", "%s: the gateway answers at the root of a host, as in https://claw.example.org", what)
	}
}

// notAnOrigin says what an address has that no origin has: a scheme and a host
// are all that one is made of. An empty text passes.
func notAnOrigin(s string) string {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return ""
	case err != nil:
		return "it is no address"
	case u.Hostname() == "":
		return "it names no host"
	case u.User != nil:
		return "it may hold no user or password"
	case strings.Trim(u.Path, "/") != "":
		return "it may hold no path"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "it may hold neither ? nor #"
	}
	return ""
}

// settle fills in what depends on other keys and on the environment.
func (c *Config) settle(d *decoder) {
	c.settleProviders()
	if len(c.AgentBlock.List) == 0 {
		main := Agent{ID: MainAgent, Name: "Main", Default: true, Tools: c.Tools.own(), Memory: c.Memory}
		main.Pos.Key = "agents.list"
		c.AgentBlock.List = []Agent{main}
	}
	first := c.DefaultAgent().ID
	for i := range c.AgentBlock.List {
		a := &c.AgentBlock.List[i]
		if a.Name == "" {
			a.Name = a.ID
		}
		a.Default = a.ID == first
		dir, err := c.workspace(a)
		if err != nil {
			d.faultAt(fmt.Sprintf("agents.list[%d].workspace", i), "%v", err)
		}
		a.Workspace = dir
	}
}

// settleProviders takes keys that are not written from the environment, and what
// a deprecated provider lacks from the one by which it is served.
func (c *Config) settleProviders() {
	for _, b := range builtins {
		p := c.AI.Providers[b.name]
		key, written := locate(c.root, path{{name: "ai"}, {name: "providers"}, {kind: stepKey, name: b.name}, {name: "api_key"}})
		if !written || deref(key.value).Value == "" {
			p.APIKey = ""
			if b.keyVar != "" && b.name != geminiLegacy {
				p.APIKey = c.environ.Get(b.keyVar)
			}
			c.AI.Providers[b.name] = p
		}
	}
	for name, p := range c.AI.Providers {
		if p.Type == geminiLegacy {
			p.inherit(c.AI.Providers[gemini])
			c.AI.Providers[name] = p
		}
	}
}

// workspace is the absolute path of an agent's folder.
func (c *Config) workspace(a *Agent) (string, error) {
	switch {
	case a.Workspace != "":
		dir, err := expandTilde(a.Workspace, c.environ)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(c.Home, dir)
		}
		return filepath.Clean(dir), nil
	case a.Default:
		return filepath.Join(c.Home, "workspace"), nil
	}
	return filepath.Join(c.Home, "agents", a.ID, "workspace"), nil
}
