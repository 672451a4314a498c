package providertest

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// failover plays the cases of retry and failover with real answers: what a
// server sends has to be sorted rightly for the rules, which have their own
// tests, to be of use.
func failover(t *testing.T, v Vendor) {
	at := func(seconds ...float64) (list []time.Duration) {
		for _, s := range seconds {
			list = append(list, time.Duration(s*float64(time.Second)))
		}
		return list
	}
	fault := func(kind string) fakellm.Answer { return fakellm.Answer{Fault: kind} }
	busy, limited := fault(fakellm.Overloaded), fault(fakellm.RateLimit)
	patient, endless := limited, limited
	patient.Header = map[string]string{"Retry-After": "11"}
	endless.Header = map[string]string{"Retry-After": "3600"}
	stalls := fakellm.Answer{Text: "Hel", Pieces: 1, Hang: "middle"}
	hello, hi := fakellm.Text("Hello"), fakellm.Text("Hi")
	list := func(a ...fakellm.Answer) []fakellm.Answer { return a }

	for _, test := range []struct {
		name   string
		fault  string // that the case is about, if any
		a, b   []fakellm.Answer
		used   bool
		asked  []time.Duration // when a was
		text   string
		others int // how often b was asked
		class  llm.Class
	}{
		{"PR-001 overloaded twice, then fine", "", list(busy, busy, hello), nil, false, at(0, 2, 8), "Hello", 0, ""},
		{"PR-002 overloaded for good", "", list(busy, busy, busy), list(hi), false, at(0, 2, 8), "Hi", 1, ""},
		{"PR-005 no quota", fakellm.Quota, list(fault(fakellm.Quota)), list(hi), false, at(0), "Hi", 1, ""},
		{"nothing paid", fakellm.Billing, list(fault(fakellm.Billing)), list(hi), false, at(0), "Hi", 1, ""},
		{"a wrong key", fakellm.WrongKey, list(fault(fakellm.WrongKey)), list(hi), false, at(0), "Hi", 1, ""},
		{"no such model", "", list(fault(fakellm.NoModel)), list(hi), false, at(0), "Hi", 1, ""},
		{"500 once", "", list(fault(fakellm.ServerError), hello), nil, false, at(0, 0.5), "Hello", 0, ""},
		{"503 once", "", list(fault(fakellm.Unavailable), hello), nil, false, at(0, 2), "Hello", 0, ""},
		{"429 with Retry-After", fakellm.RateLimit, list(patient, hello), nil, false, at(0, 11), "Hello", 0, ""},
		{"PR-013 asked to wait an hour", fakellm.RateLimit, list(endless), list(hi), false, at(0), "Hi", 1, ""},
		{"PR-008 reset before the first byte", "", list(fakellm.Answer{Break: "before"}, hello), nil, false, at(0, 0.5), "Hello", 0, ""},
		{"PR-009 reset in the middle", "", list(fakellm.Answer{Text: "Hel", Break: "middle"}, hello), nil, false, at(0, 0.5), "Hello", 0, ""},
		{"reset in the middle, then something else", "", list(fakellm.Answer{Text: "Hex", Break: "middle"}, hello), nil, false, at(0, 0.5), "Hello", 0, ""},
		{"overloaded within an answer", "", list(fakellm.Answer{Text: "Hel", Fault: fakellm.Overloaded}, hello), nil, false, at(0, 2), "Hello", 0, ""},
		{"PR-011 overloaded after a tool was used", "", list(busy, busy, busy), nil, true, at(0, 2, 8), "", 0, llm.ClassOverloaded},
		{"PR-015 too long", fakellm.TooLong, list(fault(fakellm.TooLong)), nil, false, at(0), "", 0, llm.ClassTooLong},
		{"our own fault", "", list(fault(fakellm.BadRequest)), nil, false, at(0), "", 0, llm.ClassBadRequest},
		{"tools refused", fakellm.NoTools, list(fakellm.Answer{When: `"tools":[`, Fault: fakellm.NoTools}, hello), nil, false, at(0, 0), "Hello", 0, ""},
		{"PR-020 it stalls", "", list(stalls, stalls), list(hello), false, at(0, 60.5), "Hello", 1, ""},
		{"TC-042 empty, then not", "", list(fakellm.Answer{}, hello), nil, false, at(0, 0), "Hello", 0, ""},
		{"withheld with nothing said", Filter, list(fakellm.Answer{Finish: "filter"}, fakellm.Answer{Finish: "filter"}), list(hi), false, at(0, 0), "Hi", 1, ""},
		{"not JSON", "", list(fakellm.Answer{Raw: []string{"<html>"}}), list(hi), false, at(0), "Hi", 1, ""},
		{"an empty body", "", list(fakellm.Answer{Raw: []string{""}}, hello), nil, false, at(0, 0.5), "Hello", 0, ""},
	} {
		if test.fault != "" && !v.has(test.fault) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				servers := map[string]*fakellm.Server{"a": fakellm.StartInMemory(t, test.a...), "b": fakellm.StartInMemory(t, test.b...)}
				begin := time.Now()
				text, err := v.converse(t, servers, test.used)
				var e *llm.Error
				if test.class == "" && err != nil || test.class != "" && (!errors.As(err, &e) || e.Class != test.class) {
					t.Errorf("%v", err)
				}
				if text != test.text || len(servers["b"].Requests()) != test.others {
					t.Errorf("the person sees %q, the other was asked %d times", text, len(servers["b"].Requests()))
				}
				asked := servers["a"].Requests()
				if len(asked) != len(test.asked) {
					t.Fatalf("asked %d times, want %d", len(asked), len(test.asked))
				}
				for i, r := range asked {
					if at := r.Time.Sub(begin); (at - test.asked[i]).Abs() > test.asked[i]/5 {
						t.Errorf("request %d came after %s, want about %s", i+1, at, test.asked[i])
					}
				}
			})
		})
	}
}

