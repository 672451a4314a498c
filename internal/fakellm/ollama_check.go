package fakellm

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

func (ollamaChat) check(r Request) error { return CheckOllama(r.Body) }

// ollamaBody is what a request may hold of what we send.
type ollamaBody struct {
	Model    string          `json:"model"`
	Messages []ollamaMessage `json:"messages"`
	Tools    []ollamaTool    `json:"tools"`
	Stream   *bool           `json:"stream"`
	Think    json.RawMessage `json:"think"`
	Truncate *bool           `json:"truncate"`
	Shift    *bool           `json:"shift"`
	Options  struct {
		NumCtx      int      `json:"num_ctx"`
		NumPredict  *int     `json:"num_predict"`
		Temperature *float64 `json:"temperature"`
	} `json:"options"`
}

type ollamaMessage struct {
	Role       string       `json:"role"`
	Content    string       `json:"content"`
	Thinking   string       `json:"thinking"`
	Images     [][]byte     `json:"images"`
	ToolCalls  []ollamaCall `json:"tool_calls"`
	ToolName   string       `json:"tool_name"`
	ToolCallID string       `json:"tool_call_id"`
}

type ollamaCall struct {
	ID       string `json:"id"`
	Function struct {
		Index     int            `json:"index"`
		Name      string         `json:"name"`
		Arguments map[string]any `json:"arguments"`
	} `json:"function"`
}

type ollamaTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// ollamaSchema is what the server's own types read of a schema: a member of
// another type makes it refuse the whole request.
type ollamaSchema struct {
	Type        json.RawMessage          `json:"type"`
	Description string                   `json:"description"`
	Required    []string                 `json:"required"`
	Enum        []any                    `json:"enum"`
	AnyOf       []ollamaSchema           `json:"anyOf"`
	Properties  map[string]*ollamaSchema `json:"properties"`
}

// CheckOllama holds the body of a request for Ollama's chat against its
// documented format: the size of the context is said, no empty text, arguments
// are objects, every call of a reply is answered by exactly one tool message
// right behind it, in order and by its name, and the model takes what it is
// given.
func CheckOllama(body []byte) error {
	var r ollamaBody
	if err := strict(body, &r); err != nil {
		return fmt.Errorf("the body is none of the API's: %w", err)
	}
	if dup := duplicateKey(body); dup != "" {
		return fmt.Errorf("the member %q is there twice", dup)
	}
	errs := []error{r.settings()}
	names := map[string]bool{}
	for i, t := range r.Tools {
		if err := t.check(names); err != nil {
			errs = append(errs, fmt.Errorf("tool %d: %w", i, err))
		}
	}
	return errors.Join(append(errs, r.messages())...)
}

func (r ollamaBody) settings() error {
	takes := ollamaTakes(r.Model)
	o := r.Options
	switch {
	case r.Model == "":
		return errors.New("no model")
	case o.NumCtx <= 0:
		return errors.New("no num_ctx: the server cuts off what is beyond its default")
	case o.NumPredict != nil && *o.NumPredict <= 0:
		return fmt.Errorf("num_predict is %d", *o.NumPredict)
	case o.Temperature != nil && *o.Temperature < 0:
		return fmt.Errorf("the temperature is %v", *o.Temperature)
	case len(r.Tools) > 0 && !takes.has("tools"):
		return fmt.Errorf("%s does not support tools", r.Model)
	case r.Think == nil || string(r.Think) == "false":
		return nil
	case !slices.Contains([]string{"true", `"low"`, `"medium"`, `"high"`}, string(r.Think)):
		return fmt.Errorf("think is %s", r.Think)
	case !takes.has("thinking"):
		return fmt.Errorf("%s does not support thinking", r.Model)
	}
	return nil
}

func (t ollamaTool) check(names map[string]bool) error {
	f := t.Function
	switch {
	case t.Type != "function":
		return fmt.Errorf("its type is %q", t.Type)
	case !toolName().MatchString(f.Name):
		return fmt.Errorf("the name %q does not match %s", f.Name, toolName())
	case names[f.Name]:
		return fmt.Errorf("the name %q is there twice", f.Name)
	}
	names[f.Name] = true
	var s ollamaSchema
	if err := json.Unmarshal(f.Parameters, &s); err != nil {
		return fmt.Errorf("%s: parameters: %w", f.Name, err)
	}
	if string(s.Type) != `"object"` {
		return fmt.Errorf("%s: the type of parameters is %s", f.Name, s.Type)
	}
	return s.check(f.Name)
}

