package openai

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// embeddingsPath is where texts become vectors, behind the address of a server.
const embeddingsPath = "embeddings"

// embedded is what we use of the answer. The official type reads every number
// into a float64 and none that is written as bytes.
type embedded struct {
	Data []struct {
		Index     *int   `json:"index"` // of the text; some servers leave it out
		Embedding vector `json:"embedding"`
	} `json:"data"`
	Usage struct {
		Prompt int64 `json:"prompt_tokens"`
	} `json:"usage"`
}

// vector is a list of numbers, or the bytes of them in base64, which some proxies
// ask for though nobody asked them.
type vector []float32

var errNoVector = errors.New("it is no vector")

// UnmarshalJSON implements [json.Unmarshaler].
func (v *vector) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '"' {
		return json.Unmarshal(raw, (*[]float32)(v))
	}
	b, err := base64.StdEncoding.DecodeString(string(raw[1 : len(raw)-1]))
	if err != nil || len(b)%4 != 0 {
		return errNoVector
	}
	*v = make(vector, len(b)/4)
	for i := range *v {
		(*v)[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return nil
}

// Embed implements [llm.Embedder]. It sends what every server takes: neither a
// format nor a number of dimensions.
func (m *Model) Embed(ctx context.Context, req llm.EmbedRequest) (llm.Embeddings, error) {
	body, err := json.Marshal(struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}{req.Model, req.Texts})
	if err != nil {
		return llm.Embeddings{}, &llm.Error{Class: llm.ClassBadRequest, Message: err.Error(), Err: err}
	}
	resp, err := m.post(ctx, embeddingsPath, body)
	text, err := m.server.Text(ctx, resp, err)
	if err != nil {
		return llm.Embeddings{}, err
	}
	return readEmbedded(text, len(req.Texts), m.server.Secrets)
}

// readEmbedded reads the vectors of so many texts, each in the place of its own.
func readEmbedded(text []byte, texts int, secrets []string) (out llm.Embeddings, err error) {
	var e embedded
	if json.Unmarshal(text, &e) != nil || len(e.Data) == 0 {
		if f := readFault(text, 0); len(text) > 0 && text[0] == '{' && f.message != string(text) {
			return out, f.Failure(secrets...) // with a status of success, as some proxies answer
		}
		return out, provider.Failure(&provider.Foreign{Vendor: whose, Body: text}, secrets...)
	}
	out.Usage.Input = max(e.Usage.Prompt, 0)
	out.Vectors = make([][]float32, max(texts, len(e.Data)))
	for i, d := range e.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= texts || out.Vectors[at] != nil {
			return out, &llm.Error{Class: llm.ClassUnknown, Message: "the answer has vectors of texts that were not sent", Err: llm.ErrForeign}
		}
		out.Vectors[at] = d.Embedding
	}
	return out, nil
}
