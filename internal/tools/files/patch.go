package files

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Limits of a patch.
const (
	maxPatch = 5 << 20 // bytes
	maxHunks = 2_000
	maxFiles = 200
)

// filePatch is what a patch does to one file.
type filePatch struct {
	op    patchOp
	path  string
	to    string      // new name; "" when it keeps its own
	hunks []hunk      // of an update
	text  string      // of an addition
	mode  fs.FileMode // of an addition, when the patch tells
	chmod bool        // the patch also changes the mode, which is not done
	git   bool        // the paths stand behind a/ and b/
}

type patchOp uint8

const (
	update patchOp = iota
	add
	remove
)

// hunk is one change within a file: consecutive lines.
type hunk struct {
	number int      // within the patch, from 1, for messages
	at     []string // headers that must come before it, the outer one first
	line   int      // where the old lines should begin, from 1; 0 when it isn't said
	end    bool     // the old lines end the file
	lines  []hunkLine
}

// hunkLine is a line of a hunk, without its ending.
type hunkLine struct {
	op    byte // ' ', '-' or '+'
	text  string
	noEOL bool // the patch says that no line feed follows
}

// parsePatch reads a patch in the "*** Begin Patch" form or as a unified diff.
// Errors name the line of the patch.
func parsePatch(text string) ([]filePatch, error) {
	if len(text) > maxPatch {
		return nil, fmt.Errorf("the patch has %s, at most %s are taken", size(int64(len(text))), size(maxPatch))
	}
	p := &patchParser{lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}
	for i, line := range p.lines {
		p.lines[i] = strings.TrimSuffix(line, "\r")
	}
	p.unwrap()
	var files []filePatch
	var err error
	if p.begins("*** Begin Patch") {
		files, err = p.begin()
	} else {
		files, err = p.unified()
	}
	switch {
	case err != nil:
		return nil, err
	case len(files) == 0:
		return nil, errors.New(`the patch changes nothing. It begins with "*** Begin Patch" or is a unified diff ("--- a/x", "+++ b/x", "@@")`)
	case len(files) > maxFiles || p.hunks > maxHunks:
		return nil, fmt.Errorf("the patch is too large: at most %d files and %d hunks are taken", maxFiles, maxHunks)
	}
	return files, nil
}

type patchParser struct {
	lines []string
	pos   int
	base  int // lines that were taken off before the first
	hunks int
}

// unwrap takes off what models put around a patch: blank lines, the fence of a
// code block, a command before its begin.
func (p *patchParser) unwrap() {
	if i := slices.Index(p.lines[:min(len(p.lines), 5)], "*** Begin Patch"); i > 0 {
		p.lines, p.base = p.lines[i:], i
		return
	}
	for len(p.lines) > 0 && strings.TrimSpace(p.lines[0]) == "" {
		p.lines, p.base = p.lines[1:], p.base+1
	}
	if len(p.lines) > 1 && strings.HasPrefix(p.lines[0], "```") {
		p.lines, p.base = p.lines[1:], p.base+1
		last := len(p.lines) - 1
		for last > 0 && strings.TrimSpace(p.lines[last]) == "" {
			last--
		}
		if strings.TrimSpace(p.lines[last]) == "```" {
			p.lines = p.lines[:last]
		}
	}
}

func (p *patchParser) more() bool   { return p.pos < len(p.lines) }
func (p *patchParser) line() string { return p.lines[p.pos] }
func (p *patchParser) next() string { p.pos++; return p.lines[p.pos-1] }
func (p *patchParser) begins(s string) bool {
	return p.more() && strings.HasPrefix(p.line(), s)
}

// take gives the rest of the line when it begins with prefix, and goes on.
func (p *patchParser) take(prefix string) (string, bool) {
	if !p.begins(prefix) {
		return "", false
	}
	return strings.TrimSpace(strings.TrimPrefix(p.next(), prefix)), true
}

func (p *patchParser) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d of the patch: %s", p.base+p.pos+1, fmt.Sprintf(format, args...))
}

