package fakellm

import (
	"bytes"
	"io"
	"net/http"
	"sync"
)

// Quick answers Chat Completions for benchmarks: a request whose last message
// is a tool's result gets text, every other one gets a call. It keeps nothing,
// checks nothing and allocates next to nothing, so that what is measured is
// the client.
func Quick(call Call, text string) http.Handler {
	q := &quick{}
	r := Request{Body: []byte(`{"model":"fake-model","stream":true,"stream_options":{"include_usage":true}}`)}
	q.call = q.render(Answer{Calls: []Call{call}, Pieces: 16}, r)
	q.text = q.render(Answer{Text: text, Pieces: 16}, r)
	q.bodies.New = func() any { return new(bytes.Buffer) }
	return q
}

type quick struct {
	call, text []byte
	bodies     sync.Pool
}

func (q *quick) render(a Answer, r Request) []byte {
	var api chatCompletions
	pieces, _, err := api.write(a, r, 1)
	if err != nil {
		panic("fakellm: " + err.Error()) // the body is this package's own
	}
	return bytes.Join(append(pieces, api.end(a, r, 1)...), nil)
}

var (
	roleKey  = []byte(`"role":"`)
	toolRole = []byte(`tool"`)
)

// ServeHTTP implements [http.Handler].
func (q *quick) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := q.bodies.Get().(*bytes.Buffer)
	defer q.bodies.Put(body)
	body.Reset()
	if _, err := io.Copy(body, r.Body); err != nil {
		return
	}
	answer := q.call
	if i := bytes.LastIndex(body.Bytes(), roleKey); i >= 0 && bytes.HasPrefix(body.Bytes()[i+len(roleKey):], toolRole) {
		answer = q.text
	}
	w.Header()["Content-Type"] = eventStream
	_, _ = w.Write(answer) // the client may have left
}

var eventStream = []string{"text/event-stream"}
