package api

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/llm"
)

// conversation is a request's messages as a run takes them.
type conversation struct {
	system  string         // what the client says to the model besides
	before  []llm.Message  // up to the last answer
	results []clientResult // of the calls that the last answer held
	said    llm.Message    // what the person says now
	tools   clientTools
}

// message is what the run is given, with the results under ids of their own.
func (c *conversation) message(results []llm.Part) llm.Message {
	return llm.Message{Role: llm.User, Parts: slices.Concat(results, c.said.Parts)}
}

// told are the results of the conversation as the request tells it.
func (c *conversation) told() ([]llm.Part, *Problem) {
	parts := make([]llm.Part, len(c.results))
	for i, r := range c.results {
		if r.told == "" {
			return nil, badField(r.at+".tool_call_id", "no call %q waits for a result: the session has none, and messages hold no answer with it", clipped(r.id))
		}
		parts[i] = r.part(r.told, r.name)
	}
	return parts, nil
}

// read takes the request's messages apart, and refuses what can't be honoured.
func (q *ChatRequest) read() (conversation, *Problem) {
	if p := q.unsupported(); p != nil {
		return conversation{}, p
	}
	tools, p := q.tools()
	if p != nil {
		return conversation{}, p
	}
	r := reading{conversation: conversation{tools: tools}}
	for i := range q.Messages {
		if p := r.take(&q.Messages[i], fmt.Sprintf("messages[%d]", i)); p != nil {
			return r.conversation, p
		}
	}
	if p := r.shut(); p != nil {
		return r.conversation, p
	}
	r.before = r.all[:r.last]
	r.said = llm.Message{Role: llm.User}
	for _, m := range r.all[r.last:] {
		for i, p := range m.Parts {
			// Messages in a row become one, with a blank line between them.
			if i == 0 && len(r.said.Parts) > 0 && p.Kind == llm.KindText {
				p.Text = "\n\n" + p.Text
			}
			r.said.Parts = append(r.said.Parts, p)
		}
	}
	if len(r.said.Parts)+len(r.results) == 0 {
		return r.conversation, badRequest("messages: the last one must be the person's (role user) and say something, or the result of a call (role tool)")
	}
	r.system = strings.Join(r.parts, "\n\n")
	return r.conversation, nil
}

// reading is a conversation that is being read.
type reading struct {
	conversation
	parts []string      // of the system's words
	all   []llm.Message // but results that stand behind the last answer
	last  int           // behind the last answer in all
	calls int           // so far
	open  []openCall    // of the answer right before, whose results may come
}

// openCall is a call of a told answer.
type openCall struct {
	at, id, told, name string
	answered           bool
}

// take takes in one message, which stands at a place.
func (r *reading) take(m *ChatMessage, at string) *Problem {
	if m.Role == "tool" {
		return r.result(m, at)
	}
	parts, err := contentParts(m.Content)
	if err != nil {
		return badRequest("%s.content: %v", at, err)
	}
	if len(m.ToolCalls) > 0 && m.Role != "assistant" {
		return badField(at+".tool_calls", "only an assistant calls")
	}
	switch m.Role {
	case "system", "developer":
		if text := llm.JoinText(parts); strings.TrimSpace(text) != "" {
			r.parts = append(r.parts, text)
		}
	case "user":
		r.all = append(r.all, llm.Message{Role: llm.User, Parts: parts})
		return r.shut()
	case "assistant":
		if len(parts)+len(m.ToolCalls) == 0 {
			return nil
		}
		if p := r.close(); p != nil {
			return p
		}
		calls, p := r.called(m.ToolCalls, at)
		if p != nil {
			return p
		}
		r.all = append(r.all, llm.Message{Role: llm.Assistant, Parts: append(parts, calls...)})
		r.last = len(r.all)
	default:
		return badRequest("%s: role %q is none of system, developer, user, assistant, tool", at, clipped(m.Role))
	}
	return nil
}