// begin reads the "*** Begin Patch" form.
func (p *patchParser) begin() ([]filePatch, error) {
	p.next()
	var files []filePatch
	for p.more() {
		var f filePatch
		var err error
		switch path, ok := "", false; {
		case p.begins("*** End Patch"):
			return files, nil
		case strings.TrimSpace(p.line()) == "":
			p.next()
			continue
		default:
			if path, ok = p.take("*** Add File:"); ok {
				f, err = p.addFile(path)
			} else if path, ok = p.take("*** Delete File:"); ok {
				f = filePatch{op: remove, path: path}
			} else if path, ok = p.take("*** Update File:"); ok {
				f, err = p.updateFile(path)
			} else {
				return nil, p.errorf(`%s is not expected here; a file begins with "*** Add File: ", "*** Update File: " or "*** Delete File: "`, shown(p.line()))
			}
		}
		if err != nil {
			return nil, err
		}
		if f.path == "" {
			p.pos--
			return nil, p.errorf("the path is missing")
		}
		files = append(files, f)
	}
	return nil, errors.New(`the patch has no "*** End Patch": it seems to be cut off, so nothing was changed; send it whole`)
}

func (p *patchParser) addFile(path string) (filePatch, error) {
	var b strings.Builder
	for p.more() && !p.begins("*** ") {
		line, ok := strings.CutPrefix(p.line(), "+")
		if !ok {
			return filePatch{}, p.errorf("every line of an added file begins with +")
		}
		p.next()
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return filePatch{op: add, path: path, text: b.String()}, nil
}

func (p *patchParser) updateFile(path string) (filePatch, error) {
	f := filePatch{path: path}
	f.to, _ = p.take("*** Move to:")
	for p.more() && !p.begins("*** ") {
		h, err := p.looseHunk()
		if err != nil {
			return f, err
		}
		f.hunks = append(f.hunks, h)
	}
	if len(f.hunks) == 0 && f.to == "" {
		return f, p.errorf("no change of %s is given", path)
	}
	return f, nil
}

// looseHunk reads a hunk that is placed by its context, not by a line number.
func (p *patchParser) looseHunk() (hunk, error) {
	h := p.newHunk()
	for p.begins("@@") {
		// Some write the numbers of a unified diff here. They help only when
		// the context is found more than once.
		if m := hunkHeader().FindStringSubmatch(p.line()); m != nil {
			h.line, _ = strconv.Atoi(m[1])
			p.next()
			continue
		}
		head := strings.TrimSpace(strings.TrimPrefix(p.next(), "@@"))
		if head = strings.TrimSpace(strings.TrimSuffix(head, "@@")); head != "" {
			h.at = append(h.at, head)
		}
	}
	for p.more() && !p.begins("@@") {
		if p.begins("*** End of File") {
			p.next()
			h.end = true
			break
		}
		if p.begins("*** ") {
			break
		}
		if err := p.hunkLine(&h); err != nil {
			return h, err
		}
	}
	h.trim()
	if len(h.lines) == 0 {
		return h, p.errorf("a hunk is empty")
	}
	return h, nil
}

func (p *patchParser) newHunk() hunk {
	p.hunks++
	return hunk{number: p.hunks}
}

// hunkLine reads one line of a hunk. An empty one is an empty line of context,
// whose blank was lost on the way.
func (p *patchParser) hunkLine(h *hunk) error {
	line := p.line()
	switch {
	case line == "":
		h.lines = append(h.lines, hunkLine{op: ' '})
	case line[0] == ' ' || line[0] == '-' || line[0] == '+':
		h.lines = append(h.lines, hunkLine{op: line[0], text: line[1:]})
	case line[0] == '\\':
		if len(h.lines) > 0 {
			h.lines[len(h.lines)-1].noEOL = true
		}
	default:
		return p.errorf("%s: a line of a hunk begins with a blank, - or +", shown(line))
	}
	p.next()
	return nil
}

// trim takes off empty lines of context at the end, which are mostly the blank
// lines between two parts of the patch.
func (h *hunk) trim() {
	n := len(h.lines)
	for n > 0 && h.lines[n-1] == (hunkLine{op: ' '}) {
		n--
	}
	if n > 0 {
		h.lines = h.lines[:n]
	}
}

var hunkHeader = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^@@+ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@`)
})

// unified reads a unified diff, as git, diff and svn write it. Lines that belong
// to no file are passed over.
func (p *patchParser) unified() ([]filePatch, error) {
	var files []filePatch
	for p.more() {
		var f filePatch
		var err error
		switch {
		case p.begins("diff --git "):
			f, err = p.gitFile()
		case p.begins("--- ") && p.pos+1 < len(p.lines) && strings.HasPrefix(p.lines[p.pos+1], "+++ "):
			err = p.names(&f)
			if err == nil {
				err = p.unifiedHunks(&f)
			}
		case p.begins("@@ "):
			return nil, p.errorf(`a hunk without a file: "--- a/path" and "+++ b/path" must come before it`)
		case p.begins("*** ") && len(files) == 0:
			return nil, p.errorf(`the patch must begin with "*** Begin Patch"`)
		default:
			p.next()
			continue
		}
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// gitFile reads the part of a file that begins with "diff --git".
func (p *patchParser) gitFile() (filePatch, error) {
	f := filePatch{git: true}
	names := strings.TrimPrefix(p.next(), "diff --git ")
	for p.more() && !p.begins("diff --git ") {
		switch line := p.line(); {
		case strings.HasPrefix(line, "new file mode "):
			f.op = add
			switch mode := strings.TrimPrefix(line, "new file mode "); mode {
			case "100644":
			case "100755":
				f.mode = 0o755
			default:
				return f, p.errorf("only ordinary files can be added, not links or submodules (mode %s)", mode)
			}
		case strings.HasPrefix(line, "new mode "):
			f.chmod = true
		case strings.HasPrefix(line, "deleted file mode"):
			f.op = remove
		case strings.HasPrefix(line, "rename from "):
			f.path = unquote(line[len("rename from "):])
		case strings.HasPrefix(line, "rename to "):
			f.to = unquote(line[len("rename to "):])
		case strings.HasPrefix(line, "copy from "), strings.HasPrefix(line, "copy to "):
			return f, p.errorf("copies are not supported: add the file instead")
		case strings.HasPrefix(line, "GIT binary patch"), strings.HasPrefix(line, "Binary files "):
			return f, p.errorf("binary patches are not supported")
		case strings.HasPrefix(line, "--- "):
			if err := p.names(&f); err != nil {
				return f, err
			}
			err := p.unifiedHunks(&f)
			return f, err
		}
		p.next()
	}
	// An empty file that is added or deleted, a rename, or a new mode.
	if f.path == "" {
		f.path = sameName(names)
	}
	if f.path == "" || f.op == update && f.to == "" {
		p.pos--
		return f, p.errorf("no change of the file's text is given")
	}
	return f, nil
}

// sameName finds the name in "a/NAME b/NAME".
func sameName(names string) string {
	if strings.HasPrefix(names, `"`) {
		if end := strings.Index(names, `" `); end > 0 {
			return strings.TrimPrefix(unquote(names[:end+1]), "a/")
		}
		return ""
	}
	half := len(names) / 2
	if len(names)%2 == 1 && names[half] == ' ' && strings.HasPrefix(names, "a/") && strings.HasPrefix(names[half+1:], "b/") &&
		names[2:half] == names[half+3:] {
		return names[2:half]
	}
	return ""
}

