package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/prompt"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/gateway/api"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

// Explain implements [api.Backend]: how far a tool gets, and, when a request
// would show it, what would become of a call and what the model is told.
func (g *Gateway) Explain(ctx context.Context, req run.Request, name string) (api.Explanation, error) {
	look, err := g.Look(ctx, req)
	if err != nil {
		return api.Explanation{}, err
	}
	return g.explained(ctx, look, req, name)
}

// explained is Explain of what was looked at.
func (g *Gateway) explained(ctx context.Context, look Look, req run.Request, name string) (api.Explanation, error) {
	ask := look.Ask
	x, err := look.Agent.Engine.Explain(ctx, look.Scope, look.Target, look.State, ask, name)
	x.Doubts = append(g.doubts(look, req), slips(look, x.Tool)...)
	x.Await(g.awaited())
	if err != nil || !x.Exposed() {
		return x, err
	}
	decided, err := g.admission(ctx, look, x.Tool)
	if err != nil {
		return x, fmt.Errorf("explain %s: %w", x.Tool, err)
	}
	x.Add(decided...)
	remarks, err := g.guidance(ctx, look, ask, x.Tool)
	if err != nil {
		return x, fmt.Errorf("explain %s: %w", x.Tool, err)
	}
	x.Add(remarks...)
	return x, nil
}

// awaited are the keys of the configuration that bring tools in a version that
// acts on them.
func (g *Gateway) awaited() []source.Pos {
	return slices.DeleteFunc(g.Config.NotActedOn(ActedOn), func(p source.Pos) bool {
		root, _, _ := strings.Cut(p.Key, ".")
		return root != "plugins" && root != "mcp" && root != "nodes"
	})
}

// guides is what explains why a model works as it does, or does not.
type guides struct {
	tool    string
	now     map[string]agent.Section // sections of the next request, by source
	last    map[string]string        // digests of those of the session's last request; nil without one
	files   fs.FS
	remarks []engine.Remark
}

// guidance tells which instructions the next request holds, whether they name
// the tool, and which are in the workspace that nothing reads.
func (g *Gateway) guidance(ctx context.Context, look Look, ask tool.Ask, name string) ([]engine.Remark, error) {
	sf, err := look.Agent.Engine.Offer(ctx, look.Scope, look.Target, look.State, ask)
	if err != nil {
		return nil, err
	}
	sections, err := look.Agent.Prompts.Sections(ctx, look.Scope, sf)
	if err != nil {
		return nil, err
	}
	last, err := g.lastRequest(ctx, look.Key)
	if err != nil {
		return nil, err
	}
	ws, err := g.workspaces.Open(look.Scope.Workspace())
	if err != nil {
		return nil, err
	}
	w := guides{tool: name, now: map[string]agent.Section{}, files: ws.FS()}
	for _, s := range sections {
		w.now[s.Source] = s
	}
	if last != nil {
		w.last = map[string]string{}
		for _, s := range last.Request.Sections {
			w.last[s.Source] = s.Digest
		}
	}
	for _, file := range prompt.Instructions {
		w.file(file)
	}
	w.strangers()
	w.unread()
	w.skills()
	return w.remarks, nil
}

func (w *guides) add(fix, format string, args ...any) {
	w.remarks = append(w.remarks, engine.Remark{Topic: engine.Guidance, Detail: fmt.Sprintf(format, args...), Fix: fix})
}

// workflow is the file in which people say how work is to be done.
const workflow = "AGENTS.md"

// file tells of one file that belongs into the prompt.
func (w *guides) file(name string) {
	s, ok := w.now[name]
	if !ok {
		if name == workflow {
			w.add("write how work is to be done into "+name+" of the workspace", "%s is not in the prompt: %s", name, w.absent(name))
		}
		return
	}
	line := fmt.Sprintf("%s is in the prompt, %d bytes", name, s.Bytes)
	fix := ""
	switch was, known := w.last[name]; {
	case w.last == nil:
	case !known:
		line += ", and was not in the session's last request"
		fix = "the next turn has it: say it again"
	case was != s.Digest:
		line += ", changed since the session's last request"
		fix = "the next turn has the changed " + name + ": say it again"
	default:
		line += ", as in the session's last request"
	}
	if cut := w.cut(name, s); cut != "" {
		line += "; " + cut
		fix = "shorten " + name + ", or put what matters most first"
	}
	if at := lineOf(s.Text, w.tool); at > 0 {
		line += fmt.Sprintf("; names %s in line %d", w.tool, at)
	} else if name == workflow {
		line += "; doesn't name " + w.tool
	}
	w.add(fix, "%s", line)
}

