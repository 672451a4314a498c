// Package approvaltest checks implementations of [approval.Store]. Each calls
// [Run] from a test of its own; it is imported by tests only. Start reading at
// [Run].
package approvaltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

// Run checks the stores that open returns: two handles of one new and empty
// database each time.
func Run(t *testing.T, open func(t *testing.T) (a, b approval.Store)) {
	for _, test := range []struct {
		name string
		f    func(t *testing.T, a, b approval.Store)
	}{
		{"a request ends once", testClose},
		{"of many who answer one is heard", testRace},
		{"requests are listed", testList},
		{"what dead processes left is closed", testAbandon},
		{"what nobody answered in time is closed", testExpire},
		{"grants bind exactly", testGrants},
		{"old requests are cleared away", testPurge},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			test.f(t, a, b)
		})
	}
}

var start = time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.UTC)

func request(id string, second int) tool.Approval {
	return tool.Approval{
		ID: id, Agent: "main", Session: "work", Run: "run-" + id, Call: "call_1", Origin: tool.FromAPI,
		Caller: auth.Principal{ID: "ada", Name: "Ada", Role: auth.User, Human: true},
		Tool:   "file_write", Args: json.RawMessage(`{"path":"<a> & ü","content":"x"}`), Rule: "careful", Reason: "Look first.",
		Where: source.Pos{Key: "hooks[careful]", File: "/home/config.yaml", Line: 3, Column: 5}, Admins: true,
		Status: tool.ApprovalOpen, Created: start.Add(time.Duration(second) * time.Second), Expires: start.Add(time.Hour),
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func unknown(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, approval.ErrUnknown) {
		t.Errorf("%s: error %v, want %v", what, err, approval.ErrUnknown)
	}
}

func ended(r tool.Approval, status tool.ApprovalStatus, answer tool.Answer, by string) tool.Approval {
	r.Status, r.Answer, r.By, r.Ended = status, answer, by, r.Created.Add(time.Minute)
	return r
}

func testClose(t *testing.T, a, b approval.Store) {
	ctx := t.Context()
	r := request("one", 0)
	must(t, a.Open(ctx, "desk", r))
	got, err := b.Get(ctx, "one")
	must(t, err)
	equal(t, "what is open", got, r)

	want := ended(r, tool.ApprovalDenied, tool.Deny, "eve")
	said := want
	said.Rule, said.Args = "another", nil // what was asked stays as it was
	got, err = b.Close(ctx, said, nil)
	must(t, err)
	equal(t, "what was answered", got, want)
	again, err := a.Close(ctx, ended(r, tool.ApprovalAllowed, tool.AllowAlways, "bob"), &approval.Grant{ID: "g", Person: "ada", Agent: "main", Tool: "file_write"})
	var closed *approval.ClosedError
	if !errors.As(err, &closed) {
		t.Fatalf("a second answer gives %+v, %v", again, err)
	}
	equal(t, "what stands against a second answer", closed.Approval, want)
	if list, err := a.Grants(ctx, ""); err != nil || len(list) != 0 {
		t.Errorf("an answer that was not heard granted %+v (%v)", list, err)
	}

	_, err = a.Close(ctx, request("two", 0), nil)
	unknown(t, "close what there isn't", err)
	_, err = a.Get(ctx, "two")
	unknown(t, "get what there isn't", err)
}

func testRace(t *testing.T, a, b approval.Store) {
	ctx := t.Context()
	for round := range 10 {
		r := request(fmt.Sprint("r", round), round)
		must(t, a.Open(ctx, "desk", r))
		const many = 8
		heard := make([]bool, many)
		var wg sync.WaitGroup
		for i := range many {
			wg.Go(func() {
				s := a
				if i%2 == 1 {
					s = b
				}
				var closed *approval.ClosedError
				_, err := s.Close(ctx, ended(r, tool.ApprovalAllowed, tool.AllowOnce, fmt.Sprint(i)), nil)
				heard[i] = err == nil
				if err != nil && !errors.As(err, &closed) {
					t.Errorf("answer %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		got, err := a.Get(ctx, r.ID)
		must(t, err)
		for i, h := range heard {
			if h != (got.By == fmt.Sprint(i)) {
				t.Errorf("answer %d was heard: %v; that of %s stands", i, h, got.By)
			}
		}
	}
}

func testList(t *testing.T, a, b approval.Store) {
	ctx := t.Context()
	if list, next, err := a.List(ctx, approval.Filter{}); err != nil || len(list) != 0 || next != "" {
		t.Errorf("an empty list is %v, %q (%v)", list, next, err)
	}
	for i := range 7 {
		r := request(fmt.Sprint("r", i), i/2) // two of each time
		if i%2 == 1 {
			r.Caller.ID = "bob"
		}
		if i == 3 {
			r.Agent, r.Session = "helper", ""
		}
		must(t, a.Open(ctx, "desk", r))
		if i == 5 {
			_, err := a.Close(ctx, ended(r, tool.ApprovalExpired, "", ""), nil)
			must(t, err)
		}
	}
	for _, c := range []struct {
		f    approval.Filter
		want string
	}{
		{approval.Filter{}, "r6 r5 r4 r3 r2 r1 r0"},
		{approval.Filter{Caller: "bob"}, "r5 r3 r1"},
		{approval.Filter{Agent: "helper"}, "r3"},
		{approval.Filter{Agent: "main", Session: "work", Status: tool.ApprovalOpen}, "r6 r4 r2 r1 r0"},
		{approval.Filter{Status: tool.ApprovalExpired}, "r5"},
		{approval.Filter{ID: "r4"}, "r4"},
		{approval.Filter{ID: "r4", Caller: "bob"}, ""},
	} {
		for _, limit := range []int{0, 1, 2, 3} {
			c.f.Limit, c.f.After = limit, ""
			got, pages := "", 0
			for {
				list, next, err := b.List(ctx, c.f)
				must(t, err)
				for _, r := range list {
					got += " " + r.ID
				}
				if pages++; next == "" || pages > 10 {
					break
				}
				c.f.After = next
			}
			if want := " " + c.want; got != want && got+c.want != "" {
				t.Errorf("%+v lists%s, want %s", c.f, got, c.want)
			}
		}
	}
	if _, _, err := a.List(ctx, approval.Filter{After: "nonsense"}); !errors.Is(err, approval.ErrCursor) {
		t.Errorf("a cursor that is none: %v", err)
	}
}

func testAbandon(t *testing.T, a, b approval.Store) {
	ctx := t.Context()
	for i, desk := range []string{"dead", "alive", "dead"} {
		must(t, a.Open(ctx, desk, request(fmt.Sprint("r", i), i)))
	}
	done := ended(request("done", 9), tool.ApprovalAllowed, tool.AllowOnce, "eve")
	must(t, a.Open(ctx, "dead", request("done", 9)))
	_, err := a.Close(ctx, done, nil)
	must(t, err)
	desks, err := b.Desks(ctx)
	must(t, err)
	if len(desks) != 2 {
		t.Errorf("the desks with open requests are %v", desks)
	}
	waiting, err := b.Waiting(ctx, "dead")
	must(t, err)
	slices.Sort(waiting)
	equal(t, "what waits", waiting, []string{"r0", "r2"})
	at := start.Add(time.Hour)
	n, err := b.Abandon(ctx, "dead", at)
	if err != nil || n != 2 {
		t.Errorf("%d were closed (%v), want 2", n, err)
	}
	for id, want := range map[string]tool.ApprovalStatus{"r0": tool.ApprovalLost, "r1": tool.ApprovalOpen, "r2": tool.ApprovalLost, "done": tool.ApprovalAllowed} {
		r, err := a.Get(ctx, id)
		if err != nil || r.Status != want || want == tool.ApprovalLost && !r.Ended.Equal(at) {
			t.Errorf("%s is %s, ended %v (%v); want %s", id, r.Status, r.Ended, err, want)
		}
	}
	if desks, err = a.Desks(ctx); err != nil || len(desks) != 1 || desks[0] != "alive" {
		t.Errorf("then the desks are %v (%v)", desks, err)
	}
}

func testExpire(t *testing.T, a, b approval.Store) {
	ctx := t.Context()
	early, late, said := request("early", 0), request("late", 1), request("said", 2)
	late.Expires = late.Expires.Add(time.Nanosecond)
	for _, r := range []tool.Approval{early, late, said} {
		must(t, a.Open(ctx, "desk", r))
	}
	said = ended(said, tool.ApprovalDenied, tool.Deny, "eve")
	_, err := a.Close(ctx, said, nil)
	must(t, err)
	for i, want := range []int{0, 1, 0} {
		n, err := b.Expire(ctx, early.Expires.Add(time.Duration(min(i, 1)-1)))
		must(t, err)
		equal(t, "how many", n, want)
	}
	early.Status, early.Ended = tool.ApprovalExpired, early.Expires
	for _, want := range []tool.Approval{early, late, said} {
		got, err := a.Get(ctx, want.ID)
		must(t, err)
		equal(t, want.ID, got, want)
	}
}

func grant(id, person, args string, admin bool, second int) approval.Grant {
	key, err := approval.KeyOf(json.RawMessage(args))
	if err != nil {
		panic(err)
	}
	return approval.Grant{
		ID: id, Person: person, Agent: "main", Tool: "file_write", Args: json.RawMessage(args), Rule: "careful",
		By: "eve", Admin: admin, Created: start.Add(time.Duration(second) * time.Second), Key: key,
	}
}

// give has g granted by an answer, and returns the name that it got.
func give(t *testing.T, s approval.Store, g approval.Grant) string {
	t.Helper()
	r := request("for-"+g.ID, 0)
	must(t, s.Open(t.Context(), "desk", r))
	end := ended(r, tool.ApprovalAllowed, tool.AllowAlways, g.By)
	end.Grant = g.ID
	end, err := s.Close(t.Context(), end, &g)
	must(t, err)
	return end.Grant
}

func testGrants(t *testing.T, a, b approval.Store) {
	ctx := t.Context()
	g := grant("g1", "ada", `{"n":1}`, false, 1)
	if name := give(t, a, g); name != "g1" {
		t.Errorf("the grant is named %s", name)
	}
	other := grant("x", "ada", `{"n":2}`, false, 1).Key
	for what, use := range map[string]func() (approval.Grant, error){
		"another person":         func() (approval.Grant, error) { return b.Use(ctx, "bob", "main", "file_write", g.Key, false, start) },
		"another agent":          func() (approval.Grant, error) { return b.Use(ctx, "ada", "helper", "file_write", g.Key, false, start) },
		"another tool":           func() (approval.Grant, error) { return b.Use(ctx, "ada", "main", "file_edit", g.Key, false, start) },
		"other arguments":        func() (approval.Grant, error) { return b.Use(ctx, "ada", "main", "file_write", other, false, start) },
		"a user where admins do": func() (approval.Grant, error) { return b.Use(ctx, "ada", "main", "file_write", g.Key, true, start) },
		"nobody":                 func() (approval.Grant, error) { return b.Use(ctx, "", "main", "file_write", g.Key, false, start) },
		"finding nobody's":       func() (approval.Grant, error) { return b.Find(ctx, "", "main", "file_write", g.Key, false) },
		"finding an admin's":     func() (approval.Grant, error) { return b.Find(ctx, "ada", "main", "file_write", g.Key, true) },
	} {
		_, err := use()
		unknown(t, what, err)
	}
	for n := 1; n <= 2; n++ {
		at := start.Add(time.Duration(n) * time.Hour)
		got, err := b.Use(ctx, "ada", "main", "file_write", g.Key, false, at)
		must(t, err)
		want := g
		want.Used, want.Uses = at, n
		equal(t, "the grant that was used", got, want)
		got, err = a.Find(ctx, "ada", "main", "file_write", g.Key, false)
		must(t, err)
		equal(t, "the grant that is found", got, want)
	}

	// The same again takes its place; one of an admin stands beside it.
	if name := give(t, b, grant("g2", "ada", `{"n":1}`, false, 2)); name != "g1" {
		t.Errorf("the same grant once more is named %s", name)
	}
	give(t, b, grant("g3", "ada", `{"n":1}`, true, 3))
	give(t, b, grant("g4", "bob", `{}`, true, 4))
	for _, admin := range []bool{false, true} {
		if got, err := a.Use(ctx, "ada", "main", "file_write", g.Key, admin, start); err != nil || got.ID != "g3" {
			t.Errorf("what counts is %s (%v)", got.ID, err)
		}
	}
	names := func(person string) (names string) {
		list, err := a.Grants(ctx, person)
		must(t, err)
		for _, g := range list {
			names += g.ID + " "
		}
		return names
	}
	equal(t, "all grants", names(""), "g4 g3 g1 ")
	equal(t, "those of one person", names("ada"), "g3 g1 ")
	unknown(t, "revoke another person's", a.Revoke(ctx, "g4", "ada"))
	must(t, a.Revoke(ctx, "g3", "ada"))
	must(t, a.Revoke(ctx, "g4", ""))
	unknown(t, "revoke again", b.Revoke(ctx, "g4", ""))
	equal(t, "what is left", names(""), "g1 ")
	_, err := b.Use(ctx, "ada", "main", "file_write", g.Key, true, start)
	unknown(t, "use what was revoked", err)
}

func testPurge(t *testing.T, a, b approval.Store) {
	ctx := t.Context()
	for i := range 3 {
		r := request(fmt.Sprint("r", i), i)
		must(t, a.Open(ctx, "desk", r))
		if i < 2 {
			_, err := a.Close(ctx, ended(r, tool.ApprovalExpired, "", ""), nil)
			must(t, err)
		}
	}
	if n, err := b.Purge(ctx, start.Add(time.Minute+time.Second/2)); err != nil || n != 1 {
		t.Errorf("%d were cleared away (%v), want 1", n, err)
	}
	list, _, err := a.List(ctx, approval.Filter{})
	if err != nil || len(list) != 2 || list[0].ID != "r2" || list[1].ID != "r1" {
		t.Errorf("left are %+v (%v)", list, err)
	}
}
