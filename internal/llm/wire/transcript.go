package wire

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/lib/jsonstring"
	"github.com/goclaw/goclaw/internal/llm"
)

// What GoClaw writes into a transcript itself. The texts are part of the bytes
// that a provider's cache sees: changing one breaks every cached prefix.
const (
	contextOpen  = "<context>\n"
	contextClose = "\n</context>"

	emptyResult   = "(no output)"
	missingResult = "Error: this call was interrupted; whether it ran is not known."
	errorMark     = "Error: "
)

// UserText is a person's message as one string: the words, then what the host
// added, marked. It may be blank.
func UserText(parts []llm.Part, shown Shown) string {
	words := withNotes(parts, shown)
	var context strings.Builder
	for _, p := range parts {
		if (p.Kind == llm.KindContext || p.Kind == llm.KindFile) && p.Text != "" {
			if context.Len() > 0 {
				context.WriteByte('\n')
			}
			context.WriteString(unmarked(p.Text))
		}
	}
	if context.Len() > 0 {
		if words != "" {
			words += "\n\n"
		}
		words += contextOpen + context.String() + contextClose
	}
	return words
}

// unmarked keeps text from ending the block that marks it.
func unmarked(text string) string {
	return strings.ReplaceAll(text, "</context>", `<\/context>`)
}

// ResultOf is the result of the n-th call of a reply among the parts of the
// message behind it, nil when there is none.
func ResultOf(results []llm.Part, id string, n int) *llm.ToolResult {
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

// ResultText is a result as text, which is never empty; r may be nil. Without
// marks it leaves out the word that tells a failure, for wires that have a
// field for it.
func ResultText(r *llm.ToolResult, shown Shown, marks bool) string {
	if r == nil {
		return missingResult
	}
	text := withNotes(r.Content, shown)
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
	case marks && r.IsError && !strings.HasPrefix(strings.ToLower(text[:min(len(text), 5)]), "error"):
		return errorMark + text
	}
	return text
}

// maxInvalid bounds what is sent back of arguments that can't be read, in
// bytes.
const maxInvalid = 1000

// Arguments are the arguments of a call as they are sent. Servers read them, so
// they are always a JSON object: what the model wrote when that is one, the
// object inside when it encoded one twice, what the call was run with when it
// could be mended, and else an object that shows the model the beginning of what
// it wrote. Its result says what was wrong with it.
func Arguments(args string) string {
	s := NewStrictScan([]byte(args))
	switch s.Peek() {
	case 0:
		return "{}"
	case '{':
		if s.Skip(); s.End() {
			return args
		}
	case '"':
		var scratch []byte
		if inner, ok := s.Text(&scratch); ok && s.End() {
			again := NewStrictScan(inner)
			if again.Peek() == '{' && utf8.Valid(inner) {
				if again.Skip(); again.End() {
					return string(inner)
				}
			}
		}
	case 'n':
		if s.Skip(); s.End() {
			return "{}"
		}
	}
	if mended, ok := jsonschema.Object([]byte(args)); ok {
		return string(mended)
	}
	b := append([]byte(nil), `{"_invalid":`...)
	return string(append(jsonstring.Append(b, clip(args, maxInvalid)), '}'))
}

// SizeOf estimates the bytes of a request on any wire, so that its body rarely
// has to grow.
func SizeOf(req *llm.Request) int {
	n := 1024 + len(req.Static) + len(req.Session)
	for i := range req.Tools {
		t := &req.Tools[i]
		n += 96 + len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	for i := range req.Messages {
		n += sizeOf(req.Messages[i].Parts)
	}
	return n + n/8
}

func sizeOf(parts []llm.Part) int {
	n := 64
	for i := range parts {
		p := &parts[i]
		n += len(p.Text)
		switch {
		case p.Call != nil:
			n += 96 + len(p.Call.ID) + len(p.Call.Name) + len(p.Call.Arguments)
		case p.Result != nil:
			n += len(p.Result.CallID) + sizeOf(p.Result.Content)
		case p.Media != nil:
			n += 128 + base64.StdEncoding.EncodedLen(len(p.Media.Data))
		}
		if p.Opaque != nil {
			n += len(p.Opaque.Data)
		}
	}
	return n
}

// callID is the id of a call as it is sent, of letters, digits, _ and -, and
// at most limit bytes of them. One that is missing is made up from the call's
// place, the n-th of a message; one that doesn't fit is replaced by its digest.
func callID(id string, limit, message, n int) string {
	switch {
	case id == "":
		return "call_" + strconv.Itoa(message) + "_" + strconv.Itoa(n)
	case len(id) > limit, strings.IndexFunc(id, illegal) >= 0:
		sum := sha256.Sum256([]byte(id))
		return "call_" + hex.EncodeToString(sum[:12])
	}
	return id
}

// IDs gives the calls of one request their ids as they are sent: each is used
// once, whoever made them. The zero value is ready.
type IDs struct {
	used map[string]struct{}
}

// Of is callID of a call, or another id when that one is taken.
func (s *IDs) Of(id string, limit, message, n int) string {
	id = callID(id, limit, message, n)
	for again := 0; s.taken(id); again++ {
		id = callID("", limit, message, n) + "_" + strconv.Itoa(again)
	}
	if s.used == nil {
		s.used = map[string]struct{}{}
	}
	s.used[id] = struct{}{}
	return id
}

func (s *IDs) taken(id string) bool {
	_, ok := s.used[id]
	return ok
}

func illegal(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
}

// Truncated reports whether a reply ended inside the arguments args. last says
// that the output limit ended the reply and that they were the last of it.
func Truncated(args string, last bool) bool {
	if strings.TrimSpace(args) == "" {
		return last
	}
	var v json.RawMessage
	err := json.NewDecoder(strings.NewReader(args)).Decode(&v)
	return errors.Is(err, io.ErrUnexpectedEOF) || last && err != nil
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
