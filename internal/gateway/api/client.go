package api

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// What a client may bring. OpenAI's API takes as many tools.
const (
	maxTools       = 128
	maxDescription = 32 << 10  // bytes
	maxToolBytes   = 1 << 20   // of all descriptions and schemas together
	maxToolResult  = 512 << 10 // bytes of one result
)

// ChatTool is a tool that a client brings.
type ChatTool struct {
	Type     string       `json:"type"` // function
	Function ChatFunction `json:"function"`
}

// ChatFunction is the function of a [ChatTool].
type ChatFunction struct {
	// Name has letters, digits, _ and -, at most 64.
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema; absent means no parameters
	// Strict is taken, and changes nothing: arguments always fit the schema.
	Strict bool `json:"strict,omitempty"`
}

// ChatToolCall is a call of a client's tool.
type ChatToolCall struct {
	Index    *int       `json:"index,omitempty"` // in a stream only
	ID       string     `json:"id,omitempty"`
	Type     string     `json:"type,omitempty"` // function
	Function ChatCalled `json:"function"`
}

// ChatCalled says which function is called, with what.
type ChatCalled struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"` // JSON; in a stream, the next piece of it
}

// clientTools are the tools of a request, by both their names.
type clientTools struct {
	brought   tool.Brought
	choice    agent.ToolChoice
	canonical map[string]string // by the client's name
	written   map[string]string // by the canonical one
}

// name is the canonical name of what the client calls so.
func (t *clientTools) name(written string) string {
	if n, ok := t.canonical[written]; ok {
		return n
	}
	return tool.Canonical("", []string{written})[written]
}

