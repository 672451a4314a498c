package fakellm

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

const ollamaStream = `{"model":"m","options":{"num_ctx":9},"messages":[{"role":"user","content":"hi"}]}`

func TestOllamaStreams(t *testing.T) {
	t.Parallel()
	s := Start(t,
		Answer{Reasoning: "Hm", Text: "Hi 界", Pieces: 4, Calls: []Call{Use("calc", `{"e":1}`), {ID: "x", Name: "calc", Text: "{'e'"}, {Name: "now"}}, Usage: &Usage{Input: 9, Output: 5}},
		Answer{Deltas: []json.RawMessage{[]byte(`{"message":{"content":"x"}}`), []byte(`{"model":"other","done":true}`)}},
		Answer{Text: "Hi", Finish: "none"}, Answer{Text: "Hi", Finish: "length", Whole: true})
	for i, want := range [][]string{
		{
			`"thinking":"Hm"`, `"done":false,"message":{"content":"Hi 界","role":"assistant"},"model":"m"}` + "\n", `"tool_calls":[{"function":{"arguments":{"e":1},"index":0,"name":"calc"}}]`,
			`"arguments":"{'e'","index":0,"name":"calc"},"id":"x"`, `"arguments":{},"index":0,"name":"now"`, `"done_reason":"stop","eval_count":5`, `"prompt_eval_count":9`,
		},
		{`"message":{"content":"x"},"model":"m"`, `"model":"other"`, `"done_reason":"stop"`},
		{`"content":"Hi"`},
		{`"done":true,"done_reason":"length"`, `"content":"Hi"`},
	} {
		_, got := tell(t, http.MethodPost, s.URL+"/api/chat", ollamaStream)
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("answer %d: %s\nlacks %s", i, got, part)
			}
		}
		if ends := strings.Contains(got, `"done":true`); ends == (i == 2) {
			t.Errorf("answer %d ends: %v", i, ends)
		}
	}
}

func TestOllamaModels(t *testing.T) {
	t.Parallel()
	s := StartScript(t, Script{Models: []string{"a", "b:text-512"}})
	for _, ask := range []struct{ method, path, body, want string }{
		{http.MethodGet, "/api/tags", "", `"name":"b:text-512"`},
		{http.MethodPost, "/api/show", `{"model":"a"}`, `"capabilities":["completion","tools","vision","thinking"],"details":{"family":"fake"},"model_info":{"fake.context_length":32768`},
		{http.MethodPost, "/api/show", `{"model":"b:text-512"}`, `"capabilities":["completion"],"details":{"family":"fake"},"model_info":{"fake.context_length":512`},
	} {
		if _, got := tell(t, ask.method, s.URL+ask.path, ask.body); !strings.Contains(got, ask.want) {
			t.Errorf("%s %s: %s\nlacks %s", ask.path, ask.body, got, ask.want)
		}
	}
}

func TestCheckOllama(t *testing.T) {
	t.Parallel()
	body := func(model, settings string, messages ...string) string {
		return `{"model":"` + model + `","options":{"num_ctx":9}` + settings + `,"messages":[` + strings.Join(messages, ",") + `]}`
	}
	const (
		hi    = `{"role":"user","content":"hi"}`
		call  = `{"role":"assistant","content":"","thinking":"hm","tool_calls":[{"id":"a","function":{"index":0,"name":"f","arguments":{}}},{"id":"b","function":{"index":1,"name":"g","arguments":{"x":1}}}]}`
		of1   = `{"role":"tool","content":"1","tool_name":"f","tool_call_id":"a"}`
		of2   = `{"role":"tool","content":"2","tool_name":"g","tool_call_id":"b"}`
		image = `{"role":"user","content":"","images":["iVBO"]}`
	)
	tool := func(parameters string) string {
		return `,"tools":[{"type":"function","function":{"name":"f","description":"","parameters":` + parameters + `}}]`
	}
	for name, test := range map[string]struct{ body, err string }{
		"fine":             {body("m", `,"think":"low","stream":true,"truncate":false,"shift":false`+tool(`{"type":"object","properties":{"a":{"type":["string","null"],"anyOf":[{"type":"string"}],"x":1}}}`), hi, call, of1, of2, image), ""},
		"no tools to it":   {body("m:text", "", hi, call, of1, of2), ""},
		"no thinking":      {body("m:text", `,"think":false`, hi), ""},
		"no messages":      {body("m", ""), ""},
		"unknown member":   {body("m", `,"tool_choice":"none"`, hi), "unknown field"},
		"unknown option":   {strings.Replace(body("m", "", hi), "num_ctx", "num_context", 1), "unknown field"},
		"no window":        {strings.Replace(body("m", "", hi), `"num_ctx":9`, ``, 1), "no num_ctx"},
		"no model":         {body("", "", hi), "no model"},
		"a member twice":   {body("m", `,"think":true,"think":true`, hi), "twice"},
		"an odd thought":   {body("m", `,"think":"much"`, hi), "think is"},
		"tools":            {body("m:vision", tool(`{"type":"object"}`), hi), "does not support tools"},
		"thinking":         {body("m:tools", `,"think":true`, hi), "does not support thinking"},
		"images":           {body("m:tools", "", image), "takes none"},
		"an empty image":   {body("m", "", `{"role":"user","content":"","images":[""]}`), "no data"},
		"no object":        {body("m", tool(`{"type":"string"}`), hi), "type of parameters"},
		"a null property":  {body("m", tool(`{"type":"object","properties":{"a":null}}`), hi), "f.a is null"},
		"a bool property":  {body("m", tool(`{"type":"object","properties":{"a":true}}`), hi), "cannot unmarshal"},
		"an odd type":      {body("m", tool(`{"type":"object","properties":{"a":{"anyOf":[{"type":1}]}}}`), hi), "the type of f.a.anyOf"},
		"a tool twice":     {body("m", strings.Replace(tool(`{"type":"object"}`), `[`, `[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}},`, 1), hi), "twice"},
		"an empty message": {body("m", "", `{"role":"user","content":" "}`), "no content"},
		"an empty reply":   {body("m", "", hi, `{"role":"assistant","content":""}`), "says and calls nothing"},
		"a late system":    {body("m", "", hi, `{"role":"system","content":"x"}`), "not the first"},
		"a missing result": {body("m", "", call, of1, hi), "before the result of g"},
		"no result":        {body("m", "", call, of1), "no result for the call of g"},
		"wrong order":      {body("m", "", call, of2, of1), "stands where that of f"},
		"nobody's result":  {body("m", "", hi, of1), "no call waits"},
		"a nameless call":  {body("m", "", strings.Replace(call, `"name":"g"`, `"name":""`, 1), of1, of2), "has the name"},
		"text arguments":   {body("m", "", strings.Replace(call, `{"x":1}`, `"{}"`, 1), of1, of2), "cannot unmarshal"},
		"no arguments":     {body("m", "", strings.Replace(call, `{"x":1}`, `null`, 1), of1, of2), "no arguments"},
		"a wrong index":    {body("m", "", strings.Replace(call, `"index":1`, `"index":0`, 1), of1, of2), "index"},
		"a foreign member": {body("m", "", strings.Replace(hi, `"hi"`, `"hi","thinking":"x"`, 1)), "only a reply"},
		"another role":     {body("m", "", strings.Replace(hi, "user", "function", 1)), "the role"},
	} {
		err := CheckOllama([]byte(test.body))
		if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: %v, want %q\n%s", name, err, test.err, test.body)
		}
	}
}
