package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func openFresh(t testing.TB) *DB {
	t.Helper()
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// TestSettings reads back what the DSNs set: unknown names are ignored
// silently, so only this shows that each took effect.
func TestSettings(t *testing.T) {
	t.Parallel()
	db := openFresh(t)
	settings := func(run func(context.Context, func(*tx) error) error, names ...string) map[string]string {
		got := map[string]string{}
		err := run(t.Context(), func(t *tx) error {
			for _, name := range names {
				var v string
				if err := t.row("PRAGMA "+name, nil, []any{&v}); err != nil {
					return err
				}
				got[name] = v
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if diff := cmp.Diff(map[string]string{
		"journal_mode": "wal", "busy_timeout": "0", "synchronous": "1", "foreign_keys": "1", "journal_size_limit": "67108864", "wal_autocheckpoint": "4000",
		"query_only": "0", "user_version": strconv.Itoa(schemaVersion), "application_id": "1131176311",
	}, settings(db.write, "journal_mode", "busy_timeout", "synchronous", "foreign_keys", "journal_size_limit", "wal_autocheckpoint", "query_only", "user_version", "application_id")); diff != "" {
		t.Errorf("writer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{
		"journal_mode": "wal", "busy_timeout": "5000", "query_only": "1",
	}, settings(db.read, "journal_mode", "busy_timeout", "query_only")); diff != "" {
		t.Errorf("readers (-want +got):\n%s", diff)
	}

	// A reader can't write, not even when it takes query_only back.
	err := db.read(t.Context(), func(t *tx) error {
		if _, err := t.exec("PRAGMA query_only = 0"); err != nil {
			return err
		}
		_, err := t.exec("DELETE FROM sessions")
		return err
	})
	if !errors.Is(err, ErrReadOnly) {
		t.Errorf("a reader wrote: %v", err)
	}
	for name, query := range map[string]string{
		"dqs":       `SELECT "no such column"`,
		"defensive": "UPDATE words_data SET block = x'00'",
	} {
		if err := db.write(t.Context(), func(t *tx) error { _, err := t.exec(query); return err }); err == nil {
			t.Errorf("%s is not set: %s ran", name, query)
		}
	}
	// What begins a transaction of database/sql, as migrations do, takes the
	// lock at once.
	sqlTx, err := db.writer.idle[0].conn.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sqlTx.Rollback()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if other, err := Open(ctx, db.path, Options{}); err == nil {
		other.Close()
		t.Error("txlock is not set: two transactions write")
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(files) != schemaVersion || !strings.HasPrefix(files[len(files)-1], fmt.Sprintf("migrations/%05d_", schemaVersion)) {
		t.Errorf("migrations %q, schema version %d (%v)", files, schemaVersion, err)
	}
	db := openFresh(t)
	var lax []string
	err = db.read(t.Context(), func(t *tx) error {
		return t.each("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND NOT strict", nil, func(scan func(...any) error) error {
			var name string
			err := scan(&name)
			lax = append(lax, name)
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lax {
		if !strings.HasPrefix(name, "goose_") && !strings.HasPrefix(name, "sqlite_") {
			t.Errorf("table %s is not strict", name)
		}
	}
}

func count(t *testing.T, db *DB) (n int) {
	t.Helper()
	if err := db.read(t.Context(), func(t *tx) error { return t.row("SELECT count(*) FROM meta", nil, []any{&n}) }); err != nil {
		t.Fatal(err)
	}
	return n
}

func put(key string) func(*tx) error {
	return func(t *tx) error {
		_, err := t.exec("INSERT INTO meta (key, value) VALUES (?, '')", key)
		return err
	}
}

func TestRollback(t *testing.T) {
	t.Parallel()
	db := openFresh(t)
	before := count(t, db)
	failed := errors.New("no")
	if err := db.write(t.Context(), func(t *tx) error { return errors.Join(put("a")(t), failed) }); !errors.Is(err, failed) {
		t.Errorf("error %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a panic was swallowed")
			}
		}()
		_ = db.write(t.Context(), func(t *tx) error {
			if err := put("b")(t); err != nil {
				return err
			}
			panic("broken")
		})
	}()
	// Somebody ended the transaction: its connection is not used again.
	if err := db.write(t.Context(), func(t *tx) error {
		if err := put("c")(t); err != nil {
			return err
		}
		return errors.Join(t.control("ROLLBACK"), failed)
	}); !errors.Is(err, failed) {
		t.Errorf("error %v", err)
	}
	if n := count(t, db); n != before {
		t.Errorf("%d rows, want %d", n, before)
	}
	if err := db.write(t.Context(), put("d")); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db); n != before+1 {
		t.Errorf("%d rows, want %d", n, before+1)
	}
}

// TestDrop: a connection that is given up within its transaction, as when the
// context ends in the moment in which it begins, holds nothing any more.
func TestDrop(t *testing.T) {
	t.Parallel()
	db := openFresh(t)
	before := count(t, db)
	h, err := db.writer.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lost := &tx{ctx: t.Context(), handle: h}
	if err := errors.Join(db.writer.start(t.Context(), lost), put("lost")(lost)); err != nil {
		t.Fatal(err)
	}
	db.writer.drop(h)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := db.write(ctx, put("next")); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db); n != before+1 {
		t.Errorf("%d rows, want %d", n, before+1)
	}
}

// TestWait: waiting for the writer, of this process or another one, ends with
// the context and leaves nothing behind.
func TestWait(t *testing.T) {
	t.Parallel()
	db := openFresh(t)
	other, err := Open(t.Context(), db.path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	for name, second := range map[string]*DB{"this process": db, "another": other} {
		inside, leave := make(chan struct{}), make(chan struct{})
		ended := make(chan error)
		go func() {
			ended <- db.write(context.Background(), func(*tx) error {
				close(inside)
				<-leave // only a test waits here
				return nil
			})
		}()
		<-inside
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := second.write(ctx, put(name)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		if n := count(t, second); n != 1 {
			t.Errorf("%s: %d rows, want 1: a reader must see the last commit", name, n)
		}
		close(leave)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := second.write(t.Context(), func(*tx) error { return nil }); err != nil {
			t.Errorf("%s: afterwards: %v", name, err)
		}
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	db := openFresh(t)
	err := db.write(t.Context(), func(t *tx) error {
		var pages int
		return t.row("PRAGMA max_page_count = 10", nil, []any{&pages})
	})
	if err != nil {
		t.Fatal(err)
	}
	err = db.write(t.Context(), func(t *tx) error {
		_, err := t.exec("INSERT INTO meta (key, value) VALUES ('big', ?)", strings.Repeat("x", 1<<20))
		return err
	})
	if !errors.Is(err, ErrFull) {
		t.Errorf("error %v, want ErrFull", err)
	}
	// What changes nothing, or was wrong itself, says nothing about the disk.
	odd := errors.New("odd")
	for _, f := range []func(*tx) error{
		func(t *tx) error { _, err := t.exec("DELETE FROM meta WHERE FALSE"); return err },
		func(*tx) error { return odd },
	} {
		if err := db.write(t.Context(), f); err != nil && err != odd {
			t.Error(err)
		}
		if err := db.Fault(); !errors.Is(err, ErrFull) {
			t.Errorf("the fault is %v, want ErrFull", err)
		}
	}
	if n := count(t, db); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
	if err := db.write(t.Context(), func(t *tx) error {
		var pages int
		return t.row("PRAGMA max_page_count = 1000000", nil, []any{&pages})
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.write(t.Context(), put("small")); err != nil {
		t.Errorf("writing after the disk had been full: %v", err)
	}
	if err := errors.Join(db.Fault(), db.Touch(t.Context()), db.Touch(t.Context()), db.Fault()); err != nil {
		t.Errorf("the fault after something was written: %v", err)
	}
}

// TestPlans: no query of the ordinary ways scans a table.
func TestPlans(t *testing.T) {
	t.Parallel()
	db := openFresh(t)
	for _, query := range []string{
		"SELECT * FROM sessions WHERE caller = 'a' ORDER BY updated DESC, id DESC LIMIT 5",
		"SELECT " + turnColumns + " FROM turns t WHERE t.session = 1 AND t.number BETWEEN 1 AND 9 ORDER BY t.number",
		"SELECT r.message FROM turns t JOIN rounds r ON r.turn = t.id WHERE t.session = 1 AND t.number BETWEEN 1 AND 9 ORDER BY t.number, r.number",
		"SELECT c.text FROM turns t JOIN rounds r ON r.turn = t.id JOIN calls c ON c.round = r.id" +
			" WHERE t.session = 1 AND t.number BETWEEN 1 AND 9 ORDER BY t.number, r.number, c.idx",
		"UPDATE calls SET text = '' WHERE round = " + roundOfRun + " AND idx = 1",
		"SELECT EXISTS (SELECT 1 FROM calls WHERE wire = 'a' AND session = (SELECT id FROM sessions WHERE agent = 'a' AND name = 'b'))",
		"SELECT id FROM turns WHERE session = 1 AND status = 'running'",
		"SELECT * FROM sessions WHERE TRUE ORDER BY updated DESC, id DESC LIMIT 5",
		"SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session WHERE TRUE ORDER BY t.started DESC, t.id DESC LIMIT 5",
	} {
		err := db.read(t.Context(), func(x *tx) error {
			return x.each("EXPLAIN QUERY PLAN "+query, args(make([]any, strings.Count(query, "?"))), func(scan func(...any) error) error {
				var id, parent, unused int
				var detail string
				err := scan(&id, &parent, &unused, &detail)
				if strings.Contains(detail, "TEMP B-TREE") || strings.HasPrefix(detail, "SCAN") && !strings.Contains(detail, "USING") && detail != "SCAN CONSTANT ROW" ||
					strings.HasPrefix(detail, "SCAN") && strings.Contains(query, "caller = ") {
					t.Errorf("%s\n%s", query, detail)
				}
				return err
			})
		})
		if err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
}
