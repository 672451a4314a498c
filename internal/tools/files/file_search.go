package files

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

//go:embed file_search.md
var fileSearchDoc string

// Limits of one search.
const (
	maxMatches  = 100 // lines that match
	maxPerFile  = 30  // of these, in one file of several
	maxNamed    = 30  // paths that match by name
	maxContext  = 20  // lines before and after a match
	maxMatchRow = 300 // characters of a line
	maxRead     = 1 << 30
	searchTime  = 15 * time.Second
)

type searchIn struct {
	Query   string `json:"query"`
	Path    string `json:"path,omitempty" jsonschema:"folder or file; default: the workspace"`
	Glob    string `json:"glob,omitempty" jsonschema:"*.md or src/**/*.go"`
	Regex   bool   `json:"regex,omitempty" jsonschema:"RE2, per line"`
	Context int    `json:"context,omitempty" jsonschema:"lines around each match"`
}

type searchDetails struct {
	Matches int      `json:"matches"`
	Files   []string `json:"files,omitempty"` // that hold matches
	Names   []string `json:"names,omitempty"` // that match themselves
	Read    int      `json:"read"`            // files that were searched
	Cut     string   `json:"cut,omitempty"`   // why it is not all
}

func (k kit) fileSearch() tool.Tool {
	traits := reader("search", "grep", "find", "where", "text")
	traits.Cacheable = true
	t := tool.New(tool.Definition{Name: "file_search", Description: fileSearchDoc, Traits: traits}, k.search)
	t = tool.WithTouches(t, func(call tool.Call, in searchIn) []tool.Touch { return k.touches(call, false, orRoot(in.Path)) })
	return tool.WithStamp(t, k.stampSearch)
}

func (k kit) search(ctx context.Context, call tool.Call, in searchIn) (tool.Result, error) {
	limited, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	s := searcher{ctx: limited, context: in.Context}
	var err error
	if s.matcher, err = newMatcher(in); err != nil {
		return tool.Result{}, err
	}
	if s.glob, err = newGlob(in.Glob); err != nil {
		return tool.Result{}, err
	}
	ws, err := k.open(call)
	if err != nil {
		return tool.Result{}, err
	}
	if s.base, err = ws.Resolve(orRoot(in.Path)); err != nil {
		return tool.Result{}, helpful(err)
	}
	cut, err := ws.Walk(limited, orRoot(in.Path), s.visit)
	var single *workspace.NotFolder
	switch {
	case errors.As(err, &single):
		s.single = true
		err := s.searchPath(ws, in.Path)
		if err := s.ended(ctx, err); err != nil {
			return tool.Result{}, helpful(err)
		}
	case s.ended(ctx, err) != nil:
		return tool.Result{}, helpful(err)
	case cut && s.cut == "":
		s.cut = "some folders are too large, too deep or may not be read"
	}
	return s.result(in.Query), nil
}

// ended takes note when a search ended for the time it took, and returns what
// else ended it early. ctx is the call's.
func (s *searcher) ended(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, fs.SkipAll):
		return nil
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		s.cut, s.late = fmt.Sprintf("it took longer than %s", searchTime), true
		return nil
	}
	return err
}

// matcher finds the query in a line or a name.
type matcher struct {
	re *regexp.Regexp // nil for plain text
	// lower is the query in lower case when only ASCII letters have to be
	// folded, plain the query when none has to be.
	lower, plain []byte
	scratch      []byte
}

// newMatcher reads the query. Plain text without capital letters ignores case.
func newMatcher(in searchIn) (*matcher, error) {
	const most = 1_000
	switch {
	case in.Query == "":
		return nil, errors.New("query is empty; list a folder to see what files there are")
	case len(in.Query) > most:
		return nil, fmt.Errorf("query has more than %d characters", most)
	case in.Context < 0 || in.Context > maxContext:
		return nil, fmt.Errorf("context must be from 0 to %d", maxContext)
	case strings.Contains(in.Query, "\n"):
		return nil, errors.New("query has more than one line; lines are searched one by one, so give one line")
	}
	if in.Regex {
		re, err := regexp.Compile(in.Query)
		if err != nil {
			return nil, fmt.Errorf("query is no regular expression (RE2 syntax): %w; leave regex out to search for the plain text", err)
		}
		return &matcher{re: re}, nil
	}
	switch {
	case strings.ToLower(in.Query) != in.Query:
		return &matcher{plain: []byte(in.Query)}, nil
	case isASCII(in.Query):
		return &matcher{lower: []byte(in.Query)}, nil
	}
	re, err := regexp.Compile("(?i)" + regexp.QuoteMeta(in.Query))
	return &matcher{re: re}, err
}

