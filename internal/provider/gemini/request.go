package gemini

import (
	"encoding/base64"
	"encoding/json"

	"google.golang.org/genai"

	"github.com/goclaw/goclaw/internal/lib/jsonstring"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/provider"
)

// What the API wants to stand where a transcript has nothing: it begins and
// ends with a person's message.
const (
	beginning = "The conversation begins with your message below."
	goOn      = "Go on."
)

// The roles of the API. The results of functions are a user's.
const (
	roleUser  = genai.RoleUser
	roleModel = genai.RoleModel
)

// schemaField is the field of a function that takes JSON Schema.
const schemaField = `,"parametersJsonSchema":`

// encode is the body of the request. Equal requests give equal bytes, in the
// order in which the API's cache sees them: tools, the system's texts, contents.
func encode(req *llm.Request, f form) ([]byte, error) {
	shows := shows(req.Target)
	req, err := wire.Fit(req, shows, room)
	if err != nil {
		return nil, err
	}
	e := &encoder{b: make([]byte, 0, wire.SizeOf(req)), shows: shows, names: names.Names(req.Tools), form: f}
	e.b = append(e.b, '{')
	if c := f.settings(); c != nil {
		e.sdk(`"generationConfig":`, c)
		e.b = append(e.b, ',')
	}
	e.tools(req.Tools)
	if !f.spoken {
		e.system(req.Static, req.Session)
	}
	e.b = append(e.b, `"contents":[`...)
	if f.spoken {
		for _, text := range []string{req.Static, req.Session} {
			if !wire.Blank(text) {
				e.text(roleUser, text)
			}
		}
	}
	for i := range req.Messages {
		e.message(req.Messages, i)
	}
	if e.role != roleUser {
		e.text(roleUser, goOn)
	}
	e.b = append(e.b, `]}]`...)
	if len(req.Tools) > 0 {
		e.choice(req)
	}
	return append(e.b, '}'), nil
}

// choice says whether the model may call functions, or has to.
func (e *encoder) choice(req *llm.Request) {
	c := &genai.FunctionCallingConfig{}
	switch req.Choice {
	case llm.ChoiceNone:
		c.Mode = genai.FunctionCallingConfigModeNone
	case llm.ChoiceRequired:
		c.Mode = genai.FunctionCallingConfigModeAny
		if req.Only != "" {
			c.AllowedFunctionNames = []string{e.names.Sent(req.Only)}
		}
	default:
		return
	}
	e.sdk(`,"toolConfig":`, &genai.ToolConfig{FunctionCallingConfig: c})
}

// shows tells which media go along, of those that the target takes: GIF images
// the API doesn't document, and a file may be larger than what has room in all.
func shows(t llm.Target) wire.Shown {
	takes := wire.Takes(t)
	return func(m *llm.Media) bool { return takes(m) && m.MIME != "image/gif" && m.Bytes() <= room.Bytes }
}

// room is what goes along of images and files: a request with its inline data may
// have 20 MB, of which base64 takes a fourth.
// https://ai.google.dev/gemini-api/docs/image-understanding
var room = wire.Room{Bytes: 14 << 20}

type encoder struct {
	b     []byte
	shows wire.Shown
	names wire.Names
	form  form
	ids   map[string]bool // of the calls written so far

	role   string // of the content that is being written; "" before the first
	called bool   // it has a call
}

// sdk writes a value of the SDK's types, which have no content that can't be
// written. What a transcript holds isn't written so: its types read and write
// arguments by way of maps, which changes their bytes.
func (e *encoder) sdk(key string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	e.b = append(append(e.b, key...), b...)
}

func (e *encoder) tools(tools []llm.ToolSpec) {
	if len(tools) == 0 {
		return
	}
	e.b = append(e.b, `"tools":[{"functionDeclarations":[`...)
	for i, t := range tools {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.b = append(e.b, `{"name":`...)
		e.b = jsonstring.Append(e.b, e.names.Sent(t.Name))
		if t.Description != "" {
			e.b = append(e.b, `,"description":`...)
			e.b = jsonstring.Append(e.b, t.Description)
		}
		e.b = append(append(e.b, schemaField...), t.Parameters...)
		e.b = append(e.b, '}')
	}
	e.b = append(e.b, `]}],`...)
}

// system writes the static prompt and what holds for the session as parts of
// their own.
func (e *encoder) system(static, session string) {
	if wire.Blank(static) && wire.Blank(session) {
		return
	}
	e.b = append(e.b, `"systemInstruction":{"parts":[`...)
	for _, text := range []string{static, session} {
		if !wire.Blank(text) {
			e.b = jsonstring.Append(append(e.b, `{"text":`...), text)
			e.b = append(e.b, `},`...)
		}
	}
	e.b[len(e.b)-1] = ']'
	e.b = append(e.b, `},`...)
}

// part opens a part of a content of role, which goes on when the one before has
// the same: roles alternate.
func (e *encoder) part(role string) {
	switch {
	case e.role == role:
		e.b = append(e.b, `,{`...)
		return
	case e.role == "" && role == roleModel:
		e.text(roleUser, beginning)
	}
	if e.role != "" {
		e.b = append(e.b, `]},`...)
	}
	e.role, e.called = role, false
	e.b = append(append(append(e.b, `{"role":"`...), role...), `","parts":[{`...)
}

func (e *encoder) text(role, text string) {
	e.part(role)
	e.b = jsonstring.Append(append(e.b, `"text":`...), text)
	e.b = append(e.b, '}')
}

// close ends a part of the model's with its signature.
func (e *encoder) close(signature string) {
	if signature != "" {
		e.b = jsonstring.Append(append(e.b, `,"thoughtSignature":`...), signature)
	}
	e.b = append(e.b, '}')
}

