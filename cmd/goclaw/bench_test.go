package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/fakellm"
)

// BenchmarkOneShot times "goclaw run" with one tool call as a whole process
// against a model server without latency, in turn with the floor, a bare
// program that makes the same calls.
func BenchmarkOneShot(b *testing.B) {
	dir := b.TempDir()
	goclaw, floor := build(b, "goclaw", "."), build(b, "floor", "./testdata/floor")
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
	run(b, goclaw, "run", "--home", home, "go") // makes the database
	var ours, theirs costs
	for b.Loop() {
		ours.add(run(b, goclaw, "run", "--home", home, "go"))
		theirs.add(run(b, floor, server.URL+"/v1", filepath.Join(dir, "a.txt")))
	}
	report(b, &ours, &theirs)
}

// BenchmarkStart times "goclaw version", which does nothing but start, in turn
// with the whole floor.
func BenchmarkStart(b *testing.B) {
	goclaw, floor := build(b, "goclaw", "."), build(b, "floor", "./testdata/floor")
	server := httptest.NewServer(fakellm.Quick(fakellm.Call{Name: "file_write", Args: json.RawMessage(`{}`)}, "Done."))
	defer server.Close()
	file := filepath.Join(b.TempDir(), "a.txt")
	var ours, theirs costs
	for b.Loop() {
		ours.add(run(b, goclaw, "version"))
		theirs.add(run(b, floor, server.URL+"/v1", file))
	}
	report(b, &ours, &theirs)
}

// build builds a program as it is shipped and returns its path.
func build(b *testing.B, name, pkg string) string {
	b.Helper()
	out := filepath.Join(b.TempDir(), name)
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if msg, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("build %s: %v\n%s", pkg, err, msg)
	}
	return out
}

// run runs a program to its end and returns how long it took and how much
// processor time.
func run(b *testing.B, name string, args ...string) (wall, cpu time.Duration) {
	b.Helper()
	cmd := exec.Command(name, args...)
	began := time.Now()
	if msg, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", name, err, msg)
	}
	return time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// costs are those of the runs of one program.
type costs struct {
	wall []time.Duration
	cpu  time.Duration // of all
}

func (c *costs) add(wall, cpu time.Duration) {
	c.wall = append(c.wall, wall)
	c.cpu += cpu
}

func (c *costs) median() time.Duration {
	slices.Sort(c.wall)
	return c.wall[len(c.wall)/2]
}

// report tells how the two compare: x-floor is the ratio of the medians of time,
// x-cpu that of processor time.
func report(b *testing.B, ours, floor *costs) {
	b.ReportMetric(ours.median().Seconds()*1000, "ms/goclaw")
	b.ReportMetric(floor.median().Seconds()*1000, "ms/floor")
	b.ReportMetric(float64(ours.median())/float64(floor.median()), "x-floor")
	b.ReportMetric(float64(ours.cpu)/float64(floor.cpu), "x-cpu")
}
