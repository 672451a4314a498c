package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/store/sqlite/sqlitetest"
	"github.com/goclaw/goclaw/internal/tool"
)

var (
	ada   = auth.Principal{ID: "ada", Role: auth.User, Human: true}
	bob   = auth.Principal{ID: "bob", Role: auth.User, Human: true}
	admin = auth.Principal{ID: "eve", Role: auth.Admin, Human: true}
)

// rig is two processes on one database.
type rig struct {
	t           *testing.T
	here, there *approval.Desk
	path        string
	ids         *ids
	claims      *claims
}

// ids counts, so that ids are short and known.
type ids struct {
	mu sync.Mutex
	n  int
}

func (i *ids) next() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.n++
	return fmt.Sprint("id", i.n)
}

// claims are marks of living processes.
type claims struct {
	mu   sync.Mutex
	held map[string]bool
}

func (c *claims) claim(id string) (func(), error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[id] {
		return nil, errors.New("held")
	}
	c.held[id] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.held, id)
	}, nil
}

func setup(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, path: filepath.Join(t.TempDir(), "state.db"), ids: &ids{}, claims: &claims{held: map[string]bool{}}}
	r.here, r.there = r.desk(), r.desk()
	return r
}

func (r *rig) desk() *approval.Desk {
	return approval.New(approval.Options{Store: sqlitetest.Open(r.t, r.path).Approvals(), Claim: r.claims.claim, NewID: r.ids.next})
}

func request(who auth.Principal, args string) approval.Request {
	return approval.Request{
		Scope: tool.NewScope(tool.Facts{Agent: "main", Session: "s", Run: "r", Origin: tool.FromChat, Caller: who, CanAsk: true}),
		Call:  "call_1", Tool: "shell", Args: json.RawMessage(args), Rule: "careful", Reason: "Look first.", Timeout: time.Minute,
	}
}

// asking is a call that waits.
type asking struct {
	asked  chan tool.Approval
	end    chan tool.Approval
	cancel context.CancelFunc
}

func ask(t *testing.T, d *approval.Desk, r approval.Request) *asking {
	ctx, cancel := context.WithCancel(t.Context())
	a := &asking{asked: make(chan tool.Approval, 1), end: make(chan tool.Approval, 1), cancel: cancel}
	go func() { a.end <- d.Ask(ctx, r, func(open tool.Approval) { a.asked <- open }) }()
	return a
}

// TestAnswers: each answer does what it says, given in this process or another.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer tool.Answer
		status tool.ApprovalStatus
		again  bool // the same call is asked about again
	}{
		{tool.AllowOnce, tool.ApprovalAllowed, true},
		{tool.AllowAlways, tool.ApprovalAllowed, false},
		{tool.Deny, tool.ApprovalDenied, true},
	} {
		for where, pick := range map[string]func(*rig) *approval.Desk{
			"here": func(r *rig) *approval.Desk { return r.here }, "in another process": func(r *rig) *approval.Desk { return r.there },
		} {
			t.Run(string(c.answer)+" "+where, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := setup(t)
					q := ask(t, r.here, request(ada, `{"command":"ls"}`))
					open := <-q.asked
					if open.Status != tool.ApprovalOpen || string(open.Args) != `{"command":"ls"}` || open.Expires.Sub(open.Created) != time.Minute {
						t.Errorf("people are asked %+v", open)
					}
					began := time.Now()
					if _, err := pick(r).Answer(t.Context(), ada, open.ID, c.answer); err != nil {
						t.Fatal(err)
					}
					a := <-q.end
					if took := time.Since(began); where == "here" && took != 0 || took > 500*time.Millisecond {
						t.Errorf("the answer was seen after %v", took)
					}
					if a.Status != c.status || a.Answer != c.answer || a.By != "ada" || a.Allowed() != (a.Refusal() == nil) {
						t.Errorf("it ended as %+v, %v", a, a.Refusal())
					}
					q = ask(t, r.there, request(ada, `{"command":"\u006cs"}`))
					select {
					case again := <-q.asked:
						if !c.again {
							t.Errorf("it is asked again: %+v", again)
						}
						q.cancel()
						<-q.end
					case a := <-q.end:
						if c.again || !a.Allowed() || a.Grant == "" || a.ID != "" {
							t.Errorf("without a question it is %+v", a)
						}
					}
				})
			})
		}
	}
}

