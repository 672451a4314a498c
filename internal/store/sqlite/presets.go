package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/goclaw/goclaw/internal/engine/preset"
)

// Presets implements [preset.Store].
type Presets struct{ db *DB }

var _ preset.Store = (*Presets)(nil)

// Presets returns the store of presets.
func (db *DB) Presets() *Presets { return &Presets{db} }

// Presets implements [preset.Store].
func (s *Presets) Presets(ctx context.Context) (list []preset.Preset, err error) {
	err = s.db.read(ctx, func(t *tx) error {
		list = nil
		return t.each("SELECT tool, name, description, args, author, created, approved_by, approved FROM presets ORDER BY id", nil,
			func(scan func(...any) error) error {
				var p preset.Preset
				var args string
				err := scan(&p.Tool, &p.Name, &p.Description, &args, &p.Author, instant{&p.Created}, &p.ApprovedBy, instant{&p.Approved})
				p.Args = json.RawMessage(args)
				list = append(list, p)
				return err
			})
	})
	return list, about("list presets", err)
}

// Add implements [preset.Store].
func (s *Presets) Add(ctx context.Context, p preset.Preset) error {
	return about(called("add", p.Tool, p.Name), s.db.write(ctx, func(t *tx) error {
		var waiting int
		if err := t.row("SELECT count(*) FROM presets WHERE author = ? AND approved IS NULL", []any{p.Author}, []any{&waiting}); err != nil {
			return err
		}
		if waiting >= preset.MaxWaiting {
			return preset.ErrTooMany
		}
		n, err := t.exec("INSERT INTO presets (tool, name, description, args, author, created) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			p.Tool, p.Name, p.Description, string(p.Args), p.Author, nano(p.Created))
		if err == nil && n == 0 {
			err = preset.ErrExists
		}
		return err
	}))
}

// Approve implements [preset.Store].
func (s *Presets) Approve(ctx context.Context, tool, name, by string, at time.Time) error {
	return about(called("approve", tool, name), s.db.write(ctx, func(t *tx) error {
		n, err := t.exec("UPDATE presets SET approved_by = CASE approved_by WHEN '' THEN ? ELSE approved_by END, approved = coalesce(approved, ?) WHERE tool = ? AND name = ?",
			by, nano(at), tool, name)
		if err == nil && n == 0 {
			err = preset.ErrUnknown
		}
		return err
	}))
}

// Remove implements [preset.Store].
func (s *Presets) Remove(ctx context.Context, tool, name string) error {
	return about(called("remove", tool, name), s.db.write(ctx, func(t *tx) error {
		n, err := t.exec("DELETE FROM presets WHERE tool = ? AND name = ?", tool, name)
		if err == nil && n == 0 {
			err = preset.ErrUnknown
		}
		return err
	}))
}

func called(what, tool, name string) string {
	return fmt.Sprintf("%s preset %q of %s", what, name, tool)
}
