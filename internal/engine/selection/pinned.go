package selection

import (
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Names of tools that selection knows by heart.
const (
	SearchTools   = "search_tools"
	EnterPlanMode = "enter_plan_mode"
	ExitPlanMode  = "exit_plan_mode"
)

// always are pinned wherever they are permitted, in this order: what keeps them
// off the surface is that they have nothing to work with.
var always = []string{"subagents", SearchTools, "skill_read", ExitPlanMode, "goclaw_docs"}

// everyday are the tools that most agents use, the most used first.
var everyday = []string{"file_read", "file_write", "file_edit", "file_list", "file_search", "shell"}

// pin begins the selection with what is offered whatever the scorer says, in a
// fixed order.
func (p *picking) pin() {
	for _, group := range []struct {
		why tool.Why
		is  func(*tool.Entry) bool
	}{
		{tool.ForCore, func(e *tool.Entry) bool { return e.Def.Core }},
		{tool.ForInternal, func(e *tool.Entry) bool { return e.Def.Internal }},
	} {
		for _, e := range p.Permitted {
			if group.is(e) && Hidden(e) == "" && !slices.Contains(always, e.Def.Name) {
				p.add(e, group.why)
			}
		}
	}
	for _, s := range p.core {
		for _, e := range p.Permitted {
			if s.Selects(&e.Def, e.Owner) && Hidden(e) == "" && p.offers(e) {
				p.add(e, tool.ForConfigured)
			}
		}
	}
	p.named(tool.ForContents, len(p.Permitted), contents(p.Ask.Message)...)
	p.named(tool.ForPinned, len(always), always...)
	for _, e := range p.Permitted {
		if e.Owner.Kind == tool.ClientOwner && Hidden(e) == "" {
			p.add(e, tool.ForClient)
		}
	}
}

// offers reports whether e has any use now: there is no plan mode to leave
// before it was entered.
func (p *picking) offers(e *tool.Entry) bool { return e.Def.Name != ExitPlanMode || p.State.Plan }

// contents lists the tools that what a message holds calls for.
func contents(m llm.Message) []string {
	var names []string
	for _, part := range m.Parts {
		if (part.Kind == llm.KindFile || part.Kind == llm.KindMedia) && part.Media != nil {
			names = append(names, readers(part.Media.MIME)...)
		}
	}
	text := strings.ToLower(m.Text())
	if strings.Contains(text, "http://") || strings.Contains(text, "https://") || strings.Contains(text, "www.") {
		names = append(names, "web_fetch")
	}
	if editsProcedure(text) {
		names = append(names, "sop_list", "sop_edit", "sop_run", "sop_status")
	}
	return names
}

// tables are the types of files that hold tables.
var tables = []string{
	"text/csv", "text/tab-separated-values", "application/vnd.ms-excel", "application/vnd.oasis.opendocument.spreadsheet",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

// readers are the tools that read an attached file of a type.
func readers(mime string) []string {
	kind, _, _ := strings.Cut(strings.ToLower(mime), ";")
	switch kind = strings.TrimSpace(kind); {
	case slices.Contains(tables, kind):
		return []string{"file_read", "spreadsheet"}
	case strings.HasPrefix(kind, "audio/"), strings.HasPrefix(kind, "video/"):
		return nil // nothing that ships hears or watches
	}
	return []string{"file_read"}
}

var (
	procedures = []string{"sop", "sops", "procedure", "procedures", "runbook", "runbooks"}
	edits      = []string{
		"edit", "edits", "change", "changes", "update", "modify", "rewrite", "revise", "amend", "adjust", "fix", "correct",
		"add", "remove", "delete", "insert", "rename", "create", "write", "make", "extend", "draft",
	}
)

// editsProcedure reports whether a message asks to edit a SOP. text is in lower
// case.
func editsProcedure(text string) bool {
	if !slices.ContainsFunc(procedures, func(p string) bool { return strings.Contains(text, p) }) {
		return false // which costs nothing
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return r < 'a' || r > 'z' })
	holds := func(list []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
	}
	return holds(procedures) && holds(edits)
}
