package openai

import (
	"encoding/json"
	"strings"

	"github.com/goclaw/goclaw/internal/llm"
)

// details is what some servers, OpenRouter first, say of reasoning in blocks of
// several kinds, and want back as they were
// (https://openrouter.ai/docs/use-cases/reasoning-tokens). In a stream a block
// comes in pieces: those that go on with one have its type and index.
type details []*block

// block is one of them. Of its members the texts grow piece by piece; of the
// others the last value counts.
type block struct {
	members map[string]json.RawMessage
	grown   [len(growing)]strings.Builder
}

// growing are the members of a block that pieces add to.
var growing = [...]string{"text", "summary"}

// read takes in the blocks of one piece and returns what they show.
func (d *details) read(raw []byte) (shown string) {
	var pieces []map[string]json.RawMessage
	if json.Unmarshal([]byte(strings.ToValidUTF8(string(raw), "\uFFFD")), &pieces) != nil {
		return "" // of no use for showing, nor for giving back
	}
	for _, piece := range pieces {
		n := len(*d)
		if n == 0 || !(*d)[n-1].goesOn(piece) {
			*d = append(*d, &block{members: map[string]json.RawMessage{}})
			n++
		}
		shown += (*d)[n-1].add(piece)
	}
	return shown
}

func (b *block) goesOn(piece map[string]json.RawMessage) bool {
	return len(piece["index"]) > 0 && len(piece["data"]) == 0 &&
		string(piece["index"]) == string(b.members["index"]) && string(piece["type"]) == string(b.members["type"])
}

func (b *block) add(piece map[string]json.RawMessage) (shown string) {
	for name, value := range piece {
		if string(value) != "null" || b.members[name] == nil {
			b.members[name] = value
		}
	}
	for i, name := range growing {
		var words string
		if json.Unmarshal(piece[name], &words) == nil {
			b.grown[i].WriteString(words)
			shown += words
		}
	}
	return shown
}

// encode is the blocks as they go back, nil when there are none.
func (d details) encode() []byte {
	var list []map[string]json.RawMessage
	for _, b := range d {
		for i, name := range growing {
			if b.grown[i].Len() == 0 {
				continue
			}
			words, err := json.Marshal(b.grown[i].String())
			if err != nil {
				return nil
			}
			b.members[name] = words
		}
		list = append(list, b.members)
	}
	if len(list) == 0 {
		return nil
	}
	whole, err := json.Marshal(list)
	if err != nil {
		return nil
	}
	return whole
}

// opaque keeps raw, which is JSON, for the server that sent it; nil when there
// is nothing to keep.
func (r *reply) opaque(raw []byte) *llm.Opaque {
	if len(raw) == 0 {
		return nil
	}
	// As it is stored, so that it goes back the same before and after.
	b, err := json.Marshal(json.RawMessage(strings.ToValidUTF8(string(raw), "\uFFFD")))
	if err != nil {
		return nil
	}
	return &llm.Opaque{Vendor: r.vendor, Data: b}
}