// TestNobodyAnswers: what is not answered in time is a no, and so is an answer
// that comes after.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := setup(t)
		began := time.Now()
		q := ask(t, r.here, request(ada, `{}`))
		open := <-q.asked
		a := <-q.end
		if a.Status != tool.ApprovalExpired || time.Since(began) != time.Minute || a.Refusal() == nil ||
			!strings.Contains(a.Refusal().Error(), "nobody answered within 1m0s") {
			t.Errorf("after %v it is %+v: %v", time.Since(began), a, a.Refusal())
		}
		var closed *approval.ClosedError
		if _, err := r.there.Answer(t.Context(), admin, open.ID, tool.AllowOnce); !errors.As(err, &closed) {
			t.Errorf("a late answer: %v", err)
		}
	})
}

// TestWhatNobodyWaitsForIsClosed: a request of a process that died is closed by
// whoever looks at it, or answers it, and one that hangs when its time is over.
func TestWhatNobodyWaitsForIsClosed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dies  bool
		after time.Duration
		want  tool.ApprovalStatus
	}{
		"it died":               {true, 0, tool.ApprovalLost},
		"it died, and is late":  {true, time.Minute, tool.ApprovalExpired},
		"it hangs":              {false, time.Minute - 1, tool.ApprovalOpen},
		"it hangs, and is late": {false, time.Minute, tool.ApprovalExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := setup(t)
				store := sqlitetest.Open(t, r.path).Approvals()
				for _, id := range []string{"listed", "answered"} {
					a := tool.Approval{
						ID: id, Agent: "main", Session: "s", Run: "r", Caller: ada, Tool: "shell", Status: tool.ApprovalOpen,
						Created: time.Now().UTC(), Expires: time.Now().UTC().Add(time.Minute),
					}
					if err := store.Open(t.Context(), "desk of "+id, a); err != nil {
						t.Fatal(err)
					}
					if !c.dies {
						if _, err := r.claims.claim("desk of " + id); err != nil {
							t.Fatal(err)
						}
					}
				}
				time.Sleep(c.after)
				_, err := r.here.Answer(t.Context(), ada, "answered", tool.AllowOnce)
				var closed *approval.ClosedError
				if open := c.want == tool.ApprovalOpen; open != (err == nil) || !open && (!errors.As(err, &closed) || closed.Approval.Status != c.want) {
					t.Errorf("answering it: %v", err)
				}
				open, _, err := r.there.List(t.Context(), ada, approval.Filter{Status: tool.ApprovalOpen})
				if err != nil || (len(open) == 1) != (c.want == tool.ApprovalOpen) {
					t.Errorf("open are %+v (%v)", open, err)
				}
				list, _, err := r.there.List(t.Context(), ada, approval.Filter{ID: "listed"})
				if err != nil || len(list) != 1 || list[0].Status != c.want {
					t.Errorf("it is listed as %+v (%v)", list, err)
				}
			})
		})
	}
}

