package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/blob"
	"github.com/goclaw/goclaw/internal/gateway/api"
	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/tool"
)

const (
	// maxAttachment bounds a file that a person gives, in bytes.
	maxAttachment = 20 << 20
	// maxAttachments bounds those of one message.
	maxAttachments = 20
	// uploads is the folder of a workspace that gets them.
	uploads = "uploads"
	// maxUploadName bounds the name that a file gets there, in bytes, so that
	// a number and the file system's own limit have room.
	maxUploadName = 120
)

// Attach implements [api.Backend]. The file is kept for the caller alone until
// one of their messages takes it, or until it expires.
func (g *Gateway) Attach(ctx context.Context, caller auth.Principal, name, said string, data []byte) (api.Attachment, error) {
	if len(data) > maxAttachment {
		return api.Attachment{}, trouble(http.StatusRequestEntityTooLarge, "too_large",
			fmt.Sprintf("the file has %s; at most %s can be attached", llm.Size(len(data)), llm.Size(maxAttachment)))
	}
	if len(data) == 0 {
		return api.Attachment{}, trouble(http.StatusBadRequest, "bad_request", "the file is empty")
	}
	a := api.Attachment{Name: uploadName(name), MIME: api.FileType(name, said, data), Size: len(data)}
	e, err := g.blobs.Put(ctx, blob.Entry{
		Kind: blob.Attachment, Session: drawer(caller), Type: mime.FormatMediaType(a.MIME, map[string]string{"name": a.Name}),
	}, data)
	if err != nil {
		return api.Attachment{}, err
	}
	a.ID = e.Ref
	return a, nil
}

// drawer is where a person's attachments are kept until they are used. No
// session has this name, since the names of sessions hold a slash.
func drawer(caller auth.Principal) string { return "uploads:" + caller.ID }

// upload is an attachment that is taken out to be used.
type upload struct {
	name, mime string
	data       []byte
}

// Attached implements [api.Backend]. Each file is written to uploads/ of the
// agent's workspace, under a name that is free unless the same content stands
// there already, as when a message is sent again; a part of the message says
// where it is. Images and PDF files are also shown to models that take them.
// back removes the files that were written, unless somebody changed them.
func (g *Gateway) Attached(ctx context.Context, caller auth.Principal, agent, sessionID string, ids []string) (parts []llm.Part, back func() error, err error) {
	if len(ids) > maxAttachments {
		return nil, nil, trouble(http.StatusBadRequest, "bad_request", fmt.Sprintf("a message can have at most %d attachments", maxAttachments))
	}
	files := make([]upload, 0, len(ids))
	for _, id := range ids {
		u, err := g.takeOut(ctx, caller, id)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, u)
	}
	scope, profile, err := g.Runner.Scope(run.Request{Agent: agent, Session: sessionID, Origin: tool.FromChat, Caller: caller})
	if err != nil {
		return nil, nil, err
	}
	ws, err := g.workspaces.Open(profile.Workspace)
	if err != nil {
		return nil, nil, err
	}
	call := tool.Call{ID: "attach", Scope: scope}
	var written []workspace.Change // what removes them
	back = func() error {
		_, err := ws.Apply(context.WithoutCancel(ctx), call, written...)
		return err
	}
	for _, u := range files {
		at, created, err := putUpload(ctx, ws, call, u)
		if created {
			written = append(written, workspace.Change{Op: workspace.Remove, Path: at, Expect: workspace.Digest(u.data)})
		}
		var refused *tool.Refusal
		if errors.As(err, &refused) {
			err = trouble(http.StatusForbidden, "refused", refused.Error())
		} else if err != nil {
			err = fmt.Errorf("attach %s: %w", u.name, err)
		}
		if err != nil {
			return nil, nil, errors.Join(err, back())
		}
		parts = append(parts, llm.Part{
			Kind: llm.KindFile, Text: fmt.Sprintf("[attached file: %s, %s, %s]", at, u.mime, llm.Size(len(u.data))),
			Media: &llm.Media{MIME: u.mime, Name: at, Size: len(u.data)},
		})
	}
	for _, u := range files {
		if llm.IsImage(u.mime) && len(u.data) <= llm.MaxImage || u.mime == wire.PDF && len(u.data) <= llm.MaxFile {
			parts = append(parts, llm.Part{Kind: llm.KindMedia, Media: wire.Media(u.mime, u.name, u.data)})
		}
	}
	return parts, back, nil
}

