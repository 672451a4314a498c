package code

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// desk is what a script sees of the tools.
type desk struct {
	ctx   context.Context
	host  tool.Host
	slots chan struct{} // of calls that run

	mu      sync.Mutex
	outputs map[string]*jsonschema.Schema // of the tools that were called
	write   <-chan struct{}               // closed when the last call that writes has ended; nil without one
	pending []<-chan struct{}             // of calls since then
}

func newDesk(ctx context.Context, h tool.Host) *desk {
	return &desk{ctx: ctx, host: h, slots: make(chan struct{}, parallel), outputs: map[string]*jsonschema.Schema{}}
}

// apart tells of a tool that keeps out of scripts, as scripts themselves do.
func apart(def tool.Definition) bool { return def.DirectOnly || def.Name == ownName }

// find finds the tool that a name means, as for a call of the model's.
func (d *desk) find(name string) (tool.Definition, error) {
	def, err := d.host.Resolve(name)
	if err == nil && apart(def) {
		err = fmt.Errorf("%s can't be called from a script; call it directly", def.Name)
	}
	return def, err
}

// found is a tool as search shows it.
type found struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Withheld    string `json:"withheld,omitempty"` // why this caller may not call it
}

const maxFound = 20

// search lists the tools that a query speaks of, the best first, as
// search_tools finds them; for a query without a word the first of all, in the
// order of their names.
func (d *desk) search(query string) []found {
	about := map[string]string{}
	list := []found{}
	for _, def := range d.host.Permitted() {
		if apart(def) {
			continue
		}
		line, _, _ := strings.Cut(def.Description, "\n")
		about[def.Name] = line
		if strings.TrimSpace(query) == "" && len(list) < maxFound {
			list = append(list, found{Name: def.Name, Description: line})
		}
	}
	if strings.TrimSpace(query) == "" {
		return list
	}
	hits := d.host.Search(query, maxFound)
	for _, h := range hits.Tools {
		if line, ok := about[h.Name]; ok {
			list = append(list, found{Name: h.Name, Description: line})
		}
	}
	for _, r := range hits.Withheld {
		list = append(list, found{Name: r.Tool, Withheld: r.Reason + "."})
	}
	return list
}

// described is a tool as describe shows it.
type described struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Output      json.RawMessage `json:"output,omitempty"`
	ReadOnly    bool            `json:"read_only"`
}

func (d *desk) describe(name string) (described, error) {
	def, err := d.find(name)
	return described{def.Name, def.Description, def.Parameters, def.Output, def.ReadOnly}, err
}

// prepare gives a call its place among the others of its script and returns
// what runs it. Calls that only read run side by side; one that writes begins
// after all before it and ends before all after it, as the script wrote them.
func (d *desk) prepare(name string, args json.RawMessage) func() (tool.Outcome, called, error) {
	def, err := d.host.Resolve(name)
	switch {
	case err != nil:
		return func() (tool.Outcome, called, error) { // nothing will run, and the engine says why
			out := d.host.Call(d.ctx, name, args)
			_, err := d.given(def, out)
			return out, called{}, err
		}
	case apart(def):
		return func() (tool.Outcome, called, error) {
			_, err := d.find(def.Name)
			return tool.Outcome{Tool: def.Name, Status: tool.Refused}, called{}, err
		}
	}
	ended := make(chan struct{})
	d.mu.Lock()
	var before []<-chan struct{}
	if d.write != nil {
		before = append(before, d.write)
	}
	if def.ReadOnly {
		d.pending = append(d.pending, ended)
	} else {
		before = append(before, d.pending...)
		d.write, d.pending = ended, nil
	}
	d.mu.Unlock()
	return func() (tool.Outcome, called, error) {
		defer close(ended)
		for _, c := range before {
			<-c // each of them ends, for they wait only for those before them
		}
		d.slots <- struct{}{}
		defer func() { <-d.slots }()
		d.host.Progress("calls " + def.Name)
		out := d.host.Call(d.ctx, def.Name, args)
		v, err := d.given(def, out)
		return out, v, err
	}
}

// given is what a script gets of a call of def that has ended.
func (d *desk) given(def tool.Definition, out tool.Outcome) (called, error) {
	text := llm.JoinText(out.Content)
	if out.Status != tool.OK {
		return called{}, fmt.Errorf("%s: %s", out.Tool, strings.TrimPrefix(text, "Error: "))
	}
	c := called{Tool: out.Tool, Status: string(out.Status), Text: text, Data: out.Details}
	if len(def.Output) > 0 {
		if err := d.fits(def, out.Details); err != nil {
			return called{}, err
		}
	}
	if len(c.Data) == 0 {
		if t := bytes.TrimSpace([]byte(text)); len(t) > 0 && (t[0] == '{' || t[0] == '[') && json.Valid(t) {
			c.Data = t
		}
	}
	return c, nil
}

// fits holds the details of a result against what its tool promises.
func (d *desk) fits(def tool.Definition, details json.RawMessage) error {
	schema, err := d.output(def)
	if err != nil {
		return fmt.Errorf("%s: its output schema is not usable: %w", def.Name, err)
	}
	v, err := jsonschema.Decode(details)
	if err != nil {
		return fmt.Errorf("%s answered without the data that it promises", def.Name)
	}
	if faults := schema.Validate(v); len(faults) > 0 {
		return fmt.Errorf("%s answered in another form than it promises: %s", def.Name, faults[0])
	}
	return nil
}

// output is the output schema of a tool, compiled once for a script.
func (d *desk) output(def tool.Definition) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if schema := d.outputs[def.Name]; schema != nil {
		return schema, nil
	}
	schema, err := jsonschema.Compile(def.Output)
	if err == nil {
		d.outputs[def.Name] = schema
	}
	return schema, err
}
