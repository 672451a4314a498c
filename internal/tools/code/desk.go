package code

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/lib/nearest"
	"github.com/goclaw/goclaw/internal/lib/retrieval"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// desk is what a script sees of the tools.
type desk struct {
	ctx   context.Context
	host  tool.Host
	defs  []tool.Definition
	slots chan struct{} // of calls that run

	mu      sync.Mutex
	write   <-chan struct{}   // closed when the last call that writes has ended; nil without one
	pending []<-chan struct{} // of calls since then
}

// newDesk takes the tools that scripts may call: those that are permitted
// without the ones that keep out of scripts, and without scripts themselves.
func newDesk(ctx context.Context, h tool.Host) *desk {
	d := &desk{ctx: ctx, host: h, slots: make(chan struct{}, parallel)}
	for _, def := range h.Permitted() {
		if !def.DirectOnly && def.Name != ownName {
			d.defs = append(d.defs, def)
		}
	}
	return d
}

func (d *desk) find(name string) (tool.Definition, bool) {
	i := slices.IndexFunc(d.defs, func(def tool.Definition) bool { return def.Name == name })
	if i < 0 {
		return tool.Definition{}, false
	}
	return d.defs[i], true
}

// found is a tool as search shows it.
type found struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Withheld    string `json:"withheld,omitempty"` // why this caller may not call it
}

const maxFound = 20

// search lists the tools that a query speaks of, the best first; all of them in
// the order of their names for a query without a word.
func (d *desk) search(query string) []found {
	docs := make([][]string, len(d.defs))
	for i, def := range d.defs {
		docs[i] = []string{strings.ReplaceAll(def.Name, "_", " "), strings.Join(def.Tags, " ") + " " + def.Category, def.Description}
	}
	x := retrieval.NewIndex(docs, retrieval.Options{Fields: []retrieval.Field{{Weight: 3}, {Weight: 2}, {Weight: 1, Norm: 0.5}}, Saturation: 1.2})
	scores := make([]float32, len(docs))
	var text retrieval.Text
	text.Read(query)
	for _, w := range text.Words() {
		if t, ok := x.Term(text.Bytes(w)); ok {
			for _, p := range x.Postings(t) {
				scores[p.Doc] += p.Score
			}
		}
	}
	order := make([]int, 0, len(docs))
	for i := range docs {
		if scores[i] > 0 || strings.TrimSpace(query) == "" {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	list := []found{}
	for _, i := range order[:min(len(order), maxFound)] {
		list = append(list, found{Name: d.defs[i].Name, Description: firstLine(d.defs[i].Description)})
	}
	for _, r := range d.host.Withheld() {
		if strings.TrimSpace(query) == "" || strings.Contains(r.Tool, strings.TrimSpace(query)) {
			list = append(list, found{Name: r.Tool, Withheld: r.Reason})
		}
	}
	return list
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
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
	def, ok := d.find(name)
	if !ok {
		return described{}, d.unknown(name)
	}
	return described{def.Name, def.Description, def.Parameters, def.Output, def.ReadOnly}, nil
}

// unknown says that a script can't have a tool, in the words of the role where
// that is why.
func (d *desk) unknown(name string) error {
	for _, r := range d.host.Withheld() {
		if r.Tool == name {
			return errors.New(r.Reason + ".")
		}
	}
	for _, def := range d.host.Permitted() {
		if def.Name == name {
			return fmt.Errorf("%s can't be called from a script; call it directly", name)
		}
	}
	var names []string
	for _, def := range d.defs {
		names = append(names, def.Name)
	}
	text := fmt.Sprintf("there is no tool %q", short(name))
	if near := nearest.Names(name, names, 3); len(near) > 0 {
		text += "; nearest are " + strings.Join(near, ", ")
	}
	return errors.New(text)
}

func short(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// prepare gives a call its place among the others of its script and returns
// what runs it. Calls that only read run side by side; one that writes begins
// after all before it and ends before all after it, as the script wrote them.
func (d *desk) prepare(name string, args json.RawMessage) func() (tool.Outcome, error) {
	def, ok := d.find(name)
	if !ok {
		return func() (tool.Outcome, error) {
			return tool.Outcome{Tool: short(name), Status: tool.Refused}, d.unknown(name)
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
	return func() (tool.Outcome, error) {
		defer close(ended)
		for _, c := range before {
			<-c // each of them ends, for they wait only for those before them
		}
		d.slots <- struct{}{}
		defer func() { <-d.slots }()
		d.host.Progress("calls " + name)
		return d.host.Call(d.ctx, name, args), nil
	}
}

// value is what a script gets of a call that has ended.
func (d *desk) value(out tool.Outcome, err error) (called, error) {
	if err != nil {
		return called{}, err
	}
	text := llm.JoinText(out.Content)
	if out.Status != tool.OK {
		return called{}, fmt.Errorf("%s: %s", out.Tool, strings.TrimPrefix(text, "Error: "))
	}
	c := called{Tool: out.Tool, Status: string(out.Status), Text: text, Data: out.Details}
	if def, ok := d.find(out.Tool); ok && len(def.Output) > 0 {
		if err := fits(def, out.Details); err != nil {
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
func fits(def tool.Definition, details json.RawMessage) error {
	schema, err := jsonschema.Compile(def.Output)
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
