package gemini

import (
	"github.com/goclaw/goclaw/internal/lib/jsonstring"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
)

// vendor marks opaque data as ours.
const vendor = "gemini"

// skipSignature stands where a call has no signature, because another model
// made it or the history was written by hand. See
// https://ai.google.dev/gemini-api/docs/thought-signatures.
const skipSignature = "skip_thought_signature_validator"

// kept is what the server wants back with a part of an answer, beside what the
// part says: the signature of the thoughts behind it, and the id that it gave a
// call.
type kept struct {
	id        string
	signature string
}

// opaque is k as it is stored, nil when there is nothing.
func (k kept) opaque() *llm.Opaque {
	if k == (kept{}) {
		return nil
	}
	b := []byte{'{'}
	if k.id != "" {
		b = jsonstring.Append(append(b, `"id":`...), k.id)
	}
	if k.signature != "" {
		if k.id != "" {
			b = append(b, ',')
		}
		b = jsonstring.Append(append(b, `"thoughtSignature":`...), k.signature)
	}
	return &llm.Opaque{Vendor: vendor, Data: append(b, '}')}
}

// keptOf is what is kept of p, the zero value of another vendor's parts.
func keptOf(p llm.Part) (k kept) {
	if p.Opaque == nil || p.Opaque.Vendor != vendor {
		return kept{}
	}
	s := wire.NewScan(p.Opaque.Data)
	var scratch []byte
	s.Open('{')
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "id":
			b, _ := s.Text(&scratch)
			k.id = string(b)
		case "thoughtSignature":
			b, _ := s.Text(&scratch)
			k.signature = string(b)
		default:
			s.Skip()
		}
	}
	if !s.End() {
		return kept{}
	}
	return k
}
