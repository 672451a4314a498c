package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"google.golang.org/genai"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// The SDK is asked here what the wire is; see docs/dependencies.md for why the
// program uses no more of it than its types.

// Its types read what the encoder wrote.
func TestTheSDKReadsRequests(t *testing.T) {
	t.Parallel()
	var r struct {
		GenerationConfig  genai.GenerationConfig
		Tools             []*genai.Tool
		SystemInstruction *genai.Content
		Contents          []*genai.Content
		ToolConfig        *genai.ToolConfig
	}
	// The documented mark is base64 of the kind for addresses, which servers of
	// Google's read and the SDK's types don't.
	body := bytes.ReplaceAll(encoded(sample(), 0), []byte(skipSignature), []byte("c2tpcA=="))
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	if c := r.GenerationConfig; *c.Temperature != 0.5 || c.MaxOutputTokens != 1000 || c.ThinkingConfig.ThinkingLevel != genai.ThinkingLevelLow || !c.ThinkingConfig.IncludeThoughts {
		t.Errorf("settings: %+v", c)
	}
	if len(r.SystemInstruction.Parts) != 2 || r.ToolConfig.FunctionCallingConfig.Mode != genai.FunctionCallingConfigModeNone {
		t.Errorf("system %+v, functions %+v", r.SystemInstruction, r.ToolConfig)
	}
	if f := r.Tools[0].FunctionDeclarations; len(f) != 2 || f[1].Name != "datetime" || f[1].ParametersJsonSchema == nil {
		t.Errorf("functions: %+v", f)
	}
	for i, c := range r.Contents {
		if want := []string{genai.RoleUser, genai.RoleModel}[i%2]; c.Role != want {
			t.Errorf("content %d is of role %s", i, c.Role)
		}
	}
	call, answered := r.Contents[3].Parts[0], r.Contents[4].Parts[0].FunctionResponse
	if call.FunctionCall.ID != "fc-3" || string(call.ThoughtSignature) != "sig3" || answered.ID != "fc-3" || answered.Response["error"] == nil {
		t.Errorf("a call %+v, its response %+v", call, answered)
	}
	if shown := r.Contents[8].Parts[0].FunctionResponse.Parts; len(shown) != 1 || string(shown[0].InlineData.Data) != "data" {
		t.Errorf("an image within a response: %+v", shown)
	}
}