// tools reads what the client brings, and what it demands of it.
func (q *ChatRequest) tools() (clientTools, *Problem) {
	t := clientTools{written: map[string]string{}}
	if len(q.Tools) > maxTools {
		return t, badField("tools", "%d tools are too many: a request can bring %d", len(q.Tools), maxTools)
	}
	names, total := make([]string, len(q.Tools)), 0
	for i, c := range q.Tools {
		at := fmt.Sprintf("tools[%d]", i)
		if p := c.check(at); p != nil {
			return t, p
		}
		if total += len(c.Function.Description) + len(c.Function.Parameters); total > maxToolBytes {
			return t, badField("tools", "descriptions and parameters have more than %s together", size(maxToolBytes))
		}
		if names[i] = c.Function.Name; slices.Contains(names[:i], names[i]) {
			return t, badField(at+".function.name", "%q stands twice", names[i])
		}
	}
	t.canonical = tool.Canonical("", names)
	for _, c := range q.Tools {
		f := c.Function
		name := t.canonical[f.Name]
		t.written[name] = f.Name
		params := f.Parameters
		if len(params) == 0 || string(params) == "null" {
			params = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		t.brought.Tools = append(t.brought.Tools, tool.ClientTool{Name: name, Description: f.Description, Parameters: params})
	}
	t.brought.Single = q.ParallelToolCalls != nil && !*q.ParallelToolCalls
	return t, t.choose(q.ToolChoice)
}

// ReadTools reads the tools of a client: the list, or a request that has it as
// tools. The error names the place that is wrong.
func ReadTools(b []byte) (tool.Brought, error) {
	var q ChatRequest
	err := json.Unmarshal(b, &q.Tools)
	if err != nil {
		err = json.Unmarshal(b, &q)
	}
	if err != nil {
		return tool.Brought{}, fmt.Errorf("it is neither a list of tools nor a request with one: %w", err)
	}
	q.ToolChoice = nil
	t, p := q.tools()
	if p != nil {
		return tool.Brought{}, p
	}
	return t.brought, nil
}

func (c *ChatTool) check(at string) *Problem {
	f := &c.Function
	switch {
	case c.Type != "function":
		return badField(at+".type", "%q is not function, the only type that is taken", c.Type)
	case f.Name == "" || len(f.Name) > 64 || strings.ContainsFunc(f.Name, func(r rune) bool {
		return (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}):
		return badField(at+".function.name", "%s is not 1 to 64 letters, digits, _ and -", strconv.Quote(clipped(f.Name)))
	case len(f.Description) > maxDescription:
		return badField(at+".function.description", "it has more than %s", size(maxDescription))
	case len(f.Parameters) == 0 || string(f.Parameters) == "null":
		return nil
	}
	canonical, err := jsonschema.Canonical(f.Parameters)
	if err == nil && canonical[0] != '{' {
		err = fmt.Errorf("it is no object")
	}
	if err == nil {
		_, err = jsonschema.Compile(canonical)
	}
	var head struct {
		Type any `json:"type"`
	}
	if err == nil && json.Unmarshal(canonical, &head) == nil && head.Type != nil && head.Type != "object" {
		err = fmt.Errorf("its type is not object, which arguments are")
	}
	if err != nil {
		return badField(at+".function.parameters", "it is no usable JSON Schema: %v", err)
	}
	return nil
}

// clipped is as much of a client's word as is repeated.
func clipped(s string) string { return s[:min(len(s), 80)] }

// choose reads tool_choice.
func (t *clientTools) choose(choice any) *Problem {
	switch c := choice.(type) {
	case nil:
		return nil
	case string:
		switch c {
		case "auto", "":
		case "none":
			t.brought = tool.Brought{}
		case "required":
			t.choice.Required = true
		default:
			return badField("tool_choice", "%q is none of auto, none and required", clipped(c))
		}
	case map[string]any:
		function, _ := c["function"].(map[string]any)
		name, _ := function["name"].(string)
		if c["type"] != "function" || name == "" {
			return badField("tool_choice", `it is neither auto, none or required, nor {"type": "function", "function": {"name": …}}`)
		}
		if t.canonical[name] == "" {
			return badField("tool_choice.function.name", "tools has no function %q", clipped(name))
		}
		t.choice = agent.ToolChoice{Required: true, Only: t.canonical[name]}
	default:
		return badField("tool_choice", "it is neither a word nor an object")
	}
	if t.choice.Required && len(t.brought.Tools) == 0 {
		return badField("tool_choice", "it demands a call, and tools brings none to call")
	}
	return nil
}

// clientResult is what the client says came of a call.
type clientResult struct {
	at   string // its place in the request
	id   string // of the call, as the client knows it
	told string // its id in the conversation that the request tells; empty when that doesn't hold the call
	name string // canonical; empty as told
	text []llm.Part
}

func (r *clientResult) part(id, name string) llm.Part {
	return llm.Part{Kind: llm.KindResult, Result: &llm.ToolResult{CallID: id, Name: name, Content: r.text}}
}

// callID is the id under which a client knows a call: it says where the call
// waits, so that a client which tells the whole conversation, and names no
// session, is answered in the one that has it.
func callID(run string, index int) string { return fmt.Sprintf("call_%s_%d", run, index) }

// runOf is the run of a call that has this id.
func runOf(id string) string {
	rest, _ := strings.CutPrefix(id, "call_")
	run, _, _ := strings.Cut(rest, "_")
	return run
}

// handed are the calls that went to the client, as it reads them.
func handed(run string, calls []agent.ToolEvent, written map[string]string) []ChatToolCall {
	var list []ChatToolCall
	for _, c := range calls {
		name := c.Name
		if own, ok := written[name]; ok {
			name = own
		}
		list = append(list, ChatToolCall{ID: callID(run, c.Index), Type: "function", Function: ChatCalled{Name: name, Arguments: string(c.Args)}})
	}
	return list
}

// awaited is the turn whose calls a client answers.
type awaited struct {
	session.Run
	parts []llm.Part // the results under the ids that the session has
	mine  bool       // the caller may go on in its session
	last  bool       // it is the last turn of its session: nobody went on yet
}

// awaitedBy finds the turn of the caller's whose calls are those that results
// answer, nil when there is none.
func (s *Server) awaitedBy(ctx context.Context, c Caller, agentID string, results []clientResult) (*awaited, error) {
	id := runOf(results[0].id)
	if id == "" {
		return nil, nil
	}
	list, _, err := s.opts.Sessions.Runs(ctx, session.RunFilter{Run: id, Depth: session.Spoken, Limit: 1})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	r := list[0]
	waiting := session.Awaited(r.Turn)
	if r.Caller.ID != c.ID || r.Session.Agent != agentID || len(waiting) != len(results) {
		return nil, nil
	}
	last := r.Rounds[len(r.Rounds)-1]
	a := &awaited{Run: r}
	for i, call := range last.Reply.Message.Calls() {
		at := slices.IndexFunc(results, func(r clientResult) bool { return r.id == callID(id, i) })
		if !slices.Contains(waiting, call) {
			continue
		}
		if at < 0 {
			return nil, nil
		}
		name := call.Name
		if i < len(last.Outcomes) {
			name = last.Outcomes[i].Tool
		}
		a.parts = append(a.parts, results[at].part(call.ID, name))
	}
	p, err := s.lookUp(ctx, r.Session)
	if err != nil {
		return nil, err
	}
	a.mine, a.last = c.sees(p.Caller), p.Turns == r.Number
	return a, nil
}

// resent is what the model reads where a client sends results once more.
const resent = "The client sent these results again, since it got no answer to them. Answer now."

// unanswered reports whether all that the session has behind the turn are tries to
// answer the same results and words, none of which came to an answer: the model
// failed, somebody stopped it, or the process died. The session has the results.
func (s *Server) unanswered(ctx context.Context, a *awaited, talk *conversation) (bool, error) {
	if !a.mine || a.last {
		return false, nil
	}
	tries, err := s.opts.Sessions.Turns(ctx, a.Session, a.Number+1, 0, session.Heads)
	if err != nil {
		return false, err
	}
	for i, t := range tries {
		q := asked{words: talk.said.Text(), files: files(talk.said), results: talk.answered()}
		if i > 0 {
			q = asked{}
		}
		failed := t.Status == agent.Failed || t.Status == agent.Interrupted || t.Status == agent.Stopped
		if !failed || !q.same(keyed{Message: t.Message}) {
			return false, nil
		}
	}
	return true, nil
}
