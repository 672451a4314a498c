package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/llm"
)

// How a vendor's package sends images and files:
//
//	shows := wire.Takes(req.Target)                  // what goes along at all
//	messages := wire.Fit(req.Messages, shows, room)  // … and what still has room
//	words := wire.UserText(parts, shows)             // a note in place of the rest
//
// and each part of kind media for which shows is true in the form of its wire,
// in a person's message before or behind the words, in a result where the wire
// has a place for it. What a model made itself stands in its reply, for which
// [ReplyText] and [Made] are. A reply brings images as parts of kind media
// whose Data is the decoded file.

// PDF is the one type of file that some models take.
const PDF = "application/pdf"

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
		return on && m != nil && len(m.Data) > 0 && len(m.Data) <= llm.MaxImage && llm.IsImage(m.MIME)
	}
}

// IsFile reports whether m is a file that some models take and no image.
func IsFile(m *llm.Media) bool {
	return m != nil && m.MIME == PDF && len(m.Data) > 0 && len(m.Data) <= llm.MaxFile
}

// Room is how many media a request may hold, and of how many bytes before they
// are encoded. 0 sets no limit.
type Room struct {
	Count int
	Bytes int
}

// Fit is messages without the oldest media that shown would show beyond room; a
// line says in their place what they were. Messages itself is never changed, and
// is the result when all have room.
//
// Room is made for a while: half of it is free afterwards, so that requests
// begin with the same bytes until that is full again, and not with others each
// time another image comes.
func Fit(messages []llm.Message, shown Shown, room Room) []llm.Message {
	var sizes []int
	each(messages, func(m *llm.Media) {
		if shown(m) {
			sizes = append(sizes, len(m.Data))
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

// LeaveOut is messages with a line in place of those media for which why, which
// is asked in the order in which they stand, has a sentence: what they were, and
// that. Messages itself is never changed.
func LeaveOut(messages []llm.Message, why func(*llm.Media) string) []llm.Message {
	out := slices.Clone(messages)
	for i := range out {
		out[i].Parts = leaveOut(out[i].Parts, why)
	}
	return out
}

func leaveOut(parts []llm.Part, why func(*llm.Media) string) []llm.Part {
	own := false // parts may be changed
	for i, p := range parts {
		switch {
		case p.Kind == llm.KindMedia && p.Media != nil:
			words := why(p.Media)
			if words == "" {
				continue
			}
			p = llm.Text(fmt.Sprintf("\n[Attached: %s. %s]\n", described(p.Media), words))
		case p.Kind == llm.KindResult && p.Result != nil:
			r := *p.Result
			r.Content = leaveOut(r.Content, why)
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
	if n := max(len(m.Data), m.Size); n > 0 {
		return fmt.Sprintf("%s (%s, %s)", name, m.MIME, size(n))
	}
	return fmt.Sprintf("%s (%s)", name, m.MIME)
}

// size is a number of bytes for people and models.
func size(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KB", (n+1<<9)>>10)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
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