func isASCII(s string) bool { return !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f }) }

// find tells where the query begins in text, or −1.
func (m *matcher) find(text []byte) int {
	switch {
	case m.plain != nil:
		return bytes.Index(text, m.plain)
	case m.lower != nil:
		m.scratch = append(m.scratch[:0], text...)
		for i, c := range m.scratch {
			if 'A' <= c && c <= 'Z' {
				m.scratch[i] = c + 'a' - 'A'
			}
		}
		return bytes.Index(m.scratch, m.lower)
	}
	if loc := m.re.FindIndex(text); loc != nil {
		return loc[0]
	}
	return -1
}

// may reports whether a whole text can hold a match, where that is cheap to
// tell.
func (m *matcher) may(text []byte) bool { return m.re != nil || m.find(text) >= 0 }

// searcher collects what a search finds.
type searcher struct {
	*matcher
	ctx     context.Context
	glob    glob
	base    string
	context int
	single  bool // one file only

	out     strings.Builder
	details searchDetails
	buf     []byte // of the file that is searched
	bytes   int64
	large   int // files too large to be searched as they are
	cut     string
	late    bool // time cut it
	visited int
}

func (s *searcher) visit(e *workspace.Entry) (bool, error) {
	if s.visited++; s.visited > maxVisited {
		s.cut = fmt.Sprintf("only the first %d entries were looked at", maxVisited)
		return false, fs.SkipAll
	}
	if e.IsDir() && e.Name() == ".git" {
		return false, nil
	}
	if s.glob.match(s.base, e.Path) {
		s.name(e)
		if e.Type.IsRegular() {
			f, err := e.Open()
			if err != nil {
				return false, nil // it went away, or may not be read
			}
			err = s.file(f)
			if err = errors.Join(err, f.Close()); err != nil {
				return false, err
			}
		}
	}
	if s.details.Matches >= maxMatches {
		s.cut = fmt.Sprintf("it stopped after %d matches", s.details.Matches)
		return false, fs.SkipAll
	}
	return true, nil
}

func (s *searcher) name(e *workspace.Entry) {
	if len(s.details.Names) < maxNamed && s.find([]byte(e.Name())) >= 0 {
		name := e.Path
		if e.IsDir() {
			name += "/"
		}
		s.details.Names = append(s.details.Names, name)
	}
}

func (s *searcher) searchPath(ws *workspace.Workspace, path string) error {
	f, err := ws.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(s.file(f), f.Close())
}

// file searches what a file holds, if that is text.
func (s *searcher) file(f *workspace.File) error {
	if s.bytes += f.Info.Size(); s.bytes > maxRead {
		s.cut = "it stopped after reading " + size(maxRead)
		return fs.SkipAll
	}
	data, err := f.Append(s.buf[:0])
	s.buf = data
	var large *workspace.TooLarge
	if errors.As(err, &large) {
		return s.stream(f)
	}
	if err != nil {
		return err
	}
	if sniff(data) != utf8Text {
		text, _, ok := decode(data)
		if !ok {
			return nil
		}
		data = []byte(text)
	}
	s.details.Read++
	if !s.may(data) {
		return nil
	}
	rows := splitRows(data)
	h := s.hits(f.Path)
	s.rows(&h, rows, 0, 0, len(rows))
	s.note(&h)
	return nil
}

// splitRows cuts a text into its lines, without the line feeds.
func splitRows(data []byte) [][]byte {
	if len(data) == 0 {
		return nil
	}
	return bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
}

// block is how much of a large file is read at a time, at least.
const block = 1 << 20

