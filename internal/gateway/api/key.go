package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
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
		slices.ContainsFunc(said, func(m llm.Message) bool {
			return m.Text() == q.said() && files(m) == q.files && resultsIn(m) == q.results
		}) {
		return nil
	}
	return problem(http.StatusUnprocessableEntity, "key_reused",
		"the Idempotency-Key was used for another message, which run %s of session %s has; take a new key for each message", f.id(), key)
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
func (s *Server) saidUnder(ctx context.Context, id string, f foundRun) ([]llm.Message, error) {
	switch {
	case f.id() != id:
	case f.live != nil:
		return []llm.Message{f.live.Request().Message}, nil
	default:
		return []llm.Message{f.stored.Message}, nil
	}
	runs, _, err := s.opts.Sessions.Runs(ctx, session.RunFilter{Run: f.id(), Depth: session.Told, Limit: 1})
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	var joined []llm.Message
	for _, r := range runs[0].Rounds {
		joined = append(joined, r.Before...)
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