// The reader takes what its types write, and knows all its reasons for an end.
func TestTheSDKsAnswers(t *testing.T) {
	t.Parallel()
	const fails = llm.Finish("fails")
	for reason, want := range map[genai.FinishReason]llm.Finish{
		genai.FinishReasonStop: llm.FinishCalls, genai.FinishReasonMaxTokens: llm.FinishLength, genai.FinishReasonContinuation: llm.FinishLength,
		genai.FinishReasonSafety: llm.FinishFilter, genai.FinishReasonRecitation: llm.FinishFilter, genai.FinishReasonLanguage: llm.FinishFilter,
		genai.FinishReasonOther: llm.FinishFilter, genai.FinishReasonBlocklist: llm.FinishFilter, genai.FinishReasonProhibitedContent: llm.FinishFilter,
		genai.FinishReasonSPII: llm.FinishFilter, genai.FinishReasonImageSafety: llm.FinishFilter, genai.FinishReasonImageProhibitedContent: llm.FinishFilter,
		genai.FinishReasonNoImage: llm.FinishFilter, genai.FinishReasonImageRecitation: llm.FinishFilter, genai.FinishReasonImageOther: llm.FinishFilter,
		genai.FinishReasonMalformedFunctionCall: fails, genai.FinishReasonUnexpectedToolCall: llm.FinishCalls, genai.FinishReasonTooManyToolCalls: llm.FinishCalls,
	} {
		chunk, err := json.Marshal(genai.GenerateContentResponse{
			Candidates: []*genai.Candidate{{
				FinishReason: reason, FinishMessage: "Because.",
				Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{
					{Text: "Hm.", Thought: true},
					{Text: "So.", ThoughtSignature: []byte("sig")},
					{FunctionCall: &genai.FunctionCall{ID: "fc", Name: "calc", Args: map[string]any{"e": "1"}}},
				}},
			}},
			UsageMetadata: &genai.GenerateContentResponseUsageMetadata{
				PromptTokenCount: 9, CachedContentTokenCount: 4, CandidatesTokenCount: 3, ThoughtsTokenCount: 2, ToolUsePromptTokenCount: 1,
			},
			ModelVersion: "m", ResponseID: "r",
		})
		if err != nil {
			t.Fatal(err)
		}
		s := fakellm.Start(t, sse(string(chunk)))
		got := ask(t.Context(), open(t, provider.Settings{BaseURL: s.URL}), hello())
		if want == fails {
			var e *llm.Error
			if !errors.As(got.err, &e) || e.Class != llm.ClassEmpty {
				t.Errorf("%s: %v", reason, got.err)
			}
			continue
		}
		if got.err != nil || got.reply.Finish != want || got.text != "So." || got.reasoning != "Hm." || len(got.reply.Message.Calls()) != 1 {
			t.Errorf("%s: %+v, %v", reason, got.reply, got.err)
			continue
		}
		if u := got.reply.Usage; u != (llm.Usage{Input: 10, Cached: 4, Output: 5, Reasoning: 2}) || got.reply.Model != "m" || got.reply.ID != "r" {
			t.Errorf("%s: %+v", reason, got.reply)
		}
	}
}

// Its client speaks with the fake server, which is what the other tests trust.
func TestTheSDKSpeaksWithTheFakeServer(t *testing.T) {
	t.Parallel()
	s := fakellm.Start(t,
		fakellm.Answer{Reasoning: "Hm.", Text: "Let me see.", Pieces: 4, Calls: []fakellm.Call{fakellm.Use("calc", `{"e":"1"}`), fakellm.Use("calc", `{"e":"2"}`)}, Usage: &fakellm.Usage{Input: 9, Output: 5, Reasoning: 2}},
		fakellm.Text("Done."))
	c, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: "k", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: s.URL + "/"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.ClientConfig().HTTPClient.CloseIdleConnections()
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{
		Name: "calc", ParametersJsonSchema: json.RawMessage(`{"type":"object","properties":{"e":{"type":"string"}}}`),
	}}}}}
	contents := []*genai.Content{genai.NewContentFromText("Hello", genai.RoleUser)}
	var reply genai.Content
	var last *genai.GenerateContentResponse
	for chunk, err := range c.Models.GenerateContentStream(t.Context(), "gemini-3.8-flash", contents, config) {
		if err != nil {
			t.Fatal(err)
		}
		last = chunk
		if content := chunk.Candidates[0].Content; content != nil {
			reply.Role = content.Role
			reply.Parts = append(reply.Parts, content.Parts...)
		}
	}
	text, calls := "", 0
	responses := &genai.Content{Role: genai.RoleUser}
	for _, p := range reply.Parts {
		if !p.Thought {
			text += p.Text
		}
		if f := p.FunctionCall; f != nil {
			calls++
			responses.Parts = append(responses.Parts, genai.NewPartFromFunctionResponse(f.Name, map[string]any{"output": f.Args["e"]}))
		}
	}
	if text != "Let me see." || calls != 2 || last.Candidates[0].FinishReason != genai.FinishReasonStop || last.UsageMetadata.ThoughtsTokenCount != 2 {
		t.Errorf("%q, %d calls, %+v", text, calls, last)
	}
	whole, err := c.Models.GenerateContent(t.Context(), "gemini-3.8-flash", append(contents, &reply, responses), config)
	if err != nil || whole.Text() != "Done." {
		t.Errorf("%+v, %v", whole, err)
	}
}
