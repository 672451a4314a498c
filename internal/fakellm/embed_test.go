package fakellm

import (
	"net/http"
	"strings"
	"testing"
)

func TestVector(t *testing.T) {
	t.Parallel()
	alike := []string{"weather", "forecast", "rain"}
	near := func(a, b string, groups ...[]string) (sum float32) {
		x, y := Vector(a, groups...), Vector(b, groups...)
		for i := range x {
			sum += x[i] * y[i]
		}
		return sum
	}
	for _, test := range []struct {
		name, a, b  string
		least, most float32
	}{
		{"the same words", "Read a file.", "read A FILE", 0.999, 1.001},
		{"words of one group", "forecast", "Rain!", 0.999, 1.001},
		{"what a model is told doesn't count", "task: search result | query: rain", "title: none | text: weather", 0.999, 1.001},
		{"half of the words", "send mail", "send parcel", 0.3, 0.7},
		{"other words", "send mail", "paint wall", 0, 0.2},
	} {
		if got := near(test.a, test.b, alike); got < test.least || got > test.most {
			t.Errorf("%s: %f", test.name, got)
		}
	}
	if got := near("forecast", "rain"); got > 0.5 {
		t.Errorf("without the group: %f", got)
	}
}

// What a vendor would refuse makes the test fail.
func TestEmbeddingsAreChecked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ path, body, fault string }{
		{"/v1/embeddings", `{"model":"m","input":["a"," "]}`, "text 1 is blank"},
		{"/v1/embeddings", `{"model":"m","input":[]}`, "0 texts"},
		{"/v1/embeddings", `{"input":["a"]}`, "no model"},
		{"/v1/embeddings", `{"model":"m","input":["a"],"query":true}`, "unknown field"},
		{"/v1beta/models/gemini-embedding-2:batchEmbedContents", `{"requests":[{"model":"models/x","content":{"parts":[{"text":"a"}]}}]}`, "the path for"},
		{"/v1beta/models/gemini-embedding-2:batchEmbedContents", `{"requests":[{"model":"models/gemini-embedding-2","content":{"parts":[{"text":"a"}]},"taskType":"RETRIEVAL_QUERY"}]}`, "the task"},
		{"/v1beta/models/gemini-embedding-2:batchEmbedContents", `{"requests":[{"model":"models/gemini-embedding-2","content":{"parts":[]}}]}`, "0 parts"},
		{"/api/embed", `{"model":"m","prompt":"a"}`, "unknown field"},
	} {
		s := Start(t)
		resp, err := http.Post(s.URL+test.path, "application/json", strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.Forgive(); err == nil || !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%s: %v", test.body, err)
		}
	}
}
