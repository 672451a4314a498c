package api

import (
	"cmp"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
)

func attach(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	f, err := fileOf(r)
	if err != nil {
		return err
	}
	name := f.name
	switch {
	case strings.TrimSpace(name) == "":
		return badRequest("name is missing: POST /api/attachments?name=notes.pdf, with the file as the body")
	case utf8.RuneCountInString(name) > 255:
		return badRequest("the name is longer than 255 characters")
	}
	// What a browser names is a file, whatever folder it says.
	name = fileName(name[strings.LastIndexAny(name, `/\`)+1:])
	if len(f.data) == 0 {
		return badRequest("the file is empty: send it as the body")
	}
	kept, err := s.opts.Backend.Attach(r.Context(), c.Principal, name, f.said, f.data)
	if err != nil {
		return err
	}
	return answer(w, http.StatusCreated, kept)
}

// sentFile is a file as a client sends it.
type sentFile struct {
	name, said string // said is its type as the client has it
	data       []byte
}

// fileOf reads the file of a request: its body, or the one file of the form that
// it is (RFC 7578), as curl -F sends it. A name in the query goes before that in
// the form.
func fileOf(r *http.Request) (sentFile, error) {
	f := sentFile{name: r.URL.Query().Get("name"), said: r.Header.Get("Content-Type")}
	kind, _, _ := mime.ParseMediaType(f.said)
	if !strings.HasPrefix(kind, "multipart/") {
		var err error
		f.data, err = io.ReadAll(r.Body)
		return f, err
	}
	form, err := r.MultipartReader()
	if err != nil {
		return f, badRequest("the form can't be read (%v): send the file as the body, with its name in the address: curl --data-binary @notes.pdf '…/api/attachments?name=notes.pdf'", err)
	}
	for found := false; ; {
		part, err := form.NextPart()
		switch {
		case errors.Is(err, io.EOF) && !found:
			return f, badRequest("the form holds no file: curl -F file=@notes.pdf …/api/attachments")
		case errors.Is(err, io.EOF):
			return f, nil
		case err != nil:
			return f, formError(err)
		case part.FileName() == "":
			continue
		case found:
			return f, badRequest("the form holds several files: send each in a request of its own")
		}
		found, f.said, f.name = true, part.Header.Get("Content-Type"), cmp.Or(f.name, part.FileName())
		if f.data, err = io.ReadAll(part); err != nil {
			return f, formError(err)
		}
	}
}

// formError is the fault of a client whose form breaks off, unless it is about
// the body of the request as a whole.
func formError(err error) error {
	if errors.As(err, new(*http.MaxBytesError)) || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return badRequest("the form can't be read: %v", err)
}

// FileType is the type of a file of a name, of which somebody says a type. What
// the bytes show to be an image or a PDF file is one, and nothing else is,
// whatever is said of it: a model's provider would refuse the whole
// conversation.
func FileType(name, said string, data []byte) string {
	sniffed, _, err := mime.ParseMediaType(http.DetectContentType(data))
	if err != nil {
		sniffed = "application/octet-stream"
	}
	if isShown(sniffed) {
		return sniffed
	}
	for _, one := range []string{said, mime.TypeByExtension(path.Ext(name))} {
		kind, _, err := mime.ParseMediaType(one)
		if err == nil && len(kind) <= maxType && !vague(kind) && !isShown(kind) {
			return kind
		}
	}
	return sniffed
}

// isShown reports whether models are shown what is of this type.
func isShown(kind string) bool { return llm.IsImage(kind) || kind == wire.PDF }

// maxType bounds what is believed of a type, in bytes.
const maxType = 100

// vague reports whether kind says nothing about a file: clients send it when
// they don't know, and curl sends the second one with any body.
func vague(kind string) bool {
	return kind == "application/octet-stream" || kind == "application/x-www-form-urlencoded" || !strings.Contains(kind, "/")
}
