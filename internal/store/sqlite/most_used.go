package sqlite

import (
	"context"
	"time"

	"github.com/goclaw/goclaw/internal/engine/selection"
)

var _ selection.Usage = (*Sessions)(nil)

// maxUsageTurns bounds how many turns MostUsed looks at: the last ones say best
// what an agent does, and an answer must not take longer the longer it works.
const maxUsageTurns = 2000

// MostUsed implements [selection.Usage]. The calls that a fork begins with count
// where they ran, a tool that a script called often counts once for the script, and
// calls by hand don't count. It reads the calls of at most the agent's last 2,000 turns.
func (s *Sessions) MostUsed(ctx context.Context, agent string, since time.Time, limit int) ([]string, error) {
	var names []string
	err := s.db.read(ctx, func(t *tx) error {
		return t.each("WITH made AS MATERIALIZED (SELECT c.id, c.tool, c.status FROM (SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session"+
			" WHERE t.started >= ? AND t.copied IS NULL AND s.agent = ? ORDER BY t.started DESC LIMIT ?) t"+
			" JOIN rounds r ON r.turn = t.id JOIN calls c ON c.round = r.id)"+
			" SELECT tool FROM (SELECT tool FROM made WHERE status = 'ok' UNION ALL"+
			" SELECT tool FROM (SELECT DISTINCT x.call, x.tool FROM made m CROSS JOIN side_calls x ON x.call = m.id WHERE x.status = 'ok'))"+
			" GROUP BY tool ORDER BY count(*) DESC, tool LIMIT ?", []any{nano(since), agent, maxUsageTurns, limit},
			func(scan func(...any) error) error {
				var name string
				err := scan(&name)
				names = append(names, name)
				return err
			})
	})
	return names, err
}
