package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/lib/pdf"
	"github.com/goclaw/goclaw/internal/llm"
)

// How a vendor's package sends images and files:
//
//	shows := wire.Takes(req.Target)           // what goes along at all
//	req, err := wire.Fit(req, shows, room)    // … and what still has room, with its content
//	words := wire.UserText(parts, shows)      // a note in place of the rest
//
// and each part of kind media for which shows is true in the form of its wire,
// in a person's message before or behind the words, in a result where the wire
// has a place for it. What a model made itself stands in its reply, for which
// [ReplyText] and [Made] are. A reply brings images as parts of kind media
// whose Data is the decoded file.

// PDF is the one type of file that some models take.
const PDF = "application/pdf"

// Media is an image or a file that somebody gave, with what an estimate of its
// cost needs to know.
func Media(mime, name string, data []byte) *llm.Media {
	m := &llm.Media{MIME: mime, Name: name, Data: data}
	if mime == PDF {
		m.Pages = pdf.Pages(data)
	}
	return m
}

// Shown says which media a wire takes in the message at hand; the rest leave a
// note.
type Shown func(m *llm.Media) bool

// Takes shows what a target takes: images, PDF files.
func Takes(t llm.Target) Shown {
	images := Pictures(t.Images)
	if !t.Files {
		return images
	}
	return func(m *llm.Media) bool { return images(m) || IsFile(m) }
}

// Pictures shows images when on.
func Pictures(on bool) Shown {
	return func(m *llm.Media) bool {
		return on && m != nil && m.Whole() && m.Bytes() <= llm.MaxImage && llm.IsImage(m.MIME)
	}
}

// IsFile reports whether m is a file that some models take and no image.
func IsFile(m *llm.Media) bool {
	return m != nil && m.MIME == PDF && m.Whole() && m.Bytes() <= llm.MaxFile
}

// Room is how many media a request may hold, and of how many bytes before they
// are encoded. 0 sets no limit.
type Room struct {
	Count int
	Bytes int
}

// Fit is req without the oldest media that shown would show beyond room, in
// whose place a line says what they were, and with the content of those that it
// shows, which Load brings where only their sum is known. What is no longer kept
// is not shown. Neither req nor its messages are changed; the error is Load's.
//
// Room is made for a while: half of it is free afterwards, so that requests
// begin with the same bytes until that is full again, and not with others each
// time another image comes. It goes by sizes alone, so that nothing is loaded
// to be left out.
func Fit(req *llm.Request, shown Shown, room Room) (*llm.Request, error) {
	messages, err := load(fit(req.Messages, shown, room), shown, req.Load)
	if err != nil {
		return nil, err
	}
	out := *req
	out.Messages = messages
	return &out, nil
}

func fit(messages []llm.Message, shown Shown, room Room) []llm.Message {
	var sizes []int
	each(messages, func(m *llm.Media) {
		if shown(m) {
			sizes = append(sizes, m.Bytes())
		}
	})
	out := room.leftOut(sizes)
	if out == 0 {
		return messages
	}
	return LeaveOut(messages, func(m *llm.Media) string {
		if out == 0 || !shown(m) {
			return ""
		}
		out--
		return "It is not shown again, because newer images and files took its room."
	})
}

// load is messages with the content of what shown shows. Media whose content
// can't be had lose their sum, by which nobody shows them any more.
func load(messages []llm.Message, shown Shown, bring func(*llm.Media) ([]byte, error)) ([]llm.Message, error) {
	missing := false
	each(messages, func(m *llm.Media) { missing = missing || m != nil && len(m.Data) == 0 && shown(m) })
	if !missing {
		return messages, nil
	}
	var failed error
	replace := func(p llm.Part) (llm.Part, bool) {
		if len(p.Media.Data) > 0 || !shown(p.Media) || failed != nil {
			return p, false
		}
		m := *p.Media
		if bring != nil {
			m.Data, failed = bring(p.Media)
		}
		if len(m.Data) == 0 {
			m.Sum = ""
		}
		p.Media = &m
		return p, true
	}
	return replaced(messages, replace), failed
}

// LeaveOut is messages with a line in place of those media for which why, which
// is asked in the order in which they stand, has a sentence: what they were, and
// that. Messages itself is never changed.
func LeaveOut(messages []llm.Message, why func(*llm.Media) string) []llm.Message {
	return replaced(messages, func(p llm.Part) (llm.Part, bool) {
		words := why(p.Media)
		if words == "" {
			return p, false
		}
		return llm.Text(fmt.Sprintf("\n[Attached: %s. %s]\n", described(p.Media), words)), true
	})
}

