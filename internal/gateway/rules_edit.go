package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/gateway/api"
	"github.com/goclaw/goclaw/internal/lib/source"
)

// actedDigest is the digest of the configuration that this process acts on.
func (g *Gateway) actedDigest() string {
	g.rules.mu.Lock()
	defer g.rules.mu.Unlock()
	return g.rules.digest
}

// SaveHook implements [api.Backend].
func (g *Gateway) SaveHook(name string, h api.HookRule) (api.Hook, error) {
	err := g.editHooks(func(hooks []config.Hook) ([]config.Change, error) {
		if err := checkHook(hooks, name, h); err != nil {
			return nil, err
		}
		if name == "" {
			return addition(len(hooks), h)
		}
		i := slices.IndexFunc(hooks, func(one config.Hook) bool { return one.Name == name })
		if i < 0 {
			return nil, noHook(name)
		}
		return differences(hooks[i], h), nil
	})
	if err != nil {
		return api.Hook{}, err
	}
	for _, one := range g.Rules().Rules {
		if one.Name == h.Name {
			return one, nil
		}
	}
	return api.Hook{}, noHook(h.Name)
}

// DeleteHook implements [api.Backend].
func (g *Gateway) DeleteHook(name string) error {
	return g.editHooks(func(hooks []config.Hook) ([]config.Change, error) {
		if !slices.ContainsFunc(hooks, func(h config.Hook) bool { return h.Name == name }) {
			return nil, noHook(name)
		}
		return []config.Change{{Key: entry(name, ""), Unset: true}}, nil
	})
}

// entry is the key of a hook, or of one of its keys.
func entry(name, key string) string {
	s := "hooks[" + name + "]"
	if key != "" {
		s += "." + key
	}
	return s
}

func noHook(name string) error {
	return trouble(http.StatusNotFound, "not_found", fmt.Sprintf("there is no hook %q in the configuration", name))
}

// editHooks changes the hooks of the file and puts what results in force. What
// else changed in the file since the gateway started stays for its next start.
func (g *Gateway) editHooks(change func(hooks []config.Hook) ([]config.Change, error)) error {
	g.rules.edit.Lock()
	defer g.rules.edit.Unlock()
	o := config.Options{Home: g.opts.Home, Environ: g.opts.Environ}
	was, err := config.Load(o)
	if err != nil {
		return trouble(http.StatusConflict, "config", fmt.Sprintf("the configuration can't be used as it is, so nothing was changed: %v", err))
	}
	changes, err := change(was.Hooks)
	if err != nil {
		return err
	}
	if err := config.Edit(o, changes...); err != nil {
		var faults config.Faults
		if errors.As(err, &faults) {
			return trouble(http.StatusBadRequest, "bad_request", faults.Brief())
		}
		return trouble(http.StatusConflict, "config", err.Error())
	}
	now, err := config.Load(o)
	if err != nil {
		return fmt.Errorf("read what was written: %w", err)
	}
	if was.Digest() == g.actedDigest() {
		g.rules.mu.Lock()
		g.rules.digest = now.Digest()
		g.rules.mu.Unlock()
		if g.announce != nil {
			if err := g.announce(now.Digest()); err != nil {
				g.log.Warn("other processes will think that the configuration is not in force", "err", err)
			}
		}
	}
	g.useRules(now.Hooks)
	return nil
}

// validHook reports whether a new hook may be called name: it stands in keys and
// addresses.
func validHook(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return name != "" && len(name) <= 64 && strings.Contains(letters, name[:1]) && strings.Trim(name, letters+"0123456789-_") == ""
}

