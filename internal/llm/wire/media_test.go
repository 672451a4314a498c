package wire

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/llm"
)

func media(mime, name string, n int) llm.Part {
	return llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: mime, Name: name, Data: bytes.Repeat([]byte{1}, n)}}
}

func TestWhatATargetTakes(t *testing.T) {
	t.Parallel()
	png, file := media("image/png", "a.png", 10), media(PDF, "a.pdf", 10)
	for _, test := range []struct {
		name          string
		m             *llm.Media
		images, files bool // are needed
		never         bool
	}{
		{name: "an image", m: png.Media, images: true},
		{name: "a PDF file", m: file.Media, files: true},
		{name: "an image that is too large", m: media("image/png", "", llm.MaxImage+1).Media, never: true},
		{name: "another type", m: media("image/svg+xml", "", 10).Media, never: true},
		{name: "one without bytes", m: &llm.Media{MIME: PDF}, never: true},
		{name: "none", never: true},
	} {
		for _, target := range []llm.Target{{}, {Images: true}, {Files: true}, {Images: true, Files: true}} {
			want := !test.never && (target.Images || !test.images) && (target.Files || !test.files)
			if got := Takes(target)(test.m); got != want {
				t.Errorf("%s for %+v: %v", test.name, target, got)
			}
		}
	}
}

