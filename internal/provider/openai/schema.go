package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
)

// schemas fits the parameter schemas of tools to what OpenAI takes. One tool
// with an odd schema would make it refuse the whole request. The zero value is
// ready; it remembers what it changed, since the same tools come with every
// request.
type schemas struct {
	mu   sync.RWMutex
	seen map[string]json.RawMessage // by the schema as it came
}

// maxSchemas bounds the memory; a build has some hundred tools.
const maxSchemas = 4096

// anything is the schema of a tool that takes whatever object it gets.
var anything = json.RawMessage(`{"properties":{},"type":"object"}`)

// fit returns the schema to send. It is schema itself, byte for byte, when
// that needs no change.
func (c *schemas) fit(schema json.RawMessage) json.RawMessage {
	c.mu.RLock()
	fit, ok := c.seen[string(schema)]
	c.mu.RUnlock()
	if ok {
		return fit
	}
	fit = fitSchema(schema)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil || len(c.seen) >= maxSchemas {
		c.seen = map[string]json.RawMessage{}
	}
	c.seen[string(schema)] = fit
	return fit
}

func fitSchema(schema json.RawMessage) json.RawMessage {
	var root map[string]any
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber()
	if len(bytes.TrimSpace(schema)) == 0 || d.Decode(&root) != nil || root == nil {
		return anything
	}
	changed := fitRoot(root)
	if !fitArrays(root, 0) && !changed {
		return schema
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(root) != nil {
		return anything
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// fitRoot makes the schema an object with properties. OpenAI takes no
// combination of schemas at the top: the properties of their branches become
// properties of the whole, required where every branch requires them.
func fitRoot(root map[string]any) (changed bool) {
	for _, key := range []string{"$schema", "$id"} {
		if _, ok := root[key]; ok {
			delete(root, key)
			changed = true
		}
	}
	if root["type"] != "object" {
		root["type"] = "object"
		changed = true
	}
	properties, ok := root["properties"].(map[string]any)
	if !ok {
		properties = map[string]any{}
		root["properties"] = properties
		changed = true
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		branches, ok := root[key].([]any)
		delete(root, key)
		if !ok {
			continue
		}
		changed = true
		merge(root, properties, branches, key == "allOf")
	}
	for _, key := range []string{"not", "enum", "const"} {
		if _, ok := root[key]; ok {
			delete(root, key)
			changed = true
		}
	}
	return changed
}

// merge takes over the properties of branches. all says that all of them hold,
// so that what any of them requires is required.
func merge(root, properties map[string]any, branches []any, all bool) {
	count := map[string]int{}
	var order []string
	for _, b := range branches {
		branch, ok := b.(map[string]any)
		if !ok {
			continue
		}
		own, _ := branch["properties"].(map[string]any)
		for name, p := range own {
			if _, taken := properties[name]; !taken {
				properties[name] = p
			}
		}
		required, _ := branch["required"].([]any)
		for _, r := range required {
			if name, ok := r.(string); ok {
				if count[name] == 0 {
					order = append(order, name)
				}
				count[name]++
			}
		}
	}
	required, _ := root["required"].([]any)
	for _, name := range order {
		if (all || count[name] == len(branches)) && !slices.Contains(required, any(name)) {
			required = append(required, name)
		}
	}
	if len(required) > 0 {
		root["required"] = required
	}
}

// fitArrays gives every array a schema for its items.
func fitArrays(v any, depth int) (changed bool) {
	if depth > maxDepth {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["items"]; !ok && isArray(v["type"]) {
			v["items"] = map[string]any{}
			changed = true
		}
		for _, inner := range v {
			changed = fitArrays(inner, depth+1) || changed
		}
	case []any:
		for _, inner := range v {
			changed = fitArrays(inner, depth+1) || changed
		}
	}
	return changed
}

func isArray(t any) bool {
	if list, ok := t.([]any); ok {
		return slices.Contains(list, any("array"))
	}
	return t == "array"
}
