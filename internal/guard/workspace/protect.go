package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/tool"
)

// Bootstrap lists the files at the top of a workspace that say who the agent
// is and how it works. Only the privileged write them.
var Bootstrap = []string{"Memory.md", "SOUL.md", "TOOLS.md", "AGENTS.md", "IDENTITY.md", "USER.md"}

// definitions are the folders whose files with these endings define subagents
// and instructions; protected like the bootstrap files.
var definitions = []struct{ folder, ending string }{
	{"agents", ".agent.md"},
	{"instructions", ".instructions.md"},
}

const (
	secretsName = "secrets"
	askAdmin    = "An admin may change it; put rules of your own elsewhere."
)

// An act is what a writer does to a name.
type act uint8

const (
	writing  act = iota // the content of a file changes, or a new file appears
	removing            // an entry goes away, deleted or moved
	arriving            // a file or folder is moved to the name
)

// protection decides what one caller may do to places of a workspace. It is
// made for one change and looks at the disk then, so that links and other
// names of protected files count as they are now.
type protection struct {
	privileged bool

	// aliases maps where links of protected names lead, folded, to the
	// protected name: {"real/soul.txt": "soul.md", "crew": "agents"}.
	aliases map[string]string
	files   []fs.FileInfo          // protected files that exist
	folders map[string]fs.FileInfo // folders of definitions that exist, by name
}

func (w *Workspace) protection(s tool.Scope) (*protection, error) {
	pr := &protection{privileged: Privileged(s), aliases: map[string]string{}, folders: map[string]fs.FileInfo{}}
	if _, err := pr.add(w, w.top(), secretsName, secretsName); err != nil {
		return nil, err
	}
	if pr.privileged {
		return pr, nil
	}
	for _, name := range Bootstrap {
		info, err := pr.add(w, w.top(), name, fold(name))
		if err != nil {
			return nil, err
		}
		if info != nil {
			pr.files = append(pr.files, info)
		}
	}
	for _, d := range definitions {
		if err := pr.addDefinitions(w, d.folder, d.ending); err != nil {
			return nil, err
		}
	}
	return pr, nil
}

// add notes where the protected name leads, if it is a link; f is the folder
// that its last element stands in. It returns what is there, if anything.
func (pr *protection) add(w *Workspace, f folder, name, canonical string) (fs.FileInfo, error) {
	info, err := f.root.Lstat(path.Base(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return info, err
	}
	p, err := w.locate(name, true)
	var refusal *tool.Refusal
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &refusal) {
		return nil, nil // it leads nowhere in this workspace, so no other name means it
	}
	if err != nil {
		return nil, err
	}
	defer p.close()
	if at := foldPath(p.path()); at != canonical {
		pr.aliases[at] = canonical
	}
	return p.info, nil
}

func (pr *protection) addDefinitions(w *Workspace, name, ending string) error {
	info, err := pr.add(w, w.top(), name, name)
	if err != nil || info == nil || !info.IsDir() {
		return err
	}
	pr.folders[name] = info
	p, err := w.locate(name, true)
	if err != nil {
		return err
	}
	defer p.close()
	if !os.SameFile(p.info, info) {
		return errMoved
	}
	if err := p.into(); err != nil {
		return err
	}
	names, err := p.in().names(-1)
	if err != nil {
		return err
	}
	for _, n := range names {
		if !strings.HasSuffix(fold(n), ending) {
			continue
		}
		info, err := pr.add(w, p.in(), name+"/"+n, name+"/"+fold(n))
		if err != nil {
			return err
		}
		if info != nil {
			pr.files = append(pr.files, info)
		}
	}
	return nil
}