// takeOut reads an attachment of the caller's. Somebody else's is not there.
func (g *Gateway) takeOut(ctx context.Context, caller auth.Principal, id string) (upload, error) {
	e, data, err := g.blobs.Get(ctx, id, drawer(caller))
	var gone *blob.GoneError
	var refused *tool.Refusal
	switch {
	case errors.Is(err, blob.ErrUnknown), errors.As(err, &refused), err == nil && e.Kind != blob.Attachment:
		return upload{}, trouble(http.StatusBadRequest, "bad_request", fmt.Sprintf("there is no attachment %q of yours: attach the file first", id))
	case errors.As(err, &gone):
		return upload{}, trouble(http.StatusBadRequest, "bad_request", fmt.Sprintf("the attachment %s is no longer kept: attach the file again", id))
	case err != nil:
		return upload{}, err
	}
	kind, params, err := mime.ParseMediaType(e.Type)
	if err != nil {
		return upload{}, fmt.Errorf("read attachment %s: %w", id, err)
	}
	return upload{name: params["name"], mime: kind, data: data}, nil
}

// maxNumber bounds how many files of one name are kept side by side.
const maxNumber = 1000

// putUpload writes a file under the first name that is free, or finds that it
// is there already, and returns its path in the workspace.
func putUpload(ctx context.Context, ws *workspace.Workspace, call tool.Call, u upload) (at string, created bool, err error) {
	done, err := ws.Update(ctx, call, func() ([]workspace.Change, error) {
		ext := path.Ext(u.name)
		stem := strings.TrimSuffix(u.name, ext)
		for n := 1; n <= maxNumber; n++ {
			at = uploads + "/" + u.name
			if n > 1 {
				at = fmt.Sprintf("%s/%s-%d%s", uploads, stem, n, ext)
			}
			info, err := fs.Stat(ws.FS(), at)
			if err != nil {
				// Whether it is free is the guard's to find out, and why not.
				return []workspace.Change{{Op: workspace.Create, Path: at, Data: u.data}}, nil
			}
			if !info.Mode().IsRegular() || info.Size() != int64(len(u.data)) {
				continue
			}
			have, err := fs.ReadFile(ws.FS(), at)
			if err != nil {
				return nil, err
			}
			if bytes.Equal(have, u.data) {
				return nil, nil
			}
		}
		return nil, fmt.Errorf("there are %d files of that name in %s already", maxNumber, uploads)
	})
	return at, len(done) > 0, err
}

// uploadName makes a file's name out of what a browser or a program said it is:
// one element of a path that every file system takes and that hides nothing.
func uploadName(s string) string {
	s = norm.NFC.String(strings.ToValidUTF8(s, "_"))
	s = s[strings.LastIndexAny(s, `/\`)+1:]
	s = strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(`<>:"|?*[]`, r), unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
			return '_'
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, s)
	s = strings.Trim(s, ". ")
	ext := path.Ext(s)
	if len(ext) > 20 {
		ext = ""
	}
	stem := strings.TrimSuffix(s, ext)
	for len(stem)+len(ext) > maxUploadName {
		_, n := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-n]
	}
	stem = strings.TrimRight(stem, ". ")
	if stem == "" {
		stem = "file"
	}
	if reserved[strings.ToLower(stem)] {
		stem += "_"
	}
	return stem + ext
}

// reserved are names of devices on Windows, with any ending.
var reserved = map[string]bool{
	"con": true, "prn": true, "aux": true, "nul": true,
	"com1": true, "com2": true, "com3": true, "com4": true, "com5": true, "com6": true, "com7": true, "com8": true, "com9": true,
	"lpt1": true, "lpt2": true, "lpt3": true, "lpt4": true, "lpt5": true, "lpt6": true, "lpt7": true, "lpt8": true, "lpt9": true,
}
