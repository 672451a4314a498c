package gateway

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/llm"
)

// Prices of the configuration take the place of the shipped ones, all of them.
func TestPricesOfTheConfiguration(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	text := "ai: {providers: {claude: {prices: {m: {in: 4, cached: 1, cache_write: 5, out: 20}, n: {in: 4, out: 20}}}}}\n"
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Options{Home: home, Environ: config.Environ{}})
	if err != nil {
		t.Fatal(err)
	}
	s := providerSettings(c, "claude")
	used := llm.Usage{Input: 1_000_000, Cached: 300_000, CacheWrite: 500_000, Output: 100_000}
	for model, want := range map[string]float64{"m": 0.2*4 + 0.3*1 + 0.5*5 + 0.1*20, "n": 4 + 2} {
		if got := s.Prices[model].Cost(used); got != want {
			t.Errorf("%s: %v USD, want %v", model, got, want)
		}
	}
}
