package sqlite_test

import (
	"bytes"
	"encoding/base64"
	"path/filepath"
	"testing"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/agent/session/sessiontest"
	"github.com/goclaw/goclaw/internal/llm"
)

// Images lie in the database once, beside the text that names them, and go with
// their session. What earlier versions wrote into the text is read.
func TestImagesAreContent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := open(t, path)
	s := db.Sessions()
	image := make([]byte, 100_000)
	for i := range image {
		image[i] = byte(i * i >> 7) // as dense as an image
	}
	part := llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png", Name: "a.png", Data: image}}
	keys := []session.Key{{Agent: "main", ID: "one"}, {Agent: "main", ID: "two"}}
	for _, key := range keys {
		for _, n := range []string{"1", "2", "3"} {
			run := key.ID + n
			turn := session.Turn{Run: run, Message: llm.Message{Role: llm.User, Parts: []llm.Part{llm.Text("see"), part}}, Status: agent.Running, Started: sessiontest.Start}
			if _, err := s.Begin(t.Context(), key, turn, "title"); err != nil {
				t.Fatal(err)
			}
			if err := s.End(t.Context(), run, agent.End{Status: agent.Done, Time: sessiontest.Start}); err != nil {
				t.Fatal(err)
			}
		}
	}
	count := func(query string) (n int) {
		t.Helper()
		if err := raw(t, path).QueryRow(query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count("SELECT max(length(message)) FROM turns"); n > 1000 {
		t.Errorf("a message has %d characters", n)
	}
	if n, refs := count("SELECT count(*) FROM contents"), count("SELECT count(*) FROM refs"); n != 1 || refs != 2 {
		t.Errorf("%d contents under %d refs", n, refs)
	}
	for i, left := range []int{1, 0} {
		if err := s.Delete(t.Context(), keys[i]); err != nil {
			t.Fatal(err)
		}
		if n := count("SELECT count(*) FROM contents"); n != left {
			t.Errorf("%d contents are left after %d sessions are gone", n, i+1)
		}
	}

	if _, err := s.Begin(t.Context(), keys[0], session.Turn{Run: "old", Message: llm.UserMessage("x"), Status: agent.Running, Started: sessiontest.Start}, "title"); err != nil {
		t.Fatal(err)
	}
	old := `{"role":"user","parts":[{"kind":"media","media":{"mime":"image/png","data":"` + base64.StdEncoding.EncodeToString(image) + `"}},` +
		`{"kind":"media","media":{"mime":"image/png","name":"lost.png","size":5,"sum":"00"}}]}`
	raw(t, path, "UPDATE turns SET message = '"+old+"'")
	turns, err := s.Turns(t.Context(), keys[0], 1, 0, session.Spoken)
	if err != nil {
		t.Fatal(err)
	}
	if p := turns[0].Message.Parts; !bytes.Equal(p[0].Media.Data, image) || p[1].Media.Data != nil || p[1].Media.Size != 5 {
		t.Errorf("an image of an earlier version has %d bytes; one that is lost is %+v", len(p[0].Media.Data), p[1].Media)
	}
}
