package openai

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// What GoClaw writes into a transcript itself. The texts are part of the bytes
// that a provider's cache sees: changing one breaks every cached prefix.
const (
	contextOpen  = "<context>\n"
	contextClose = "\n</context>"

	emptyResult   = "(no output)"
	missingResult = "Error: this call was interrupted; whether it ran is not known."
	errorMark     = "Error: "
	imagesOfTools = "Images from the tool results above:"
)

// encode is the body of the request. Equal requests give equal bytes; what
// grows comes last, so that a session's next request begins with the bytes of
// the one before: settings, tools, then the messages, and behind them only
// what may differ from call to call. That order is why the body is not left to
// the SDK, whose types put the messages first.
func (m *Model) encode(req *llm.Request, d dialect) ([]byte, error) {
	head, err := m.head.of(req, d)
	if err != nil {
		return nil, fmt.Errorf("encode settings: %w", err)
	}
	e := &encoder{b: make([]byte, 0, sizeOf(req)), images: req.Target.Images, dialect: d}
	e.b = append(e.b, `{"stream":true`...)
	if inner := head[1 : len(head)-1]; len(inner) > 0 {
		e.b = append(append(e.b, ','), inner...)
	}
	if len(req.Tools) > 0 {
		e.tools(req.Tools, &m.schemas)
	}
	e.b = append(e.b, `,"messages":[`...)
	e.system(req.Static, req.Session)
	for i := range req.Messages {
		e.message(req.Messages, i)
	}
	e.b = append(e.b, ']')
	if req.Choice == llm.ChoiceNone && len(req.Tools) > 0 && !d.refuses(refusedChoice) {
		e.b = append(e.b, `,"tool_choice":"none"`...)
	}
	return append(e.b, '}'), nil
}

// head remembers the settings that were encoded last: they rarely change from
// one call to the next. The zero value is ready.
type head struct {
	last atomic.Pointer[encodedSettings]
}

