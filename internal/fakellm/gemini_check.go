package fakellm

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

func (generateContent) check(r Request) error {
	model := geminiModel(r)
	if !strings.Contains(r.Query, "alt=sse") && streams(r) {
		return errors.New("a stream without alt=sse")
	}
	return CheckContents(r.Body, !strings.HasPrefix(model, "gemini-2"))
}

// geminiBody is what a request may hold of what we send.
type geminiBody struct {
	Contents []geminiContent `json:"contents"`
	System   *struct {
		Parts []struct {
			Text string `json:"text"`
		} `json:"parts"`
	} `json:"systemInstruction"`
	Tools []struct {
		Functions []geminiFunction `json:"functionDeclarations"`
	} `json:"tools"`
	ToolConfig *struct {
		Calling struct {
			Mode string `json:"mode"`
		} `json:"functionCallingConfig"`
	} `json:"toolConfig"`
	Config *struct {
		Temperature *float64 `json:"temperature"`
		MaxOutput   *int     `json:"maxOutputTokens"`
		Thinking    *struct {
			Thoughts bool   `json:"includeThoughts"`
			Level    string `json:"thinkingLevel"`
			Budget   *int   `json:"thinkingBudget"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`
}

type geminiFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"parametersJsonSchema"`
	Parameters  json.RawMessage `json:"parameters"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiBlob struct {
	MIME string `json:"mimeType"`
	Data []byte `json:"data"`
}

// geminiPart is a part of any kind.
type geminiPart struct {
	Text      *string     `json:"text"`
	Thought   bool        `json:"thought"`
	Signature string      `json:"thoughtSignature"`
	Inline    *geminiBlob `json:"inlineData"`
	Call      *struct {
		ID   string         `json:"id"`
		Name string         `json:"name"`
		Args map[string]any `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		ID       string            `json:"id"`
		Name     string            `json:"name"`
		Response map[string]string `json:"response"`
		Parts    []struct {
			Inline *geminiBlob `json:"inlineData"`
		} `json:"parts"`
	} `json:"functionResponse"`
}

// CheckContents holds the body of a request for Gemini against Google's
// documented format: the contents alternate between user and model and begin
// and end with the user's, no part is empty but for its signature, every call
// of a content is answered by one response in the next, in order and by its
// name, ids are those of the calls, schemas have documented keywords only, and
// signatures stand on the part for which this server made them. With signed,
// the first call of each content since the person spoke last has to have one,
// as Gemini 3 wants it.
func CheckContents(body []byte, signed bool) error {
	var r geminiBody
	if err := strict(body, &r); err != nil {
		return fmt.Errorf("the body is none of the API's: %w", err)
	}
	if dup := duplicateKey(body); dup != "" {
		return fmt.Errorf("the member %q is there twice", dup)
	}
	errs := []error{r.settings()}
	names := map[string]bool{}
	for _, t := range r.Tools {
		for i, f := range t.Functions {
			if err := f.check(names); err != nil {
				errs = append(errs, fmt.Errorf("function %d: %w", i, err))
			}
		}
	}
	if r.System != nil {
		for i, p := range r.System.Parts {
			if strings.TrimSpace(p.Text) == "" {
				errs = append(errs, fmt.Errorf("system text %d is empty", i))
			}
		}
	}
	c := &geminiCheck{signed: signed, ids: map[string]bool{}}
	return errors.Join(append(errs, c.contents(r.Contents))...)
}

func (r geminiBody) settings() error {
	switch {
	case len(r.Tools) > 1 || len(r.Tools) == 1 && len(r.Tools[0].Functions) == 0:
		return errors.New("tools are one list of functions")
	case r.ToolConfig != nil && len(r.Tools) == 0:
		return errors.New("function calling config is set without function_declarations")
	case r.ToolConfig != nil && !slices.Contains([]string{"AUTO", "NONE", "ANY"}, r.ToolConfig.Calling.Mode):
		return fmt.Errorf("the mode of function calling is %q", r.ToolConfig.Calling.Mode)
	case r.Config == nil:
		return nil
	case r.Config.Temperature != nil && (*r.Config.Temperature < 0 || *r.Config.Temperature > 2):
		return fmt.Errorf("the temperature is %v", *r.Config.Temperature)
	case r.Config.MaxOutput != nil && *r.Config.MaxOutput < 1:
		return fmt.Errorf("maxOutputTokens is %d", *r.Config.MaxOutput)
	}
	t := r.Config.Thinking
	switch {
	case t == nil:
		return nil
	case t.Level != "" && t.Budget != nil:
		return errors.New("thinking has a level and a budget")
	case t.Level != "" && !slices.Contains([]string{"MINIMAL", "LOW", "MEDIUM", "HIGH"}, t.Level):
		return fmt.Errorf("the level of thinking is %q", t.Level)
	case t.Budget != nil && *t.Budget < -1:
		return fmt.Errorf("the budget of thinking is %d", *t.Budget)
	}
	return nil
}

var functionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`) })

func (f geminiFunction) check(names map[string]bool) error {
	switch {
	case !functionName().MatchString(f.Name):
		return fmt.Errorf("the name %q does not match %s", f.Name, functionName())
	case names[f.Name]:
		return fmt.Errorf("the name %q is there twice", f.Name)
	case f.Parameters != nil && f.Schema != nil:
		return fmt.Errorf("%s has both kinds of parameters", f.Name)
	}
	names[f.Name] = true
	raw, known := f.Schema, schemaKeywords
	if f.Parameters != nil {
		raw, known = f.Parameters, openAPIKeywords
	}
	if raw == nil {
		return nil
	}
	var s map[string]any
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("%s: parameters are no object: %w", f.Name, err)
	}
	if kind, _ := s["type"].(string); !strings.EqualFold(kind, "object") {
		return fmt.Errorf("%s: the type of parameters is %v", f.Name, s["type"])
	}
	if err := checkKeywords(s, known); err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return checkItems(s, f.Name)
}

