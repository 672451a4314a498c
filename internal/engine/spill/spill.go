// Package spill keeps large results out of the conversation: it stores the
// whole result under a ref and shows the model a preview that fits its type,
// with the call that reads the rest. It also owns that call, read_output, and
// makes hidden characters visible in everything that a model reads.
//
// The engine's show step calls [Spiller.Show] for each outcome as it ends and
// [Spiller.Fit] when all calls of a round have ended, since a round has a limit
// of its own. Both run on the caller's goroutine; only storing a result blocks,
// until it is durable. When storing fails the model gets the preview and is
// told that the rest is lost, because a long result must not end a run.
//
// Tools return text as it is. Visible forms are applied here, once; what
// read_output returns passes through here like any other result.
//
// Finding out what a text is ([Describe]) and previews ([Doc.Preview]) are
// functions over text from anywhere: no recursion over it, no allocation in
// proportion to it, and all of them count the bytes that they look at with a
// meter, which ends them after so many for each byte of the text and when the
// context ends; then the plain beginning is shown. Start reading at
// [Spiller.Show], then preview.go; reading back begins in tools.go.
package spill

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/blob"
	"github.com/goclaw/goclaw/internal/lib/visible"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Options are the limits, in code points of what the model sees. Zero fields
// take the defaults.
type Options struct {
	MaxResult int // of one result; 8,000
	MaxStep   int // of all results of a round together; 32,000
	Preview   int // of a preview, all of its lines included; 4,000
	Log       *slog.Logger
}