type encodedSettings struct {
	key  settingsKey
	json []byte
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

func (h *head) of(req *llm.Request, d dialect) ([]byte, error) {
	key := settingsKey{
		dialect: d, model: req.Target.Model, maxOutput: req.MaxOutput, tempered: req.Temperature != nil,
		reasoning: req.Reasoning, tools: len(req.Tools) > 0,
	}
	if key.tempered {
		key.temperature = *req.Temperature
	}
	if last := h.last.Load(); last != nil && last.key == key {
		return last.json, nil
	}
	encoded, err := settings(req, d)
	if err != nil {
		return nil, err
	}
	h.last.Store(&encodedSettings{key, encoded})
	return encoded, nil
}

// settings encodes what is neither tool nor message, as the SDK's types do.
func settings(req *llm.Request, d dialect) ([]byte, error) {
	p := openai.ChatCompletionNewParams{Model: req.Target.Model}
	if req.MaxOutput > 0 {
		if d.completionTokens() {
			p.MaxCompletionTokens = openai.Int(int64(req.MaxOutput))
		} else {
			p.MaxTokens = openai.Int(int64(req.MaxOutput))
		}
	}
	known, _ := provider.Lookup(req.Target.Model)
	if req.Temperature != nil && !d.refuses(refusedTemperature) && !(d.official && known.OwnTemperature) {
		p.Temperature = openai.Float(*req.Temperature)
	}
	p.ReasoningEffort = shared.ReasoningEffort(d.effort(req, known))
	if !d.refuses(refusedUsage) {
		p.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	}
	if d.deepseek && req.Reasoning == "off" {
		p.SetExtraFields(map[string]any{"thinking": map[string]string{"type": "disabled"}})
	}
	return p.MarshalJSON()
}

// sizeOf estimates the bytes of the body, so that it rarely has to grow.
func sizeOf(req *llm.Request) int {
	n := 512 + len(req.Static) + len(req.Session)
	for _, t := range req.Tools {
		n += 96 + len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	for _, msg := range req.Messages {
		n += partsSize(msg.Parts)
	}
	return n + n/8
}

func partsSize(parts []llm.Part) int {
	n := 64
	for _, p := range parts {
		n += len(p.Text)
		switch {
		case p.Call != nil:
			n += 96 + len(p.Call.ID) + len(p.Call.Name) + len(p.Call.Arguments)
		case p.Result != nil:
			n += len(p.Result.CallID) + partsSize(p.Result.Content)
		case p.Media != nil:
			n += 128 + base64.StdEncoding.EncodedLen(len(p.Media.Data))
		}
	}
	return n
}

type encoder struct {
	b       []byte
	images  bool
	dialect dialect
	some    bool // a message was written
}

func (e *encoder) tools(specs []llm.ToolSpec, schemas *schemas) {
	e.b = append(e.b, `,"tools":[`...)
	for i, t := range specs {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.b = append(e.b, `{"type":"function","function":{"name":`...)
		e.b = appendString(e.b, t.Name)
		e.b = append(e.b, `,"description":`...)
		e.b = appendString(e.b, t.Description)
		e.b = append(e.b, `,"parameters":`...)
		e.b = append(e.b, schemas.fit(t.Parameters)...)
		e.b = append(e.b, `}}`...)
	}
	e.b = append(e.b, ']')
}

// begin opens a message.
func (e *encoder) begin(role string) {
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
	e.b = appendString(e.b, content)
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
	}
	// Results are written behind the calls that they answer.
}

// user writes a person's message: the words, then what the host added, marked,
// in one string; as parts only when images go along.
func (e *encoder) user(parts []llm.Part) {
	words := e.withNotes(parts)
	var context strings.Builder
	pictures := false
	for _, p := range parts {
		switch {
		case p.Kind == llm.KindContext && p.Text != "":
			if context.Len() > 0 {
				context.WriteByte('\n')
			}
			context.WriteString(unmarked(p.Text))
		case p.Kind == llm.KindMedia:
			pictures = pictures || e.shows(p.Media)
		}
	}
	if context.Len() > 0 {
		if words != "" {
			words += "\n\n"
		}
		words += contextOpen + context.String() + contextClose
	}
	if !pictures {
		if strings.TrimSpace(words) != "" {
			e.plain("user", words)
		}
		return
	}
	e.begin("user")
	e.b = append(e.b, `,"content":[`...)
	some := strings.TrimSpace(words) != ""
	if some {
		e.textPart(words)
	}
	e.pictures(parts, some)
	e.b = append(e.b, `]}`...)
}

// unmarked keeps text from ending the block that marks it.
func unmarked(text string) string {
	return strings.ReplaceAll(text, "</context>", `<\/context>`)
}

// withNotes joins the text of parts; media that the model is not shown leave a
// note.
func (e *encoder) withNotes(parts []llm.Part) string {
	noted := false
	for _, p := range parts {
		noted = noted || p.Kind == llm.KindMedia && !e.shows(p.Media)
	}
	if !noted {
		return llm.JoinText(parts)
	}
	var b strings.Builder
	for _, p := range parts {
		switch {
		case p.Kind == llm.KindText:
			b.WriteString(p.Text)
		case p.Kind == llm.KindMedia && !e.shows(p.Media):
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(note(p.Media))
		}
	}
	return b.String()
}

// shows reports whether the model is sent the media itself.
func (e *encoder) shows(m *llm.Media) bool {
	if !e.images || m == nil || len(m.Data) == 0 {
		return false
	}
	switch m.MIME {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// note stands for media that the model can't be shown.
func note(m *llm.Media) string {
	if m == nil {
		return "[An attachment that is not available.]"
	}
	name := m.Name
	if name == "" {
		name = "without a name"
	}
	return fmt.Sprintf("[Attached: %s (%s). Its content is not part of this message, because this model can't read it.]", name, m.MIME)
}

func (e *encoder) textPart(text string) {
	e.b = append(e.b, `{"type":"text","text":`...)
	e.b = appendString(e.b, text)
	e.b = append(e.b, '}')
}

// pictures writes the images among parts; more says that a part stands before
// them.
func (e *encoder) pictures(parts []llm.Part, more bool) {
	for _, p := range parts {
		if p.Kind != llm.KindMedia || !e.shows(p.Media) {
			continue
		}
		if more {
			e.b = append(e.b, ',')
		}
		more = true
		e.b = append(e.b, `{"type":"image_url","image_url":{"url":"data:`...)
		e.b = append(e.b, p.Media.MIME...)
		e.b = append(e.b, `;base64,`...)
		e.b = base64.StdEncoding.AppendEncode(e.b, p.Media.Data)
		e.b = append(e.b, `"}}`...)
	}
}

// assistant writes a reply and, when it has calls, exactly one result for each
// of them. at is its place in the transcript.
func (e *encoder) assistant(msg llm.Message, at int, results []llm.Part) {
	words := msg.Text()
	calls := 0
	for _, p := range msg.Parts {
		if p.Kind == llm.KindCall && p.Call != nil {
			calls++
		}
	}
	if calls == 0 {
		// An empty reply is refused by servers and tells a model nothing.
		if strings.TrimSpace(words) != "" {
			e.plain("assistant", words)
		}
		return
	}
	e.begin("assistant")
	e.b = append(e.b, `,"content":`...)
	if strings.TrimSpace(words) == "" {
		e.b = append(e.b, "null"...)
	} else {
		e.b = appendString(e.b, words)
	}
	if e.dialect.echoes() {
		e.b = append(e.b, `,"reasoning_content":`...)
		e.b = appendString(e.b, reasoningOf(msg))
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
		e.b = append(e.b, `{"id":`...)
		e.b = appendString(e.b, callID(p.Call.ID, at, n))
		e.b = append(e.b, `,"type":"function","function":{"name":`...)
		e.b = appendString(e.b, callName(p.Call.Name))
		e.b = append(e.b, `,"arguments":`...)
		e.b = appendString(e.b, callArguments(p.Call.Arguments))
		e.b = append(e.b, `}}`...)
		n++
	}
	e.b = append(e.b, `]}`...)
	e.results(msg, at, results)
}

func reasoningOf(msg llm.Message) string {
	var b strings.Builder
	for _, p := range msg.Parts {
		if p.Kind == llm.KindReasoning {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// results writes one tool message per call of msg, in the order of the calls.
// Images follow in a person's message, since tool messages hold text only.
func (e *encoder) results(msg llm.Message, at int, results []llm.Part) {
	n := 0
	var shown []llm.Part
	for _, p := range msg.Parts {
		if p.Kind != llm.KindCall || p.Call == nil {
			continue
		}
		e.begin("tool")
		e.b = append(e.b, `,"tool_call_id":`...)
		e.b = appendString(e.b, callID(p.Call.ID, at, n))
		e.b = append(e.b, `,"content":`...)
		r := resultOf(results, p.Call.ID, n)
		e.b = appendString(e.b, e.resultText(r))
		e.b = append(e.b, '}')
		n++
		if r == nil || !e.images {
			continue
		}
		for _, c := range r.Content {
			if c.Kind == llm.KindMedia && e.shows(c.Media) {
				shown = append(shown, c)
			}
		}
	}
	if len(shown) > 0 {
		e.begin("user")
		e.b = append(e.b, `,"content":[`...)
		e.textPart(imagesOfTools)
		e.pictures(shown, true)
		e.b = append(e.b, `]}`...)
	}
}

// resultOf is the result of the n-th call, nil when there is none.
func resultOf(results []llm.Part, id string, n int) *llm.ToolResult {
	if n < len(results) && results[n].Result != nil && results[n].Result.CallID == id {
		return results[n].Result
	}
	for _, p := range results {
		if id != "" && p.Result != nil && p.Result.CallID == id {
			return p.Result
		}
	}
	return nil
}

func (e *encoder) resultText(r *llm.ToolResult) string {
	if r == nil {
		return missingResult
	}
	text := e.withNotes(r.Content)
	if strings.TrimSpace(text) == "" {
		for _, c := range r.Content {
			if c.Kind == llm.KindMedia {
				text = "(an image, shown below)"
			}
		}
	}
	switch {
	case strings.TrimSpace(text) == "" && r.IsError:
		return errorMark + "the tool failed without saying why."
	case strings.TrimSpace(text) == "":
		return emptyResult
	case r.IsError && !strings.HasPrefix(strings.ToLower(text[:min(len(text), 5)]), "error"):
		return errorMark + text
	}
	return text
}

// maxID is how long OpenAI lets the id of a call be.
const maxID = 40

// callID is the id of a call as it is sent. One that is missing is made up
// from the call's place; one that is too long is replaced by its digest.
func callID(id string, message, n int) string {
	switch {
	case id == "":
		return "call_" + strconv.Itoa(message) + "_" + strconv.Itoa(n)
	case len(id) > maxID:
		sum := sha256.Sum256([]byte(id))
		return "call_" + hex.EncodeToString(sum[:12])
	}
	return id
}

// maxName is how long OpenAI lets a function's name be.
const maxName = 64

// callName is the name of a call as it is sent: the model may have written
// anything, but a request with other characters is refused.
func callName(name string) string {
	if name == "" {
		return "unknown"
	}
	if len(name) <= maxName && strings.IndexFunc(name, illegal) < 0 {
		return name
	}
	fit := strings.Map(func(r rune) rune {
		if illegal(r) {
			return '_'
		}
		return r
	}, name)
	return fit[:min(len(fit), maxName)]
}

func illegal(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
}

// maxInvalid bounds what is sent back of arguments that can't be read.
const maxInvalid = 1000

// callArguments are the arguments of a call as they are sent. Servers read
// them, so they are always a JSON object: what the model wrote when that is
// one, the object inside when it encoded one twice, and else an object that
// shows the model the beginning of what it wrote. Its result says what was
// wrong with it.
func callArguments(args string) string {
	s := &scan{b: []byte(args), strict: true}
	switch s.peek() {
	case 0:
		return "{}"
	case '{':
		if s.skip(); s.end() {
			return args
		}
	case '"':
		var scratch []byte
		if inner, ok := s.text(&scratch); ok && s.end() {
			again := &scan{b: inner, strict: true}
			if again.peek() == '{' && utf8.Valid(inner) {
				if again.skip(); again.end() {
					return string(inner)
				}
			}
		}
	case 'n':
		if s.skip(); s.end() {
			return "{}"
		}
	}
	b := append([]byte(nil), `{"_invalid":`...)
	return string(append(appendString(b, clip(args, maxInvalid)), '}'))
}

// clip cuts s behind at most n bytes, between two code points.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
