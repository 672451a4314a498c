package builtin_test

import (
	"testing"

	"github.com/goclaw/goclaw/internal/gateway/builtin"
	"github.com/goclaw/goclaw/internal/provider"
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
