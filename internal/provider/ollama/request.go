package ollama

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/goclaw/goclaw/internal/lib/jsonstring"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/provider"
)

// imagesOfTools stands before images that tools returned: the prompts of many
// models show images of a person's messages only.
const imagesOfTools = "Images from the tool results above:"

// encode is the body of the request. Equal requests give equal bytes, and a
// session's next request begins with the bytes of the one before: settings,
// tools, then the messages, which is also the order in which the models' prompts
// have them. That is why it is not left to the official types, which put the
// messages first, and read arguments into values that lose digits.
//
// The wire has no way to forbid tools that are there, and without them the
// prompt would begin in another way, so that the server had to read all of it
// again: they stay, and the host's words in the messages say that they are not
// to be called.
func encode(req *llm.Request, f form) ([]byte, error) {
	settings, err := f.encode()
	if err != nil {
		return nil, fmt.Errorf("encode settings: %w", err)
	}
	shows := shows(req.Target.Images)
	if req, err = wire.Fit(req, shows, room); err != nil {
		return nil, err
	}
	e := &encoder{b: make([]byte, 0, wire.SizeOf(req)), shows: shows, names: names.Names(req.Tools)}
	e.b = append(e.b, settings[:len(settings)-1]...)
	e.tools(req.Tools)
	e.b = append(e.b, `,"messages":[`...)
	e.system(req.Static, req.Session)
	for i := range req.Messages {
		e.message(req.Messages, i)
	}
	return append(e.b, ']', '}'), nil
}

// room is what goes along of images. Ollama documents no limit; the windows of
// models that run at home hold no more, and each request sends them again.
var room = wire.Room{Bytes: 20 << 20}

// shows tells which media go along, to models that take images: those that the
// server can decode.
func shows(on bool) wire.Shown {
	images := wire.Pictures(on)
	return func(m *llm.Media) bool { return images(m) && m.MIME != "image/gif" }
}

type encoder struct {
	b     []byte
	shows wire.Shown
	names wire.Names
	some  bool // a message was written
	ids   wire.IDs
	open  []string // the ids of the calls that wait for their results
}

func (e *encoder) tools(specs []llm.ToolSpec) {
	if len(specs) == 0 {
		return
	}
	e.b = append(e.b, `,"tools":[`...)
	for i, t := range specs {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.b = append(e.b, `{"type":"function","function":{"name":`...)
		e.b = jsonstring.Append(e.b, e.names.Sent(t.Name))
		e.b = append(e.b, `,"description":`...)
		e.b = jsonstring.Append(e.b, t.Description)
		e.b = append(e.b, `,"parameters":`...)
		e.b = append(e.b, t.Parameters...)
		e.b = append(e.b, `}}`...)
	}
	e.b = append(e.b, ']')
}

// begin opens a message.
func (e *encoder) begin(role, content string) {
	if e.some {
		e.b = append(e.b, ',')
	}
	e.some = true
	e.b = append(e.b, `{"role":"`...)
	e.b = append(e.b, role...)
	e.b = append(e.b, `","content":`...)
	e.b = jsonstring.Append(e.b, content)
}

// plain writes a message of nothing but text.
func (e *encoder) plain(role, content string) {
	e.begin(role, content)
	e.b = append(e.b, '}')
}

// system writes one message: the prompts of many models have room for one.
func (e *encoder) system(static, session string) {
	switch {
	case wire.Blank(static) && wire.Blank(session):
	case wire.Blank(static) || wire.Blank(session):
		e.plain("system", static+session)
	default:
		e.plain("system", static+"\n\n"+session)
	}
}

func (e *encoder) message(all []llm.Message, i int) {
	msg := all[i]
	switch msg.Role {
	case llm.User:
		e.user(wire.UserText(msg.Parts, e.shows), msg.Parts)
	case llm.Assistant:
		var results []llm.Part
		if i+1 < len(all) && all[i+1].Role == llm.Results {
			results = all[i+1].Parts
		}
		e.assistant(msg, i, results)
	}
	// Results are written behind the calls that they answer.
}

