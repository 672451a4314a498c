package gateway_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/tool"
)

// fork forks session s behind a turn and returns the id of the fork.
func (r *rig) fork(s string, turn int) string {
	r.t.Helper()
	f, err := session.Fork(r.t.Context(), r.Sessions, session.ForkOptions{
		From: session.Key{Agent: "main", ID: s}, Turn: turn, Origin: tool.FromChat, By: admin(s, "").Caller, Time: time.Now(),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return f.ID
}

// TestForkSendsTheBytesOfItsSession: the first request of a fork is that which
// the session made from the same place, up to the end of the person's words.
func TestForkSendsTheBytesOfItsSession(t *testing.T) {
	t.Parallel()
	r := setup(
		t, "",
		fakellm.Answer{Text: "I look.", Calls: []fakellm.Call{fakellm.Use("file_list", `{}`), fakellm.Use("file_write", `{"path":"new.txt","content":"x"}`)}},
		fakellm.Text("First done."),
		fakellm.Calls(fakellm.Use("file_read", `{"path":"new.txt"}`)),
		fakellm.Text("Second done."),
		fakellm.Text("Third done."),
	)
	words := []string{"the first words", "the second words", "the third words"}
	begin := []int{0, 2, 4} // the requests that the turns begin with
	for _, w := range words {
		r.say("s", w)
	}
	// The workspace is another one by now; the sessions know the old listing.
	r.write("later.txt", "y")
	for turn := range words {
		r.model.Add(fakellm.Text("Forked."))
		at := len(r.model.Requests())
		r.say(r.fork("s", turn), words[turn])
		all := r.model.Requests()
		a, b := all[begin[turn]].Body, all[at].Body
		end := []byte(words[turn])
		if n, want := repeated(a, b), bytes.LastIndex(a, end)+len(end); n < want {
			t.Errorf("behind turn %d: the fork repeats %d bytes of %d; it goes on %q instead of %q", turn, n, want, b[n:min(n+60, len(b))], a[n:min(n+60, len(a))])
		}
	}
}

// TestForkGoesOnWithWhatItsSessionHas: a fork reads what was kept aside, knows
// which files it has read, and what the last request was.
func TestForkGoesOnWithWhatItsSessionHas(t *testing.T) {
	t.Parallel()
	r := setup(t, "", reads("f"), fakellm.Text("Read."), reads("g"), fakellm.Text("Read as well."))
	if _, err := r.Agent(""); err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&rows, "line %d\n", i)
	}
	r.write("f", rows.String())
	r.write("g", "short")
	r.say("s", "read f")
	ref := refPattern.FindStringSubmatch(r.results(2)[0].text())[1]
	r.say("s", "read g")
	f := r.fork("s", 1)
	p, err := r.PreviewPrompt(t.Context(), admin(f, "next"))
	if err != nil || p.Last == nil || p.Last.Messages != 3 {
		t.Errorf("the last request is %+v (%v)", p.Last, err)
	}

	r.write("f", "somebody changes it")
	r.write("g", "this too")
	r.model.Add(
		fakellm.Calls(fakellm.Use("read_output", fmt.Sprintf(`{"ref":%q,"mode":"tail"}`, ref))),
		fakellm.Calls(fakellm.Use("file_write", `{"path":"f","content":"mine"}`), fakellm.Use("file_write", `{"path":"g","content":"mine"}`)),
		fakellm.Text("Done."),
	)
	outcomes := r.say(f, "go on").outcomes()
	mustContain(t, "what was kept aside", fmt.Sprint(outcomes[0].Content), "line 2999")
	// It has read f, which has changed since; that the session read g came later.
	got := map[string]tool.Status{}
	for _, o := range outcomes[1:] {
		got[o.Call.Arguments] = o.Status
	}
	if got[`{"path":"f","content":"mine"}`] == tool.OK || got[`{"path":"g","content":"mine"}`] != tool.OK {
		t.Errorf("writing what changed meanwhile: %v", got)
	}
}
