package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
)

// ExportMarkdown writes a session as a transcript for people: what each said,
// which tools were called with what and what came of it. Nothing that was said
// can change how the rest reads: code is fenced by more backticks than it
// holds, and an answer that would swallow what follows is shown as code.
func ExportMarkdown(ctx context.Context, w io.Writer, store Store, key Key) error {
	s, err := store.Session(ctx, key)
	if err != nil {
		return fmt.Errorf("export session %s: %w", key, err)
	}
	if _, err := io.WriteString(w, heading(s)); err != nil {
		return fmt.Errorf("export session %s: %w", key, err)
	}
	for t, err := range eachTurn(ctx, store, key) {
		if err == nil {
			_, err = io.WriteString(w, turnText(t))
		}
		if err != nil {
			return fmt.Errorf("export session %s: %w", key, err)
		}
	}
	return nil
}

func heading(s Session) string {
	fork := ""
	if f := s.ForkOf; f != nil {
		fork = fmt.Sprintf(", a fork of session %s after turn %d", code(Key{Agent: s.Agent, ID: f.Session}.String()), f.Turn)
	}
	plan := ""
	if s.Plan {
		plan = " Plan mode is on."
	}
	return fmt.Sprintf("# %s\n\nSession %s, begun %s%s. %s, %s, %d tokens in, %d tokens out.%s\n",
		inline(s.Title), code(s.Key.String()), stamp(s.Created), fork, count(s.Turns, "turn"), count(s.Rounds, "round"), s.Usage.Input, s.Usage.Output, plan)
}

// count is a number with its noun.
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// turnText is one turn: the person's words as a quotation, then the rounds.
func turnText(t Turn) string {
	var b strings.Builder
	told := ""
	if t.Seeded {
		told = ", as a client told it"
	}
	fmt.Fprintf(&b, "\n## %d. %s, %s%s\n\n", t.Number, inline(cmp.Or(t.Caller.Name, t.Caller.ID, "person")), stamp(t.Started), told)
	if words := strings.TrimSpace(said(t.Message)); words != "" || !t.Seeded {
		b.WriteString(quote(prose(words)))
	}
	for _, r := range t.Rounds {
		roundText(&b, r)
	}
	switch {
	case t.Error != "":
		fmt.Fprintf(&b, "\n*The run failed:* %s\n", inline(t.Error))
	case t.Status != agent.Done:
		fmt.Fprintf(&b, "\n*The run was %s.*\n", t.Status)
	}
	return b.String()
}

func roundText(b *strings.Builder, r agent.Round) {
	for _, m := range r.Before {
		if words := strings.TrimSpace(said(m)); words != "" {
			b.WriteString("\n" + quote(prose(words)))
		}
	}
	if answer := strings.TrimSpace(said(r.Reply.Message)); answer != "" {
		b.WriteString("\n" + prose(answer) + "\n")
	}
	for _, o := range r.Outcomes {
		if o.Withheld {
			fmt.Fprintf(b, "\n*%s*\n", inline(said(llm.Message{Parts: o.Content})))
			continue
		}
		fmt.Fprintf(b, "\n**%s** %s", inline(cmp.Or(o.Tool, o.Call.Name)), cmp.Or(string(o.Status), "without a result yet"))
		if !o.Started.IsZero() && o.Ended.After(o.Started) {
			fmt.Fprintf(b, ", %s", o.Ended.Sub(o.Started).Round(time.Millisecond))
		}
		b.WriteString("\n")
		args := o.Call.Arguments
		if json.Valid(o.Args) {
			args = string(o.Args)
		}
		if args = strings.TrimSpace(args); args != "" && args != "{}" {
			b.WriteString("\n" + fence("json", args))
		}
		if result := strings.Trim(said(llm.Message{Parts: o.Content}), "\n"); result != "" {
			b.WriteString("\n" + fence("", result))
		}
	}
}

// said is what people read of a message.
func said(m llm.Message) string { return strings.Map(legible, Words(m)) }

// Words is the text of a message, with a line that names each file and image of
// it, and what a client answered to calls. What the host added for the model is left out.
func Words(m llm.Message) string {
	// Images that a person gave are among their files.
	files := slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Kind == llm.KindFile })
	var b strings.Builder
	for _, p := range m.Parts {
		switch {
		case p.Kind == llm.KindText:
			b.WriteString(p.Text)
		case p.Media != nil && (p.Kind == llm.KindFile || p.Kind == llm.KindMedia && !files):
			fmt.Fprintf(&b, "\n[%s]\n", cmp.Or(p.Media.Name, p.Media.MIME, "attachment"))
		case p.Kind == llm.KindResult && p.Result != nil:
			fmt.Fprintf(&b, "\n[result of %s]\n%s\n", p.Result.Name, llm.JoinText(p.Result.Content))
		}
	}
	return strings.TrimSpace(b.String())
}

// legible is for [strings.Map]: it drops what would act on a terminal or turn
// the direction of the text.
func legible(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r < 0x20, r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return -1
	}
	return r
}

// prose is Markdown that ends where it ends: s itself, or s as code when what
// stands behind s would become a part of it (an open fence, an open comment).
func prose(s string) string {
	const mark = "endofprose"
	src := []byte(s + "\n\n" + mark + "\n")
	doc := goldmark.DefaultParser().Parse(text.NewReader(src))
	if last, ok := doc.LastChild().(*ast.Paragraph); ok && string(last.Lines().Value(src)) == mark {
		return s
	}
	return strings.TrimSuffix(fence("markdown", s), "\n")
}

// fence shows s as code.
func fence(lang, s string) string {
	longest, run := 2, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	ticks := strings.Repeat("`", longest+1)
	return ticks + lang + "\n" + s + "\n" + ticks + "\n"
}

func quote(s string) string {
	return "> " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n> ") + "\n"
}

// inline is s on one line without a meaning in Markdown.
func inline(s string) string {
	return escaper.Replace(OneLine(s))
}

var escaper = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, "#", `\#`, "|", `\|`)

// code is s as code within a line; s holds no backticks.
func code(s string) string { return "`" + s + "`" }

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
