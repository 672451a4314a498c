package anthropic

import (
	"encoding/json"

	"github.com/goclaw/goclaw/internal/lib/jsonstring"
	"github.com/goclaw/goclaw/internal/llm"
)

// vendor marks opaque data as ours.
const vendor = "anthropic"

// thought is a block of thinking, shown or hidden, as the API wants it back:
// unchanged, an empty text included.
type thought struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
	Data      string `json:"data"`
}

// appendTo appends t as it is sent and stored.
func (t thought) appendTo(b []byte) []byte {
	if t.Type == kindRedacted {
		b = append(b, `{"type":"redacted_thinking","data":`...)
		b = jsonstring.Append(b, t.Data)
		return append(b, '}')
	}
	b = append(b, `{"type":"thinking","thinking":`...)
	b = jsonstring.Append(b, t.Thinking)
	b = append(b, `,"signature":`...)
	b = jsonstring.Append(b, t.Signature)
	return append(b, '}')
}

func (t thought) opaque() *llm.Opaque {
	return &llm.Opaque{Vendor: vendor, Data: t.appendTo(nil)}
}

// thoughtOf is the block that p holds, if it holds one of ours that the API
// takes. It is written anew from its members, since whoever stored it may have
// changed how they are escaped.
func thoughtOf(p llm.Part) (t thought, ok bool) {
	if p.Kind != llm.KindReasoning || p.Opaque == nil || p.Opaque.Vendor != vendor || json.Unmarshal(p.Opaque.Data, &t) != nil {
		return thought{}, false
	}
	switch t.Type {
	case kindThinking:
		return t, t.Signature != ""
	case kindRedacted:
		return t, t.Data != ""
	}
	return thought{}, false
}
