package api

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"strings"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
)

// ChatRequest is the body of POST /v1/chat/completions. What is not listed is
// ignored, as servers of this kind do: how the model is asked is the agent's
// setting. What a client could not do without is refused instead.
type ChatRequest struct {
	// Model is goclaw/<agent>, or an agent's id alone; goclaw means the default agent.
	Model    string        `json:"model"`
	Messages []ChatMessage `json:"messages"`
	// Stream answers in pieces as they come.
	Stream        bool          `json:"stream,omitempty"`
	StreamOptions StreamOptions `json:"stream_options,omitzero"`
	// User names a session that the caller began, unless the header X-GoClaw-Session names one.
	User string `json:"user,omitempty"`

	// Tools are the client's own: the answer may be calls of them, whose results
	// the next request brings. They stand beside the agent's, under its policies,
	// and never in the place of one.
	Tools []ChatTool `json:"tools,omitempty"`
	// ToolChoice is auto, none, required, or {"type": "function", "function":
	// {"name": …}}. It is about the client's tools alone.
	ToolChoice any `json:"tool_choice,omitempty"`
	// ParallelToolCalls false has an answer hold one call at most.
	ParallelToolCalls *bool `json:"parallel_tool_calls,omitempty"`

	// What follows is refused when it asks for anything.

	N              *int            `json:"n,omitempty"`
	Functions      []any           `json:"functions,omitempty"`
	ResponseFormat *ResponseFormat `json:"response_format,omitempty"`
	Modalities     []string        `json:"modalities,omitempty"`
	Logprobs       bool            `json:"logprobs,omitempty"`
	Stop           any             `json:"stop,omitempty"`
}

// StreamOptions says what else a stream holds.
type StreamOptions struct {
	// IncludeUsage adds a last piece that counts tokens.
	IncludeUsage bool `json:"include_usage,omitempty"`
}

// ResponseFormat asks for a form of the answer.
type ResponseFormat struct {
	Type string `json:"type"`
}

// ChatMessage is one message of a conversation as OpenAI's API writes it.
type ChatMessage struct {
	// Role is system, developer, user, assistant or tool.
	Role string `json:"role"`
	// Content is text, or a list of parts of type text, image_url or file.
	Content json.RawMessage `json:"content,omitempty"`
	// ToolCalls are those that an earlier answer held; ToolCallID says of a
	// message of role tool which of them it has the result of.
	ToolCalls  []ChatToolCall `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
}

// ChatCompletion is the answer of POST /v1/chat/completions without a stream.
type ChatCompletion struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"` // chat.completion
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []ChatChoice `json:"choices"`
	Usage   ChatUsage    `json:"usage"`
}

// ChatChoice is the answer of a [ChatCompletion]; there is always one.
type ChatChoice struct {
	Index        int        `json:"index"`
	Message      ChatAnswer `json:"message"`
	FinishReason string     `json:"finish_reason"`
	Logprobs     *struct{}  `json:"logprobs" jsonschema:"oneof_type=object;null"` // always null
}

// ChatAnswer is what the agent said.
type ChatAnswer struct {
	Role             string `json:"role"`
	Content          string `json:"content"`
	ReasoningContent string `json:"reasoning_content,omitempty"`
	// ToolCalls are for the client to run; finish_reason is tool_calls then.
	ToolCalls []ChatToolCall `json:"tool_calls,omitempty"`
	// Images are those that the model made, in the form that OpenRouter gave them.
	Images  []ChatImage `json:"images,omitempty"`
	Refusal *string     `json:"refusal" jsonschema:"oneof_type=string;null"` // always null
}

// ChatChunk is one piece of a streamed answer.
type ChatChunk struct {
	ID      string        `json:"id"`
	Object  string        `json:"object"` // chat.completion.chunk
	Created int64         `json:"created"`
	Model   string        `json:"model"`
	Choices []ChunkChoice `json:"choices"`
	Usage   *ChatUsage    `json:"usage,omitempty"`
}

// ChunkChoice is the text of a [ChatChunk].
type ChunkChoice struct {
	Index        int       `json:"index"`
	Delta        ChatDelta `json:"delta"`
	FinishReason *string   `json:"finish_reason" jsonschema:"oneof_type=string;null"` // null before the last
}

// ChatDelta is what a [ChunkChoice] adds.
type ChatDelta struct {
	Role             string         `json:"role,omitempty"`
	Content          *string        `json:"content,omitempty"`
	ReasoningContent string         `json:"reasoning_content,omitempty"`
	ToolCalls        []ChatToolCall `json:"tool_calls,omitempty"`
	Images           []ChatImage    `json:"images,omitempty"`
}

// ChatImage is an image that a model made.
type ChatImage struct {
	Type     string       `json:"type"` // image_url
	ImageURL ChatImageURL `json:"image_url"`
}

// ChatImageURL holds an image as a data: URL.
type ChatImageURL struct {
	URL string `json:"url"`
}

// ChatUsage counts tokens of a whole turn, all its model calls together.
type ChatUsage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	TotalTokens      int64 `json:"total_tokens"`

	PromptTokensDetails     PromptDetails     `json:"prompt_tokens_details"`
	CompletionTokensDetails CompletionDetails `json:"completion_tokens_details"`
}

