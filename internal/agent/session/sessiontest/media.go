package sessiontest

import (
	"bytes"
	"testing"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// picture is an image of 4,000 bytes that hold letter.
func picture(letter string) llm.Part {
	return llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png", Name: letter + ".png", Data: bytes.Repeat([]byte(letter), 4000)}}
}

// withPictures stores a turn that has one wherever one can be.
func withPictures(t *testing.T, s session.Store, k session.Key, run string, number, second int) {
	t.Helper()
	ctx := t.Context()
	turn := turnOf(run, "Look.", second)
	turn.Message.Parts = append(turn.Message.Parts, picture("a"), picture("b"))
	value(s.Begin(ctx, k, turn, "title"))(t)
	r := full(number, run)
	r.Started, r.Replied, r.Ended = at(second+1), at(second+2), at(second+4)
	r.Before = append(r.Before, llm.Message{Role: llm.User, Parts: []llm.Part{picture("c")}})
	must(t, s.Called(ctx, run, r))
	for i := range r.Outcomes {
		r.Outcomes[i].Started, r.Outcomes[i].Ended = at(second+2), at(second+3)
	}
	r.Outcomes[0].Content = []llm.Part{llm.Text("taken"), picture("d"), picture("a")}
	must(t, s.Result(ctx, run, number, 0, r.Outcomes[0]))
	must(t, s.Settled(ctx, run, r))
	last := answer(number+1, "Here.")
	last.Started, last.Replied, last.Ended = at(second+5), at(second+6), at(second+7)
	last.Reply.Message.Parts = append(last.Reply.Message.Parts, picture("e"))
	must(t, s.Answered(ctx, run, last, agent.End{Status: agent.Done, Rounds: 2, Time: at(second + 7)}))
}

// letters names the images of turns by what they hold; "-" is one without its
// bytes.
func letters(turns []session.Turn) string {
	var b bytes.Buffer
	add := func(parts []llm.Part) {
		for _, p := range parts {
			switch {
			case p.Kind != llm.KindMedia:
			case len(p.Media.Data) == 4000 && p.Media.MIME == "image/png" && p.Media.Name == string(p.Media.Data[:1])+".png":
				b.WriteByte(p.Media.Data[0])
			default:
				b.WriteByte('-')
			}
		}
	}
	for _, turn := range turns {
		add(turn.Message.Parts)
		for _, r := range turn.Rounds {
			for _, m := range r.Before {
				add(m.Parts)
			}
			add(r.Reply.Message.Parts)
			for _, o := range r.Outcomes {
				if o.Status == tool.OK {
					add(o.Content)
				}
			}
		}
	}
	return b.String()
}

// testMedia checks that images and files come back with whatever they were said
// in, in forks too, also when what they were said in first is gone.
func testMedia(t *testing.T, s session.Store) {
	ctx := t.Context()
	seed := told(1, 1, "Before.", "Yes.")
	seed.Message.Parts = append(seed.Message.Parts, picture("s"))
	value(s.Begin(ctx, key, turnOf("run0", "hi", 0), "title", seed))(t)
	must(t, s.Answered(ctx, "run0", answer(2, "hello"), agent.End{Status: agent.Done, Time: at(1)}))
	withPictures(t, s, key, "run1", 3, 10)
	withPictures(t, s, key, "run2", 5, 20)

	turns := func(k session.Key, depth session.Depth) []session.Turn { return value(s.Turns(ctx, k, 1, 0, depth))(t) }
	const once = "abcdae"
	equal(t, "whole", letters(turns(key, session.Whole)), "s"+once+once)
	// Lists of many turns don't read what nobody looks at, and threads are longer
	// than what is sent of them.
	equal(t, "what is said", letters(turns(key, session.Spoken)), "-"+"------"+"------")
	equal(t, "what is told", letters(turns(key, session.Told)), "-"+"------"+"------")
	equal(t, "messages", letters(turns(key, session.Heads)), "-"+"--"+"--")
	for depth, want := range map[session.Depth]string{session.Heads: "--", session.Traced: "--", session.Told: "--", session.Whole: "ab"} {
		runs, _, err := s.Runs(ctx, session.RunFilter{Run: "run1", Depth: depth})
		must(t, err)
		equal(t, "the run", letters([]session.Turn{runs[0].Turn})[:2], want)
		equal(t, "its size", max(runs[0].Message.Parts[1].Media.Size, len(runs[0].Message.Parts[1].Media.Data)), 4000)
	}
	// What came back can be stored as it is.
	whole := turns(key, session.Whole)
	m := whole[len(whole)-1].Message.Parts[1].Media
	equal(t, "the image", *m, *picture("a").Media)
	named := turns(key, session.Spoken)[len(whole)-1].Message.Parts[1].Media
	equal(t, "its bytes", string(value(s.Content(ctx, named))(t)), string(m.Data))
	equal(t, "those of an image that is not there", string(value(s.Content(ctx, &llm.Media{Size: 5, Sum: "00"}))(t)), "")

	early, late := forkOf("early", 3, 30), forkOf("late", 4, 30)
	must(t, s.Fork(ctx, early))
	must(t, s.Fork(ctx, late))
	must(t, s.Delete(ctx, key))
	equal(t, "a fork without the original", letters(turns(late.Key, session.Whole)), "s"+once+once)
	must(t, s.Delete(ctx, late.Key))
	equal(t, "the other fork", letters(turns(early.Key, session.Whole)), "s"+once)
	withPictures(t, s, early.Key, "run3", 5, 40)
	equal(t, "it goes on", letters(turns(early.Key, session.Whole)), "s"+once+once)
	must(t, s.Delete(ctx, early.Key))
}

// loaded is a thread's messages with the bytes of their images and files.
func loaded(t *testing.T, thread agent.Thread) []llm.Message {
	t.Helper()
	var load func(parts []llm.Part)
	load = func(parts []llm.Part) {
		for _, p := range parts {
			if p.Result != nil {
				load(p.Result.Content)
			}
			if m := p.Media; m != nil && m.Sum != "" {
				m.Data = value(thread.Load(t.Context(), m))(t)
				m.Size, m.Sum = 0, ""
			}
		}
	}
	for _, m := range thread.Messages {
		load(m.Parts)
	}
	return thread.Messages
}