// TestTheRunIsStopped: whoever asked goes on at once, and nobody can answer.
func TestTheRunIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := setup(t)
		q := ask(t, r.here, request(ada, `{}`))
		open := <-q.asked
		began := time.Now()
		q.cancel()
		if a := <-q.end; a.Status != tool.ApprovalStopped || a.Allowed() || time.Since(began) != 0 {
			t.Errorf("after %v it is %+v", time.Since(began), a)
		}
		_, err := r.here.Answer(t.Context(), ada, open.ID, tool.AllowAlways)
		if err == nil || !strings.Contains(err.Error(), "its run has ended") {
			t.Errorf("an answer then: %v", err)
		}
		if a := r.here.Ask(canceled(t), request(ada, `{}`), nil); a.Allowed() {
			t.Errorf("a run that was stopped before is answered %+v", a)
		}
	})
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// TestNobodyCanBeAsked: it is a no at once, in words, and nothing is stored;
// but what is always allowed goes on without anybody.
func TestNobodyCanBeAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := setup(t)
		q := ask(t, r.here, request(ada, `{"a":1}`))
		if _, err := r.here.Answer(t.Context(), ada, (<-q.asked).ID, tool.AllowAlways); err != nil {
			t.Fatal(err)
		}
		<-q.end
		for origin, words := range map[tool.Origin]string{
			tool.FromChat: "a terminal, goclaw chat", tool.FromCron: "where a gateway serves", tool.FromChannel: "nobody can be asked from here",
		} {
			alone := request(ada, `{"a":2}`)
			alone.Scope = tool.NewScope(tool.Facts{Agent: "main", Origin: origin, Caller: ada})
			a := r.here.Ask(t.Context(), alone, func(tool.Approval) { t.Error("somebody is asked") })
			if a.Status != tool.ApprovalDenied || a.ID != "" || !strings.Contains(a.Refusal().Error(), words) || !strings.Contains(a.Refusal().Error(), "careful") {
				t.Errorf("from %s it is %+v: %v", origin, a, a.Refusal())
			}
			alone.Args = json.RawMessage(`{"a":1}`)
			if a := r.here.Ask(t.Context(), alone, nil); !a.Allowed() {
				t.Errorf("from %s what is always allowed is %+v", origin, a)
			}
		}
		busy := request(ada, `{"a":2}`)
		busy.Unasked = "its tool can't wait"
		if a := r.here.Ask(t.Context(), busy, func(tool.Approval) { t.Error("somebody is asked") }); a.Status != tool.ApprovalDenied || a.ID != "" || a.Problem != busy.Unasked {
			t.Errorf("of a call that can't wait it is %+v", a)
		}
		busy.Args = json.RawMessage(`{"a":1}`)
		if a := r.here.Ask(t.Context(), busy, nil); !a.Allowed() {
			t.Errorf("of a call that can't wait what is always allowed is %+v", a)
		}
		if list, _, err := r.there.List(t.Context(), admin, approval.Filter{}); err != nil || len(list) != 1 {
			t.Errorf("stored is %+v (%v)", list, err)
		}
	})
}

// TestWhoMayAnswer: an admin any, a person what their own runs ask unless the
// rule guards them; nobody learns of what is another's.
func TestWhoMayAnswer(t *testing.T) {
	t.Parallel()
	system := auth.Principal{ID: "system", Role: auth.System}
	for _, c := range []struct {
		caller, by auth.Principal
		admins     bool
		want       error
	}{
		{ada, ada, false, nil},
		{ada, ada, true, approval.ErrAdmins},
		{ada, bob, false, approval.ErrUnknown},
		{ada, bob, true, approval.ErrUnknown},
		{ada, admin, true, nil},
		{admin, admin, true, nil},
		{admin, auth.Principal{ID: admin.ID, Role: auth.User, Human: true}, false, approval.ErrAdmins},
		{system, admin, false, nil},
		{system, ada, false, approval.ErrUnknown},
		{system, system, false, approval.ErrUnknown}, // it is no person
	} {
		t.Run(fmt.Sprintf("%s answers %s, admins only %v", c.by.ID, c.caller.ID, c.admins), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := setup(t)
				req := request(c.caller, `{}`)
				req.Admins = c.admins
				q := ask(t, r.here, req)
				id := (<-q.asked).ID
				_, err := r.there.Answer(t.Context(), c.by, id, tool.AllowOnce)
				if !errors.Is(err, c.want) {
					t.Errorf("error %v, want %v", err, c.want)
				}
				list, _, err := r.there.List(t.Context(), c.by, approval.Filter{})
				if sees := len(list) == 1; err != nil || sees != !errors.Is(c.want, approval.ErrUnknown) && c.by.Role != auth.System {
					t.Errorf("they see %+v (%v)", list, err)
				}
				q.cancel()
				<-q.end
			})
		})
	}
}

