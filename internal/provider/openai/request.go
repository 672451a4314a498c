package openai

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/goclaw/goclaw/internal/lib/jsonstring"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/provider"
)

// imagesOfTools stands before images and files that tools returned, since tool
// messages hold text only.
const imagesOfTools = "Images from the tool results above:"

// room is what OpenAI takes of images and files in one request (50 MB of
// payload, of which base64 takes a third; 500 images), and less of images:
// most other servers of this wire take fewer.
var room = wire.Room{Count: 50, Bytes: 30 << 20}

// encode is the body of the request. Equal requests give equal bytes; what
// grows comes last, so that a session's next request begins with the bytes of
// the one before: settings, tools, then the messages, and behind them only
// what may differ from call to call. That order is why the body is not left to
// the SDK, whose types put the messages first.
func (m *Model) encode(req *llm.Request, d dialect) ([]byte, error) {
	head, err := m.head.of(keyOf(req, d), func() ([]byte, error) { return settings(req, d) })
	if err != nil {
		return nil, fmt.Errorf("encode settings: %w", err)
	}
	shows := wire.Takes(req.Target)
	if req, err = wire.Fit(req, shows, room); err != nil {
		return nil, err
	}
	e := &encoder{
		b: make([]byte, 0, wire.SizeOf(req)), shows: shows, names: d.names().Names(req.Tools),
		dialect: d, echoes: d.echoes(req),
	}
	e.b = append(e.b, `{"stream":true`...)
	if inner := head[1 : len(head)-1]; len(inner) > 0 {
		e.b = append(append(e.b, ','), inner...)
	}
	if len(req.Tools) > 0 {
		e.tools(req.Tools)
	}
	e.b = append(e.b, `,"messages":[`...)
	e.system(req.Static, req.Session)
	for i := range req.Messages {
		e.message(req.Messages, i)
	}
	e.b = append(e.b, ']')
	if len(req.Tools) > 0 && !d.refuses(refusedChoice) {
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
		e.b = append(e.b, `,"tool_choice":{"type":"function","function":{"name":`...)
		e.b = append(jsonstring.Append(e.b, e.names.Sent(req.Only)), `}}`...)
	case req.Choice == llm.ChoiceRequired:
		e.b = append(e.b, `,"tool_choice":"required"`...)
	}
}

// head remembers the settings that were encoded last: they rarely change from
// one call to the next. K is what they depend on. The zero value is ready.
type head[K comparable] struct {
	last atomic.Pointer[encodedSettings[K]]
}

type encodedSettings[K comparable] struct {
	key  K
	json []byte
}

func (h *head[K]) of(key K, encode func() ([]byte, error)) ([]byte, error) {
	if last := h.last.Load(); last != nil && last.key == key {
		return last.json, nil
	}
	encoded, err := encode()
	if err != nil {
		return nil, err
	}
	h.last.Store(&encodedSettings[K]{key, encoded})
	return encoded, nil
}

// settingsKey is what the encoded settings depend on.
type settingsKey struct {
	dialect     dialect
	model       string
	maxOutput   int
	temperature float64
	tempered    bool
	reasoning   string
	tools       bool
}

func keyOf(req *llm.Request, d dialect) settingsKey {
	key := settingsKey{
		dialect: d, model: req.Target.Model, maxOutput: req.MaxOutput, tempered: req.Temperature != nil,
		reasoning: req.Reasoning, tools: len(req.Tools) > 0,
	}
	if key.tempered {
		key.temperature = *req.Temperature
	}
	return key
}

