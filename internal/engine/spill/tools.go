package spill

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/blob"
	"github.com/goclaw/goclaw/internal/tool"
)

// ReadOutput is the name of the tool that reads kept results.
const ReadOutput = "read_output"

//go:embed read_output.md
var readOutputText string

// Tools returns the tools of this room: read_output.
func Tools(keeper *blob.Keeper, opts Options) []tool.Tool {
	opts = opts.complete()
	// Its answers stay below the limits as other results do, but never so far
	// that nothing can be read.
	room := max(min(opts.MaxResult-opts.MaxResult/20, opts.MaxStep), 2*minPreview)
	return []tool.Tool{tool.New(tool.Definition{
		Name:        ReadOutput,
		Description: strings.TrimSpace(readOutputText),
		Traits:      tool.Traits{ReadOnly: true, Internal: true, Tags: []string{"spill", "ref", "result", "page"}, Timeout: 30 * time.Second},
	}, func(ctx context.Context, call tool.Call, args ReadArgs) (string, error) {
		return readOutput(ctx, keeper, call.Scope, args, room)
	})}
}

// Refs gives tools the bytes that a ref stands for, with errors that tell a
// model how to get the data again.
func Refs(keeper *blob.Keeper) tool.Refs { return refs{keeper} }

type refs struct{ keeper *blob.Keeper }

func (r refs) Read(ctx context.Context, s tool.Scope, ref string) ([]byte, error) {
	ref = tidyRef(ref)
	data, err := r.keeper.Read(ctx, s, ref)
	if err != nil {
		return nil, refError(ref, err)
	}
	return data, nil
}

// tidyRef is ref without what models copy with it.
func tidyRef(ref string) string {
	return strings.ToLower(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(ref), "ref:")))
}

// readOutput answers one call. Its text is raw, like that of any tool.
func readOutput(ctx context.Context, keeper *blob.Keeper, scope tool.Scope, args ReadArgs, room int) (string, error) {
	args.Ref = tidyRef(args.Ref)
	e, data, err := keeper.Get(ctx, args.Ref, scope.SessionKey())
	if err != nil {
		return "", refError(args.Ref, err)
	}
	doc := Doc{Name: e.Tool, Ref: e.Ref, Text: string(data), Type: Type(e.Type)}
	if !known(doc.Type) {
		doc.Type = Describe(ctx, doc.Name, doc.Text).Type
	}
	doc.Lines, doc.Chars = lineCount(doc.Text), runes(doc.Text)
	r := reader{doc: doc, args: args, room: room}
	return r.read(ctx)
}

func known(t Type) bool {
	switch t {
	case JSON, JSONL, HTML, XML, CSV, Text, Binary:
		return true
	}
	return false
}

// refError says how to get the data again.
func refError(ref string, err error) error {
	var gone *blob.GoneError
	switch {
	case errors.As(err, &gone):
		if gone.Entry.Tool == "" {
			return fmt.Errorf("%w; make the call again that produced it", err)
		}
		return fmt.Errorf("%w. It held the result of %s(%s): make that call again to get the data", err, gone.Entry.Tool, gone.Entry.Args)
	case errors.Is(err, blob.ErrUnknown):
		return fmt.Errorf("there is no output under ref %q. A ref is the 16 hexadecimal digits after 'ref:' in the header of a LARGE OUTPUT; "+
			"it is kept for a limited time. Make the call again that produced the output", cutWith(ref, 40))
	}
	return err
}
