package api

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
)

type inner struct {
	Size  int             `json:"size"`
	Names []string        `json:"names,omitempty"`
	More  map[string]leaf `json:"more,omitempty"`
}

type leaf struct {
	On bool `json:"on"`
}

type embedded struct {
	Base string `json:"base"`
}

type body struct {
	embedded
	Title  string          `json:"title"`
	Inner  *inner          `json:"inner,omitempty"`
	List   []inner         `json:"list,omitempty"`
	Raw    json.RawMessage `json:"raw,omitempty"`
	Any    any             `json:"any,omitempty"`
	Hidden string          `json:"-"`
	Plain  int
}

func TestDecode(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`[`, maxDepth+1) + strings.Repeat(`]`, maxDepth+1)
	for _, c := range []struct {
		body string
		want string // of the error; empty for none
	}{
		{`{}`, ""},
		{` {"title":"x","base":"b","Plain":1,"inner":{"size":1,"names":["a"],"more":{"k":{"on":true}}},"list":[{"size":2}],"raw":{"x":1},"any":{"y":[1]}} ` + "\n", ""},
		{`{"inner":null,"list":null}`, ""},
		{`{"raw":` + deep[1:len(deep)-1] + `}`, "more than 100"},
		{`{"raw":` + deep[2:len(deep)-2] + `}`, ""},
		{deep, "more than 100"},
		{strings.Repeat(`[`, 1<<20), "more than 100"},
		{strings.Repeat(`{"any":`, 1<<17), "more than 100"},
		{``, "the body is empty"},
		{`  `, "the body is empty"},
		{`null`, "the body is null"},
		{`[]`, "expected an object, found array"},
		{`"x"`, "expected an object, found string"},
		{`{"title":"x"}{"title":"y"}`, "stands behind"},
		{`{"title":"x"} x`, "stands behind"},
		{`{"title":"x"`, "ends too early"},
		{`{"title":x}`, "not valid JSON"},
		{`{"title":"x",}`, "not valid JSON"},
		{`{title:"x"}`, "not valid JSON"},
		{`{"title":'x'}`, "not valid JSON"},
		{`{"title":"x" "base":"y"}`, "not valid JSON"},
		{"{\"title\":\"a\nb\"}", "not valid JSON"},
		{`{"title":NaN}`, "not valid JSON"},
		{"{\"title\":\"\xff\"}", "not UTF-8"},
		{`{"titel":"x"}`, "titel: there is no such key; did you mean title?"},
		{`{"xyz":"x"}`, "xyz: there is no such key; known are Plain, any, base, inner, list, raw, title"},
		{`{"Title":"x"}`, "Title: there is no such key; did you mean title?"},
		{`{"Hidden":"x"}`, "Hidden: there is no such key"},
		{`{"inner":{"size":1,"sizes":2}}`, "inner.sizes: there is no such key; did you mean size?"},
		{`{"list":[{"size":1},{"name":["x"]}]}`, "list[1].name: there is no such key; did you mean names?"},
		{`{"inner":{"more":{"k":{"off":true}}}}`, "inner.more.k.off: there is no such key; known are on"},
		{`{"title":"x","title":"y"}`, "title: it stands there twice"},
		{`{"title":"x","\u0074itle":"y"}`, "title: it stands there twice"},
		{`{"raw":{"a":1,"a":2}}`, "raw.a: it stands there twice"},
		{`{"title":5}`, "title: expected a string, found number"},
		{`{"inner":{"size":"x"}}`, "inner.size: expected a whole number, found string"},
		{`{"inner":{"size":1.5}}`, "inner.size: expected a whole number, found number 1.5"},
		{`{"list":{}}`, "list: expected an array, found object"},
		{`{"` + strings.Repeat("k", 100000) + `":1}`, "kkk: there is no such key"},
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		var v body
		err := decode(r, &v)
		var p *Problem
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &p) || p.Status != 400 || !strings.Contains(p.Detail, c.want)) {
			t.Errorf("%.80s: error %v, want %q", c.body, err, c.want)
		}
		if err != nil && len(err.Error()) > 500 {
			t.Errorf("%.80s: an error of %d bytes", c.body, len(err.Error()))
		}
	}
}

func TestDecodeKnownPassesOverTheRest(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"title":"x","store":true,"metadata":{"a":{"b":1}}}`: "",
		`{"title":"x","TITLE":"y"}`:                           "TITLE: there is no such key; did you mean title?",
		`{"store":true,"store":false}`:                        "store: it stands there twice",
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(in))
		r.Header.Set("Content-Type", "application/json; charset=utf-8")
		var v body
		err := decodeKnown(r, &v)
		if want == "" && (err != nil || v.Title != "x") || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

func TestOnlyJSONIsDecoded(t *testing.T) {
	t.Parallel()
	for kind, ok := range map[string]bool{
		"application/json": true, "Application/JSON; charset=UTF-8": true, "application/merge-patch+json": true,
		"": false, "text/plain": false, "text/json": false, "application/x-www-form-urlencoded": false, "multipart/form-data; boundary=x": false,
		"application/json; charset=latin1": false, "application/jsonx": false, ";": false, "application/json, text/plain": false,
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader("{}"))
		r.Header.Set("Content-Type", kind)
		var v body
		var p *Problem
		if err := decode(r, &v); ok && err != nil || !ok && (!errors.As(err, &p) || p.Status != 415) {
			t.Errorf("%q: %v", kind, err)
		}
	}
	r := httptest.NewRequest("POST", "/", strings.NewReader("{}"))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Content-Encoding", "gzip")
	var p *Problem
	if err := decode(r, &body{}); !errors.As(err, &p) || p.Status != 415 {
		t.Errorf("packed: %v", err)
	}
}

// Whatever is sent, decode never panics, and what it takes it has read whole:
// the standard library, told to be strict, takes it too.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"title":"x","inner":{"size":1}}`, `{"raw":[[[]]],"any":{"a":null}}`, `{"title":"x","title":""}`, `{"Title":1}`, `[`, "{\"\xff\":1}", `{"list":[{"more":{"a":{"on":true}}}]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		r := httptest.NewRequest("POST", "/", strings.NewReader(in))
		r.Header.Set("Content-Type", "application/json")
		var got, want body
		if err := decode(r, &got); err != nil {
			var p *Problem
			if !errors.As(err, &p) || p.Status != 400 {
				t.Errorf("error %v", err)
			}
			return
		}
		d := json.NewDecoder(strings.NewReader(in))
		d.DisallowUnknownFields()
		if err := d.Decode(&want); err != nil {
			t.Errorf("%q was taken: %v", in, err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	in := `{"agent":"main","session":"work","message":"` + strings.Repeat("Words and more words. ", 50) + `","attachments":["a","b"],"stream":true}`
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("POST", "/", strings.NewReader(in))
		r.Header.Set("Content-Type", "application/json")
		var v StartRun
		if err := decode(r, &v); err != nil {
			b.Fatal(err)
		}
	}
}
