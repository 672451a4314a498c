package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
)

// arguments makes valid JSON of what the model wrote, mends what can mean one
// thing only and holds it against the tool's schema. What is wrong is told in
// one line each. A call is never run on a guess.
func arguments(_ context.Context, inv *invocation) bool {
	call, name := &inv.out.Call, inv.entry.Def.Name
	if call.Cut {
		return inv.invalid(fmt.Sprintf("The call of %s was cut off before its arguments were complete, most often by the output limit, so nothing ran. "+
			"Send the complete call again, in smaller pieces if it is long.", name))
	}
	fixed, notes, err := inv.entry.Schema.Repair([]byte(call.Arguments))
	if err != nil {
		return inv.invalid(fmt.Sprintf("The arguments of %s can't be used, so nothing ran.\n- %v\nSend the call again with one JSON object.", name, err))
	}
	value, err := jsonschema.Decode(fixed)
	if err != nil {
		return inv.invalid(fmt.Sprintf("The arguments of %s can't be used, so nothing ran.\n- %v", name, err))
	}
	if faults := inv.entry.Schema.Validate(value); len(faults) > 0 {
		var b strings.Builder
		fmt.Fprintf(&b, "The arguments of %s don't fit, so nothing ran.\n", name)
		for _, f := range faults {
			fmt.Fprintf(&b, "- %s\n", f)
		}
		b.WriteString("Send the call again, corrected.")
		return inv.invalid(b.String())
	}
	inv.out.Args = fixed
	inv.note = strings.Join(notes, "; ")
	return true
}
