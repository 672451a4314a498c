package ollama

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// TestModelsThatTakeLess plays calls of models which take less than others:
// what the server says of them, or refuses, decides what they are asked, and
// what is asked of the one that comes next.
func TestModelsThatTakeLess(t *testing.T) {
	t.Parallel()
	noTools := fakellm.Fail(400, `{"error":"\"fake\" does not support tools"}`)
	for _, test := range []struct {
		name    string
		model   string
		others  string
		answers []fakellm.Answer
		targets []llm.Target // what requests were built for
		notices int
	}{
		{
			name: "everything", model: "fake", answers: []fakellm.Answer{fakellm.Text("Hello")},
			targets: []llm.Target{{Model: "fake", ContextWindow: 32_768, Images: true, Tools: true}},
		},
		{
			name: "no tools, as it says", model: "fake:text-8192", answers: []fakellm.Answer{fakellm.Text("Hello")},
			targets: []llm.Target{{Model: "fake:text-8192", ContextWindow: 8_192}},
		},
		{
			name: "no tools, as it refuses", model: "fake", answers: []fakellm.Answer{noTools, fakellm.Text("Hello")},
			targets: []llm.Target{{Model: "fake", ContextWindow: 32_768, Images: true, Tools: true}, {Model: "fake", ContextWindow: 32_768, Images: true}}, notices: 1,
		},
		{
			name: "another model", model: "fake", others: "fake:text-thinking", answers: []fakellm.Answer{fakellm.Fail(404, `{"error":"model 'fake' not found"}`), fakellm.Text("Hello")},
			targets: []llm.Target{{Model: "fake", ContextWindow: 32_768, Images: true, Tools: true}, {Model: "fake:text-thinking", ContextWindow: 32_768}}, notices: 1,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := fakellm.StartInMemory(t, append(test.answers, fakellm.Text("Again"))...)
				set := provider.New(provider.Options{
					Vendors: map[string]provider.Vendor{vendor: {Open: func(o provider.Settings) (llm.Model, error) {
						return newModel(o, s.Client()), nil
					}}},
					Providers: []provider.Settings{{Name: "ollama", BaseURL: s.Base()}},
				})
				var built []llm.Target
				build := func(target llm.Target) (llm.Request, error) {
					built = append(built, target)
					req := sample()
					req.Target, req.Reasoning = target, "low"
					if !target.Tools {
						req.Tools = nil
					}
					return req, nil
				}
				notices := 0
				call := func(want string) {
					t.Helper()
					var text string
					for e, err := range set.For("ollama/"+test.model, []string{"ollama/" + test.others}).Stream(t.Context(), "", false, build) {
						switch {
						case err != nil:
							t.Error(err)
						case e.Type == llm.EventText:
							text += e.Text
						case e.Type == llm.EventNotice:
							notices++
						}
					}
					if text != want {
						t.Errorf("the person sees %q", text)
					}
				}
				call("Hello")
				for i := range built {
					want := test.targets[min(i, len(test.targets)-1)]
					want.Provider, want.Vendor = "ollama", vendor
					if built[i] != want {
						t.Errorf("request %d was built for %+v, want %+v", i, built[i], want)
					}
				}
				if len(built) != len(test.targets) || notices != test.notices {
					t.Errorf("%d requests were built, %d notices", len(built), notices)
				}
				if test.others != "" {
					return
				}
				call("Again")
				if last := built[len(built)-1]; len(built) != len(test.targets)+1 || last.Tools != built[len(built)-2].Tools {
					t.Errorf("the next request was built for %+v", last)
				}
				last := s.Requests()[len(s.Requests())-1]
				var sent struct {
					Tools   []json.RawMessage
					Options struct {
						NumCtx int `json:"num_ctx"`
					}
				}
				if err := last.Decode(&sent); err != nil || sent.Options.NumCtx != built[0].ContextWindow || (len(sent.Tools) > 0) != built[len(built)-1].Tools {
					t.Errorf("%v\n%s", err, last.Body)
				}
			})
		})
	}
}
