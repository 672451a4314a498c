package responses

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/goclaw/goclaw/internal/lib/jsonstring"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
)

// Form is how a request is put to a model. Equal forms have equal settings.
type Form struct {
	Model string
	// Vendor names who made the opaque data that goes back.
	Vendor string
	// Names is what the server lets the name of a function be.
	Names     *wire.NameRule
	MaxOutput int    // tokens; 0 leaves it to the server
	Effort    string // "" leaves it to the model

	Temperature float64
	Tempered    bool

	// Summary asks to be told what the model thinks, as far as it is shown.
	Summary bool
	// Sealed asks for what the model thinks, to be given back.
	Sealed bool
	// Bare gives none of it back.
	Bare bool
}

// minOutput is the smallest output limit that the API takes, in tokens.
const minOutput = 16

// settings is what a request holds beside tools, instructions and items, of what
// the API has what is set here.
// https://platform.openai.com/docs/api-reference/responses/create
type settings struct {
	Model           string     `json:"model"`
	Store           bool       `json:"store"`
	MaxOutputTokens int        `json:"max_output_tokens,omitempty"`
	Temperature     *float64   `json:"temperature,omitempty"`
	Reasoning       *reasoning `json:"reasoning,omitempty"`
	Include         []string   `json:"include,omitempty"`
}

type reasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

// Settings encodes what is neither tool, instruction nor item.
func (f Form) Settings() ([]byte, error) {
	s := settings{Model: f.Model}
	if f.MaxOutput > 0 {
		s.MaxOutputTokens = max(f.MaxOutput, minOutput)
	}
	if f.Tempered {
		s.Temperature = &f.Temperature
	}
	r := reasoning{Effort: f.Effort}
	if f.Summary && f.Effort != "none" {
		r.Summary = "auto"
	}
	if r != (reasoning{}) {
		s.Reasoning = &r
	}
	if f.Sealed {
		s.Include = []string{"reasoning.encrypted_content"}
	}
	return json.Marshal(s)
}

// Encode is the body of the request in this form, with the settings that it
// encoded. Equal requests give equal bytes; what grows comes last, so that a
// session's next request begins with the bytes of the one before: settings,
// tools, instructions, then the items, and behind them only what may differ
// from call to call.
//
// Nothing names the session: the server's cache goes by the beginning of a
// request alone, for which the SDK has a key that only helps to spread load.
//
// The error is that of loading images and files.
func Encode(req *llm.Request, f Form, settings []byte) ([]byte, error) {
	shows := wire.Takes(req.Target)
	req, err := wire.Fit(req, shows, room)
	if err != nil {
		return nil, err
	}
	e := &encoder{b: make([]byte, 0, wire.SizeOf(req)), shows: shows, names: f.Names.Names(req.Tools), form: f}
	e.b = append(e.b, `{"stream":true,`...)
	e.b = append(e.b, settings[1:len(settings)-1]...)
	if len(req.Tools) > 0 {
		e.tools(req.Tools)
	}
	if words := joined(req.Static, req.Session); words != "" {
		e.b = append(e.b, `,"instructions":`...)
		e.b = jsonstring.Append(e.b, words)
	}
	e.b = append(e.b, `,"input":[`...)
	for i := range req.Messages {
		e.message(req.Messages, i)
	}
	if !e.some {
		e.plain(goOn)
	}
	e.b = append(e.b, ']')
	if len(req.Tools) > 0 {
		e.choice(req)
	}
	return append(e.b, '}'), nil
}

// choice says whether the model may call tools, or has to.
func (e *encoder) choice(req *llm.Request) {
	switch {
	case req.Choice == llm.ChoiceNone:
		e.b = append(e.b, `,"tool_choice":"none"`...)
	case req.Choice == llm.ChoiceRequired && req.Only != "":
		e.b = append(e.b, `,"tool_choice":{"type":"function","name":`...)
		e.b = append(jsonstring.Append(e.b, e.names.Sent(req.Only)), '}')
	case req.Choice == llm.ChoiceRequired:
		e.b = append(e.b, `,"tool_choice":"required"`...)
	}
}

