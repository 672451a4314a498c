// Package testtools has tools that misbehave on purpose, for trying what the
// rest of GoClaw makes of it: test_sleep, test_panic, test_hang, test_fail.
// They exist only in builds with the tag goclawtest; in any other build the
// family is empty.
//
// Start reading at [Family].
package testtools

import "github.com/goclaw/goclaw/internal/tool"

// Family is the family of test tools. It has no settings.
func Family() tool.Family {
	return tool.NewFamily("test", struct{}{}, func(struct{}) ([]tool.Tool, error) { return tools(), nil })
}
