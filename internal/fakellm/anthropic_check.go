package fakellm

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

func (messages) check(r Request) error {
	version := r.Header.Get("Anthropic-Version")
	if version == "" {
		return errors.New("no anthropic-version")
	}
	var sampling struct {
		Temperature *float64 `json:"temperature"`
	}
	if json.Unmarshal(r.Body, &sampling) == nil && sampling.Temperature != nil && version != "2023-06-01" {
		return fmt.Errorf("version %s of the API takes no temperature", version)
	}
	return CheckMessages(r.Body)
}

// anthropicBody is what a request may hold of what we send.
type anthropicBody struct {
	Model       string             `json:"model"`
	MaxTokens   int                `json:"max_tokens"`
	Stream      bool               `json:"stream"`
	Temperature *float64           `json:"temperature"`
	System      []json.RawMessage  `json:"system"`
	Tools       []anthropicTool    `json:"tools"`
	Messages    []anthropicMessage `json:"messages"`
	ToolChoice  *struct {
		Type string `json:"type"`
	} `json:"tool_choice"`
	Thinking     *anthropicThinking `json:"thinking"`
	OutputConfig *struct {
		Effort string `json:"effort"`
	} `json:"output_config"`
}

type anthropicThinking struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens"`
	Display string `json:"display"`
	Binding *struct {
		Behavior string `json:"prefix_mismatch_behavior"`
	} `json:"block_binding"`
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
	Cache       *cacheControl   `json:"cache_control"`
}

type anthropicMessage struct {
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
}

type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"`
}

// CheckMessages holds the body of a request for Claude against Anthropic's
// documented format: roles alternate and the last is a person's, no empty text,
// every call of a reply is answered by exactly one result at the beginning of
// the message behind it, ids are unique, thinking has its signature and is
// never the last of a message, and at most four blocks are marked for the cache.
func CheckMessages(body []byte) error {
	var r anthropicBody
	if err := strict(body, &r); err != nil {
		return fmt.Errorf("the body is none of the API's: %w", err)
	}
	if dup := duplicateKey(body); dup != "" {
		return fmt.Errorf("the member %q is there twice", dup)
	}
	c := &anthropicCheck{ids: map[string]bool{}}
	errs := []error{r.settings()}
	names := map[string]bool{}
	for i, t := range r.Tools {
		if err := c.tool(t, names); err != nil {
			errs = append(errs, fmt.Errorf("tool %d: %w", i, err))
		}
	}
	for i, b := range r.System {
		if _, err := c.block(b, "system"); err != nil {
			errs = append(errs, fmt.Errorf("system text %d: %w", i, err))
		}
	}
	errs = append(errs, c.messages(r.Messages))
	if c.marks > 4 {
		errs = append(errs, fmt.Errorf("%d blocks are marked for the cache", c.marks))
	}
	if len(c.ids) > 0 && len(r.Tools) == 0 {
		errs = append(errs, errors.New("calls, but no tools are defined"))
	}
	return errors.Join(errs...)
}

func (r anthropicBody) settings() error {
	t := r.Thinking
	switch {
	case r.Model == "":
		return errors.New("no model")
	case r.MaxTokens < 1:
		return errors.New("no max_tokens")
	case r.ToolChoice != nil && len(r.Tools) == 0:
		return errors.New("tool_choice without tools")
	case r.ToolChoice != nil && r.ToolChoice.Type != "none" && r.ToolChoice.Type != "auto":
		return fmt.Errorf("the type of tool_choice is %q", r.ToolChoice.Type)
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 1):
		return fmt.Errorf("the temperature is %v", *r.Temperature)
	case r.OutputConfig != nil && !slices.Contains([]string{"low", "medium", "high", "xhigh", "max"}, r.OutputConfig.Effort):
		return fmt.Errorf("the effort is %q", r.OutputConfig.Effort)
	case t == nil:
		return nil
	case !slices.Contains([]string{"adaptive", "enabled", "disabled", "between_tools"}, t.Type):
		return fmt.Errorf("the type of thinking is %q", t.Type)
	case (t.Type == "enabled") != (t.Budget != 0):
		return fmt.Errorf("thinking of type %s has the budget %d", t.Type, t.Budget)
	case t.Type == "enabled" && (t.Budget < 1024 || t.Budget >= r.MaxTokens):
		return fmt.Errorf("the budget is %d of %d tokens", t.Budget, r.MaxTokens)
	case (t.Display != "" || t.Binding != nil) && t.Type != "adaptive" && t.Type != "enabled":
		return fmt.Errorf("thinking of type %s takes no other setting", t.Type)
	case r.Temperature != nil && (t.Type == "adaptive" || t.Type == "enabled"):
		return errors.New("a temperature beside thinking")
	}
	return nil
}

var callIDs = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) })

// anthropicCheck is what was seen of one request.
type anthropicCheck struct {
	ids   map[string]bool // of all calls
	open  []string        // of calls that wait for their result
	marks int
}

func (c *anthropicCheck) tool(t anthropicTool, names map[string]bool) error {
	var s map[string]any
	switch {
	case !toolName().MatchString(t.Name):
		return fmt.Errorf("the name %q does not match %s", t.Name, toolName())
	case names[t.Name]:
		return fmt.Errorf("the name %q is there twice", t.Name)
	case json.Unmarshal(t.Schema, &s) != nil || s["type"] != "object":
		return fmt.Errorf("%s: input_schema is no object's: %s", t.Name, t.Schema)
	}
	names[t.Name] = true
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if _, ok := s[key]; ok {
			return fmt.Errorf("%s: input_schema has %s at the top", t.Name, key)
		}
	}
	return c.mark(t.Cache, "tool")
}

