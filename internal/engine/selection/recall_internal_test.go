package selection

import (
	"hash/fnv"
	"os"
	"testing"

	"github.com/goclaw/goclaw/internal/lib/retrieval"
)

// labelled is one half of a set of testdata: see its README.
func labelled(tb testing.TB, name string, heldOut bool) ([]Doc, []Query) {
	tb.Helper()
	read := func(file string) []byte {
		data, err := os.ReadFile("testdata/" + file)
		if err != nil {
			tb.Fatal(err)
		}
		return data
	}
	docs, odd, err := ReadCatalog("tools", read(name+"_tools.json"))
	if err != nil || odd != nil {
		tb.Fatal(odd, err)
	}
	all, odd, err := ReadQueries("queries", read(name+"_queries.jsonl"), docs)
	if err != nil || odd != nil {
		tb.Fatal(odd, err)
	}
	var half []Query
	for _, q := range all {
		h := fnv.New32a()
		h.Write([]byte(q.Text))
		if (h.Sum32()%2 == 0) == heldOut {
			half = append(half, q)
		}
	}
	return docs, half
}

// meter ranks by other weights than the standard ones.
func meter(docs []Doc, w weights) *Meter {
	return &Meter{docs: docs, index: newIndex(docs, w), topK: 12}
}

// plain is BM25 over names and descriptions with stems and stop words and
// nothing else.
func plain() weights {
	flat := retrieval.Field{Weight: 1, Norm: 0.75}
	return weights{word: 1, weak: 1, saturation: 1.2, fields: []retrieval.Field{flat, flat, {}, {}}}
}

// TestRecall holds the scorer to what it found of the held-out requests when it
// was tuned on the others. A change that finds less has to say what it is good
// for.
func TestRecall(t *testing.T) {
	t.Parallel()
	tests := []struct {
		set             string
		single, several float64 // recall at 12
		none            float64 // tools picked for a request that needs none, at most
	}{
		{"plugins", 0.965, 0.98, 0},
		{"shipped", 0.91, 0.89, 2.2},
		{"terse", 0.92, 0.94, 0},
		{"later", 0.865, 0.935, 0},
	}
	for _, test := range tests {
		t.Run(test.set, func(t *testing.T) {
			t.Parallel()
			docs, queries := labelled(t, test.set, true)
			if test.set == "later" { // written when the weights stood; see the README there
				_, rest := labelled(t, test.set, false)
				queries = append(queries, rest...)
			}
			for name, w := range map[string]weights{"standard": standard, "plain BM25": plain()} {
				r, err := Measure(t.Context(), queries, meter(docs, w).Rank)
				if err != nil {
					t.Fatal(err)
				}
				for kind, f := range map[string]Figures{"single": r.Single, "several": r.Several} {
					t.Logf("%s, %s: %d requests, recall at 1 %.3f, 5 %.3f, 12 %.3f, 20 %.3f, MRR %.3f", name, kind, f.Queries, f.Recall[1], f.Recall[5], f.Recall[12], f.Recall[20], f.MRR)
				}
				t.Logf("%s, none: %d requests, %.2f tools picked", name, r.None.Queries, r.None.Offered)
				if name != "standard" {
					continue
				}
				if got := r.Single.Recall[12]; got < test.single {
					t.Errorf("single: recall at 12 is %.4f, was %.4f", got, test.single)
				}
				if got := r.Several.Recall[12]; got < test.several {
					t.Errorf("several: recall at 12 is %.4f, was %.4f", got, test.several)
				}
				if r.None.Offered > test.none {
					t.Errorf("none: %.2f tools are picked, were %.2f", r.None.Offered, test.none)
				}
			}
		})
	}
}