// names reads "--- old" and "+++ new".
func (p *patchParser) names(f *filePatch) error {
	older := fileName(strings.TrimPrefix(p.next(), "--- "))
	newer, ok := p.take("+++ ")
	if !ok {
		return p.errorf(`"+++ " and the file's new name must follow "--- "`)
	}
	newer = fileName(newer)
	stripOld, okOld := strings.CutPrefix(older, "a/")
	stripNew, okNew := strings.CutPrefix(newer, "b/")
	if (okOld || older == devNull) && (okNew || newer == devNull) {
		f.git = true
		older, newer = stripOld, stripNew
	}
	switch {
	case older == devNull && newer == devNull:
		return p.errorf("both names are %s", devNull)
	case older == devNull:
		f.op, f.path = add, newer
	case newer == devNull:
		f.op, f.path = remove, older
	default:
		if f.path == "" {
			f.path = older
		}
		if f.to == "" && newer != f.path {
			f.to = newer
		}
	}
	if f.path == "" {
		return p.errorf("the path is missing")
	}
	return nil
}

const devNull = "/dev/null"

// fileName takes off what diff writes after a name: a tab and a date.
func fileName(s string) string {
	s, _, _ = strings.Cut(s, "\t")
	return unquote(strings.TrimSpace(s))
}

