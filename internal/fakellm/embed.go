package fakellm

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// embeddings is the part of a vendor's wire that turns texts into vectors. It
// needs no script: texts get vectors by their words, see [Script.Alike], unless
// [Script.Embeddings] has an answer left, which fails or says something else.
type embeddings struct {
	wire // the vendor's, for its failures
	// speaks reports whether a request is one for vectors.
	speaks func(path string) bool
	// texts holds a request against the documented format and returns its texts.
	texts func(r Request) ([]string, error)
	// answer is the vendor's document of vectors.
	answer func(r Request, vectors [][]float32, tokens int) any
}

// embedders are asked in this order.
var embedders = []embeddings{
	{
		wire:   chatCompletions{},
		speaks: func(path string) bool { return strings.HasSuffix(path, "/embeddings") },
		texts:  openAITexts,
		answer: func(r Request, vectors [][]float32, tokens int) any {
			data := []obj{}
			for i, v := range vectors {
				data = append(data, obj{"object": "embedding", "index": i, "embedding": v})
			}
			slices.Reverse(data) // the index says whose they are
			return obj{"object": "list", "data": data, "model": "fake", "usage": obj{"prompt_tokens": tokens, "total_tokens": tokens}}
		},
	},
	{
		wire:   generateContent{},
		speaks: func(path string) bool { return strings.HasSuffix(path, ":batchEmbedContents") },
		texts:  geminiTexts,
		answer: func(r Request, vectors [][]float32, _ int) any {
			list := []obj{}
			for _, v := range vectors {
				list = append(list, obj{"values": v})
			}
			return obj{"embeddings": list}
		},
	},
	{
		wire:   ollamaChat{},
		speaks: func(path string) bool { return path == "/api/embed" },
		texts:  ollamaTexts,
		answer: func(r Request, vectors [][]float32, tokens int) any {
			return obj{"model": "fake", "embeddings": vectors, "total_duration": 3, "load_duration": 1, "prompt_eval_count": tokens}
		},
	},
}

func embedderOf(r Request) (embeddings, bool) {
	for _, e := range embedders {
		if r.Method == http.MethodPost && e.speaks(r.Path) {
			return e, true
		}
	}
	return embeddings{}, false
}

// Embedded are the requests for vectors so far, which are not among
// [Server.Requests].
func (s *Server) Embedded() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.embedded)
}

// embed answers a request for vectors.
func (s *Server) embed(w http.ResponseWriter, r *http.Request, e embeddings, req Request) {
	texts, err := e.texts(req)
	s.mu.Lock()
	s.embedded = append(s.embedded, req)
	n := len(s.embedded)
	if err != nil && !s.script.Invalid {
		s.faults = append(s.faults, fmt.Errorf("request %d for vectors is invalid: %w\n%s", n, err, req.Body))
	}
	var a Answer
	if n <= len(s.script.Embeddings) {
		a = s.script.Embeddings[n-1]
	}
	alike := s.script.Alike
	s.mu.Unlock()
	tokens := 0
	vectors := make([][]float32, len(texts))
	for i, t := range texts {
		tokens += len(t) / 4
		vectors[i] = Vector(t, alike...)
	}
	if len(a.literal()) == 0 {
		a.Raw = []string{string(encode(e.answer(req, vectors, tokens)))}
	}
	out := &answering{w: w, r: r, a: a}
	if err := out.run(document{e.wire}, req, n); err != nil && r.Context().Err() == nil {
		s.fault(fmt.Errorf("answer request %d for vectors: %w", n, err))
	}
}

// document sends what is literally in an answer as one document.
type document struct{ wire }

func (document) write(a Answer, _ Request, _ int) ([][]byte, string, error) {
	return a.literal(), "application/json", nil
}

func (document) end(Answer, Request, int) [][]byte { return nil }

// vectorLength is how many numbers a [Vector] has.
const vectorLength = 256

