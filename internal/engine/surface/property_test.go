package surface_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine/surface"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

var names = []string{"a", "aa", "ab", "b", "b_a", "c", "c_d", "d"}

// entries are what a list may hold; entries that name an optional tool are
// among them.
var entries = append([]string{
	"*", "a*", "?", "*_*", "group:fs", "group:web", "group:plugins", "group:mcp", "plugin:p", "mcp:m", "", "zzz", "A",
}, names...)

func drawList(t *rapid.T, label string) []source.Text {
	var out []source.Text
	for i, e := range rapid.SliceOfN(rapid.SampledFrom(entries), 0, 4).Draw(t, label) {
		out = append(out, source.Text{Value: e, Pos: source.Pos{Key: fmt.Sprintf("%s[%d]", label, i), File: "config.yaml", Line: i + 1}})
	}
	return out
}

func drawPolicy(t *rapid.T, label string) surface.Policy {
	return surface.Policy{
		Profile:   source.Text{Value: rapid.SampledFrom([]string{"", "", "full", "coding", "minimal", "odd"}).Draw(t, label+".profile")},
		Allow:     drawList(t, label+".allow"),
		AlsoAllow: drawList(t, label+".also_allow"),
		Deny:      drawList(t, label+".deny"),
	}
}

func drawCatalog(t *rapid.T) *tool.Catalog {
	r := tool.NewRegistry()
	owners := []tool.Owner{family, {Kind: tool.PluginOwner, ID: "p"}, {Kind: tool.MCPOwner, ID: "m"}}
	for _, name := range rapid.Permutation(names).Draw(t, "order") {
		odds := func(what string) bool { return rapid.IntRange(0, 4).Draw(t, name+what) == 0 }
		traits := tool.Traits{
			Category: rapid.SampledFrom([]string{"", "fs", "web", "data"}).Draw(t, name+"category"),
			Core:     odds("core"), Internal: odds("internal"), AdminOnly: odds("admin"), Optional: odds("optional"),
			OwnerOnly: odds("owner"), DataWrite: odds("data"), Finder: odds("finder"), Delegates: odds("delegates"),
		}
		if odds("client") {
			traits.Client = []string{"canvas"}
		}
		if odds("origin") {
			traits.Origins = []tool.Origin{tool.FromSubagent}
		}
		r.Add(rapid.SampledFrom(owners).Draw(t, name+"owner"), plain(name, traits))
	}
	return r.Catalog()
}

func drawFacts(t *rapid.T) tool.Facts {
	return tool.Facts{
		Origin:   rapid.SampledFrom([]tool.Origin{tool.FromSubagent, tool.FromChat}).Draw(t, "origin"),
		Caller:   auth.Principal{ID: rapid.SampledFrom([]string{"42", "42", "42", ""}).Draw(t, "caller"), Role: rapid.SampledFrom([]auth.Role{auth.Admin, auth.User}).Draw(t, "role")},
		Delivery: tool.Delivery{Channel: "slack", Group: rapid.SampledFrom([]string{"7", "7", ""}).Draw(t, "group")},
		Cap:      drawRuntimeList(t, "cap"),
		Declared: drawRuntimeList(t, "declared"),
		Allow:    drawEntries(t, "allow"),
		Skills:   drawRuntimeList(t, "skills"),
		Sandbox:  rapid.IntRange(0, 3).Draw(t, "sandbox") > 0,
		Flush:    rapid.IntRange(0, 5).Draw(t, "flush") == 0,
		Depth:    rapid.IntRange(0, 1).Draw(t, "depth"),
		Narrowed: tool.Narrowed{Allow: drawRuntimeList(t, "hook"), By: "h", Failed: rapid.SampledFrom([]string{"", "", "", "f"}).Draw(t, "failed")},
	}
}

func drawRuntimeList(t *rapid.T, label string) tool.List {
	if rapid.IntRange(0, 2).Draw(t, label) > 0 {
		return tool.List{}
	}
	return tool.Only(rapid.SliceOfN(rapid.SampledFrom(names), 0, 8).Draw(t, label+" names")...)
}

// drawEntries is a request's list, which takes patterns and groups.
func drawEntries(t *rapid.T, label string) tool.List {
	if rapid.IntRange(0, 2).Draw(t, label) > 0 {
		return tool.List{}
	}
	return tool.Only(rapid.SliceOfN(rapid.SampledFrom(entries), 0, 4).Draw(t, label+" entries")...)
}

func decide(cat *tool.Catalog, p places, f tool.Facts, target llm.Target) *surface.Decision {
	return surface.New(p.policies(), nil).Decide(context.Background(), cat, tool.NewScope(f), target)
}