// check refuses an act at a place. tree says that a folder is concerned with
// all that it holds.
func (pr *protection) check(p *place, a act, tree bool) error {
	for _, form := range pr.forms(p) {
		if err := pr.checkName(p, form, a, tree); err != nil {
			return err
		}
	}
	if a == removing && tree {
		// What a protected name's link leads to must not vanish with a folder
		// above it.
		at := foldPath(p.path()) + "/"
		for alias, name := range pr.aliases {
			if strings.HasPrefix(alias+"/", at) {
				return pr.refuse(p, name)
			}
		}
	}
	if p.info != nil && slices.ContainsFunc(pr.files, func(f fs.FileInfo) bool { return os.SameFile(f, p.info) }) {
		return pr.refuse(p, "a protected file")
	}
	for _, f := range p.folders[1:] {
		if f.isRepository() {
			return refuse("git", "Use the git tool.", "%s lies within a git repository's own files.", quote(p.asked))
		}
	}
	if a == writing && p.info != nil && p.info.Mode().IsRegular() && links(p.info) > 1 {
		return refuse("hard_link", "Reading it is possible; or write a new file under another name.",
			"%s has %d names (hard links), so writing it could change a file elsewhere.", quote(p.asked), links(p.info))
	}
	return nil
}

// forms lists, folded, the names by which the place may be known: as asked for,
// as it really is, and through the links of protected names.
func (pr *protection) forms(p *place) []string {
	at := foldPath(p.path())
	forms := []string{at}
	if asked := foldPath(p.asked); asked != at {
		forms = append(forms, asked)
	}
	for alias, name := range pr.aliases {
		if rest, ok := strings.CutPrefix(at+"/", alias+"/"); ok {
			forms = append(forms, path.Join(name, rest))
		}
	}
	for name, info := range pr.folders {
		if len(p.missing) == 0 && os.SameFile(p.in().info, info) {
			forms = append(forms, path.Join(name, fold(p.name)))
		}
	}
	return forms
}

// checkName decides by one folded form of the name alone.
func (pr *protection) checkName(p *place, form string, a act, tree bool) error {
	segs := strings.Split(form, "/")
	for _, seg := range segs {
		// The second is the short name that Windows gives the first.
		if seg == ".git" || seg == "git~1" {
			return refuse("git", "Use the git tool.", "%s lies within .git, which only git itself writes.", quote(p.asked))
		}
	}
	if segs[0] == secretsName {
		return refuse("secrets", "Secrets are set by an admin and used by reference.", "%s belongs to the secrets, which no tool writes.", quote(p.asked))
	}
	if pr.privileged {
		return nil
	}
	// A folder of that name would stand in the file's way, so what lies in one
	// is refused too.
	if slices.ContainsFunc(Bootstrap, func(b string) bool { return fold(b) == segs[0] }) {
		return pr.refuse(p, form)
	}
	for _, d := range definitions {
		if segs[0] != d.folder {
			continue
		}
		if len(segs) == 1 && (tree || p.info != nil && p.info.IsDir()) && a != writing {
			return pr.refuse(p, form)
		}
		if len(segs) > 1 && strings.HasSuffix(segs[1], d.ending) {
			return pr.refuse(p, form)
		}
	}
	return nil
}

func (pr *protection) refuse(p *place, name string) error {
	as := ""
	if foldPath(p.asked) != name {
		as = " (it stands for " + name + ")"
	}
	return refuse("protected", askAdmin, "%s is protected%s: this run may read it, not change it.", quote(p.asked), as)
}

// isRepository recognises a git directory by what git itself looks for,
// whatever it is called: a bare repository, or one that a .git file or link
// names.
func (f folder) isRepository() bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		info, err := f.root.Lstat(name)
		if err != nil || info.IsDir() != (name != "HEAD") {
			return false
		}
	}
	return true
}

// checkNew refuses names that a new file or folder should not get. They are
// legal, but no one means them.
func (p *place) checkNew() error {
	made := append(slices.Clone(p.missing), p.name)
	for _, seg := range made {
		if strings.ContainsFunc(seg, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return refuse("control", "Choose a name of visible characters.", "%s contains control characters.", quote(p.asked))
		}
		if isTemp(seg) {
			return refuse("reserved", "Choose another name.", "Names that begin with %s are kept for unfinished writes.", tempPrefix)
		}
	}
	if len(p.folders) > 1 {
		return nil
	}
	if made[0] == "~" {
		return refuse("literal", insideOnly, "~ is not expanded; it would become the name of a folder.")
	}
	if len(made) > 1 && strings.HasSuffix(made[0], ":") {
		return refuse("literal", insideOnly, "%s looks like a URL or a drive; only paths in the workspace can be written.", quote(p.asked))
	}
	return nil
}
