package engine

import (
	"slices"

	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

// askAdmin is what to do about what the configuration decided, for those who
// may not know it.
const askAdmin = "ask an admin of this gateway"

// Meant is the name, or the names, of known that name can mean, as a call would
// be resolved among tools of these names. It is empty when it means none.
func Meant(name string, known []string) []string {
	entries := make([]*tool.Entry, len(known))
	for i, k := range known {
		entries[i] = &tool.Entry{Def: tool.Definition{Name: k}}
	}
	e, several := find(entries, name)
	if e != nil {
		return []string{e.Def.Name}
	}
	return several
}

// Ambiguous explains a name that can mean any of several tools.
func Ambiguous(name, agent string, several []string) Explanation {
	x := &explainer{begun(name, agent)}
	x.ambiguous(several)
	return x.Explanation
}

// Discreet is x, which is of no tool that is denied, in the words for those who
// may not know the configuration: neither where something is written nor how
// rules read.
func (x Explanation) Discreet() Explanation {
	own := x.Fix
	if len(x.Remarks) > 0 {
		own = x.own
	}
	states, remarks := slices.Clone(x.States), x.Remarks
	x.States, x.Remarks, x.Doubts = states, nil, nil
	for i := range states {
		if s := &states[i]; s.Verdict == No && !s.Where.IsZero() && own != "" {
			own = askAdmin
		}
		states[i].Where = source.Pos{}
		if states[i].alone != "" { // what else there is of the name may be denied
			states[i].Detail, states[i].alone = states[i].alone, ""
		}
	}
	for _, r := range remarks {
		told := Remark{Topic: r.Topic, Detail: r.Detail, Fix: r.Fix, Stops: r.Stops}
		switch {
		case r.Plain != nil:
			told.Detail, told.Fix = r.Plain.Detail, r.Plain.Fix
		case !r.Where.IsZero():
			told.Fix = askAdmin
		}
		if r.Fix == "" {
			told.Fix = ""
		}
		if told.Detail != "" {
			x.Remarks = append(x.Remarks, told)
		}
	}
	x.own, x.Fix = own, chained(own, x.Remarks)
	return x
}
