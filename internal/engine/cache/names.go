package cache

import (
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/tool"
)

const files = "file:"

// everywhere names touches so that they mean the same for all agents: paths of
// files begin at the root of the file system, since workspaces may be shared
// and lie within each other.
func everywhere(workspace string, touches []tool.Touch) []tool.Touch {
	all := slices.Clone(touches)
	for i, t := range all {
		if rest, ok := strings.CutPrefix(t.Name, files); ok {
			all[i].Name = files + path.Join(filepath.ToSlash(workspace), rest)
		}
	}
	return all
}

// meaning is a text that is the same for equal arguments. It is not usable when
// that can't be told, as when a name comes twice.
func meaning(args json.RawMessage) (text string, usable bool) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	b, err := jsonschema.Meaning(args)
	return string(b), err == nil
}
