// Package testtools has tools that misbehave on purpose, for trying what the
// rest of GoClaw makes of it: test_sleep, test_panic, test_hang, test_fail, and
// stand-ins for tools that don't exist yet: db_query, db_write, db_schema.
// They exist only in builds with the tag goclawtest; in any other build the
// family is empty.
//
// Start reading at [Family].
package testtools

import "github.com/goclaw/goclaw/internal/tool"

// Datasource is a database that the stand-ins reach: a file of sqlite.
type Datasource struct {
	Name, DSN  string
	AllowWrite bool
	MaxRows    int // of one result
}

// Family is the family of test tools. It has no settings.
func Family(sources []Datasource) tool.Family {
	return tool.NewFamily("test", struct{}{}, func(struct{}) ([]tool.Tool, error) { return tools(sources), nil })
}
