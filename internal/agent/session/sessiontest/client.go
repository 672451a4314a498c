package sessiontest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

func calling(text string, ids ...string) llm.Message {
	m := llm.Message{Role: llm.Assistant}
	if text != "" {
		m.Parts = append(m.Parts, llm.Text(text))
	}
	for _, id := range ids {
		m.Parts = append(m.Parts, llm.Part{Kind: llm.KindCall, Call: &llm.ToolCall{ID: id, Name: "weather", Arguments: "{}"}})
	}
	return m
}

// answering is a message with a result for each id, and then text.
func answering(text string, ids ...string) llm.Message {
	m := llm.Message{Role: llm.User}
	for _, id := range ids {
		m.Parts = append(m.Parts, llm.Part{Kind: llm.KindResult, Result: &llm.ToolResult{CallID: id, Name: "weather", Content: []llm.Part{llm.Text("result of " + id)}}})
	}
	if text != "" {
		m.Parts = append(m.Parts, llm.Text(text))
	}
	return m
}

// seen shows a thread in short: texts, calls, results.
func seen(messages []llm.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%c", m.Role[0])
		for _, p := range m.Parts {
			switch p.Kind {
			case llm.KindCall:
				fmt.Fprintf(&b, " call %s", p.Call.ID)
			case llm.KindResult:
				mark := ""
				if p.Result.IsError {
					mark = "!"
				}
				fmt.Fprintf(&b, " %s%s=%s", mark, p.Result.CallID, strings.SplitN(llm.JoinText(p.Result.Content), ":", 2)[0])
			default:
				fmt.Fprintf(&b, " %s", p.Text)
			}
		}
		b.WriteString("|")
	}
	return b.String()
}

// handed is a turn of a session that ends with two calls of a client's tool and
// one that ran here.
func handed(ctx context.Context, t *testing.T, h *session.History, k session.Key, run string) {
	t.Helper()
	turn := AgentTurn(k, run, "now")
	thread := value(h.Begin(ctx, turn))(t)
	r := answer(thread.Rounds+1, "I ask")
	r.Reply.Message = calling("I ask", run+"a", run+"b", run+"c")
	r.Reply.Finish = llm.FinishCalls
	must(t, h.Called(ctx, turn, r))
	for i, c := range r.Calls {
		o := tool.Outcome{Call: c, Tool: "weather", Status: tool.Handed, Content: []llm.Part{llm.Text("handed")}, Started: at(1), Ended: at(1)}
		if i == 1 {
			o.Status, o.Content = tool.OK, []llm.Part{llm.Text("ran here")}
		}
		r.Outcomes = append(r.Outcomes, o)
	}
	must(t, h.Settled(ctx, turn, r))
	must(t, h.End(ctx, turn, agent.End{Status: agent.Done, Rounds: 1}))
}