// goOn is what the API is given where a transcript has nothing: it wants an item.
const goOn = "Go on."

// joined is the system text: what holds across sessions, then the session's.
func joined(static, session string) string {
	if static == "" || session == "" {
		return static + session
	}
	return static + "\n\n" + session
}

// room is what goes along of images and files, as in Chat Completions.
var room = wire.Room{Count: 50, Bytes: 30 << 20}

type encoder struct {
	b        []byte
	shows    wire.Shown
	names    wire.Names
	form     Form
	some     bool            // an item was written
	thoughts []thought       // that wait for what they led to
	thought  map[string]bool // those written so far, by name: the API refuses one that is there twice
	ids      wire.IDs
	open     []string // the ids of the calls that wait for their results
}

func (e *encoder) tools(specs []llm.ToolSpec) {
	e.b = append(e.b, `,"tools":[`...)
	for i, t := range specs {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.b = append(e.b, `{"type":"function","name":`...)
		e.b = jsonstring.Append(e.b, e.names.Sent(t.Name))
		e.b = append(e.b, `,"description":`...)
		e.b = jsonstring.Append(e.b, t.Description)
		e.b = append(e.b, `,"parameters":`...)
		e.b = append(e.b, t.Parameters...)
		// The API would hold the schema to rules of its own unless told not to.
		e.b = append(e.b, `,"strict":false}`...)
	}
	e.b = append(e.b, ']')
}

// item separates an item from the one before.
func (e *encoder) item() {
	if e.some {
		e.b = append(e.b, ',')
	}
	e.some = true
}

func (e *encoder) message(all []llm.Message, i int) {
	msg := all[i]
	switch msg.Role {
	case llm.User:
		e.user(msg.Parts)
	case llm.Assistant:
		var results []llm.Part
		if i+1 < len(all) && all[i+1].Role == llm.Results {
			results = all[i+1].Parts
		}
		e.assistant(msg.Parts, i, results)
	}
	// Results are written behind the calls that they answer.
}

// user writes a person's message as one string; as parts only when media go
// along.
func (e *encoder) user(parts []llm.Part) {
	words := wire.UserText(parts, e.shows)
	blank := strings.TrimSpace(words) == ""
	if !e.anyShown(parts) {
		if !blank {
			e.plain(words)
		}
		return
	}
	e.item()
	e.b = append(e.b, `{"type":"message","role":"user","content":[`...)
	if !blank {
		e.text(words)
	}
	e.media(parts, !blank)
	e.b = append(e.b, `]}`...)
}

// plain writes a person's message of one string.
func (e *encoder) plain(words string) {
	e.item()
	e.b = append(e.b, `{"type":"message","role":"user","content":`...)
	e.b = append(jsonstring.Append(e.b, words), '}')
}

func (e *encoder) anyShown(parts []llm.Part) bool {
	for _, p := range parts {
		if p.Kind == llm.KindMedia && e.shows(p.Media) {
			return true
		}
	}
	return false
}

func (e *encoder) text(words string) {
	e.b = append(e.b, `{"type":"input_text","text":`...)
	e.b = append(jsonstring.Append(e.b, words), '}')
}

// media writes the images and files among parts; more says that a part stands
// before them.
func (e *encoder) media(parts []llm.Part, more bool) {
	for _, p := range parts {
		if p.Kind != llm.KindMedia || !e.shows(p.Media) {
			continue
		}
		if more {
			e.b = append(e.b, ',')
		}
		more = true
		if p.Media.MIME == wire.PDF {
			e.b = append(e.b, `{"type":"input_file","filename":`...)
			e.b = jsonstring.Append(e.b, fileName(p.Media.Name))
			e.b = append(e.b, `,"file_data":"data:`...)
		} else {
			e.b = append(e.b, `{"type":"input_image","detail":"auto","image_url":"data:`...)
		}
		e.b = append(e.b, p.Media.MIME...)
		e.b = append(e.b, `;base64,`...)
		e.b = base64.StdEncoding.AppendEncode(e.b, p.Media.Data)
		e.b = append(e.b, `"}`...)
	}
}

