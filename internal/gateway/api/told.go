package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// tells reports whether the conversation that the client tells is the stored one
// up to turn number last, as far as the client was shown that: what people said
// and attached, what was answered, which of its tools were called with what, and
// what it said came of them. A client that tells nothing but results goes on with
// what is stored.
func (s *Server) tells(ctx context.Context, told []llm.Message, key session.Key, last int) (bool, error) {
	if len(told) == 0 {
		return true, nil
	}
	turns, err := s.opts.Sessions.Turns(ctx, key, 1, last, session.Told)
	if err != nil {
		return false, err
	}
	var stored []llm.Message
	for i := range turns {
		stored = append(stored, turns[i].Message, answerIn(&turns[i]))
	}
	return slices.Equal(pieces(told), pieces(stored)), nil
}

// answerIn is the answer of t as its client was shown it: in one piece, with the
// calls that went to it.
func answerIn(t *session.Turn) llm.Message {
	m := llm.Message{Role: llm.Assistant}
	for _, r := range t.Rounds {
		m.Parts = append(m.Parts, llm.Text(r.Reply.Message.Text()), llm.Text(paragraph))
	}
	for _, r := range t.Rounds {
		for i, c := range r.Reply.Message.Calls() {
			handed := i < len(r.Outcomes) && r.Outcomes[i].Status == tool.Handed
			if handed {
				c.Name, c.Arguments = r.Outcomes[i].Tool, string(r.Outcomes[i].Args)
			}
			if handed || t.Seeded {
				m.Parts = append(m.Parts, llm.Part{Kind: llm.KindCall, Call: &c})
			}
		}
	}
	return m
}

// pieces are what a conversation says, in a form in which it is the same however
// it is divided into messages and written: blanks and the form of JSON tell
// nothing, nor do ids and what a client is not asked to repeat.
func pieces(list []llm.Message) []string {
	var p piecer
	for _, m := range list {
		if m.Role == llm.User {
			p.results(m)
		}
		for _, part := range m.Parts {
			switch {
			case part.Kind == llm.KindText:
				p.say(m.Role, part.Text)
			case part.Kind == llm.KindCall && part.Call != nil:
				p.add("call " + part.Call.Name + " " + plainArgs(part.Call.Arguments))
				p.open = append(p.open, part.Call.ID)
			case part.Kind == llm.KindMedia && part.Media != nil && m.Role == llm.User:
				p.add("media " + sumOfMedia(part.Media))
			}
		}
	}
	p.end()
	return p.list
}

type piecer struct {
	list []string
	open []string // ids of the last calls
	role llm.Role // who is speaking
	said []string // their words so far
}

func (p *piecer) say(who llm.Role, text string) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return
	}
	if who != p.role {
		p.end()
	}
	p.role, p.said = who, append(p.said, words...)
}

// end ends what is being said.
func (p *piecer) end() {
	if len(p.said) > 0 {
		p.list = append(p.list, string(p.role)+" "+strings.Join(p.said, " "))
	}
	p.role, p.said = "", nil
}

func (p *piecer) add(piece string) {
	p.end()
	p.list = append(p.list, piece)
}

// results adds the results that m brings, in the order of their calls.
func (p *piecer) results(m llm.Message) {
	for i, id := range p.open {
		for _, part := range m.Parts {
			if part.Kind == llm.KindResult && part.Result != nil && part.Result.CallID == id {
				p.add("result " + strconv.Itoa(i) + " " + sumOf(part.Result))
			}
		}
	}
	p.open = nil
}

// plainArgs is the arguments of a call in a form in which they are the same
// however they are written.
func plainArgs(args string) string {
	if strings.TrimSpace(args) == "" {
		return "{}"
	}
	d := json.NewDecoder(strings.NewReader(args))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return strings.TrimSpace(args)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	if enc.Encode(plainNumbers(v)) != nil {
		return strings.TrimSpace(args)
	}
	return b.String()
}

// plainNumbers is v with numbers that every client can hold in one form: 1.0 comes
// back from many as 1.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil && math.Abs(f) < 1<<53 {
			return f
		}
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	}
	return v
}

func sumOfMedia(m *llm.Media) string {
	if m.Sum != "" || len(m.Data) == 0 {
		return m.Sum
	}
	sum := sha256.Sum256(m.Data)
	return hex.EncodeToString(sum[:])
}
