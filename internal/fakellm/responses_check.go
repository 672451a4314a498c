package fakellm

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

func (responsesAPI) check(r Request) error { return CheckResponses(r.Body) }

// responsesBody is what a request may hold of what we send.
type responsesBody struct {
	Model        string            `json:"model"`
	Stream       bool              `json:"stream"`
	Store        *bool             `json:"store"`
	Include      []string          `json:"include"`
	Instructions string            `json:"instructions"`
	Input        []json.RawMessage `json:"input"`
	Tools        []responsesTool   `json:"tools"`
	ToolChoice   string            `json:"tool_choice"`
	MaxOutput    *int              `json:"max_output_tokens"`
	Temperature  *float64          `json:"temperature"`
	Parallel     *bool             `json:"parallel_tool_calls"`
	Reasoning    *struct {
		Effort  *string `json:"effort"`
		Summary *string `json:"summary"`
	} `json:"reasoning"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
}

// responsesItem is an item of the input, of any kind.
type responsesItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Phase     string          `json:"phase"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Summary   *[]struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"summary"`
	Encrypted string `json:"encrypted_content"`
}

// CheckResponses holds the body of a request for the Responses API against
// OpenAI's documented format: items of known kinds with their own members only,
// every call answered by exactly one output, in order and before anybody else
// speaks, ids that are unique, and reasoning that is sealed, since nothing is
// stored, and leads to an item of the model's.
func CheckResponses(body []byte) error {
	var r responsesBody
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
	c := &responsesCheck{calls: map[string]bool{}, ids: map[string]bool{}, stored: r.Store == nil || *r.Store}
	for i, raw := range r.Input {
		if err := c.item(raw); err != nil {
			errs = append(errs, fmt.Errorf("item %d: %w", i, err))
			break // what follows depends on it
		}
	}
	return errors.Join(append(errs, c.end())...)
}

func (r responsesBody) settings() error {
	switch {
	case r.Model == "":
		return errors.New("no model")
	case len(r.Input) == 0:
		return errors.New("no input")
	case r.ToolChoice != "" && len(r.Tools) == 0:
		return errors.New("tool_choice without tools")
	case r.ToolChoice != "" && r.ToolChoice != "none" && r.ToolChoice != "auto" && r.ToolChoice != "required":
		return fmt.Errorf("tool_choice is %q", r.ToolChoice)
	case r.MaxOutput != nil && *r.MaxOutput < 16:
		return fmt.Errorf("max_output_tokens is %d, less than 16", *r.MaxOutput)
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 2):
		return fmt.Errorf("the temperature is %v", *r.Temperature)
	}
	for _, i := range r.Include {
		if i != "reasoning.encrypted_content" {
			return fmt.Errorf("include has %q", i)
		}
	}
	if r.Reasoning == nil {
		return nil
	}
	if e := r.Reasoning.Effort; e != nil && !slices.Contains([]string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}, *e) {
		return fmt.Errorf("the effort is %q", *e)
	}
	if s := r.Reasoning.Summary; s != nil && !slices.Contains([]string{"auto", "concise", "detailed"}, *s) {
		return fmt.Errorf("the summary is %q", *s)
	}
	return nil
}

func (t responsesTool) check(names map[string]bool) error {
	switch {
	case t.Type != "function":
		return fmt.Errorf("its type is %q", t.Type)
	case !toolName().MatchString(t.Name):
		return fmt.Errorf("the name %q does not match %s", t.Name, toolName())
	case names[t.Name]:
		return fmt.Errorf("the name %q is there twice", t.Name)
	case t.Strict == nil || *t.Strict:
		return errors.New("it is strict, and then its schema has to be")
	}
	names[t.Name] = true
	if err := checkSchema(t.Parameters); err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	return nil
}

type responsesCheck struct {
	stored  bool
	open    []string // ids of calls that wait for their output
	answers bool     // some of the open ones have theirs, so that no call may follow
	calls   map[string]bool
	ids     map[string]bool
	thought string // the reasoning that has to lead to something
}

// members are those that an item of each kind may have.
var responsesMembers = map[string][]string{
	"message":              {"type", "role", "content", "phase"},
	"reasoning":            {"type", "id", "summary", "content", "encrypted_content"},
	"function_call":        {"type", "call_id", "name", "arguments"},
	"function_call_output": {"type", "call_id", "output"},
}

func (c *responsesCheck) item(raw json.RawMessage) error {
	var i responsesItem
	if err := strict(raw, &i); err != nil {
		return err
	}
	if i.Type == "" && i.Role != "" {
		i.Type = "message"
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return err
	}
	for name := range members {
		if !slices.Contains(responsesMembers[i.Type], name) {
			return fmt.Errorf("an item of type %q has the member %q", i.Type, name)
		}
	}
	models := i.Type == "reasoning" || i.Type == "function_call" || i.Role == "assistant"
	if c.thought != "" && !models {
		return fmt.Errorf("item %q of type 'reasoning' was provided without its required following item", c.thought)
	}
	if len(c.open) > 0 && i.Type != "function_call_output" && (!models || c.answers) {
		return fmt.Errorf("no tool output found for function call %s before an item of type %s", c.open[0], i.Type)
	}
	if i.Type != "reasoning" {
		c.thought = ""
	}
	switch i.Type {
	case "message":
		return c.message(i)
	case "reasoning":
		return c.reasoning(i)
	case "function_call":
		return c.call(i)
	}
	return c.output(i)
}

func (c *responsesCheck) message(i responsesItem) error {
	switch {
	case i.Role != "user" && i.Role != "assistant" && i.Role != "system" && i.Role != "developer":
		return fmt.Errorf("the role is %q", i.Role)
	case i.Phase != "" && (i.Role != "assistant" || i.Phase != "commentary" && i.Phase != "final_answer"):
		return fmt.Errorf("the phase of a message of role %s is %q", i.Role, i.Phase)
	}
	return inputContent(i.Content, i.Role == "user")
}

func (c *responsesCheck) reasoning(i responsesItem) error {
	switch {
	case !strings.HasPrefix(i.ID, "rs"):
		return fmt.Errorf("invalid id %q: expected an ID that begins with 'rs'", i.ID)
	case c.ids[i.ID]:
		return fmt.Errorf("duplicate item found with id %s", i.ID)
	case i.Summary == nil:
		return errors.New("missing required parameter: summary")
	case i.Encrypted == "" && !c.stored:
		return fmt.Errorf("item with id %q not found: items are not persisted when store is set to false", i.ID)
	}
	c.ids[i.ID], c.thought = true, i.ID
	return nil
}

func (c *responsesCheck) call(i responsesItem) error {
	var args map[string]any
	switch {
	case i.CallID == "" || len(i.CallID) > 64:
		return fmt.Errorf("the call_id %q has not between 1 and 64 characters", i.CallID)
	case c.calls[i.CallID]:
		return fmt.Errorf("the call_id %q is there twice", i.CallID)
	case !toolName().MatchString(i.Name):
		return fmt.Errorf("call %s has the name %q", i.CallID, i.Name)
	case json.Unmarshal([]byte(i.Arguments), &args) != nil || args == nil:
		return fmt.Errorf("the arguments of call %s are no object: %s", i.CallID, i.Arguments)
	}
	c.calls[i.CallID] = true
	c.open, c.answers = append(c.open, i.CallID), false
	return nil
}

func (c *responsesCheck) output(i responsesItem) error {
	switch {
	case len(c.open) == 0:
		return fmt.Errorf("no tool call found for function call output with call_id %s", i.CallID)
	case i.CallID != c.open[0]:
		return fmt.Errorf("the output of %s stands where that of %s belongs", i.CallID, c.open[0])
	}
	c.open, c.answers = c.open[1:], true
	return inputContent(i.Output, true)
}

func (c *responsesCheck) end() error {
	switch {
	case c.thought != "":
		return fmt.Errorf("item %q of type 'reasoning' was provided without its required following item", c.thought)
	case len(c.open) > 0:
		return fmt.Errorf("no tool output found for function call %s", c.open[0])
	}
	return nil
}

// inputContent refuses content without text: a string that is not blank, or
// parts, where they are allowed, of which each has something.
func inputContent(raw json.RawMessage, parted bool) error {
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
		ImageURL string `json:"image_url"`
		Detail   string `json:"detail"`
		Filename string `json:"filename"`
		FileData string `json:"file_data"`
	}
	if err := strict(raw, &parts); err != nil || len(parts) == 0 || !parted {
		return fmt.Errorf("the content is neither text nor parts: %s", raw)
	}
	for i, p := range parts {
		switch {
		case p.Type == "input_text" && strings.TrimSpace(p.Text) != "":
		case p.Type == "input_image" && strings.HasPrefix(p.ImageURL, "data:image/"):
		case p.Type == "input_file" && strings.HasPrefix(p.FileData, "data:") && p.Filename != "":
		default:
			return fmt.Errorf("part %d of the content (%q) has nothing", i, p.Type)
		}
	}
	return nil
}
