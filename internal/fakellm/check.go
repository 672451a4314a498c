package fakellm

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// CheckRequest holds the body of a Chat Completions request against OpenAI's
// documented format: roles, no empty content, tools with usable schemas, and
// every call of a reply answered by exactly one tool message right behind it,
// in order, with ids that are unique in the whole transcript.
func CheckRequest(body []byte) error {
	var r struct {
		Model    string            `json:"model"`
		Messages []json.RawMessage `json:"messages"`
		Tools    []json.RawMessage `json:"tools"`
		Choice   json.RawMessage   `json:"tool_choice"`
		User     json.RawMessage   `json:"user"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return fmt.Errorf("the body is not JSON: %w", err)
	}
	if dup := duplicateKey(body); dup != "" {
		return fmt.Errorf("the member %q is there twice", dup)
	}
	var errs []error
	if r.Model == "" {
		errs = append(errs, errors.New("no model"))
	}
	if len(r.Messages) == 0 {
		errs = append(errs, errors.New("no messages"))
	}
	if r.Choice != nil && len(r.Tools) == 0 {
		errs = append(errs, errors.New("tool_choice without tools"))
	}
	names := map[string]bool{}
	for i, t := range r.Tools {
		if err := checkTool(t, names); err != nil {
			errs = append(errs, fmt.Errorf("tool %d: %w", i, err))
		}
	}
	return errors.Join(append(errs, checkMessages(r.Messages))...)
}

func (chatCompletions) check(r Request) error { return CheckRequest(r.Body) }

var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) })

func checkTool(raw json.RawMessage, names map[string]bool) error {
	var t struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	if err := strict(raw, &t); err != nil {
		return err
	}
	name := t.Function.Name
	switch {
	case t.Type != "function":
		return fmt.Errorf("its type is %q", t.Type)
	case !toolName().MatchString(name):
		return fmt.Errorf("the name %q does not match %s", name, toolName())
	case names[name]:
		return fmt.Errorf("the name %q is there twice", name)
	}
	names[name] = true
	if err := checkSchema(t.Function.Parameters); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// checkSchema refuses the schemas that OpenAI is known to refuse.
func checkSchema(raw json.RawMessage) error {
	var s map[string]any
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("parameters are no object: %w", err)
	}
	if s["type"] != "object" {
		return fmt.Errorf("the type of parameters is %v", s["type"])
	}
	if _, ok := s["properties"].(map[string]any); !ok {
		return errors.New("parameters have no properties")
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "not", "enum"} {
		if _, ok := s[key]; ok {
			return fmt.Errorf("parameters have %s at the top", key)
		}
	}
	return checkItems(s, "parameters")
}

func checkItems(v any, where string) error {
	m, ok := v.(map[string]any)
	if !ok {
		list, _ := v.([]any)
		for i, e := range list {
			if err := checkItems(e, fmt.Sprintf("%s[%d]", where, i)); err != nil {
				return err
			}
		}
		return nil
	}
	if m["type"] == "array" {
		if _, ok := m["items"]; !ok {
			return fmt.Errorf("%s is an array without items", where)
		}
	}
	for k, e := range m {
		if err := checkItems(e, where+"."+k); err != nil {
			return err
		}
	}
	return nil
}

type message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Name       string          `json:"name"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
		Extra json.RawMessage `json:"extra_content"` // Google's
	} `json:"tool_calls"`
	Reasoning *string           `json:"reasoning_content"` // DeepSeek's
	Details   []json.RawMessage `json:"reasoning_details"` // OpenRouter's
}

func checkMessages(raw []json.RawMessage) error {
	var open []string // ids of calls that wait for their result
	seen := map[string]bool{}
	for i, r := range raw {
		var m message
		if err := strict(r, &m); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if len(open) > 0 && m.Role != "tool" {
			return fmt.Errorf("message %d: a message of role %s stands before the result of call %s", i, m.Role, open[0])
		}
		var err error
		switch m.Role {
		case "system", "developer", "user":
			err = checkContent(m.Content)
		case "assistant":
			open, err = checkAssistant(m, seen)
		case "tool":
			if len(open) == 0 {
				return fmt.Errorf("message %d: a result for %q that no call waits for", i, m.ToolCallID)
			}
			if m.ToolCallID != open[0] {
				return fmt.Errorf("message %d: the result of %q stands where that of %q belongs", i, m.ToolCallID, open[0])
			}
			open = open[1:]
			err = checkContent(m.Content)
		default:
			err = fmt.Errorf("the role is %q", m.Role)
		}
		if err != nil {
			return fmt.Errorf("message %d (%s): %w", i, m.Role, err)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("no result for call %s", open[0])
	}
	return nil
}

func checkAssistant(m message, seen map[string]bool) (open []string, err error) {
	if len(m.ToolCalls) == 0 {
		return nil, checkContent(m.Content)
	}
	if m.Content != nil && string(m.Content) != "null" && string(m.Content) != `""` {
		if err := checkContent(m.Content); err != nil {
			return nil, err
		}
	}
	for _, c := range m.ToolCalls {
		switch {
		case c.ID == "":
			return nil, errors.New("a call has no id")
		case len(c.ID) > 40:
			return nil, fmt.Errorf("the id %q has more than 40 characters", c.ID)
		case seen[c.ID]:
			return nil, fmt.Errorf("the id %q is there twice", c.ID)
		case c.Type != "function":
			return nil, fmt.Errorf("the type of call %s is %q", c.ID, c.Type)
		case !toolName().MatchString(c.Function.Name):
			return nil, fmt.Errorf("call %s has the name %q", c.ID, c.Function.Name)
		}
		var args map[string]any
		if err := json.Unmarshal([]byte(c.Function.Arguments), &args); err != nil || args == nil {
			return nil, fmt.Errorf("the arguments of call %s are no object: %s", c.ID, c.Function.Arguments)
		}
		seen[c.ID] = true
		open = append(open, c.ID)
	}
	return open, nil
}

// checkContent refuses content without text: a string that is not blank, or
// parts of which each has something.
func checkContent(raw json.RawMessage) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		if strings.TrimSpace(s) == "" {
			return errors.New("the content is empty")
		}
		return nil
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL struct {
			URL    string `json:"url"`
			Detail string `json:"detail"`
		} `json:"image_url"`
		File struct {
			Name string `json:"filename"`
			Data string `json:"file_data"`
		} `json:"file"`
	}
	if err := strict(raw, &parts); err != nil {
		return fmt.Errorf("the content is neither text nor parts: %s", raw)
	}
	if len(parts) == 0 {
		return errors.New("the content is an empty list")
	}
	for i, p := range parts {
		switch {
		case p.Type == "text" && strings.TrimSpace(p.Text) != "":
		case p.Type == "image_url" && p.ImageURL.URL != "":
		case p.Type == "file" && p.File.Name != "" && strings.HasPrefix(p.File.Data, "data:application/pdf;base64,"):
		default:
			return fmt.Errorf("part %d of the content (%q) has nothing", i, p.Type)
		}
	}
	return nil
}

// duplicateKey finds a member of the outermost object that is there twice.
func duplicateKey(body []byte) string {
	d := json.NewDecoder(strings.NewReader(string(body)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return ""
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return ""
		}
		key, _ := t.(string)
		if seen[key] {
			return key
		}
		seen[key] = true
		var skip json.RawMessage
		if d.Decode(&skip) != nil {
			return ""
		}
	}
	return ""
}