// called reads the calls of an answer, which get ids of their own: what clients
// call them may be nothing that every provider takes.
func (r *reading) called(list []ChatToolCall, at string) ([]llm.Part, *Problem) {
	var parts []llm.Part
	for j, c := range list {
		at := fmt.Sprintf("%s.tool_calls[%d]", at, j)
		switch {
		case c.Type != "" && c.Type != "function":
			return nil, badField(at+".type", "%q is not function, the only type that is taken", clipped(c.Type))
		case c.ID == "":
			return nil, badField(at+".id", "it is missing: the result names its call by it")
		case c.Function.Name == "":
			return nil, badField(at+".function.name", "it is missing")
		case slices.ContainsFunc(r.open, func(o openCall) bool { return o.id == c.ID }):
			return nil, badField(at+".id", "%q stands twice", clipped(c.ID))
		}
		o := openCall{at: at, id: c.ID, told: fmt.Sprintf("call_0_%d", r.calls), name: r.tools.name(c.Function.Name)}
		r.calls++
		r.open = append(r.open, o)
		parts = append(parts, llm.Part{Kind: llm.KindCall, Call: &llm.ToolCall{ID: o.told, Name: o.name, Arguments: c.Function.Arguments}})
	}
	return parts, nil
}

// result takes in a message of role tool.
func (r *reading) result(m *ChatMessage, at string) *Problem {
	if m.ToolCallID == "" {
		return badField(at+".tool_call_id", "it is missing: it names the call that this is the result of")
	}
	parts, err := contentParts(m.Content)
	if err != nil {
		return badRequest("%s.content: %v", at, err)
	}
	if slices.ContainsFunc(parts, func(p llm.Part) bool { return p.Kind != llm.KindText }) {
		return badField(at+".content", "a result is text")
	}
	if len(llm.JoinText(parts)) > maxToolResult {
		return badField(at+".content", "a result may have %s at most", size(maxToolResult))
	}
	one := clientResult{at: at, id: m.ToolCallID, text: onePart(parts)}
	i := slices.IndexFunc(r.open, func(o openCall) bool { return o.id == m.ToolCallID })
	switch {
	case i >= 0 && r.open[i].answered,
		slices.ContainsFunc(r.results, func(o clientResult) bool { return o.id == m.ToolCallID }):
		return badField(at+".tool_call_id", "call %q has its result already", clipped(m.ToolCallID))
	case i >= 0:
		r.open[i].answered = true
		one.told, one.name = r.open[i].told, r.open[i].name
	case len(r.open) > 0 || len(r.all) > 0:
		// With nothing before it, it answers what the session knows.
		return badField(at+".tool_call_id", "the answer right before holds no call %q", clipped(m.ToolCallID))
	}
	r.results = append(r.results, one)
	return nil
}

// onePart is the text of parts as one, each on a line of its own, since whoever
// shows the parts of a result joins them as they stand.
func onePart(parts []llm.Part) []llm.Part {
	if len(parts) < 2 {
		return parts
	}
	var b strings.Builder
	for _, p := range parts {
		if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(p.Text)
	}
	return []llm.Part{llm.Text(b.String())}
}

// shut ends the results of the answer before: all came, or none.
func (r *reading) shut() *Problem {
	some := slices.ContainsFunc(r.open, func(o openCall) bool { return o.answered })
	for _, o := range r.open {
		if some && !o.answered {
			return badField(o.at+".id", "no message of role tool has the result of call %q: each call of an answer needs one", clipped(o.id))
		}
	}
	r.open = nil
	return nil
}

// close is shut before another answer: the results become part of what was said
// before, right behind the answer that called.
func (r *reading) close() *Problem {
	if p := r.shut(); p != nil || len(r.results) == 0 {
		return p
	}
	parts, p := r.told()
	if p != nil {
		return p
	}
	r.all = slices.Insert(r.all, r.last, llm.Message{Role: llm.User, Parts: parts})
	r.results = nil
	return nil
}