// taskWords are what models want before a text, which says nothing of it.
var taskWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(task: [a-z ]+\| query: |title: none \| text: |search_query: |search_document: |query: |passage: )`)
})

// Vector is what this server makes of a text: each of its words adds a direction
// of its own, and words of one group of alike the same one. It has length 1.
func Vector(text string, alike ...[]string) []float32 {
	v := make([]float32, vectorLength)
	text = taskWords().ReplaceAllString(text, "")
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		for _, group := range alike {
			if slices.Contains(group, word) {
				word = group[0]
			}
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(word))
		sum := h.Sum64()
		for i := range 3 { // so that two words hardly ever share their direction
			v[(sum>>(16*i))%vectorLength]++
		}
	}
	length := 0.0
	for _, x := range v {
		length += float64(x) * float64(x)
	}
	if length == 0 {
		v[0], length = 1, 1
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(length))
	}
	return v
}

func checkTexts(texts []string, most int) error {
	if len(texts) == 0 || len(texts) > most {
		return fmt.Errorf("%d texts; want 1 to %d", len(texts), most)
	}
	for i, t := range texts {
		if strings.TrimSpace(t) == "" {
			return fmt.Errorf("text %d is blank", i)
		}
	}
	return nil
}

// openAITexts holds a request against OpenAI's format.
// https://platform.openai.com/docs/api-reference/embeddings/create
func openAITexts(r Request) ([]string, error) {
	var q struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Format     string   `json:"encoding_format"`
		Dimensions int      `json:"dimensions"`
		User       string   `json:"user"`
	}
	if err := strict(r.Body, &q); err != nil {
		return nil, err
	}
	if q.Model == "" {
		return nil, errors.New("no model")
	}
	return q.Input, checkTexts(q.Input, 2048)
}

// geminiTexts holds a request against Google's format.
// https://ai.google.dev/api/embeddings#method:-models.batchembedcontents
func geminiTexts(r Request) ([]string, error) {
	var q struct {
		Requests []struct {
			Model   string `json:"model"`
			Content struct {
				Parts []struct {
					Text string `json:"text"`
				} `json:"parts"`
			} `json:"content"`
			Task       string `json:"taskType"`
			Title      string `json:"title"`
			Dimensions int    `json:"outputDimensionality"`
		} `json:"requests"`
	}
	if err := strict(r.Body, &q); err != nil {
		return nil, err
	}
	of := strings.TrimSuffix(r.Path[strings.LastIndex(r.Path, "/models/")+1:], ":batchEmbedContents")
	var texts []string
	for i, one := range q.Requests {
		second := strings.Contains(one.Model, "gemini-embedding-2")
		switch {
		case one.Model != of:
			return nil, fmt.Errorf("request %d is for %q, the path for %q", i, one.Model, of)
		case len(one.Content.Parts) != 1:
			return nil, fmt.Errorf("request %d has %d parts", i, len(one.Content.Parts))
		case second && one.Task != "", !second && one.Task != "" && one.Task != "RETRIEVAL_QUERY" && one.Task != "RETRIEVAL_DOCUMENT":
			return nil, fmt.Errorf("request %d has the task %q", i, one.Task)
		case one.Dimensions != 0 && (one.Dimensions < 128 || one.Dimensions > 3072):
			return nil, fmt.Errorf("request %d wants %d dimensions", i, one.Dimensions)
		}
		texts = append(texts, one.Content.Parts[0].Text)
	}
	return texts, checkTexts(texts, 100)
}

// ollamaTexts holds a request against Ollama's format.
// https://docs.ollama.com/api/embed
func ollamaTexts(r Request) ([]string, error) {
	var q struct {
		Model      string          `json:"model"`
		Input      []string        `json:"input"`
		Truncate   *bool           `json:"truncate"`
		Dimensions int             `json:"dimensions"`
		KeepAlive  json.RawMessage `json:"keep_alive"`
		Options    json.RawMessage `json:"options"`
	}
	if err := strict(r.Body, &q); err != nil {
		return nil, err
	}
	if q.Model == "" {
		return nil, errors.New("no model")
	}
	return q.Input, checkTexts(q.Input, math.MaxInt)
}