// chatSettings is what a request holds beside tools and messages, of what the
// API has what is set here.
// https://platform.openai.com/docs/api-reference/chat/create
type chatSettings struct {
	Model               string          `json:"model,omitempty"`
	MaxCompletionTokens int             `json:"max_completion_tokens,omitempty"`
	MaxTokens           int             `json:"max_tokens,omitempty"`
	Temperature         *float64        `json:"temperature,omitempty"`
	ReasoningEffort     string          `json:"reasoning_effort,omitempty"`
	StreamOptions       *streamOptions  `json:"stream_options,omitempty"`
	Thinking            *thinkingSwitch `json:"thinking,omitempty"` // DeepSeek's
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type thinkingSwitch struct {
	Type string `json:"type"`
}

// settings encodes what is neither tool nor message.
func settings(req *llm.Request, d dialect) ([]byte, error) {
	p := chatSettings{Model: req.Target.Model}
	known, _ := provider.Lookup(req.Target.Model)
	if d.completionTokens(known) {
		p.MaxCompletionTokens = max(req.MaxOutput, 0)
	} else {
		p.MaxTokens = max(req.MaxOutput, 0)
	}
	p.ReasoningEffort = d.effort(req, known, false)
	if d.tempered(req, known, p.ReasoningEffort) {
		p.Temperature = req.Temperature
	}
	if !d.refuses(refusedUsage) {
		p.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if d.deepseek && req.Reasoning == "off" {
		p.Thinking = &thinkingSwitch{Type: "disabled"}
	}
	return json.Marshal(p)
}

type encoder struct {
	b       []byte
	shows   wire.Shown
	names   wire.Names
	dialect dialect
	echoes  bool
	some    bool   // a message was written
	last    string // its role
	ids     wire.IDs
	open    []string // the ids of the calls that wait for their results
}

func (e *encoder) tools(specs []llm.ToolSpec) {
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

// goOn is the reply between results and a person's words where there has to be
// one.
const goOn = "I have the results."

// begin opens a message.
func (e *encoder) begin(role string) {
	if role == "user" && e.last == "tool" && e.dialect.replies() {
		e.last = ""
		e.plain("assistant", goOn)
	}
	e.last = role
	if e.some {
		e.b = append(e.b, ',')
	}
	e.some = true
	e.b = append(e.b, `{"role":"`...)
	e.b = append(e.b, role...)
	e.b = append(e.b, '"')
}

// plain writes a message of one string.
func (e *encoder) plain(role, content string) {
	e.begin(role)
	e.b = append(e.b, `,"content":`...)
	e.b = jsonstring.Append(e.b, content)
	e.b = append(e.b, '}')
}

func (e *encoder) system(static, session string) {
	switch {
	case static == "" && session == "":
	case static == "" || session == "":
		e.plain("system", static+session)
	default:
		e.plain("system", static+"\n\n"+session)
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
		if made := wire.Made(msg.Parts, e.shows); len(made) > 0 {
			e.withMedia(wire.MadeBefore, made)
		}
	}
	// Results are written behind the calls that they answer.
}

// user writes a person's message as one string; as parts only when images or
// files go along.
func (e *encoder) user(parts []llm.Part) {
	words := wire.UserText(parts, e.shows)
	media := slices.ContainsFunc(parts, func(p llm.Part) bool { return p.Kind == llm.KindMedia && e.shows(p.Media) })
	switch {
	case media:
		e.withMedia(words, parts)
	case strings.TrimSpace(words) != "":
		e.plain("user", words)
	}
}

// withMedia writes a person's message with the images and files among parts.
func (e *encoder) withMedia(words string, parts []llm.Part) {
	e.begin("user")
	e.b = append(e.b, `,"content":[`...)
	some := strings.TrimSpace(words) != ""
	if some {
		e.textPart(words)
	}
	e.media(parts, some)
	e.b = append(e.b, `]}`...)
}

func (e *encoder) textPart(text string) {
	e.b = append(e.b, `{"type":"text","text":`...)
	e.b = jsonstring.Append(e.b, text)
	e.b = append(e.b, '}')
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
		if wire.IsFile(p.Media) {
			e.b = append(e.b, `{"type":"file","file":{"filename":`...)
			e.b = jsonstring.Append(e.b, cmp.Or(p.Media.Name, "file.pdf"))
			e.b = append(e.b, `,"file_data":"data:`...)
		} else {
			e.b = append(e.b, `{"type":"image_url","image_url":{"url":"data:`...)
		}
		e.b = append(e.b, p.Media.MIME...)
		e.b = append(e.b, `;base64,`...)
		e.b = base64.StdEncoding.AppendEncode(e.b, p.Media.Data)
		e.b = append(e.b, `"}}`...)
	}
}

// assistant writes a reply and, when it has calls, exactly one result for each
// of them. at is its place in the transcript.
func (e *encoder) assistant(msg llm.Message, at int, results []llm.Part) {
	words := wire.ReplyText(msg.Parts)
	calls := 0
	for _, p := range msg.Parts {
		if p.Kind == llm.KindCall && p.Call != nil {
			calls++
		}
	}
	if calls == 0 && strings.TrimSpace(words) == "" {
		return // an empty reply is refused by servers and tells a model nothing
	}
	e.begin("assistant")
	e.b = append(e.b, `,"content":`...)
	switch {
	case strings.TrimSpace(words) != "":
		e.b = jsonstring.Append(e.b, words)
	case e.dialect.refuses(refusedNull):
		e.b = append(e.b, `""`...)
	default:
		e.b = append(e.b, "null"...)
	}
	e.reasoning(msg)
	if calls == 0 {
		e.b = append(e.b, '}')
		return
	}
	e.b = append(e.b, `,"tool_calls":[`...)
	n := 0
	for _, p := range msg.Parts {
		if p.Kind != llm.KindCall || p.Call == nil {
			continue
		}
		if n > 0 {
			e.b = append(e.b, ',')
		}
		id := e.id(p.Call.ID, at, n)
		e.open = append(e.open, id)
		e.b = append(e.b, `{"id":`...)
		e.b = jsonstring.Append(e.b, id)
		e.b = append(e.b, `,"type":"function","function":{"name":`...)
		e.b = jsonstring.Append(e.b, e.names.Sent(p.Call.Name))
		e.b = append(e.b, `,"arguments":`...)
		e.b = jsonstring.Append(e.b, wire.Arguments(p.Call.Arguments))
		e.b = append(e.b, '}')
		if data := e.ours(p); data != nil {
			e.b = append(append(e.b, `,"extra_content":`...), data...)
		}
		e.b = append(e.b, '}')
		n++
	}
	e.b = append(e.b, `]}`...)
	e.results(msg, results)
}

// reasoning writes what a server wants back of what a reply was thought of with:
// the text where it insists, and what only it can read.
func (e *encoder) reasoning(msg llm.Message) {
	if e.echoes {
		e.b = append(e.b, `,"reasoning_content":`...)
		e.b = jsonstring.Append(e.b, e.thoughts(msg))
	}
	if e.dialect.refuses(refusedReasoning) {
		return
	}
	for _, p := range msg.Parts {
		if data := e.ours(p); p.Kind == llm.KindReasoning && len(data) > 0 && data[0] == '[' {
			e.b = append(append(e.b, `,"reasoning_details":`...), data...)
			return
		}
	}
}

// thoughts is the text of a reply's reasoning, without another server's.
func (e *encoder) thoughts(msg llm.Message) string {
	var b strings.Builder
	for _, p := range msg.Parts {
		if p.Kind == llm.KindReasoning && p.Opaque != nil && p.Opaque.Vendor == e.dialect.vendor {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// ours is the opaque data of p that this server made.
func (e *encoder) ours(p llm.Part) []byte {
	if p.Opaque == nil || p.Opaque.Vendor != e.dialect.vendor {
		return nil
	}
	return p.Opaque.Data
}

// id is the id of a call as it is sent.
func (e *encoder) id(id string, at, n int) string {
	id = e.ids.Of(id, maxID, at, n)
	if !e.dialect.shortIDs() || len(id) == shortID && !strings.ContainsAny(id, "_-") {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:shortID]
}

// results writes one tool message per call of msg, in the order of the calls.
// Images follow in a person's message, since tool messages hold text only.
func (e *encoder) results(msg llm.Message, results []llm.Part) {
	n := 0
	var shown []llm.Part
	for _, p := range msg.Parts {
		if p.Kind != llm.KindCall || p.Call == nil {
			continue
		}
		e.begin("tool")
		e.b = append(e.b, `,"tool_call_id":`...)
		e.b = jsonstring.Append(e.b, e.open[n])
		e.b = append(e.b, `,"content":`...)
		r := wire.ResultOf(results, p.Call.ID, n)
		e.b = jsonstring.Append(e.b, wire.ResultText(r, e.shows, true))
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
		e.withMedia(imagesOfTools, shown)
	}
}

// maxID is how long OpenAI lets the id of a call be, and shortID how long
// Mistral wants one to be, of letters and digits.
const (
	maxID   = 40
	shortID = 9
)
