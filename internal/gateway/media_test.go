package gateway_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/gateway/api"
	"github.com/goclaw/goclaw/internal/llm"
)

// sees is a configuration whose model takes images and PDF files, on the model
// server, and another that takes neither.
func sees(t *testing.T, more string, answers ...fakellm.Answer) *rig {
	t.Helper()
	model := fakellm.Start(t, answers...)
	return configured(t, model, fmt.Sprintf(`ai:
  provider: openai
  fallback: [blind]
  providers:
    openai: {api_key: key, model: gpt-4o, base_url: %q}
    blind: {type: openai-compatible, model: m, base_url: %q, images: false}
%s`, model.Base(), model.Base(), more))
}

var document = []byte("%PDF-1.7\nnot much of one")

// A person's image and file are in each request of the conversation, the same
// bytes in the same place, also after a restart.
func TestWhatIsAttachedStaysInTheConversation(t *testing.T) {
	t.Parallel()
	r := sees(t, "", fakellm.Text("A dot."), fakellm.Calls(fakellm.Use("calc", `{"expression":"1"}`)), fakellm.Text("One."), fakellm.Text("Yes."))
	image, file := r.attach(ada, "dot.png", "", picture(t)), r.attach(ada, "a b.pdf", "", document)
	first := admin("s", "What are they?")
	first.Message.Parts = append(first.Message.Parts, r.attached(ada, image.ID, file.ID)...)
	r.watch(r.start(first))
	r.say("s", "Count.")
	r.close()
	r.open()
	r.say("s", "Sure?")
	r.prefixes()
	for i, q := range r.model.Requests() {
		for _, want := range []string{
			`{"type":"image_url","image_url":{"url":"data:image/png;base64,` + base64.StdEncoding.EncodeToString(picture(t)) + `"}}`,
			`{"type":"file","file":{"filename":"a b.pdf","file_data":"data:application/pdf;base64,` + base64.StdEncoding.EncodeToString(document) + `"}}`,
		} {
			if n := strings.Count(string(q.Body), want); n != 1 {
				t.Errorf("request %d has %d times %.60s", i+1, n, want)
			}
		}
	}
}

// The request for a model that takes no images is another one: it says what
// there is.
func TestFailoverToAModelThatSeesNothing(t *testing.T) {
	t.Parallel()
	r := sees(t, "", fakellm.Answer{Status: 401, Body: `{"error":{"message":"no","code":"invalid_api_key"}}`}, fakellm.Text("I can't see it."))
	image, file := r.attach(ada, "dot.png", "", picture(t)), r.attach(ada, "a.pdf", "", document)
	req := admin("s", "What are they?")
	req.Message.Parts = append(req.Message.Parts, r.attached(ada, image.ID, file.ID)...)
	if got := r.watch(r.start(req)); got.text != "I can't see it." {
		t.Fatalf("answered %q (%+v)", got.text, got.end)
	}
	all := r.model.Requests()
	if !bytes.Contains(all[0].Body, []byte("base64,")) || bytes.Contains(all[1].Body, []byte("base64,")) {
		t.Error("the first model is to get the image, the second is not")
	}
	text := r.sent(2)[1].text()
	for _, want := range []string{
		fmt.Sprintf("[Attached: dot.png (image/png, %d bytes). This model can't see what is in it.]", len(picture(t))),
		fmt.Sprintf("[Attached: a.pdf (application/pdf, %d bytes). This model can't see what is in it.]", len(document)),
		"[attached file: uploads/dot.png, image/png,",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the second model is told %q, without %q", text, want)
		}
	}
}

// Of a large file, and of one that only says it is a PDF file, the model is
// told where it is.
func TestFilesThatModelsDontTake(t *testing.T) {
	t.Parallel()
	r := sees(t, "")
	for name, data := range map[string][]byte{
		"large.png": append(picture(t), make([]byte, llm.MaxImage)...),
		"large.pdf": append(document, make([]byte, llm.MaxFile)...),
		"fake.pdf":  []byte("no PDF file"),
	} {
		file := r.attach(ada, name, "application/pdf", data)
		if parts := r.attached(ada, file.ID); len(parts) != 1 || parts[0].Kind != llm.KindFile {
			t.Errorf("%s becomes %d parts", name, len(parts))
		}
	}
}

// An image that a model makes is told, kept, served, and shown to it again.
func TestAnImageThatAModelMakes(t *testing.T) {
	t.Parallel()
	url := "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture(t))
	delta := json.RawMessage(`{"delta":{"content":"","images":[{"type":"image_url","index":0,"image_url":{"url":"` + url + `"}}]}}`)
	end := json.RawMessage(`{"delta":{},"finish":"stop"}`)
	r := sees(t, "", fakellm.Answer{Deltas: []json.RawMessage{delta, delta, end}}, fakellm.Text("A dot."), fakellm.Text("Yes."))
	got := r.watch(r.start(admin("s", "Draw.")))
	var made []agent.Event
	for _, e := range got.events {
		if e.Type == agent.Attachment {
			made = append(made, e)
		}
	}
	if len(made) != 1 || made[0].Ref != "reply:1:0" || made[0].Media.MIME != "image/png" || !bytes.Equal(made[0].Media.Data, picture(t)) {
		t.Fatalf("told: %+v", made)
	}
	if text, err := json.Marshal(made[0]); err != nil || bytes.Contains(text, []byte("iVBOR")) {
		t.Errorf("on the wire it is %s (%v)", text, err)
	}
	if got.end.End.Status != agent.Done {
		t.Errorf("the run ended %+v", got.end)
	}
	r.say("s", "What is it?")
	r.close()
	r.open()
	r.say("s", "Sure?")
	r.prefixes()
	for i, q := range r.model.Requests()[1:] {
		if n := strings.Count(string(q.Body), url); n != 1 {
			t.Errorf("request %d has the image %d times", i+2, n)
		}
		if !strings.Contains(string(q.Body), "[You made: image-1.png (image/png, ") {
			t.Errorf("request %d doesn't say who made it", i+2)
		}
		if strings.Contains(string(q.Body), "[no answer") {
			t.Errorf("request %d takes an image for no answer", i+2)
		}
	}

	s := r.serve(gateway.ServeOptions{})
	var page api.Turns
	s.read("GET", "/api/sessions/main/s/turns", "", http.StatusOK, &page)
	turn := page.Turns[0]
	if len(turn.Media) != 1 || turn.Media[0].ID != made[0].Ref || turn.Media[0].Size != len(picture(t)) {
		t.Fatalf("the turn has %+v", turn.Media)
	}
	resp := s.ask("GET", "/api/sessions/main/s/turns/"+turn.Run+"/media/"+made[0].Ref, "")
	defer resp.Body.Close()
	if image, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(image, picture(t)) {
		t.Errorf("%s: %d bytes, %v", resp.Status, len(image), err)
	}
	again := s.text(s.ask("GET", "/api/runs/"+turn.Run+"/events", ""))
	if !strings.Contains(again, `"media":{"name":"image-1.png","mime":"image/png","size":`) || strings.Contains(again, "iVBOR") {
		t.Errorf("told again: %s", again)
	}
}