// Whatever list is added, wherever: the surface never grows. The one exception
// is the purpose of the list: an allow list that names an optional tool.
func TestListsNeverWiden(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cat, p, f := drawCatalog(t), drawPlaces(t), drawFacts(t)
		before := decide(cat, p, f, model)

		at := rapid.IntRange(0, len(p)-1).Draw(t, "at")
		added := drawList(t, "added")
		switch how := rapid.SampledFrom([]string{"deny", "allow", "also_allow", "cap", "declared", "profile", "runtime", "runtime deny", "skills", "hook", "hook fails"}).Draw(t, "how"); {
		case how == "deny":
			p[at].Deny = append(slices.Clone(p[at].Deny), added...)
		case how == "allow" && len(p[at].Allow) == 0:
			p[at].Allow = added
		case how == "also_allow" && p[at].Profile.Value == "":
			p[at].AlsoAllow = append(slices.Clone(p[at].AlsoAllow), added...)
		case how == "runtime" && !f.Allow.Limited():
			f.Allow = drawEntries(t, "more")
		case how == "runtime deny":
			f.Deny = append(f.Deny, rapid.SliceOfN(rapid.SampledFrom(entries), 0, 3).Draw(t, "more")...)
		case how == "hook":
			f.Narrowed.Allow = f.Narrowed.Allow.Intersect(drawRuntimeList(t, "more"))
		case how == "hook fails":
			f.Narrowed.Failed = "g"
		case how == "skills":
			f.Skills = f.Skills.Intersect(drawRuntimeList(t, "more"))
		case how == "profile" && p[at].Profile.Value == "":
			p[at].Profile.Value = "coding"
		case how == "cap":
			f.Cap = f.Cap.Intersect(drawRuntimeList(t, "more"))
		case how == "declared":
			f.Declared = f.Declared.Intersect(drawRuntimeList(t, "more"))
		}
		after := decide(cat, p, f, model)

		for _, e := range after.Permitted {
			if slices.Contains(before.Permitted, e) {
				continue
			}
			named := e.Def.Optional && slices.ContainsFunc(added, func(a source.Text) bool {
				return strings.EqualFold(a.Value, e.Def.Name) || a.Value == "plugin:p" || a.Value == "mcp:m"
			})
			if !named {
				t.Fatalf("%s came in: before %v, after %v", e.Def.Name, tool.Names(before.Permitted), tool.Names(after.Permitted))
			}
		}
	})
}

// Equal inputs give equal bytes, whatever the order of registration and of
// maps, and whether the decision was remembered or not.
func TestDecisionsAreDeterministic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cat, p, f := drawCatalog(t), drawPlaces(t), drawFacts(t)
		again := tool.NewRegistry()
		for _, i := range rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7}).Draw(t, "again") {
			again.Add(cat.Entries[i].Owner, cat.Entries[i].Tool)
		}
		one := show(t, decide(cat, p, f, model))
		if two := show(t, decide(again.Catalog(), p, f, model)); one != two {
			t.Fatalf("got\n%s\nthen\n%s", one, two)
		}
		d := surface.New(p.policies(), nil)
		for range 2 {
			if got := show(t, d.Decide(t.Context(), cat, tool.NewScope(f), model)); got != one {
				t.Fatalf("got\n%s\nthen\n%s", one, got)
			}
		}
	})
}

func show(t *rapid.T, dec *surface.Decision) string {
	b, err := json.Marshal([]any{tool.Names(dec.Permitted), dec.Removed, dec.Lists})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Each tool is either permitted or removed once, both in the order of names.
func TestDecisionsAreComplete(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cat, p, f := drawCatalog(t), drawPlaces(t), drawFacts(t)
		dec := decide(cat, p, f, model)
		all := tool.Names(dec.Permitted)
		for _, r := range dec.Removed {
			all = append(all, r.Tool)
			if r.Layer == "" || r.Rule == "" || r.Reason == "" || r.Fix == "" {
				t.Fatalf("a removal tells too little: %+v", r)
			}
		}
		if !slices.IsSorted(all[:len(dec.Permitted)]) || !slices.IsSorted(all[len(dec.Permitted):]) {
			t.Fatalf("not in order: %v", all)
		}
		slices.Sort(all)
		if !slices.Equal(all, tool.Names(cat.Entries)) {
			t.Fatalf("got %v", all)
		}
	})
}

// The order of the layers decides who is named, never what is permitted: each
// layer judges a tool by itself.
func TestTheOrderOfLayersPermitsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cat, p, f := drawCatalog(t), drawPlaces(t), drawFacts(t)
		dec := decide(cat, p, f, model)
		layers := rapid.Permutation(surface.Layers).Draw(t, "layers")
		removers := map[string][]string{}
		permitted := surface.JudgeWith(surface.New(p.policies(), nil), cat, tool.NewScope(f), model, layers, func(name, layer string) {
			removers[name] = append(removers[name], layer)
		})
		if !slices.Equal(permitted, tool.Names(dec.Permitted)) {
			t.Fatalf("in another order %v are permitted, not %v", permitted, tool.Names(dec.Permitted))
		}
		for _, r := range dec.Removed {
			first := slices.IndexFunc(surface.Layers, func(l surface.Layer) bool { return slices.Contains(removers[r.Tool], l.Name) })
			if first < 0 || surface.Layers[first].Name != r.Layer {
				t.Fatalf("%s is removed by %s, and %v would", r.Tool, r.Layer, removers[r.Tool])
			}
		}
	})
}

// An absent and an empty allow list of a policy are the same; an empty list of
// a run allows nothing. The types say which is which.
func TestEmptyLists(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cat, p, f := drawCatalog(t), drawPlaces(t), drawFacts(t)
		before := show(t, decide(cat, p, f, model))
		at := rapid.IntRange(0, len(p)-1).Draw(t, "at")
		if len(p[at].Allow) == 0 {
			p[at].Allow = []source.Text{}
			if after := show(t, decide(cat, p, f, model)); after != before {
				t.Fatalf("an empty allow list changed\n%s\nto\n%s", before, after)
			}
		}
		for _, empty := range []func(*tool.Facts){
			func(f *tool.Facts) { f.Cap = tool.Only() },
			func(f *tool.Facts) { f.Allow = tool.Only() },
		} {
			own := f
			empty(&own)
			if dec := decide(cat, p, own, model); len(dec.Permitted) > 0 {
				t.Fatalf("an empty list allows %v", tool.Names(dec.Permitted))
			}
		}
	})
}
