package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// idempotent is the id of the run that a request means which has an
// Idempotency-Key; empty when it has none.
func idempotent(r *http.Request, c Caller) (string, error) {
	values, ok := r.Header["Idempotency-Key"]
	if !ok {
		return "", nil
	}
	k := values[0]
	if len(k) < 1 || len(k) > 128 || strings.ContainsFunc(k, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", badRequest("the Idempotency-Key must be 1 to 128 printable ASCII characters")
	}
	return run.IDOf(c.ID, k), nil
}

// asked is what a request asks for, as far as it has to be the same whenever it
// is sent under the same key. How it wants to be answered may differ.
type asked struct {
	agent, session string // empty when it names none
	words          string
	files          int
	results        string // of calls that the client was given
	sum            string // of all that a request of OpenAI's form asks; empty for others
}

// checkSame refuses a request whose key, which made the run id, was used for
// another one: its client would take the answer to those words for its own
// (draft-ietf-httpapi-idempotency-key-header, 2.7). f is what was found.
func (s *Server) checkSame(ctx context.Context, id string, f foundRun, q asked) error {
	if id == "" {
		return nil
	}
	said, err := s.saidUnder(ctx, id, f)
	if err != nil {
		return err
	}
	key := f.key()
	if (isAlias(q.agent) || q.agent == key.Agent) && (q.session == "" || q.session == key.ID) &&
		slices.ContainsFunc(said, q.same) {
		return nil
	}
	return problem(http.StatusUnprocessableEntity, "key_reused",
		"the Idempotency-Key was used with another message, other tools or another conversation, which run %s of session %s has; take a new key for each request",
		f.id(), key)
}

// keyed is what came under a key.
type keyed struct {
	llm.Message
	sum string // empty when it is unknown
}

// same reports whether what came is what q asks for.
func (q asked) same(k keyed) bool {
	if q.sum != "" && k.sum != "" {
		return q.sum == k.sum
	}
	return k.Text() == q.said() && files(k.Message) == q.files && resultsIn(k.Message) == q.results
}

// sum tells apart what requests ask: all that the model is to read, and the tools
// that it is to have.
func (q *ChatRequest) sum() (string, error) {
	whole, err := json.Marshal([]any{q.Messages, q.Tools, q.ToolChoice, q.ParallelToolCalls})
	if err != nil {
		return "", fmt.Errorf("tell a request apart: %w", err)
	}
	if canonical, err := jsonschema.Canonical(whole); err == nil { // else it counts as it is written
		whole = canonical
	}
	sum := sha256.Sum256(whole)
	return hex.EncodeToString(sum[:16]), nil
}

// said is the text as a message holds it.
func (q asked) said() string {
	if strings.TrimSpace(q.words) == "" {
		return ""
	}
	return q.words
}

// saidUnder are the messages one of which came under the id of a run: its own,
// or those that run f took in.
func (s *Server) saidUnder(ctx context.Context, id string, f foundRun) ([]keyed, error) {
	switch {
	case f.id() != id:
	case f.live != nil:
		req := f.live.Request()
		return []keyed{{req.Message, req.Asked}}, nil
	default:
		return []keyed{{f.stored.Message, f.stored.Asked}}, nil
	}
	runs, _, err := s.opts.Sessions.Runs(ctx, session.RunFilter{Run: f.id(), Depth: session.Told, Limit: 1})
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	var joined []keyed
	for _, r := range runs[0].Rounds {
		for _, m := range r.Before {
			joined = append(joined, keyed{Message: m})
		}
	}
	return joined, nil
}

// resultsIn tells apart the results that m holds, in whatever order.
func resultsIn(m llm.Message) string {
	var sums []string
	for _, p := range m.Parts {
		if p.Kind == llm.KindResult && p.Result != nil {
			sums = append(sums, sumOf(p.Result))
		}
	}
	return jumbled(sums)
}

// sumOf tells a client's result apart, as it was told or as it is stored.
func sumOf(r *llm.ToolResult) string { return cmp.Or(r.Digest, tool.Digest(tool.OK, r.Content)) }

// answered is resultsIn of what the client sends.
func (c *conversation) answered() string {
	var sums []string
	for _, r := range c.results {
		sums = append(sums, tool.Digest(tool.OK, r.text))
	}
	return jumbled(sums)
}

func jumbled(sums []string) string {
	slices.Sort(sums)
	return strings.Join(sums, " ")
}

// files counts what a person attached to a message. An image of theirs is there
// twice, as a file and as what the model sees.
func files(m llm.Message) int {
	n := map[llm.Kind]int{}
	for _, p := range m.Parts {
		n[p.Kind]++
	}
	return max(n[llm.KindFile], n[llm.KindMedia])
}