func (c *anthropicCheck) mark(m *cacheControl, kind string) error {
	switch {
	case m == nil:
		return nil
	case m.Type != "ephemeral" || m.TTL != "" && m.TTL != "5m" && m.TTL != "1h":
		return fmt.Errorf("cache_control is %+v", *m)
	case kind == "thinking" || kind == "redacted_thinking":
		return errors.New("thinking is marked for the cache")
	}
	c.marks++
	return nil
}

func (c *anthropicCheck) messages(all []anthropicMessage) error {
	if len(all) == 0 {
		return errors.New("no messages")
	}
	for i, m := range all {
		want := "user"
		if i%2 == 1 {
			want = "assistant"
		}
		if m.Role != want {
			return fmt.Errorf("message %d is of role %q, want %s", i, m.Role, want)
		}
		if err := c.message(m); err != nil {
			return fmt.Errorf("message %d (%s): %w", i, m.Role, err)
		}
	}
	if len(all)%2 == 0 {
		return errors.New("the last message is the model's")
	}
	return nil
}

func (c *anthropicCheck) message(m anthropicMessage) error {
	if len(m.Content) == 0 {
		return errors.New("no content")
	}
	kind := ""
	for i, raw := range m.Content {
		before := kind
		var err error
		if kind, err = c.block(raw, m.Role); err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
		if kind == "tool_result" && before != "" && before != "tool_result" {
			return fmt.Errorf("block %d: a result stands behind a block of type %s", i, before)
		}
		if m.Role == "user" && kind != "tool_result" && len(c.open) > 0 {
			return fmt.Errorf("block %d: no result for call %s", i, c.open[0])
		}
	}
	switch {
	case m.Role == "user" && len(c.open) > 0:
		return fmt.Errorf("no result for call %s", c.open[0])
	case kind == "thinking", kind == "redacted_thinking":
		return errors.New("the last block is thinking")
	}
	return nil
}

// anthropicContent is a block of any kind.
type anthropicContent struct {
	Type      string            `json:"type"`
	Cache     *cacheControl     `json:"cache_control"`
	Text      string            `json:"text"`
	Thinking  *string           `json:"thinking"`
	Signature string            `json:"signature"`
	Data      string            `json:"data"`
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Input     json.RawMessage   `json:"input"`
	ToolUseID string            `json:"tool_use_id"`
	IsError   bool              `json:"is_error"`
	Content   []json.RawMessage `json:"content"`
	Source    *struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      []byte `json:"data"`
	} `json:"source"`
}

// block checks one block of a message of role, of the system's text or of a
// result.
func (c *anthropicCheck) block(raw json.RawMessage, role string) (kind string, err error) {
	var b anthropicContent
	if err := strict(raw, &b); err != nil {
		return "", err
	}
	if err := c.mark(b.Cache, b.Type); err != nil {
		return b.Type, err
	}
	switch {
	case b.Type == "text":
		if strings.TrimSpace(b.Text) == "" {
			err = errors.New("the text is empty")
		}
	case (b.Type == "image" || b.Type == "document") && role != "assistant" && role != "system":
		err = checkSource(b)
	case b.Type == "thinking" && role == "assistant":
		if b.Thinking == nil || b.Signature == "" {
			err = errors.New("thinking without its text or its signature")
		}
	case b.Type == "redacted_thinking" && role == "assistant":
		if b.Data == "" {
			err = errors.New("hidden thinking without data")
		}
	case b.Type == "tool_use" && role == "assistant":
		err = c.call(b)
	case b.Type == "tool_result" && role == "user":
		err = c.result(b)
	default:
		err = fmt.Errorf("a block of type %q in a message of role %s", b.Type, role)
	}
	return b.Type, err
}

func checkSource(b anthropicContent) error {
	types := []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	if b.Type == "document" {
		types = []string{"application/pdf"}
	}
	if b.Source == nil || b.Source.Type != "base64" || !slices.Contains(types, b.Source.MediaType) || len(b.Source.Data) == 0 {
		return fmt.Errorf("the source of the %s is %+v", b.Type, b.Source)
	}
	return nil
}

func (c *anthropicCheck) call(b anthropicContent) error {
	var input map[string]any
	switch {
	case !callIDs().MatchString(b.ID):
		return fmt.Errorf("the id %q does not match %s", b.ID, callIDs())
	case c.ids[b.ID]:
		return fmt.Errorf("the id %q is there twice", b.ID)
	case !toolName().MatchString(b.Name):
		return fmt.Errorf("call %s has the name %q", b.ID, b.Name)
	case json.Unmarshal(b.Input, &input) != nil || input == nil:
		return fmt.Errorf("the input of call %s is no object: %s", b.ID, b.Input)
	}
	c.ids[b.ID] = true
	c.open = append(c.open, b.ID)
	return nil
}

func (c *anthropicCheck) result(b anthropicContent) error {
	i := slices.Index(c.open, b.ToolUseID)
	if i < 0 {
		return fmt.Errorf("a result for %q that no call waits for", b.ToolUseID)
	}
	c.open = slices.Delete(c.open, i, i+1)
	if len(b.Content) == 0 {
		return fmt.Errorf("the result of %s is empty", b.ToolUseID)
	}
	for _, raw := range b.Content {
		kind, err := c.block(raw, "result")
		switch {
		case err != nil:
			return fmt.Errorf("the result of %s: %w", b.ToolUseID, err)
		case b.IsError && kind != "text":
			return fmt.Errorf("the result of %s: all content must be type `text` if `is_error` is true", b.ToolUseID)
		}
	}
	return nil
}
