package agent

import (
	"context"
	"fmt"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Limits is what a [Brake] holds a run to. A zero field sets no limit.
type Limits struct {
	Rounds int // model calls that may call tools
	Hint   int // the same call with the same result this many rounds in a row gets a hint
	Stop   int // … this many ends the run
}

// Brake is the ordinary [Watch] of a run: it counts rounds, sees when the
// model turns in circles, and hands over what a person said meanwhile. It is
// used by one goroutine.
type Brake struct {
	limits Limits
	steer  func() (messages []llm.Message, joined []string)
	streak map[string]int // how many rounds in a row ended with this call and result

	// Before the run, in rounds of the same message:
	earlier int
	name    string // what was repeated most
	count   int
}

// NewBrake returns a brake for one run. steer, if not nil, is asked before
// each model call but the first for messages that join the thread, and the ids
// under which the inbox keeps them.
func NewBrake(l Limits, steer func() (messages []llm.Message, joined []string)) *Brake {
	return &Brake{limits: l, steer: steer}
}

// Resume counts the rounds that the person's message took before the run, which
// goes on with what a client answered.
func (b *Brake) Resume(earlier []Round) {
	b.earlier = len(earlier)
	for i := range earlier {
		b.name, b.count = b.repeated(&earlier[i])
	}
}

// Before implements [Watch].
func (b *Brake) Before(_ context.Context, n int, last *Round) Directive {
	var d Directive
	n += b.earlier
	name, count := b.name, b.count
	if last != nil {
		if b.steer != nil {
			d.Messages, d.Joined = b.steer()
		}
		name, count = b.repeated(last)
	}
	if b.limits.Stop > 0 && count >= b.limits.Stop {
		return Directive{
			Messages: d.Messages, Joined: d.Joined, Stop: true, NoticeKind: "guard",
			Reason: fmt.Sprintf("I stopped: %s was called %d times in a row with the same arguments and gave the same result each time. "+
				"Tell me how to go on differently.", name, count),
			Notice: fmt.Sprintf("loop guard: %s repeated %d times with the same result", name, count),
		}
	}
	if b.limits.Rounds > 0 && n > b.limits.Rounds {
		d.NoTools, d.Reason = true, "The limit of tool rounds was reached, and the model gave no answer. Say \"go on\" to continue."
		d.Messages = append(d.Messages, HostMessage(fmt.Sprintf(
			"The limit of %d tool rounds is reached. Tools can't be called any more. Answer now with what you have, and say what is left to do.", b.limits.Rounds)))
		d.NoticeKind, d.Notice = "limit", fmt.Sprintf("the limit of %d tool rounds (tools.max_tool_iterations) was reached; the model answers with what it has", b.limits.Rounds)
		return d
	}
	if b.limits.Hint > 0 && count == b.limits.Hint {
		d.Messages = append(d.Messages, HostMessage(fmt.Sprintf(
			"You called %s %d times in a row with the same arguments and got the same result. Calling it again won't change that: try something else, or answer.", name, count)))
		d.NoticeKind, d.Notice = "guard", fmt.Sprintf("loop guard: %s repeated %d times; the model was told", name, count)
	}
	return d
}

// Request implements [Watch]: what a run spends is not the brake's matter.
func (b *Brake) Request(context.Context, *llm.Request, int) (string, error) { return "", nil }

// Spent implements [Watch].
func (b *Brake) Spent(*Spent) {}

// repeated updates the streaks with r and returns the longest one. Equal calls
// within one response count once.
func (b *Brake) repeated(r *Round) (name string, count int) {
	next := make(map[string]int, len(r.Outcomes))
	for _, o := range r.Outcomes {
		if o.Digest == "" || o.Status == tool.Cancelled {
			continue
		}
		args := string(o.Args)
		if meant, err := jsonschema.Meaning(o.Args); err == nil {
			args = string(meant)
		} else if args == "" { // they couldn't be used
			args = o.Call.Arguments
		}
		key := o.Tool + "\x00" + args + "\x00" + o.Digest
		next[key] = b.streak[key] + 1
		if next[key] > count {
			name, count = o.Tool, next[key]
		}
	}
	b.streak = next
	return name, count
}

// HostMessage is a word of GoClaw to the model, marked as not being the person's.
func HostMessage(text string) llm.Message {
	return llm.Message{Role: llm.User, Parts: []llm.Part{{Kind: llm.KindContext, Text: text}}}
}
