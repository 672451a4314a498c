// Package count is an example of a tool in a plugin: word_count counts the
// words of a file. It reads the file by calling file_read, so it needs no access
// of its own and can read nothing that the run itself may not.
//
// A plugin lives as long as the process. Start reading at [Plugin].
package count

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/goclaw/goclaw/plugin"
)

// Plugin is what a build of GoClaw compiles in.
func Plugin() plugin.Plugin {
	return plugin.Plugin{
		Manifest: plugin.Manifest{ID: "count", Version: "1.0.0", Tools: []string{"word_count"}},
		Register: func(a plugin.API) error { return a.RegisterTool(wordCount()) },
	}
}

// in is what a model writes: the schema comes from its tags.
type in struct {
	Path string `json:"path" jsonschema:"a text file of the workspace"`
	Word string `json:"word,omitempty" jsonschema:"count only this word"`
}

// out becomes the result, as JSON, and its details.
type out struct {
	Words int `json:"words"`
	Lines int `json:"lines"`
}

func wordCount() plugin.Tool {
	return plugin.NewTool(plugin.Definition{
		Name: "word_count",
		Description: "Counts the words and lines of a text file. Use it when somebody asks how long a text is or how often a word occurs. " +
			`Not for what the text says. Example: {"path": "notes.md", "word": "invoice"}`,
		Traits: plugin.Traits{Category: "fs", ReadOnly: true, Tags: []string{"length", "statistics"}},
	}, count)
}

func count(ctx context.Context, call plugin.Call, in in) (out, error) {
	// The call passes every step, with the rules and the rights of this run.
	args, err := json.Marshal(map[string]string{"path": in.Path})
	if err != nil {
		return out{}, err
	}
	read := call.Host.Call(ctx, "file_read", args)
	var text strings.Builder
	for _, part := range read.Content {
		text.WriteString(part.Text)
	}
	if read.Status != "ok" {
		return out{}, fmt.Errorf("read %s: %s", in.Path, text.String())
	}
	result := out{Lines: strings.Count(text.String(), "\n")}
	for word := range strings.FieldsSeq(text.String()) {
		if in.Word == "" || strings.EqualFold(strings.Trim(word, ".,;:!?"), in.Word) {
			result.Words++
		}
	}
	return result, nil
}