// user writes a person's message with the images among parts.
func (e *encoder) user(words string, parts []llm.Part) {
	pictures := 0
	for _, p := range parts {
		if p.Kind != llm.KindMedia || !e.shows(p.Media) {
			continue
		}
		if pictures++; pictures == 1 {
			e.begin("user", words)
			e.b = append(e.b, `,"images":[`...)
		} else {
			e.b = append(e.b, ',')
		}
		e.b = append(e.b, '"')
		e.b = base64.StdEncoding.AppendEncode(e.b, p.Media.Data)
		e.b = append(e.b, '"')
	}
	switch {
	case pictures > 0:
		e.b = append(e.b, `]}`...)
	case !wire.Blank(words):
		e.plain("user", words)
	}
}

// names is what goes as the name of a function unchanged.
var names = provider.Names[vendor]

// maxID is how long we let the id of a call be; the server takes any.
const maxID = 64

// assistant writes a reply and, when it has calls, exactly one result for each
// of them. at is its place in the transcript.
func (e *encoder) assistant(msg llm.Message, at int, results []llm.Part) {
	words := wire.ReplyText(msg.Parts)
	calls := 0
	for _, p := range msg.Parts {
		if p.Kind != llm.KindCall || p.Call == nil {
			continue
		}
		if calls == 0 {
			e.begin("assistant", words)
			e.thinking(msg.Parts)
			e.b = append(e.b, `,"tool_calls":[`...)
		} else {
			e.b = append(e.b, ',')
		}
		e.call(p.Call, at, calls)
		calls++
	}
	switch {
	case calls > 0:
		e.b = append(e.b, `]}`...)
		e.results(msg, results)
	case !wire.Blank(words): // an empty reply tells a model nothing
		e.plain("assistant", words)
	}
	if made := wire.Made(msg.Parts, e.shows); len(made) > 0 {
		e.user(wire.MadeBefore, made)
	}
}

// thinking writes what the model thought before it called tools, which the API
// wants back: many models are trained to go on from there. What it thought
// before an answer is not said again.
func (e *encoder) thinking(parts []llm.Part) {
	var b strings.Builder
	for _, p := range parts {
		if p.Kind == llm.KindReasoning && p.Opaque != nil && p.Opaque.Vendor == vendor {
			b.WriteString(p.Text)
		}
	}
	if b.Len() > 0 {
		e.b = append(e.b, `,"thinking":`...)
		e.b = jsonstring.Append(e.b, b.String())
	}
}

// call writes the n-th call of a reply.
func (e *encoder) call(c *llm.ToolCall, at, n int) {
	id := e.ids.Of(c.ID, maxID, at, n)
	e.open = append(e.open, id)
	e.b = append(e.b, `{"id":`...)
	e.b = jsonstring.Append(e.b, id)
	e.b = fmt.Appendf(e.b, `,"function":{"index":%d,"name":`, n)
	e.b = jsonstring.Append(e.b, e.names.Sent(c.Name))
	e.b = append(e.b, `,"arguments":`...)
	e.b = append(e.b, wire.Arguments(c.Arguments)...)
	e.b = append(e.b, `}}`...)
}

// results writes one message per call of msg, in the order of the calls, and
// behind them the images that came with any.
func (e *encoder) results(msg llm.Message, results []llm.Part) {
	n := 0
	var shown []llm.Part
	for _, p := range msg.Parts {
		if p.Kind != llm.KindCall || p.Call == nil {
			continue
		}
		r := wire.ResultOf(results, p.Call.ID, n)
		e.begin("tool", wire.ResultText(r, e.shows, true))
		e.b = append(e.b, `,"tool_name":`...)
		e.b = jsonstring.Append(e.b, e.names.Sent(p.Call.Name))
		e.b = append(e.b, `,"tool_call_id":`...)
		e.b = jsonstring.Append(e.b, e.open[n])
		e.b = append(e.b, '}')
		n++
		if r == nil {
			continue
		}
		for _, c := range r.Content {
			if c.Kind == llm.KindMedia && e.shows(c.Media) {
				shown = append(shown, c)
			}
		}
	}
	e.open = e.open[:0]
	if len(shown) > 0 {
		e.user(imagesOfTools, shown)
	}
}