// media writes a part's image or file.
func (e *encoder) media(m *llm.Media) {
	e.b = append(append(append(e.b, `"inlineData":{"mimeType":"`...), m.MIME...), `","data":"`...)
	e.b = base64.StdEncoding.AppendEncode(e.b, m.Data)
	e.b = append(e.b, `"}`...)
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
		e.assistant(msg.Parts, results)
	}
	// Results are written behind the calls that they answer.
}

// user writes a person's message: media first, as the API advises, and all text
// in one part.
func (e *encoder) user(parts []llm.Part) {
	e.pictures(parts)
	if words := wire.UserText(parts, e.shows); !wire.Blank(words) {
		e.text(roleUser, words)
	}
}

func (e *encoder) pictures(parts []llm.Part) {
	for _, p := range parts {
		if p.Kind == llm.KindMedia && e.shows(p.Media) {
			e.part(roleUser)
			e.media(p.Media)
			e.b = append(e.b, '}')
		}
	}
}

// call is a call that was written and waits for its result.
type call struct {
	id, name string
	result   *llm.ToolResult // nil when there is none
}

// assistant writes a reply and, when it has calls, exactly one result for each
// of them, all in one content behind it. Images that another vendor's model
// made are shown by a person.
func (e *encoder) assistant(parts, results []llm.Part) {
	if !e.says(parts) {
		return
	}
	var calls []call
	var made []llm.Part
	for _, p := range parts {
		k := keptOf(p)
		if e.form.bare {
			k.signature = ""
		}
		switch {
		case p.Kind == llm.KindCall && p.Call != nil:
			c := call{id: e.id(k.id), name: p.Call.Name, result: wire.ResultOf(results, p.Call.ID, len(calls))}
			calls = append(calls, c)
			e.call(c, p.Call.Arguments, k.signature)
		case p.Kind == llm.KindMedia && p.Media != nil && (k.signature == "" || !e.shows(p.Media)):
			e.text(roleModel, wire.MadeNote(p.Media))
			made = append(made, p)
		default:
			e.said(p, k.signature)
		}
	}
	e.results(calls)
	if made = wire.Made(made, e.shows); len(made) > 0 {
		e.text(roleUser, wire.MadeBefore)
		e.pictures(made)
	}
}

// said writes what a reply says in a part, with its signature: thoughts and
// images only go back with one.
func (e *encoder) said(p llm.Part, signature string) {
	switch {
	case p.Kind == llm.KindText && (signature != "" || !wire.Blank(p.Text)):
		e.part(roleModel)
		e.b = jsonstring.Append(append(e.b, `"text":`...), p.Text)
	case p.Kind == llm.KindReasoning && signature != "":
		e.part(roleModel)
		e.b = jsonstring.Append(append(e.b, `"text":`...), p.Text)
		e.b = append(e.b, `,"thought":true`...)
	case p.Kind == llm.KindMedia && p.Media != nil:
		e.part(roleModel)
		e.media(p.Media)
	default:
		return
	}
	e.close(signature)
}

// results writes the results of calls, and behind them their images where the
// model doesn't take them within.
func (e *encoder) results(calls []call) {
	for _, c := range calls {
		e.result(c)
	}
	if e.form.pictures {
		return
	}
	for _, c := range calls {
		if c.result != nil {
			e.pictures(c.result.Content)
		}
	}
}

// says reports whether a reply holds anything but thoughts, which make no
// content of their own.
func (e *encoder) says(parts []llm.Part) bool {
	for _, p := range parts {
		switch {
		case p.Kind == llm.KindText && !wire.Blank(p.Text), p.Kind == llm.KindCall && p.Call != nil,
			p.Kind == llm.KindMedia && p.Media != nil:
			return true
		}
	}
	return false
}

// id is the id of a call as it is sent: the server's own, once. A call that it
// gave none is known by its place.
func (e *encoder) id(id string) string {
	if id == "" || e.ids[id] {
		return ""
	}
	if e.ids == nil {
		e.ids = map[string]bool{}
	}
	e.ids[id] = true
	return id
}

// names is what the API lets the name of a function be.
var names = provider.Names["gemini"]

// call writes a call. The first of a content has to have a signature.
func (e *encoder) call(c call, args, signature string) {
	e.part(roleModel)
	e.b = append(e.b, `"functionCall":{`...)
	e.named(c)
	e.b = append(append(e.b, `,"args":`...), wire.Arguments(args)...)
	e.b = append(e.b, '}')
	if signature == "" && e.form.marks && !e.called {
		signature = skipSignature
	}
	e.called = true
	e.close(signature)
}

func (e *encoder) named(c call) {
	if c.id != "" {
		e.b = jsonstring.Append(append(e.b, `"id":`...), c.id)
		e.b = append(e.b, ',')
	}
	e.b = jsonstring.Append(append(e.b, `"name":`...), e.names.Sent(c.name))
}

// result writes the result of a call, with its images inside where the model
// takes them there.
func (e *encoder) result(c call) {
	e.part(roleUser)
	e.b = append(e.b, `"functionResponse":{`...)
	e.named(c)
	key := `,"response":{"output":`
	if c.result == nil || c.result.IsError {
		key = `,"response":{"error":`
	}
	e.b = jsonstring.Append(append(e.b, key...), wire.ResultText(c.result, e.shows, false))
	e.b = append(e.b, '}')
	if c.result != nil && e.form.pictures {
		open := `,"parts":[{`
		for _, p := range c.result.Content {
			if p.Kind == llm.KindMedia && e.shows(p.Media) {
				e.b = append(e.b, open...)
				e.media(p.Media)
				e.b = append(e.b, '}')
				open = `,{`
			}
		}
		if open == `,{` {
			e.b = append(e.b, ']')
		}
	}
	e.b = append(e.b, `}}`...)
}
