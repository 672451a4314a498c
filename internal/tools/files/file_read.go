package files

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

//go:embed file_read.md
var fileReadDoc string

type readIn struct {
	Path        string `json:"path"`
	From        int    `json:"from,omitempty" jsonschema:"first line, from 1"`
	To          int    `json:"to,omitempty" jsonschema:"last line, included"`
	LineNumbers bool   `json:"line_numbers,omitempty"`
}

// readDetails tell of a file for people.
type readDetails struct {
	Path     string `json:"path"`
	Bytes    int64  `json:"bytes"`
	Lines    int    `json:"lines,omitempty"` // of the whole file; 0 when it was not read whole
	From     int    `json:"from,omitempty"`
	To       int    `json:"to,omitempty"`
	Encoding string `json:"encoding,omitempty"`
	MIME     string `json:"mime,omitempty"`
	Width    int    `json:"width,omitempty"`
	Height   int    `json:"height,omitempty"`
}

func (k kit) fileRead() tool.Tool {
	traits := reader("read", "open", "show", "cat", "view", "image")
	traits.Cacheable = true
	t := tool.New(tool.Definition{Name: "file_read", Description: fileReadDoc, Traits: traits}, k.read)
	t = tool.WithTouches(t, func(call tool.Call, in readIn) []tool.Touch { return k.touches(call, false, in.Path) })
	return tool.WithStamp(t, k.stampRead)
}

func (k kit) read(_ context.Context, call tool.Call, in readIn) (tool.Result, error) {
	if err := in.check(); err != nil {
		return tool.Result{}, err
	}
	ws, err := k.open(call)
	if err != nil {
		return tool.Result{}, err
	}
	f, err := ws.Open(in.Path)
	if err != nil {
		return tool.Result{}, helpful(err)
	}
	defer f.Close()
	var r tool.Result
	var digest string
	if f.Info.Size() > workspace.MaxWhole {
		if digest, err = f.Digest(); err == nil {
			r, err = readLarge(f, in)
		}
	} else {
		var data []byte
		if data, err = f.Whole(); err == nil {
			digest = workspace.Digest(data)
			r, err = readWhole(f, data, in)
		}
	}
	if err != nil {
		return tool.Result{}, helpful(err)
	}
	r.Effects = []tool.Effect{seen(f.Path, digest)}
	return r, nil
}

func (in readIn) check() error {
	switch {
	case in.From < 0 || in.To < 0:
		return errors.New("lines are counted from 1: from and to can't be negative")
	case in.To > 0 && in.From > in.To:
		return fmt.Errorf("from (%d) comes after to (%d)", in.From, in.To)
	}
	return nil
}

func readWhole(f *workspace.File, data []byte, in readIn) (tool.Result, error) {
	details := readDetails{Path: f.Path, Bytes: int64(len(data))}
	if p, ok := readPicture(data); ok {
		return showPicture(data, p, details), nil
	}
	text, enc, _ := decode(data)
	if enc == binaryish {
		return tool.Result{Content: []llm.Part{llm.Text(describe(f.Path, data, details.Bytes))}, Details: details}, nil
	}
	details.Encoding, details.Lines = enc.String(), countLines(text)
	if in.From > max(details.Lines, 1) {
		return tool.Result{}, fmt.Errorf("%s has %s; there is no line %d", printable(f.Path), count(details.Lines, "line"), in.From)
	}
	if in.From > 0 || in.To > 0 {
		text, details.From, details.To = cutLines(text, in.From, in.To)
	}
	if in.LineNumbers {
		text = numbered(text, max(details.From, 1))
	}
	r := tool.Result{Details: details}
	if enc != utf8Text {
		r.Content = append(r.Content, llm.Text("["+enc.String()+", shown as UTF-8]\n"))
	}
	r.Content = append(r.Content, fromFile(text))
	return r, nil
}

