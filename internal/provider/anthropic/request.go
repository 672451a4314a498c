package anthropic

import (
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/goclaw/goclaw/internal/lib/jsonstring"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/provider"
)

// cacheMark on a block has the API keep all that stands before it and the block
// itself, for a request that begins in the same way. There may be four.
const cacheMark = `,"cache_control":{"type":"ephemeral"}`

// What the API wants to stand where a transcript has nothing: it begins and
// ends with a person's message, and calls are only taken beside tools.
const (
	beginning = "The conversation begins with your message below."
	goOn      = "Go on."
	noTools   = `,"tools":[{"name":"none","description":"There are no tools.","input_schema":{"type":"object"}}]`
)

// encode is the body of the request. Equal requests give equal bytes, in the
// order in which the API's cache sees them: tools, the system's texts, messages.
//
// The cache is marked behind the tools, behind the static prompt and at the end
// of the messages. The last mark wanders: what one request writes there, the
// next one finds because it marks the same place again, and looking back from
// its own end doesn't reach further than 20 blocks.
func encode(req *llm.Request, f form) ([]byte, error) {
	settings, err := f.encode()
	if err != nil {
		return nil, fmt.Errorf("encode settings: %w", err)
	}
	shows := wire.Takes(req.Target)
	if req, err = wire.Fit(req, shows, room); err != nil {
		return nil, err
	}
	e := &encoder{b: make([]byte, 0, wire.SizeOf(req)), shows: shows, names: names.Names(req.Tools), bare: f.bare, before: -1}
	e.b = append(e.b, `{"stream":true,`...)
	e.b = append(e.b, settings[1:len(settings)-1]...)
	barred := e.tools(req)
	e.system(req.Static, req.Session)
	e.b = append(e.b, `,"messages":[`...)
	for i := range req.Messages {
		e.message(req.Messages, i)
	}
	e.finish()
	e.b = append(e.b, ']')
	switch {
	case barred:
		e.b = append(e.b, `,"tool_choice":{"type":"none"}`...)
	case req.Choice == llm.ChoiceRequired && len(req.Tools) > 0 && (f.thinking == "" || f.thinking == thinkDisabled):
		e.force(req.Only) // a model that thinks can't be made to call
	}
	return append(e.b, '}'), nil
}

// force has the model call a tool, this one where it is named.
func (e *encoder) force(name string) {
	if name == "" {
		e.b = append(e.b, `,"tool_choice":{"type":"any"}`...)
		return
	}
	e.b = append(e.b, `,"tool_choice":{"type":"tool","name":`...)
	e.b = append(jsonstring.Append(e.b, e.names.Sent(name)), '}')
}

// room is what goes along of images and files. The API takes requests of 32 MB,
// of which base64 takes a fourth, and at least 100 images, but holds each to
// 2000 by 2000 pixels when there are more than 20.
var room = wire.Room{Count: 20, Bytes: 20 << 20}

type encoder struct {
	b     []byte
	shows wire.Shown
	names wire.Names
	bare  bool
	ids   wire.IDs

	role   llm.Role // of the message that is being written; "" before the first
	end    int      // where the last block of the last person's message ends, before its brace
	before int      // the same for the one before the last reply; -1 when there is none
}

// tools writes the tools and reports whether their use is forbidden.
func (e *encoder) tools(req *llm.Request) (barred bool) {
	if len(req.Tools) == 0 {
		if !slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return len(m.Calls()) > 0 }) {
			return false
		}
		e.b = append(e.b, noTools...)
		return true
	}
	e.b = append(e.b, `,"tools":[`...)
	for i, t := range req.Tools {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.b = append(e.b, `{"name":`...)
		e.b = jsonstring.Append(e.b, e.names.Sent(t.Name))
		if t.Description != "" {
			e.b = append(e.b, `,"description":`...)
			e.b = jsonstring.Append(e.b, t.Description)
		}
		e.b = append(e.b, `,"input_schema":`...)
		e.b = append(e.b, t.Parameters...)
		if i == len(req.Tools)-1 {
			e.b = append(e.b, cacheMark...)
		}
		e.b = append(e.b, '}')
	}
	e.b = append(e.b, ']')
	return req.Choice == llm.ChoiceNone
}