var (
	// schemaKeywords are those of JSON Schema that Google documents, for
	// parametersJsonSchema as for responseJsonSchema.
	schemaKeywords = []string{
		"$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems", "minItems", "maxItems",
		"minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required", "propertyOrdering",
	}
	// openAPIKeywords are those of the other kind, parameters.
	openAPIKeywords = []string{
		"type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems", "minimum", "maximum", "anyOf",
		"properties", "required", "propertyOrdering", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "default",
	}
)

// checkKeywords refuses what is not known, at any depth.
func checkKeywords(v any, known []string) error {
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	for key, inner := range m {
		if !slices.Contains(known, key) {
			return fmt.Errorf("the keyword %q is none of the API's", key)
		}
		var below []any
		switch key {
		case "properties", "$defs":
			named, _ := inner.(map[string]any)
			for _, s := range named {
				below = append(below, s)
			}
		case "anyOf", "oneOf", "prefixItems":
			below, _ = inner.([]any)
		case "items", "additionalProperties":
			below = []any{inner}
		}
		for _, s := range below {
			if err := checkKeywords(s, known); err != nil {
				return err
			}
		}
	}
	return nil
}

// geminiCheck is what was seen of one request.
type geminiCheck struct {
	signed bool
	ids    map[string]bool // of all calls
	open   []geminiCall    // that wait for their response
}

type geminiCall struct{ id, name string }

func (c *geminiCheck) contents(all []geminiContent) error {
	if len(all) == 0 {
		return errors.New("no contents")
	}
	turn := 0 // where the person spoke last
	for i, m := range all {
		if m.Role == "user" && slices.ContainsFunc(m.Parts, func(p geminiPart) bool { return p.Response == nil }) {
			turn = i
		}
	}
	for i, m := range all {
		want := "user"
		if i%2 == 1 {
			want = "model"
		}
		if m.Role != want {
			return fmt.Errorf("content %d is of role %q, want %s", i, m.Role, want)
		}
		var err error
		if want == "user" {
			err = c.user(m.Parts)
		} else {
			err = c.model(m.Parts, c.signed && i > turn)
		}
		if err != nil {
			return fmt.Errorf("content %d (%s): %w", i, m.Role, err)
		}
	}
	if len(all)%2 == 0 {
		return errors.New("the last content is the model's")
	}
	return nil
}

