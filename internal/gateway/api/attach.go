package api

import (
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
)

func attach(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	name := r.URL.Query().Get("name")
	switch {
	case strings.TrimSpace(name) == "":
		return badRequest("name is missing: POST /api/attachments?name=notes.pdf, with the file as the body")
	case utf8.RuneCountInString(name) > 255:
		return badRequest("the name is longer than 255 characters")
	}
	// What a browser names is a file, whatever folder it says.
	name = fileName(name[strings.LastIndexAny(name, `/\`)+1:])
	data, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		return err
	case len(data) == 0:
		return badRequest("the file is empty: send it as the body")
	}
	kept, err := s.opts.Backend.Attach(r.Context(), c.Principal, name, r.Header.Get("Content-Type"), data)
	if err != nil {
		return err
	}
	return answer(w, http.StatusCreated, kept)
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
