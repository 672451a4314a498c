package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/fakellm"
)

// BenchmarkOneShot times "goclaw run" with one tool call as a whole process
// against a model server without latency, in turn with the floor, a bare
// program that makes the same calls. It reports the ratio of the two.
func BenchmarkOneShot(b *testing.B) {
	dir := b.TempDir()
	build := func(name, pkg string) string {
		out := filepath.Join(dir, name)
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if msg, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("build %s: %v\n%s", pkg, err, msg)
		}
		return out
	}
	goclaw, floor := build("goclaw", "."), build("floor", "./testdata/floor")
	server := httptest.NewServer(fakellm.Quick(fakellm.Call{Name: "file_write", Args: json.RawMessage(`{"path":"a.txt","content":"x"}`)}, "Done."))
	defer server.Close()
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		b.Fatal(err)
	}
	config := fmt.Sprintf("ai: {provider: openai, providers: {openai: {api_key: k, model: m, base_url: %q}}}\n", server.URL+"/v1")
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(config), 0o600); err != nil {
		b.Fatal(err)
	}
	run := func(name string, args ...string) time.Duration {
		began := time.Now()
		if msg, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			b.Fatalf("%s: %v\n%s", name, err, msg)
		}
		return time.Since(began)
	}
	run(goclaw, "run", "--home", home, "go") // makes the database
	var ours, theirs time.Duration
	for b.Loop() {
		ours += run(goclaw, "run", "--home", home, "go")
		theirs += run(floor, server.URL+"/v1", filepath.Join(dir, "a.txt"))
	}
	b.ReportMetric(float64(ours.Microseconds())/float64(b.N)/1000, "ms/goclaw")
	b.ReportMetric(float64(theirs.Microseconds())/float64(b.N)/1000, "ms/floor")
	b.ReportMetric(float64(ours)/float64(theirs), "x-floor")
}