// fileName is never empty, which the API would refuse.
func fileName(name string) string {
	if name == "" {
		return "file.pdf"
	}
	return name
}

// assistant writes a reply, item by item, and exactly one result for each of
// its calls. at is its place in the transcript.
func (e *encoder) assistant(parts []llm.Part, at int, results []llm.Part) {
	e.thoughts, e.open = e.thoughts[:0], e.open[:0]
	said := false
	for _, p := range parts {
		switch p.Kind {
		case llm.KindText:
			words := p.Text
			if said {
				words = strings.TrimPrefix(words, between)
			}
			if strings.TrimSpace(words) != "" {
				e.words(words, phaseOf(p, e.form.Vendor))
				said = true
			}
		case llm.KindMedia:
			if p.Media != nil {
				e.words(wire.MadeNote(p.Media), "")
			}
		case llm.KindReasoning:
			if t, ok := thoughtOf(p, e.form.Vendor); ok && e.form.Sealed && !e.form.Bare {
				e.thoughts = append(e.thoughts, t)
			}
		case llm.KindCall:
			if p.Call != nil {
				e.call(p.Call, at)
			}
		}
	}
	n := 0
	for _, p := range parts {
		if p.Kind == llm.KindCall && p.Call != nil {
			e.result(e.open[n], wire.ResultOf(results, p.Call.ID, n))
			n++
		}
	}
	if made := wire.Made(parts, e.shows); len(made) > 0 {
		e.user(append([]llm.Part{llm.Text(wire.MadeBefore)}, made...))
	}
}

// lead writes the thoughts that led to the item that follows.
func (e *encoder) lead() {
	for _, t := range e.thoughts {
		if e.thought[t.ID] {
			continue
		}
		if t.ID != "" {
			if e.thought == nil {
				e.thought = map[string]bool{}
			}
			e.thought[t.ID] = true
		}
		e.item()
		e.b = t.appendTo(e.b)
	}
	e.thoughts = e.thoughts[:0]
	e.item()
}

// words writes a message of the model's. It has no name: one would tie it to
// the thoughts that the server remembers of it, and it remembers none.
func (e *encoder) words(words, phase string) {
	e.lead()
	e.b = append(e.b, `{"type":"message","role":"assistant","content":`...)
	e.b = jsonstring.Append(e.b, words)
	if phase != "" {
		e.b = append(e.b, `,"phase":`...)
		e.b = jsonstring.Append(e.b, phase)
	}
	e.b = append(e.b, '}')
}

// maxID is how long the API lets the id of a call be.
const maxID = 64

func (e *encoder) call(c *llm.ToolCall, at int) {
	e.lead()
	id := e.ids.Of(c.ID, maxID, at, len(e.open))
	e.open = append(e.open, id)
	e.b = append(e.b, `{"type":"function_call","call_id":`...)
	e.b = jsonstring.Append(e.b, id)
	e.b = append(e.b, `,"name":`...)
	e.b = jsonstring.Append(e.b, e.names.Sent(c.Name))
	e.b = append(e.b, `,"arguments":`...)
	e.b = append(jsonstring.Append(e.b, wire.Arguments(c.Arguments)), '}')
}

// result writes the result of the call that goes by id, with its images inside;
// r may be nil.
func (e *encoder) result(id string, r *llm.ToolResult) {
	e.item()
	e.b = append(e.b, `{"type":"function_call_output","call_id":`...)
	e.b = jsonstring.Append(e.b, id)
	e.b = append(e.b, `,"output":`...)
	words := wire.ResultText(r, e.shows, true)
	if r != nil && e.anyShown(r.Content) {
		e.b = append(e.b, '[')
		e.text(words)
		e.media(r.Content, true)
		e.b = append(e.b, `]}`...)
		return
	}
	e.b = append(jsonstring.Append(e.b, words), '}')
}