// absent says why a file is not in the prompt.
func (w *guides) absent(name string) string {
	info, err := fs.Stat(w.files, name)
	switch {
	case err != nil:
		return "the workspace has none that can be read"
	case !info.Mode().IsRegular():
		return "it is no regular file"
	case info.Size() == 0:
		return "it is empty"
	}
	return "it holds no words, or there is no room for it"
}

// cut says that the prompt holds less than the file.
func (w *guides) cut(name string, s agent.Section) string {
	info, err := fs.Stat(w.files, name)
	if err != nil || info.Size() <= prompt.MaxFile {
		return ""
	}
	return fmt.Sprintf("cut: the file has %d bytes, and the first %d are in the prompt", info.Size(), prompt.MaxFile)
}

// lineOf is the line, from 1, of text that holds word; 0 when none does.
func lineOf(text, word string) int {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if strings.Contains(line, word) {
			return n
		}
	}
	return 0
}

// foreign are the files in which other programs look for instructions.
var foreign = []string{"CLAUDE.md", "GEMINI.md", ".cursorrules", ".github/copilot-instructions.md"}

// strangers tells of instructions for other programs.
func (w *guides) strangers() {
	for _, name := range foreign {
		if w.holds(name) {
			w.add("move what is to hold here into "+workflow, "%s is in the workspace and not in the prompt: it is for another program", name)
		}
	}
}

// holds reports whether a file of the workspace has words.
func (w *guides) holds(name string) bool {
	data, err := fs.ReadFile(w.files, name)
	return err == nil && len(bytes.TrimSpace(data)) > 0
}

// maxUnread is how many files are named that nothing reads.
const maxUnread = 5

// unread tells of files for agents that this version doesn't read, and of those
// whose names differ from what is read in the case of letters only.
func (w *guides) unread() {
	var names []string
	for _, pattern := range []string{"*.md", "instructions/*.md", "agents/*.agent.md"} {
		found, err := fs.Glob(w.files, pattern)
		if err != nil {
			continue // a folder that can't be read
		}
		for _, name := range found {
			if strings.Contains(name, "/") || w.misspelt(name) != "" {
				names = append(names, name)
			}
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !w.holds(name) })
	for i, name := range names {
		switch meant := w.misspelt(name); {
		case i == maxUnread:
			w.add("", "and %d more such files, which are not in the prompt", len(names)-i)
			return
		case meant != "":
			w.add("call it "+meant, "%s is in the workspace and not in the prompt: the file that is read is %s", name, meant)
		default:
			w.add("until it is read, move what is to hold into "+workflow, "%s is in the workspace and not in the prompt: this version doesn't read it", name)
		}
	}
}

// misspelt is the file that goes into the prompt and is called like name but for
// the case of letters.
func (w *guides) misspelt(name string) string {
	for _, file := range prompt.Instructions {
		if name != file && strings.EqualFold(name, file) {
			return file
		}
	}
	return ""
}

// maxSkills is how many skills are named that nothing reads.
const maxSkills = 5

// skills tells of skills, of which this version reads none.
func (w *guides) skills() {
	found, err := fs.Glob(w.files, "skills/*/SKILL.md")
	if err != nil || len(found) == 0 {
		w.add("", "no skill is in the prompt: this version reads none, and the workspace has none")
		return
	}
	for i, name := range found {
		if i == maxSkills {
			w.add("", "and %d more skills, which are not in the prompt", len(found)-i)
			break
		}
		w.add("until skills are read, move its steps into "+workflow, "the skill %s (%s) is not in the prompt: this version reads no skills", path.Base(path.Dir(name)), name)
	}
}
