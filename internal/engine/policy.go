package engine

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/tool"
)

// policy asks the host's own gates, before anybody else has a say: nobody is
// asked to approve what can't run. Each returns why the call may not run.
func (r reader) policy(_ context.Context, inv *invocation) bool {
	if refusal := r.gates(inv.entry, inv.surface.Scope, inv.out.Args); refusal != nil {
		return inv.refuse(refusal)
	}
	return true
}

func (r reader) gates(e *tool.Entry, s tool.Scope, args json.RawMessage) *tool.Refusal {
	for _, gate := range []func(*tool.Entry, tool.Scope, json.RawMessage) *tool.Refusal{
		r.inWorkspace,
	} {
		if refusal := gate(e, s, args); refusal != nil {
			return refusal
		}
	}
	return nil
}

// inWorkspace refuses paths that lead out of the workspace by their spelling.
// Where links lead is found out, and refused, by whoever opens them.
func (r reader) inWorkspace(e *tool.Entry, s tool.Scope, args json.RawMessage) *tool.Refusal {
	if r.clean == nil || len(e.Def.Paths) == 0 {
		return nil
	}
	value, err := jsonschema.Decode(args)
	if err != nil {
		return nil // it was valid a moment ago
	}
	var refusal *tool.Refusal
	r.paths(e, value, func(path string, _ bool) string {
		if _, err := r.clean(s, path); refusal == nil {
			errors.As(err, &refusal)
		}
		return path
	})
	return refusal
}