// unquote reads a name in the form that git gives to unusual ones.
func unquote(s string) string {
	if strings.HasPrefix(s, `"`) {
		if plain, err := strconv.Unquote(s); err == nil {
			return plain
		}
	}
	return s
}

// unifiedHunks reads the hunks of a file. The numbers of lines in a header are
// taken as a hint only, because models count badly.
func (p *patchParser) unifiedHunks(f *filePatch) error {
	for p.begins("@@") {
		h, err := p.unifiedHunk()
		if err != nil {
			return err
		}
		f.hunks = append(f.hunks, h)
	}
	if f.op != add {
		if len(f.hunks) == 0 && f.op == update && f.to == "" {
			return p.errorf("no change of %s is given", f.path)
		}
		return nil
	}
	var b strings.Builder
	for _, h := range f.hunks {
		for _, l := range h.lines {
			if l.op != '+' {
				return fmt.Errorf("the patch adds %s, but has lines of an older one", f.path)
			}
			b.WriteString(l.text)
			if !l.noEOL {
				b.WriteByte('\n')
			}
		}
	}
	f.text, f.hunks = b.String(), nil
	return nil
}

func (p *patchParser) unifiedHunk() (hunk, error) {
	h := p.newHunk()
	counted, older, newer := false, 0, 0 // lines to come, by the header
	if m := hunkHeader().FindStringSubmatch(p.line()); m != nil {
		h.line, _ = strconv.Atoi(m[1])
		counted, older, newer = true, lineCount(m[2]), lineCount(m[3])
		if older == 0 {
			h.line++ // "-3,0" means after line 3
		}
	}
	p.next()
	for p.more() && !p.hunkEnds(counted, older > 0 || newer > 0) {
		line := p.line()
		if err := p.hunkLine(&h); err != nil {
			return h, err
		}
		if line == "" || line[0] == ' ' || line[0] == '-' {
			older--
		}
		if line == "" || line[0] == ' ' || line[0] == '+' {
			newer--
		}
	}
	if !counted || older > 0 || newer > 0 {
		h.trim()
	}
	if len(h.lines) == 0 {
		return h, p.errorf("a hunk is empty")
	}
	return h, nil
}

// hunkEnds reports whether the next line is not the hunk's any more. While
// lines are due by its header, only what can't be one of them ends a hunk; when
// none is due, lines that look like more of it are still taken.
func (p *patchParser) hunkEnds(counted, due bool) bool {
	line := p.line()
	if strings.HasPrefix(line, "diff --git ") || strings.HasPrefix(line, "@@ ") || strings.HasPrefix(line, "*** End Patch") {
		return true
	}
	if p.begins("--- ") && p.pos+1 < len(p.lines) && strings.HasPrefix(p.lines[p.pos+1], "+++ ") {
		// A deleted line can look like this too; a hunk that follows decides.
		return !due || p.pos+2 < len(p.lines) && strings.HasPrefix(p.lines[p.pos+2], "@@")
	}
	if !counted || due {
		return false
	}
	// "-- " begins what mail programs and git put under a patch.
	return line == "" || line == "-- " || line == "--" || !strings.ContainsRune(" +-\\", rune(line[0]))
}

func lineCount(s string) int {
	if s == "" {
		return 1
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 1 // more lines than a number holds; the hunk ends where the patch does
	}
	return n
}

// shown quotes a line in a message.
func shown(line string) string { return strconv.Quote(cutLine(line, 0, 60)) }
