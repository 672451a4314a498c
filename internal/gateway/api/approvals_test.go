package api

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/tool"
)

// asks has a call of a person's run wait for an answer, and returns the id of
// the request and what comes of it.
func (r *rig) asks(who auth.Principal, args string, admins bool) (string, <-chan tool.Approval) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r.t.Cleanup(cancel)
	open, end := make(chan tool.Approval, 1), make(chan tool.Approval, 1)
	go func() {
		end <- r.gate.opts.Approvals.Ask(ctx, approval.Request{
			Scope: tool.NewScope(tool.Facts{Agent: "alpha", Session: "s-" + who.ID, Run: "r", Origin: tool.FromAPI, Caller: who, CanAsk: true}),
			Call:  "c1", Tool: "shell", Args: json.RawMessage(args), Rule: "careful", Reason: "Look first.", Admins: admins,
		}, func(a tool.Approval) { open <- a })
	}()
	select {
	case a := <-open:
		return a.ID, end
	case a := <-end:
		r.t.Fatalf("nobody is asked: %+v", a)
	}
	return "", nil
}

// People answer what their own runs ask, admins what any does; one answer is
// heard, and nobody learns of what is another's.
func TestApprovals(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	eve := auth.Principal{ID: "eve", Role: auth.User, Human: true}
	ids := func(who, query string) (ids []string, mine []bool) {
		t.Helper()
		var page Approvals
		r.call(who, "GET", "/api/approvals"+query, nil, http.StatusOK, &page)
		for _, a := range page.Approvals {
			ids, mine = append(ids, a.ID), append(mine, a.MayAnswer)
		}
		return ids, mine
	}
	his, hisEnd := r.asks(bob, `{"command":"ls"}`, false)
	guarded, guardedEnd := r.asks(bob, `{"command":"rm"}`, true)
	hers, hersEnd := r.asks(eve, `{"command":"pwd"}`, false)
	for _, c := range []struct {
		who, query string
		ids        []string
		mine       []bool
	}{
		{"bob", "", []string{guarded, his}, []bool{false, true}},
		{"eve", "?status=open", []string{hers}, []bool{true}},
		{"ada", "", []string{hers, guarded, his}, []bool{true, true, true}},
		{"ada", "?agent=main&session=s-bob", []string{guarded, his}, []bool{true, true}},
		{"ada", "?status=denied", nil, nil},
		{"ada", "?limit=1", []string{hers}, []bool{true}},
	} {
		got, mine := ids(c.who, c.query)
		if d := cmp.Diff(c.ids, got) + cmp.Diff(c.mine, mine); d != "" {
			t.Errorf("%s%s (-want +got):\n%s", c.who, c.query, d)
		}
	}
	for _, bad := range []string{"?status=maybe", "?limit=0", "?after=x", "?zone=%zz"} {
		r.call("bob", "GET", "/api/approvals"+bad, nil, http.StatusBadRequest, nil)
	}

	say := func(who, id, answer string, status int, code string) (a Approval) {
		t.Helper()
		var p Problem
		var out any = &p
		if status == http.StatusOK {
			out = &a
		}
		r.call(who, "POST", "/api/approvals/"+id, AnswerApproval{tool.Answer(answer)}, status, out)
		if p.Code != code {
			t.Errorf("%s is told %q: %s, want %q", who, p.Code, p.Detail, code)
		}
		return a
	}
	say("eve", his, "allow_once", http.StatusNotFound, "not_found")
	say("bob", guarded, "allow_once", http.StatusForbidden, "forbidden")
	say("bob", his, "yes", http.StatusBadRequest, "bad_request")
	say("bob", "nothing", "deny", http.StatusNotFound, "not_found")
	r.call("eve", "GET", "/api/approvals/"+his, nil, http.StatusNotFound, nil)

	if a := say("bob", his, "allow_always", http.StatusOK, ""); a.Status != tool.ApprovalAllowed || a.By != "bob" || a.MayAnswer {
		t.Errorf("bob's answer makes %+v", a)
	}
	say("ada", his, "deny", http.StatusConflict, "answered")
	say("ada", guarded, "deny", http.StatusOK, "")
	say("ada", hers, "allow-once", http.StatusOK, "")
	for id, end := range map[string]<-chan tool.Approval{his: hisEnd, guarded: guardedEnd, hers: hersEnd} {
		var a Approval
		r.call("ada", "GET", "/api/approvals/"+id, nil, http.StatusOK, &a)
		if got := <-end; got.Status != a.Status || a.Status == tool.ApprovalOpen {
			t.Errorf("%s: the call is told %s, people %s", id, got.Status, a.Status)
		}
	}

	// What is always allowed is listed and taken back.
	var grants Grants
	r.call("eve", "GET", "/api/approvals/grants", nil, http.StatusOK, &grants)
	if len(grants.Grants) != 0 {
		t.Errorf("eve sees %+v", grants)
	}
	r.call("bob", "GET", "/api/approvals/grants", nil, http.StatusOK, &grants)
	if len(grants.Grants) != 1 || grants.Grants[0].Person != "bob" || string(grants.Grants[0].Args) != `{"command":"ls"}` {
		t.Fatalf("bob sees %+v", grants)
	}
	path := "/api/approvals/grants/" + grants.Grants[0].ID
	r.call("eve", "DELETE", path, nil, http.StatusNotFound, nil)
	r.call("bob", "DELETE", path, nil, http.StatusNoContent, nil)
	r.call("ada", "DELETE", path, nil, http.StatusNotFound, nil)
	again, _ := r.asks(bob, `{"command":"ls"}`, false)
	if open, _ := ids("bob", "?status=open"); len(open) != 1 || open[0] != again {
		t.Errorf("then open is %v", open)
	}
}

// deskOf is the desk of a gate on a database.
func deskOf(s approval.Store) *approval.Desk {
	return approval.New(approval.Options{Store: s, NewID: session.NewID, Now: time.Now})
}
