package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/tool"
)

// reader makes arguments of what somebody wrote.
type reader struct{ clean Clean }

// arguments makes valid JSON of what the model wrote, mends what can mean one
// thing only, holds it against the tool's schema and gives paths their one
// spelling. What is wrong is told in one line each. A call is never run on a
// guess.
func (r reader) arguments(_ context.Context, inv *invocation) bool {
	call, name := &inv.out.Call, inv.entry.Def.Name
	if call.Cut {
		return inv.invalid(fmt.Sprintf("The call of %s was cut off before its arguments were complete, most often by the output limit, so nothing ran. "+
			"Send the complete call again, in smaller pieces if it is long.", name))
	}
	args, notes, err := r.read(inv.entry, inv.surface.Scope, []byte(call.Arguments))
	var misfit *misfit
	switch {
	case errors.As(err, &misfit):
		return inv.invalid(fmt.Sprintf("The arguments of %s don't fit, so nothing ran.\n- %s\nSend the call again, corrected.",
			name, strings.Join(misfit.faults, "\n- ")))
	case err != nil:
		return inv.invalid(fmt.Sprintf("The arguments of %s can't be used, so nothing ran.\n- %v\nSend the call again with one JSON object.", name, err))
	}
	inv.out.Args = args
	inv.note = strings.Join(notes, "; ")
	return true
}

// misfit is the error of arguments that the schema doesn't take.
type misfit struct{ faults []string }

func (m *misfit) Error() string { return strings.Join(m.faults, "; ") }

// read makes the arguments of a call of e.
func (r reader) read(e *tool.Entry, s tool.Scope, written []byte) (args json.RawMessage, notes []string, err error) {
	args, notes, err = e.Schema.Repair(written)
	if err != nil {
		return nil, nil, err
	}
	value, err := jsonschema.Decode(args)
	if err != nil {
		return nil, nil, err
	}
	if faults := e.Schema.Validate(value); len(faults) > 0 {
		m := &misfit{}
		for _, f := range faults {
			m.faults = append(m.faults, f.String())
		}
		return nil, nil, m
	}
	cleaned, err := r.cleaned(e, s, value)
	if err != nil {
		return nil, nil, err
	}
	if cleaned != nil {
		args, notes = cleaned, append(notes, "cleaned the paths")
	}
	return args, notes, nil
}

// cleaned gives paths among the arguments their one spelling. It returns nil
// when they have it already. What no workspace can hold is left to the policy
// step.
func (r reader) cleaned(e *tool.Entry, s tool.Scope, value any) (json.RawMessage, error) {
	changed := false
	r.paths(e, value, func(path string, slash bool) string {
		clean, err := r.clean(s, path)
		if err != nil {
			return path
		}
		if slash && strings.HasSuffix(path, "/") && clean != "." {
			clean += "/"
		}
		changed = changed || clean != path
		return clean
	})
	if !changed {
		return nil, nil
	}
	args, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return jsonschema.Canonical(args)
}

// paths calls visit with each path among the arguments of a call of e and puts
// what it returns in its place. slash says that a slash at the end tells
// something. An empty path means that there is none.
func (r reader) paths(e *tool.Entry, value any, visit func(path string, slash bool) string) {
	object, _ := value.(map[string]any)
	if r.clean == nil || object == nil {
		return
	}
	for _, name := range e.Def.Paths {
		name, slash := strings.CutSuffix(name, "/")
		switch v := object[name].(type) {
		case string:
			if v != "" {
				object[name] = visit(v, slash)
			}
		case []any:
			v = slices.Clone(v)
			for i := range v {
				if path, ok := v[i].(string); ok && path != "" {
					v[i] = visit(path, slash)
				}
			}
			object[name] = v
		}
	}
}
