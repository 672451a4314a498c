package gemini

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"google.golang.org/genai"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// dimensions is the shortest of the lengths that Google recommends; the vectors
// of its newer models can be cut there, and a fourth is to be kept of them.
// https://ai.google.dev/gemini-api/docs/embeddings#control-embedding-size
const dimensions = 768

// toEmbed is one text of a request. The SDK has these members in two types, of
// which it makes the document by hand.
type toEmbed struct {
	Model      string         `json:"model"`
	Content    *genai.Content `json:"content"`
	Task       string         `json:"taskType,omitempty"`
	Dimensions int            `json:"outputDimensionality,omitempty"`
}

// embedded is what we use of the answer.
type embedded struct {
	Embeddings []*genai.ContentEmbedding `json:"embeddings"`
	Usage      struct {
		Prompt int64 `json:"promptTokenCount"`
	} `json:"usageMetadata"`
}

// taskOf is what a text is for, in the words of the models that are told so. Newer
// ones are told in the text itself: gemini-embedding-2 refuses the field.
// https://ai.google.dev/gemini-api/docs/embeddings#task-types
func taskOf(model string, query bool) string {
	switch name := model[strings.LastIndexByte(model, '/')+1:]; {
	case name != "gemini-embedding-001" && !strings.HasPrefix(name, "text-embedding-"):
		return ""
	case query:
		return "RETRIEVAL_QUERY"
	}
	return "RETRIEVAL_DOCUMENT"
}

// Embed implements [llm.Embedder].
func (m *Model) Embed(ctx context.Context, req llm.EmbedRequest) (llm.Embeddings, error) {
	resource := path(req.Model)
	list := make([]toEmbed, len(req.Texts))
	for i, text := range req.Texts {
		list[i] = toEmbed{
			Model:   strings.TrimPrefix(resource, "/"),
			Content: &genai.Content{Parts: []*genai.Part{{Text: text}}},
			Task:    taskOf(req.Model, req.Query),
		}
		if strings.Contains(resource, "/gemini-embedding-") {
			list[i].Dimensions = dimensions
		}
	}
	body, err := json.Marshal(map[string]any{"requests": list})
	if err != nil {
		return llm.Embeddings{}, &llm.Error{Class: llm.ClassBadRequest, Message: err.Error(), Err: err}
	}
	resp, err := m.do(ctx, http.MethodPost, resource+":batchEmbedContents", body)
	text, err := m.server.Text(ctx, resp, err)
	if err != nil {
		return llm.Embeddings{}, err
	}
	var e embedded
	if json.Unmarshal(text, &e) != nil || e.Embeddings == nil {
		return llm.Embeddings{}, provider.Failure(&provider.Foreign{Vendor: whose, Body: text}, m.server.Secrets...)
	}
	out := llm.Embeddings{Vectors: make([][]float32, len(e.Embeddings)), Usage: llm.Usage{Input: max(e.Usage.Prompt, 0)}}
	for i, v := range e.Embeddings {
		if v != nil {
			out.Vectors[i] = v.Values
		}
	}
	return out, nil
}