func checkHook(hooks []config.Hook, name string, h api.HookRule) error {
	bad := func(format string, args ...any) error {
		return trouble(http.StatusBadRequest, "bad_request", fmt.Sprintf(format, args...))
	}
	taken := slices.ContainsFunc(hooks, func(one config.Hook) bool { return one.Name == h.Name })
	switch {
	case h.Name != name && !validHook(h.Name):
		return bad("name is %q: it is made of letters, digits, - and _, begins with a letter and has at most 64 characters", h.Name)
	case h.Name != name && taken:
		return trouble(http.StatusConflict, "exists", fmt.Sprintf("there is a hook %q already", h.Name))
	case name == "" && h.Secret == api.KeptSecret:
		return bad("secret is %s, which stands for one that is set: a new hook has none", api.KeptSecret)
	}
	if h.Timeout != "" {
		if d, err := time.ParseDuration(h.Timeout); err != nil || d <= 0 {
			return bad("timeout is %q: it must be a duration such as 5s", h.Timeout)
		}
	}
	return nil
}

// field is a key of a hook with the value that it is to have, as YAML; empty
// leaves it out.
type field struct {
	key, value string
	same       bool // it has that value already
}

// fields lists what a hook is to say, in the order in which it is written. old
// is what it says now.
func fields(old config.Hook, h api.HookRule) []field {
	when, timeout := h.When, h.Timeout
	if when == "" {
		when = "before"
	}
	limit, err := time.ParseDuration(timeout)
	if err != nil {
		limit = 5 * time.Second // it was left out
	}
	text := func(key, now, want string) field { return field{key, quoted(want), now == want} }
	list := func(key string, now, want []string) field { return field{key, flow(want), slices.Equal(now, want)} }
	priority := ""
	if h.Priority != 0 {
		priority = fmt.Sprint(h.Priority)
	}
	secret := text("secret", old.Secret, h.Secret)
	secret.same = secret.same || h.Secret == api.KeptSecret
	return []field{
		text("name", old.Name, h.Name), text("when", old.When, when), list("tools", source.Values(old.Tools), h.Tools), list("agents", old.Agents, h.Agents),
		text("match", old.Match, h.Match), text("action", old.Action, h.Action), text("message", old.Message, h.Message),
		{"priority", priority, old.Priority == h.Priority},
		{"timeout", timeout, old.Timeout == limit},
		text("url", old.URL, h.URL),
		secret, text("to", old.To, h.To),
	}
}

// quoted is a text as YAML that can't be read as anything else.
func quoted(s string) string {
	switch {
	case s == "":
		return ""
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return flow(s)
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// flow is a value on one line; JSON is YAML.
func flow(v any) string {
	if list, ok := v.([]string); ok && len(list) == 0 {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic("gateway: texts can't be written as JSON: " + err.Error())
	}
	return string(b)
}

// addition is the change that appends a hook. What has its default is left out.
func addition(at int, h api.HookRule) ([]config.Change, error) {
	n := yaml.Node{Kind: yaml.MappingNode}
	for _, f := range fields(config.Hook{}, h) {
		if f.value == "" {
			continue
		}
		var v yaml.Node
		if err := yaml.Unmarshal([]byte(f.value), &v); err != nil {
			return nil, fmt.Errorf("write %s: %w", f.key, err)
		}
		value := v.Content[0]
		if value.Kind == yaml.ScalarNode && value.Style == yaml.SingleQuotedStyle {
			value.Style = 0 // the encoder quotes where it must
		}
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: f.key}, value)
	}
	text, err := yaml.Marshal(&n)
	if err != nil {
		return nil, fmt.Errorf("write the hook: %w", err)
	}
	return []config.Change{{Key: fmt.Sprintf("hooks[%d]", at), Value: string(text)}}, nil
}

// differences are the changes that make h of what a hook says now; every other
// line stays as it is. A new name comes last: the others are found by the old one.
func differences(old config.Hook, h api.HookRule) []config.Change {
	var changes []config.Change
	list := fields(old, h)
	for _, f := range append(list[1:], list[0]) {
		if !f.same {
			changes = append(changes, config.Change{Key: entry(old.Name, f.key), Value: f.value, Unset: f.value == ""})
		}
	}
	return changes
}
