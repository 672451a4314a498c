package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/goclaw/goclaw/internal/lib/source"
)

// FileName is the name of the configuration in the home folder.
const FileName = "config.yaml"

// MaxFileBytes bounds the size of the file.
const MaxFileBytes = 4 << 20

// Options say where to read from.
type Options struct {
	// Home is the absolute path of the home folder; see [HomeDir].
	Home string
	// File is read in place of <home>/config.yaml when it is not empty.
	File string
	// Environ answers ${NAME} and holds the GOCLAW_ variables.
	Environ Environ
}

func (o Options) file() string {
	if o.File != "" {
		return o.File
	}
	return filepath.Join(o.Home, FileName)
}

// Load reads and checks the configuration. A missing or empty file is the
// default configuration. The error is a [Faults] when the content is at
// fault, and names all of it; otherwise the file could not be read. Load
// writes nothing.
func Load(o Options) (*Config, error) {
	file := o.file()
	data, mode, err := readFile(file)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	c, err := Parse(o, data)
	if err != nil {
		return nil, err
	}
	c.digest = digest(data)
	c.warnAboutMode(mode)
	return c, nil
}

// Parse is [Load] on bytes that were read already; messages name the file of
// the options.
func Parse(o Options, data []byte) (*Config, error) {
	c := Default()
	c.Home, c.File, c.environ, c.raw = o.Home, o.file(), o.Environ, data
	root, fault := parseYAML(c.File, data)
	if fault != nil {
		return nil, Faults{*fault}
	}
	d := &decoder{file: c.File, environ: o.Environ, cfg: c, left: maxValues}
	c.root = d.overrides(root)
	c.env = d.env
	d.document(c.root)
	d.check()
	c.settle(d)
	if len(d.faults) > 0 {
		sortFaults(d.faults)
		return nil, Faults(d.faults)
	}
	sortFaults(d.warnings)
	c.Warnings = d.warnings
	return c, nil
}

// readFile reads a file of at most [MaxFileBytes]; a missing one is empty.
func readFile(file string) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	// Opening a named pipe would wait for somebody to write.
	if !info.Mode().IsRegular() {
		return nil, 0, &fs.PathError{Op: "open", Path: file, Err: errors.New("not a regular file")}
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close() // nothing was written, so nothing can be lost
	// One byte more than allowed is enough to tell; parseYAML refuses it.
	data, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	return data, info.Mode().Perm(), err
}

// warnAboutMode tells when others can read keys that stand in the file.
func (c *Config) warnAboutMode(mode fs.FileMode) {
	if runtime.GOOS == "windows" || mode&0o044 == 0 {
		return
	}
	if !c.literal.IsZero() {
		c.Warnings = append(c.Warnings, Fault{Pos: c.literal, Message: fmt.Sprintf(
			"a key stands in a file that others can read (mode %04o): run chmod 600 %s, or write ${VARIABLE} or secret:NAME", mode, c.File)})
	}
}

var utf8BOM = []byte("\xef\xbb\xbf")

// parseYAML gives the root node of the document, nil when it is empty.
func parseYAML(file string, data []byte) (*yaml.Node, *Fault) {
	fail := func(line, col int, msg string) (*yaml.Node, *Fault) {
		return nil, &Fault{Pos: source.Pos{File: file, Line: line, Column: col}, Message: msg}
	}
	if len(data) > MaxFileBytes {
		return fail(0, 0, fmt.Sprintf("the file has more than %d bytes", MaxFileBytes))
	}
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return fail(1, 1, "the file is UTF-16: save it as UTF-8")
	}
	data = bytes.TrimPrefix(data, utf8BOM)
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		line, col, msg := locateSyntaxError(data, err)
		return fail(line, col, msg)
	}
	var next yaml.Node
	if err := dec.Decode(&next); err == nil {
		return fail(next.Line, next.Column, "a second document begins here (---): the file may hold one")
	} else if !errors.Is(err, io.EOF) {
		line, col, msg := locateSyntaxError(data, err)
		return fail(line, col, msg)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// maxSyntaxProbe bounds the work of finding the line of a syntax error.
const maxSyntaxProbe = 32 << 10

// locateSyntaxError finds the line that makes the document invalid. The
// parser often names the line where the surrounding block began, or none; the
// line after the longest part that is valid is what a person has to look at.
func locateSyntaxError(data []byte, err error) (line, col int, msg string) {
	msg = strings.TrimPrefix(err.Error(), "yaml: ")
	line = 1
	if n, rest := 0, ""; strings.HasPrefix(msg, "line ") {
		if _, e := fmt.Sscanf(msg, "line %d:", &n); e == nil {
			_, rest, _ = strings.Cut(msg, ": ")
			line, msg = n, rest
		}
	}
	ends := lineEnds(data)
	if len(data) <= maxSyntaxProbe {
		good := max(line-2, 0)
		for good > 0 && !parses(data[:ends[min(good, len(ends))-1]]) {
			good--
		}
		for n := good + 1; n < len(ends) && n < good+300; n++ {
			if parses(data[:ends[n-1]]) {
				good = n
			}
		}
		line = good + 1
	}
	line = min(line, max(len(ends), 1))
	text := lineText(data, ends, line)
	indent := len(text) - len(strings.TrimLeft(text, " \t"))
	col = utf8.RuneCountInString(text[:indent]) + 1
	if tab := strings.IndexByte(text[:indent], '\t'); tab >= 0 {
		return line, tab + 1, "a tab indents this line: YAML takes spaces only"
	}
	return line, col, msg
}

func parses(data []byte) bool {
	var n yaml.Node
	return yaml.Unmarshal(data, &n) == nil
}

// lineEnds gives the offset behind each line, breaks included.
func lineEnds(data []byte) []int {
	var ends []int
	for i := 0; i < len(data); {
		if n := breakLen(data[i:]); n > 0 {
			i += n
			ends = append(ends, i)
			continue
		}
		i++
	}
	if len(data) > 0 && (len(ends) == 0 || ends[len(ends)-1] < len(data)) {
		ends = append(ends, len(data))
	}
	return ends
}

// breakLen is the length of the line break that b begins with, as YAML counts
// lines: CR LF, LF, CR, NEL, LS and PS.
func breakLen(b []byte) int {
	switch {
	case len(b) == 0:
		return 0
	case b[0] == '\r' && len(b) > 1 && b[1] == '\n':
		return 2
	case b[0] == '\n' || b[0] == '\r':
		return 1
	case b[0] == 0xC2 && len(b) > 1 && b[1] == 0x85:
		return 2
	case b[0] == 0xE2 && len(b) > 2 && b[1] == 0x80 && (b[2] == 0xA8 || b[2] == 0xA9):
		return 3
	}
	return 0
}

func lineText(data []byte, ends []int, line int) string {
	if line < 1 || line > len(ends) {
		return ""
	}
	start := 0
	if line > 1 {
		start = ends[line-2]
	}
	return string(data[start:ends[line-1]])
}