// cutLines gives the lines from to to of text; 0 is the first and the last.
func cutLines(text string, from, to int) (string, int, int) {
	from = max(from, 1)
	start, line := 0, 1
	for ; line < from; line++ {
		start += strings.IndexByte(text[start:], '\n') + 1
	}
	end := start
	for ; (to == 0 || line <= to) && end < len(text); line++ {
		n := strings.IndexByte(text[end:], '\n')
		if n < 0 {
			return text[start:], from, line
		}
		end += n + 1
	}
	return text[start:end], from, line - 1
}

func numbered(text string, first int) string {
	var b strings.Builder
	for i, line := range splitLines(text) {
		b.WriteString(strconv.Itoa(first + i))
		b.WriteByte('\t')
		b.WriteString(line)
	}
	return b.String()
}

func showPicture(data []byte, p picture, details readDetails) tool.Result {
	details.MIME, details.Width, details.Height = p.MIME, p.Width, p.Height
	note := fmt.Sprintf("%s: %s, %s", printable(details.Path), p.MIME, size(details.Bytes))
	if p.Width > 0 {
		note = fmt.Sprintf("%s: %s, %d×%d pixels, %s", printable(details.Path), p.MIME, p.Width, p.Height, size(details.Bytes))
	}
	r := tool.Result{Details: details}
	if len(data) > llm.MaxImage {
		r.Content = []llm.Part{llm.Text(note + "; too large to be shown.")}
		return r
	}
	name := details.Path[strings.LastIndexByte(details.Path, '/')+1:]
	r.Content = []llm.Part{
		llm.Text(note),
		{Kind: llm.KindMedia, Media: &llm.Media{MIME: p.MIME, Name: name, Data: data}, Origin: "file"},
	}
	return r
}

// readLarge reads a range of lines of a file that is too large for the rest,
// without holding more of it than is shown.
func readLarge(f *workspace.File, in readIn) (tool.Result, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return tool.Result{}, err
	}
	br := bufio.NewReaderSize(f, 256<<10)
	head, err := br.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		return tool.Result{}, err
	}
	details := readDetails{Path: f.Path, Bytes: f.Info.Size()}
	if sniff(head) != utf8Text {
		return tool.Result{Content: []llm.Part{llm.Text(describe(f.Path, head, details.Bytes))}, Details: details}, nil
	}
	if in.From == 0 && in.To == 0 {
		return tool.Result{}, fmt.Errorf("%s has %s, more than can be read at once: "+
			"give a range of lines (from: 1, to: 200), or search the file", printable(f.Path), size(details.Bytes))
	}
	from := max(in.From, 1)
	text, last, cut, err := streamLines(br, from, in.To)
	if err != nil {
		return tool.Result{}, err
	}
	if text == "" {
		return tool.Result{}, fmt.Errorf("%s has %s; there is no line %d", printable(f.Path), count(last, "line"), from)
	}
	details.Encoding, details.From, details.To = utf8Text.String(), from, last
	if in.LineNumbers {
		text = numbered(text, from)
	}
	r := tool.Result{Content: []llm.Part{fromFile(text)}, Details: details}
	if cut {
		r.Content = append(r.Content, llm.Text(fmt.Sprintf("\n[Cut at line %d, %s. Read on with from: %d.]", last, size(int64(len(text))), last+1)))
	}
	return r, nil
}

// streamLines reads the lines from to to, at most [workspace.MaxWhole] bytes of
// them; then cut is true. last is the number of the last line that was seen.
func streamLines(br *bufio.Reader, from, to int) (text string, last int, cut bool, err error) {
	var b bytes.Buffer
	for line, inside := 1, false; ; {
		piece, err := br.ReadSlice('\n')
		if len(piece) > 0 {
			inside = true
			last = line
			if line >= from {
				b.Write(piece)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return b.String(), last, false, nil
		case err == nil && inside:
			if line == to {
				return b.String(), last, false, nil
			}
			line, inside = line+1, false
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", last, false, err
		}
		if b.Len() >= workspace.MaxWhole {
			return b.String(), last, true, nil
		}
	}
}
