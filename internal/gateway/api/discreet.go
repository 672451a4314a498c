package api

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

// discreet reports whether the caller is told of tools as an agent is: to it a
// tool that the configuration denies is none. It depends on who asks, not on
// whose run is looked at.
func (c Caller) discreet() bool { return c.Role != auth.Admin }

// askAdmin is what to do about what the configuration decided, for those who
// may not know it.
const askAdmin = "ask an admin of this gateway"

// told is v as the one is told it whose answer w is: the one place where all
// that is written as JSON, answers and events alike, is freed of what only admins
// may know. Who asks is nobody known unless the route says so, and so no admin.
func (w *response) told(v any) any {
	if w.candid || v == nil {
		return v
	}
	x := reflect.ValueOf(v)
	if !speaks(x.Type()) {
		return v
	}
	return discreetly(x).Interface()
}

// toldBy is [response.told] of whatever answers a request.
func toldBy(w http.ResponseWriter, v any) any {
	if r, ok := w.(*response); ok {
		return r.told(v)
	}
	return (&response{}).told(v)
}

// candidly are the types that say what only admins may know.
var candidly = []reflect.Type{
	reflect.TypeFor[source.Pos](), reflect.TypeFor[Surface](), reflect.TypeFor[tool.Removal](), reflect.TypeFor[Explanation](),
	reflect.TypeFor[KnownTool](), reflect.TypeFor[Agent](), reflect.TypeFor[Status](), reflect.TypeFor[ProviderStatus](),
}

// hush makes what p points to, one of [candidly], fit for everybody.
func hush(p any) {
	switch v := p.(type) {
	case *source.Pos:
		*v = source.Pos{}
	case *Surface:
		v.Removed = slices.DeleteFunc(slices.Clone(v.Removed), func(r tool.Removal) bool { return r.Secret })
		v.Doubts = nil // which would tell by silence that a denied tool exists
	case *tool.Removal:
		if !v.Where.IsZero() && v.Fix != "" {
			v.Fix = askAdmin
		}
	case *Explanation:
		*v = v.Discreet()
	case *KnownTool:
		x := Explanation{States: v.States, Fix: v.Fix}.Discreet()
		v.States, v.Fix = x.States, x.Fix
	case *Agent:
		if v.Problem != "" {
			v.Problem = "it can't answer at the moment: " + askAdmin
		}
	case *Status:
		v.Problems = []string{}
	case *ProviderStatus:
		v.Reason = ""
	}
}

// discreetly is a copy of v in which everything is hushed. What v shares with
// others is left as it is.
func discreetly(v reflect.Value) reflect.Value {
	if !speaks(v.Type()) {
		return v
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			out.Set(discreetly(v.Elem()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(discreetly(v.Elem()).Addr())
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		}
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			out.Index(i).Set(discreetly(v.Index(i)))
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
			for key, elem := range v.Seq2() {
				out.SetMapIndex(key, discreetly(elem))
			}
		}
	case reflect.Struct:
		if slices.Contains(candidly, v.Type()) {
			hush(out.Addr().Interface())
		}
		for i := range out.NumField() {
			if seen(v.Type().Field(i)) {
				out.Field(i).Set(discreetly(out.Field(i)))
			}
		}
	}
	return out
}

// spoken remembers the answers of [speaks], by type.
var spoken sync.Map

// speaks reports whether a value of the type can hold something to be hushed,
// where an encoder of JSON would see it.
func speaks(t reflect.Type) bool {
	if known, ok := spoken.Load(t); ok {
		return known.(bool)
	}
	yes := holds(t, map[reflect.Type]bool{})
	spoken.Store(t, yes)
	return yes
}

func holds(t reflect.Type, looked map[reflect.Type]bool) bool {
	if slices.Contains(candidly, t) {
		return true
	}
	if looked[t] {
		return false // whoever began with it looks at the rest
	}
	looked[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return true // as may be
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return holds(t.Elem(), looked)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); seen(f) && holds(f.Type, looked) {
				return true
			}
		}
	}
	return false
}

// seen reports whether an encoder of JSON sees the field.
func seen(f reflect.StructField) bool { return f.IsExported() && f.Tag.Get("json") != "-" }

// known are the names of the tools of which users are told in v.
func (v Surface) known() []string {
	var names []string
	for _, list := range [][]Tool{v.Offered, v.Others} {
		for _, t := range list {
			names = append(names, t.Name)
		}
	}
	for _, r := range v.Removed {
		if !r.Secret {
			names = append(names, r.Tool)
		}
	}
	slices.Sort(names)
	return names
}

// meant is the name by which the backend is to be asked about a tool that c
// calls name. A discreet caller's name is held against the tools that they are
// told of: where it means none of them, or several, instead is all that there is
// to tell, the same as of a name that nothing has.
func (s *Server) meant(ctx context.Context, c Caller, req run.Request, name string) (exact string, instead *Explanation, err error) {
	if !c.discreet() {
		return name, nil, nil
	}
	v, err := s.opts.Backend.Surface(ctx, req)
	if err != nil {
		return "", nil, err
	}
	known := v.known()
	several := engine.Meant(name, known)
	if len(several) == 1 {
		return several[0], nil, nil
	}
	x := engine.Strange(strings.TrimSpace(name), v.Agent, known)
	if len(several) > 0 {
		x = engine.Ambiguous(strings.TrimSpace(name), v.Agent, several)
	}
	return "", &x, nil
}

// kept is what c is told of x, an explanation that the backend gave of exact:
// meanwhile the configuration may have come to deny the tool.
func (c Caller) kept(x Explanation, exact string) Explanation {
	if c.discreet() && (x.Secret() || x.Strange()) {
		return engine.Strange(exact, x.Agent, nil)
	}
	return x
}
