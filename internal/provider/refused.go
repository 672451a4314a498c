package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
)

// aboutTools are words of refusals of tools: the model takes none, or the server
// was started without them.
//
//   - https://github.com/ollama/ollama/blob/main/server/routes.go: "does not support tools"
//   - https://openrouter.ai/docs/features/tool-calling: "No endpoints found that support tool use"
//   - https://docs.vllm.ai/en/latest/features/tool_calling: "requires --enable-auto-tool-choice"
//   - https://github.com/ggml-org/llama.cpp/blob/master/docs/function-calling.md: "requires --jinja"
//   - https://ai.google.dev/gemma/docs: "Function calling is not enabled"
var aboutTools = []string{
	"support tools", "support tool use", "support tool call", "support function call", "tools are not supported", "tools is not supported", "`tools` is not supported",
	"function calling is not", "tool calling is not", "tool use is not", "requires --jinja", "--enable-auto-tool-choice", "parameter: 'tools'", "parameter: tools",
}

// refusesTools reports whether a server refused the tools of a request.
func refusesTools(e *llm.Error) bool {
	said := strings.ToLower(e.Message)
	return e.Status != 0 && slices.ContainsFunc(aboutTools, func(w string) bool { return strings.Contains(said, w) })
}

// maxRefused is how many refused images and files are remembered of a provider.
const maxRefused = 256

// refusedMedia are the images and files that a provider's server refused. A
// history brings them along with every request, so that one broken image would
// end its conversation. It is safe for concurrent use; its zero value is empty.
type refusedMedia struct {
	mu  sync.Mutex
	why map[string]string // by model and content
}

// aboutMedia are words of refusals that are about an image or a file.
//
//   - https://platform.claude.com/docs/en/build-with-claude/vision: "image exceeds", "Could not process image"
//   - https://platform.openai.com/docs/guides/error-codes: invalid_image, "image_url is only supported by certain models"
//   - https://ai.google.dev/gemini-api/docs/troubleshooting: "Unable to process input image", "The document has no pages"
//   - https://github.com/ggml-org/llama.cpp: "image input is not supported … mmproj"
var aboutMedia = []string{"image", "pdf", "mmproj", "multimodal", "media type", "media_type", "mime", "document has no pages", "input_file", "vision"}

// without is messages with a line in place of what t's server refused before.
func (r *refusedMedia) without(t llm.Target, messages []llm.Message) []llm.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.why) == 0 {
		return messages
	}
	return wire.LeaveOut(messages, func(m *llm.Media) string {
		why, ok := r.why[refusedKey(t, m)]
		if !ok {
			return ""
		}
		return fmt.Sprintf("It can't be shown to this model: its server refused it (%s).", why)
	})
}

// learn takes in that a request was refused with e, and returns the media that
// it may have been for, to be left out from now on: those of the last message
// that has any, since what stands before was taken, else all. There are none
// when the refusal is about something else.
func (r *refusedMedia) learn(e *llm.Error, req *llm.Request, all bool) []*llm.Media {
	switch e.Class {
	case llm.ClassBadRequest, llm.ClassNoModel, llm.ClassUnknown, llm.ClassNetwork:
	default:
		return nil
	}
	said := strings.ToLower(e.Message)
	if e.Status == 0 || !slices.ContainsFunc(aboutMedia, func(w string) bool { return strings.Contains(said, w) }) {
		return nil
	}
	shown := wire.Takes(req.Target)
	var blamed []*llm.Media
	for i := len(req.Messages) - 1; i >= 0 && (all || len(blamed) == 0); i-- {
		wire.LeaveOut(req.Messages[i:i+1], func(m *llm.Media) string {
			if shown(m) {
				blamed = append(blamed, m)
			}
			return ""
		})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.why == nil || len(r.why) > maxRefused {
		r.why = map[string]string{} // what is forgotten is refused once more
	}
	why := strings.TrimRight(e.Message, ".")
	for _, m := range blamed {
		r.why[refusedKey(req.Target, m)] = why
	}
	return blamed
}

func refusedKey(t llm.Target, m *llm.Media) string {
	sum := m.Sum
	if sum == "" {
		digest := sha256.Sum256(m.Data)
		sum = hex.EncodeToString(digest[:])
	}
	return t.Model + "/" + sum
}

// listMedia names media for people; "" when there are none.
func listMedia(media []*llm.Media) string {
	if len(media) == 0 {
		return ""
	}
	name := media[0].Name
	if name == "" {
		name = "an image or file"
	}
	switch n := len(media) - 1; n {
	case 0:
		return name
	case 1:
		return name + " and another one"
	default:
		return fmt.Sprintf("%s and %d others", name, n)
	}
}