func (s *ollamaSchema) check(where string) error {
	if s == nil {
		return fmt.Errorf("%s is null", where)
	}
	var one string
	var some []string
	if s.Type != nil && json.Unmarshal(s.Type, &one) != nil && json.Unmarshal(s.Type, &some) != nil {
		return fmt.Errorf("the type of %s is %s", where, s.Type)
	}
	for i := range s.AnyOf {
		if err := s.AnyOf[i].check(where + ".anyOf"); err != nil {
			return err
		}
	}
	for name, p := range s.Properties {
		if err := p.check(where + "." + name); err != nil {
			return err
		}
	}
	return nil
}

func (r ollamaBody) messages() error {
	takes := ollamaTakes(r.Model)
	var open []ollamaCall // wait for their result
	ids := map[string]bool{}
	for i, m := range r.Messages {
		if len(m.Images) > 0 && !takes.has("vision") {
			return fmt.Errorf("message %d: images, and %s takes none", i, r.Model)
		}
		if len(open) > 0 && m.Role != "tool" {
			return fmt.Errorf("message %d: a message of role %s stands before the result of %s", i, m.Role, open[0].Function.Name)
		}
		var err error
		switch m.Role {
		case "system":
			if err = m.only(false, false); i > 0 {
				err = errors.New("it is not the first")
			}
		case "user":
			err = m.only(true, false)
		case "assistant":
			open, err = m.ToolCalls, m.reply(ids)
		case "tool":
			if len(open) == 0 {
				return fmt.Errorf("message %d: a result of %q that no call waits for", i, m.ToolName)
			}
			if c := open[0]; m.ToolName != c.Function.Name || m.ToolCallID != c.ID {
				return fmt.Errorf("message %d: the result of %s (%s) stands where that of %s (%s) belongs", i, m.ToolName, m.ToolCallID, c.Function.Name, c.ID)
			}
			open = open[1:]
			err = m.only(false, true)
		default:
			err = fmt.Errorf("the role is %q", m.Role)
		}
		if err != nil {
			return fmt.Errorf("message %d (%s): %w", i, m.Role, err)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("no result for the call of %s", open[0].Function.Name)
	}
	return nil
}

// only refuses what doesn't belong into a message that is no reply.
func (m ollamaMessage) only(images, tool bool) error {
	switch {
	case m.Thinking != "" || m.ToolCalls != nil:
		return errors.New("it has what only a reply has")
	case !images && m.Images != nil:
		return errors.New("it has images")
	case !tool && m.ToolName+m.ToolCallID != "":
		return errors.New("it says which call it answers")
	case strings.TrimSpace(m.Content) == "" && len(m.Images) == 0:
		return errors.New("it has no content")
	}
	for i, image := range m.Images {
		if len(image) == 0 {
			return fmt.Errorf("image %d has no data", i)
		}
	}
	return nil
}

func (m ollamaMessage) reply(ids map[string]bool) error {
	switch {
	case m.Images != nil || m.ToolName+m.ToolCallID != "":
		return errors.New("it has what no reply has")
	case strings.TrimSpace(m.Content) == "" && len(m.ToolCalls) == 0:
		return errors.New("it says and calls nothing")
	}
	for i, c := range m.ToolCalls {
		switch {
		case c.ID == "":
			return fmt.Errorf("call %d has no id", i)
		case ids[c.ID]:
			return fmt.Errorf("the id %q is there twice", c.ID)
		case !toolName().MatchString(c.Function.Name):
			return fmt.Errorf("call %d has the name %q", i, c.Function.Name)
		case c.Function.Index != i:
			return fmt.Errorf("call %d has the index %d", i, c.Function.Index)
		case c.Function.Arguments == nil:
			return fmt.Errorf("call %d has no arguments", i)
		}
		ids[c.ID] = true
	}
	return nil
}
