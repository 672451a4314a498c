package builtin_test

import (
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/gateway/builtin"
	"github.com/goclaw/goclaw/internal/provider"
)

// What the configuration calls "not in this version" is what has no wire here.
func TestProvidersWithoutAWireAreSaidToBeMissing(t *testing.T) {
	t.Parallel()
	vendors := builtin.Vendors()
	c, err := config.Parse(config.Options{Home: "/home"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range provider.Builtins {
		if b.Name == provider.Compatible {
			continue
		}
		here := false
		for _, w := range b.Wires {
			here = here || vendors[w.Vendor] != nil
		}
		_, err := c.Target(b.Name + "/some-model")
		if missing := err != nil && strings.Contains(err.Error(), "not in this version"); missing == here {
			t.Errorf("%s: a wire is here: %v, the configuration says %v", b.Name, here, err)
		}
	}
}
