package config

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/goclaw/goclaw/internal/lib/source"
)

// NotActedOn gives the keys that are written, in the file or by a variable,
// and that nothing in this version acts on. built lists what is acted on: keys
// as [SchemaKeys] writes them, each standing for all below it, for example
// "ai", "tools.shell", "agents.list[].model", "ai.providers.*.base_url".
// The result names the highest key of which nothing is acted on, in the order
// of the file. Empty values are left out, because they ask for nothing.
func (c *Config) NotActedOn(built []string) []source.Pos {
	w := unacted{cfg: c, built: built, left: maxValues}
	w.walk(c.root, nil, "")
	return w.out
}

// SchemaKeys are all keys, with [] for an entry of a list and * for a name of
// a person's own.
func SchemaKeys() []string { return slices.Clone(schemaPaths()) }

type unacted struct {
	cfg   *Config
	built []string
	left  int
	out   []source.Pos
}

// walk goes through the value n at p, whose key in the schema is key.
func (w *unacted) walk(n *yaml.Node, p path, key string) {
	n = deref(n)
	if w.left--; w.left < 0 || n == nil || isNull(n) || n.Kind != yaml.ScalarNode && len(n.Content) == 0 {
		return
	}
	covered, partly := key == "version", key == ""
	for _, b := range w.built {
		covered = covered || b == key || isBelow(key, b)
		partly = partly || isBelow(b, key)
	}
	switch {
	case covered:
	case !partly:
		w.out = append(w.out, w.cfg.where(p))
	case n.Kind == yaml.SequenceNode:
		for i, e := range n.Content {
			w.walk(e, append(p[:len(p):len(p)], step{kind: stepEntry, index: i}), key+"[]")
		}
	case n.Kind == yaml.MappingNode:
		w.mapping(n, p, key)
	}
}

// isBelow reports whether key is a part of what the key block holds.
func isBelow(key, block string) bool {
	rest, ok := strings.CutPrefix(key, block)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

func (w *unacted) mapping(n *yaml.Node, p path, key string) {
	d := decoder{left: w.left}
	for _, pair := range d.pairs(n) {
		next, s := key+"."+pair.key.Value, step{kind: stepField, name: pair.key.Value}
		if key == "" {
			next = pair.key.Value
		}
		if !slices.Contains(schemaPaths(), next) {
			next, s.kind = key+".*", stepKey
		}
		// The id of an entry is acted on with the entry.
		if strings.HasSuffix(next, "[].id") || strings.HasSuffix(next, "[].name") || strings.HasSuffix(next, ".*.type") {
			continue
		}
		w.walk(pair.value, append(p[:len(p):len(p)], s), next)
	}
}
