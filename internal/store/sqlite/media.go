package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/blob"
	"github.com/goclaw/goclaw/internal/llm"
)

// Images and files are not part of the text that a message or a result is
// stored as: their bytes are content under a ref of the session, like all that
// is kept there, and the text names them by their digest. So they lie in the
// database once however often they are said, go with the last session that has
// them, and are compressed where that helps. What an earlier version wrote into
// the text is read from there.

// carried is what is to be kept as content with the text that names it.
type carried []carriedMedia

type carriedMedia struct {
	sum, mime string
	size      int
	packed    []byte
	at        time.Time // when it was said, for those who take over all that was until then
}

// parts returns parts without the bytes of media, which it takes up.
func (c *carried) parts(parts []llm.Part, at time.Time) []llm.Part {
	var out []llm.Part
	for i, p := range parts {
		if p.Media == nil || len(p.Media.Data) == 0 {
			continue
		}
		if out == nil {
			out = append(out, parts...)
		}
		digest := sha256.Sum256(p.Media.Data)
		m := llm.Media{MIME: p.Media.MIME, Name: p.Media.Name, Size: len(p.Media.Data), Sum: hex.EncodeToString(digest[:]), Pages: p.Media.Pages}
		*c = append(*c, carriedMedia{sum: m.Sum, mime: m.MIME, size: m.Size, packed: blob.Pack(p.Media.Data), at: at})
		out[i].Media = &m
	}
	if out == nil {
		return parts
	}
	return out
}

// message is parts for a whole message.
func (c *carried) message(m llm.Message, at time.Time) llm.Message {
	m.Parts = c.parts(m.Parts, at)
	return m
}

// put keeps what was taken up for the session with the row id.
func (c carried) put(t *tx, id int64) error {
	if len(c) == 0 {
		return nil
	}
	var key session.Key
	if err := t.row("SELECT agent, name FROM sessions WHERE id = ?", []any{id}, []any{&key.Agent, &key.ID}); err != nil {
		return err
	}
	for _, m := range c {
		if _, err := t.exec("INSERT INTO contents (sum, packed) VALUES (?, ?) ON CONFLICT DO NOTHING", m.sum, m.packed); err != nil {
			return err
		}
		if _, err := t.exec("INSERT INTO refs (ref, kind, agent, session, type, tool, args, sum, size, created)"+
			" SELECT ?1, ?2, ?3, ?4, ?5, '', '', ?6, ?7, ?8 WHERE NOT EXISTS (SELECT 1 FROM refs WHERE sum = ?6 AND gone = '' AND session = ?4 AND kind = ?2)",
			blob.NewRef(), string(blob.Media), key.Agent, key.String(), m.mime, m.sum, m.size, m.at.UnixMilli()); err != nil {
			return err
		}
	}
	return nil
}

// loader brings back the bytes of media. What is no longer there, or damaged,
// stays away: media without bytes leave a note for the model.
type loader struct {
	t    *tx
	have map[string][]byte // by digest
}

// turns completes turns.
func (l *loader) turns(turns []session.Turn) error {
	for i := range turns {
		if err := l.turn(&turns[i]); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) turn(turn *session.Turn) error {
	err := l.parts(turn.Message.Parts)
	for i := range turn.Rounds {
		err = errors.Join(err, l.round(&turn.Rounds[i]))
	}
	return err
}

func (l *loader) round(r *agent.Round) error {
	err := l.parts(r.Reply.Message.Parts)
	for _, m := range r.Before {
		err = errors.Join(err, l.parts(m.Parts))
	}
	for _, o := range r.Outcomes {
		err = errors.Join(err, l.parts(o.Content))
	}
	return err
}

func (l *loader) parts(parts []llm.Part) error {
	for _, p := range parts {
		if p.Media == nil || p.Media.Sum == "" || len(p.Media.Data) > 0 {
			continue
		}
		data, err := l.content(p.Media.Sum, p.Media.Size)
		if err != nil {
			return err
		}
		if len(data) > 0 {
			p.Media.Data, p.Media.Size, p.Media.Sum = data, 0, ""
		}
	}
	return nil
}

func (l *loader) content(sum string, size int) ([]byte, error) {
	if data, ok := l.have[sum]; ok {
		return data, nil
	}
	packed, err := packedContent(l.t, sum)
	if err != nil {
		return nil, err
	}
	if l.have == nil {
		l.have = map[string][]byte{}
	}
	l.have[sum] = unpacked(packed, sum, size)
	return l.have[sum], nil
}

// Content implements [session.Store].
func (s *Sessions) Content(ctx context.Context, m *llm.Media) ([]byte, error) {
	var packed []byte
	err := s.db.read(ctx, func(t *tx) (err error) {
		packed, err = packedContent(t, m.Sum)
		return err
	})
	if err != nil {
		return nil, err
	}
	return unpacked(packed, m.Sum, m.Size), nil
}

// packedContent is the content of a digest; nil when it is not there.
func packedContent(t *tx, sum string) (packed []byte, err error) {
	err = t.row("SELECT packed FROM contents WHERE sum = ?", []any{sum}, []any{&packed})
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return packed, err
}

// unpacked is content of that digest and size; nil when it is not.
func unpacked(packed []byte, sum string, size int) []byte {
	data, err := blob.Unpack(packed, int64(size))
	if digest := sha256.Sum256(data); err != nil || hex.EncodeToString(digest[:]) != sum {
		return nil
	}
	return data
}
