//go:build goclawtest

package testtools

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/goclaw/goclaw/internal/tool"
)

// data are stand-ins for the tools of databases, over sqlite files: as far as
// gates of roles, hints and caches need them.
func data(sources []Datasource) []tool.Tool {
	d := databases(sources)
	reading := tool.Traits{Category: "data", ReadOnly: true, Cacheable: true, KeepResult: true, Tags: []string{"sql", "database", "table"}}
	writing := tool.Traits{Category: "data", DataWrite: true, Tags: reading.Tags}
	look := reading
	look.KeepResult = false
	return []tool.Tool{
		tool.WithTouches(tool.New(tool.Definition{
			Name: "db_query", Description: "Reads a data source with one SQL statement. A stand-in of test builds.", Traits: reading,
		}, d.query), func(_ tool.Call, in queryIn) []tool.Touch { return []tool.Touch{{Name: "db:" + in.Datasource}} }),
		tool.WithTouches(tool.New(tool.Definition{
			Name: "db_write", Description: "Changes a data source with one SQL statement. A stand-in of test builds.", Traits: writing,
		}, d.write), func(_ tool.Call, in writeIn) []tool.Touch {
			return []tool.Touch{{Name: "db:" + in.Datasource, Write: !in.DryRun}}
		}),
		tool.WithTouches(tool.New(tool.Definition{
			Name: "db_schema", Description: "Lists the tables of a data source with their columns. A stand-in of test builds.", Traits: look,
		}, d.schema), func(_ tool.Call, in schemaIn) []tool.Touch { return []tool.Touch{{Name: "db:" + in.Datasource}} }),
	}
}

type databases []Datasource

type queryIn struct {
	Datasource string `json:"datasource"`
	SQL        string `json:"sql"`
	Params     []any  `json:"params,omitempty"`
}

type writeIn struct {
	queryIn
	DryRun bool `json:"dry_run,omitempty" jsonschema:"undo the change and tell how many rows it hit"`
}

type schemaIn struct {
	Datasource string `json:"datasource"`
}

type rowsOut struct {
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
	More    bool     `json:"more,omitempty"`
}

// with opens a data source for one call.
func (d databases) with(name string, write bool, do func(Datasource, *sql.DB) error) error {
	var names []string
	for _, s := range d {
		names = append(names, s.Name)
		if s.Name != name {
			continue
		}
		if write && !s.AllowWrite {
			return tool.Refusef("sql", "allow_write", "Write to one that has allow_write: true.", "The data source %s may not be written, so nothing ran.", name)
		}
		dsn := "file:" + s.DSN + "?mode=rwc&_pragma=busy_timeout(5000)"
		if !write {
			dsn = "file:" + s.DSN + "?mode=ro&_pragma=query_only(1)&_pragma=busy_timeout(5000)"
		}
		db, err := sql.Open("sqlite", dsn)
		if err != nil {
			return err
		}
		return errors.Join(do(s, db), db.Close())
	}
	return fmt.Errorf("there is no data source %q; there are: %s", name, strings.Join(names, ", "))
}

// single refuses what holds more than one statement.
func single(statement string) error {
	if strings.Contains(strings.TrimRight(strings.TrimSpace(statement), ";"), ";") {
		return tool.Refusef("sql", "single", "Send one statement at a time, without a semicolon in it.", "It holds more than one statement, so nothing ran.")
	}
	return nil
}

func (d databases) query(ctx context.Context, _ tool.Call, in queryIn) (out rowsOut, err error) {
	if err := single(in.SQL); err != nil {
		return out, err
	}
	err = d.with(in.Datasource, false, func(s Datasource, db *sql.DB) error {
		out, err = read(ctx, db, s.MaxRows, in.SQL, in.Params...)
		return err
	})
	return out, err
}

func read(ctx context.Context, db *sql.DB, most int, statement string, params ...any) (out rowsOut, err error) {
	out.Rows = [][]any{}
	rows, err := db.QueryContext(ctx, statement, params...)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if out.Columns, err = rows.Columns(); err != nil {
		return out, err
	}
	for rows.Next() {
		if len(out.Rows) == most {
			out.More = true
			break
		}
		row, into := make([]any, len(out.Columns)), make([]any, len(out.Columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return out, err
		}
		for i, v := range row {
			if b, ok := v.([]byte); ok {
				row[i] = string(b)
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return out, rows.Err()
}

func (d databases) write(ctx context.Context, _ tool.Call, in writeIn) (string, error) {
	if err := single(in.SQL); err != nil {
		return "", err
	}
	var hit int64
	err := d.with(in.Datasource, true, func(_ Datasource, db *sql.DB) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, in.SQL, in.Params...)
		if err != nil {
			return errors.Join(err, tx.Rollback())
		}
		if hit, err = res.RowsAffected(); err != nil || in.DryRun {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	})
	if err != nil {
		return "", err
	}
	if in.DryRun {
		return fmt.Sprintf("%d rows would change", hit), nil
	}
	return fmt.Sprintf("%d rows changed", hit), nil
}

func (d databases) schema(ctx context.Context, _ tool.Call, in schemaIn) (out rowsOut, err error) {
	err = d.with(in.Datasource, false, func(s Datasource, db *sql.DB) error {
		out, err = read(ctx, db, s.MaxRows, "SELECT m.name AS \"table\", c.name AS \"column\", c.type FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type IN ('table', 'view') ORDER BY 1, c.cid")
		return err
	})
	return out, err
}
