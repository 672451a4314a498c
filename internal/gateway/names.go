package gateway

import (
	"path/filepath"

	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/gateway/builtin"
	"github.com/goclaw/goclaw/internal/tool"
	"github.com/goclaw/goclaw/plugin"
)

// What a command line completes is asked without a gateway.

// OpenNames opens the state database of a home folder for reading names alone:
// it makes, migrates and locks nothing. The caller closes it.
func OpenNames(c *config.Config) (*builtin.Names, error) {
	return builtin.OpenNames(c.State.DSN, filepath.Join(c.Home, stateFile))
}

// Tools lists the tools that are compiled in. It opens nothing.
func Tools(plugins []plugin.Plugin) ([]*tool.Entry, error) {
	r, err := compiledIn(plugins)
	if err != nil {
		return nil, err
	}
	return r.Catalog().Entries, nil
}
