package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/tool"
)

// maxContext bounds what one handler adds to the session context, in bytes.
const maxContext = 16 << 10

// Addition is text that joins the session context.
type Addition struct {
	By   string
	Text string
}

// PromptDecision is what the handlers of before_prompt_build together want.
type PromptDecision struct {
	Context  []Addition
	Narrowed tool.Narrowed
	Failures []string // of handlers, one sentence each
}

// Builds reports whether anybody has a say before prompts are built, or
// observes it.
func (b *Bus) Builds() bool { return len(b.at(beforePromptBuild)) > 0 }

// BuildPrompt asks the handlers of before_prompt_build about a turn. Lists of
// tools intersect. A handler that fails leaves what others narrowed and, for
// this turn, only tools that read. The only error is that of ctx.
func (b *Bus) BuildPrompt(ctx context.Context, p Prompt) (PromptDecision, error) {
	tell(b, beforePromptBuild, size(p.Message.Parts), func() *Prompt { return light(&p) })
	var d PromptDecision
	var narrowed, failed []string
	for _, h := range b.at(beforePromptBuild) {
		f, ok := h.call.(prompts)
		if !ok {
			continue
		}
		prompt := light(&p)
		v, _, err := ask(ctx, b, h, func(ctx context.Context) (PromptVerdict, error) { return f(ctx, prompt) })
		if ctx.Err() != nil {
			return d, ctx.Err()
		}
		if err != nil {
			failed = append(failed, h.label())
			d.Failures = append(d.Failures, fmt.Sprintf("the hook %s %v: this turn has only tools that read", h.label(), err))
			continue
		}
		if text := strings.TrimSpace(v.Context); text != "" {
			if len(text) > maxContext {
				b.log.Warn("a handler adds too much to the session context, which is cut", "handler", h.label(), "bytes", len(text), "limit", maxContext)
				text = cut(text, maxContext)
			}
			d.Context = append(d.Context, Addition{h.label(), text})
		}
		if v.ToolsAllow.Limited() {
			narrowed = append(narrowed, h.label())
			d.Narrowed.Allow = d.Narrowed.Allow.Intersect(v.ToolsAllow)
		}
	}
	d.Narrowed.By, d.Narrowed.Failed = strings.Join(narrowed, ", "), strings.Join(failed, ", ")
	return d, nil
}

// cut is the beginning of s that has at most limit bytes.
func cut(s string, limit int) string {
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// Persist has a result transformed before it is stored, highest priority first.
// Its details are to be a [json.RawMessage] or nil, and are that afterwards. A
// handler that fails is noted and passed over: the next one gets the last good
// result. What the result changes, and whether it tells of a failure, stay as
// they are.
func (b *Bus) Persist(ctx context.Context, c *Call, r tool.Result) (out tool.Result, note string) {
	n := len(c.Args) + size(r.Content)
	if details, ok := r.Details.(json.RawMessage); ok {
		n += len(details)
	}
	tell(b, toolResultPersist, n, func() *Returned { return own(&Returned{c, r}) })
	var notes []string
	for _, h := range b.at(toolResultPersist) {
		f, ok := h.call.(persists)
		if !ok {
			continue
		}
		given := own(&Returned{c, r})
		got, took, err := ask(ctx, b, h, func(ctx context.Context) (tool.Result, error) {
			got, err := f(ctx, given.Call, given.Result)
			if err == nil {
				got, err = settled(got)
			}
			return got, err
		})
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s %v", h.label(), err))
			b.log.Warn("a handler of results failed and was passed over", "hook", h.point, "handler", h.label(), "err", err)
			continue
		}
		if !reflect.DeepEqual(got.Content, r.Content) || !reflect.DeepEqual(got.Details, r.Details) {
			r.Content, r.Details = got.Content, got.Details
			notes = append(notes, fmt.Sprintf("%s changed it in %s", h.label(), rounded(took)))
		}
	}
	return r, strings.Join(notes, "; ")
}

// settled is what a handler made of a result, in a form that it can't change
// any more.
func settled(r tool.Result) (tool.Result, error) {
	// Details may hold what can't be copied, such as a thing that is in itself;
	// writing them as JSON tells that.
	out := tool.Result{Content: own(&tool.Result{Content: r.Content}).Content}
	if r.Details != nil {
		details, err := json.Marshal(r.Details)
		if err != nil {
			return out, fmt.Errorf("gave details that can't be written as JSON: %w", err)
		}
		out.Details = json.RawMessage(details)
	}
	return out, nil
}

// Persists reports whether anybody transforms results.
func (b *Bus) Persists() bool { return len(b.at(toolResultPersist)) > 0 }

// Send has a message looked at before it goes out, highest priority first. It
// returns the text to send, or who called it off and why. A handler that fails
// is passed over: the next one gets the last good text. The only error is that
// of ctx.
func (b *Bus) Send(ctx context.Context, m Message) (text, calledOff string, err error) {
	tell(b, messageSending, size(m.Message.Parts), func() *Message { return light(&m) })
	for _, h := range b.at(messageSending) {
		f, ok := h.call.(sends)
		if !ok {
			continue
		}
		message := light(&m)
		v, _, err := ask(ctx, b, h, func(ctx context.Context) (SendVerdict, error) { return f(ctx, message) })
		switch {
		case ctx.Err() != nil:
			return "", "", ctx.Err()
		case err != nil:
			b.log.Warn("a handler of messages failed and was passed over", "hook", h.point, "handler", h.label(), "err", err)
		case v.Cancel:
			return "", joined(h.label(), v.Reason), nil
		case v.Text != "":
			m.Text = v.Text
		}
	}
	return m.Text, "", nil
}

// Install asks whether something may be installed, highest priority first. It
// fails closed. The error is a [*tool.Refusal], or that of ctx.
func (b *Bus) Install(ctx context.Context, in Install) error {
	tell(b, beforeInstall, 0, func() *Install { return own(&in) })
	for _, h := range b.at(beforeInstall) {
		f, ok := h.call.(installs)
		if !ok {
			continue
		}
		install := own(&in)
		v, _, err := ask(ctx, b, h, func(ctx context.Context) (InstallVerdict, error) { return f(ctx, install) })
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return &tool.Refusal{
				Rule: h.name, Reason: fmt.Sprintf("The hook %s, which has to let installs through, %v; nothing was installed.", h.label(), err),
				Allowed: "Mend the hook, or disable what brought it.",
			}
		case v.Block != "":
			return &tool.Refusal{Rule: h.name, Reason: fmt.Sprintf("The hook %s doesn't allow it: %s", h.label(), v.Block)}
		}
	}
	return nil
}