// replaced is messages with what by gives for parts that are media, in the order
// in which they stand, those in results included; by says whether it gives
// another one. Messages itself is never changed.
func replaced(messages []llm.Message, by func(llm.Part) (llm.Part, bool)) []llm.Message {
	out := slices.Clone(messages)
	for i := range out {
		out[i].Parts = replacedParts(out[i].Parts, by)
	}
	return out
}

func replacedParts(parts []llm.Part, by func(llm.Part) (llm.Part, bool)) []llm.Part {
	own := false // parts may be changed
	for i, p := range parts {
		switch {
		case p.Kind == llm.KindMedia && p.Media != nil:
			var other bool
			if p, other = by(p); !other {
				continue
			}
		case p.Kind == llm.KindResult && p.Result != nil:
			r := *p.Result
			r.Content = replacedParts(r.Content, by)
			p.Result = &r
		default:
			continue
		}
		if !own {
			parts, own = slices.Clone(parts), true
		}
		parts[i] = p
	}
	return parts
}

// leftOut is how many media of sizes have to stay out, the oldest first. It
// depends on the beginning alone: media that come later change it only when
// they find no room.
func (r Room) leftOut(sizes []int) int {
	out, count, bytes := 0, 0, 0
	over := func(part int) bool {
		return r.Count > 0 && count > max(r.Count/part, 1) || r.Bytes > 0 && bytes > r.Bytes/part
	}
	for i, n := range sizes {
		count, bytes = count+1, bytes+n
		if !over(1) {
			continue
		}
		for out < i && over(2) {
			count, bytes = count-1, bytes-sizes[out]
			out++
		}
		if over(1) { // it alone is too large
			count, bytes, out = 0, 0, i+1
		}
	}
	return out
}

// each calls f for all media of messages in the order in which they stand, those
// in results included.
func each(messages []llm.Message, f func(*llm.Media)) {
	for _, msg := range messages {
		eachPart(msg.Parts, f)
	}
}

func eachPart(parts []llm.Part, f func(*llm.Media)) {
	for _, p := range parts {
		switch {
		case p.Kind == llm.KindMedia:
			f(p.Media)
		case p.Kind == llm.KindResult && p.Result != nil:
			eachPart(p.Result.Content, f)
		}
	}
}

// described is what there is to say of media: name, type, size.
func described(m *llm.Media) string {
	name := m.Name
	if name == "" {
		name = "without a name"
	}
	if n := m.Bytes(); n > 0 {
		return fmt.Sprintf("%s (%s, %s)", name, m.MIME, llm.Size(n))
	}
	return fmt.Sprintf("%s (%s)", name, m.MIME)
}

// note stands for media that the model can't be shown.
func note(m *llm.Media) string {
	if m == nil {
		return "[An attachment that is not available.]"
	}
	return fmt.Sprintf("[Attached: %s. This model can't see what is in it.]", described(m))
}

// withNotes joins the text of parts; media that the model is not shown leave a
// note.
func withNotes(parts []llm.Part, shown Shown) string {
	noted := false
	for _, p := range parts {
		noted = noted || p.Kind == llm.KindMedia && !shown(p.Media)
	}
	if !noted {
		return llm.JoinText(parts)
	}
	var b strings.Builder
	for _, p := range parts {
		switch {
		case p.Kind == llm.KindText:
			b.WriteString(p.Text)
		case p.Kind == llm.KindMedia && !shown(p.Media):
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(note(p.Media))
		}
	}
	return b.String()
}

// ReplyText is the words of a model's reply as one string. Images that it made
// leave a line each, since no wire but the maker's own takes them there; [Made]
// are those that can be shown again, in a message of the person's.
func ReplyText(parts []llm.Part) string {
	if !slices.ContainsFunc(parts, func(p llm.Part) bool { return p.Kind == llm.KindMedia }) {
		return llm.JoinText(parts)
	}
	var b strings.Builder
	for _, p := range parts {
		switch {
		case p.Kind == llm.KindText:
			b.WriteString(p.Text)
		case p.Kind == llm.KindMedia && p.Media != nil:
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(MadeNote(p.Media))
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// MadeNote stands in a model's reply for an image that it made.
func MadeNote(m *llm.Media) string { return fmt.Sprintf("[You made: %s.]", described(m)) }

// MadeBefore stands before images that a model made, where they are shown to it
// in a message of the person's.
const MadeBefore = "The images that you made above:"

// Made lists the images of a reply that shown shows.
func Made(parts []llm.Part, shown Shown) []llm.Part {
	var made []llm.Part
	for _, p := range parts {
		if p.Kind == llm.KindMedia && shown(p.Media) {
			made = append(made, p)
		}
	}
	return made
}
