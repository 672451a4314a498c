package cli

import (
	"context"
	"errors"
	"time"

	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/tool"
)

// reading is how long a question has stood before a line that is begun can be an
// answer to it: nobody reads faster.
const reading = 300 * time.Millisecond

// answerable reports whether the person may answer the call that waits first.
func (t *transcript) answerable() bool {
	return len(t.asked) > 0 && (t.admin || !t.asked[0].Admins)
}

// question is the id of the request that a line begun now can answer; empty for
// none.
func (t *transcript) question(now time.Time) string {
	if !t.answerable() || now.Sub(t.asked[0].since) < reading {
		return ""
	}
	return t.asked[0].ID
}

// answer gives the line's answer to the call that waits first. A line that was
// begun before that stood there, for the model or for another call, must not
// allow it.
func (k *console) answer(ctx context.Context, answer tool.Answer) {
	first := k.view.asked[0]
	if k.about != first.ID {
		k.tip("that was begun before the question: read it, then write y, a or n and press Enter")
		return
	}
	k.about = ""
	_, err := give(ctx, k.g, k.req.Caller, first.ID, answer)
	var closed *approval.ClosedError
	if err != nil {
		k.view.fail(err.Error())
	}
	if err == nil || errors.As(err, &closed) {
		k.view.asked = k.view.asked[1:] // of which the run tells in a moment
	}
}