func (c *geminiCheck) user(parts []geminiPart) error {
	responses := 0
	for i, p := range parts {
		switch {
		case p.Call != nil, p.Thought, p.Signature != "":
			return fmt.Errorf("part %d is a model's", i)
		case p.Response != nil:
			if i != responses {
				return fmt.Errorf("part %d: a response behind something else", i)
			}
			responses++
			if err := c.response(p); err != nil {
				return fmt.Errorf("part %d: %w", i, err)
			}
		default:
			if err := p.check(); err != nil {
				return fmt.Errorf("part %d: %w", i, err)
			}
		}
	}
	switch {
	case len(c.open) > 0:
		return fmt.Errorf("no response for the call of %s", c.open[0].name)
	case len(parts) == 0:
		return errors.New("no parts")
	}
	return nil
}

// check refuses a part that is neither text nor an image or file.
func (p geminiPart) check() error {
	switch {
	case p.Text != nil && p.Inline == nil:
		if *p.Text == "" && p.Signature == "" {
			return errors.New("the text is empty")
		}
		return nil
	case p.Inline != nil && p.Text == nil:
		return p.Inline.check()
	}
	return errors.New("required oneof field 'data' must have one initialized field")
}

func (b *geminiBlob) check() error {
	if b == nil || len(b.Data) == 0 {
		return errors.New("no data")
	}
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/webp", "application/pdf"}, b.MIME) {
		return fmt.Errorf("unsupported MIME type: %s", b.MIME)
	}
	return nil
}

func (c *geminiCheck) response(p geminiPart) error {
	r := p.Response
	if len(c.open) == 0 {
		return fmt.Errorf("a response of %s that no call waits for", r.Name)
	}
	call := c.open[0]
	c.open = c.open[1:]
	switch {
	case r.Name != call.name || r.ID != call.id:
		return fmt.Errorf("the response of %s %q stands where that of %s %q belongs", r.Name, r.ID, call.name, call.id)
	case len(r.Response) != 1 || r.Response["output"]+r.Response["error"] == "":
		return fmt.Errorf("the response is %v", r.Response)
	case len(r.Parts) > 0 && !c.signed:
		return errors.New("the model takes no images within responses")
	}
	for _, inner := range r.Parts {
		if err := inner.Inline.check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *geminiCheck) model(parts []geminiPart, current bool) error {
	if len(parts) == 0 {
		return errors.New("no parts")
	}
	for i, p := range parts {
		of := ""
		switch {
		case p.Response != nil:
			return fmt.Errorf("part %d is a user's", i)
		case p.Call != nil:
			if current && len(c.open) == 0 && p.Signature == "" {
				return fmt.Errorf("function call is missing a thought_signature in functionCall parts: %s", p.Call.Name)
			}
			if err := c.call(p); err != nil {
				return fmt.Errorf("part %d: %w", i, err)
			}
			of = p.Call.Name + string(encode(p.Call.Args))
		default:
			if err := p.check(); err != nil {
				return fmt.Errorf("part %d: %w", i, err)
			}
			if p.Text != nil {
				of = *p.Text
			}
		}
		if err := checkSignature(p.Signature, of); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
	}
	return nil
}

func (c *geminiCheck) call(p geminiPart) error {
	switch {
	case !functionName().MatchString(p.Call.Name):
		return fmt.Errorf("a call has the name %q", p.Call.Name)
	case p.Call.Args == nil:
		return fmt.Errorf("the arguments of %s are no object", p.Call.Name)
	case p.Call.ID != "" && c.ids[p.Call.ID]:
		return fmt.Errorf("the id %q is there twice", p.Call.ID)
	}
	c.ids[p.Call.ID] = true
	c.open = append(c.open, geminiCall{p.Call.ID, p.Call.Name})
	return nil
}

// checkSignature refuses a signature that this server made for another part, and
// what is none.
func checkSignature(s, of string) error {
	switch s {
	case "", "skip_thought_signature_validator", "context_engineering_is_the_way_to_go", signature(of):
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(s)
	switch {
	case err != nil:
		return fmt.Errorf("the thought signature %q is no base64", s)
	case strings.HasPrefix(string(raw), signatureMark):
		return errors.New("the thought signature belongs to another part")
	}
	return nil
}
