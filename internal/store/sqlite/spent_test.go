package sqlite_test

import (
	"path/filepath"
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