// cooldown is PR-021: a provider that failed three requests is left alone, and
// asked again when its time has come.
func cooldown(t *testing.T, v Vendor) {
	synctest.Test(t, func(t *testing.T) {
		down := fakellm.Answer{Fault: fakellm.ServerError}
		hi := fakellm.Text("Hi")
		servers := map[string]*fakellm.Server{
			"a": fakellm.StartInMemory(t, down, down, down, down, down, down, fakellm.Text("Back")), "b": fakellm.StartInMemory(t, hi, hi, hi, hi),
		}
		set := v.set(servers)
		for i, want := range []struct {
			text  string
			asked int // how often a was, so far: each request is made again once
		}{{"Hi", 2}, {"Hi", 4}, {"Hi", 6}, {"Hi", 6}, {"Back", 7}} {
			if i == 4 {
				time.Sleep(time.Minute) // in a bubble
			}
			text, err := v.say(t, set, false)
			if n := len(servers["a"].Requests()); err != nil || text != want.text || n != want.asked {
				t.Errorf("message %d: %q, %v, asked %d times, want %+v", i+1, text, err, n, want)
			}
		}
	})
}

// refusedMedia holds that an image which a server refuses doesn't end its
// conversation: the request is made again without it, and so are later ones.
func refusedMedia(t *testing.T, v Vendor) {
	good, bad := []byte("\x89PNG good image"), []byte("\x89PNG bad image")
	in := func(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
	shown := func(text, name string, data []byte) llm.Message {
		return llm.Message{Role: llm.User, Parts: []llm.Part{llm.Text(text), {Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png", Name: name, Data: data}}}}
	}
	messages := []llm.Message{shown("Look.", "good.png", good), llm.AssistantMessage("I see."), shown("And this?", "bad.png", bad)}
	for _, test := range []struct {
		name    string
		refused []byte   // whatever holds it is refused
		has     []string // what each request has of the two images
	}{
		{"the newest", bad, []string{"good bad", "good", "good"}},
		{"all", good, []string{"good bad", "good", "", ""}},
		{"none", []byte("another"), []string{"good bad", "good bad"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			refuse := fakellm.Answer{When: in(test.refused), Fault: fakellm.BadMedia}
			hello := fakellm.Text("Hello")
			servers := map[string]*fakellm.Server{"a": fakellm.StartInMemory(t, refuse, refuse, hello, hello), "b": fakellm.StartInMemory(t)}
			set := v.set(servers)
			for range 2 {
				if text, err := v.send(t, set, false, messages); err != nil || text != "Hello" {
					t.Errorf("%s: %q, %v", test.name, text, err)
				}
			}
			var has []string
			for _, r := range servers["a"].Requests() {
				var names []string
				for _, image := range []struct {
					name string
					data []byte
				}{{"good", good}, {"bad", bad}} {
					switch body := string(r.Body); {
					case strings.Contains(body, in(image.data)):
						names = append(names, image.name)
					case !strings.Contains(body, image.name+".png"):
						t.Errorf("%s: %s.png is neither shown nor told of in %s", test.name, image.name, body)
					}
				}
				has = append(has, strings.Join(names, " "))
			}
			if !slices.Equal(has, test.has) {
				t.Errorf("%s: the requests have %q, want %q", test.name, has, test.has)
			}
		})
	}
}

// converse asks a, then b, and gives what a person sees in the end.
func (v Vendor) converse(t *testing.T, servers map[string]*fakellm.Server, used bool) (text string, end error) {
	t.Helper()
	return v.say(t, v.set(servers), used)
}

// set has the providers a and b.
func (v Vendor) set(servers map[string]*fakellm.Server) *provider.Set {
	return provider.New(provider.Options{
		Vendors: map[string]provider.Vendor{v.Wire: {Open: func(s provider.Settings) (llm.Model, error) {
			return v.Open(s, servers[s.Name].Client()), nil
		}}},
		Providers: []provider.Settings{
			{Name: "a", Type: v.Type, BaseURL: servers["a"].URL + v.Path, Model: v.Model, Key: key},
			{Name: "b", Type: v.Type, BaseURL: servers["b"].URL + v.Path, Model: v.Model, Key: key},
		},
	})
}

// say asks a, or b when a fails.
func (v Vendor) say(t *testing.T, set *provider.Set, used bool) (text string, end error) {
	t.Helper()
	return v.send(t, set, used, v.request().Messages)
}

// send asks a, or b when a fails, for the answer to messages.
func (v Vendor) send(t *testing.T, set *provider.Set, used bool, messages []llm.Message) (text string, end error) {
	t.Helper()
	build := func(target llm.Target) (llm.Request, error) {
		req := v.request()
		req.Target, req.Messages = target, messages
		if !target.Tools {
			req.Tools = nil
		}
		return req, nil
	}
	for e, err := range set.For("a", []string{"b"}).Stream(t.Context(), "", used, build) {
		switch {
		case err != nil:
			end = err
		case e.Type == llm.EventText:
			text += e.Text
		case e.Type == llm.EventRetracted:
			text = ""
		}
	}
	return text, end
}