// stream searches a file that is too large to be held, block by block. Each
// block begins and ends with the lines that may have to be shown around the
// matches of its neighbours.
func (s *searcher) stream(f *workspace.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	h := s.hits(f.Path)
	defer func() { s.note(&h) }()
	buf := s.buf[:0]
	first, from := 0, 0 // the number of the first line in buf; those before from were searched
	for end := false; !end; {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		n := len(buf)
		buf = slices.Grow(buf, block)
		read, err := io.ReadFull(f, buf[n:n+block])
		buf = buf[:n+read]
		s.buf = buf
		if end = err != nil; end && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if first == 0 && n == 0 {
			if enc := sniff(buf); enc != utf8Text {
				if enc != binaryish {
					s.large++
				}
				return nil
			}
			s.details.Read++
		}
		whole := bytes.LastIndexByte(buf, '\n') + 1
		if end {
			whole = len(buf)
		} else if whole == 0 && len(buf) > workspace.MaxWhole {
			s.large++
			return nil
		}
		rows := splitRows(buf[:whole])
		to := len(rows)
		if !end {
			to = max(to-s.context, from)
		}
		if s.may(buf[:whole]) {
			s.rows(&h, rows, first, from, to)
		}
		keep := max(to-s.context, 0)
		skip := 0
		for _, row := range rows[:keep] {
			skip += len(row) + 1
		}
		buf = append(buf[:0], buf[min(skip, len(buf)):]...)
		first, from = first+keep, to-keep
	}
	return nil
}

// hits counts the matches in one file.
type hits struct {
	path  string
	most  int // that may be shown
	found int
	shown int // the number of the line before which all were shown or passed, from 0
}

func (s *searcher) hits(path string) hits {
	h := hits{path: path, most: maxMatches - s.details.Matches}
	if !s.single {
		h.most = min(h.most, maxPerFile)
	}
	return h
}

// rows shows those of rows[from:to] that match, with those around them. first
// is the number of the first row in the file, from 0.
func (s *searcher) rows(h *hits, rows [][]byte, first, from, to int) {
	for i := from; i < to; i++ {
		row := bytes.TrimSuffix(rows[i], []byte("\r"))
		at := s.find(row)
		if at < 0 {
			continue
		}
		if h.found++; h.found > h.most {
			continue
		}
		before := max(i-s.context, h.shown-first, 0)
		if s.context > 0 && h.shown > 0 && before+first > h.shown {
			s.out.WriteString("--\n")
		}
		for j := before; j < i; j++ {
			s.row(h.path, first+j, '-', rows[j], 0)
		}
		s.row(h.path, first+i, ':', row, at)
		h.shown = first + i + 1
		for j := i + 1; j <= i+s.context && j < len(rows); j++ {
			if s.find(bytes.TrimSuffix(rows[j], []byte("\r"))) >= 0 {
				break
			}
			s.row(h.path, first+j, '-', rows[j], 0)
			h.shown = first + j + 1
		}
	}
}

// note adds the matches of a file to what the result tells.
func (s *searcher) note(h *hits) {
	if h.found == 0 {
		return
	}
	if more := h.found - h.most; more > 0 {
		fmt.Fprintf(&s.out, "%s: %s in this file not shown\n", printable(h.path), count(more, "more match"))
	}
	s.details.Matches += min(h.found, h.most)
	s.details.Files = append(s.details.Files, h.path)
}

func (s *searcher) row(path string, i int, mark byte, row []byte, at int) {
	line := string(bytes.TrimSuffix(row, []byte("\r")))
	fmt.Fprintf(&s.out, "%s%c%d%c%s\n", printable(path), mark, i+1, mark, cutLine(line, at, maxMatchRow))
}

func (s *searcher) result(query string) tool.Result {
	d := s.details
	d.Cut = s.cut
	var head strings.Builder
	if d.Matches == 0 && len(d.Names) == 0 {
		fmt.Fprintf(&head, "No match for %q in %s.\n", query, count(d.Read, "file"))
	} else {
		fmt.Fprintf(&head, "%s in %s.\n", count(d.Matches, "match"), count(len(d.Files), "file"))
	}
	if s.cut != "" {
		fmt.Fprintf(&head, "Not complete: %s. Narrow it with path, glob or a longer query.\n", s.cut)
	}
	if s.large > 0 {
		fmt.Fprintf(&head, "Not searched to its end: %s of more than %d MB, in UTF-16 or with a line as long.\n", count(s.large, "file"), workspace.MaxWhole>>20)
	}
	parts := []llm.Part{llm.Text(head.String())}
	var body strings.Builder
	for _, name := range d.Names {
		fmt.Fprintf(&body, "%s (by name)\n", printable(name))
	}
	body.WriteString(s.out.String())
	if body.Len() > 0 {
		parts = append(parts, fromFile(body.String()))
	}
	d.Files = d.Files[:min(len(d.Files), 50)]
	return tool.Result{Content: parts, Details: d, Passing: s.late}
}