// TestAGrantOfAUserDoesntServeARuleThatGuardsThem: what they allowed
// themselves is no answer of an admin.
func TestAGrantOfAUserDoesntServeARuleThatGuardsThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := setup(t)
		q := ask(t, r.here, request(ada, `{}`))
		if _, err := r.here.Answer(t.Context(), ada, (<-q.asked).ID, tool.AllowAlways); err != nil {
			t.Fatal(err)
		}
		<-q.end
		guarded := request(ada, `{}`)
		guarded.Admins = true
		q = ask(t, r.here, guarded)
		if _, err := r.here.Answer(t.Context(), admin, (<-q.asked).ID, tool.AllowAlways); err != nil {
			t.Fatal(err)
		}
		<-q.end
		if a := r.here.Ask(t.Context(), guarded, nil); !a.Allowed() || a.By != "eve" {
			t.Errorf("what an admin always allows is %+v", a)
		}
		// A person takes back what is theirs, whoever gave it; another can't.
		grants, err := r.there.Grants(t.Context(), ada)
		if err != nil || len(grants) != 2 {
			t.Fatalf("the grants are %+v (%v)", grants, err)
		}
		if err := r.there.Revoke(t.Context(), bob, grants[0].ID); !errors.Is(err, approval.ErrUnknown) {
			t.Errorf("another person takes it back: %v", err)
		}
		for _, g := range grants {
			if err := r.there.Revoke(t.Context(), ada, g.ID); err != nil {
				t.Error(err)
			}
		}
		q = ask(t, r.here, request(ada, `{}`))
		<-q.asked
		q.cancel()
		<-q.end
	})
}

// TestOneIsHeard: of many front ends that answer at once one wins, the call
// does what that one said, and the others are told who it was.
func TestOneIsHeard(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for n := range 20 {
		q := ask(t, r.here, request(ada, fmt.Sprintf(`{"n":%d}`, n)))
		id := (<-q.asked).ID
		var wg sync.WaitGroup
		errs := make([]error, 6)
		for i := range errs {
			d, answer := r.here, tool.AllowOnce
			if i%2 == 1 {
				d = r.there
			}
			if i%3 == 1 {
				answer = tool.Deny
			}
			wg.Go(func() {
				_, errs[i] = d.Answer(t.Context(), auth.Principal{ID: fmt.Sprint("p", i), Role: auth.Admin}, id, answer)
			})
		}
		wg.Wait()
		a := <-q.end
		for i, err := range errs {
			if (err == nil) != (a.By == fmt.Sprint("p", i)) || err != nil && !strings.Contains(err.Error(), "by "+a.By) {
				t.Errorf("p%d is told %v; %s was heard", i, err, a.By)
			}
		}
		if a.Allowed() != (a.Answer == tool.AllowOnce) {
			t.Errorf("%s makes %s", a.Answer, a.Status)
		}
	}
}

// TestADeadProcess: what it left open is closed at the next start, what a
// living one asks is left alone.
func TestADeadProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := setup(t)
		dead, alive := ask(t, r.here, request(ada, `{}`)), ask(t, r.there, request(ada, `{}`))
		lost, open := <-dead.asked, <-alive.asked
		r.here.Close() // as the system takes its mark back
		if n, err := r.desk().Sweep(t.Context()); err != nil || n != 1 {
			t.Errorf("%d were closed (%v)", n, err)
		}
		_, err := r.there.Answer(t.Context(), ada, lost.ID, tool.AllowOnce)
		if err == nil || !strings.Contains(err.Error(), "the process that asked has ended") {
			t.Errorf("an answer to a dead one: %v", err)
		}
		if _, err := r.there.Answer(t.Context(), ada, open.ID, tool.AllowOnce); err != nil {
			t.Errorf("an answer to a living one: %v", err)
		}
		if a := <-alive.end; !a.Allowed() {
			t.Errorf("it ended as %+v", a)
		}
		if a := <-dead.end; a.Allowed() {
			t.Errorf("what was swept ended as %+v", a)
		}
		if a := r.here.Ask(t.Context(), request(ada, `{}`), nil); a.Allowed() || !strings.Contains(a.Refusal().Error(), "can't be stored") {
			t.Errorf("a desk that was closed: %+v", a)
		}
	})
}

