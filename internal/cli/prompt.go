package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/prompt"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/llm"
)

func (a *app) promptCommand() *cobra.Command {
	return group("prompt", "What a model is told", a.promptShow())
}

// shownPrompt is what "prompt show" prints.
type shownPrompt struct {
	Agent    string         `json:"agent"`
	Session  string         `json:"session,omitempty"`
	Target   llm.Target     `json:"target"`
	Sections []shownSection `json:"sections"`
	Tools    []shownTool    `json:"tools"`
	Since    *since         `json:"since_last_turn,omitempty"` // only of a session that has asked a model
	Bytes    int            `json:"bytes"`                     // of sections and tools
	Tokens   int            `json:"tokens"`                    // estimated
}

// since is what is not as it was in the session's last request, so that the
// provider's cache breaks at the first of it.
type since struct {
	Target  string   `json:"target,omitempty"`  // that the last request went to, when it was another one
	Changed []string `json:"changed,omitempty"` // sections that are new or have another text
	Gone    []string `json:"gone,omitempty"`    // sections that are not there any more
	Tools   bool     `json:"tools"`             // others are offered, or in another order
}

type shownSection struct {
	agent.Section
	Tokens  int    `json:"tokens"`
	Changed bool   `json:"changed"` // since the session's last request
	Text    string `json:"text"`
}

type shownTool struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	Tokens int    `json:"tokens"`
}

func (a *app) promptShow() *cobra.Command {
	var s scopeFlags
	var message string
	var text bool
	cmd := &cobra.Command{
		Use: "show", Short: "Print every section of the prompt with its source and size, and what changed since the session's last turn",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req, err := a.request(cmd, &s)
			if err != nil {
				return err
			}
			if message == "" {
				message = "Hello"
			}
			req.Message = llm.UserMessage(message)
			return a.with(cmd.Context(), func(g *gateway.Gateway) error {
				if err := a.inRoleOf(cmd, g, &req.Caller); err != nil {
					return err
				}
				p, err := g.PreviewPrompt(cmd.Context(), req)
				if err != nil {
					return err
				}
				v := shown(p)
				return a.print(v, func(w io.Writer) error { return v.write(w, text) })
			})
		},
	}
	s.add(cmd)
	cmd.Flags().StringVar(&message, "message", "", "the message that the prompt is for")
	cmd.Flags().BoolVar(&text, "text", false, "print the text of the sections")
	return cmd
}

func shown(p gateway.PromptPreview) shownPrompt {
	v := shownPrompt{
		Agent: p.Agent, Session: p.Session, Target: p.Request.Target, Sections: []shownSection{}, Tools: []shownTool{}, Since: sinceLast(p),
	}
	for _, s := range p.Sections {
		v.Sections = append(v.Sections, shownSection{
			Section: s, Tokens: prompt.Tokens(s.Bytes), Text: s.Text, Changed: v.Since != nil && slices.Contains(v.Since.Changed, s.Name),
		})
		v.Bytes += s.Bytes
	}
	for _, t := range p.Request.Tools {
		n := len(t.Name) + len(t.Description) + len(t.Parameters)
		v.Tools = append(v.Tools, shownTool{t.Name, n, prompt.Tokens(n)})
		v.Bytes += n
	}
	v.Tokens = prompt.Tokens(v.Bytes)
	return v
}

// sinceLast compares a request with the session's last one, nil without one.
func sinceLast(p gateway.PromptPreview) *since {
	if p.Last == nil {
		return nil
	}
	d := &since{}
	if was := p.Last.Target.String(); was != p.Request.Target.String() {
		d.Target = was
	}
	before, now := map[string]string{}, map[string]bool{}
	for _, s := range p.Last.Sections {
		before[s.Name] = s.Digest
	}
	for _, s := range p.Sections {
		now[s.Name] = true
		if s.Place != prompt.Message && before[s.Name] != s.Digest { // what follows the person's words is new each turn
			d.Changed = append(d.Changed, s.Name)
		}
	}
	for _, s := range p.Last.Sections {
		if !now[s.Name] {
			d.Gone = append(d.Gone, s.Name)
		}
	}
	d.Tools = !slices.EqualFunc(p.Last.Tools, p.Request.Tools, func(name string, t llm.ToolSpec) bool { return name == t.Name })
	return d
}

// lines tells people what changed.
func (d *since) lines() []string {
	if d == nil {
		return nil
	}
	var out []string
	if d.Target != "" {
		out = append(out, "the last turn went to "+d.Target)
	}
	if len(d.Gone) > 0 {
		out = append(out, "gone since the last turn: "+strings.Join(d.Gone, ", "))
	}
	if d.Tools {
		out = append(out, "other tools are offered than in the last turn")
	}
	if len(d.Changed)+len(out) == 0 {
		out = append(out, "nothing changed since the last turn")
	}
	return out
}

func (v shownPrompt) write(w io.Writer, text bool) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	target := " for " + v.Target.String()
	if v.Target.Provider == "" {
		target = " (no model is set up)"
	}
	fmt.Fprintf(t, "prompt of agent %s%s: %d bytes, about %d tokens\n", v.Agent, target, v.Bytes, v.Tokens)
	for _, line := range v.Since.lines() {
		fmt.Fprintln(t, printable(line))
	}
	fmt.Fprintln(t)
	fmt.Fprintln(t, "PLACE\tSECTION\tBYTES\tTOKENS\tSOURCE")
	for _, s := range v.Sections {
		mark := ""
		if s.Changed {
			mark = "  changed since the last turn"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s%s\n", s.Place, s.Name, s.Bytes, s.Tokens, printable(s.Source), mark)
	}
	fmt.Fprintln(t, "\nTOOL\tBYTES\tTOKENS")
	for _, x := range v.Tools {
		fmt.Fprintf(t, "%s\t%d\t%d\n", x.Name, x.Bytes, x.Tokens)
	}
	if err := t.Flush(); err != nil || !text {
		return err
	}
	for _, s := range v.Sections {
		if _, err := fmt.Fprintf(w, "\n%s %s (%s) %s\n%s\n", strings.Repeat("─", 4), s.Name, s.Place, strings.Repeat("─", 40), printable(s.Text)); err != nil {
			return err
		}
	}
	return nil
}
