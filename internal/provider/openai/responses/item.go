package responses

import (
	"encoding/json"

	"github.com/goclaw/goclaw/internal/lib/jsonstring"
	"github.com/goclaw/goclaw/internal/llm"
)

// thought is an item of reasoning as the API takes it back. An item without
// sealed content is known to a server by its name alone, and this one keeps
// nothing.
type thought struct {
	ID        string `json:"id"`
	Summary   []text `json:"summary"`
	Content   []text `json:"content"` // what servers with open models show of it
	Encrypted string `json:"encrypted_content"`
}

type text struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func (t thought) sealed() bool { return t.Encrypted != "" || len(t.Content) > 0 }

// appendTo appends t as it is sent and stored.
func (t thought) appendTo(b []byte) []byte {
	b = append(b, `{"type":"reasoning"`...)
	if t.ID != "" {
		b = append(b, `,"id":`...)
		b = jsonstring.Append(b, t.ID)
	}
	b = append(b, `,"summary":`...)
	b = appendTexts(b, t.Summary)
	if len(t.Content) > 0 {
		b = append(b, `,"content":`...)
		b = appendTexts(b, t.Content)
	}
	if t.Encrypted != "" {
		b = append(b, `,"encrypted_content":`...)
		b = jsonstring.Append(b, t.Encrypted)
	}
	return append(b, '}')
}

func appendTexts(b []byte, texts []text) []byte {
	b = append(b, '[')
	for i, t := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"type":`...)
		b = jsonstring.Append(b, t.Type)
		b = append(b, `,"text":`...)
		b = append(jsonstring.Append(b, t.Text), '}')
	}
	return append(b, ']')
}

// thoughtOf is the item that p holds, if it holds one that vendor made. It is
// written anew from its members, since whoever stored it may have changed how
// they are escaped.
func thoughtOf(p llm.Part, vendor string) (t thought, ok bool) {
	if p.Kind != llm.KindReasoning || p.Opaque == nil || p.Opaque.Vendor != vendor || json.Unmarshal(p.Opaque.Data, &t) != nil {
		return thought{}, false
	}
	return t, t.sealed()
}

// phase is what a model says of a message of its own: that it is a word on the
// way, or the answer. It wants to be told again.
type phase struct {
	Phase string `json:"phase"`
}

func phaseOf(p llm.Part, vendor string) string {
	var v phase
	if p.Opaque == nil || p.Opaque.Vendor != vendor || json.Unmarshal(p.Opaque.Data, &v) != nil {
		return ""
	}
	return v.Phase
}

func (v phase) opaque(vendor string) *llm.Opaque {
	b := append([]byte(nil), `{"phase":`...)
	return &llm.Opaque{Vendor: vendor, Data: append(jsonstring.Append(b, v.Phase), '}')}
}
