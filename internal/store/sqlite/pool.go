package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"time"
)

// pool lends connections, each to one transaction at a time, those who wait
// being served in the order in which they came. A connection keeps the
// statements that it has prepared.
type pool struct {
	db    *sql.DB
	begin string                 // how a transaction begins
	setup func(driver any) error // of a new connection; nil when there is nothing to set
	slots chan struct{}          // holds one value per transaction under way

	mu     sync.Mutex
	idle   []*handle // the last used one last
	closed bool
}

// handle is a connection with its prepared statements, by text.
type handle struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func newPool(db *sql.DB, begin string, size int) *pool {
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return &pool{db: db, begin: begin, slots: make(chan struct{}, size)}
}

var errClosed = errors.New("the state database is closed")

// busyLimit bounds how long a transaction waits for another process when its
// context sets no limit. A loaded machine can need long.
const busyLimit = 30 * time.Second

// busyPause is how long a transaction waits at most before it tries again
// whether another process has ended its own.
const busyPause = 20 * time.Millisecond

// do runs f in a transaction and commits it, or rolls it back when f fails.
// Waiting ends with ctx; once begun, a transaction does not. f must not wait
// for anything, and must not use the pool.
func (p *pool) do(ctx context.Context, f func(*tx) error) (err error) {
	if ctx.Err() != nil {
		return context.Cause(ctx) // also when there is room: nothing begins any more
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	h, err := p.take(ctx)
	if err != nil {
		return err
	}
	t := &tx{ctx: context.WithoutCancel(ctx), handle: h}
	if err := p.start(ctx, t); err != nil {
		p.drop(h) // its state is unknown
		return err
	}
	clean := false
	defer func() {
		// Also when f panics: the connection must not stay within its
		// transaction.
		if !clean && t.control("ROLLBACK") != nil {
			p.drop(h)
			return
		}
		p.put(h)
	}()
	if err := f(t); err != nil {
		return err
	}
	if err := t.control("COMMIT"); err != nil {
		return err
	}
	clean = true
	return nil
}

// start begins the transaction, and waits while another process writes. SQLite
// itself is asked without a context, for which the driver would start a
// goroutine each time.
func (p *pool) start(ctx context.Context, t *tx) error {
	limit := time.Now().Add(busyLimit)
	for pause := time.Millisecond; ; pause = min(2*pause, busyPause) {
		err := t.control(p.begin)
		if err == nil || !isBusy(err) || time.Now().After(limit) {
			return err
		}
		again := time.NewTimer(pause)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return context.Cause(ctx)
		}
	}
}

// take returns an idle connection or opens one.
func (p *pool) take(ctx context.Context) (*handle, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	if n := len(p.idle); n > 0 {
		h := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return h, nil
	}
	p.mu.Unlock()
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if p.setup != nil {
		if err := conn.Raw(p.setup); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return &handle{conn: conn, stmts: map[string]*sql.Stmt{}}, nil
}

func (p *pool) put(h *handle) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, h)
}

// drop closes a connection whose state is unknown, instead of lending it again.
func (p *pool) drop(h *handle) {
	// SQLite keeps a connection that has statements left, with its transaction
	// and all its locks, until the last of them is gone.
	for _, s := range h.stmts {
		_ = s.Close() // a statement that fails last says so again
	}
	// The error is the one that makes database/sql close the connection; what
	// closing reports is of no use to anybody.
	_ = h.conn.Raw(func(any) error { return driver.ErrBadConn })
}

// close waits until nothing is lent any more and closes the connections.
func (p *pool) close() error {
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	p.mu.Lock()
	p.closed = true
	var failed error
	for _, h := range p.idle {
		for _, s := range h.stmts {
			failed = errors.Join(failed, s.Close())
		}
		failed = errors.Join(failed, h.conn.Close())
	}
	p.idle = nil
	p.mu.Unlock()
	for range cap(p.slots) {
		<-p.slots
	}
	return errors.Join(failed, p.db.Close())
}

// tx is a transaction under way.
type tx struct {
	ctx     context.Context
	changed bool // rows were changed
	*handle
}

func (t *tx) prepare(query string) (*sql.Stmt, error) {
	if s, ok := t.stmts[query]; ok {
		return s, nil
	}
	s, err := t.conn.PrepareContext(t.ctx, query)
	if err != nil {
		return nil, fmt.Errorf("prepare %.40q: %w", query, err)
	}
	t.stmts[query] = s
	return s, nil
}

// control runs a statement that begins or ends the transaction.
func (t *tx) control(how string) error {
	s, err := t.prepare(how)
	if err != nil {
		return err
	}
	_, err = s.ExecContext(t.ctx)
	return err
}

// exec returns how many rows changed.
func (t *tx) exec(query string, args ...any) (int, error) {
	res, err := t.run(query, args)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// insert returns the id of the new row.
func (t *tx) insert(query string, args ...any) (int64, error) {
	res, err := t.run(query, args)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

func (t *tx) run(query string, args []any) (sql.Result, error) {
	s, err := t.prepare(query)
	if err != nil {
		return nil, err
	}
	res, err := s.ExecContext(t.ctx, args...)
	if err != nil {
		return nil, err
	}
	n, err := res.RowsAffected()
	t.changed = t.changed || n > 0
	return res, err
}

// row scans the only row into dest; the error is [sql.ErrNoRows] when there is none.
func (t *tx) row(query string, args, dest []any) error {
	s, err := t.prepare(query)
	if err != nil {
		return err
	}
	return s.QueryRowContext(t.ctx, args...).Scan(dest...)
}

// each calls f for each row, with a function that scans it.
func (t *tx) each(query string, args []any, f func(scan func(dest ...any) error) error) error {
	s, err := t.prepare(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(t.ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close() // Err tells what matters
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