// TestNothingIsAllowedByAFault: when nothing can be stored the answer is no.
func TestNothingIsAllowedByAFault(t *testing.T) {
	t.Parallel()
	for what, s := range map[string]approval.Store{"nothing can be read": faulty{}, "nothing can be written": faulty{reads: true}} {
		d := approval.New(approval.Options{Store: s, NewID: (&ids{}).next})
		a := d.Ask(t.Context(), request(ada, `{}`), func(tool.Approval) { t.Error("somebody is asked") })
		if a.Allowed() || a.Refusal() == nil || a.Problem == "" {
			t.Errorf("%s: %+v", what, a)
		}
	}
	d := approval.New(approval.Options{Store: faulty{reads: true}, NewID: (&ids{}).next})
	if a := d.Ask(t.Context(), request(ada, `{"a":1,"a":2}`), nil); a.Allowed() || !strings.Contains(a.Refusal().Error(), "can't be shown to anybody") {
		t.Errorf("arguments that can mean two things: %+v", a)
	}
}

type faulty struct {
	approval.Store
	reads bool
}

var errDisk = errors.New("disk full")

func (f faulty) Use(context.Context, string, string, string, approval.Key, bool, time.Time) (approval.Grant, error) {
	if f.reads {
		return approval.Grant{}, approval.ErrUnknown
	}
	return approval.Grant{}, errDisk
}

func (f faulty) Open(context.Context, string, tool.Approval) error { return errDisk }

// TestKeyOf: the same arguments have the same key, others another.
func TestKeyOf(t *testing.T) {
	t.Parallel()
	for _, group := range [][]string{
		{`{"a":1,"b":[1,2]}`, ` { "b" : [ 1.0 , 2e0 ] , "a" : 10E-1 } `},
		{`{"a":1,"b":[2,1]}`},
		{`{"a":"1","b":[1,2]}`},
		{`{"n":9007199254740993}`, `{"n":9007199254740993.000}`},
		{`{"n":9007199254740992}`, `{"n":9.007199254740992e15}`},
		{`{"n":0.1}`, `{"n":1e-1}`},
		{`{"n":0.1000000000000000055511151231257827}`},
		{`{"n":0}`, `{"n":-0.0}`, `{"n":0e5}`},
		{`{"n":"0.1"}`},
		{`{"n":null}`},
		{`{}`},
		{`{"n":false}`},
		{`{"n":""}`},
		{`{"n":[]}`},
		{`{"n":{}}`},
		{`{"n":[null]}`},
		{`{"s":"é</script>"}`, `{"s":"\u00e9<\/script>"}`},
		{`{"s":"e\u0301</script>"}`}, // another string, though it looks the same
		{`{"s":"E</script>"}`},
	} {
		for _, one := range group {
			if keyOf(t, one) != keyOf(t, group[0]) {
				t.Errorf("%s and %s have different keys", one, group[0])
			}
		}
		if seen, ok := keys.LoadOrStore(keyOf(t, group[0]), group[0]); ok {
			t.Errorf("%s has the key of %s", group[0], seen)
		}
	}
	for _, bad := range []string{``, `{`, `{"a":1,"a":1}`, "{\"a\":\"\xff\"}", `{} {}`} {
		if k, err := approval.KeyOf(json.RawMessage(bad)); err == nil {
			t.Errorf("%q has the key %x", bad, k)
		}
	}
}

var keys sync.Map

func keyOf(t interface{ Fatal(...any) }, args string) approval.Key {
	k, err := approval.KeyOf(json.RawMessage(args))
	if err != nil {
		t.Fatal(args, err)
	}
	return k
}

// TestKeyOfFollowsTheValues: for any two texts of whole numbers, their keys are
// the same exactly when the values are.
func TestKeyOfFollowsTheValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		zeros := strings.Repeat("0", rapid.IntRange(1, 5).Draw(t, "zeros"))
		one := keyOf(t, fmt.Sprintf(`{"x":%d,"y":[%d]}`, a, b))
		if one != keyOf(t, fmt.Sprintf(`{"y":[%d.%s],"x":%de%s}`, b, zeros, a, zeros)) {
			t.Fatal("another spelling has another key")
		}
		if (a == b) != (one == keyOf(t, fmt.Sprintf(`{"x":%d,"y":[%d]}`, b, a))) {
			t.Fatal("other values have the same key")
		}
	})
}