func TestNotesSayWhatCantBeSeen(t *testing.T) {
	t.Parallel()
	parts := []llm.Part{llm.Text("Look:"), media("image/png", "a.png", 2048), media(PDF, "", 3<<20), {Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png", Size: 5}}}
	want := "Look:\n[Attached: a.png (image/png, 2 KB). This model can't see what is in it.]" +
		"\n[Attached: without a name (application/pdf, 3.0 MB). This model can't see what is in it.]" +
		"\n[Attached: without a name (image/png, 5 bytes). This model can't see what is in it.]"
	if got := UserText(parts, Takes(llm.Target{})); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := ResultText(&llm.ToolResult{Content: parts[1:2]}, Takes(llm.Target{}), true); !strings.Contains(got, "a.png (image/png, 2 KB)") {
		t.Errorf("of a result: %q", got)
	}
	reply := []llm.Part{llm.Text("Here."), media("image/png", "cat.png", 10), llm.Text("Good?")}
	if got := ReplyText(reply); got != "Here.\n[You made: cat.png (image/png, 10 bytes).]\nGood?" {
		t.Errorf("of a reply: %q", got)
	}
	if made := Made(reply, Takes(llm.Target{Images: true})); len(made) != 1 || made[0].Media != reply[1].Media {
		t.Errorf("made: %+v", made)
	}
	if made := Made(reply, Takes(llm.Target{})); len(made) > 0 {
		t.Errorf("made, for a model that sees nothing: %+v", made)
	}
}

func fitted(t *testing.T, messages []llm.Message, shows Shown, room Room) []llm.Message {
	t.Helper()
	req, err := Fit(&llm.Request{Messages: messages}, shows, room)
	if err != nil {
		t.Fatal(err)
	}
	return req.Messages
}

// Only what is shown is loaded; what is chosen, and so the bytes of the request,
// is the same as if all had been there. What is gone leaves a note.
func TestMediaAreLoadedLate(t *testing.T) {
	t.Parallel()
	stored := func(name string, n int) llm.Part {
		return llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png", Name: name, Size: n, Sum: name}}
	}
	inResult := func(p llm.Part) llm.Part {
		return llm.Part{Kind: llm.KindResult, Result: &llm.ToolResult{CallID: "c", Content: []llm.Part{p}}}
	}
	of := func(m func(name string, n int) llm.Part) []llm.Message {
		return []llm.Message{
			{Role: llm.User, Parts: []llm.Part{m("old", 40), m("large", llm.MaxImage+1)}},
			{Role: llm.Results, Parts: []llm.Part{inResult(m("shot", 10))}},
			{Role: llm.User, Parts: []llm.Part{m("new", 10), media("image/png", "here", 10)}},
		}
	}
	var loaded []string
	req := &llm.Request{Messages: of(stored), Load: func(m *llm.Media) ([]byte, error) {
		loaded = append(loaded, m.Name)
		return bytes.Repeat([]byte{1}, m.Size), nil
	}}
	shows, room := Takes(llm.Target{Images: true}), Room{Bytes: 61}
	fit, err := Fit(req, shows, room)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"shot", "new"}; !slices.Equal(loaded, want) {
		t.Errorf("loaded %v, want %v", loaded, want)
	}
	whole := fitted(t, of(func(name string, n int) llm.Part { return media("image/png", name, n) }), shows, room)
	for i, msg := range fit.Messages {
		if got, want := texts(msg, shows), texts(whole[i], shows); got != want {
			t.Errorf("message %d: %q, want %q", i, got, want)
		}
	}
	if m := req.Messages[2].Parts[0].Media; len(m.Data) > 0 {
		t.Error("the conversation itself was loaded")
	}

	req.Load = func(*llm.Media) ([]byte, error) { return nil, nil }
	if fit, err = Fit(req, shows, room); err != nil {
		t.Fatal(err)
	}
	if got := texts(fit.Messages[2], shows); got != "note:new here:10 " {
		t.Errorf("with one that is gone: %q", got)
	}
	broken := errors.New("broken")
	req.Load = func(*llm.Media) ([]byte, error) { return nil, broken }
	if _, err = Fit(req, shows, room); !errors.Is(err, broken) {
		t.Errorf("one that can't be read: %v", err)
	}
}

// texts is what a wire makes of a message.
func texts(msg llm.Message, shows Shown) string {
	var b strings.Builder
	for _, p := range msg.Parts {
		switch {
		case p.Kind == llm.KindResult:
			b.WriteString(texts(llm.Message{Parts: p.Result.Content}, shows))
		case p.Kind == llm.KindText:
			b.WriteString(p.Text)
		case shows(p.Media):
			fmt.Fprintf(&b, "%s:%d ", p.Media.Name, len(p.Media.Data))
		default:
			fmt.Fprintf(&b, "note:%s ", p.Media.Name)
		}
	}
	return b.String()
}

func TestTheOldestMediaMakeRoom(t *testing.T) {
	t.Parallel()
	result := llm.Part{Kind: llm.KindResult, Result: &llm.ToolResult{CallID: "c", Content: []llm.Part{llm.Text("shot"), media("image/png", "shot.png", 10)}}}
	messages := []llm.Message{
		{Role: llm.User, Parts: []llm.Part{llm.Text("one"), media("image/png", "1.png", 10), media("audio/ogg", "x.ogg", 10)}},
		{Role: llm.Assistant, Parts: []llm.Part{llm.Text("yes")}},
		{Role: llm.Results, Parts: []llm.Part{result}},
		{Role: llm.User, Parts: []llm.Part{media("image/png", "2.png", 10), media(PDF, "3.pdf", 10)}},
	}
	shows := Takes(llm.Target{Images: true, Files: true})
	names := func(messages []llm.Message) (all []string) {
		each(messages, func(m *llm.Media) { all = append(all, m.Name) })
		return all
	}
	all := names(messages)
	for _, test := range []struct {
		room Room
		want []string
	}{
		{Room{}, all},
		{Room{Count: 4, Bytes: 40}, all},
		{Room{Count: 3}, []string{"x.ogg", "3.pdf"}}, // what is not shown takes no room
		{Room{Bytes: 30}, []string{"x.ogg", "3.pdf"}},
		{Room{Bytes: 9}, []string{"x.ogg"}},
	} {
		fit := fitted(t, messages, shows, test.room)
		if d := cmp.Diff(test.want, names(fit)); d != "" {
			t.Errorf("%+v (-want +got)\n%s", test.room, d)
		}
		if d := cmp.Diff(all, names(messages)); d != "" {
			t.Fatalf("%+v changed the conversation: %s", test.room, d)
		}
	}
	fit := fitted(t, messages, shows, Room{Count: 3})
	want := "\n[Attached: shot.png (image/png, 10 bytes). It is not shown again, because newer images and files took its room.]\n"
	if got := fit[2].Parts[0].Result.Content[1]; got.Kind != llm.KindText || got.Text != want {
		t.Errorf("in place of an image there is %+v", got)
	}
}

// Room is kept, what is left out comes from the beginning, and more media only
// change what was left out when they need its room.
func TestRoom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		room := Room{Count: rapid.IntRange(0, 6).Draw(t, "count"), Bytes: rapid.IntRange(0, 60).Draw(t, "bytes")}
		sizes := rapid.SliceOfN(rapid.IntRange(1, 80), 0, 20).Draw(t, "sizes")
		last, changes := 0, 0
		for n := range len(sizes) + 1 {
			out := room.leftOut(sizes[:n])
			count, bytes := n-out, 0
			for _, size := range sizes[out:n] {
				bytes += size
			}
			if room.Count > 0 && count > room.Count || room.Bytes > 0 && bytes > room.Bytes {
				t.Fatalf("%d of %d are shown, with %d bytes, in %+v", count, n, bytes, room)
			}
			if out < last {
				t.Fatalf("with %d, %d are left out, and %d before", n, out, last)
			}
			if out > last {
				changes++
			}
			last = out
		}
		if room.Bytes == 0 && room.Count > 1 && changes > len(sizes)/(room.Count/2) {
			t.Fatalf("the beginning changed %d times for %d media in %+v", changes, len(sizes), room)
		}
		if room == (Room{}) && last > 0 {
			t.Fatalf("%d are left out though there is no limit", last)
		}
	})
}
