package builtin_test

import (
	"testing"

	"github.com/goclaw/goclaw/internal/gateway/builtin"
	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/provider"
	"github.com/goclaw/goclaw/internal/tool"
)

// Every provider that GoClaw knows by name can be reached.
func TestEveryProviderHasAWire(t *testing.T) {
	t.Parallel()
	vendors := builtin.Vendors()
	for _, b := range provider.Builtins {
		here := false
		for _, w := range b.Wires {
			here = here || vendors[w.Vendor].Open != nil
		}
		if !here {
			t.Errorf("%s has no wire", b.Name)
		}
	}
}

// Who reads a schema is known for every vendor of the build.
func TestEveryVendorHasADialectAndARuleOfNames(t *testing.T) {
	t.Parallel()
	for name := range builtin.Vendors() {
		if _, ok := provider.Dialects[name]; !ok {
			t.Errorf("%s is not in provider.Dialects", name)
		}
		if provider.Names[name] == nil && name != "demo" {
			t.Errorf("%s is not in provider.Names", name)
		}
	}
}

// What is said to be still to come is not compiled in. The stand-ins of test
// builds count as nothing.
func TestNothingThatIsCompiledInIsStillToCome(t *testing.T) {
	t.Parallel()
	r := tool.NewRegistry()
	if err := builtin.Register(r, builtin.Deps{Workspaces: workspace.NewSet()}); err != nil {
		t.Fatal(err)
	}
	for _, e := range r.Catalog().Entries {
		if family := tool.Later(e.Def.Name); family != "" && e.Owner.ID != "test" {
			t.Errorf("%s of %s is here: take it out of the list of what is to come (internal/tool/later.go)", e.Def.Name, e.Owner)
		}
	}
}
