package gateway

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/gateway/builtin"
	"github.com/goclaw/goclaw/internal/llm"
)

// ended takes notice of a run that ended: what the agent uses most may have
// changed, and the log is told how it ended.
func (g *Gateway) ended(r *run.Run) {
	end, _, _ := r.End()
	if end.Rounds > 1 { // else it called no tool
		g.mu.Lock()
		a := g.agents[r.Agent]
		g.mu.Unlock()
		if a != nil {
			a.prior.Outdate()
		}
	}
	g.logEnd(r, end)
}

// logEnd tells the log how a run ended. Where nobody serves, a command has
// somebody in front of it whom it tells itself.
func (g *Gateway) logEnd(r *run.Run, end agent.RunEnd) {
	message, level := "run ended", slog.LevelDebug
	switch end.Status {
	case agent.Failed:
		message, level = "run failed", slog.LevelWarn
	case agent.Stopped, agent.Interrupted:
		level = slog.LevelInfo
	}
	if !g.serving.Load() {
		level = slog.LevelDebug
	}
	ctx := context.Background()
	if !g.log.Enabled(ctx, level) {
		return
	}
	at := r.Times()
	since := at.Began
	if since.IsZero() {
		since = at.Queued
	}
	about := []slog.Attr{
		slog.String("run", r.ID), slog.String("session", r.Session), slog.String("agent", r.Agent),
		slog.Int("rounds", end.Rounds), slog.Duration("took", time.Since(since).Round(time.Millisecond)),
	}
	if end.Status == agent.Failed {
		about = append(about, slog.String("class", classOf(end.Err)), slog.String("err", wordsOf(end.Err)))
	} else {
		about = append(about, slog.String("status", string(end.Status)))
	}
	g.log.LogAttrs(ctx, level, message, about...)
}

// classOf sorts what made a run fail by whose matter it is: a provider's, in
// the provider room's words, that of the state database, or another.
func classOf(err error) string {
	var e *llm.Error
	switch {
	case errors.As(err, &e):
		return string(e.Class)
	case builtin.IsStoreFault(err):
		return "state"
	}
	return "other"
}

// wordsOf is err without what a provider may have quoted of the request: words
// of people are in the session, which says who may read them, and not in a log.
func wordsOf(err error) string {
	if err == nil {
		return ""
	}
	words := err.Error()
	var e *llm.Error
	if errors.As(err, &e) && (e.Class == llm.ClassBadRequest || e.Class == llm.ClassUnknown) && e.Status != 0 && e.Message != "" {
		words = strings.ReplaceAll(words, e.Message, "it says why in the run's trace")
	}
	return words
}