// system writes the static prompt and what holds for the session as blocks of
// their own, so that sessions share what is cached of the former.
func (e *encoder) system(static, session string) {
	if wire.Blank(static) && wire.Blank(session) {
		return
	}
	e.b = append(e.b, `,"system":[`...)
	if !wire.Blank(static) {
		e.b = append(e.b, `{"type":"text","text":`...)
		e.b = append(jsonstring.Append(e.b, static), cacheMark...)
		e.b = append(e.b, '}')
	}
	if !wire.Blank(session) {
		if !wire.Blank(static) {
			e.b = append(e.b, ',')
		}
		e.b = append(e.b, `{"type":"text","text":`...)
		e.b = append(jsonstring.Append(e.b, session), '}')
	}
	e.b = append(e.b, ']')
}

// block opens a block in a message of role, which goes on when the one before
// has the same: roles alternate.
func (e *encoder) block(role llm.Role) {
	switch {
	case e.role == role:
		e.b = append(e.b, ',')
		return
	case e.role == "" && role == llm.Assistant:
		e.text(llm.User, beginning)
	}
	if e.role != "" {
		e.b = append(e.b, `]},`...)
	}
	if role == llm.Assistant {
		e.before = e.end
	}
	e.role = role
	e.b = append(e.b, `{"role":"`...)
	e.b = append(e.b, role...)
	e.b = append(e.b, `","content":[`...)
}

// closeBlock closes a block.
func (e *encoder) closeBlock() {
	if e.role == llm.User {
		e.end = len(e.b)
	}
	e.b = append(e.b, '}')
}

func (e *encoder) text(role llm.Role, text string) {
	e.block(role)
	e.textPart(text)
	e.closeBlock()
}

// textPart writes a text without the brace that closes it.
func (e *encoder) textPart(text string) {
	e.b = append(e.b, `{"type":"text","text":`...)
	e.b = jsonstring.Append(e.b, text)
}

// finish ends the messages and marks the ends of the last two that are a
// person's.
func (e *encoder) finish() {
	if e.role != llm.User {
		e.text(llm.User, goOn)
	}
	e.b = append(e.b, `]}`...)
	e.b = slices.Insert(e.b, e.end, []byte(cacheMark)...)
	if e.before >= 0 {
		e.b = slices.Insert(e.b, e.before, []byte(cacheMark)...)
	}
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
		e.assistant(msg, i, results)
	}
	// Results are written behind the calls that they answer.
}

// user writes a person's message: images first, as the API advises, and all
// text in one block.
func (e *encoder) user(parts []llm.Part) {
	e.blocks(parts)
	if words := wire.UserText(parts, e.shows); !wire.Blank(words) {
		e.text(llm.User, words)
	}
}

// sends reports whether p is an image or a file that goes along.
func (e *encoder) sends(p llm.Part) bool { return p.Kind == llm.KindMedia && e.shows(p.Media) }

// blocks writes the images and files among parts as a person's.
func (e *encoder) blocks(parts []llm.Part) {
	for _, p := range parts {
		if e.sends(p) {
			e.block(llm.User)
			e.media(p.Media)
			e.closeBlock()
		}
	}
}

// media writes an image or a file without the brace that closes it.
func (e *encoder) media(m *llm.Media) {
	kind := "image"
	if wire.IsFile(m) {
		kind = "document"
	}
	e.b = append(e.b, `{"type":"`...)
	e.b = append(e.b, kind...)
	e.b = append(e.b, `","source":{"type":"base64","media_type":"`...)
	e.b = append(e.b, m.MIME...)
	e.b = append(e.b, `","data":"`...)
	e.b = base64.StdEncoding.AppendEncode(e.b, m.Data)
	e.b = append(e.b, `"}`...)
}

