// Package redact is an example of a Go plugin: one tool and three hooks that
// keep mail addresses out of what is stored and of what models read. It uses
// nothing of GoClaw but the public package plugin.
//
// Folder goclaw beside it is a build with this plugin; redact_test.go and the
// scripts under testdata show how to test one.
package redact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/goclaw/goclaw/plugin"
)

// Plugin is the plugin.
func Plugin() plugin.Plugin {
	return plugin.Plugin{
		Manifest: plugin.Manifest{ID: "redact", Version: "1.0.0", Tools: []string{"redact_text"}},
		Register: register,
	}
}

func register(api plugin.API) error {
	return errors.Join(
		api.RegisterTool(plugin.NewTool(plugin.Definition{
			Name: "redact_text",
			Description: "Masks the mail addresses in a text. Use it before a text goes to people outside; " +
				`not for code. Example: {"text": "write to ann@example.org"} gives "write to [address]".`,
			Traits: plugin.Traits{ReadOnly: true, Tags: []string{"mask", "privacy", "mail"}},
		}, redactText)),

		// Results are changed before they are stored, so that no model and no
		// trace ever has the addresses.
		plugin.On(api, plugin.ToolResultPersist, maskResult, plugin.HookOptions{}),

		// A call that would write an address somewhere doesn't run. Hooks that
		// decide fail closed: with an error it would not run either.
		plugin.On(api, plugin.BeforeToolCall, keepOut, plugin.HookOptions{Priority: 10}),

		// The model is told, so that it doesn't try.
		plugin.On(api, plugin.BeforePromptBuild, tell, plugin.HookOptions{}),
	)
}

var address = regexp.MustCompile(`[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+`)

func mask(s string) string { return address.ReplaceAllString(s, "[address]") }

// textIn are the tool's parameters; their schema is made of the tags.
type textIn struct {
	Text string `json:"text" jsonschema:"the text to mask"`
}

func redactText(_ context.Context, _ plugin.Call, in textIn) (string, error) {
	if strings.TrimSpace(in.Text) == "" {
		return "", errors.New("there is nothing to mask: text is empty")
	}
	return mask(in.Text), nil
}

func maskResult(_ context.Context, _ *plugin.HookCall, r plugin.Result) (plugin.Result, error) {
	for i := range r.Content {
		r.Content[i].Text = mask(r.Content[i].Text)
	}
	// Details are what people and traces are shown beside the text: JSON, or nil.
	// Masking the JSON itself would miss what it writes as \u0040.
	if details, ok := r.Details.(json.RawMessage); ok {
		d := json.NewDecoder(bytes.NewReader(details))
		d.UseNumber() // large ones keep their digits
		var value any
		if err := d.Decode(&value); err != nil {
			return r, err
		}
		r.Details = maskValue(value)
	}
	return r, nil
}

// maskValue masks the texts of a value of JSON, those that name things included.
func maskValue(v any) any {
	switch v := v.(type) {
	case string:
		return mask(v)
	case []any:
		for i := range v {
			v[i] = maskValue(v[i])
		}
	case map[string]any:
		masked := make(map[string]any, len(v))
		for name, value := range v {
			masked[mask(name)] = maskValue(value)
		}
		return masked
	}
	return v
}

func keepOut(_ context.Context, c *plugin.HookCall) (plugin.Verdict, error) {
	if c.Def.ReadOnly || !address.Match(c.Args) {
		return plugin.Verdict{}, nil
	}
	return plugin.Verdict{Block: &plugin.Refusal{
		Rule:    "mail_address",
		Reason:  "The arguments hold a mail address, which must not be written anywhere.",
		Allowed: "Leave it out, or have redact_text mask it.",
	}}, nil
}

func tell(context.Context, *plugin.Prompt) (plugin.PromptWish, error) {
	return plugin.PromptWish{Context: "Mail addresses are masked as [address] everywhere, and calls that would write one are refused."}, nil
}