// Results that a client brings stand behind their calls; such a turn goes on as
// if it had never ended.
func testClient(t *testing.T, s session.Store) {
	ctx := t.Context()
	const asked = "u now|a I ask call %[1]sa call %[1]sb call %[1]sc|"
	for i, c := range []struct {
		name  string
		next  llm.Message
		want  string // of the thread behind the calls
		fails string
	}{
		{"results", answering("", "%a", "%c"), "t %a=result of %a %b=ran here %c=result of %c|", ""},
		{"results in another order, and words", answering("go on", "%c", "%a"), "t %a=result of %a %b=ran here %c=result of %c|u go on|", ""},
		{"no results", llm.UserMessage("never mind"), "t !%a=no result %b=ran here !%c=no result|u never mind|", ""},
		{"one is missing", answering("", "%a"), "", `none for call "%c"`},
		{"one too many", answering("", "%a", "%c", "x"), "", `no call "x" waits`},
		{"one that ran here", answering("", "%a", "%b", "%c"), "", `no call "%b" waits`},
	} {
		run := fmt.Sprint("r", i)
		own := func(text string) string { return strings.ReplaceAll(text, "%", run) }
		for j := range c.next.Parts {
			if r := c.next.Parts[j].Result; r != nil {
				r.CallID = own(r.CallID)
				r.Content = []llm.Part{llm.Text(own(r.Content[0].Text))}
			}
		}
		h, k := session.NewHistory(s, nil), session.Key{Agent: "main", ID: fmt.Sprint("client", i)}
		handed(ctx, t, h, k, run)
		turn := AgentTurn(k, run+"next", "")
		turn.Message = c.next
		thread, err := h.Begin(ctx, turn)
		if c.fails != "" {
			wantErr(t, c.name, err, session.ErrNotAwaited)
			if !strings.Contains(err.Error(), own(c.fails)) {
				t.Errorf("%s: %v", c.name, err)
			}
			equal(t, "turns", value(s.Session(ctx, k))(t).Turns, 1)
			continue
		}
		must(t, err)
		must(t, Valid(thread.Messages))
		equal(t, c.name, seen(thread.Messages), fmt.Sprintf(asked, run)+own(c.want))
		must(t, Work(ctx, h, turn, answer(thread.Rounds+1, "fine"), ""))
		must(t, h.End(ctx, turn, agent.End{Status: agent.Done}))

		// A call has one result, whenever another comes.
		late := AgentTurn(k, run+"late", "")
		late.Message = answering("", own("%a"), own("%c"))
		_, err = h.Begin(ctx, late)
		wantErr(t, c.name+", once more", err, session.ErrNotAwaited)

		last := AgentTurn(k, run+"last", "and")
		thread = value(h.Begin(ctx, last))(t)
		must(t, Valid(thread.Messages))
		equal(t, c.name+", later", seen(thread.Messages), fmt.Sprintf(asked, run)+own(c.want)+"a fine|u and|")
		must(t, h.End(ctx, last, agent.End{Status: agent.Done}))
	}
}

// A client that keeps the conversation itself tells calls and results with it.
func testClientSeed(t *testing.T, s session.Store) {
	ctx := t.Context()
	u, a := llm.UserMessage, llm.AssistantMessage
	for i, c := range []struct {
		seed []llm.Message
		next llm.Message
		want string
	}{
		{
			[]llm.Message{u("hi"), calling("", "a", "b"), answering("", "b", "a"), a("fine"), u("and"), calling("look", "c")},
			answering("", "c"),
			"u hi|a call a call b|t a=result of a b=result of b|a fine|u and|a look call c|t c=result of c|",
		},
		{
			[]llm.Message{u("hi"), calling("", "a"), u("no"), calling("", "b"), a("then"), calling("", "c"), answering("", "c"), u("so"), a("yes")},
			u("end"),
			"u hi|a call a|t !a=no result|u no|a call b|t !b=no result|a then\n\n call c|t c=result of c|u so|a yes|u end|",
		},
		{
			[]llm.Message{u("hi"), calling("", "a"), answering("", "a"), calling("", "b"), answering("", "b"), calling("", "c")},
			u("stop"),
			"u hi|a call a|t a=result of a|a call b|t b=result of b|a call c|t !c=no result|u stop|",
		},
	} {
		h, k := session.NewHistory(s, nil), session.Key{Agent: "main", ID: fmt.Sprint("tells", i)}
		turn := AgentTurn(k, fmt.Sprint("tells", i), "")
		turn.Seed, turn.Message = c.seed, c.next
		thread := value(h.Begin(ctx, turn))(t)
		must(t, Valid(thread.Messages))
		equal(t, "thread", seen(thread.Messages), c.want)
		stored := value(s.Turns(ctx, k, 1, 0, session.Spoken))(t)
		equal(t, "as it is stored", seen(session.Thread(stored)), c.want)
		r := answer(thread.Rounds+1, "")
		r.Reply.Message = calling("", "a") // an id that was told is taken
		must(t, h.Called(ctx, turn, r))
		if r.Calls[0].ID == "a" {
			t.Error("a call has the id of one that was told")
		}
		must(t, h.End(ctx, turn, agent.End{Status: agent.Stopped}))
	}
	turn := AgentTurn(session.Key{Agent: "main", ID: "never"}, "never", "")
	turn.Message = answering("", "a")
	_, err := session.NewHistory(s, nil).Begin(ctx, turn)
	wantErr(t, "results at the beginning", err, session.ErrNotAwaited)
}