func (o Options) complete() Options {
	if o.MaxResult <= 0 {
		o.MaxResult = 8000
	}
	if o.MaxStep <= 0 {
		o.MaxStep = 32000
	}
	if o.Preview <= 0 {
		o.Preview = 4000
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	o.Preview = max(min(o.Preview, o.MaxResult), minPreview)
	return o
}

// minPreview is how small a preview gets when many results share a round.
const minPreview = 500

// noOutput stands for a result without content: a model must get some text.
const noOutput = "(no output)"

// Spiller decides what a model sees of results. It is safe for concurrent use.
type Spiller struct {
	keeper *blob.Keeper
	opts   Options
}

// New returns a spiller that keeps results in keeper.
func New(keeper *blob.Keeper, opts Options) *Spiller {
	return &Spiller{keeper: keeper, opts: opts.complete()}
}

// Shown is an outcome whose content has been made ready for the model, with
// what Fit needs to shorten it. It holds the whole result as long as it lives.
type Shown struct {
	outcome *tool.Outcome
	text    string // the result's text as the tool returned it
	doc     Doc    // of text, once it is kept
	chars   int    // of the text in the outcome's content
	preview bool   // the content is a preview
	sealed  bool   // a preview doesn't send the model to read_output
}

// How says what is particular about the results of a call.
type How struct {
	Keep   bool // under a ref, however small the result is
	Sealed bool // the run may not use read_output, so a preview doesn't send the model there
}

// Show makes o.Content what the model sees: hidden characters visible, an empty
// result a word, a result over the limit a preview. Images and files stay. With
// how.Keep the result is kept under a ref however small it is, and shown whole
// where it fits. When it is kept, o.Ref, o.Type and o.Chars tell.
func (s *Spiller) Show(ctx context.Context, scope tool.Scope, o *tool.Outcome, how How) Shown {
	sh := Shown{outcome: o, text: llm.JoinText(o.Content), sealed: how.Sealed}
	if strings.TrimSpace(sh.text) == "" {
		s.showBlank(o, sh.text)
		sh.text = llm.JoinText(o.Content)
		sh.chars = utf8.RuneCountInString(sh.text)
		return sh
	}
	sh.chars = visible.Count(sh.text)
	over := sh.chars > s.opts.MaxResult && !readsBack(o)
	if over || how.Keep && !readsBack(o) {
		s.keep(ctx, scope, &sh)
	}
	switch {
	case over:
		s.shorten(ctx, &sh, s.opts.Preview)
	case sh.doc.Ref != "":
		setText(o, sh.doc.Preview(ctx, sh.chars+wholeFrame))
		sh.chars = utf8.RuneCountInString(llm.JoinText(o.Content))
	default:
		o.Content = Visible(o.Content)
	}
	return sh
}

// wholeFrame is room enough for the lines around a result that is shown whole.
const wholeFrame = 300

// readsBack reports whether o is an answer of read_output, which is short
// enough by itself and never kept again.
func readsBack(o *tool.Outcome) bool { return o.Tool == ReadOutput }

// showBlank gives a result without a visible character a text, unless it has
// other parts to show.
func (s *Spiller) showBlank(o *tool.Outcome, text string) {
	parts := slices.DeleteFunc(slices.Clone(o.Content), func(p llm.Part) bool { return p.Kind == llm.KindText })
	if len(parts) == 0 {
		if text == "" {
			text = noOutput
		} else {
			text = fmt.Sprintf("(%d blank characters and nothing else)", utf8.RuneCountInString(text))
		}
		parts = []llm.Part{llm.Text(text)}
	}
	o.Content = parts
}

// keepTime is how long storing a result may take.
const keepTime = 10 * time.Second

// keep stores the result, also when the run has been stopped meanwhile. A
// failure is logged, and told to the model by the preview.
func (s *Spiller) keep(ctx context.Context, scope tool.Scope, sh *Shown) {
	o := sh.outcome
	sh.doc = Describe(ctx, o.Tool, sh.text)
	sh.doc.Sealed = sh.sealed
	kept := string(sh.doc.Type)
	if sh.doc.plain != "" {
		kept = "" // whoever reads it finds out
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTime)
	defer cancel()
	e, err := s.keeper.Put(ctx, blob.Entry{
		Kind: blob.Spill, Agent: scope.Agent(), Session: scope.SessionKey(),
		Type: kept, Tool: o.Tool, Args: shortArgs(o),
	}, []byte(sh.text))
	if err != nil {
		s.opts.Log.WarnContext(ctx, "large result not kept", "tool", o.Tool, "chars", sh.doc.Chars, "session", scope.Session(), "err", err)
		return
	}
	sh.doc.Ref = e.Ref
	o.Ref, o.Type, o.Chars = e.Ref, string(sh.doc.Type), sh.doc.Chars
}

// shortArgs is what a tombstone says of the call.
func shortArgs(o *tool.Outcome) string {
	args := string(o.Args)
	if args == "" {
		args = o.Call.Arguments
	}
	return cutWith(args, 300)
}

// shorten shows a preview of at most limit code points.
func (s *Spiller) shorten(ctx context.Context, sh *Shown, limit int) {
	text := ""
	if readsBack(sh.outcome) {
		text = cutAnswer(sh.text, limit)
	} else {
		text = sh.doc.Preview(ctx, limit)
	}
	setText(sh.outcome, text)
	sh.chars = utf8.RuneCountInString(text)
	sh.preview = true
}

// cutAnswer cuts an answer of read_output that has no room beside the other
// results of its round. Nothing is lost by it: the call can be made again.
func cutAnswer(text string, limit int) string {
	const hint = "\n[cut, because the results of this step are too long together; make this call again by itself]"
	return visible.Text(prefix(text, limit-len(hint))) + hint
}

// setText puts text in place of the text parts of o.
func setText(o *tool.Outcome, text string) {
	parts := make([]llm.Part, 0, len(o.Content))
	at := -1
	for _, p := range o.Content {
		if p.Kind != llm.KindText {
			parts = append(parts, p)
			continue
		}
		if at < 0 {
			at = len(parts)
			parts = append(parts, llm.Text(text))
		}
		if parts[at].Origin == "" {
			parts[at].Origin = p.Origin
		}
	}
	o.Content = parts
}

// Visible is content with the hidden characters of its text made visible.
// Content itself stays as it is; it is returned when there are none.
func Visible(content []llm.Part) []llm.Part {
	own := content
	for i, p := range content {
		if p.Kind != llm.KindText {
			continue
		}
		if text := visible.Text(p.Text); text != p.Text {
			if &own[0] == &content[0] {
				own = slices.Clone(content)
			}
			own[i].Text = text
		}
	}
	return own
}

// Fit makes the results of a round fit into its limit together: the largest is
// replaced by a preview first; when previews of full length don't suffice, they
// share what the shorter results leave, down to 500 code points each. Nothing is
// replaced that would not get shorter by it. others is how many code points the
// round shows besides, of results that stay as they are.
func (s *Spiller) Fit(ctx context.Context, scope tool.Scope, round []Shown, others int) {
	total := others
	for i := range round {
		total += round[i].chars
	}
	if total <= s.opts.MaxStep {
		return
	}
	largest := make([]*Shown, len(round))
	for i := range round {
		largest[i] = &round[i]
	}
	slices.SortStableFunc(largest, func(a, b *Shown) int { return cmp.Compare(b.chars, a.chars) })
	for _, sh := range largest {
		if total <= s.opts.MaxStep {
			return
		}
		if sh.chars > s.opts.Preview && !sh.preview && !readsBack(sh.outcome) {
			total -= sh.chars
			s.replace(ctx, scope, sh, s.opts.Preview)
			total += sh.chars
		}
	}
	if total <= s.opts.MaxStep {
		return
	}
	limit := share(round, max(s.opts.MaxStep-others, 0))
	for _, sh := range largest {
		if sh.chars > limit {
			s.replace(ctx, scope, sh, limit)
		}
	}
}

// replace shows a preview of sh, keeping the result first if that was not done.
func (s *Spiller) replace(ctx context.Context, scope tool.Scope, sh *Shown, limit int) {
	if sh.doc.Ref == "" && !sh.preview && !readsBack(sh.outcome) {
		s.keep(ctx, scope, sh)
	}
	s.shorten(ctx, sh, limit)
}

// share is the largest length to which results can be cut so that all of them
// fit into room together, and at least minPreview.
func share(round []Shown, room int) int {
	chars := make([]int, len(round))
	for i := range round {
		chars[i] = round[i].chars
	}
	slices.Sort(chars)
	for i, c := range chars {
		// All from here on get an equal part of what the shorter ones leave.
		if each := room / (len(chars) - i); c > each {
			return max(each, minPreview)
		}
		room -= c
	}
	return chars[len(chars)-1]
}