// PromptDetails says which of the prompt's tokens were cheap.
type PromptDetails struct {
	CachedTokens int64 `json:"cached_tokens"`
}

// CompletionDetails says which of the answer's tokens were not shown.
type CompletionDetails struct {
	ReasoningTokens int64 `json:"reasoning_tokens"`
}

// Models is the answer of GET /v1/models.
type Models struct {
	Object string      `json:"object"` // list
	Data   []ModelInfo `json:"data"`
}

// ModelInfo is one agent as a model.
type ModelInfo struct {
	ID      string `json:"id"`
	Object  string `json:"object"` // model
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func usageOf(u llm.Usage) ChatUsage {
	return ChatUsage{
		PromptTokens: u.Input, CompletionTokens: u.Output, TotalTokens: u.Input + u.Output,
		PromptTokensDetails: PromptDetails{u.Cached}, CompletionTokensDetails: CompletionDetails{u.Reasoning},
	}
}

// unsupported refuses what a client relies on and this version can't do.
func (q *ChatRequest) unsupported() *Problem {
	stops := q.Stop != nil && q.Stop != ""
	if list, ok := q.Stop.([]any); ok {
		stops = len(list) > 0
	}
	switch {
	case len(q.Functions) > 0:
		return badField("functions", "this form has been replaced: write them as tools")
	case q.N != nil && *q.N != 1:
		return badRequest("n: an agent gives one answer; leave n out or set it to 1")
	case q.ResponseFormat != nil && q.ResponseFormat.Type != "text" && q.ResponseFormat.Type != "":
		return badRequest("response_format: %q can't be promised of an agent; ask for the form in the message", q.ResponseFormat.Type)
	case q.Logprobs:
		return badRequest("logprobs: an agent's answer has none")
	case stops:
		return badRequest("stop: an agent's answer can't be cut at a text")
	}
	for _, m := range q.Modalities {
		if m != "text" {
			return badRequest("modalities: %q: an agent answers in text", m)
		}
	}
	return nil
}

// contentPart is one part of a message's content.
type contentPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Refusal  string `json:"refusal"`
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
	File struct {
		Name string `json:"filename"`
		Data string `json:"file_data"`
	} `json:"file"`
}

func contentParts(raw json.RawMessage) ([]llm.Part, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if strings.TrimSpace(text) == "" {
			return nil, nil
		}
		return []llm.Part{llm.Text(text)}, nil
	}
	var list []contentPart
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("it is neither text nor a list of parts")
	}
	var parts []llm.Part
	for i, p := range list {
		part, err := p.part()
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		if part.Kind != llm.KindText || strings.TrimSpace(part.Text) != "" {
			parts = append(parts, part)
		}
	}
	return parts, nil
}

func (p contentPart) part() (llm.Part, error) {
	switch p.Type {
	case "text":
		return llm.Text(p.Text), nil
	case "refusal":
		return llm.Text(p.Refusal), nil
	case "image_url":
		m, err := dataURL(p.ImageURL.URL)
		if err != nil {
			return llm.Part{}, fmt.Errorf("image_url: %w", err)
		}
		if m.MIME = FileType("", "", m.Data); !llm.IsImage(m.MIME) {
			return llm.Part{}, fmt.Errorf("image_url: it is no image of type PNG, JPEG, GIF or WebP")
		}
		if len(m.Data) > llm.MaxImage {
			return llm.Part{}, fmt.Errorf("image_url: the image has more than %s, which models don't take", llm.Size(llm.MaxImage))
		}
		return llm.Part{Kind: llm.KindMedia, Media: m}, nil
	case "file":
		m, err := dataURL(p.File.Data)
		if err != nil {
			return llm.Part{}, fmt.Errorf("file: %w", err)
		}
		kind := FileType(p.File.Name, m.MIME, m.Data)
		return llm.Part{Kind: llm.KindMedia, Media: wire.Media(kind, p.File.Name, m.Data)}, nil
	}
	return llm.Part{}, fmt.Errorf("type %q is none of text, image_url, file", p.Type)
}

// dataOf is data as a data: URL.
func dataOf(mime string, data []byte) string {
	return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// dataURL reads "data:image/png;base64,…" (RFC 2397). Addresses are not
// fetched: the gateway would be asked to reach into its own network.
func dataURL(url string) (*llm.Media, error) {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return nil, fmt.Errorf("only data: URLs are taken (data:image/png;base64,…), addresses are not fetched")
	}
	head, body, ok := strings.Cut(rest, ",")
	kind, coded := strings.CutSuffix(head, ";base64")
	if !ok || !coded {
		return nil, fmt.Errorf("the data: URL is not in base64")
	}
	kind, _, err := mime.ParseMediaType(kind)
	if err != nil {
		return nil, fmt.Errorf("the data: URL has no media type: %w", err)
	}
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(body))
	if err != nil {
		return nil, fmt.Errorf("the data: URL: %w", err)
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("the data: URL holds nothing")
	}
	return &llm.Media{MIME: kind, Data: data}, nil
}
