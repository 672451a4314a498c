package sqlite_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/agent/budget/budgettest"
	"github.com/goclaw/goclaw/internal/store/sqlite/sqlitetest"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	budgettest.Run(t, func(t testing.TB) budgettest.Stores {
		db := sqlitetest.Open(t, filepath.Join(t.TempDir(), "state.db"))
		return budgettest.Stores{Sessions: db.Sessions(), Ledger: db.Ledger()}
	})
}

// What one run, session or day used is found without reading all calls.
func TestLedgerIsIndexed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	sqlitetest.Open(t, path)
	for cond, index := range map[string]string{"run = 'r'": "spent_run", "run = 'r' AND at >= 1": "spent_run", "session = 1": "spent_session", "at >= 1": "spent_at"} {
		var id, parent, unused int
		var plan string
		if err := raw(t, path).QueryRow("EXPLAIN QUERY PLAN SELECT sum(input) FROM spent WHERE "+cond).Scan(&id, &parent, &unused, &plan); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(plan, index+" ") {
			t.Errorf("%s: %s", cond, plan)
		}
	}
}
