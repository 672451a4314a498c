package api

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// completed asks OpenAI's interface as a client does, and returns the session
// in which the answer was given.
func (r *rig) completed(who, named, user string) string {
	r.t.Helper()
	body := map[string]any{"model": "goclaw/alpha", "messages": []any{map[string]any{"role": "user", "content": "hi"}}}
	if user != "" {
		body["user"] = user
	}
	var headers []header
	if named != "" {
		headers = append(headers, header{"X-GoClaw-Session", named})
	}
	return r.call(who, "POST", "/v1/chat/completions", body, http.StatusOK, nil, headers...).Header.Get("X-GoClaw-Session")
}

// A name leads to one session, under whatever of its names it is asked for.
func TestASessionIsContinuedUnderTheNameThatWasAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	for name, want := range map[string]string{"v1": "api:bob:v1", "a name of two words": "", "": "", "api:eve:v1": "api:bob:api:eve:v1"} {
		first := r.completed("bob", name, "")
		if want != "" && first != want {
			t.Errorf("%q is %s, want %s", name, first, want)
		}
		for range 2 {
			if again := r.completed("bob", first, ""); again != first {
				t.Errorf("%q is %s, and that is %s", name, first, again)
			}
			if name == "" {
				continue
			}
			if again := r.completed("bob", name, ""); again != first {
				t.Errorf("%q is %s first and %s then", name, first, again)
			}
			if again := r.completed("bob", "", name); again != first {
				t.Errorf("%q is %s in the header and %s as the user", name, first, again)
			}
		}
		var s SessionDetail
		r.call("bob", "GET", "/api/sessions/alpha/"+first, nil, http.StatusOK, &s)
		if n := map[bool]int{true: 3, false: 7}[name == ""]; s.Turns != n {
			t.Errorf("%s has %d turns, want %d", first, s.Turns, n)
		}
	}
}

// What began elsewhere goes on under its id; a name that is somebody else's
// leads where it would if nobody had it.
func TestASessionOfTheOtherRoutesIsContinued(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	r.completed("bob", "early", "")
	for _, name := range []string{"chat", "early"} {
		r.say("bob", name, "hi")
	}
	for _, c := range []struct{ who, header, user, want string }{
		{"bob", "chat", "", "chat"},
		{"bob", "", "chat", "chat"},
		{"bob", "early", "", "api:bob:early"}, // it was that before
		{"eve", "chat", "", "api:eve:chat"},
		{"eve", "", "chat", "api:eve:chat"},
		{"eve", "nobodys", "", "api:eve:nobodys"},
		{"eve", "api:bob:early", "", "api:eve:api:bob:early"},
		// An admin may go on in all sessions; what a client calls its user is no
		// word of theirs.
		{"ada", "chat", "", "chat"},
		{"ada", "", "early", "api:ada:early"},
	} {
		if got := r.completed(c.who, c.header, c.user); got != c.want {
			t.Errorf("for %s the header %q and the user %q are %s, want %s", c.who, c.header, c.user, got, c.want)
		}
	}
	var s SessionDetail
	r.call("bob", "GET", "/api/sessions/alpha/chat", nil, http.StatusOK, &s)
	if s.Turns != 4 || s.Caller.ID != "bob" {
		t.Errorf("the session is %+v", s.Session)
	}
}

// Both forms of an answer are what the document says, which the rig looks at.
func TestACompletionIsStreamed(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	r.model.on("fail", reply{err: errors.New("no luck")})
	for words, last := range map[string]string{"hi": "[DONE]", "fail": "run_failed"} {
		events := r.stream("bob", "POST", "/v1/chat/completions", map[string]any{
			"model": "goclaw", "messages": []any{map[string]any{"role": "user", "content": words}}, "stream": true, "stream_options": map[string]any{"include_usage": true},
		})
		if n := len(events); n < 2 || !strings.Contains(events[n-1].data, last) {
			t.Errorf("%s: %+v", words, events)
		}
	}
}