// assistant writes a reply and, when it has calls, exactly one result for each
// of them. at is its place in the transcript.
func (e *encoder) assistant(msg llm.Message, at int, results []llm.Part) {
	var calls []call
	for _, p := range said(msg.Parts) {
		switch p.Kind {
		case llm.KindText:
			if !wire.Blank(p.Text) {
				e.text(llm.Assistant, p.Text)
			}
		case llm.KindMedia:
			if p.Media != nil {
				e.text(llm.Assistant, wire.MadeNote(p.Media))
			}
		case llm.KindReasoning:
			if t, ok := thoughtOf(p); ok && !e.bare {
				e.block(llm.Assistant)
				e.b = t.appendTo(e.b)
			}
		case llm.KindCall:
			if p.Call != nil {
				c := call{id: e.ids.Of(p.Call.ID, maxID, at, len(calls)), result: wire.ResultOf(results, p.Call.ID, len(calls))}
				calls = append(calls, c)
				e.call(c.id, p.Call)
			}
		}
	}
	var failed []llm.Part // images and files of failures
	for _, c := range calls {
		e.result(c)
		if c.result != nil && c.result.IsError {
			failed = append(failed, c.result.Content...)
		}
	}
	if slices.ContainsFunc(failed, e.sends) {
		e.text(llm.User, imagesOfFailures)
		e.blocks(failed)
	}
	if made := wire.Made(msg.Parts, e.shows); len(made) > 0 {
		e.text(llm.User, wire.MadeBefore)
		e.blocks(made)
	}
}

// said is the parts of a reply up to the last one that says or calls something:
// a message may not end with thinking.
func said(parts []llm.Part) []llm.Part {
	for i := len(parts) - 1; i >= 0; i-- {
		p := parts[i]
		if p.Kind == llm.KindText && !wire.Blank(p.Text) || p.Kind == llm.KindCall && p.Call != nil || p.Kind == llm.KindMedia && p.Media != nil {
			return parts[:i+1]
		}
	}
	return nil
}

// names is what the API lets the name of a tool be.
var names = provider.Names["anthropic"]

// call is a call that was written and waits for its result.
type call struct {
	id     string
	result *llm.ToolResult // nil when there is none
}

// maxID is how long the id of a call may be.
const maxID = 64

func (e *encoder) call(id string, c *llm.ToolCall) {
	e.block(llm.Assistant)
	e.b = append(e.b, `{"type":"tool_use","id":`...)
	e.b = jsonstring.Append(e.b, id)
	e.b = append(e.b, `,"name":`...)
	e.b = jsonstring.Append(e.b, e.names.Sent(c.Name))
	e.b = append(e.b, `,"input":`...)
	e.b = append(e.b, wire.Arguments(c.Arguments)...)
	e.closeBlock()
}

// imagesOfFailures stands before what the results of failed calls brought along:
// the API takes nothing but text in them ("all content must be type `text` if
// `is_error` is true").
const imagesOfFailures = "Images from the failed calls above:"

// result writes the result of a call, with its images inside unless it failed.
func (e *encoder) result(c call) {
	e.block(llm.User)
	e.b = append(e.b, `{"type":"tool_result","tool_use_id":`...)
	e.b = jsonstring.Append(e.b, c.id)
	if c.result == nil || c.result.IsError {
		e.b = append(e.b, `,"is_error":true`...)
	}
	e.b = append(e.b, `,"content":[`...)
	e.textPart(wire.ResultText(c.result, e.shows, false))
	e.b = append(e.b, '}')
	if c.result != nil && !c.result.IsError {
		for _, p := range c.result.Content {
			if e.sends(p) {
				e.b = append(e.b, ',')
				e.media(p.Media)
				e.b = append(e.b, '}')
			}
		}
	}
	e.b = append(e.b, ']')
	e.closeBlock()
}
