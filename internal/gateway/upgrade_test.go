package gateway_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/store/storetest"
)

// age turns the state database of a home folder back into one of the first
// schema, empty.
func age(t *testing.T, home string) {
	t.Helper()
	path := filepath.Join(home, "state.db")
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + end); err != nil {
			t.Fatal(err)
		}
	}
	storetest.Older(t, "../store/sqlite/migrations", path, 1)
}

// A command of a newer version leaves the database of a gateway that runs as it
// is, and says what to do. Without one it migrates, keeps a copy and says where.
func TestNobodyMigratesUnderAGatewayThatRuns(t *testing.T) {
	t.Parallel()
	r := setup(t, "", fakellm.Text("Hello."))
	s := r.serve(gateway.ServeOptions{})
	age(t, r.home) // as if the one that runs were of an older version
	var log strings.Builder
	newer := gateway.Options{
		Home: r.home, Version: "v9", Environ: config.EnvironOf(),
		Log: func(config.Log) (*slog.Logger, error) { return slog.New(slog.NewTextHandler(&log, nil)), nil },
	}
	_, err := gateway.Open(t.Context(), newer)
	if err == nil {
		t.Fatal("it was opened")
	}
	mustContain(t, "the error", err.Error(), "this version, v9,", "from 1 to", "version test (process ", "stop that one first")
	if err := s.end(); err != nil {
		t.Error(err)
	}
	g, err := gateway.Open(t.Context(), newer)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(t.Context()); err != nil {
		t.Error(err)
	}
	copies, err := filepath.Glob(filepath.Join(r.home, "state.db.before-*"))
	if err != nil || len(copies) != 1 || !strings.Contains(log.String(), copies[0]) || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("the copies are %q (%v); the log says %s", copies, err, log.String())
	}
}
