package api

import (
	"net/http"
	"testing"

	"github.com/goclaw/goclaw/internal/agent/session"
)

// Whoever may go on with a session may switch its plan mode.
func TestPlanModeOverHTTP(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	r.say("bob", "s", "hello")
	key := session.Key{Agent: "alpha", ID: "s"}
	const path = "/api/sessions/alpha/s/plan"
	for _, on := range []bool{true, true, false, true} {
		r.runner.Settle(t.Context(), key)
		var got PlanMode
		r.call("bob", "PUT", path, PlanMode{On: on}, http.StatusOK, &got)
		if s, err := r.sessions.Session(t.Context(), key); err != nil || got.On != on || s.State == nil || s.State.Plan != on {
			t.Errorf("%v: %+v, the session has %+v (%v)", on, got, s.State, err)
		}
		var told SessionDetail
		if r.call("bob", "GET", "/api/sessions/alpha/s", nil, http.StatusOK, &told); told.Plan != on {
			t.Errorf("%v: told is %+v", on, told)
		}
	}
	r.refused("eve", "PUT", path, PlanMode{}, http.StatusNotFound, "not_found", "no session")
	r.refused("bob", "PUT", "/api/sessions/alpha/nothing/plan", PlanMode{}, http.StatusNotFound, "not_found", "no session")
	r.refused("bob", "PUT", path, map[string]string{"on": "perhaps"}, http.StatusBadRequest, "bad_request")
	if s, err := r.sessions.Session(t.Context(), key); err != nil || !s.State.Plan {
		t.Errorf("what was refused switched it: %+v %v", s.State, err)
	}
}
