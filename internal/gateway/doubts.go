package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/engine/surface"
	"github.com/goclaw/goclaw/internal/lib/nearest"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

const (
	maxDoubts  = 20 // that are told of one request
	maxNearest = 3  // names that one of them proposes
)

// doubts tells what of a request that is looked at means nothing: names that
// nothing has, and places that don't exist. None of it is an error: what a name
// stands for can come and go.
func (g *Gateway) doubts(look Look, req run.Request) []string {
	d := doubter{cat: look.Agent.Engine.Known(look.Scope)}
	d.names("cap", req.Cap.Names())
	d.names("declare", req.Declared.Names())
	d.entries("tools_allow", req.Allow.Names())
	d.entries("tools_deny", req.Deny)
	var clients, channels []string
	for _, e := range d.cat.Entries {
		clients, channels = append(clients, e.Def.Client...), append(channels, e.Def.Channels...)
	}
	for _, can := range req.Client {
		d.known("client", can, "no tool asks for the ability %q", clients)
	}
	channels = slices.AppendSeq(channels, maps.Keys(g.Config.Channels))
	if c := req.Delivery.Channel; c != "" {
		d.known("channel", c, "there is no channel %q", channels)
	} else if req.Delivery.Group != "" {
		d.add("group: a group is one of a channel, and none is named, so that no policy of a group holds")
	}
	if req.Session != "" && !look.Stored {
		d.add("session: %s has no session %q yet, so that it is looked at as a new one", look.Scope.Agent(), req.Session)
	}
	return d.told
}

type doubter struct {
	cat  *tool.Catalog
	told []string
}

func (d *doubter) add(format string, args ...any) {
	if len(d.told) < maxDoubts {
		d.told = append(d.told, fmt.Sprintf(format, args...))
	}
}

// known tells of a name that isn't among those that there are.
func (d *doubter) known(list, name, format string, have []string) {
	if slices.Contains(have, name) {
		return
	}
	slices.Sort(have)
	have = slices.Compact(have)
	line := fmt.Sprintf(list+": "+format, name)
	if near := nearest.Names(name, have, maxNearest); len(near) > 0 {
		line += "; nearest: " + strings.Join(near, ", ")
	} else if len(have) > 0 && len(have) <= maxDoubts {
		line += "; there are: " + strings.Join(have, ", ")
	}
	d.add("%s", line)
}

// names are those of a list that takes names of tools alone.
func (d *doubter) names(list string, names []string) {
	all := tool.Names(d.cat.Entries)
	for _, name := range names {
		if s := tool.ParseSelector(name); s.Kind != tool.ByName {
			d.add("%s: it takes names of tools alone, and %q is none", list, name)
		} else {
			d.known(list, name, "there is no tool %q", slices.Clone(all))
		}
	}
}

// entries are those of a list as policies have them.
func (d *doubter) entries(list string, entries []string) {
	texts := make([]source.Text, len(entries))
	for i, e := range entries {
		texts[i] = source.Text{Value: e}
	}
	for _, x := range surface.DiagnoseList(d.cat, texts) {
		d.add("%s: %s", list, x)
	}
}

// slips are the entries of the configuration's lists that select nothing and
// may have been meant for a tool.
func slips(look Look, name string) []string {
	var told []string
	for _, d := range look.Agent.Engine.Diagnose() {
		if slices.Contains(d.Nearest, name) && len(told) < maxDoubts {
			told = append(told, d.String())
		}
	}
	return told
}
